"""The ir_datasets dataset of a name on the hub."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import ir_datasets
from ir_datasets.formats import GenericDoc, GenericQuery

from irtoolkit.base.records import GradedQrel
from irtoolkit.datasets.benchmark import NOT_STATED, Benchmark, Statistic
from irtoolkit.datasets.handlers import DocsHandler, PoolsHandler, QrelsHandler, QueriesHandler
from irtoolkit.datasets.hub.collection import HubCollection, InstructedQuery
from irtoolkit.datasets.hub.layout import select
from irtoolkit.datasets.hub.names import MTEB, is_hub_name, parse_hub_name
from irtoolkit.datasets.hub.repository import Repository
from irtoolkit.datasets.hub.tasks import language_in, task_named
from irtoolkit.datasets.local.collection import TitledDoc


class _Exclusions:
    """The part of a dataset that says which documents a query's ranking must not have."""

    def __init__(self, collection: HubCollection) -> None:
        self._collection = collection

    def excluded_docs(self) -> Mapping[str, frozenset[str]]:
        """Returns query id to ids of documents."""
        return self._collection.excluded


@cache
def hub_dataset(dataset_id: str) -> Any:
    """Returns the dataset of a name on the hub (hf:mteb/scifact, mteb:SciFact), or None.

    Raises:
        InputError: no such dataset; one that is private, gated or cannot be reached; or an unknown
            layout.
    """
    if not is_hub_name(dataset_id):
        return None
    if dataset_id.startswith(MTEB):
        task = task_named(dataset_id)
        repository = Repository(task.name)
        collection = HubCollection(
            repository, select(repository, task.name.parts), task.own_excluded
        )
        return _dataset(collection, task.about, language_in(task.name.parts) or task.lang)
    repository = Repository(parse_hub_name(dataset_id))
    collection = HubCollection(repository, select(repository, repository.name.parts))
    return _dataset(collection, _about(repository), language_in(repository.name.parts))


def _about(repository: Repository) -> Benchmark:
    name = repository.name
    return Benchmark(
        name=name.place,
        title=name.place,
        url=name.place if name.local else f"https://huggingface.co/datasets/{name.place}",
        description="a dataset of the Hugging Face hub",
    )


def _dataset(
    collection: HubCollection, benchmark: Benchmark, lang: str | None
) -> ir_datasets.Dataset:
    space = collection.repository.name.place
    doc = TitledDoc if collection.titled else GenericDoc
    query = InstructedQuery if collection.instructed else GenericQuery
    licence = collection.licence
    revision = collection.revision
    record = replace(
        benchmark,
        licence=licence or benchmark.licence,
        statistics_of=lambda: _statistics(collection),
        where=lambda: f"{space} at {revision}" if collection.is_here() else None,
        howto=_needs(collection, licence),
        fetch=partial(_fetch, collection),
        revision=revision,
    )
    parts: list[Any] = [
        DocsHandler(lambda: collection.docs, doc, space, lang, lambda: collection.key),
        QueriesHandler(lambda: collection.queries, query, space, lang),
    ]
    if collection.has_qrels:
        parts.append(QrelsHandler(collection.judgments, GradedQrel, {}))
    if collection.has("pools"):
        parts.append(PoolsHandler(lambda: collection.pools.items()))
    return ir_datasets.Dataset(*parts, _Exclusions(collection), record)


def _needs(collection: HubCollection, licence: str) -> str:
    """Returns, in words, what must be downloaded before a dataset can be used."""
    size = collection.size
    how_large = "a download" if size is None else f"a download of {size / 1e6:,.1f} MB"
    return f"downloaded when first used: {how_large}, licence {licence or NOT_STATED}"


def _fetch(collection: HubCollection) -> Path:
    """Downloads the parts."""
    collection.fetch()
    return Path(collection.repository.name.place)


def _statistics(collection: HubCollection) -> list[Statistic]:
    counts = [
        Statistic("Documents", len(collection.docs)),
        Statistic("Queries", len(collection.queries)),
    ]
    if collection.has_qrels:
        counts.append(Statistic("Judgments", sum(1 for _ in collection.judgments())))
    if collection.has("pools"):
        sizes = [len(pool) for pool in collection.pools.values()]
        counts.append(Statistic("Candidates of a query on average", sum(sizes) / len(sizes)))
    excluded = sum(map(len, collection.excluded.values()))
    return [*counts, *([Statistic("Excluded documents", excluded)] if excluded else [])]
