"""Comments in works of criticism: the sentences before a quotation are about the quoted passage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from irtoolkit.building.plotretrieval.comments import Comment
from irtoolkit.building.relic.articles import Finder
from irtoolkit.building.relic.build import editions
from irtoolkit.building.shelves import TextFile

# Sentences before a quotation that are the comment.
CONTEXT = 1


def comments_of(
    finder: Finder, works: Sequence[TextFile], context: int, left_out: Counter[str]
) -> Iterator[Comment]:
    """Yields a comment for each quotation with one clear source in a book.

    Args:
        finder: has found the quotations.
        works: the works of criticism.
        context: sentences before a quotation that are the comment.
        left_out: counts quotations that make no comment, by the reason.
    """
    for file in works:
        record = finder.record(file)
        same = editions(record)
        for number, (_, window) in enumerate(finder.windows(file)):
            reason = _left_out(record, window, same, finder.matching.longest)
            if reason:
                left_out[reason] += 1
                continue
            text = " ".join(window["left"][-context:])
            start = window["start"]
            span = (start, start + window["length"])
            yield Comment(window["book"], text, str(file.path), number, span=span)


def _left_out(record: dict[str, Any], window: dict[str, Any], same: set[str], longest: int) -> str:
    if not record["criticism"]:
        return "in a work that is no criticism by its title"
    if window["book"] in same:
        return "in a work that is an edition of the book"
    if window["places"] > 1:
        return "a quotation of several places of the books"
    if window["length"] > longest:
        return f"a quotation of more than {longest} sentences"
    return "" if window["left"] else "a quotation that nothing leads up to"
