"""Holding a run against the dataset it claims to be for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath
from irtoolkit.base.ids import Ids, Ints, id_array, offsets_of, rank_ids
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.measures.judged import within
from irtoolkit.runs import Run, trec
from irtoolkit.runs.columns import RunColumns
from irtoolkit.runs.trec import ProblemHandler, raise_error

# White space of any script, control characters and byte order marks.
_TROUBLE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ufeff]")


def read_run(path: StrPath, data: Dataset | str | None = None) -> Run:
    """Reads a run that must fit a dataset.

    For our own benchmarks every topic and document must be known and every pool respected; for
    other datasets topics must be known.

    Raises:
        InputError: the first problem, with file and line.
    """
    if data is None:
        return Run.read(path)
    dataset = Dataset.of(data)
    dataset_id = dataset.id
    columns = _read(path, raise_error)
    run = Run.from_trec(columns)
    _report_topics(path, columns, dataset_id, dataset, raise_error)
    if dataset.about is not None:
        _report_documents(path, columns, dataset_id, dataset, raise_error)
    return run


@dataclass(frozen=True)
class Strictness:
    """What a file must be beyond what makes it a run.

    Attributes:
        tag: the form of the run tag, as a regular expression, and in words.
        iterations: what the second field may be.
        depth: the most rows a query may have, where no other number is given.
        exact_ranks: whether ranks must count the rows of a query from 1 (or from 0) in the order
            in which trec_eval reads them, so that a tie in another order is a fault.
    """

    tag: tuple[str, str] | None = None
    iterations: tuple[str, ...] = ("Q0", "0")
    depth: int | None = None
    exact_ranks: bool = False


# "usual": what any evaluation needs. "trec": what the check scripts of TREC's tracks refuse, whose
# forms of a tag differ: 1 to 12 letters and digits once, 1 to 25 with - and _ in 2022; 20 with
# - _ . is the most that most take. Ranks are our own addition, since those scripts pass over them.
STRICTNESS = {
    "usual": Strictness(),
    "trec": Strictness(
        ("[A-Za-z0-9_.-]{1,20}", "1 to 20 letters, digits, - _ ."), ("Q0",), 1000, True
    ),
}


@dataclass(frozen=True)
class Findings:
    """What was found in a run file.

    Attributes:
        problems: what is wrong, by line.
        notes: what is allowed, but read in different ways by different tools.
        topics, rows: how many of them could be read.
    """

    problems: list[InputError]
    notes: list[InputError]
    topics: int = 0
    rows: int = 0


def check_run(
    path: StrPath,
    dataset_id: str | None = None,
    depth: int | None = None,
    *,
    whole_pool: bool = False,
    strictness: str = "usual",
    tag: str | None = None,
) -> list[InputError]:
    """Everything wrong with a run file, in no more than one message for each row and fault.

    Beyond what `read_run` refuses: more than one tag, an iteration field other than Q0 or 0, ids
    that other tools read otherwise, one rank for two scores, a query deeper than `depth`, and a
    topic of the dataset that the run lacks, reported on the last line; and what `strictness` asks.

    Args:
        path: TREC text, .gz or Parquet.
        dataset_id: what the run is for.
        depth: the most rows a query may have.
        whole_pool: whether every candidate of a listed query must be there.
        strictness: one of STRICTNESS.
        tag: what the run is going to be called, in place of its own tag.

    Raises:
        InputError: no such dataset or strictness, or `whole_pool` without a dataset.
    """
    return inspect_run(
        path, dataset_id, depth, whole_pool=whole_pool, strictness=strictness, tag=tag
    ).problems


def inspect_run(
    path: StrPath,
    dataset_id: str | None = None,
    depth: int | None = None,
    *,
    whole_pool: bool = False,
    strictness: str = "usual",
    tag: str | None = None,
) -> Findings:
    """As `check_run`, with notes and numbers."""
    if strictness not in STRICTNESS:
        raise InputError(
            f"no strictness {strictness!r}", remedy=f"there are {', '.join(STRICTNESS)}"
        )
    if whole_pool and dataset_id is None:
        raise InputError("without a dataset there are no pools", remedy="name it with --dataset")
    strict = STRICTNESS[strictness]
    depth = strict.depth if depth is None else depth
    found: list[InputError] = []
    notes: list[InputError] = []
    try:
        columns = _read(path, found.append)
    except InputError as error:  # the file cannot be read on
        return Findings([*found, error], notes)
    if not len(columns.lines):
        # That there are none shows on the first line.
        found = [InputError(p.found, file=p.file, line=p.line or 1, remedy=p.remedy) for p in found]
        return Findings(found, notes)
    _report_tag(path, columns, strict, tag, found.append)
    _report_form(path, columns, strict, depth, found.append)
    _report_ids(path, columns, found.append)
    _report_ranks(path, columns, strict, found.append)
    _report_ties(path, columns, found.append if strict.exact_ranks else notes.append)
    if dataset_id is not None:
        dataset = Dataset.of(dataset_id)
        _report_topics(path, columns, dataset_id, dataset, found.append)
        _report_documents(path, columns, dataset_id, dataset, found.append)
        _report_missing_topics(path, columns, dataset_id, dataset, found.append)
        if whole_pool:
            _report_missing_candidates(path, columns, dataset_id, dataset, found.append)
    found.sort(key=lambda problem: (problem.line is None, problem.line or 0))
    return Findings(found, notes, len(columns.query_ids), len(columns.lines))


def shallow_queries(run: Run, data: Any) -> list[str]:
    """Queries for which the run lists fewer documents than the dataset's pool holds."""
    dataset = Dataset.of(data)
    if not dataset.has("scoreddocs"):
        return []
    sizes = {query: len(pool) for query, pool in dataset.pools().items()}
    listed = dict(zip(run.query_ids, np.diff(run.offsets).tolist(), strict=True))
    return [query for query, size in sizes.items() if listed.get(query, 0) < size]


