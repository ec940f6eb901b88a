"""BIRCO: systems of irtoolkit beside the published runs, with intervals and paired tests.

    python benchmarks/weights.py
    IRTOOLKIT_DATA=DATA python benchmarks/birco.py RUNS --ranks evaluation/ranks

RUNS is a folder: a run that it has (TASK.SYSTEM.run) is scored as it is, others are made. --ranks is the folder of that name
in BIRCO's repository, whose pickles are the published rankings. It writes benchmarks/results/birco.json, of which
docs/generate.py makes docs/results/birco.md, and with --ranks the table irtoolkit/papers/birco.toml.

An interval is of 95 % by bootstrap over queries. p is of a paired t-test over queries, Holm-corrected over the systems that
are held against the same baseline. A published ranking that cannot be a run, for one that lists a document twice, is
refused, and the results say why.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text
from irtoolkit.datasets.plain_pickle import read_plain_pickle
from irtoolkit.runs import Run

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "birco.json"
TABLE = ROOT / "irtoolkit" / "papers" / "birco.toml"
DATASETS = {"relic": "birco/relic", "wtb": "birco/wtb", "doris-mae": "birco/doris-mae/dev"}
MAIN, MEASURES = "nDCG@10", ["nDCG@10", "R@5", "RR@10"]
SYSTEMS = {
    "BM25": "bm25",
    "MiniLM": "all-MiniLM-L6-v2",
    "gte-small": "gte-small",
    "bge-small": "bge-small-en",
    "mpnet": "all-mpnet-base-v2",
    "cross-encoder": "ms-marco-MiniLM-L-12",
    "gte-small, tokens": "late",
}
SETTINGS = {"gte-small, tokens": {"model": "gte-small"}}
# Names of files of runs, where they differ from the system's.
FILES = {"BM25": "bm25", "cross-encoder": "cross", "gte-small, tokens": "late"}
# Reciprocal rank fusions, with the method's usual constant.
FUSIONS = {
    "BM25 + mpnet": ("BM25", "mpnet"),
    "BM25 + cross-encoder": ("BM25", "cross-encoder"),
    "four encoders": ("MiniLM", "gte-small", "bge-small", "mpnet"),
    "all six": ("BM25", "MiniLM", "gte-small", "bge-small", "mpnet", "cross-encoder"),
}
# A fusion that cross-validation chooses, for queries that took no part in its choice.
TUNED, TUNES = "tuned fusion", ("wtb", "doris-mae")
# Published systems that ours are tested against, and their files.
PUBLISHED = {"E5": "e5", "MonoT5": "Monot5"}
TASKS = ("relic", "wtb", "arguana", "clinical-trial")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", type=Path, metavar="RUNS")
    parser.add_argument("--ranks", type=Path, metavar="FOLDER")
    parser.add_argument("--given", action="store_true", help="make no run, score those of RUNS")
    args = parser.parse_args()
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {}
    kept["tasks"] = {task: measured(task, args.runs, args.ranks, args.given) for task in DATASETS}
    if args.ranks is not None:
        kept["published"], kept["refused"] = published(args.ranks)
        with atomic_text(TABLE) as out:
            out.write(table(kept["published"]))
    with atomic_text(RESULTS) as out:
        out.write(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


# -- our systems -------------------------------------------------------------------------------------


def measured(task: str, folder: Path, ranks: Path | None, given: bool) -> dict[str, Any]:
    """Figures of our systems on a task, and of the published ones that they are tested against."""
    data = ir.load(DATASETS[task])
    paths = {name: folder / f"{task}.{FILES.get(name, name)}.run" for name in SYSTEMS}
    runs = {
        name: _run(data, name, path)
        for name, path in paths.items() if path.is_file() or not given
    }  # fmt: skip
    for name, parts in FUSIONS.items():
        if set(parts) <= set(runs):
            runs[name] = ir.fuse(*(runs[part] for part in parts), tag="fused")
    if ranks is not None and (ranks / task).is_dir() and task == DATASETS[task].partition("/")[2]:
        for name, file in PUBLISHED.items():
            runs[name] = _published(next((ranks / task).glob(f"{file}*.pickle")))
    if task in TUNES:
        parts = [runs[name] for name in SYSTEMS if name in runs]
        methods, zscore = ["rrf", "weighted"], ["zscore"]
        tuned = ir.tune_fusion(data, *parts, measure=MAIN, methods=methods, normalise=zscore)
        runs[TUNED] = tuned.run
    figures = ir.evaluate(data, runs, measures=MEASURES).figures()
    rows = {name: {"figures": figures[name]} for name in runs}
    for one in ir.compare(data, runs, measure=MAIN, baseline="BM25"):
        rows[one.system]["interval"] = [one.low, one.high]
    for baseline in ("BM25", *(name for name in PUBLISHED if name in runs)):
        for one in ir.compare(data, runs, measure=MAIN, baseline=baseline):
            if one.system != baseline:
                rows[one.system].setdefault("p", {})[baseline] = one.corrected
    return {"dataset": data.id, "queries": len(data.queries()), "rows": rows}


def _run(data: Any, name: str, path: Path) -> Run:
    if not path.is_file():
        ir.retrieve(data, SYSTEMS[name], output=path, **SETTINGS.get(name, {}))
    return Run.read(path)


# -- published systems -------------------------------------------------------------------------------


def published(ranks: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """System to task to figures, and file to why it is refused."""
    found: dict[str, Any] = {}
    refused: dict[str, str] = {}
    for task in TASKS:
        data = ir.load(f"birco/{task}")
        for path in sorted((ranks / task).glob("*.pickle"), key=lambda path: path.name.lower()):
            try:
                run = _published(path)
                (figures,) = ir.evaluate(data, run, measures=MEASURES).figures().values()
            except InputError as error:
                refused[f"{task}/{path.name}"] = error.found
                continue
            found.setdefault(_name(path), {})[task] = figures
    return dict(sorted(found.items(), key=lambda item: item[0].lower())), refused


def _published(path: Path) -> Run:
    """The ranking of a pickle as a run: {query: [documents, best first]}."""
    rankings = read_plain_pickle(path)
    return Run.of(
        [
            (query, doc, float(len(docs) - place))
            for query, docs in rankings.items()
            for place, doc in enumerate(docs)
        ]
    ).named(_name(path))


def _name(path: Path) -> str:
    """A published system's name: that of its file, in one spelling for all tasks."""
    name = path.stem.removesuffix("_rank").replace("_test_score", "_score")
    return name.replace("Rrankgpt", "Rankgpt")


