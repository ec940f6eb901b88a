"""A dataset whose queries, judgments or candidates are replaced by others."""

from __future__ import annotations

from os import PathLike
from typing import Any

import ir_datasets
from ir_datasets.formats import GenericQuery

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, local
from irtoolkit.base.paths import shown
from irtoolkit.base.records import Qrel
from irtoolkit.datasets.benchmark import EvaluationProtocol
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.handlers import PoolsHandler, QrelsHandler, QueriesHandler
from irtoolkit.datasets.local.contents import find_format
from irtoolkit.datasets.local.judgments import read_qrels
from irtoolkit.datasets.local.topics import read_topics
from irtoolkit.datasets.pools import pools_of
from irtoolkit.datasets.texts import QUERIES, texts_of
from irtoolkit.runs import Qrels

# Which documents a query ranks: the dataset's candidates of the query, all documents, or those of a
# file or an object; see `irtoolkit.datasets.pools.pools_of`.
Candidates = Any


class _Without:
    """An ir_datasets dataset without some of its parts."""

    def __init__(self, source: Any, hidden: tuple[str, ...]) -> None:
        self._source, self._hidden = source, hidden

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_", *self._hidden)):
            raise AttributeError(name)
        return getattr(self._source, name)


_KINDS = ("pool", "corpus")
# Prefixes of the names of each part's methods.
_POOLS = ("scoreddocs", "candidate_groups")
_TOPICS = ("queries", "irtoolkit")  # our record of a benchmark is on its own queries
_QRELS = ("qrels",)


def with_candidates(data: Dataset, candidates: Candidates) -> Dataset:
    """Returns the dataset with its pools, the whole corpus, or other candidates.

    Args:
        data: a dataset.
        candidates: "pool" or "corpus"; None leaves the dataset's candidates unchanged. Or
            candidates of its queries, as `irtoolkit.datasets.pools.pools_of` takes them.

    Raises:
        InputError: "pool" for a dataset without pools; no such file; or candidates of other queries, or
            that are not documents of the dataset.
    """
    if not (candidates is None or (isinstance(candidates, str) and candidates in _KINDS)):
        return _with_pools(data, candidates)
    has_pools = data.has("scoreddocs")
    if candidates == "pool" and not has_pools:
        raise InputError(
            f"dataset {data.id} has no candidate pools",
            remedy="its queries rank the whole corpus: leave candidates out",
        )
    if candidates != "corpus" or not has_pools:
        return data
    return _derived(data, _POOLS, (), "candidates", "corpus")


def _with_pools(data: Dataset, value: Any) -> Dataset:
    """Returns the dataset with the candidates of a file or an object."""
    pools, name = pools_of(value)
    file = name if isinstance(value, str | PathLike) else None
    queries = data.query_ids()
    if not set(queries) & set(pools):
        raise InputError(
            f"candidates of no query of {data.id}: they are for example of {next(iter(pools))}, and its"
            f" queries are for example {', '.join(queries[:1])}",
            file=file,
        )
    absent = next((query for query in queries if query not in pools), None)
    if absent is not None:
        raise InputError(
            f"query {absent} of {data.id} has no candidates",
            file=file,
            remedy="give candidates of every query",
        )
    chosen = {query: pools[query] for query in queries}
    names = {doc for pool in chosen.values() for doc in pool}
    existing = data.docs_store().get_many_iter(names) if data.has("docs") else ()
    strange = names - {doc.doc_id for doc in existing}
    if data.has("docs") and strange:
        raise InputError(
            f"candidate {min(strange)} is no document of {data.id}",
            file=file,
            remedy="they are candidates of another collection",
        )
    handler = PoolsHandler(lambda: chosen.items())
    return _derived(data, _POOLS, (handler,), "candidates", name)


