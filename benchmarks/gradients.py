"""What averaging gradients once a step buys beside torch's DistributedDataParallel.

    python benchmarks/gradients.py        # two processes on a CPU, under a minute

A step of training calls the model for queries and for documents, and with `chunk` once more for each
few rows. Each case trains an in-batch softmax over vectors of two encoders, or of one, in two
processes: with `average_gradients`, and with DistributedDataParallel as it is, with a search for
unused weights, and with a static graph. Shown is whether it trains, how much is sent in a step, as a
multiple of the gradients, and the largest difference to the gradients of `average_gradients`. Sizes
are counted by a communication hook, so that the machine's speed plays no part.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import distributed, multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel

from irtoolkit.base.tables import TextTable
from irtoolkit.training.processes import average_gradients

WIDTH, ROWS, STEPS = 32, 8, 3
WAYS: dict[str, dict[str, Any] | None] = {
    "average_gradients": None,
    "DDP": {},
    "DDP, unused weights searched": {"find_unused_parameters": True},
    "DDP, static graph": {"static_graph": True},
}
# Encoders, rows of a chunk (None: all at once), and whether chunks differ in number from step to step.
CASES = {
    "two encoders": (2, None, False),
    "one encoder": (1, None, False),
    "two encoders, chunks": (2, 2, False),
    "two encoders, chunks that vary": (2, 2, True),
}


class Model(nn.Module):
    """Encoders, each with a pooler that nothing reads, as BERT has one."""

    def __init__(self, encoders: int) -> None:
        super().__init__()
        self.encoders = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(encoders))
        self.poolers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(encoders))

    def forward(self, side: int, rows: torch.Tensor) -> torch.Tensor:
        return self.encoders[side % len(self.encoders)](rows).tanh()


def step(model: nn.Module, sides: list[torch.Tensor], chunk: int | None) -> None:
    """Forward and backward; with chunks, gradients of the vectors are cached (Gao et al. 2021)."""
    parts = [side.split(chunk or len(side)) for side in sides]
    if chunk is None:
        vectors = [model(number, side) for number, side in enumerate(sides)]
    else:
        with torch.no_grad():
            vectors = [torch.cat([model(n, p) for p in part]) for n, part in enumerate(parts)]
        vectors = [vector.requires_grad_() for vector in vectors]
    labels = torch.arange(len(sides[0]))
    nn.functional.cross_entropy(vectors[0] @ vectors[1].T, labels).backward()
    if chunk is not None:
        for number, part in enumerate(parts):
            for rows, wanted in zip(part, vectors[number].grad.split(chunk), strict=True):
                model(number, rows).backward(wanted)


def train(rank: int, folder: str, case: str, way: str) -> None:
    """Some steps in one process of two; writes the first one's gradients and what was sent."""
    url = f"file://{folder}/meet"
    os.environ.update(RANK=str(rank), WORLD_SIZE="2")
    distributed.init_process_group("gloo", init_method=url, rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    encoders, chunk, varies = CASES[case]
    model = Model(encoders)
    options, sent = WAYS[way], [0]
    called: nn.Module = model
    if options is not None:
        called = wrapped = DistributedDataParallel(model, **options)

        def counted(_: Any, bucket: Any) -> Any:
            sent[0] += bucket.buffer().numel()
            return distributed.all_reduce(bucket.buffer().div_(2), async_op=True).get_future().then(
                lambda done: done.value()[0]
            )  # fmt: skip

        wrapped.register_comm_hook(None, counted)
    draw = torch.Generator().manual_seed(rank)
    for number in range(STEPS):
        model.zero_grad()
        rows = ROWS + (2 * number if varies else 0)
        sides = [torch.randn(rows, WIDTH, generator=draw) for _ in range(2)]
        step(called, sides, chunk)
        if options is None:
            average_gradients(model)
            sent[0] += sum(w.grad.numel() for w in model.parameters() if w.grad is not None)
    found = {name: w.grad for name, w in model.named_parameters() if w.grad is not None}
    if rank == 0:
        torch.save({"gradients": found, "sent": sent[0]}, Path(folder) / "found.pt")


def run(case: str, way: str) -> dict[str, Any] | str:
    """What a way has found, or how it failed."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            multiprocessing.spawn(train, (folder, case, way), nprocs=2)
        except Exception as error:
            lines = [line for line in str(error).splitlines() if "Error: " in line]
            return (lines or ["failed"])[-1].partition("Error: ")[2][:60]
        found: dict[str, Any] = torch.load(Path(folder) / "found.pt", weights_only=True)
        return found


def main() -> None:
    rows = []
    for case, (encoders, _, _) in CASES.items():
        known: dict[str, Any] = {}
        size = STEPS * encoders * (WIDTH + 1) * WIDTH
        for way in WAYS:
            found = run(case, way)
            if isinstance(found, str):
                rows.append([case, way, None, None, found])
                continue
            known = known or found["gradients"]
            apart = max(float((found["gradients"][n] - known[n]).abs().max()) for n in known)
            rows.append([case, way, found["sent"] / size, f"{apart:.1e}", ""])
    headers = ["case", "way", "sent", "difference", "fails with"]
    print(TextTable(headers, rows, places=2).render("text"))


if __name__ == "__main__":
    main()
