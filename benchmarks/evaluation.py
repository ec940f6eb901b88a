"""How fast rankings are made, read, written and scored, as ratios to other ways of doing the same.

    python benchmarks/evaluation.py                     # published sizes: some minutes, 8 GB of memory
    python benchmarks/evaluation.py --scale 0.002       # a smoke test
    python benchmarks/evaluation.py --parts nearness usual -o evaluation.json

Everything is invented, the same in every run, and of the size of an evaluation on RELiC. Every
figure comes from a process of its own, one at a time; peaks are the largest resident sets of those
processes, what they map and what they make to measure on included. Our seconds are the median of
three but for the engine's; those of the others are of one run, ranx's when everything is compiled.
What restates a definition in plain Python is timed on some of the queries, and scaled up.

parts:
    engine    9,034 queries with 5,041 candidates each through rank to depth 100, and
              statistics of the gold's exact ranks, beside sorting each query's candidates in Python
    nearness  NRODCG and nDCGp, beside the same definitions in plain Python
    usual     eleven of trec_eval's measures by ir_measures' providers and by ranx
    files     a TREC file of nine million rows, beside ir_measures' reader

Exit status 1 says that a target was missed; targets are for the published sizes only. A row says
"absent" where a package that it needs is not installed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from irtoolkit.base.cores import peak_memory

QUERIES, DEPTH, CANDIDATES = 9_034, 1_000, 5_041
BOOKS, LENGTHS, PASSAGES = 79, 5, 1_500
# Queries that plain Python is timed on.
PLAIN_QUERIES = 300
ENGINE_DEPTH, ENGINE_PEAK_MB = 100, 2_000
RANKS = "Rank MedianRank StdRank R@1 R@3 R@5 R@10 R@50 R@100"
# Measures, and the ratios they are to reach.
NEARNESS = {"NRODCG@10": 50, "NRODCG@100": 50, "nDCGp(p=20)": 50}
# The usual measures, and ranx's names of them.
USUAL = {
    "nDCG@10": "ndcg@10",
    "nDCG": "ndcg",
    "AP": "map",
    "RR": "mrr",
    "P@10": "precision@10",
    "P@100": "precision@100",
    "R@10": "recall@10",
    "R@100": "recall@100",
    "R@1000": "recall@1000",
    "Success@10": "hit_rate@10",
    "Rprec": "r-precision",
}


# ---- what is measured on -------------------------------------------------------------------------


def at_scale(count: int, scale: float) -> int:
    return max(2, round(count * scale))


def invented_run(scale: float) -> Any:
    """A run of DEPTH passages of the query's own book for each query, in an order by chance."""
    import numpy as np

    from irtoolkit.base.ids import id_array
    from irtoolkit.runs import Run

    rng, queries = np.random.default_rng(1), at_scale(QUERIES, scale)
    docs = rng.permuted(np.tile(np.arange(PASSAGES), (queries, 1)), axis=1)[:, :DEPTH]
    docs += (np.arange(queries) % BOOKS * PASSAGES)[:, None]
    # Scores in steps and never tied: no evaluator's way with ties is measured.
    scores = DEPTH - np.arange(DEPTH) + rng.random((queries, DEPTH)) * 0.9
    return Run.from_columns(
        id_array([f"q{number}" for number in range(queries)]),
        np.repeat(np.arange(queries), DEPTH),
        id_array([f"book_{book}:{start}+3" for book in range(BOOKS) for start in range(PASSAGES)]),
        docs.ravel(),
        scores.ravel(),
    )


def invented_qrels(scale: float) -> Any:
    """A gold passage with a grade, and what stands near it, mostly with grade 0."""
    import numpy as np

    from irtoolkit.runs import Qrels

    rng, rows = np.random.default_rng(2), []
    for number in range(at_scale(QUERIES, scale)):
        gold = int(rng.integers(4, PASSAGES - 4))
        for start in range(gold - 4, gold + 5):
            grade = int(rng.integers(1, 4)) if start == gold or rng.random() < 0.1 else 0
            rows.append((f"q{number}", f"book_{number % BOOKS}:{start}+3", grade))
    return Qrels.from_rows(rows)


# ---- the definitions, as one would write them down ------------------------------------------------


