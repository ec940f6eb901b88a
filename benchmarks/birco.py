"""BIRCO: systems of irtoolkit beside the published runs, with intervals and paired tests.

    python benchmarks/weights.py
    IRTOOLKIT_DATA=DATA python benchmarks/birco.py RUNS --ranks evaluation/ranks

RUNS is a folder: a run that it has (TASK.SYSTEM.run) is scored as it is, others are made. --ranks is the folder of that name
in BIRCO's repository, whose pickles are the published rankings. It writes benchmarks/results/birco.json, of which
docs/generate.py makes docs/results/birco.md, and with --ranks the table irtoolkit/papers/birco.toml. What it had measured before
stays where runs or rankings are missing now: a task some of whose rows could not be measured again, since p depends on all rows,
and the published figures of a task without rankings or judgments.

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
# More fusions that cross-validation chooses, of which only the figure is kept.
TRIED = {
    "wtb": (
        ("gte-small", "gte-small, tokens"),
        ("gte-small", "gte-small, tokens", "mpnet"),
        ("gte-small", "gte-small, tokens", "mpnet", "bge-small"),
        ("gte-small", "bge-small", "mpnet"),
        ("gte-small", "mpnet"),
        ("gte-small", "gte-small, tokens", "mpnet", "bge-small", "BM25"),
    ),
    "relic": (
        ("bm25-nearby", "mpnet"),
        ("bm25-nearby", "gte-small"),
        ("bm25-nearby", "MiniLM", "gte-small", "mpnet"),
        ("bm25-nearby", "BM25", "MiniLM", "gte-small", "bge-small", "mpnet", "cross-encoder"),
    ),
}
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
    tasks = kept.setdefault("tasks", {})
    for task in DATASETS:
        tasks[task] = complete(
            task, measured(task, args.runs, args.ranks, args.given), tasks.get(task)
        )
    if args.ranks is not None:
        there = {task for task in TASKS if _is_here(task, args.ranks)}
        found, refused = published(args.ranks, there)
        kept["published"] = merged(found, kept.get("published", {}), there)
        old = kept.get("refused", {}).items()
        kept["refused"] = refused | {f: why for f, why in old if f.partition("/")[0] not in there}
        with atomic_text(TABLE) as out:
            out.write(table(kept["published"]))
    with atomic_text(RESULTS) as out:
        out.write(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


def complete(task: str, found: dict[str, Any], old: dict[str, Any] | None) -> dict[str, Any]:
    """What was found of a task; or what was kept of it, where that has rows that could not be measured."""
    kinds = ("rows", "tried")
    lost = [row for kind in kinds for row in (old or {}).get(kind, {}) if row not in found[kind]]
    if old is None or not lost:
        return found
    print(f"{task}: kept as it was, without the runs of {', '.join(lost)}", flush=True)
    return old


def merged(found: dict[str, Any], old: dict[str, Any], there: set[str]) -> dict[str, Any]:
    """Published figures by system and task: those found, and the old ones of tasks that are not there."""
    systems = sorted({*found, *old}, key=str.lower)
    figures = {
        name: {
            task: known[task] for task in TASKS
            for known in [(found if task in there else old).get(name, {})] if task in known
        }
        for name in systems
    }  # fmt: skip
    return {name: tasks for name, tasks in figures.items() if tasks}


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
            for path in sorted((ranks / task).glob(f"{file}*.pickle"))[:1]:
                runs[name] = _published(path)
    if task in TUNES:
        runs[TUNED] = _tuned(data, [runs[name] for name in SYSTEMS if name in runs]).run
    figures = ir.evaluate(data, runs, measures=MEASURES).figures()
    rows = {name: {"figures": figures[name]} for name in runs}
    for one in ir.compare(data, runs, measure=MAIN, baseline="BM25"):
        rows[one.system]["interval"] = [one.low, one.high]
    for baseline in ("BM25", *(name for name in PUBLISHED if name in runs)):
        for one in ir.compare(data, runs, measure=MAIN, baseline=baseline):
            if one.system != baseline:
                rows[one.system].setdefault("p", {})[baseline] = one.corrected
    tried = _tried(task, data, runs)
    return {"dataset": data.id, "queries": len(data.queries), "rows": rows, "tried": tried}


def _tried(task: str, data: Any, runs: dict[str, Run]) -> dict[str, float]:
    """The main measure of the other fusions, each query by what other queries choose."""
    if task not in TRIED:
        return {}
    runs = {**runs, "bm25-nearby": ir.retrieve(data, "bm25-nearby")} if task == "relic" else runs
    return {
        " + ".join(names): _tuned(data, [runs[name] for name in names]).figure
        for names in TRIED[task] if set(names) <= set(runs)
    }  # fmt: skip


def _tuned(data: Any, parts: list[Run]) -> Any:
    methods, zscore = ["rrf", "weighted"], ["zscore"]
    return ir.tune_fusion(data, *parts, measure=MAIN, methods=methods, normalise=zscore)


def _run(data: Any, name: str, path: Path) -> Run:
    if not path.is_file():
        ir.retrieve(data, SYSTEMS[name], output=path, **SETTINGS.get(name, {}))
    return Run.read(path)


# -- published systems -------------------------------------------------------------------------------


def _is_here(task: str, ranks: Path) -> bool:
    """Whether a task has rankings, and judgments that they can be scored by."""
    try:
        return any((ranks / task).glob("*.pickle")) and bool(ir.load(f"birco/{task}").queries)
    except InputError as error:
        print(f"{task}: published figures kept as they were; {error.found}", flush=True)
        return False


def published(ranks: Path, tasks: set[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """System to task to figures, and file to why it is refused."""
    found: dict[str, Any] = {}
    refused: dict[str, str] = {}
    for task in (task for task in TASKS if task in tasks):
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
