"""The files of long-context RELiC: examples as CSV, and the sentences of the books as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_lines
from irtoolkit.base.ids import Ints, is_word
from irtoolkit.base.plurals import number_of
from irtoolkit.datasets.cache import CacheWriter, Schemas, Tables, parsed
from irtoolkit.datasets.local.tsv import csv_rows
from irtoolkit.datasets.relic_release import SCHEMAS, RelicRelease
from irtoolkit.datasets.strictjson import TRUNCATED, read_members

EXAMPLES = "long_context_relic_acl.csv"
BOOKS = "relic_book_sentences_acl.json"
# The subsets of the examples, by the column that marks them.
SUBSETS = {"human": "human_eval_set", "close-reading": "close_reading_example"}
_COLUMNS = (
    "book_title",
    "prefix",
    "suffix",
    "answer_quote_text",
    "answer_quote_idx",
    "num_sents",
    *SUBSETS.values(),
)
_RESPONSE, _ERROR = "response_", "_ERROR"
_TRUE, _FALSE = ("true", "1", "1.0"), ("", "false", "0", "0.0", "nan")
# Whole numbers, also as pandas writes those of a column with gaps.
_NUMBER = re.compile(r"([0-9]{1,9})(?:\.0)?")
_SCHEMAS: Schemas = {**SCHEMAS, "subsets": {"query_id": pa.string(), "name": pa.string()}}


@dataclass(frozen=True)
class Example:
    """An excerpt of literary analysis whose quotation is masked.

    Attributes:
        query_id: the number of its row, from 1.
        line: its line in the file.
        book: the book's title, as one word.
        prefix, suffix: the analysis before and after the quotation.
        answer: the text of the quotation.
        start, length: its first sentence in the book, and the number of its sentences.
        subsets: the names of the `SUBSETS` that it is in.
        responses: name of a model to the quotation that it wrote, for published responses; empty if
            there is none, or if it was an error.
    """

    query_id: str
    line: int
    book: str
    prefix: str
    suffix: str
    answer: str
    start: int
    length: int
    subsets: tuple[str, ...]
    responses: Mapping[str, str]


class LongContextRelease(RelicRelease):
    """The examples and the books, in the form of a split of RELiC."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        self._subsets = tables["subsets"]

    def members(self, subset: str) -> list[str]:
        """Returns the ids of the queries in one of the `SUBSETS`."""
        ids, names = (self._subsets[name].to_pylist() for name in ("query_id", "name"))
        return [query_id for query_id, name in zip(ids, names, strict=True) if name == subset]


def files_of(folder: Path) -> list[Path] | None:
    """Returns the files of examples and books in a folder or its folder data; None if it has none."""
    for release in (folder, folder / "data"):
        files = [release / EXAMPLES, release / BOOKS]
        if all(path.is_file() for path in files):
            return files
    return None


def read_release(files: Sequence[Path]) -> LongContextRelease:
    """Reads the release, or maps its columns from the cache.

    Args:
        files: the result of `files_of`.

    Raises:
        InputError: a file has another format, or an example quotes sentences that its book does not
            have; with file and line.
    """
    examples, books = files
    parse = partial(_parse, examples, books)
    return LongContextRelease(parsed("long-context-relic", files, _SCHEMAS, parse))


