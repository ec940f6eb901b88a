"""The choice of queries whose texts a report contains: all, or an even spread of those that fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from irtoolkit.base.ids import Floats
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.reports.page_data import packed_size
from irtoolkit.reports.texts import TOP, QueryTexts, ReportTexts, pick, read_texts
from irtoolkit.scoring.evaluation import Evaluation
from irtoolkit.scoring.score import Scores

# The most queries with texts by default, and the bytes that their texts may take of a page of 1 MB.
TEXTS = 200
BYTES = 640_000


@dataclass(frozen=True)
class QueryOrder:
    """The order in which queries are chosen for display.

    Attributes:
        values: (Q,) the difference between the pair of systems, or one system's value.
        name: what the values are.
    """

    values: Floats
    name: str

    @classmethod
    def of(
        cls,
        evaluations: Sequence[Evaluation],
        names: Mapping[str, str],
        pair: tuple[int, int],
        measure: str,
    ) -> QueryOrder:
        first, second = (evaluations[i].per_query(measure) for i in pair)
        first_name, two = (list(names.values())[i] for i in pair)
        if pair[0] == pair[1]:
            return cls(first, f"{measure} of {first_name}")
        with np.errstate(invalid="ignore"):
            difference = np.nan_to_num(first - second, nan=0.0)
        return cls(difference, f"{measure} of {first_name} minus {two}")


def chosen_texts(scores: Scores, most: int | None, rel: int, order: QueryOrder) -> ReportTexts:
    """Returns the texts of queries spread evenly over an order, or the reason why there are none.

    Args:
        scores: the scored runs.
        most: the most queries; None for as many as a page of 1 MB holds, and at most TEXTS.
        rel: the lowest grade that counts as relevant.
        order: of the queries.
    """
    dataset = scores.dataset
    if dataset.in_memory and not dataset.has_queries():
        return ReportTexts(why="The judgments come without texts.")
    if not (dataset.has_queries() and dataset.has_docs()):
        return ReportTexts(why="The dataset has no texts of queries and documents.")
    chosen = pick(order.values, TEXTS if most is None else most)
    if not chosen:
        return ReportTexts(why="No texts were requested.")
    texts = read_texts(dataset, chosen, _first_documents(scores, dataset, chosen), rel)
    entries = _fitting(texts.entries, order) if most is None else texts.entries
    count = len(order.values)
    if len(entries) == count:
        return texts
    why = (
        f"This page holds the texts of {len(entries):,} of the {count:,} queries, spread evenly"
        f" over all queries in the order of {order.name}, including both ends. Figures and charts"
        " cover all queries."
    )
    return replace(texts, entries=entries, why=why)


def _first_documents(
    scores: Scores, dataset: Dataset, queries: Sequence[int]
) -> list[dict[str, list[str]]]:
    """For each system, query id to the ids of its first documents."""
    query_ids = [str(dataset.qrels.query_ids[index]) for index in queries]
    return [
        {query_id: [row.doc_id for row in run.ranking(query_id)[:TOP]] for query_id in query_ids}
        for run in scores.runs.values()
    ]


def _fitting(entries: tuple[QueryTexts, ...], order: QueryOrder) -> tuple[QueryTexts, ...]:
    """As many of the queries as fit into a page, spread evenly over the order."""
    size = packed_size(entries)
    while size > BYTES and len(entries) > 1:
        count = max(1, min(len(entries) - 1, int(len(entries) * BYTES / size)))
        chosen = pick(order.values[[entry.query for entry in entries]], count)
        entries = tuple(entries[i] for i in chosen)
        size = packed_size(entries)
    return entries
