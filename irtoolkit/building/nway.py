"""Picking the candidates of an N-way task: the gold document, and others from a run or at random."""

from __future__ import annotations

import random

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.nway import NWayCandidates, parse_nway_id
from irtoolkit.scoring.check import read_run


def hardest_candidates(dataset_id: str, path: StrPath) -> list[NWayCandidates]:
    """For each query, the gold document and a run's highest documents that are not relevant.

    This is how RELiC makes its proxy task (§4).

    Raises:
        InputError: the run does not fit the dataset, or lists too few documents for a query.
    """
    base_id, ways = parse_nway_id(dataset_id)
    relevant = _relevant(base_id)
    run = read_run(path, base_id)
    picked = []
    for query_id, golds in relevant.items():
        others = [row.doc_id for row in run.ranking(query_id) if row.doc_id not in golds]
        if len(others) < ways - 1:
            raise InputError(
                f"query {query_id} has {len(others)} documents that are not relevant, and"
                f" {ways - 1} are needed",
                file=path,
                remedy=f"retrieve {base_id} with --depth {ways - 1 + len(golds)} or more",
            )
        picked.append(NWayCandidates(query_id, sorted([golds[0], *others[: ways - 1]])))
    return picked


def random_candidates(dataset_id: str, seed: int) -> list[NWayCandidates]:
    """For each query, the gold document and others drawn at random from its candidates.

    Raises:
        InputError: a query has too few candidates.
    """
    base_id, ways = parse_nway_id(dataset_id)
    relevant, picked = _relevant(base_id), []
    draw = random.Random(seed)
    for query_ids, pool in Dataset.load(base_id).candidates():
        for query_id in query_ids:
            golds = relevant.get(query_id)
            if golds is None:
                continue
            others = [doc_id for doc_id in pool if doc_id not in golds]
            if len(others) < ways - 1:
                raise InputError(f"query {query_id} has only {len(others)} other candidates")
            chosen = [golds[0], *draw.sample(others, ways - 1)]
            picked.append(NWayCandidates(query_id, sorted(chosen)))
    return picked


def sample_queries(picked: list[NWayCandidates], count: int, seed: int) -> list[NWayCandidates]:
    """A random sample of the queries, in their order.

    Raises:
        InputError: there are fewer queries than asked for.
    """
    if count > len(picked):
        raise InputError(f"{count} queries are asked for, and there are {len(picked)}")
    kept = set(random.Random(seed).sample(range(len(picked)), count))
    return [query for place, query in enumerate(picked) if place in kept]


def _relevant(base_id: str) -> dict[str, list[str]]:
    """The relevant documents of each judged query that has any, the gold document first.

    If several are relevant, the dataset says which one is the gold, or else the grade and the id
    decide.
    """
    dataset = Dataset.load(base_id)
    ours = dataset.about
    named = {}
    if ours is not None and ours.gold_of is not None:
        named = {query.query_id: ours.gold_of(query) for query in dataset.queries_iter()}
    found: dict[str, list[tuple[bool, int, str]]] = {}
    for row in dataset.qrels:
        if row.relevance > 0:
            other = named.get(row.query_id) != row.doc_id
            found.setdefault(row.query_id, []).append((other, -row.relevance, row.doc_id))
    return {query_id: [doc for *_, doc in sorted(rows)] for query_id, rows in found.items()}
