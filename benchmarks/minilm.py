"""What training does for a small encoder on small data, measured on queries it has not seen.

    IRTOOLKIT_DATA=../shared/data python benchmarks/minilm.py egret plotretrieval quoter relic
    IRTOOLKIT_DATA=../shared/data python benchmarks/minilm.py egret --arms trained --seeds 1
    IRTOOLKIT_DATA=../shared/data python benchmarks/minilm.py egret --arms queries-mapped
    IRTOOLKIT_DATA=../shared/data python benchmarks/minilm.py egret quoter --search --rates 1e-5 5e-5
    python benchmarks/minilm.py --table benchmarks/results/minilm.json

all-MiniLM-L6-v2 is trained by each arm's recipe on the train split, with three seeds, and ranks the
real candidate sets of the other split beside BM25 and the untrained model. A figure of an arm is
the mean over its seeds, with their standard deviation. For the tests each query's values are first
averaged over the seeds; p is of a paired t-test over queries, Holm-corrected over all comparisons
of a benchmark. Nothing of the measured split is looked at in training. Settings of an arm with a
grid are chosen first, on a fifth of the training queries that is held out, as `irtoolkit train
--grid` does. Where OUTPUT has rows of other arms already, beside the same figures of the untrained
systems, they stay, and p is corrected over all rows.

With --search learning rates are compared on a fifth of the training queries that is held out,
ranking the benchmark's own candidates: one seed, one training of each rate, which declines to
nothing over all epochs. The recipes' rate of 5e-5 and their two epochs are usual ones, and were not
chosen so.

Runs, models and encodings are kept, so an interrupted benchmark goes on where it was. Data are
those that IRTOOLKIT_DATA names; figures on other data are not comparable.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.base.files import atomic_text
from irtoolkit.base.tables import TextTable
from irtoolkit.cli import main as command
from irtoolkit.datasets.cache import cache_home
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.training_grid import TrainingSearch
from irtoolkit.papers.training_search import search_training
from irtoolkit.ranking.produce import produce
from irtoolkit.ranking.systems import System, find_system
from irtoolkit.runs import provenance
from irtoolkit.runs.exact_ranks import read_ranks
from irtoolkit.scoring.evaluation import Evaluation, evaluate, parse_measures
from irtoolkit.scoring.significance import correct, paired_test
from irtoolkit.training.model_paths import trained_folder
from irtoolkit.training.recipe_files import find_recipe
from irtoolkit.training.trainer import train

SEEDS = (1, 2, 3)
START = "all-MiniLM-L6-v2"
# A setting that stands for the file of examples mined from the books of IRTOOLKIT_DATA.
MINED = "examples of books"
# And one that stands for BM25's run of the training split.
FIRST = "run of BM25"
RATES = (1e-5, 2e-5, 5e-5, 1e-4)
EPOCHS = 4


@dataclass(frozen=True)
class Arm:
    """One way of training.

    Attributes:
        recipe: its recipe.
        settings: beside the recipe's own.
        shown: settings of the retriever that runs the model.
        grid: values of settings that are chosen on held-out training queries; none if empty.
        seeds: of its models; a search has the first.
    """

    recipe: str
    settings: dict[str, Any] = field(default_factory=dict)
    shown: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, list[str]] = field(default_factory=dict)
    seeds: tuple[int, ...] = SEEDS


@dataclass(frozen=True)
class Trial:
    """A benchmark: what is measured, against which systems, and the ways of training.

    Attributes:
        dataset: ranked.
        measures: told; the first is tested.
        untrained: systems of the benchmark's table, the lexical one and the encoder.
        arms: by name.
    """

    dataset: str
    measures: tuple[str, ...]
    untrained: tuple[str, ...]
    arms: dict[str, Arm]


# Datasets of the training queries of benchmarks that have an arm with such a run.
TRAINED = {"quoter": "quoter/en/lower/train"}
_RANKS = ("RR", "R@1", "R@10", "R@100", "Rank")
TRIALS: dict[str, Trial] = {
    "quoter": Trial(
        "quoter/en/lower/test", _RANKS, ("BM25", "MiniLM"),
        {
            "trained": Arm("minilm", {"benchmark": "quoter"}),
            # The usual rate of adapters, ten times that of all weights.
            "adapters": Arm("minilm", {"benchmark": "quoter", "lora": 16, "rate": "5e-4"}),
            "distilled": Arm(
                "minilm", {"benchmark": "quoter", "negatives": "mined", "run": FIRST, "count": 3,
                           "teacher": "ms-marco-MiniLM-L-12", "loss": "kl"},
            ),
        },
    ),
    "plotretrieval": Trial(
        "plotretrieval/val", ("NRODCG@10", "RR@10", "RCap@10", "RCap@100"), ("BM25", "MiniLM"),
        {
            "trained": Arm("minilm", {"benchmark": "plotretrieval"}, {"doc": "sentences"}),
            "queries-trained": Arm(
                "minilm", {"benchmark": "plotretrieval", "encoders": 2, "frozen": "documents"},
                {"doc": "sentences"},
            ),
            "surroundings-first": Arm(
                "minilm-surroundings", {"benchmark": "plotretrieval"}, {"doc": "sentences"}
            ),
        },
    ),
    "egret": Trial(
        "egret/dev", _RANKS, ("BM25-L+R", "MiniLM-L+R"),
        {
            "trained": Arm("minilm", {"benchmark": "egret"}),
            "examples-first": Arm("minilm-examples", {"1.file": MINED}),
            "queries-mapped": Arm(
                "minilm-query-map", {"benchmark": "egret", "held_out": "0.2"},
                grid={"rate": ["1e-9", "3e-4", "1e-3", "3e-3"], "epochs": ["10", "30"],
                      "temperature": [".05", ".1"]},
                seeds=(0, 1, 2),
            ),
        },
    ),
    "relic": Trial(
        "relic/val/1-1", _RANKS, ("BM25-1-1", "MiniLM-1-1"),
        {
            "contexts-trained": Arm(
                "minilm", {"benchmark": "relic", "encoders": 2, "frozen": "documents"}
            ),
            "surroundings-first": Arm("minilm-surroundings"),
        },
    ),
}  # fmt: skip


def measured(system: System, trial: Trial, path: Path) -> Evaluation:
    """Ranks, or takes the run that is there, and scores it."""
    run, _ = produce(trial.dataset, system, path, depth=1000, reuse=True)
    qrels = Dataset.of(trial.dataset).qrels
    return evaluate(run, qrels, parse_measures(trial.measures), (), read_ranks(path, run))


def of_arm(name: str, arm: Arm, seed: int, trial: Trial, out: Path) -> tuple[Evaluation, float]:
    """An arm's model of one seed, trained or taken, and its evaluation with the seconds trained."""
    settings = {**arm.settings, "seed": seed}
    made = {MINED: mined, FIRST: partial(first, arm.settings.get("benchmark"))}
    settings = {key: made[value]() if value in made else value for key, value in settings.items()}
    recipe = find_recipe(arm.recipe, settings)
    trained = train(recipe, trained_folder(arm.recipe, settings), device="cpu")
    seconds = sum(stage["seconds"] for stage in trained.record["stages"])
    shown = {"model": str(trained.folder), **arm.shown}
    if recipe.query_map or all(stage.frozen == "documents" for stage in recipe.stages):
        # The documents' encoder is the untrained one, whose vectors may be there already.
        shown |= {"model": START, "query_weights": str(trained.folder)}
    system = System.make(f"{name}-{seed}", "dense", shown)
    return measured(system, trial, out / f"{name}-{seed}.run"), seconds


