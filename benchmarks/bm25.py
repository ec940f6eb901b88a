"""BM25 on candidate sets beside rank_bm25, as ratios; whole corpora are in `index.py`.

    python benchmarks/bm25.py                       # everything; about a quarter of an hour
    python benchmarks/bm25.py --scale 0.02          # a quick look
    python benchmarks/bm25.py -o benchmarks/results/bm25.json

Texts are drawn from one Zipf-like vocabulary, the same for all. Each measurement runs in a process of
its own, which also reports its peak memory. rank_bm25 gets texts that are split into tokens already,
and its time to split is not counted; ours is. Our seconds hold everything from texts to a full
ranking, rank_bm25's its index and the sorted scores.

Scoring grows with the postings of the queries' terms, ordering with queries times candidates: time is
linear in the number of queries, and nearly so in that of candidates.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.base.cores import peak_memory
from irtoolkit.base.ids import id_array
from irtoolkit.base.tables import TextTable

VOCABULARY = 60_000
QUERY = 154
SENTENCES, LENGTHS = 5_000, (1, 2, 3, 4, 5)


def zipf_mandelbrot() -> Any:
    """(VOCABULARY,) the chance of a word up to each."""
    chance = np.cumsum(1 / (np.arange(1, VOCABULARY + 1) + 30))
    return chance / chance[-1]


def words(draw: np.random.Generator, texts: int, length: int) -> list[str]:
    """Texts whose words follow a Zipf-Mandelbrot law."""
    numbers = np.searchsorted(zipf_mandelbrot(), draw.random(texts * length))
    names = [f"w{number}" for number in range(VOCABULARY + 1)]
    flat = [names[number] for number in numbers.tolist()]
    return [" ".join(flat[i : i + length]) for i in range(0, len(flat), length)]


def task_of(docs: Sequence[tuple[str, ...]], queries: Sequence[str], groups: Any) -> Any:
    from irtoolkit.retrievers.task import QueryGroup, Task
    from irtoolkit.retrievers.texts import GivenTexts

    made = tuple(QueryGroup(np.array(members), np.array(pool)) for members, pool in groups)
    ids = (
        id_array([f"q{i}" for i in range(len(queries))]),
        id_array([str(i) for i in range(len(docs))]),
    )
    texts = GivenTexts([(query,) for query in queries], docs)
    return Task("benchmark", *ids, made, texts=texts)


# ---- what is measured: each function runs alone in a process -------------------------------------


def ours_on_candidates(books: int, queries: int) -> dict[str, float]:
    from irtoolkit.retrievers.engine import rank
    from irtoolkit.retrievers.lexical import BM25

    first, few, sets = library(1, 10)
    retriever = BM25(form="okapi", statistics="candidates", analyzer="words", stop="none")
    rank(task_of(first, few, sets[:1]), retriever, progress=False)  # compiled now
    docs, asked, groups = library(books, queries)
    task = task_of(docs, asked, groups)
    started = time.perf_counter()
    run = rank(task, retriever, progress=False)
    seconds = time.perf_counter() - started
    assert len(run) == sum(len(members) * len(pool) for members, pool in groups)
    return {"seconds": seconds, "per query ms": 1000 * seconds / len(asked)}


def rank_bm25_on_candidates(books: int, queries: int) -> dict[str, float]:
    """The first candidate set of each length, and a few of its queries; the rest in proportion."""
    from rank_bm25 import BM25Okapi

    docs, asked, groups = library(books, queries)
    index = search = 0.0
    for members, pool in groups[: len(LENGTHS)]:
        tokens = [" ".join(docs[i]).split() for i in pool]
        split = [asked[i].split() for i in members[:4]]
        started = time.perf_counter()
        model = BM25Okapi(tokens)
        index += time.perf_counter() - started
        started = time.perf_counter()
        for query in split:
            np.argsort(-model.get_scores(query), kind="stable")
        search += (time.perf_counter() - started) / len(split) * len(members)
    seconds = (index + search) / len(LENGTHS) * len(groups)
    return {"seconds": seconds, "per query ms": 1000 * seconds / len(asked)}


def library(books: int, queries: int) -> tuple[list[tuple[str, ...]], list[str], list[Any]]:
    """Passages of every length of each book, queries, and who ranks what, shaped like RELiC."""
    draw = np.random.default_rng(1)
    docs: list[tuple[str, ...]] = []
    groups = []
    sets = books * len(LENGTHS)
    members = np.array_split(np.arange(queries), sets)
    for book in range(books):
        sentences = words(draw, SENTENCES, 20)
        for at, length in enumerate(LENGTHS):
            first = len(docs)
            docs += [tuple(sentences[i : i + length]) for i in range(SENTENCES - length + 1)]
            groups.append(
                (members[book * len(LENGTHS) + at].tolist(), list(range(first, len(docs))))
            )
    return docs, words(draw, queries, QUERY), groups


def _child(work: Callable[..., dict[str, float]], args: tuple[Any, ...], out: Any) -> None:
    try:
        found = work(*args)
    except Exception as error:  # a peer may fail in its own way; the others are still measured
        out.put(f"{type(error).__name__}: {error}")
        return
    out.put({**found, "peak MB": peak_memory() / 2**20})


def alone(work: Callable[..., dict[str, float]], *args: Any) -> dict[str, float]:
    """What a function measures in a fresh process, with the peak memory of that process."""
    context = multiprocessing.get_context("spawn")
    out = context.Queue()
    process = context.Process(target=_child, args=(work, args, out))
    process.start()
    found = out.get()
    process.join()
    if isinstance(found, str):
        raise RuntimeError(found)
    return found


# ---- the report ----------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="of all sizes; default: 1")
    parser.add_argument("-o", "--output", metavar="FILE", help="also write JSON")
    args = parser.parse_args(argv)

    def sized(number: int) -> int:
        return max(10, int(number * args.scale))

    rows: list[dict[str, Any]] = []

    def measure(what: str, system: str, work: Callable[..., dict[str, float]], *given: Any) -> None:
        print(f"{what}: {system} ...", file=sys.stderr)
        try:
            rows.append({"what": what, "system": system, **alone(work, *given)})
        except RuntimeError as error:
            print(f"  {error}", file=sys.stderr)

    books = max(1, int(8 * args.scale))
    for queries in (sized(2_000), sized(8_000)):
        what = f"{books} books, {queries} queries of {QUERY} words"
        measure(what, "irtoolkit", ours_on_candidates, books, queries)
        measure(what, "rank_bm25", rank_bm25_on_candidates, books, queries)
    ours = {row["what"]: row for row in rows if row["system"] == "irtoolkit"}
    for row in rows:
        row["ratio"] = row["per query ms"] / ours[row["what"]]["per query ms"]
    headers = ["what", "system", "per query ms", "ratio", "seconds", "peak MB"]
    table = [[row.get(name) for name in headers] for row in rows]
    print(
        TextTable(headers, table, "time per query as a multiple of irtoolkit's", places=2).render(
            "text"
        )
    )
    if args.output:
        Path(args.output).parent.mkdir(parents=True, exist_ok=True)
        Path(args.output).write_text(
            json.dumps({"scale": args.scale, "rows": rows}, indent=1) + "\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