def with_topics(data: Dataset, path: StrPath, *, pools: bool = False) -> Dataset:
    """Returns the documents of a dataset with the queries of a file, and without judgments.

    Args:
        data: a dataset with documents.
        path: id, tab, text; TREC topics; or JSON lines; the first line shows which.
        pools: whether a query ranks the dataset's candidates for its id instead of the corpus.

    Raises:
        InputError: no such file; an id twice or not one word; a topic without text, or without
            candidates if they are required.
    """
    queries = _read_topics(path)
    handler = QueriesHandler(lambda: queries, GenericQuery, data.id, None)
    if not pools:
        return _derived(data, (*_POOLS, *_TOPICS, *_QRELS), (handler,), "topics", shown(path))
    existing = with_candidates(data, "pool").pools()
    absent = next((query.query_id for query in queries if query.query_id not in existing), None)
    if absent is not None:
        raise InputError(
            f"dataset {data.id} has no candidates for topic {absent}",
            file=path,
            remedy="--candidates corpus ranks all documents",
        )
    return _derived(data, (*_TOPICS, *_QRELS), (handler,), "topics", shown(path))


def with_qrels(data: Dataset, path: StrPath) -> Dataset:
    """Returns the dataset with the judgments of a file.

    Its measures remain, and its folds if all of their queries are judged.

    Args:
        data: a dataset.
        path: TREC qrels, or BEIR's tab-separated ones; the first line shows which.

    Raises:
        InputError: no such file, or no qrels; see `Qrels.read`.
    """
    return _judged(data, read_qrels(path), shown(path))


def _judged(data: Dataset, qrels: Qrels, name: str) -> Dataset:
    """Returns the dataset with judgments of a name."""
    handler = QrelsHandler(lambda: qrels, Qrel, {})
    changed = _derived(data, _QRELS, (handler,), "qrels", name)
    changed.qrels = qrels
    judged = set(qrels.query_ids)
    if not all(judged.issuperset(fold) for fold in data.protocol.folds):
        changed.protocol = EvaluationProtocol(data.protocol.measures, main=data.protocol.main)
    return changed


def with_parts(
    data: Dataset, queries: Any = None, qrels: Any = None, candidates: Any = None
) -> Dataset:
    """Returns the dataset with other queries, judgments or candidates, in memory or in files.

    Args:
        data: a dataset.
        queries: as `irtoolkit.datasets.texts.texts_of` takes them; they come without the dataset's
            judgments and candidates. None leaves its queries unchanged.
        qrels: a file, or as `Qrels.of` takes them; None leaves its judgments unchanged.
        candidates: see `with_candidates`.

    Raises:
        InputError: see there.
    """
    if queries is not None:
        listed = [GenericQuery(name, text) for name, text in texts_of(queries, QUERIES).items()]
        handler = QueriesHandler(lambda: listed, GenericQuery, data.id, None)
        name = shown(queries) if isinstance(queries, str | PathLike) else "given"
        data = _derived(data, (*_POOLS, *_TOPICS, *_QRELS), (handler,), "topics", name)
    if isinstance(qrels, str | PathLike):
        data = with_qrels(data, qrels)
    elif qrels is not None:
        data = _judged(data, Qrels.of(qrels), "given")
    return with_candidates(data, candidates)


def queries_of_files(name: str, topics: StrPath, qrels: StrPath | None = None) -> Dataset:
    """Returns the queries of a file, without documents, and perhaps the judgments of another.

    Args:
        name: the name of the dataset.
        topics, qrels: see `with_topics` and `with_qrels`.

    Raises:
        InputError: see there.
    """
    nothing = Dataset(name, ir_datasets.Dataset(), in_memory=True)
    dataset = with_topics(nothing, topics)
    return dataset if qrels is None else with_qrels(dataset, qrels)


def _derived(
    data: Dataset, hidden: tuple[str, ...], handlers: tuple[Any, ...], part: str, by: str
) -> Dataset:
    source = ir_datasets.Dataset(*handlers, _Without(data.source, hidden))
    dataset = Dataset(data.id, source, in_memory=data.in_memory)
    dataset.replaced = {**data.replaced, part: by}
    dataset._derived = _derived, (data, hidden, handlers, part, by)
    return dataset


def _read_topics(path: StrPath) -> list[GenericQuery]:
    file = local(path)
    return [
        GenericQuery(topic.query_id, topic.title or topic.description)
        for topic in read_topics(find_format("topics", file), file)
    ]
