"""Picking the candidates of a choice: the gold, and what a run took for it."""

from __future__ import annotations

import random

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.nway import NWayCandidates, parse_nway_id
from irtoolkit.scoring.check import read_run


def hardest_candidates(dataset_id: str, path: StrPath) -> list[NWayCandidates]:
    """The gold and a run's highest documents that are not gold, for each query (RELiC §4).

    Raises:
        InputError: the run is none of the dataset's, or lists too few documents for a query.
    """
    base_id, ways = parse_nway_id(dataset_id)
    golds = _golds(base_id)
    run = read_run(path, base_id)
    choices = []
    for query_id, gold in golds.items():
        others = [row.doc_id for row in run.ranking(query_id) if row.doc_id not in gold]
        if len(others) < ways - 1:
            raise InputError(
                f"query {query_id} has {len(others)} documents that are not gold instead of"
                f" {ways - 1}",
                file=path,
                remedy=f"retrieve {base_id} with --depth {ways - 1 + len(gold)} or more",
            )
        choices.append(NWayCandidates(query_id, sorted([gold[0], *others[: ways - 1]])))
    return choices


def random_candidates(dataset_id: str, seed: int) -> list[NWayCandidates]:
    """The gold and candidates drawn at random, for each query.

    Raises:
        InputError: a query has too few candidates.
    """
    base_id, ways = parse_nway_id(dataset_id)
    golds, choices = _golds(base_id), []
    draw = random.Random(seed)
    for query_ids, pool in Dataset.load(base_id).candidates():
        for query_id in query_ids:
            gold = golds.get(query_id)
            if gold is None:
                continue
            others = [doc_id for doc_id in pool if doc_id not in gold]
            if len(others) < ways - 1:
                raise InputError(f"query {query_id} has only {len(others)} other candidates")
            choices.append(
                NWayCandidates(query_id, sorted([gold[0], *draw.sample(others, ways - 1)]))
            )
    return choices


def sample_queries(choices: list[NWayCandidates], count: int, seed: int) -> list[NWayCandidates]:
    """Some of the choices, drawn at random and left in order.

    Raises:
        InputError: there are fewer.
    """
    if count > len(choices):
        raise InputError(f"{count} queries are asked for, and there are {len(choices)}")
    kept = set(random.Random(seed).sample(range(len(choices)), count))
    return [choice for place, choice in enumerate(choices) if place in kept]


def _golds(base_id: str) -> dict[str, list[str]]:
    """The relevant documents of each judged query that has any, the gold first.

    Where several are relevant the dataset tells which is the gold, or else grade and id do.
    """
    dataset = Dataset.load(base_id)
    ours = dataset.about
    named = {}
    if ours is not None and ours.gold_of is not None:
        named = {query.query_id: ours.gold_of(query) for query in dataset.queries_iter()}
    golds: dict[str, list[tuple[bool, int, str]]] = {}
    for row in dataset.qrels:
        if row.relevance > 0:
            other = named.get(row.query_id) != row.doc_id
            golds.setdefault(row.query_id, []).append((other, -row.relevance, row.doc_id))
    return {query_id: [doc for *_, doc in sorted(rows)] for query_id, rows in golds.items()}
