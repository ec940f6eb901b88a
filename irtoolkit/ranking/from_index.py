"""Ranking the corpus of a dataset with a kept index: no document is read, nothing grows with them."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from irtoolkit import __version__
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath
from irtoolkit.base.ids import id_array
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.ranking.build_index import build
from irtoolkit.ranking.candidates import corpus_line
from irtoolkit.ranking.output import Output
from irtoolkit.ranking.produce import formats
from irtoolkit.ranking.systems import System
from irtoolkit.retrievers.texts import Segments, view
from irtoolkit.runs import Run, provenance
from irtoolkit.runs.publish import publish


def can_rank(dataset: Dataset, system: System, depth: int | None) -> bool:
    """Whether a kept index gives a system's ranking of a dataset's corpus, cut at a depth."""
    return (
        depth is not None
        and not dataset.has("scoreddocs")
        and system.first is None
        # Processes that share the encoding would each write the index.
        and "TORCHELASTIC_RUN_ID" not in os.environ
        and (system.task.ties, system.task.own) == ("trec", "keep")
        and system.retriever.kept() is not None
        and dataset.docs_key is not None
    )


def rank_corpus(
    dataset: Dataset, system: System, depth: int, output: StrPath | Output | None = None, *,
    progress: bool = True,
) -> Run:  # fmt: skip
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
    system = system.on(dataset.lang)
    queries = _queries(dataset, system)
    target = output if output is None or isinstance(output, Output) else Output(output)
    index = build(dataset, system, progress=progress)
    if target is not None and target.say is not None:
        target.say(corpus_line(len(index), depth))
    relevant: Mapping[str, list[str]] = dataset.relevant() if dataset.judgments_are_here else {}
    started = time.monotonic()
    texts = list(queries.values())
    run = index.run(id_array(list(queries)), texts, depth, fill=True).named(system.name)
    ranks = index.exact_ranks(list(queries), texts, relevant) if relevant else {}
    run = replace(run, exact_ranks=ranks or None)
    if target is not None:
        made = {**_made(dataset, system, queries, depth), **dataset.replaced}
        seconds = time.monotonic() - started
        publish(run, target.path, made, seconds, ranks if relevant else None, form=target.form)
    return run


def _queries(dataset: Dataset, system: System) -> dict[str, Segments]:
    """Query id to text."""
    found: dict[str, Segments] = {}
    for record in dataset.queries():
        if record.query_id in found:
            raise InputError(f"query {record.query_id} occurs twice in dataset {dataset.id}")
        found[record.query_id] = view(record, system.task.query)
    if not found:
        raise InputError(f"dataset {dataset.id} has no queries, so there is nothing to rank")
    return found


def _made(
    dataset: Dataset, system: System, queries: Mapping[str, Segments], depth: int
) -> dict[str, Any]:
    """Everything that decides the run."""
    digest = hashlib.sha256(f"{dataset.docs_key}\x1f{system.task.doc}\x1c".encode())
    for query_id, segments in queries.items():
        digest.update("\x1f".join((query_id, *segments, "\x1e")).encode())
    return {
        "dataset": dataset.id,
        "data": digest.hexdigest(),
        "system": system.name,
        "retriever": system.retriever.name,
        "settings": system.settings(),
        "inputs": system.retriever.fingerprint(),
        "computed": system.retriever.computed(),
        "index": True,
        "depth": depth,
        "version": __version__,
        "formats": formats(system.retriever),
        "libraries": provenance.versions(),
    }
