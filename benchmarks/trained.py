"""EgRet's encoders trained on its training split, chosen out of fold: what a card does in minutes.

    python benchmarks/trained.py MiniLM=all-MiniLM-L6-v2 gte-small=gte-small mpnet=all-mpnet-base-v2 -o FOLDER
    python benchmarks/trained.py MiniLM=FOLDER_OF_MODEL --jobs 8 -o FOLDER
    python benchmarks/trained.py MiniLM=all-MiniLM-L6-v2 --split egret/sample -o FOLDER   # a quick look

Each encoder is trained with each rate and number of epochs (`irtoolkit train minilm`), reading the 128
tokens around the example with the words For example in its place. Each fifth of the training queries
is ranked by a model that has not seen it, and the settings of the highest R@1 of that run, then RR,
are trained on all training queries with three seeds, which rank the other split. That split chooses
nothing.

FOLDER has the runs, NAME.train.run and NAME-SEED.dev.run, and trained.json: every figure, the settings
and the commands. Commands are run --jobs at a time; what is there already is not made again. Rows of
benchmarks/quality.toml are made of these runs where they lie in its cache.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from irtoolkit.base.files import atomic_text
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.runs import Run, provenance
from irtoolkit.runs.exact_ranks import read_ranks
from irtoolkit.scoring.evaluation import evaluate, parse_measures

RATES, EPOCHS, SEEDS = ("2e-5", "5e-5"), ("2", "4"), (1, 2, 3)
MEASURES = ("R@1", "RR", "R@3", "R@10", "R@100", "Rank")
FORM = "query=masked:For example,"
LENGTHS = ("query_length=128", "doc_length=128")


@dataclass(frozen=True)
class Encoder:
    """An encoder that is trained.

    Attributes:
        name: shown.
        start: its preset, or the folder of its model.
        split: the benchmark, such as egret.
        out: the folder of all runs and models.
    """

    name: str
    start: str
    split: str
    out: Path

    def training(self, rate: str, epochs: str, seed: int, model: str) -> list[str]:
        """The command that trains a model."""
        settings = [f"start={self.start}", FORM, *LENGTHS, f"rate={rate}", f"epochs={epochs}"]
        return [
            "train", "minilm", f"{self.split}/train", "--set", *settings, f"seed={seed}",
            "-o", str(self.out / "models" / model),
        ]  # fmt: skip

    def folds(self, rate: str, epochs: str) -> tuple[Path, list[list[str]]]:
        """The run of the training queries out of fold, and the commands that make it."""
        name = f"{self.name},rate={rate},epochs={epochs}"
        run = self.out / f"{name}.train.run"
        command = self.training(rate, epochs, SEEDS[0], name)
        return run, [[*command, "--out-of-fold", str(run), "--folds", "5"]]

    def whole(self, rate: str, epochs: str, seed: int) -> tuple[Path, list[list[str]]]:
        """The run of the other split by the model of a seed, and the commands that make it."""
        run, model = self.out / f"{self.name}-{seed}.dev.run", f"{self.name}-{seed}"
        settings = ["--set", f"model={self.out / 'models' / model}", FORM]
        ranking = ["retrieve", f"{self.split}/dev", "dense", "-o", str(run), *settings]
        return run, [self.training(rate, epochs, seed, model), ranking]


def made(job: tuple[Path, list[list[str]]]) -> Path:
    """The run of a job, whose commands are run where it is not there."""
    run, commands = job
    for command in [] if run.is_file() else commands:
        found = subprocess.run(
            [sys.executable, "-m", "irtoolkit", *command], capture_output=True, text=True
        )
        if found.returncode:
            raise SystemExit(f"irtoolkit {shlex.join(command)}\n{found.stderr[-2000:]}")
    print(run.name, flush=True)
    return run


def figures(path: Path, dataset: str) -> dict[str, float]:
    """The measures of a run."""
    run = Run.read(path)
    found = evaluate(
        run, Dataset.of(dataset).qrels, parse_measures(MEASURES), (), read_ranks(path, run)
    )
    return dict(found.figures())


def measure(encoders: list[Encoder], jobs: int) -> dict[str, Any]:
    """Everything that was tried on the training queries, and what was chosen on the others."""
    settings = list(product(encoders, RATES, EPOCHS))
    with ThreadPoolExecutor(jobs) as pool:
        runs = list(pool.map(made, [e.folds(rate, epochs) for e, rate, epochs in settings]))
        tried = {
            (e.name, rate, epochs): figures(run, f"{e.split}/train")
            for (e, rate, epochs), run in zip(settings, runs, strict=True)
        }
        best = {
            e.name: max(product(RATES, EPOCHS), key=lambda s: _order(tried[e.name, *s]))
            for e in encoders
        }
        seeds = [(e, seed) for e in encoders for seed in SEEDS]
        ranked = list(pool.map(made, [e.whole(*best[e.name], seed) for e, seed in seeds]))
    found: dict[str, Any] = {}
    for e in encoders:
        rate, epochs = best[e.name]
        found[e.name] = {
            "start": e.start,
            "tried out of fold": [
                {"rate": r, "epochs": n, **tried[e.name, r, n]} for r, n in product(RATES, EPOCHS)
            ],
            "chosen": {"rate": rate, "epochs": epochs},
            "commands": ["irtoolkit " + shlex.join(c) for c in e.whole(rate, epochs, SEEDS[0])[1]],
            "seeds": {
                str(seed): figures(run, f"{e.split}/dev")
                for (other, seed), run in zip(seeds, ranked, strict=True)
                if other is e
            },
        }
    return found


def _order(figures: dict[str, float]) -> tuple[float, float]:
    return figures["R@1"], figures["RR"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("encoders", nargs="+", metavar="NAME=MODEL", help="a preset or a folder")
    parser.add_argument("--split", default="egret", help="the benchmark; default: egret")
    parser.add_argument("--jobs", type=int, default=1, help="commands at a time; default: 1")
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER")
    args = parser.parse_args()
    out = Path(args.output)
    out.mkdir(parents=True, exist_ok=True)
    encoders = [Encoder(*one.split("=", 1), args.split, out) for one in args.encoders]
    started = time.monotonic()
    found = measure(encoders, args.jobs)
    kept = {"encoders": found, **provenance.circumstances(time.monotonic() - started)}
    with atomic_text(out / "trained.json") as file:
        json.dump(kept, file, indent=1)
        file.write("\n")
    for name, about in found.items():
        told = ", ".join(f"{100 * one['R@1']:.1f}" for one in about["seeds"].values())
        print(f"{name}: {about['chosen']}, R@1 {told}")


if __name__ == "__main__":
    main()
