"""The files of a RELiC release: windows of criticism, and the books they quote."""

import re
from pathlib import Path
from typing import Any, NamedTuple, Optional, Tuple  # noqa: UP035 ir_datasets compares these

import numpy as np

from irtoolkit.collections.books import Book
from irtoolkit.collections.strictjson import TRUNCATED, line_of_key, read_json
from irtoolkit.errors import InputError
from irtoolkit.ids import Ints
from irtoolkit.spans import Span

# Sentences of criticism on either side that the release may hold.
MAX_CONTEXT = 4
MASK = "[MASK]"
_CANDIDATES = re.compile(r"([1-9][0-9]{0,3})_sentences?")


class RelicQuery(NamedTuple):
    """A window of literary criticism around a quotation that is left out.

    `left` and `right` are the sentences before and after it, `book` and `length` say which
    passages can be the answer: all of so many sentences in that book.
    """

    query_id: str
    book: str
    length: int
    left: Tuple[str, ...]  # noqa: UP006
    right: Tuple[str, ...]  # noqa: UP006

    @property
    def context(self) -> str:
        """The sentences on both sides, joined; what lexical systems search with (§3.2)."""
        return " ".join((*self.left, *self.right))

    @property
    def masked(self) -> str:
        """The context with [MASK] where the quotation stood; see `with_mask`."""
        return self.with_mask(MASK)

    def with_mask(self, token: str) -> str:
        """The context with a token where the quotation stood, e.g. a model's own mask token."""
        return " ".join((*self.left, token, *self.right))

    def default_text(self) -> str:
        """The context without a mark for the quotation."""
        return self.context

    def clipped(self, left: int, right: int) -> "RelicQuery":
        """The same query with at most so many sentences on each side of the quotation."""
        return self._replace(left=self.left[len(self.left) - left :] if left < len(self.left) else self.left,
                             right=self.right[:right])  # fmt: skip


class Window(NamedTuple):
    """A query, and where its quotation stands; None where the release hides it."""

    query: RelicQuery
    gold: Optional[Span]  # noqa: UP045


class Release(NamedTuple):
    """One split."""

    books: dict[str, Book]
    windows: list[Window]


def read_release(path: Path, hidden: bool) -> Release:
    """Parses and checks one split file.

    Args:
        path: train.json, val.json or test.json.
        hidden: whether gold indices must be null, as in the released test split; otherwise they
            must not be.

    Raises:
        InputError: the file is truncated, mis-encoded or contradicts itself; with file and line.
    """
    data = read_json(path)
    if not isinstance(data, dict) or not data:
        raise InputError("not an object of books", file=path, line=1, remedy=TRUNCATED)
    books: dict[str, Book] = {}
    windows: dict[str, Window] = {}
    for name, record in data.items():
        books[name] = _book(path, name, record)
        for query_id, quote in record["quotes"].items():
            problem = _problem(quote, books[name], hidden)
            if problem is None and query_id in windows:
                problem = "stands in two books"
            if problem is None and query_id.split() != [query_id]:
                problem = "is not one word"
            if problem is not None:
                raise InputError(
                    f"quote {query_id} of {name} {problem}",
                    file=path,
                    line=line_of_key(path, query_id, last=query_id in windows),
                    remedy=TRUNCATED,
                )
            left, start, length, right = quote
            query = RelicQuery(query_id, name, length, tuple(left), tuple(right))
            windows[query_id] = Window(query, None if hidden else Span(name, start, length))
    if not windows:
        raise InputError("no windows", file=path, remedy=TRUNCATED)
    return Release(books, list(windows.values()))


def _book(path: Path, name: str, record: Any) -> Book:
    def refuse(problem: str) -> InputError:
        return InputError(
            f"book {name} {problem}", file=path, line=line_of_key(path, name), remedy=TRUNCATED
        )

    if name.split() != [name] or ":" in name:
        raise refuse("has a name with white space or a colon")
    keys = {"quotes": dict, "sentences": list, "candidates": dict}
    if not isinstance(record, dict) or any(
        not isinstance(record.get(k), t) for k, t in keys.items()
    ):
        raise refuse("needs quotes, sentences and candidates")
    sentences = record["sentences"]
    if not all(isinstance(sentence, str) for sentence in sentences):
        raise refuse("has a sentence that is no text")
    starts: dict[int, Ints] = {}
    for key, listed in record["candidates"].items():
        match = _CANDIDATES.fullmatch(key)
        if match is None or not isinstance(listed, list):
            raise refuse(f"has candidates {key!r}, not lists named 1_sentence and so on")
        length = int(match[1])
        if length in starts:
            raise refuse(f"has candidates of {length} sentences twice")
        if not all(type(start) is int for start in listed):
            raise refuse(f"has candidates {key} that are no whole numbers")
        if listed and (min(listed) < 0 or max(listed) + length > len(sentences)):
            raise refuse(f"has a candidate in {key} that ends past its {len(sentences)} sentences")
        found = np.unique(np.array(listed, dtype=np.int64))
        if len(found) != len(listed):
            raise refuse(f"has a candidate twice in {key}")
        starts[length] = found
    return Book(name, tuple(sentences), starts)


def _problem(quote: Any, book: Book, hidden: bool) -> str | None:
    if not isinstance(quote, list) or len(quote) != 4:
        return "is not [left sentences, index, length, right sentences]"
    left, start, length, right = quote
    if left == [] and right == []:
        return "has no context"
    for side in (left, right):
        if not isinstance(side, list) or not all(isinstance(s, str) for s in side):
            return "has a context that is no list of sentences"
        if len(side) > MAX_CONTEXT:
            return f"has {len(side)} sentences on one side, more than {MAX_CONTEXT}"
    if type(length) is not int or length not in book.starts:
        return f"is {length!r} sentences long, for which the book has no candidates"
    if hidden:
        return None if start is None else "shows its gold index, which this split hides"
    if type(start) is not int:
        return f"has the gold index {start!r}, where this split needs a number"
    if not book.has(start, length):
        return f"has the gold index {start}, which is not one of the book's candidates"
    return None
