"""How passages of books are to be ranked unless another system is named: the choice, and what it finds.

    IRTOOLKIT_DATA=../shared/data python benchmarks/book_search.py              # an hour on two cores
    IRTOOLKIT_DATA=../shared/data python benchmarks/book_search.py --books all  # more novels than the figures are of

Queries are those of RELiC and PlotRetrieval whose passage is known. Each system ranks all passages of
the book, as `irtoolkit search` does; a passage is found if one of the first hits is near it, at most 8
sentences away. For each book the best system of a kind, by the mean reciprocal rank, is chosen on all
other books: what those choices find is the figure of the kind. Intervals are of 95 %, by bootstrap over
books. The descriptions of book_search_scenes.tsv are of four novels that take no part in the choice;
with --scenes they alone are looked for again, and the other figures stay.

Results are in results/book_search.json; irtoolkit/ranking/book_figures.json has what is told of them.
Both are written anew, whichever the novels.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from book_search_tried import DEPTH, Known, Tried, Vectors, known_passages, ranks, scenes, tried

import irtoolkit
from irtoolkit.base.files import atomic_text
from irtoolkit.ranking.book_system import BOOKS
from irtoolkit.runs import provenance

HERE = Path(__file__).parent
RESULTS, SCENES = HERE / "results" / "book_search.json", HERE / "book_search_scenes.tsv"
FIGURES = Path(irtoolkit.__file__).parent / "ranking" / "book_figures.json"
# The novels of the published figures: nine of 14 with 20 known passages or more. Why these is not recorded.
NOVELS = (
    "david_copperfield", "emma", "great_expectations", "hard_times", "mansfield_park",
    "northanger_abbey", "oliver_twist", "sense_and_sensibility", "the_old_curiosity_shop",
)  # fmt: skip
# The kinds that one system is chosen of.
KINDS = {
    "words": ("words",), "meaning": ("meaning",), "both": ("both",),
    "any": ("words", "meaning", "both", "rrf"),
}  # fmt: skip
FIRST, SAMPLES = 5, 10_000
# Systems that are shown beside those that were chosen.
SHOWN = (
    "words, 3 sentences",
    "words, 5 sentences",
    "words, 8 sentences",
    "rrf, 3 sentences, nearest 0",
)

_Ranks = dict[str, dict[str, dict[str, tuple[int, int]]]]


def measured(books: Sequence[str]) -> tuple[_Ranks, dict[str, list[Known]]]:
    """Returns ranks by book, system and query, and the known passages of each book."""
    without = {line.split("\t")[0] for line in SCENES.read_text("utf-8").splitlines()[1:]}
    known = known_passages(sorted(without))
    wanted = sorted(known if books == ["all"] else books)
    vectors, systems = Vectors(BOOKS.model), tried()
    found: _Ranks = {}
    for name in wanted:
        novel, passages = known[name]
        queries = {f"{one.kind} {one.query_id}": (one.text, one.spans) for one in passages}
        found[name] = ranks(novel, queries, systems, vectors)
        print(f"{name}: {len(queries)} queries", flush=True)
    return found, {name: known[name][1] for name in wanted}


def values(found: _Ranks, system: str, books: list[str]) -> Any:
    """Returns (queries, 4): reciprocal rank, near in the first 5 and 20, and shared in the first 20."""
    rows = [pair for book in books for pair in found[book][system].values()]
    return np.array(
        [(1 / near if near else 0, 0 < near <= FIRST, near > 0, own > 0) for own, near in rows],
        float,
    ).reshape(-1, 4)


def chosen(found: _Ranks, systems: list[Tried], books: list[str]) -> str:
    """Returns the best of some systems on some books, the first of equals."""
    worth = [values(found, one.name, books)[:, 0].mean() for one in systems]
    return systems[int(np.argmax(worth))].name


def told(by_book: dict[str, Any]) -> dict[str, Any]:
    """Returns the figures of a system from the values of each book, with intervals over books."""
    every = np.concatenate(list(by_book.values()))
    sums = np.array([one.sum(axis=0) for one in by_book.values()])
    counts = np.array([len(one) for one in by_book.values()])
    drawn = np.random.default_rng(1).integers(len(counts), size=(SAMPLES, len(counts)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)[:, None]
    low, high = np.percentile(means, (2.5, 97.5), axis=0)
    names = "reciprocal rank", f"first {FIRST}", f"first {DEPTH}", f"sharing, first {DEPTH}"
    return {"queries": len(every)} | {
        name: {"mean": round(float(every[:, n].mean()), 4),
               "interval": [round(float(low[n]), 4), round(float(high[n]), 4)]}
        for n, name in enumerate(names)
    }  # fmt: skip


def nested(found: _Ranks, kinds: tuple[str, ...]) -> dict[str, Any]:
    """Returns what the choices on all other books find in each book."""
    books = list(found)
    systems = [one for one in tried() if one.kind in kinds]
    by_fold = {book: chosen(found, systems, [b for b in books if b != book]) for book in books}
    figures = told({book: values(found, name, [book]) for book, name in by_fold.items()})
    return {"chosen on all books": chosen(found, systems, books), "left out": by_fold, **figures}


def own_scenes(wanted: list[str]) -> dict[str, Any]:
    """Returns the rank of each scene by some systems, 0 if it is not among the first."""
    systems = [one for one in tried() if one.name in wanted]
    vectors, found = Vectors(BOOKS.model), dict[str, dict[str, int]]()
    novels = Path(os.environ["IRTOOLKIT_DATA"]) / "raw" / "novels"
    for novel, queries in scenes(SCENES, novels).values():
        for name, one in ranks(novel, queries, systems, vectors).items():
            found.setdefault(name, {}).update({text: near for text, (_, near) in one.items()})
    return {
        name: {"of": len(own), f"first {FIRST}": sum(0 < rank <= FIRST for rank in own.values()),
               f"first {DEPTH}": sum(rank > 0 for rank in own.values()), "ranks": own}
        for name, own in found.items()
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument(
        "--books",
        nargs="+",
        default=NOVELS,
        help="their names, or all; default: the novels of the published figures",
    )
    parser.add_argument("--scenes", action="store_true", help="look for the scenes alone")
    started, args = time.monotonic(), parser.parse_args()
    if args.scenes:
        _keep_scenes()
        return
    found, known = measured(args.books)
    kinds = {name: nested(found, own) for name, own in KINDS.items()}
    everything = {
        one.name: told({book: values(found, one.name, [book]) for book in found})
        for one in tried()
    }  # fmt: skip
    wanted = [*SHOWN, *(one["chosen on all books"] for one in kinds.values())]
    record = {
        "books": {name: len(own) for name, own in known.items()}, "kinds": kinds,
        "scenes": own_scenes(wanted), "tried": everything,
        "made": provenance.circumstances(time.monotonic() - started),
    }  # fmt: skip
    _keep(record)
    _keep_figures(kinds, len(found))
    for name, one in [*kinds.items(), *((name, everything[name]) for name in SHOWN)]:
        shares = one[f"first {FIRST}"], one[f"first {DEPTH}"]
        print(name, one.get("chosen on all books", ""), *shares)
    _print_scenes(record)


def _keep_scenes() -> None:
    """Looks for the scenes by the systems of the last results, and keeps where they are."""
    record = json.loads(RESULTS.read_text("utf-8"))
    record["scenes"] = own_scenes(list(record["scenes"]))
    _keep(record)
    _print_scenes(record)


def _keep(record: dict[str, Any]) -> None:
    with atomic_text(RESULTS) as file:
        json.dump(record, file, indent=1, ensure_ascii=False)
        file.write("\n")


def _print_scenes(record: dict[str, Any]) -> None:
    for name, one in record["scenes"].items():
        print(name, f"{one[f'first {FIRST}']} of {one['of']}", one["ranks"].values())


def _keep_figures(kinds: dict[str, Any], books: int) -> None:
    """Writes what the page and the command tell of each kind."""
    shares = {
        name: {"first 5": one[f"first {FIRST}"]["mean"], "first 20": one[f"first {DEPTH}"]["mean"]}
        for name, one in kinds.items() if name != "any"
    }  # fmt: skip
    told_of = {"queries": kinds["words"]["queries"], "books": books, "systems": shares}
    with atomic_text(FIGURES) as file:
        json.dump(told_of, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
