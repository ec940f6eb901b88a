"""Common parts of the analyses of CSFCube."""

from __future__ import annotations

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.csfcube_records import FACETS, CSFCubeQuery
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.analyses.base import records


def queries_of(dataset: Dataset) -> list[CSFCubeQuery]:
    """Returns the queries of a dataset in CSFCube's form.

    Raises:
        InputError: they are not papers with a facet.
    """
    return records(dataset, lambda query: isinstance(query, CSFCubeQuery), "papers with a facet")


def facets_of(dataset: Dataset) -> dict[str, list[str]]:
    """Returns each facet that queries have, with the ids of these queries."""
    by_facet: dict[str, list[str]] = {facet: [] for facet in FACETS}
    for query in queries_of(dataset):
        by_facet[query.facet].append(query.query_id)
    return {facet: queries for facet, queries in by_facet.items() if queries}


def pairs_of(dataset: Dataset) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Returns two facets to the ids of the queries of each paper that has both.

    Raises:
        InputError: no paper is a query in two facets.
    """
    by_paper: dict[str, dict[str, str]] = {}
    for query in queries_of(dataset):
        by_paper.setdefault(query.doc_id, {})[query.facet] = query.query_id
    pairs: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for queries in by_paper.values():
        present = [facet for facet in FACETS if facet in queries]
        for i, first in enumerate(present):
            for second in present[i + 1 :]:
                pairs.setdefault((first, second), []).append((queries[first], queries[second]))
    if not pairs:
        raise InputError(
            f"no paper of {dataset.id} is a query in two facets",
            remedy="name the dataset with all facets",
        )
    return pairs
