"""Picking the candidates of an N-way task: the gold document, and others from a run or at random."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath
from irtoolkit.base.near import did_you_mean
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.nway import NWayCandidates, parse_nway_id
from irtoolkit.runs import Run
from irtoolkit.runs.exact_ranks import Ranks, read_ranks
from irtoolkit.scoring.check import read_run


def hardest_candidates(
    dataset_id: str, path: StrPath, below: int | None = None
) -> list[NWayCandidates]:
    """Returns for each query the gold document and a run's best documents that are not relevant.

    This is how RELiC makes its proxy task (§4).

    Args:
        dataset_id: the id of the N-way dataset.
        path: the file of a run of the dataset that it is derived from.
        below: the rank in the run below which the gold document must be; other queries are left
            out. RELiC takes 1,000 for the windows on which its model fails (§4).

    Raises:
        InputError: the run does not fit the dataset, lists too few documents for a query, or does
            not tell whether the gold document of a query is below that rank.
    """
    base_id, ways = parse_nway_id(dataset_id)
    relevant = _relevant(base_id)
    run = read_run(path, base_id)
    if below is not None:
        lower = _below(run, relevant, below, path)
        relevant = {query_id: golds for query_id, golds in relevant.items() if query_id in lower}
        if not relevant:
            raise InputError(
                f"no gold document of {base_id} has a rank below {below} in this run", file=path
            )
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


def _below(run: Run, relevant: Mapping[str, list[str]], rank: int, path: StrPath) -> set[str]:
    """Returns the queries whose gold document ranks below (greater than) some rank in a run."""
    if rank < 1:
        raise InputError(f"rank {rank} is not at least 1")
    exact: Ranks = read_ranks(path, run) or {}
    query_ids = set()
    for query_id, (gold, *_) in relevant.items():
        listed = [row.doc_id for row in run.ranking(query_id)]
        gold_rank = exact.get(query_id, {}).get(gold)
        if gold_rank is None and gold in listed:
            gold_rank = listed.index(gold) + 1
        if gold_rank is None and len(listed) < rank:
            raise InputError(
                f"query {query_id} has {len(listed)} documents here, and its gold document is not"
                f" among them: it may be above rank {rank} or below it",
                file=path,
                remedy="keep the exact ranks that irtoolkit writes beside a run, or give a run with"
                f" {rank} documents for each query",
            )
        if gold_rank is None or gold_rank > rank:
            query_ids.add(query_id)
    return query_ids


def random_candidates(dataset_id: str, seed: int) -> list[NWayCandidates]:
    """Returns for each query the gold document and others drawn at random from its candidates.

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


def queries_of(
    picked: Sequence[NWayCandidates], dataset_id: str, only: str
) -> list[NWayCandidates]:
    """Returns the queries of one part of a breakdown of an N-way dataset's base.

    Args:
        picked: the queries.
        dataset_id: the id of the N-way dataset.
        only: a breakdown and one of its parts, for example book=emma.

    Raises:
        InputError: there is no such breakdown or part, or no query in it.
    """
    name, equals, part = only.partition("=")
    if not equals:
        raise InputError(f"{only!r} is not BREAKDOWN=PART", remedy="for example book=emma")
    base_id = parse_nway_id(dataset_id)[0]
    parts = Dataset.load(base_id).breakdown(name)
    if part not in parts:
        listed = ", ".join(list(parts)[:8]) + (", ..." if len(parts) > 8 else "")
        raise InputError(
            f"{base_id} has no {name} {part!r}",
            remedy=f"{did_you_mean(part, list(parts))}it has {listed}",
        )
    members = set(parts[part])
    selected = [query for query in picked if query.query_id in members]
    if not selected:
        raise InputError(f"no query is left with {only}")
    return selected


def sample_queries(picked: list[NWayCandidates], count: int, seed: int) -> list[NWayCandidates]:
    """Returns a random sample of the queries, in their order.

    Raises:
        InputError: there are fewer queries than requested, or fewer than 1 is requested.
    """
    if count < 1:
        raise InputError(f"{count} queries are asked for", remedy="ask for 1 or more")
    if count > len(picked):
        raise InputError(f"{count} queries are asked for, and there are {len(picked)}")
    chosen = set(random.Random(seed).sample(range(len(picked)), count))
    return [query for i, query in enumerate(picked) if i in chosen]


def _relevant(base_id: str) -> dict[str, list[str]]:
    """Returns the relevant documents of each judged query that has any, the gold document first.

    If several are relevant, the dataset says which one is the gold, or else the grade and the id
    decide.
    """
    dataset = Dataset.load(base_id)
    ours = dataset.about
    named = {}
    if ours is not None and ours.gold_of is not None:
        named = {query.query_id: ours.gold_of(query) for query in dataset.queries_iter()}
    relevant: dict[str, list[tuple[bool, int, str]]] = {}
    for row in dataset.qrels:
        if row.relevance > 0:
            differs = named.get(row.query_id) != row.doc_id
            relevant.setdefault(row.query_id, []).append((differs, -row.relevance, row.doc_id))
    return {query_id: [doc for *_, doc in sorted(rows)] for query_id, rows in relevant.items()}
