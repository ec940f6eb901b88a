"""The figures of unseen_encoders.py, from what the models of unseen_encoders_train.py rank."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from unseen_books import best_on_others, figures

import irtoolkit as ir
from irtoolkit.runs import Run

# Shares of windows in an encoder's score, and shares of an encoder in a fusion with surroundings.
SHARES, WEIGHTS = (0, 0.5, 0.75), (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
# Those of the fusion on PlotRetrieval, which nobody chose.
PLOT_SHARE, PLOT_WEIGHT = 0.5, 0.3
# Forms of RELiC's queries: one sentence on either side of the quotation, and four.
NEAR, FAR = 0, 1
Arrays = dict[str, Any]


def report(folder: Path, names: dict[str, str]) -> dict[str, Any]:
    """Every figure.

    Args:
        folder: with books.npz and the results of models.
        names: the datasets.
    """
    data = dict(np.load(folder / "books.npz"))
    found = {path.stem: dict(np.load(path)) for path in sorted((folder / "results").glob("*.npz"))}
    return {
        "relic": _relic(data, found),
        "plotretrieval": _plots(data, found, f"{names['plotretrieval']}/val"),
        "birco": _birco(data, found, names["birco"]),
    }


# -- RELiC ----------------------------------------------------------------------------------------


def _relic(data: Arrays, found: dict[str, Arrays]) -> dict[str, Any]:
    book, is_gold = data["relic_book"], data["relic_candidates"] == data["relic_gold"][:, None]
    alone = _in_ten(data["relic_scores"], is_gold)
    return {
        "measure": "R@10",
        "queries": len(book),
        "books": len(set(book)),
        "surroundings": {
            **figures(alone, book),
            "val": float(alone[data["relic_val"]].mean()),
        },
        "rows": {name: _row(data, arrays, alone, is_gold) for name, arrays in found.items()},
    }


def _row(data: Arrays, arrays: Arrays, surroundings: Any, is_gold: Any) -> dict[str, Any]:
    """The figures of a model, on all books or on those of the validation splits, whichever it has ranked.

    alone and windows are of the long form of the query, the latter with the greatest share of windows.
    """
    ranks = arrays["rank"]
    ranked = ranks[FAR, 0] > 0
    fused = np.array(list(_fusions(data, arrays, is_gold)))[:, ranked]
    book, in_val = data["relic_book"][ranked], data["relic_val"][ranked]
    held_out, _ = best_on_others(fused, book)
    return {
        "queries": int(ranked.sum()),
        "alone": float((ranks[FAR, 0, ranked] <= 10).mean()),
        "windows": float((ranks[FAR, -1, ranked] <= 10).mean()),
        "fused": figures(held_out, book),
        "more": figures(held_out - surroundings[ranked], book),
        "val": float(held_out[in_val].mean()),
    }


def _fusions(data: Arrays, arrays: Arrays, is_gold: Any) -> Iterator[Any]:
    """Whether the quotation is in the first ten, for every form of the query and both weights."""
    surroundings = standardised(data["relic_scores"])
    for form, share in itertools.product((NEAR, FAR), SHARES):
        passages, windows = arrays["r_at"][form].astype(np.float32)
        encoder = standardised((1 - share) * passages + share * windows)
        for weight in WEIGHTS:
            yield _in_ten((1 - weight) * surroundings + weight * encoder, is_gold)


def standardised(scores: Any) -> Any:
    """Scores less their mean over the candidates of a query, by their standard deviation."""
    deviation = scores.std(axis=1, keepdims=True) + 1e-9
    return (scores - scores.mean(axis=1, keepdims=True)) / deviation


def _in_ten(scores: Any, is_gold: Any) -> Any:
    """Whether fewer than ten candidates are above the quotation; not if it is none of them."""
    gold = np.where(is_gold, scores, -np.inf).max(axis=1, keepdims=True)
    return (is_gold.any(axis=1) & ((scores > gold).sum(axis=1) < 10)).astype(float)


# -- the other data -------------------------------------------------------------------------------


def _plots(data: Arrays, found: dict[str, Arrays], name: str) -> dict[str, Any]:
    """The figures on the validation split, of encoders alone and fused with surroundings."""
    surroundings = data["plot_scores"]
    runs = {
        "BM25": ir.retrieve(name, "bm25", depth=100, progress=False),
        "surroundings": _plot_run(data, data["plot_candidates"], surroundings),
    }
    for model, arrays in found.items():
        top = arrays["p_top"]
        by_place = np.broadcast_to(-np.arange(top.shape[1], dtype=float), top.shape)
        runs[model] = _plot_run(data, top, by_place)
        passages, windows = arrays["p_at"].astype(np.float32)
        encoder = standardised((1 - PLOT_SHARE) * passages + PLOT_SHARE * windows)
        fused = (1 - PLOT_WEIGHT) * standardised(surroundings) + PLOT_WEIGHT * encoder
        runs[f"{model}, fused"] = _plot_run(data, data["plot_candidates"], fused)
    return _scored(name, runs, "NRODCG@10")


def _plot_run(data: Arrays, docs: Any, scores: Any) -> Run:
    queries = np.flatnonzero(data["plot_val"])
    return Run.of(
        (str(data["plot_ids"][query]), str(data["plot_doc_ids"][doc]), float(score))
        for query in queries
        for doc, score in zip(docs[query], scores[query], strict=True)
        if doc >= 0
    )


def _birco(data: Arrays, found: dict[str, Arrays], name: str) -> dict[str, Any]:
    """The figures of BIRCO's pools, by the mean score of the folds' models."""
    runs = {"BM25": ir.retrieve(name, "bm25", progress=False)}
    for model, arrays in found.items():
        runs[model] = Run.of(
            (str(query), str(data["birco_doc_ids"][doc]), float(score))
            for query, pool, scores in zip(
                data["birco_ids"], data["birco_pools"], arrays["birco"], strict=True
            )
            for doc, score in zip(pool, scores, strict=True)
            if doc >= 0
        )
    return _scored(name, runs, "nDCG@10")


def _scored(name: str, runs: dict[str, Run], measure: str) -> dict[str, Any]:
    made = ir.evaluate(name, runs, measures=[measure]).figures()
    return {"measure": measure, "rows": {run: values[measure] for run, values in made.items()}}