def chosen(name: str, arm: Arm, out: Path) -> Arm:
    """An arm with the settings of its grid that are best on held-out training queries."""
    if not arm.grid:
        return arm
    search = TrainingSearch(arm.recipe, arm.grid, arm.settings, "RR", arm.seeds[:1])
    found = search_training(search, out / name, train=partial(train, device="cpu"))
    return replace(arm, settings={**arm.settings, "held_out": 0, **found.best.settings}, grid={})


@cache
def mined() -> str:
    """The file of examples mined from the books."""
    books = sorted((Path(os.environ["IRTOOLKIT_DATA"]) / "books").glob("*.txt"))
    path = cache_home() / "minilm" / "books.jsonl"
    if command(["extract", "examples", *map(str, books), "-o", str(path)]):
        raise SystemExit(f"no examples of {len(books)} books")
    return str(path)


@cache
def first(benchmark: str) -> str:
    """BM25's run of the training split."""
    trained, path = TRAINED[benchmark], cache_home() / "minilm" / f"{benchmark}.bm25.run"
    produce(trained, find_system("BM25", {}, trained), path, depth=100, reuse=True)
    return str(path)


def search(benchmark: str, rates: list[float]) -> dict[str, list[float]]:
    """The measure on held-out training queries after each epoch, for each rate and for none."""
    found: dict[str, list[float]] = {}
    base = {"benchmark": benchmark, "held_out": 0.2, "measure": "RR", "seed": SEEDS[0]}
    # A step that moves nothing measures the encoder as it is.
    trainings = {"untrained": {**base, "rate": 1e-12, "epochs": 0.01}}
    trainings |= {f"{rate:g}": {**base, "rate": rate, "epochs": EPOCHS} for rate in rates}
    for name, settings in trainings.items():
        recipe = find_recipe("minilm", settings)
        trained = train(recipe, trained_folder("minilm", settings), device="cpu")
        told = trained.record["stages"][0]["evaluations"]
        found[name] = [row["figures"]["RR"] for row in told]
    return found


