"""Any ir_datasets dataset, as irtoolkit's commands see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ir_datasets

from irtoolkit.base.errors import InputError
from irtoolkit.datasets import dataset_ids
from irtoolkit.datasets.benchmark import DEFAULT_MEASURES, Benchmark, EvaluationProtocol
from irtoolkit.runs import Qrels


def load_dataset(dataset_id: str) -> Any:
    """The ir_datasets Dataset of an id.

    Raises:
        InputError: no such id; names the nearest ones.
    """
    ours = dataset_ids()
    try:
        return ir_datasets.load(dataset_id)
    except KeyError:
        from difflib import get_close_matches

        near = get_close_matches(dataset_id, sorted({*ours, *ir_datasets.registry}), 3)
        raise InputError(
            f"no dataset {dataset_id!r}",
            remedy=f"did you mean {', '.join(near)}?" if near else "irtoolkit datasets lists ours",
        ) from None


def benchmark(dataset: Any) -> Benchmark | None:
    """What one of our benchmarks says of itself; None for other datasets."""
    return dataset.irtoolkit() if hasattr(dataset, "irtoolkit") else None


def protocol(dataset: Any) -> EvaluationProtocol:
    """How the dataset is to be evaluated: its own protocol, or usual measures and plain means."""
    ours = benchmark(dataset)
    return EvaluationProtocol(DEFAULT_MEASURES) if ours is None else ours.protocol_of()


def breakdown(dataset_id: str, name: str) -> dict[str, list[str]]:
    """The judged queries of each part of a dataset, by one of its breakdowns.

    Raises:
        InputError: it has no such breakdown.
    """
    dataset = load_dataset(dataset_id)
    ours = benchmark(dataset)
    known = {} if ours is None else ours.breakdowns
    if name not in known:
        remedy = f"it has {', '.join(known)}" if known else "it has none"
        raise InputError(f"dataset {dataset_id} has no breakdown by {name!r}", remedy=remedy)
    judged = {row.query_id for row in dataset.qrels_iter()}
    parts = {part: [q for q in queries if q in judged] for part, queries in known[name]().items()}
    return {part: queries for part, queries in parts.items() if queries}


def load_judgments(name: str) -> tuple[Qrels, Any | None]:
    """The qrels of a dataset id or of a TREC qrels file, and the dataset if there is one.

    Raises:
        InputError: neither; or a dataset without qrels, or an invalid file.
    """
    if name not in {*dataset_ids(), *ir_datasets.registry} and Path(name).is_file():
        return Qrels.read(name), None
    dataset = load_dataset(name)
    if not dataset.has_qrels():
        raise InputError(f"dataset {name} has no qrels", remedy="its gold is hidden, or never was")
    return Qrels.of(dataset), dataset


def candidates(dataset: Any) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Yields (query ids, ids of the documents that each of them ranks); a query stands in one.

    The dataset's scoreddocs where it has them, else its whole corpus.
    """
    if hasattr(dataset, "candidate_groups"):
        yield from dataset.candidate_groups()
    elif dataset.has_scoreddocs():
        pools: dict[str, list[str]] = {}
        for row in dataset.scoreddocs_iter():
            pools.setdefault(row.query_id, []).append(row.doc_id)
        yield from (([query_id], pool) for query_id, pool in pools.items())
    else:
        queries = [query.query_id for query in dataset.queries_iter()]
        yield queries, [doc.doc_id for doc in dataset.docs_iter()]


def known_queries(dataset_id: str) -> set[str]:
    """Query ids of a dataset and of the datasets it is a part of.

    A run made for `csfcube` may be scored on `csfcube/method`.
    """
    known: set[str] = set()
    own = load_dataset(dataset_id)
    parts = dataset_id.split("/")
    for end in range(len(parts), 0, -1):
        name = "/".join(parts[:end])
        if end < len(parts) and name not in ir_datasets.registry:
            continue
        dataset = load_dataset(name)
        # Another collection's queries are none of ours: csfcube/sample is no part of csfcube.
        if dataset.has_queries() and _documents(dataset) is _documents(own):
            known.update(query.query_id for query in dataset.queries_iter())
    return known


def _documents(dataset: Any) -> Any:
    return dataset.docs_handler() if dataset.has_docs() else None
