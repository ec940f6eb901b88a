"""CSFCube: whether sentences of the query's facet weigh more in a paper's vector, learned on one fold.

    IRTOOLKIT_DATA=DATA python benchmarks/csfcube_pooling.py

MiniLM reads title and abstract as one text, and a sentence has the mean of its tokens' vectors. A
paper's vector is the weighted mean of these: the title and the sentences that are labelled with the
facet weigh 1, the others less, by one weight for queries and one for candidates. The weights for the
queries of a fold are those that are best on the other fold. It writes
benchmarks/results/csfcube_pooling.json, of which docs/generate.py makes a part of
docs/results/quality-tables.md.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import irtoolkit as ir
from irtoolkit.base.files import atomic_text
from irtoolkit.datasets.csfcube_records import LABELS_OF, CSFCubeDoc
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.models.part_vectors import with_spans
from irtoolkit.retrievers.late import tokens
from irtoolkit.retrievers.sentence_match import SentenceMatch
from irtoolkit.runs import Run

RESULTS = Path(__file__).resolve().parent / "results" / "csfcube_pooling.json"
MODEL, MEASURE = "all-MiniLM-L6-v2", "nDCGp(p=20)"
# Weights of sentences outside the facet, of the query's paper and of candidates.
OF_QUERY, OF_CANDIDATE = (0.0, 0.1, 0.25, 0.5, 1.0), (0.25, 0.5, 0.75, 1.0)
Vectors = Mapping[str, np.ndarray]


def main() -> None:
    data = Dataset.load("csfcube")
    papers = {doc.doc_id: doc for doc in data.docs_iter()}
    judged = [(row.query_id, row.doc_id) for row in data.qrels_iter()]
    queries = {query.query_id: query for query in data.queries_iter()}
    needed = {doc for _, doc in judged} | {query.doc_id for query in queries.values()}
    vectors = encoded({name: papers[name] for name in papers if name in needed})

    def run(of_query: float, of_candidate: float) -> Run:
        """Cosines of the weighted means."""
        rows = []
        for query, doc in judged:
            facet, own = LABELS_OF[queries[query].facet], queries[query].doc_id
            pooled = mean(vectors[own], papers[own], facet, of_query)
            rows.append(
                (query, doc, float(pooled @ mean(vectors[doc], papers[doc], facet, of_candidate)))
            )
        return Run.of(rows)

    runs = {(one, two): run(one, two) for one, two in itertools.product(OF_QUERY, OF_CANDIDATE)}
    with atomic_text(RESULTS) as file:
        json.dump(held_out(data, runs), file, indent=1, allow_nan=False)
        file.write("\n")
    print(RESULTS.read_text("utf-8"))


def encoded(papers: Mapping[str, CSFCubeDoc]) -> Vectors:
    """(s, d) normalised vectors of each paper's title and sentences that are not blank."""
    encoder = SentenceMatch(model=MODEL, query_length=512, doc_length=512).encoder("document")
    between = encoder.text(("", ""))
    joiner = between if not between.strip() else " "
    items = (
        with_spans(pieces, [True] * len(pieces), joiner, between)
        for doc in papers.values()
        for pieces in [[text for text, _ in parts(doc)]]
    )
    made = encoder.encode(items, what="papers", count=len(papers))
    return {
        name: unit(np.asarray(tokens(made[np.array([place])])[0], np.float64))
        for place, name in enumerate(papers)
    }


def parts(doc: CSFCubeDoc) -> list[tuple[str, str]]:
    """The title and the sentences of a paper, each with its label; blank ones are left out."""
    labelled = [(doc.title, "title"), *zip(doc.sentences, doc.labels, strict=True)]
    return [(text, label) for text, label in labelled if text.strip()]


def mean(vectors: np.ndarray, doc: CSFCubeDoc, facet: set[str], other: float) -> np.ndarray:
    """The normalised mean of a paper, its parts outside the facet weighted by `other`."""
    weights = np.array([1.0 if label in {"title", *facet} else other for _, label in parts(doc)])
    # A text that is longer than the model reads has no vectors of its last sentences.
    return unit(weights[: len(vectors)] @ vectors)


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)


def held_out(data: Dataset, runs: Mapping[tuple[float, float], Run]) -> dict[str, object]:
    """The measure of the plain mean and of the weights that the other fold chose."""
    names = {f"{one} {two}": each for (one, two), each in runs.items()}
    values: dict[str, dict[str, float]] = {}
    for name, query, _, value in ir.evaluate(data, names, measures=[MEASURE]).per_query():
        values.setdefault(name, {})[query] = value
    assert data.protocol is not None
    folds = data.protocol.folds
    figures = {
        name: [float(np.mean([each[query] for query in fold])) for fold in folds]
        for name, each in values.items()
    }
    plain = "1.0 1.0"
    chosen = [max(figures, key=lambda name: figures[name][1 - fold]) for fold in (0, 1)]
    gains = [
        values[chosen[fold]][query] - values[plain][query] for fold in (0, 1) for query in folds[fold]
    ]  # fmt: skip
    return {
        "measure": MEASURE,
        "plain": float(np.mean(figures[plain])),
        "chosen": chosen,
        "held out": float(np.mean([figures[chosen[fold]][fold] for fold in (0, 1)])),
        "best of all": max(float(np.mean(each)) for each in figures.values()),
        "gain": float(np.mean(gains)),
        "standard error": float(np.std(gains, ddof=1) / len(gains) ** 0.5),
        "tried": figures,
    }


if __name__ == "__main__":
    main()
