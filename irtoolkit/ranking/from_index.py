"""Ranking the corpus of a dataset with a kept index: no document is read, nothing grows with them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath
from irtoolkit.base.ids import Segments, id_array
from irtoolkit.base.launch import launch
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.ranking.build_index import build, folder_index
from irtoolkit.ranking.candidates import CORPUS_DEPTH, corpus_line
from irtoolkit.ranking.decided import made_with
from irtoolkit.ranking.produce import RunOutput, is_shared, produce, rank_dataset, ranks_wanted
from irtoolkit.ranking.systems import TASK_SETTINGS, System, TaskSettings, find_system, for_dataset
from irtoolkit.retrievers.settings import parse_settings
from irtoolkit.retrievers.stored_index import StoredIndex
from irtoolkit.retrievers.texts import view
from irtoolkit.runs import Run
from irtoolkit.runs.publish import publish


def retrieve(
    dataset: Dataset,
    system: System,
    depth: int | None,
    output: StrPath | RunOutput | None = None,
    *,
    progress: bool = True,
) -> Run:
    """Ranks a dataset with a system: its corpus with a kept index if that gives the same ranking.

    Args:
        dataset: with queries.
        system: with its settings for the dataset.
        depth: rows kept for each query; None keeps all.
        output: where the run is also written to, with its record.
        progress: whether to show a bar on a terminal.

    Raises:
        InputError: see `rank_dataset` and `rank_corpus`.
    """
    if depth is not None and can_rank(dataset, system, depth):
        return rank_corpus(dataset, system, depth, output, progress=progress)
    if output is not None:
        return produce(dataset, system, output, depth=depth, progress=progress)[0]
    relevant = ranks_wanted(dataset, system, depth)
    return rank_dataset(dataset, system, depth=depth, relevant=relevant, progress=progress)


def can_rank(dataset: Dataset, system: System, depth: int | None) -> bool:
    """Whether a kept index gives a system's ranking of a dataset's corpus, cut at a depth."""
    return (
        depth is not None
        and not dataset.has("scoreddocs")
        and not dataset.excluded_docs
        and system.first is None
        # Processes that share the encoding would each write the index.
        and not (launch().several and is_shared(system))
        and (system.task.ties, system.task.own) == ("trec", "keep")
        and system.retriever.index_format() is not None
        and dataset.docs_key is not None
    )


def rank_corpus(
    dataset: Dataset,
    system: System,
    depth: int,
    output: StrPath | RunOutput | None = None,
    *,
    progress: bool = True,
) -> Run:
    """The best documents of the corpus for every query, with the exact ranks of relevant documents.

    The index is built where it is not there yet.

    Args:
        dataset: with queries.
        system: see `can_rank`.
        depth: rows kept for each query.
        output: where the run is also written to, with its record.
        progress: whether to show a bar on a terminal.

    Raises:
        InputError: no queries, two of one id, no such view; or what building raises.
    """
    if depth < 1:
        raise InputError(f"depth {depth} is not at least 1")
    system = for_dataset(system, dataset)
    queries = _queries(dataset, system)
    index = build(dataset, system, progress=progress)
    key = f"{dataset.docs_key}\x1f{system.task.doc}\x1c"
    return _ranked(dataset, queries, system, _Documents(index, key), depth, output)


def rank_index(
    folder: StrPath,
    system: str | None,
    settings: Mapping[str, Any],
    queries: Dataset,
    *,
    depth: int | None = None,
    output: StrPath | RunOutput | None = None,
) -> tuple[Run, System]:
    """The best documents of the index of a folder for every query, and the system that ranked them.

    Args:
        folder: the index.
        system: what searches; by default what the index was built for.
        settings: of the search.
        queries: a dataset with queries, and perhaps judgments; see `queries_of_files`.
        depth: rows kept for each query; by default as for a corpus.
        output: where the run is also written to, with its record.

    Raises:
        InputError: see `folder_index`; no queries; or settings of a dataset's texts.
    """
    if depth is not None and depth < 1:
        raise InputError(f"depth {depth} is not at least 1")
    shared = parse_settings(
        TaskSettings, {k: settings[k] for k in settings if k == "fill"}, "a run"
    )
    settings = {name: value for name, value in settings.items() if name != "fill"}
    fixed = next((name for name in TASK_SETTINGS if name in settings), None)
    if fixed is not None:
        raise InputError(
            f"setting {fixed} is not one of a search of an index",
            remedy="name the dataset in place of the index",
        )
    index = folder_index(folder, system, settings)
    name = index.searched_by if system is None else find_system(system, settings).name
    index_system = System(name, index.retriever, TaskSettings(doc=index.manifest.view, **shared))
    shards = "\x1f".join(f"{shard.sha256} {shard.deleted}" for shard in index.manifest.shards)
    documents = _Documents(index, f"{shards}\x1c")
    texts = _queries(queries, index_system)
    depth = CORPUS_DEPTH if depth is None else depth
    return _ranked(queries, texts, index_system, documents, depth, output), index_system


class _Documents(NamedTuple):
    """An index, and what tells its documents from others."""

    stored: StoredIndex
    key: str


def _ranked(
    dataset: Dataset,
    queries: Mapping[str, Segments],
    system: System,
    documents: _Documents,
    depth: int,
    output: StrPath | RunOutput | None,
) -> Run:
    index = documents.stored
    target = output if output is None or isinstance(output, RunOutput) else RunOutput(output)
    if target is not None and target.say is not None:
        target.say(corpus_line(len(index), depth))
    relevant: Mapping[str, list[str]] = dataset.relevant() if dataset.judgments_are_here else {}
    started = time.monotonic()
    texts = list(queries.values())
    run = index.run(id_array(list(queries)), texts, depth, fill=system.task.fill)
    run = run.named(system.name)
    if relevant:
        ranks = index.exact_ranks(list(queries), texts, relevant)
        run = replace(run, exact_ranks=ranks or None)
    if target is not None:
        record = {**_made(dataset.id, documents.key, system, queries, depth), **dataset.decides}
        seconds = time.monotonic() - started
        publish(run, target.path, record, seconds, form=target.form)
    return run


def _queries(dataset: Dataset, system: System) -> dict[str, Segments]:
    """Query id to text."""
    texts: dict[str, Segments] = {}
    for record in dataset.queries:
        if record.query_id in texts:
            raise InputError(f"query {record.query_id} occurs twice in dataset {dataset.id}")
        with system.reading(dataset.id):
            texts[record.query_id] = view(record, system.task.query)
    if not texts:
        raise InputError(f"dataset {dataset.id} has no queries, so there is nothing to rank")
    return texts


def _made(
    name: str, key: str, system: System, queries: Mapping[str, Segments], depth: int
) -> dict[str, Any]:
    """Everything that decides the run; `key` tells its documents from others."""
    digest = hashlib.sha256(key.encode())
    for query_id, segments in queries.items():
        digest.update("\x1f".join((query_id, *segments, "\x1e")).encode())
    return {**made_with(system, name, digest.hexdigest()), "index": True, "depth": depth}
