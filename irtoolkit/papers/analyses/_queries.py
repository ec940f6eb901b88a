"""The queries of each benchmark, as its analyses read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.csfcube_records import FACETS, CSFCubeQuery
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.egret import ExampleQuery
from irtoolkit.datasets.quoter_release import QuoteQuery
from irtoolkit.datasets.relic_release import RelicQuery
from irtoolkit.papers.analyses.base import records
from irtoolkit.runs import Run

# In place of the quote in a context that is printed.
MASK = "[Quote]"


def golds_of(dataset: Dataset) -> dict[str, str]:
    """Returns query id to the id of its first relevant document: a quote, or a quoted passage.

    Raises:
        InputError: the judgments are hidden.
    """
    golds: dict[str, str] = {}
    for row in dataset.qrels:
        if row.relevance > 0:
            golds.setdefault(row.query_id, row.doc_id)
    return golds


def best_others(
    run: Run, queries: Sequence[str], golds: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Returns query id to its best ranked document that is not relevant, if the run has one."""
    best = {}
    for query in queries:
        others = (row.doc_id for row in run.ranking(query) if row.doc_id not in golds[query])
        first = next(others, None)
        if first is not None:
            best[query] = first
    return best


def at_least_one(**settings: int) -> None:
    """Raises InputError for a setting that is less than 1."""
    for name, value in settings.items():
        if value < 1:
            raise InputError(f"{name} is {value}, not at least 1")


# -- CSFCube ----------------------------------------------------------------------------------


def paper_queries(dataset: Dataset) -> list[CSFCubeQuery]:
    """Returns the queries of a dataset in CSFCube's form.

    Raises:
        InputError: they are not papers with a facet.
    """
    return records(dataset, CSFCubeQuery, "papers with a facet")


def facets_of(dataset: Dataset) -> dict[str, list[str]]:
    """Returns each facet that queries have, with the ids of these queries."""
    by_facet: dict[str, list[str]] = {facet: [] for facet in FACETS}
    for query in paper_queries(dataset):
        by_facet[query.facet].append(query.query_id)
    return {facet: queries for facet, queries in by_facet.items() if queries}


def pairs_of(dataset: Dataset) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Returns two facets to the ids of the queries of each paper that has both.

    Raises:
        InputError: no paper is a query in two facets.
    """
    by_paper: dict[str, dict[str, str]] = {}
    for query in paper_queries(dataset):
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


# -- EgRet, QuoteR and RELiC ------------------------------------------------------------------


def example_contexts(dataset: Dataset) -> dict[str, ExampleQuery]:
    """Returns query id to context, of a dataset in EgRet's form.

    Raises:
        InputError: its queries are not contexts of examples.
    """
    queries = records(dataset, ExampleQuery, "contexts of examples")
    return {query.query_id: query for query in queries}


def quote_contexts(dataset: Dataset) -> dict[str, QuoteQuery]:
    """Returns query id to context, of a dataset in QuoteR's form.

    Raises:
        InputError: its queries are not contexts of quotes.
    """
    queries = records(dataset, QuoteQuery, "contexts of quotes")
    return {query.query_id: query for query in queries}


def windows_of(dataset: Dataset) -> list[RelicQuery]:
    """Returns the queries of a dataset in RELiC's form.

    Raises:
        InputError: they are not windows of criticism.
    """
    return records(dataset, RelicQuery, "windows of criticism")
