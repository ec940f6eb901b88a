"""Comments of readers, read from JSON lines, with any given location in the book.

A line is an object with `book` and `text`, and at most one of

- `sentences`: [first, one past the last] of the passage, counted from 0, or `marked`, its text: the
  passage that the comment is about (§4.2: "the original text t in the book marked by the comment c");
- `sentence`: the number of a sentence near it;
- `position`: the share of the book before it, from 0 to 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError, errors_in
from irtoolkit.base.near import did_you_mean
from irtoolkit.building.relic.articles import Finder
from irtoolkit.building.relic.build import editions
from irtoolkit.building.shelves import TextFile, digest
from irtoolkit.datasets.novels import slug
from irtoolkit.datasets.strictjson import read_jsonl

SUFFIX = ".jsonl"
_PLACES = ("sentences", "marked", "sentence", "position")


@dataclass(frozen=True)
class Comment:
    """A comment with any given location in the book.

    Attributes:
        book: the name of the book.
        text: on one line.
        source: the file that it is from.
        at: the line there; or the number of a quotation.
        span: the passage that it is about, [first, one past the last] sentence.
        marked: the text of that passage.
        near: the number of a sentence near it.
        share: the share of the book before it, from 0 to 1.
    """

    book: str
    text: str
    source: str
    at: int
    span: tuple[int, int] | None = None
    marked: str = ""
    near: int | None = None
    share: float | None = None

    @property
    def id(self) -> str:
        """An id that its texts and its place alone decide, so that it is the same in every build."""
        # With a letter first, no spreadsheet takes it for a number.
        location = (self.span, self.marked, self.near, self.share)
        return f"c{digest(self.book, self.text, repr(location))[:11]}"

    @property
    def is_exact(self) -> bool:
        """Whether it says which passage it is about."""
        return self.span is not None or bool(self.marked)


class Catalogue:
    """The books that comments may name, by file name or title.

    Args:
        counts: sentences of each book by its name.
        titles: the title of each book by its name.
    """

    def __init__(self, counts: Mapping[str, int], titles: Mapping[str, str]) -> None:
        self.counts = counts
        self._names = {slug(title): name for name, title in titles.items()}
        self._names |= {slug(name): name for name in counts}

    def find(self, title: str) -> str:
        """Returns the name of the book that a comment names.

        Raises:
            InputError: there is no such book.
        """
        name = self._names.get(slug(title))
        if name is None:
            near = did_you_mean(title, list(self.counts))
            listed = ", ".join(list(self.counts)[:8]) + (", ..." if len(self.counts) > 8 else "")
            raise InputError(f"no book {title!r}", remedy=f"{near}the books are {listed}")
        return name


def is_listed(file: TextFile) -> bool:
    """Returns whether a file lists comments; others are works of criticism.

    Raises:
        InputError: it is a table or JSON of another form, by its name.
    """
    name = file.path.name.lower().removesuffix(".gz")
    if name.endswith((".json", ".csv", ".tsv", ".parquet")):
        raise InputError(
            "neither comments nor criticism by its name",
            file=file.path,
            remedy=f"comments are JSON lines in a {SUFFIX} file, criticism is text",
        )
    return name.endswith(SUFFIX)


def read_comments(path: Path, books: Catalogue) -> Iterator[Comment]:
    """Yields the comments of a file of JSON lines.

    Raises:
        InputError: a line is not JSON, not UTF-8 or no comment, or names a book or a place that is
            not there; the file has no comments.
    """
    any_comment = False
    for line, record in read_jsonl(path, by_user=True):
        with errors_in(path, line):
            comment = _comment(record, books, path, line)
        yield comment
        any_comment = True
    if not any_comment:
        raise InputError("an empty file", file=path, remedy="remove it, or fill it")


def _comment(record: Any, books: Catalogue, path: Path, line: int) -> Comment:
    form = 'a line is {"book": ..., "text": ...}'
    if not isinstance(record, dict):
        raise InputError("not a comment", remedy=form)
    for name in ("book", "text"):
        if not isinstance(record.get(name), str) or not record[name].strip():
            raise InputError(f"a comment without {name}", remedy=form)
    places = [name for name in _PLACES if record.get(name) is not None]
    if len(places) > 1:
        raise InputError(f"both {places[0]} and {places[1]}", remedy="give one place")
    book = books.find(record["book"])
    text = " ".join(record["text"].split())
    return Comment(book, text, str(path), line, **_place(record, books.counts[book]))


def _place(record: Mapping[str, Any], count: int) -> dict[str, Any]:
    """Returns the fields of a comment with its location."""
    span, marked = record.get("sentences"), record.get("marked")
    near, share = record.get("sentence"), record.get("position")
    if span is not None:
        pair = isinstance(span, list) and len(span) == 2 and all(type(n) is int for n in span)
        if not pair or not 0 <= span[0] < span[1] <= count:
            raise InputError(
                f"sentences {span!r} of a book with {count}",
                remedy="give [first, one past the last], counted from 0",
            )
        return {"span": tuple(span)}
    if marked is not None:
        if not isinstance(marked, str) or not marked.strip():
            raise InputError(f"marked is {marked!r}", remedy="give the text of the passage")
        return {"marked": " ".join(marked.split())}
    if near is not None:
        if type(near) is not int or not 0 <= near < count:
            raise InputError(
                f"sentence {near!r} of a book with {count}", remedy="sentences count from 0"
            )
        return {"near": near}
    if share is not None:
        if type(share) not in (int, float) or not 0 <= share <= 1:
            raise InputError(f"position {share!r}", remedy="give a share of the book, 0 to 1")
        return {"share": float(share)}
    return {}


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
        record = finder.record(file.name)
        same = editions(record)
        for number, (_, window) in enumerate(finder.finds(file.name)):
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