def _read(path: StrPath, report: ProblemHandler) -> RunColumns:
    """The rows of a run file; those of a Parquet file as if they were lines."""
    if not str(path).endswith(".parquet"):
        return trec.parse_run(path, report)
    run = Run.read(path)
    numbers = np.arange(1, len(run) + 1)
    constant = np.zeros(len(run), dtype=np.int64)
    return RunColumns(
        numbers, run.query_ids, run.queries, run.doc_ids, run.docs.astype(np.int64), run.ranks,
        run.scores, id_array(["Q0"]), constant, id_array([run.tag]), constant,
    )  # fmt: skip


def _report_tag(
    path: StrPath, columns: RunColumns, strict: Strictness, tag: str | None, report: ProblemHandler
) -> None:
    first = str(columns.tags[columns.tag[0]]) if tag is None else tag
    if strict.tag is not None and re.fullmatch(strict.tag[0], first) is None:
        report(
            InputError(
                f"the tag {first!r} is not of the form that TREC takes",
                file=path,
                line=int(columns.lines[0]),
                remedy=f"use {strict.tag[1]}",
            )
        )
    if tag is None and len(columns.tags) > 1:
        second = int(np.argmax(columns.tag != columns.tag[0]))
        report(
            InputError(
                f"a second tag {columns.tags[columns.tag[second]]!r} after {first!r}",
                file=path,
                line=int(columns.lines[second]),
                remedy="one file holds one system",
            )
        )


def _report_form(
    path: StrPath,
    columns: RunColumns,
    strict: Strictness,
    depth: int | None,
    report: ProblemHandler,
) -> None:
    strange = np.array([name not in strict.iterations for name in columns.iterations], dtype=bool)
    for row in np.flatnonzero(strange[columns.iteration])[:1]:
        report(
            InputError(
                f"the second field is {columns.iterations[columns.iteration[row]]!r}",
                file=path,
                line=int(columns.lines[row]),
                remedy="it is Q0 in TREC runs",
            )
        )
    if depth is not None:
        counts = np.bincount(columns.queries, minlength=len(columns.query_ids))
        for query in np.flatnonzero(counts > depth):
            report(
                InputError(
                    f"query {columns.query_ids[query]} has {counts[query]} documents,"
                    f" more than {depth}",
                    file=path,
                    line=int(columns.lines[np.flatnonzero(columns.queries == query)[depth]]),
                    remedy="cut the ranking",
                )
            )


