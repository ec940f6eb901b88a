"""Answers and judgments as files: tables for spreadsheets, and a TREC run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from irtoolkit.apps.serve.judgments import Judgment
from irtoolkit.apps.serve.models import SearchAnswer
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.novels import Novel

_PASSAGES = (
    "rank",
    "system",
    "score",
    "id",
    "book",
    "chapter",
    "sentence",
    "share",
    "text",
    "grade",
)
_JUDGMENTS = ("query", "judgment", "book", "chapter", "sentence", "share", "text", "id", "time")
# How formulas begin; those of East Asian spreadsheets may have wide signs.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_GRADES = {1: "this is it", 0: "not this"}


def csv_lines(answer: SearchAnswer) -> Iterator[str]:
    """Yields the lines of a table of an answer."""
    rows = (
        (
            hit.rank,
            by_system.system,
            hit.score,
            hit.id,
            hit.title,
            hit.place.chapter,
            hit.place.sentence,
            round(hit.place.share, 4),
            " ".join("".join(sentence.pieces) for sentence in hit.sentences),
            "" if hit.grade is None else hit.grade,
        )
        for by_system in answer.answers
        for hit in by_system.hits
    )
    return _table(_PASSAGES, rows)


def judgment_lines(
    judgments: Iterable[Judgment], novels: Mapping[tuple[str, str], Novel]
) -> Iterator[str]:
    """Yields the lines of a table of judgments, the oldest first.

    Args:
        judgments: what readers said.
        novels: the books at hand by the ids of their collections and their names; of a passage of
            another one, place and text are empty.
    """
    ordered = sorted(judgments, key=lambda judgment: judgment.time)
    rows = ((one, novels.get((one.collection, one.span.book))) for one in ordered)
    return _table(_JUDGMENTS, (_judgment_row(*row) for row in rows))


def _judgment_row(judgment: Judgment, novel: Novel | None) -> Sequence[object]:
    span = judgment.span
    found: Sequence[object] = ("", "", "", "", "")
    if novel is not None:
        place = novel.place(span.start)
        text = " ".join(novel.sentences[span.start : span.stop])
        found = (novel.title, place.chapter, place.sentence, round(place.share, 4), text)
    said = _GRADES.get(judgment.grade if judgment.grade is not None else -1, "")
    time = datetime.fromtimestamp(judgment.time, UTC).isoformat(timespec="seconds")
    return (judgment.query, said, *found, judgment.passage, time)


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yields the lines of a table. No cell begins as a formula of a spreadsheet does."""
    for row in (heads, *rows):
        out = io.StringIO()
        csv.writer(out).writerow([_cell(value) for value in row])
        yield out.getvalue()


def _cell(value: object) -> object:
    is_formula = isinstance(value, str) and value.startswith(_FORMULA)
    return f"'{value}" if is_formula else value


def trec_lines(answer: SearchAnswer) -> Iterator[str]:
    """Yields the lines of a TREC run of an answer.

    Raises:
        InputError: it is of several systems, whose rankings one run cannot hold.
    """
    if len(answer.answers) != 1:
        raise InputError("a run is of one system", remedy="ask for one system")
    first_answer = answer.answers[0]
    for hit in first_answer.hits:
        yield f"{answer.query_id} Q0 {hit.id} {hit.rank} {hit.score:.6f} {first_answer.system}\n"