def plain_ranking(scores: dict[str, float]) -> list[str]:
    return sorted(scores, key=lambda doc: (scores[doc], doc), reverse=True)


def plain_nrodcg(scores: dict[str, float], grades: dict[str, int], k: int) -> float:
    places = {}
    for doc in scores.keys() | grades.keys():
        book, _, span = doc.rpartition(":")
        start, _, length = span.partition("+")
        places[doc] = book, int(start) + (int(length) - 1) / 2
    golds = [places[doc] for doc, grade in grades.items() if grade >= 1]
    gains = {}
    for doc, (book, middle) in places.items():
        distances = [abs(middle - other) for name, other in golds if name == book]
        nearest = min(distances, default=math.inf)
        gains[doc] = 1 / (nearest + 1) if nearest < 5 else 0.0

    def dcg(ranked: list[float]) -> float:
        return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(ranked[:k], 1))

    best = dcg(sorted(gains.values(), reverse=True))
    return dcg([gains[doc] for doc in plain_ranking(scores)]) / best if best else 0.0


def plain_ndcgp(scores: dict[str, float], grades: dict[str, int], p: int) -> float:
    gains = [max(grades.get(doc, 0), 0) for doc in plain_ranking(scores)]
    cut = len(gains) * p // 100

    def dcg(ranked: list[int]) -> float:
        return sum(
            gain / (math.log2(rank) if rank > 2 else 1) for rank, gain in enumerate(ranked[:cut], 1)
        )

    best = dcg(sorted(gains, reverse=True))
    return dcg(gains) / best if best else 0.0


PLAIN: dict[str, Callable[[dict[str, float], dict[str, int]], float]] = {
    "NRODCG@10": lambda scores, grades: plain_nrodcg(scores, grades, 10),
    "NRODCG@100": lambda scores, grades: plain_nrodcg(scores, grades, 100),
    "nDCGp(p=20)": lambda scores, grades: plain_ndcgp(scores, grades, 20),
}


# ---- in processes of their own -------------------------------------------------------------------


def timed(action: Callable[[], Any], times: int = 1) -> tuple[float, Any]:
    """The median of the seconds that an action took, and what it gave at last."""
    seconds = []
    for _ in range(times):
        result = None  # what an earlier time gave does not stay for the next
        begin = time.perf_counter()
        result = action()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds), result