def _report_ids(path: StrPath, columns: RunColumns, report: ProblemHandler) -> None:
    """Ids with characters that end a field or a text for other tools: each on its first line."""
    named = (("topic", columns.query_ids, columns.queries), ("document", columns.doc_ids, columns.docs),
             ("tag", columns.tags, columns.tag))  # fmt: skip
    for what, names, codes in named:
        for code, name in enumerate(names):
            character = _TROUBLE.search(name)
            if character is None:
                continue
            report(
                InputError(
                    f"the {what} {name!r} holds the character U+{ord(character[0]):04X}",
                    file=path,
                    line=int(columns.lines[np.argmax(codes == code)]),
                    remedy="it is invisible, and ends the field for other tools: take it out",
                )
            )


def _report_ranks(
    path: StrPath, columns: RunColumns, strict: Strictness, report: ProblemHandler
) -> None:
    """Of each query the first rank that stands for two scores; or, where exact, that is wrong."""
    order = np.lexsort((columns.lines, -columns.scores, columns.ranks, columns.queries))
    query, rank, score = columns.queries[order], columns.ranks[order], columns.scores[order]
    same = (query[1:] == query[:-1]) & (rank[1:] == rank[:-1])
    if not strict.exact_ranks:
        same &= score[1:] != score[:-1]
    wrong: dict[int, tuple[int, str]] = {}
    if strict.exact_ranks:
        place = within(offsets_of(query, len(columns.query_ids)))
        # Some count from 0.
        zero = (np.bincount(query[rank == 0], minlength=len(columns.query_ids)) > 0)[query]
        expected = place - zero
        for at in _firsts(query, np.flatnonzero(rank != expected)):
            found = f"rank {rank[at]} stands where {expected[at]} should"
            wrong[int(query[at])] = (order[at], found)
    for at in _firsts(query, np.flatnonzero(same)):
        twin, row = sorted(order[at : at + 2].tolist())
        found = f"rank {rank[at]} stands twice, first at line {columns.lines[twin]},"
        wrong[int(query[at])] = (row, found)
    for code, (row, found) in wrong.items():
        report(
            InputError(
                f"{found} in query {columns.query_ids[code]}",
                file=path,
                line=int(columns.lines[row]),
                remedy="number the rows of a query from 1, by falling score",
            )
        )


def _firsts(groups: Ints, rows: Ints) -> list[int]:
    """Of some rows, the first of each group."""
    _, firsts = np.unique(groups[rows], return_index=True)
    found: list[int] = rows[firsts].tolist()
    return found


def _report_ties(path: StrPath, columns: RunColumns, report: ProblemHandler) -> None:
    """Of each query the first tie whose ranks are not in trec_eval's order."""
    places = rank_ids(columns.doc_ids)[columns.docs]
    order = np.lexsort((columns.ranks, -columns.scores, columns.queries))
    query, rank, score = columns.queries[order], columns.ranks[order], columns.scores[order]
    place = places[order]
    tied = (query[1:] == query[:-1]) & (score[1:] == score[:-1])
    wrong = np.flatnonzero(tied & (rank[1:] != rank[:-1]) & (place[1:] > place[:-1]))
    for at in _firsts(query, wrong):
        above, below = (columns.doc_ids[columns.docs[row]] for row in order[at : at + 2])
        report(
            InputError(
                f"documents {above} and {below} tie in query {columns.query_ids[query[at]]},"
                f" and trec_eval reads them in the order opposite to their ranks",
                file=path,
                line=int(columns.lines[order[at + 1]]),
                remedy="lower the score of the second a little: tools break ties in different ways",
            )
        )


