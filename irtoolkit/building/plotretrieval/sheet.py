"""The sheet on which readers confirm pairs, and may shorten comments to the part about the plot.

The two tasks of the paper's annotators (§4.2, step 3). Columns are separated by tabs in a .tsv
file, and by commas or semicolons in a .csv file; `id`, `verdict` and `query` are read back.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text, read_lines
from irtoolkit.base.forms import column_mark
from irtoolkit.base.near import did_you_mean

NAME = "check.tsv"
YES, NO, UNSURE = VERDICTS = ("yes", "no", "unsure")
COLUMNS = ("id", "verdict", "query", "passage", "book", "sentences", "decision", "score")
_REQUIRED = COLUMNS[:3]


@dataclass(frozen=True)
class Row:
    """A pair on the sheet.

    Attributes:
        id: of the comment.
        query, passage: texts.
        book, sentences, decision, score: further information for the reader.
        verdict: "yes", "no", "unsure", or empty.
    """

    id: str
    query: str
    passage: str
    book: str
    sentences: str
    decision: str
    score: float
    verdict: str = ""


@dataclass(frozen=True)
class Verdict:
    """A reader's verdict on a pair: whether it is right, and the text of the query."""

    said: str
    query: str


def write_sheet(path: Path, rows: Sequence[Row]) -> None:
    """Writes the sheet atomically.

    Raises:
        InputError: an existing sheet has other verdicts, which would be lost.
    """
    if path.is_file():
        existing = read_sheet(path)
        ours = {row.id: Verdict(row.verdict, row.query) for row in rows}
        lost = [
            key for key, verdict in existing.items() if verdict.said and ours.get(key) != verdict
        ]
        if lost:
            raise InputError(
                f"the sheet has {len(lost)} verdicts that would be lost",
                file=path,
                remedy=f"give it: --checked {path}, or move it away",
            )
    with atomic_text(path) as out:
        sheet = csv.writer(out, delimiter="\t", lineterminator="\n")
        sheet.writerow(COLUMNS)
        for row in rows:
            score = f"{row.score:.4f}"
            sheet.writerow(
                (
                    row.id,
                    row.verdict,
                    row.query,
                    row.passage,
                    row.book,
                    row.sentences,
                    row.decision,
                    score,
                )
            )


def read_sheet(path: Path, allowed: Collection[str] | None = None) -> dict[str, Verdict]:
    """Reads the verdicts of a sheet, by id.

    Args:
        path: the sheet.
        allowed: the ids of the pairs to be checked; None takes any.

    Raises:
        InputError: no such file, not a sheet, an unknown or repeated id, or another verdict.
    """
    verdicts: dict[str, Verdict] = {}
    for line, row in _rows(path):
        key, answer, query = (" ".join((row.get(name) or "").split()) for name in _REQUIRED)
        answer = answer.lower()
        problem, remedy = "", None
        if answer and answer not in VERDICTS:
            problem, remedy = f"verdict {answer!r}", f"write {', '.join(VERDICTS)}, or nothing"
        elif key in verdicts:
            problem, remedy = f"id {key} appears twice", "leave one row of the two"
        elif allowed is not None and key not in allowed:
            problem = f"id {key!r} is not among the {len(allowed)} pairs of this build"
            near = did_you_mean(key, allowed)
            remedy = f"{near}ids must not be edited; build with the texts and settings of the sheet"
        elif answer == YES and not query:
            problem, remedy = f"the query of {key} is empty", "keep what describes the plot"
        if problem:
            raise InputError(problem, file=path, line=line, remedy=remedy)
        verdicts[key] = Verdict(answer, query)
    return verdicts


def _rows(path: Path) -> list[tuple[int, Mapping[str, str | None]]]:
    """Returns the rows with the lines that they end on."""
    text = "\n".join(line for _, line in read_lines(path)).removeprefix("\ufeff")
    read = csv.DictReader(io.StringIO(text), delimiter=column_mark(text.partition("\n")[0]))
    names = [name.strip() for name in read.fieldnames or ()]
    absent = [name for name in _REQUIRED if name not in names]
    if absent:
        raise InputError(
            f"no column {absent[0]!r}",
            file=path,
            line=1,
            remedy=f"keep the first line of the sheet: {', '.join(COLUMNS)}",
        )
    read.fieldnames = names
    return [(read.line_num, row) for row in read]