def run_trial(benchmark: str, arms: list[str], seeds: int, out: Path) -> dict[str, Any]:
    """The rows of a benchmark's table."""
    trial = TRIALS[benchmark]
    rows: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for name in trial.untrained:
        found = measured(find_system(name, {}, trial.dataset), trial, out / f"{name}.run")
        rows[name] = {"figures": found.figures()}
        values[name] = found.values
    for name, arm in trial.arms.items():
        if arms and name not in arms:
            continue
        arm, used = chosen(name, arm, out), arm.seeds[:seeds]
        made = [of_arm(name, arm, seed, trial, out) for seed in used]
        figures = {m: [found.figures()[m] for found, _ in made] for m in trial.measures}
        rows[name] = {
            "recipe": arm.recipe,
            "settings": arm.settings,
            "figures": {m: float(np.mean(all_)) for m, all_ in figures.items()},
            "sd over seeds": {m: float(np.std(all_, ddof=1)) if len(all_) > 1 else None
                              for m, all_ in figures.items()},
            "seeds": list(used),
            "seconds trained": [round(seconds, 1) for _, seconds in made],
        }  # fmt: skip
        values[name] = np.mean([found.values for found, _ in made], axis=0)
    pairs = [(name, other) for name in values if name in trial.arms for other in trial.untrained]
    raw = [paired_test(values[a][0], values[b][0]) for a, b in pairs]
    for (name, other), p, corrected in zip(pairs, raw, correct(raw), strict=True):
        rows[name].setdefault("p", {})[other] = {"raw": p, "Holm": corrected}
    return {"dataset": trial.dataset, "tested": trial.measures[0], "rows": rows}


def beside(found: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """The rows of a benchmark with those of other arms, measured before on the same data."""
    rows = found["rows"]
    for name, row in rows.items():
        was = known.get("rows", {}).get(name, {}).get("figures", {})
        same = was.keys() == row["figures"].keys() and all(
            np.isclose(was[m], figure) for m, figure in row["figures"].items()
        )
        if "recipe" not in row and not same:
            return found
    rows = {**known["rows"], **rows}
    tests = [test for row in rows.values() for test in row.get("p", {}).values()]
    for test, p in zip(tests, correct([test["raw"] for test in tests]), strict=True):
        test["Holm"] = p
    return {**found, "rows": rows}


def table(benchmark: str, found: dict[str, Any]) -> TextTable:
    """A benchmark's rows as text; percentages but for ranks."""
    measures = list(next(iter(found["rows"].values()))["figures"])
    others = [name for name, row in found["rows"].items() if "recipe" not in row]
    lines = []
    for name, row in found["rows"].items():
        line = [name]
        for m in measures:
            scale = 1 if "Rank" in m else 100
            line.append(f"{row['figures'][m] * scale:.1f}")
            sd = row.get("sd over seeds", {}).get(m)
            if sd is not None:
                line[-1] += f" ±{sd * scale:.1f}"
        tests = row.get("p", {})
        line += [f"{tests[o]['Holm']:.3f}" if o in tests else "" for o in others]
        lines.append(line)
    title = f"{found['dataset']}: {benchmark}, tested on {found['tested']}"
    return TextTable(["system", *measures, *(f"p, {o}" for o in others)], lines, title)


def search_table(benchmark: str, found: dict[str, list[float]]) -> TextTable:
    """RR on held-out training queries, a column for each epoch."""
    lines = [[rate, *(f"{100 * value:.1f}" for value in values)] for rate, values in found.items()]
    lines = [line + [""] * (EPOCHS + 1 - len(line)) for line in lines]
    title = f"{benchmark}: RR on held-out training queries"
    return TextTable(["rate", *(f"epoch {i + 1}" for i in range(EPOCHS))], lines, title)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("benchmarks", nargs="*", choices=[*TRIALS, []], default=[])
    parser.add_argument("--arms", nargs="+", default=[], help="default: all")
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="default: 3")
    parser.add_argument("--search", action="store_true", help="compare rates instead")
    parser.add_argument(
        "--rates", nargs="+", type=float, default=RATES, help="default: %(default)s"
    )
    parser.add_argument(
        "--table", metavar="FILE", help="print what is in a file, and measure nothing"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="keep the figures here, as JSON")
    args = parser.parse_args()
    if args.table:
        kept = json.loads(Path(args.table).read_text("utf-8"))
        for benchmark, found in kept.get("benchmarks", {}).items():
            print(table(benchmark, found).render("text"))
        for benchmark, found in kept.get("search", {}).items():
            print(search_table(benchmark, found).render("text"))
        return
    results, started = {}, time.monotonic()
    for benchmark in args.benchmarks or list(TRIALS):
        out = cache_home() / "minilm" / benchmark
        out.mkdir(parents=True, exist_ok=True)
        if args.search:
            results[benchmark] = search(benchmark, args.rates)
            shown = search_table(benchmark, results[benchmark])
        else:
            results[benchmark] = run_trial(benchmark, args.arms, args.seeds, out)
            shown = table(benchmark, results[benchmark])
        print(shown.render("text"), flush=True)
    if args.output:
        known = Path(args.output)
        kept = json.loads(known.read_text("utf-8")) if known.is_file() else {}
        part = "search" if args.search else "benchmarks"
        before = kept.get(part, {})
        if not args.search:
            results = {name: beside(found, before.get(name, {})) for name, found in results.items()}
        kept[part] = {**before, **results}
        kept |= provenance.circumstances(time.monotonic() - started)
        with atomic_text(known) as file:
            json.dump(kept, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
