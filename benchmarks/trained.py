"""EgRet's encoders trained on its training split, chosen out of fold: what a GPU does in minutes.

    irtoolkit convert torch gte-small -o gte-small
    python benchmarks/trained.py MiniLM=all-MiniLM-L6-v2 gte-small=gte-small mpnet=all-mpnet-base-v2 -o FOLDER
    python benchmarks/trained.py MiniLM=FOLDER_OF_MODEL --jobs 8 -o FOLDER
    python benchmarks/trained.py MiniLM=all-MiniLM-L6-v2 --of egret/sample --rates 5e-5 --epochs 1 -o FOLDER
    python benchmarks/quality.py egret-forms --take FOLDER/quality

Each encoder is trained with each rate and number of epochs (`irtoolkit train minilm`), reading the 128
tokens around the example with the words For example in its place. Each fifth of the training queries
is ranked by a model that has not seen it, and the settings of the highest R@1 of that run, then RR,
are trained on all training queries with three seeds, which rank the other split. That split chooses
nothing.

FOLDER has the runs; trained.json, with the figures, the settings and where the runs were made; and in
quality the two runs of each encoder's first seed, which quality.py takes as those of its rows, so that
its tables can be made where there is no GPU. --jobs commands run at once; eight suit one GPU. A run
that the same commands have made is not made again.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from irtoolkit.base.files import atomic_text
from irtoolkit.cli import main as command
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.runs import Run, provenance
from irtoolkit.runs.exact_ranks import RANKS_END, read_ranks
from irtoolkit.runs.provenance import RECORD_END
from irtoolkit.scoring.evaluation import evaluate, parse_measures

RATES, EPOCHS, SEEDS = ["2e-5", "5e-5"], ["2", "4"], (1, 2, 3)
# A rate and a number of epochs.
Setting = tuple[str, str]
MEASURES = ("R@1", "RR", "R@3", "R@10", "R@100", "Rank")
FORM = "query=masked:For example,"
LENGTHS = ("query_length=128", "doc_length=128")


@dataclass(frozen=True)
class Encoder:
    """An encoder that is trained.

    Attributes:
        name: shown.
        start: its preset, or the folder of its model.
        of: the benchmark, such as egret.
        out: the folder of all runs and models.
    """

    name: str
    start: str
    of: str
    out: Path

    def training(self, rate: str, epochs: str, seed: int, model: str) -> list[str]:
        """The command that trains a model."""
        settings = [f"start={self.start}", FORM, *LENGTHS, f"rate={rate}", f"epochs={epochs}"]
        return [
            "train", "minilm", f"{self.of}/train", "--set", *settings, f"seed={seed}",
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
        model = f"{self.name},rate={rate},epochs={epochs}-{seed}"
        run = self.out / f"{model}.dev.run"
        settings = ["--set", f"model={self.out / 'models' / model}", FORM]
        ranking = ["retrieve", f"{self.of}/dev", "dense", "-o", str(run), *settings]
        return run, [self.training(rate, epochs, seed, model), ranking]


def make(job: tuple[Path, list[list[str]]], apart: bool) -> Path:
    """The run of a job, whose commands are run where it is not there, each in a process of its own."""
    run, commands = job
    told = run.with_name(f"{run.name}.commands")
    by = "\n".join(map(shlex.join, commands))
    done = run.is_file() and told.is_file() and told.read_text("utf-8") == by
    for line in [] if done else commands:
        if apart:
            ended = subprocess.run(
                [sys.executable, "-m", "irtoolkit", *line], capture_output=True, text=True
            )
            status, errors = ended.returncode, ended.stderr[-2000:]
        else:
            status, errors = command(line), ""
        if status:
            raise SystemExit(f"irtoolkit {shlex.join(line)} failed\n{errors}")
    told.write_text(by, "utf-8")
    print(run.name, flush=True)
    return run


def figures(path: Path, dataset: str) -> dict[str, float]:
    """The measures of a run."""
    run = Run.read(path)
    found = evaluate(
        run, Dataset.of(dataset).qrels, parse_measures(MEASURES), (), read_ranks(path, run)
    )
    return dict(found.figures())


def measure(encoders: list[Encoder], settings: list[Setting], jobs: int) -> dict[str, Any]:
    """Everything that was tried on the training queries, and what was chosen on the others."""
    tries = list(product(encoders, settings))
    with ThreadPoolExecutor(jobs) as pool:
        makes = partial(make, apart=jobs > 1)
        runs = list(pool.map(makes, [e.folds(*one) for e, one in tries]))
        tried = {
            (e.name, one): figures(run, f"{e.of}/train")
            for (e, one), run in zip(tries, runs, strict=True)
        }
        best = {e.name: max(settings, key=lambda s: _order(tried[e.name, s])) for e in encoders}
        seeds = [[e.whole(*best[e.name], seed) for seed in SEEDS] for e in encoders]
        list(pool.map(makes, [job for of_one in seeds for job in of_one]))
    for e, of_one in zip(encoders, seeds, strict=True):
        _lay_out(e, e.folds(*best[e.name])[0], of_one[0][0])
    return {
        e.name: {
            "start": e.start,
            "tried out of fold": [
                {"rate": rate, "epochs": epochs, **tried[e.name, (rate, epochs)]}
                for rate, epochs in settings
            ],
            "chosen": dict(zip(("rate", "epochs"), best[e.name], strict=True)),
            "commands": ["irtoolkit " + shlex.join(line) for line in of_one[0][1]],
            "platform": (provenance.read_metadata(of_one[0][0]) or {}).get("platform"),
            "seeds": {
                str(seed): figures(run, f"{e.of}/dev")
                for seed, (run, _) in zip(SEEDS, of_one, strict=True)
            },
        }
        for e, of_one in zip(encoders, seeds, strict=True)
    }


def _lay_out(encoder: Encoder, train: Path, dev: Path) -> None:
    """Copies the runs of a row to where quality.py looks for what it takes."""
    for part, run in (("train", train), ("dev", dev)):
        folder = encoder.out / "quality" / f"{encoder.of.replace('/', '.')}.{part}"
        folder.mkdir(parents=True, exist_ok=True)
        for end in ("", RECORD_END, RANKS_END):
            made = run.with_name(run.name + end)
            shutil.copy(made, folder / f"{encoder.name}_trained.run{end}")


def _order(found: dict[str, float]) -> tuple[float, float]:
    return found["R@1"], found["RR"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("encoders", nargs="+", metavar="NAME=MODEL", help="a preset or a folder")
    parser.add_argument("--of", default="egret", metavar="BENCHMARK", help="default: egret")
    parser.add_argument("--rates", nargs="+", default=RATES, help="default: %(default)s")
    parser.add_argument("--epochs", nargs="+", default=EPOCHS, help="default: %(default)s")
    parser.add_argument("--jobs", type=int, default=1, help="commands at a time; default: 1")
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER")
    args = parser.parse_args()
    out = Path(args.output)
    out.mkdir(parents=True, exist_ok=True)
    if wrong := [one for one in args.encoders if "=" not in one]:
        parser.error(f"{wrong[0]} is not NAME=MODEL")
    encoders = [Encoder(*one.split("=", 1), args.of, out) for one in args.encoders]
    if len({one.name for one in encoders}) < len(encoders):
        parser.error("two encoders have one name")
    started = time.monotonic()
    found = measure(encoders, list(product(args.rates, args.epochs)), args.jobs)
    kept = {"encoders": found, **provenance.circumstances(time.monotonic() - started)}
    with atomic_text(out / "trained.json") as file:
        json.dump(kept, file, indent=1)
        file.write("\n")
    for name, about in found.items():
        told = ", ".join(f"{100 * one['R@1']:.1f}" for one in about["seeds"].values())
        print(f"{name}: {about['chosen']}, R@1 {told}")


if __name__ == "__main__":
    main()