def _report_topics(
    path: StrPath, columns: RunColumns, dataset_id: str, dataset: Any, report: ProblemHandler
) -> None:
    own = {query.query_id for query in dataset.queries_iter()} if dataset.has_queries() else set()
    if all(name in own for name in columns.query_ids):
        return
    known = own | dataset.known_queries()
    _report_strangers(path, columns.lines, columns.query_ids, columns.queries, known, report,
                      lambda name: f"topic {name} is not one of {dataset_id}")  # fmt: skip


def _report_documents(
    path: StrPath, columns: RunColumns, dataset_id: str, dataset: Any, report: ProblemHandler
) -> None:
    if not dataset.has_docs():
        return
    known = {doc.doc_id for doc in dataset.docs_store().get_many_iter(list(columns.doc_ids))}
    _report_strangers(path, columns.lines, columns.doc_ids, columns.docs, known, report,
                      lambda name: f"document {name} is not one of {dataset_id}")  # fmt: skip
    if not dataset.has_scoreddocs():
        return
    pools: dict[str, set[str]] = {}
    for row in dataset.scoreddocs_iter():
        pools.setdefault(row.query_id, set()).add(row.doc_id)
    for line, query, doc in zip(columns.lines, columns.queries, columns.docs, strict=True):
        pool = pools.get(columns.query_ids[query])
        name = columns.doc_ids[doc]
        if pool is not None and name not in pool and name in known:
            report(
                InputError(
                    f"document {name} is outside the pool of query {columns.query_ids[query]}",
                    file=path,
                    line=int(line),
                    remedy=f"rank only candidates: irtoolkit export {dataset_id} pools",
                )
            )


def _report_missing_topics(
    path: StrPath, columns: RunColumns, dataset_id: str, dataset: Any, report: ProblemHandler
) -> None:
    asked = dataset.queries_iter() if dataset.has_queries() else ()
    listed = set(columns.query_ids)
    lacking = [query.query_id for query in asked if query.query_id not in listed]
    if lacking:
        report(
            InputError(
                f"{len(lacking)} topics of {dataset_id} are missing, the first {lacking[0]}",
                file=path,
                line=int(columns.lines.max()),  # where the file ends without them
                remedy="trec_eval counts a missing topic as zero",
            )
        )


def _report_missing_candidates(
    path: StrPath, columns: RunColumns, dataset_id: str, dataset: Any, report: ProblemHandler
) -> None:
    listed: dict[str, set[str]] = {name: set() for name in columns.query_ids}
    last: dict[str, int] = {}
    for line, query, doc in zip(columns.lines, columns.queries, columns.docs, strict=True):
        name = columns.query_ids[query]
        listed[name].add(columns.doc_ids[doc])
        last[name] = max(last.get(name, 0), int(line))
    for queries, pool in dataset.candidates():
        for name in queries:
            lacking = [doc for doc in pool if doc not in listed[name]] if name in listed else []
            if lacking:
                report(
                    InputError(
                        f"query {name} lacks {len(lacking)} of its {len(pool)} candidates,"
                        f" the first {lacking[0]}",
                        file=path,
                        line=last[name],
                        remedy=f"rank the whole pool: irtoolkit export {dataset_id} pools",
                    )
                )


def _report_strangers(
    path: StrPath,
    lines: Ints,
    names: Ids,
    codes: Ints,
    known: Iterable[str],
    report: ProblemHandler,
    say: Callable[[str], str],
) -> None:
    strange = np.array([name not in known for name in names], dtype=bool)
    rows = np.flatnonzero(strange[codes])
    seen: set[int] = set()
    for row in rows:
        if codes[row] not in seen:
            seen.add(int(codes[row]))
            report(
                InputError(
                    say(names[codes[row]]),
                    file=path,
                    line=int(lines[row]),
                    remedy="was the run made for another dataset?",
                )
            )