def _parse(examples: Path, books: Path, out: CacheWriter) -> None:
    numbers: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for line, title, sentences in read_members(books, "an object of books"):
        name = _one_word(title)
        problem = None
        if not is_word(name):
            problem = f"the title {title!r} is empty, or has characters that no id may have"
        elif name in numbers:
            problem = f"the title {title!r} appears twice"
        elif not isinstance(sentences, list) or not all(isinstance(s, str) for s in sentences):
            problem = f"the book {title!r} is not a list of sentences"
        if problem is not None:
            raise InputError(problem, file=books, line=line, remedy=TRUNCATED)
        numbers[name], sizes[name] = len(numbers), len(sentences)
        out.add("books", name, len(sentences))
        for sentence in sentences:
            out.add("sentences", sentence)
    lengths: dict[str, set[int]] = {}
    for example in read_examples(examples):
        size = sizes.get(example.book)
        problem = None
        if size is None:
            problem = f"the book {example.book} is not in {books.name}"
        elif example.start + example.length > size:
            problem = (
                f"sentences {example.start} to {example.start + example.length - 1} of"
                f" {example.book}, which has {number_of(size, 'sentences')}"
            )
        if problem is not None:
            raise InputError(problem, file=examples, line=example.line, remedy=TRUNCATED)
        sides = [[side] if side else [] for side in (example.prefix, example.suffix)]
        number = numbers[example.book]
        out.add("windows", example.query_id, number, example.length, example.start, *sides)
        for subset in example.subsets:
            out.add("subsets", example.query_id, subset)
        lengths.setdefault(example.book, set()).add(example.length)
    for name, number in numbers.items():
        for length in sorted(lengths.get(name, ())):
            starts: Ints = np.arange(sizes[name] - length + 1)
            out.add("candidates", number, length, starts)


def read_examples(path: Path) -> Iterator[Example]:
    """Yields the examples of a file.

    Raises:
        InputError: not CSV, a column is missing, or a value is not of its kind; with file and line.
    """
    rows = csv_rows(read_lines(path), ",", path, TRUNCATED)
    _, names = next(rows, (1, []))
    problem = None
    if absent := [name for name in _COLUMNS if name not in names]:
        problem = f"there is no column {absent[0]}"
    elif twice := [name for name in names if names.count(name) > 1]:
        problem = f"two columns are named {twice[0]!r}"
    if problem is not None:
        raise InputError(problem, file=path, line=1, remedy=TRUNCATED)
    number = 0
    for line, fields in rows:
        if not fields:
            continue
        number += 1
        if len(fields) != len(names):
            problem = f"{number_of(len(fields), 'fields')}, and {number_of(len(names), 'columns')}"
            raise InputError(problem, file=path, line=line, remedy=TRUNCATED)
        yield _example(path, line, str(number), dict(zip(names, fields, strict=True)))
    if not number:
        raise InputError("there are no examples", file=path, remedy=TRUNCATED)


def _example(path: Path, line: int, query_id: str, row: Mapping[str, str]) -> Example:
    def invalid(problem: str) -> InputError:
        return InputError(problem, file=path, line=line, remedy=TRUNCATED)

    values = {name: row[name].strip() for name in _COLUMNS}
    numbers = {name: _NUMBER.fullmatch(values[name]) for name in ("answer_quote_idx", "num_sents")}
    for name, match in numbers.items():
        if match is None:
            raise invalid(f"{name} {values[name]!r:.40} is not a whole number")
    start, length = (int(match[1]) for match in numbers.values() if match is not None)
    if not length:
        raise invalid("num_sents is 0")
    for name in ("book_title", "answer_quote_text"):
        if not values[name]:
            raise invalid(f"{name} is empty")
    if not values["prefix"] and not values["suffix"]:
        raise invalid("prefix and suffix are empty")
    for name in SUBSETS.values():
        if values[name].lower() not in (*_TRUE, *_FALSE):
            raise invalid(f"{name} is {values[name]!r:.40}, not TRUE or FALSE")
    return Example(
        query_id,
        line,
        _one_word(values["book_title"]),
        values["prefix"],
        values["suffix"],
        values["answer_quote_text"],
        start,
        length,
        tuple(name for name, column in SUBSETS.items() if values[column].lower() in _TRUE),
        _responses(row),
    )


def _responses(row: Mapping[str, str]) -> dict[str, str]:
    """Returns the responses of a row by the name of their model."""
    names = [name for name in row if name.startswith(_RESPONSE) and not name.endswith(_ERROR)]
    failed = {name for name in names if row.get(f"{name}{_ERROR}", "").strip()}
    return {
        name.removeprefix(_RESPONSE): "" if name in failed else row[name].strip() for name in names
    }


def _one_word(title: str) -> str:
    """Returns a book's title as a name without white space and colons, for ids."""
    return "_".join(title.replace(":", " ").split())
