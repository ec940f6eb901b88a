"""What averaging gradients once a step buys beside torch's DistributedDataParallel.

    python benchmarks/gradients.py        # two processes on a CPU, under a minute
    python benchmarks/gradients.py -o benchmarks/results/gradients.json

sentence-transformers' losses call the model once for queries and once for documents, and with cached
gradients (Gao et al. 2021) once more for each chunk of rows, with a backward pass each. Each case
trains an in-batch softmax over the vectors of two encoders, or of one, with AdamW in two processes:
with `average_gradients`; with DistributedDataParallel (DDP) as it is, with a search for unused
weights, and with a static graph; and with DDP where the loss calls it as it has to be: once for both
sides, or with `no_sync` for all passes but the last, the search for unused weights in both.

Shown is how DDP fails; else the share of the gradients that a process sends in a step, the largest
difference of the losses and of the weights to those of `average_gradients`, and the time of a step.
What is sent is counted by a communication hook in a turn of its own. Ways take turns, and the fastest
median of a turn counts.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import distributed, multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel

from irtoolkit.base.files import atomic_text
from irtoolkit.base.tables import TextTable
from irtoolkit.training.processes import average_gradients

WIDTH, LAYERS, ROWS, STEPS, TURNS = 256, 4, 32, 20, 4
ONE_CALL = "DDP, the loss rewritten"
WAYS: dict[str, dict[str, Any] | None] = {
    "average_gradients": None,
    "DDP": {},
    "DDP, unused weights searched": {"find_unused_parameters": True},
    "DDP, static graph": {"static_graph": True},
    ONE_CALL: {"find_unused_parameters": True},
}
# Encoders, rows of a chunk (None: all at once), and whether chunks differ in number from step to step.
CASES = {
    "2 encoders": (2, None, False),
    "1 encoder": (1, None, False),
    "2 encoders, chunks": (2, 8, False),
    "1 encoder, chunks": (1, 8, False),
    "2 encoders, chunks vary": (2, 8, True),
}


class Model(nn.Module):
    """Encoders, each with a pooler that nothing reads, as BERT has one."""

    def __init__(self, encoders: int) -> None:
        super().__init__()
        self.encoders = nn.ModuleList(_layers() for _ in range(encoders))
        self.poolers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(encoders))

    def forward(self, *sides: tuple[int, torch.Tensor]) -> list[torch.Tensor]:
        """The vectors of texts of sides: 0 for queries, 1 for documents."""
        return [self.encoders[side % len(self.encoders)](rows) for side, rows in sides]


def _layers() -> nn.Module:
    return nn.Sequential(*(m for _ in range(LAYERS) for m in (nn.Linear(WIDTH, WIDTH), nn.Tanh())))


def step(model: Any, sides: list[torch.Tensor], chunk: int | None, once: bool) -> float:
    """Forward and backward; the loss.

    Args:
        model: what is called.
        sides: rows of queries and of documents.
        chunk: number of rows that are held at once.
        once: whether the gradients are wanted from one call or one pass of DDP.
    """
    numbered = list(enumerate(sides))
    if chunk is None:
        vectors = model(*numbered) if once else [model(side)[0] for side in numbered]
        return _loss(vectors)
    parts = [(n, rows) for n, side in numbered for rows in side.split(chunk)]
    with torch.no_grad():
        pieces = [model(part)[0] for part in parts]
    count = len(pieces) // 2
    vectors = [torch.cat(each).requires_grad_() for each in (pieces[:count], pieces[count:])]
    loss = _loss(vectors)
    wanted = [rows for vector in vectors for rows in vector.grad.split(chunk)]
    for place, (part, gradient) in enumerate(zip(parts, wanted, strict=True), 1):
        with model.no_sync() if once and place < len(parts) else nullcontext():
            model(part)[0].backward(gradient)
    return loss


def _loss(vectors: list[torch.Tensor]) -> float:
    loss = nn.functional.cross_entropy(vectors[0] @ vectors[1].T, torch.arange(len(vectors[0])))
    loss.backward()
    return loss.item()


def train(case: str, way: str, counts: bool) -> dict[str, Any]:
    """Trains in one of two processes: its losses and weights, seconds of a step, what was sent."""
    torch.manual_seed(0)
    encoders, chunk, varies = CASES[case]
    model, options, sent = Model(encoders), WAYS[way], [0]
    called: Any = model
    if options is not None:
        # A group of its own: what a failed way has left half sent disturbs no other.
        called = DistributedDataParallel(model, **options, process_group=distributed.new_group())
        group = called.process_group

        def counted(
            _: Any, bucket: distributed.GradBucket
        ) -> torch.futures.Future[torch.Tensor]:  # DDP reads these annotations
            sent[0] += bucket.buffer().numel()
            mean = bucket.buffer().div_(2)
            work = distributed.all_reduce(mean, group=group, async_op=True)
            return work.get_future().then(lambda done: done.value()[0])

        if counts:
            called.register_comm_hook(None, counted)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    draw = torch.Generator().manual_seed(distributed.get_rank())
    losses, seconds = [], []
    for number in range(STEPS):
        rows = ROWS + (8 * (number % 3) if varies else 0)
        sides = [torch.randn(rows, WIDTH, generator=draw) for _ in range(2)]
        distributed.barrier()
        begun = time.perf_counter()
        optimizer.zero_grad()
        losses.append(step(called, sides, chunk, way == ONE_CALL))
        if options is None:
            average_gradients(model)
            sent[0] += sum(w.grad.numel() for w in model.parameters() if w.grad is not None)
        optimizer.step()
        seconds.append(time.perf_counter() - begun)
    used = STEPS * sum(weights.numel() for weights in model.encoders.parameters())
    weights = torch.cat([weights.detach().reshape(-1) for weights in model.encoders.parameters()])
    return {
        "losses": losses, "weights": weights, "sent": sent[0] / used,
        "seconds": statistics.median(seconds[3:]),
    }  # fmt: skip


def measure(rank: int, folder: str) -> None:
    """All cases and ways in one process of two; the first writes what it has found."""
    os.environ.update(RANK=str(rank), WORLD_SIZE="2")
    url = f"file://{folder}/meet"
    distributed.init_process_group("gloo", init_method=url, rank=rank, world_size=2)
    torch.set_num_threads(1)
    rows: list[dict[str, Any]] = []
    for case in CASES:
        turns: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
        failed: dict[str, str] = {}
        for turn in range(TURNS):
            for way in WAYS:
                if way in failed:
                    continue
                try:
                    turns[way].append(train(case, way, counts=turn == 0))
                except RuntimeError as error:  # the same in both processes
                    failed[way] = str(error).partition(".")[0][:60]
        rows += [_row(case, way, turns, failed.get(way)) for way in WAYS]
    if rank == 0:
        Path(folder, "found.json").write_text(json.dumps(rows))
    distributed.destroy_process_group()


def _row(case: str, way: str, turns: dict[str, Any], failed: str | None) -> dict[str, Any]:
    if failed is not None:
        return {"case": case, "way": way, "fails with": failed}
    found, known = turns[way][0], turns["average_gradients"][0]
    pairs = zip(found["losses"], known["losses"], strict=True)
    return {
        "case": case, "way": way, "sent": found["sent"],
        "losses": max(abs(one - two) for one, two in pairs),
        "weights": float((found["weights"] - known["weights"]).abs().max()),
        "ms a step": 1000 * min(turn["seconds"] for turn in turns[way][1:]),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument("-o", "--output", metavar="FILE", help="write the results as JSON")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(measure, (folder,), nprocs=2)
        rows = json.loads(Path(folder, "found.json").read_text())
    headers = ["case", "way", "sent", "losses", "weights", "ms a step", "fails with"]
    shown = [
        [f"{row[name]:.0e}" if name in row and name in ("losses", "weights") else row.get(name) for name in headers]
        for row in rows
    ]  # fmt: skip
    load = os.getloadavg()[0]
    print(TextTable(headers, shown, places=2).render("text"))
    print(f"load of the machine: {load:.1f} on {os.cpu_count()} cores")
    if args.output:
        note = (
            f"beside other programs: load {load:.1f} on {os.cpu_count()} cores; times are too long"
        )
        about = {"torch": torch.__version__, "backend": "gloo", "processes": 2, "note": note}
        with atomic_text(Path(args.output)) as out:
            json.dump({**about, "rows": rows}, out, indent=1)


if __name__ == "__main__":
    main()
