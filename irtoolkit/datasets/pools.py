"""Candidate pools from a file or an object: a run's documents, or `top_ranked` as MTEB has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, is_file, local
from irtoolkit.base.frames import columns_of, frame_columns, is_frame
from irtoolkit.base.paths import shown
from irtoolkit.base.pipes import is_pipe
from irtoolkit.datasets.local.sheets import (
    POOL_COLUMNS,
    RECORDS,
    Records,
    column_names,
    form_of_columns,
)
from irtoolkit.runs import Run

QUERY, DOCS = POOL_COLUMNS
Pools = dict[str, list[str]]
_FORM = f'a line is {{"{QUERY}": "q1", "{DOCS}": ["d1", "d2"]}}'


def pools_of(value: Any) -> tuple[Pools, str]:
    """Returns query id to the ids of its candidates, and their name in records.

    Args:
        value: {query id: ids of documents}; a data frame with query-id and corpus-ids; a run, all of whose
            documents are candidates; or the path of a run, or of top_ranked as JSON lines or Parquet with
            query-id and corpus-ids.

    Raises:
        InputError: no such file, none of these forms, a candidate listed twice, or no pools.
    """
    if isinstance(value, str | PathLike):
        if not is_file(str(value)) and not is_pipe(str(value)):
            raise InputError(
                f"no candidates {str(value)!r}",
                remedy="they are pool, corpus, or a file: a run, or top_ranked",
            )
        return read_pools(value), shown(str(value))
    if isinstance(value, Run):
        return _of_run(value), value.tag
    if is_frame(value) and DOCS in frame_columns(value, "candidates"):
        rows = zip(*columns_of(value, ((QUERY,), (DOCS,)), "candidates"), strict=True)
        return _checked(((query, docs, None) for query, docs in rows), None), "given"
    if isinstance(value, Mapping) and not all(isinstance(v, Mapping) for v in value.values()):
        return _checked(((query, docs, None) for query, docs in value.items()), None), "given"
    try:
        return _of_run(Run.of(value)), "a run"
    except InputError as error:
        raise InputError(
            f"candidates that are no run: {error.found}",
            remedy="give a file, a run, or query id to ids of documents",
        ) from None


def read_pools(path: StrPath) -> Pools:
    """Returns the pools of a file. Errors as for `pools_of`."""
    file = local(path)
    form = form_of_columns(file)
    if form is not None and (form == "jsonl" or DOCS in column_names(file, form)):
        return _checked(_rows(RECORDS[form](file), file), file)
    return _of_run(Run.read(file))


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _of_run(run: Run) -> Pools:
    names = run.doc_ids[run.docs]
    bounds = zip(run.query_ids, run.offsets[:-1], run.offsets[1:], strict=True)
    return {str(query): names[start:end].tolist() for query, start, end in bounds}


def _rows(records: Records, file: Path) -> Iterator[tuple[Any, Any, int]]:
    for line, record in records:
        if not {QUERY, DOCS} <= set(record):
            raise InputError(f"no {QUERY} and {DOCS}", file=file, line=line, remedy=_FORM)
        yield record[QUERY], record[DOCS], line


def _checked(rows: Iterable[tuple[Any, Any, int | None]], file: Path | None) -> Pools:
    """Returns the pools of some rows, whose ids may be whole numbers."""
    pools: Pools = {}
    for query, docs, line in rows:
        pool = list(map(str, docs)) if _is_list(docs) else []
        problem = None
        if not pool:
            problem = f"query {query} has no list of candidates"
        elif len(set(pool)) < len(pool):
            twice = next(doc for i, doc in enumerate(pool) if doc in pool[:i])
            problem = f"document {twice} is listed twice for query {query}"
        elif str(query) in pools:
            problem = f"query {query} occurs twice"
        if problem is not None:
            raise InputError(problem, file=file, line=line, remedy=_FORM)
        pools[str(query)] = pool
    if not pools:
        raise InputError("there are no candidates", file=file, remedy=_FORM)
    return pools
