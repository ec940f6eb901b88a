"""Everything that decides a run: for its record, and to know whether it has to be made again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from irtoolkit.base import analysis
from irtoolkit.base.ids import Segments
from irtoolkit.ranking.systems import System
from irtoolkit.retrievers.base import Retriever
from irtoolkit.retrievers.task import Task
from irtoolkit.runs import order, provenance
from irtoolkit.version import __version__


def made_of(system: System, task: Task, data: str | None = None) -> dict[str, Any]:
    """Everything that decides a full ranking; `data` is the task's fingerprint where it is known."""
    more = "\x1f".join(system.retriever.also_reads(task))
    server = system.retriever.server(task)
    return {
        "dataset": task.dataset_id,
        "data": data or fingerprint(task, corpus=system.retriever.reads_corpus()),
        "training": digest(more) if more else None,
        "system": system.name,
        "retriever": system.retriever.name,
        "settings": system.on(task.lang).settings(),
        "inputs": system.retriever.fingerprint(),
        "computed": system.retriever.computed(),
        **({"server": server} if server else {}),
        "version": __version__,
        "formats": formats(system.retriever),
        "libraries": provenance.versions(),
    }


def formats(retriever: Retriever) -> dict[str, int]:
    """The format numbers of what decides a run, so that runs of an older format are made again."""
    return {"engine": order.FORMAT, "analysis": analysis.FORMAT, "retriever": retriever.format}


def digest(text: str) -> str:
    """A hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def fingerprint(task: Task, *, corpus: bool = False) -> str:
    """A hash of everything a retriever is given: ids, candidates, texts, and perhaps the corpus.

    Texts of documents are read only where nothing else tells whether they have changed.
    """
    digest = hashlib.sha256()
    _add_texts(digest, task.query_ids, task.queries)
    key = None if task.dataset is None else task.dataset.docs_key
    if key is None:
        _add_texts(digest, task.doc_ids, task.docs)
        for segments in task.corpus() if corpus else ():
            digest.update("\x1f".join((*segments, "\x1d")).encode())
    else:
        digest.update("\x1f".join((key, task.doc_view, "\x1c")).encode())
        if task.ranks_corpus:
            return digest.hexdigest()
        digest.update("\x1f".join((*task.doc_ids, "\x1e")).encode())
    for group in task.groups:
        digest.update(f"{len(group.queries)} {len(group.docs)} ".encode())
        digest.update(group.queries.tobytes())
        digest.update(group.docs.tobytes())
    return digest.hexdigest()


def _add_texts(digest: Any, ids: Iterable[str], texts: Iterable[Segments]) -> None:
    for name, segments in zip(ids, texts, strict=True):
        digest.update("\x1f".join((name, *segments, "\x1e")).encode())
