"""What surroundings are worth on books that took no part in the choice of their settings.

    IRTOOLKIT_DATA=DATA python benchmarks/unseen_books.py

Every setting of a grid ranks the queries of RELiC's and PlotRetrieval's training and validation splits together. For each
book, the setting that is best on all other books is taken. Written to benchmarks/results/unseen_books.json are the figure
of this choice, that of the best of all, which the queries themselves chose, and those of each book; intervals are of 95 %,
by bootstrap over books. Five minutes of CPU time and 2.3 GB of memory.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import irtoolkit as ir
from irtoolkit.base.files import atomic_text
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.ranking.systems import find_system
from irtoolkit.scoring.folds import books_of

RESULTS = Path(__file__).resolve().parent / "results" / "unseen_books.json"
SPLITS = ("train", "val")
SIZES, FADES = (1, 4, 16, 64), (1.0, 0.7)
AROUND = ("4", "16", "64", "1/16", "4/16", "16/64", "1/16/64", "4/16/64")
WEIGHTS = (0.25, 0.5, 0.65, 0.75, 0.85, 0.95, 1.0)
PLOT_GRID = tuple(itertools.product(("16", "1/16/64"), (0.5, 0.75, 0.95)))
# The setting that docs/results/quality.md has had, chosen on the training split.
REPORTED = {"relic": "1/16/64, 0.85, fade 0.7", "plotretrieval": "1/16/64, 0.95"}
SAMPLES = 10_000
# Setting to query to the value of the measure.
Values = dict[str, dict[str, float]]


def main() -> None:
    made = {
        "relic": {"measure": "R@10", **chosen_by_others("relic", _relic())},
        "plotretrieval": {"measure": "NRODCG@10", **chosen_by_others("plotretrieval", _plots())},
    }
    with atomic_text(RESULTS) as out:
        out.write(json.dumps(made, indent=1) + "\n")


def chosen_by_others(name: str, values: Values) -> dict[str, Any]:
    """The figures of the settings that are best on the other books, of BM25 and of the best of all."""
    settings = list(values)
    books = {
        f"{split}:{query}": book
        for split in SPLITS
        for query, book in books_of(Dataset.load(f"{name}/{split}")).items()
    }
    queries = sorted(values[settings[0]])
    table = np.array([[values[one][query] for query in queries] for one in settings])
    of = np.array([books[query] for query in queries])
    held_out, chosen = best_on_others(table, of)
    best = int(table.mean(axis=1).argmax())
    rows = {
        "BM25": table[settings.index("BM25")],
        "chosen on the other books": held_out,
        "chosen on the training split": table[settings.index(REPORTED[name])],
        "best of all": table[best],
    }
    return {
        "queries": len(queries), "books": len(set(of)), "tried": len(settings),
        "rows": {row: figures(found, of) for row, found in rows.items()},
        "best": settings[best], "choices": {settings[one]: count for one, count in chosen.most_common()},
        "by_book": {
            book: [int((of == book).sum()), *(float(found[of == book].mean()) for found in rows.values())]
            for book in sorted(set(of), key=lambda book: -(of == book).sum())
        },
    }  # fmt: skip


def best_on_others(table: Any, of: Any) -> tuple[Any, Counter[int]]:
    """The values of each book's queries by the row of the table that is best on all other books, and how many books had it."""
    held_out, chosen = np.empty(len(of)), Counter[int]()
    for book in sorted(set(of)):
        best = int(table[:, of != book].mean(axis=1).argmax())
        held_out[of == book] = table[best, of == book]
        chosen[best] += 1
    return held_out, chosen


def figures(found: Any, of: Any) -> dict[str, Any]:
    """The mean, and its interval by bootstrap over books."""
    books = [found[of == book] for book in sorted(set(of))]
    sums, counts = np.array([part.sum() for part in books]), np.array([len(part) for part in books])
    drawn = np.random.default_rng(0).integers(len(books), size=(SAMPLES, len(books)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    return {"mean": float(found.mean()), "interval": np.percentile(means, [2.5, 97.5]).tolist()}


def _relic() -> Values:
    """Whether the gold quotation is among the first ten, for every setting."""
    values: Values = {}
    for split in SPLITS:
        for query, gold, scores in _scored(Dataset.load(f"relic/{split}")):
            values.setdefault("BM25", {})[f"{split}:{query}"] = _in_ten(scores[0, 1.0], gold)
            for around, weight, fade in itertools.product(AROUND, WEIGHTS, FADES):
                sizes = [int(size) for size in around.split("/")]
                mean = sum(scores[size, fade] for size in sizes) / len(sizes)
                total = (1 - weight) * scores[0, fade] + weight * mean
                name = f"{around}, {weight:g}" + (f", fade {fade:g}" if fade < 1 else "")
                values.setdefault(name, {})[f"{split}:{query}"] = _in_ten(total, gold)
    return values


def _scored(dataset: Dataset) -> Iterator[tuple[str, int, dict[tuple[int, float], Any]]]:
    """Yields each query, the place of its gold, and the scores of candidates by each window, 0 being none."""
    golds = dataset.relevant()
    scorers = {}
    for size, fade in itertools.product((0, *SIZES), FADES):
        settings = {"around": str(size or 1), "weight": float(size > 0), "fade": fade}
        system = find_system("bm25-surroundings", settings, dataset.id)
        task = system.load(dataset)
        scorers[size, fade] = system.retriever.scorer(task)
    for group in task.groups:
        blocks = {key: scorer(group.docs) for key, scorer in scorers.items()}
        ids = task.doc_ids[group.docs]
        for number in group.queries:
            query = str(task.query_ids[number])
            gold = int(np.flatnonzero(np.isin(ids, golds[query]))[0])
            yield (
                query,
                gold,
                {key: block(np.array([number])).scores[0] for key, block in blocks.items()},
            )


def _in_ten(scores: Any, gold: int) -> float:
    return float((scores > scores[gold]).sum() < 10)


def _plots() -> Values:
    """N-RODCG@10 of every setting."""
    values: Values = {}
    for split in SPLITS:
        data = f"plotretrieval/{split}"
        runs = {"BM25": ir.retrieve(data, "bm25", depth=100)}
        for around, weight in PLOT_GRID:
            settings = {"around": around, "weight": weight}
            runs[f"{around}, {weight:g}"] = ir.retrieve(
                data, "bm25-surroundings", depth=100, **settings
            )
        for run, query, _, value in ir.evaluate(data, runs, measures=["NRODCG@10"]).per_query():
            values.setdefault(run, {})[f"{split}:{query}"] = value
    return values


if __name__ == "__main__":
    main()
