"""The pairs that readers may confirm, and those of them that make the benchmark."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import StrPath
from irtoolkit.building.plotretrieval.alignment import ASK, KEEP
from irtoolkit.building.plotretrieval.comments import Comment
from irtoolkit.building.plotretrieval.pieces import Piecework, blocks_of, read_piece
from irtoolkit.building.plotretrieval.quality import Gathered
from irtoolkit.building.plotretrieval.release import Pair
from irtoolkit.building.plotretrieval.sheet import YES, Row, read_sheet


def gather_pairs(
    gathered: Gathered, work: Piecework, comments: Sequence[Comment], checked: StrPath | None
) -> None:
    """Gathers the candidates and, of them, the pairs of the benchmark; writes nothing.

    Args:
        gathered: receives both.
        work: whose pieces are done.
        comments: of all pieces.
        checked: the sheet with verdicts; without one, the pairs that are sure make the benchmark.

    Raises:
        InputError: no comment makes a pair, or no pair of the sheet is confirmed; or see `read_sheet`.
    """
    books = {book.name: book for book in gathered.books}
    for block in blocks_of(comments):
        sentences = books[block.book].sentences()
        for comment, record in zip(block.comments, read_piece(work.path(block)), strict=True):
            if record["left_out"]:
                gathered.left_out[record["left_out"]] += 1
            else:
                passage = " ".join(sentences[record["start"] : record["stop"]])
                gathered.candidates.append(Pair(comment, comment.text, passage, record))
    if checked is not None:
        _confirm(gathered, Path(checked))
        gathered.pairs = [pair for pair in gathered.candidates if pair.verdict == YES]
        if not gathered.pairs:
            problem, remedy = "no pair has the verdict yes", "check more pairs"
            raise InputError(problem, file=checked, remedy=remedy)
    else:
        gathered.pairs = [p for p in gathered.candidates if p.record["decision"] == KEEP]
    if not gathered.candidates:
        reasons = ", ".join(f"{count} {why}" for why, count in gathered.left_out.most_common(3))
        raise InputError(
            f"none of {gathered.comments} comments makes a pair:"
            f" {reasons or 'no quotation is found'}",
            remedy="are these comments about these books, in the same language?",
        )


def _confirm(gathered: Gathered, sheet: Path) -> None:
    """Gives each pair its verdict, and the query as the reader has left it."""
    verdicts = read_sheet(sheet, {pair.comment.id for pair in gathered.candidates})
    gathered.candidates = [
        dataclasses.replace(pair, verdict=verdict.answer, query=verdict.query or pair.query)
        if (verdict := verdicts.get(pair.comment.id))
        else pair
        for pair in gathered.candidates
    ]


def no_sure_pair(gathered: Gathered, sheet: Path) -> InputError:
    """Returns the error that readers have to confirm pairs before there is a benchmark."""
    return InputError(
        f"no pair is sure without a reader, and {len(gathered.candidates)} are to be checked",
        file=sheet,
        remedy="write verdicts into it and give it with --checked, or lower --keep",
    )


def rows_of(pairs: Sequence[Pair]) -> list[Row]:
    """Returns the rows of the sheet: pairs to check first, then those to keep."""
    rows = [
        Row(
            pair.comment.id,
            pair.query,
            pair.passage,
            pair.book,
            f"{pair.span[0]}-{pair.span[1]}",
            pair.record["decision"],
            pair.record["score"],
            pair.verdict,
        )
        for pair in pairs
    ]
    return sorted(rows, key=lambda row: row.decision != ASK)
