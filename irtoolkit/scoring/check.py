"""Checking a run file, by itself and against the dataset it is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.runs import Run
from irtoolkit.runs.precision import Precision
from irtoolkit.runs.trec import raise_error
from irtoolkit.scoring.check_dataset import (
    check_documents,
    check_missing_candidates,
    check_missing_topics,
    check_topics,
)
from irtoolkit.scoring.check_file import (
    STRICTNESS,
    RunFile,
    Strictness,
    check_form,
    check_ids,
    check_odd_ids,
    check_ranks,
    check_rows,
    check_tag,
    check_ties,
)


def read_run(
    path: StrPath, data: Dataset | str | None = None, precision: Precision = "single"
) -> Run:
    """Reads a run that must fit a dataset; see `Run.read`.

    Topics must exist in the dataset. For irtoolkit's own benchmarks documents must exist too, and
    belong to the pool of their query.

    Raises:
        InputError: the first problem, with file and line.
    """
    if data is None:
        return Run.read(path, precision)
    dataset = Dataset.of(data)
    file = RunFile.read(path, raise_error, precision)
    run = Run.from_trec(file.columns)
    check_topics(file, dataset)
    if dataset.about is not None:
        check_documents(file, dataset)
    return run


@dataclass(frozen=True)
class Findings:
    """The result of checking a run file.

    Attributes:
        problems: the problems of the file, by line.
        notes: rows that are valid, but read differently by different tools.
        topics: the number of readable topics.
        rows: the number of readable rows.
    """

    problems: list[InputError]
    notes: list[InputError]
    topics: int = 0
    rows: int = 0


def check_run(
    path: StrPath,
    data: Dataset | str | None = None,
    depth: int | None = None,
    *,
    whole_pool: bool = False,
    strictness: str = "usual",
    tag: str | None = None,
) -> Findings:
    """Returns all problems of a run file, at most one for each row and kind of problem; notes; and counts.

    Besides what `read_run` refuses, these are: more than one tag; a second field other than Q0 or
    0; ids that TREC text cannot hold; a rank with two scores; a query deeper than `depth`; topics
    of the dataset that the run lacks, reported at the last line; and violations of `strictness`.

    Args:
        path: TREC text, .gz or Parquet.
        data: the dataset that the run is for, or its id.
        depth: the most rows of a query.
        whole_pool: whether a query must rank all of its candidates.
        strictness: one of STRICTNESS.
        tag: the tag that will replace the run's own.

    Raises:
        InputError: no such dataset or strictness, or `whole_pool` without a dataset.
    """
    if strictness not in STRICTNESS:
        raise InputError(
            f"no strictness {strictness!r}", remedy=f"there are {', '.join(STRICTNESS)}"
        )
    if whole_pool and data is None:
        raise InputError("no pools without a dataset", remedy="name it with --dataset")
    problems: list[InputError] = []
    notes: list[InputError] = []
    try:
        file = RunFile.read(path, problems.append)
    except InputError as error:  # nothing more can be read
        return Findings([*problems, error], notes)
    columns = file.columns
    if not len(columns.lines):
        # A file without rows is reported at its first line.
        problems = [
            InputError(p.found, file=p.file, line=p.line or 1, remedy=p.remedy) for p in problems
        ]
        return Findings(problems, notes)
    noting = RunFile(path, columns, notes.append)
    _check_rows(file, noting, STRICTNESS[strictness], depth, tag)
    if data is not None:
        _check_against(file, Dataset.of(data), whole_pool)
    problems.sort(key=lambda problem: (problem.line is None, problem.line or 0))
    return Findings(problems, notes, len(columns.query_ids), len(columns.lines))


def _check_rows(
    file: RunFile, noting: RunFile, strict: Strictness, depth: int | None, tag: str | None
) -> None:
    """Reports problems of the rows to `file`, and what the strictness allows to `noting`."""
    check_form(file)
    check_tag(file, strict, tag)
    check_rows(file, strict, strict.depth if depth is None else depth)
    check_ids(file)
    check_ranks(file, strict)
    check_odd_ids(file if strict.plain_ids else noting)
    check_ties(file if strict.exact_ranks else noting)


def _check_against(file: RunFile, dataset: Dataset, whole_pool: bool) -> None:
    check_topics(file, dataset)
    check_documents(file, dataset)
    check_missing_topics(file, dataset)
    if whole_pool:
        check_missing_candidates(file, dataset)


def grouped(problems: Sequence[InputError], most: int) -> list[str]:
    """Returns lines for problems, of which those of one kind are abridged.

    Problems of one kind have the same remedy and concern the same thing, for example documents. The
    first `most` of each kind are followed by a line that counts the others.
    """
    kinds: dict[tuple[str, str], list[InputError]] = {}
    for problem in problems:
        subject, _, _ = problem.found.partition(" ")
        # A word, and not a number or an id.
        subject = subject if subject.isalpha() else ""
        key = (subject, problem.remedy) if problem.remedy else (problem.found, "")
        kinds.setdefault(key, []).append(problem)
    lines: list[str] = []
    for alike in kinds.values():
        lines += map(str, alike[:most])
        if len(alike) > most:
            lines.append(f"... and {len(alike) - most:,} more like this")
    return lines


def shallow_queries(run: Run, data: Any) -> list[str]:
    """Returns the ids of queries for which the run lists fewer documents than the pool holds.

    A query that is a document itself, as those of CSFCube are, may lack that one: systems of the
    paper leave it out.
    """
    dataset = Dataset.of(data)
    if not dataset.has("scoreddocs"):
        return []
    pools = dataset.pools()
    listed = dict(zip(run.query_ids, np.diff(run.offsets).tolist(), strict=True))
    short = [query for query, pool in pools.items() if listed.get(query, 0) < len(pool)]
    nearly = {query for query in short if listed.get(query, 0) == len(pools[query]) - 1}
    if nearly and dataset.has("queries"):
        sizes = {
            query.query_id: getattr(query, "doc_id", None)
            for query in dataset.queries_iter()
            if query.query_id in nearly
        }
        alone = {
            query
            for query, doc in sizes.items()
            if doc in pools[query] and all(row.doc_id != doc for row in run.ranking(query))
        }
        short = [query for query in short if query not in alone]
    return short
