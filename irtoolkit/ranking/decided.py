"""Everything that decides a run: for its record, and to know whether it has to be made again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from irtoolkit.base import analysis
from irtoolkit.base.ids import Segments
from irtoolkit.ranking.systems import System
from irtoolkit.retrievers.base import Retriever
from irtoolkit.retrievers.sent import Sent
from irtoolkit.retrievers.task import Task
from irtoolkit.runs import order, provenance
from irtoolkit.version import __version__


def made_of(system: System, task: Task, data: str | None = None) -> dict[str, Any]:
    """Everything that decides a full ranking; `data` is the task's fingerprint where it is known."""
    more = "\x1f".join(system.retriever.also_reads(task))
    server = system.retriever.server(task)
    data = data or fingerprint(task, corpus=system.retriever.reads_corpus())
    return {
        **made_with(system.on(task.lang), task.dataset_id, data),
        "training": digest(more) if more else None,
        **({"server": server} if server else {}),
    }


def made_with(system: System, dataset_id: str, data: str) -> dict[str, Any]:
    """Everything that decides a ranking by a system of data with some hash."""
    return {
        "dataset": dataset_id,
        "data": data,
        "system": system.name,
        "retriever": system.retriever.name,
        "settings": system.settings(),
        "inputs": system.retriever.fingerprint(),
        "computed": system.retriever.computed(),
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


@dataclass(frozen=True)
class SentSystem:
    """A system, and what the files of its stages are where it was sent from."""

    system: System
    stages: tuple[Sent, ...]

    @classmethod
    def of(cls, system: System) -> SentSystem:
        """Packs a system in the process that sends it."""
        sent = Sent.of(system.retriever)
        first = None if system.first is None else cls.of(system.first)
        return cls(
            replace(
                system, retriever=sent.retriever, first=None if first is None else first.system
            ),
            (sent, *(() if first is None else first.stages)),
        )

    def here(self) -> System:
        """The system, in a worker.

        Raises:
            InputError: the files that decide its scores are others here.
        """
        for stage in self.stages:
            stage.here()
        return self.system