def engine(scale: float) -> dict[str, Any]:
    """Ranks through the engine, with random scores that the query and the candidates decide."""
    import numpy as np

    from irtoolkit.base.ids import id_array
    from irtoolkit.retrievers.base import Retriever
    from irtoolkit.retrievers.engine import rank
    from irtoolkit.retrievers.task import QueryGroup, Task
    from irtoolkit.runs import Qrels
    from irtoolkit.scoring.evaluation import evaluate, parse_measures

    queries = at_scale(QUERIES, scale)
    pools = min(BOOKS * LENGTHS, queries)
    names = [
        f"book_{pool // LENGTHS}:{start}+{pool % LENGTHS + 1}"
        for pool in range(pools)
        for start in range(CANDIDATES)
    ]
    groups = tuple(
        QueryGroup(np.arange(pool, queries, pools), np.arange(CANDIDATES) + pool * CANDIDATES)
        for pool in range(pools)
    )
    query_ids = [f"q{number}" for number in range(queries)]
    task = Task("invented", id_array(query_ids), id_array(names), groups)
    golds = {
        name: names[number % pools * CANDIDATES + number * 7919 % CANDIDATES]
        for number, name in enumerate(query_ids)
    }

    def scores_of(query: int) -> Any:
        return np.random.default_rng(query).standard_normal(CANDIDATES, dtype=np.float32)

    class Chance(Retriever):
        name = "chance"

        def scorer(self, task: Task) -> Any:
            return lambda docs: lambda queries: np.stack([scores_of(query) for query in queries])

    qrels = Qrels.from_rows((query, doc, 1) for query, doc in golds.items())

    def ours() -> Any:
        wanted = {query: [doc] for query, doc in golds.items()}
        ranking = rank(task, Chance(), wanted, depth=ENGINE_DEPTH, progress=False)
        found = evaluate(ranking, qrels, parse_measures(RANKS), ranks=ranking.exact_ranks)
        return ranking, found.figures()

    seconds, (ranking, figures) = timed(ours)
    peak = peak_mb()

    some = range(0, queries, max(1, queries // PLAIN_QUERIES))

    def sort_each() -> dict[str, tuple[list[str], int]]:
        sorted_ones = {}
        for query in some:
            start = query % pools * CANDIDATES
            scores = dict(
                zip(names[start : start + CANDIDATES], scores_of(query).tolist(), strict=True)
            )
            ranked = plain_ranking(scores)
            place = ranked.index(golds[f"q{query}"]) + 1
            sorted_ones[f"q{query}"] = ranked[:ENGINE_DEPTH], place
        return sorted_ones

    others, expected = timed(sort_each)
    wrong = [
        query
        for query, (ranked, place) in expected.items()
        if [row.doc_id for row in ranking.ranking(query)] != ranked
        or ranking.exact_ranks[query][golds[query]] != place
    ]
    return {
        "seconds": seconds,
        "peak_mb": peak,
        "plain_seconds": others * queries / len(some),
        "difference": float(len(wrong)),
        "pairs": queries * CANDIDATES,
        "figures": figures,
    }


def nearness(scale: float) -> dict[str, Any]:
    import numpy as np

    from irtoolkit.scoring.evaluation import evaluate, parse_measures

    run, qrels = invented_run(scale), invented_qrels(scale)
    judged, found = qrels.as_dict(), {}
    some = [str(query) for query in run.query_ids[:: max(1, len(run.query_ids) // PLAIN_QUERIES)]]
    rows = [i for i, query in enumerate(qrels.query_ids) if query in set(some)]
    listed = {query: {row.doc_id: row.score for row in run.ranking(query)} for query in some}
    for names in (*([name] for name in NEARNESS), list(NEARNESS)):
        seconds, evaluation = timed(lambda: evaluate(run, qrels, parse_measures(names)), 3)  # noqa: B023
        others, expected = timed(
            lambda: [[PLAIN[name](listed[q], judged[q]) for q in some] for name in names]  # noqa: B023
        )
        found["all three" if len(names) > 1 else names[0]] = {
            "seconds": seconds,
            "plain_seconds": others * len(run.query_ids) / len(some),
            "difference": float(np.abs(evaluation.values[:, rows] - expected).max()),
        }
    return found


def usual_ours(scale: float, run_path: str, qrels_path: str) -> dict[str, Any]:
    from irtoolkit.runs import Qrels, Run
    from irtoolkit.scoring.evaluation import evaluate, parse_measures

    measures = parse_measures(list(USUAL))

    def in_memory() -> dict[str, Any]:
        run, qrels = invented_run(scale), invented_qrels(scale)
        seconds, found = timed(lambda: evaluate(run, qrels, measures), 3)
        return {"memory": seconds, "figures": found.figures()}

    def from_files() -> Any:
        return evaluate(Run.read(run_path), Qrels.read(qrels_path), measures)

    return {**in_memory(), "files": timed(from_files, 3)[0], "peak_mb": peak_mb()}


def usual_ir_measures(scale: float, run_path: str, qrels_path: str) -> dict[str, Any]:
    """From dictionaries, which its providers take as they are; from files by its own readers."""
    import ir_measures

    measures = {ir_measures.parse_measure(name): name for name in USUAL}

    def in_memory() -> dict[str, Any]:
        run, qrels = invented_run(scale).as_dict(), invented_qrels(scale).as_dict()
        seconds, metrics = timed(lambda: list(ir_measures.iter_calc(list(measures), qrels, run)))
        sums = dict.fromkeys(USUAL, 0.0)
        for metric in metrics:
            sums[measures[metric.measure]] += metric.value
        return {
            "memory": seconds,
            "figures": {name: value / len(qrels) for name, value in sums.items()},
        }

    def from_files() -> Any:
        qrels = ir_measures.read_trec_qrels(qrels_path)
        run = ir_measures.read_trec_run(run_path)
        return list(ir_measures.iter_calc(list(measures), qrels, run))

    return {**in_memory(), "files": timed(from_files)[0], "peak_mb": peak_mb()}


def usual_ranx(scale: float, run_path: str, qrels_path: str) -> dict[str, Any]:
    """Warm: everything has been compiled on a few queries before."""
    try:
        import ranx
    except ImportError:
        return {}
    names = list(USUAL.values())

    def in_memory(scale: float) -> dict[str, Any]:
        run, qrels = invented_run(scale).as_dict(), invented_qrels(scale).as_dict()
        building, built = timed(lambda: (ranx.Qrels(qrels), ranx.Run(run)))
        seconds, found = timed(lambda: ranx.evaluate(*built, names))
        figures = {name: float(found[theirs]) for name, theirs in USUAL.items()}
        return {"build": building, "memory": seconds, "figures": figures}

    def from_files(run_path: str, qrels_path: str) -> float:
        def action() -> Any:
            qrels = ranx.Qrels.from_file(qrels_path, kind="trec")
            return ranx.evaluate(qrels, ranx.Run.from_file(run_path, kind="trec"), names)

        return timed(action)[0]

    small, paths = 20 / QUERIES, (f"{run_path}.small", f"{qrels_path}.small")
    invented_run(small).write(paths[0])
    invented_qrels(small).write(paths[1])
    in_memory(small)
    from_files(*paths)
    return {**in_memory(scale), "files": from_files(run_path, qrels_path), "peak_mb": peak_mb()}


def write_files(scale: float, run_path: str, qrels_path: str) -> dict[str, Any]:
    run = invented_run(scale)
    seconds, _ = timed(lambda: run.write(run_path), 3)
    invented_qrels(scale).write(qrels_path)
    return {"seconds": seconds, "peak_mb": peak_mb(), "rows": len(run)}


def read_ours(scale: float, run_path: str, qrels_path: str) -> dict[str, Any]:
    from irtoolkit.runs import Run

    # The allocator keeps what a reading is done with: the peak is that of the first.
    rows, peak = len(Run.read(run_path)), peak_mb()
    seconds, _ = timed(lambda: Run.read(run_path), 3)
    return {"seconds": seconds, "peak_mb": peak, "rows": rows}


def read_ir_measures(scale: float, run_path: str, qrels_path: str) -> dict[str, Any]:
    import ir_measures

    seconds, rows = timed(lambda: list(ir_measures.read_trec_run(run_path)))
    return {"seconds": seconds, "peak_mb": peak_mb(), "rows": len(rows)}


def peak_mb() -> float:
    return peak_memory() / 1e6


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    task.__name__: task
    for task in (
        engine, nearness, usual_ours, usual_ir_measures, usual_ranx,
        write_files, read_ours, read_ir_measures,
    )
}  # fmt: skip


def in_child(task: str, scale: float, *args: str) -> dict[str, Any]:
    """What a task finds in a fresh process. This one stays small: a child's peak counts from it."""
    print(f"{task} ...", file=sys.stderr)
    done = subprocess.run(
        [sys.executable, __file__, "--child", task, str(scale), *args],
        stdout=subprocess.PIPE, check=True, text=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# ---- the table -----------------------------------------------------------------------------------


def row(
    part: str, name: str, ours: float, other: str, others: float | None, target: float, **more: Any
) -> dict[str, Any]:
    """One comparison; `others` is None where the other is not installed."""
    return {
        "part": part,
        "name": name,
        "seconds": ours,
        "other": other,
        "other_seconds": others,
        "ratio": None if others is None else others / ours,
        "target": target,
        **more,
    }


def engine_rows(scale: float, paths: tuple[str, str]) -> Iterator[dict[str, Any]]:
    found = in_child("engine", scale)
    yield row(
        "engine", "rank and locate", found["seconds"], "sorted()", found["plain_seconds"], 1,
        difference=found["difference"], peak_mb=found["peak_mb"], peak_target_mb=ENGINE_PEAK_MB,
        pairs=found["pairs"], figures=found["figures"],
    )  # fmt: skip


def nearness_rows(scale: float, paths: tuple[str, str]) -> Iterator[dict[str, Any]]:
    for name, found in in_child("nearness", scale).items():
        yield row(
            "nearness", name, found["seconds"], "plain Python", found["plain_seconds"], NEARNESS.get(name, 50),
            difference=found["difference"],
        )  # fmt: skip


def usual_rows(scale: float, paths: tuple[str, str]) -> Iterator[dict[str, Any]]:
    ours = in_child("usual_ours", scale, *paths)
    for other, task in (("ir_measures", "usual_ir_measures"), ("ranx", "usual_ranx")):
        found = in_child(task, scale, *paths)
        more: dict[str, Any] = {}
        if found:
            gaps = (abs(ours["figures"][name] - found["figures"][name]) for name in USUAL)
            more = {"difference": max(gaps)}
        ways = {"in memory": found.get("memory")}
        if other == "ranx":
            building = found["build"] + found["memory"] if found else None
            ways["in memory, building its objects"] = building
        for name, seconds in ways.items():
            yield row("usual", name, ours["memory"], other, seconds, 1, **more)
        peaks = {"peak_mb": ours["peak_mb"], "other_peak_mb": found.get("peak_mb")}
        yield row(
            "usual", "from files", ours["files"], other, found.get("files"), 1, **more, **peaks
        )


def files_rows(scale: float, paths: tuple[str, str]) -> Iterator[dict[str, Any]]:
    theirs = in_child("read_ir_measures", scale, *paths)
    for name, task in (("read", "read_ours"), ("write", "write_files")):
        ours = in_child(task, scale, *paths)
        yield row(
            "files", name, ours["seconds"], "ir_measures reads", theirs["seconds"], 5,
            difference=float(abs(ours["rows"] - theirs["rows"])), rows=ours["rows"],
            peak_mb=ours["peak_mb"], other_peak_mb=theirs["peak_mb"],
        )  # fmt: skip


PARTS: dict[str, Callable[[float, tuple[str, str]], Iterator[dict[str, Any]]]] = {
    "engine": engine_rows,
    "nearness": nearness_rows,
    "usual": usual_rows,
    "files": files_rows,
}


def measure(parts: list[str], scale: float, folder: Path) -> Iterator[dict[str, Any]]:
    paths = str(folder / "invented.run"), str(folder / "invented.qrels")
    if {"usual", "files"} & set(parts):
        in_child("write_files", scale, *paths)
    for part in parts:
        yield from PARTS[part](scale, paths)


def missed(found: dict[str, Any]) -> list[str]:
    """The targets that a row misses; that the values agree is one of them."""
    late = found["ratio"] is not None and found["ratio"] < found["target"]
    large = found.get("peak_mb", 0) >= found.get("peak_target_mb", math.inf)
    wrong = found.get("difference", 0) > 1e-9
    return ["ratio"] * late + ["peak"] * large + ["values"] * wrong


def table(rows: list[dict[str, Any]], full: bool) -> str:
    lines = [
        "| part | what | ours, s | beside | its, s | ratio | target | largest difference"
        " | our peak, MB | its peak, MB | verdict |",
        "|---|---|---:|---|" + "---:|" * 6 + "---|",
    ]
    for found in rows:
        verdict = f"FAIL: {', '.join(missed(found))}" if missed(found) else "PASS"
        seconds, ratio = found["other_seconds"], found["ratio"]
        absent = seconds is None
        lines.append(
            f"| {found['part']} | {found['name']} | {found['seconds']:.2f} | {found['other']}"
            f" | {'' if absent else f'{seconds:.1f}'} | {'' if absent else f'{ratio:.1f}'}"
            f" | {found['target']} | {shown(found.get('difference'), '.0e')}"
            f" | {shown(found.get('peak_mb'), '.0f')} | {shown(found.get('other_peak_mb'), '.0f')}"
            f" | {'absent' if absent else verdict if full else ''} |"
        )
    for found in rows:
        if "figures" in found:
            figures = ", ".join(f"{name} {value:.4f}" for name, value in found["figures"].items())
            lines += ["", f"{found['pairs']:,} pairs scored and ranked: {figures}"]
    return "\n".join(lines)


def shown(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def main(argv: list[str]) -> int:
    if argv[:1] == ["--child"]:
        print(json.dumps(TASKS[argv[1]](float(argv[2]), *argv[3:])))
        return 0
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="share of the queries")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("-o", "--output", type=Path, help="write the figures as JSON")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="irtoolkit-evaluation-") as folder:
        rows = list(measure(args.parts, args.scale, Path(folder)))
    full = args.scale >= 1
    print(table(rows, full))
    if args.output:
        report = {"scale": args.scale, "cores": os.cpu_count(), "rows": rows}
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return int(full and any(missed(found) for found in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