def table(systems: dict[str, Any]) -> str:
    """The experiment table of the published runs."""
    lines = [
        "# BIRCO (Wang et al. 2024). Figures under \"reported\" are computed from the published rankings",
        "# (evaluation/ranks of the release) by benchmarks/birco.py, which writes this file; they are not",
        "# copied from the paper. A system without a figure for a task has no ranking there, or a damaged one.",
        "",
        'title = "BIRCO: published rankings of the test splits, percent"',
        "scale = 100.0",
        'baseline = "BM25"',
        f'tested = "{MAIN}"',
        "",
        "[columns]",
        *(f'"{name}" = "{name}"' for name in MEASURES),
        "",
        "[groups]",
        *(f'{task} = "birco/{task}"' for task in TASKS),
        "",
        "[[row]]",
        'system = "BM25"',
        'retriever = "bm25"',
        'note = "No system of the paper: irtoolkit\'s, within each pool."',
    ]  # fmt: skip
    for name, tasks in systems.items():
        lines += ["", "[[row]]", f'system = "{name}"',
                  'ranking = "evaluation/ranks of the release"']  # fmt: skip
        for task, figures in tasks.items():
            values = ", ".join(f"{100 * figures[measure]:.2f}" for measure in MEASURES)
            lines.append(f"reported.{task} = [{values}]")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
