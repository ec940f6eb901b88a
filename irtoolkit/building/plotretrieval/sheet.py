"""The sheet on which readers confirm pairs, and may shorten comments to the part about the plot.

The two tasks of the paper's annotators (§4.2, step 3). Columns are separated by tabs in a .tsv
file, and by commas or semicolons in a .csv file; `id`, `verdict` and `query` are read back.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from irtoolkit.base import sheets
from irtoolkit.base.errors import InputError
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

    answer: str
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
            key for key, verdict in existing.items() if verdict.answer and ours.get(key) != verdict
        ]
        if lost:
            raise InputError(
                f"the sheet has {len(lost)} verdicts that would be lost",
                file=path,
                remedy=f"give it: --checked {path}, or move it away",
            )
    cells = [{**asdict(row), "score": f"{row.score:.4f}"} for row in rows]
    sheets.write_sheet(path, COLUMNS, cells)


def read_sheet(path: Path, allowed: Collection[str] | None = None) -> dict[str, Verdict]:
    """Reads the verdicts of a sheet, by id.

    Args:
        path: the sheet.
        allowed: the ids of the pairs to be checked; None takes any.

    Raises:
        InputError: no such file, not a sheet, an unknown or repeated id, or another verdict.
    """
    verdicts: dict[str, Verdict] = {}
    remedy = f"keep the first line of the sheet: {', '.join(COLUMNS)}"
    for line, row in sheets.read_sheet(path, _REQUIRED, remedy):
        key, answer, query = (" ".join(row[name].split()) for name in _REQUIRED)
        answer = answer.lower()
        problem, advice = "", None
        if answer and answer not in VERDICTS:
            problem, advice = f"verdict {answer!r}", f"write {', '.join(VERDICTS)}, or nothing"
        elif key in verdicts:
            problem, advice = f"id {key} appears twice", "leave one row of the two"
        elif allowed is not None and key not in allowed:
            problem = f"id {key!r} is not among the {len(allowed)} pairs of this build"
            near = did_you_mean(key, allowed)
            advice = f"{near}ids must not be edited; build with the texts and settings of the sheet"
        elif answer == YES and not query:
            problem, advice = f"the query of {key} is empty", "keep what describes the plot"
        if problem:
            raise InputError(problem, file=path, line=line, remedy=advice)
        verdicts[key] = Verdict(answer, query)
    return verdicts
