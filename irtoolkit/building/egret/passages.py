"""Passages that may hold examples: an answer, a long answer of Natural Questions, a chapter of a book."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from irtoolkit.base.errors import InputError, errors_in
from irtoolkit.base.ids import is_word
from irtoolkit.building.shelves import TextFile
from irtoolkit.datasets.editions.reading import form_of, read_edition
from irtoolkit.datasets.encodings import check_encoding

# Raised when the same files give other passages.
FORMAT = 1
_GOES_ON = (",", ";", "\u2014", "--")


@dataclass(frozen=True)
class Passage:
    """A text to be searched for examples.

    Attributes:
        key: the beginning of the ids of its examples; one word.
        question: the question it answers; for a book, its title and the chapter.
        text: the text; blank lines divide its paragraphs.
        line: its line in the file; for a book, the number of the chapter.
        groups: texts that no two splits may share.
    """

    key: str
    question: str
    text: str
    line: int
    groups: tuple[str, ...]


@dataclass
class Seen:
    """An account of a file.

    Attributes:
        questions: records of the file, or 1 for a book.
        left_out: those without a passage, by the reason.
        title, author, encoding: of a book.
    """

    questions: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    title: str = ""
    author: str = ""
    encoding: str = "utf-8"

    def add(self, counts: Mapping[str, Any]) -> None:
        """Adds the account of another part of the file."""
        self.questions += counts["questions"]
        self.left_out.update(counts["left_out"])
        self.title, self.author = counts["title"], counts["author"]
        self.encoding = counts["encoding"]

    def as_json(self) -> dict[str, Any]:
        """Returns the values by name."""
        return {**vars(self), "left_out": dict(self.left_out)}


def answered(record: Any, name: str, line: int) -> Iterator[Passage]:
    """Yields the answers of a record: of KILT or ELI5, or with the fields question and answer.

    Args:
        record: the parsed line.
        name: the name of its file, for records without an id.
        line: its line there.

    Raises:
        ValueError: it is of another form; says how.
    """
    if not isinstance(record, dict):
        raise ValueError("not a question with answers")
    if "annotations" in record or "document_text" in record:
        raise ValueError("a record of Natural Questions, which go to --nq")
    question = _first(record, ("input", "question", "title"))
    if not isinstance(question, str):
        raise ValueError("no field question")
    identifier = _first(record, ("id", "q_id"))
    key = f"{name}-{line}" if identifier is None else str(identifier)
    if not is_word(key):
        raise ValueError(f"question id {key!r} is not one word")
    for number, answer in enumerate(_answers(record), 1):
        yield Passage(f"{key}.{number}", question, answer, line, (question, answer))


def _first(record: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((record[name] for name in names if record.get(name) is not None), None)


def _answers(record: Mapping[str, Any]) -> list[str]:
    value = _first(record, ("output", "answers", "answer", "text"))
    if isinstance(value, dict):  # ELI5 has columns of texts and scores
        value = value.get("text")
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        raise ValueError("no field answer, answers or output")
    # KILT's records also have outputs with nothing but provenance.
    texts = [item.get("answer") if isinstance(item, dict) else item for item in value]
    answers = [text for text in texts if text is not None]
    if not all(isinstance(text, str) for text in answers):
        raise ValueError("an answer that is not text")
    return answers


def chapters(source: TextFile, summary: Seen) -> Iterator[Passage]:
    """Yields the parts of a book between headings.

    Args:
        source: the book.
        summary: receives the account of the book.

    Raises:
        InputError: it is empty, not text, or damaged.
    """
    data = source.read()
    with errors_in(source.path):
        if form_of(data, source.path.name) == "text":
            check_encoding(lambda: iter([data]))
        book = read_edition(data, source.path.name)
    summary.title, summary.author = book.title or source.name, book.author
    summary.encoding, summary.questions = book.encoding, 1
    heads: dict[int, str] = {}
    paragraphs: list[str] = []
    number = 0
    for block in book.text_blocks():
        if block.level is None:
            paragraphs.append(block.text)
            continue
        if paragraphs:
            number += 1
            yield _chapter(source.name, summary.title, heads, paragraphs, number)
            paragraphs = []
        heads = {level: text for level, text in heads.items() if level < block.level}
        heads[block.level] = block.text
    if paragraphs:
        yield _chapter(source.name, summary.title, heads, paragraphs, number + 1)
    elif not number:
        raise InputError("there is no text in it", file=source.path, remedy="leave the file out")


def _chapter(
    name: str, title: str, heads: Mapping[int, str], paragraphs: list[str], number: int
) -> Passage:
    location = ", ".join(heads.values())
    text = paragraphs[0]
    for before, after in pairwise(paragraphs):
        # A sentence may go on after verses or an illustration.
        text += f" {after}" if before.endswith(_GOES_ON) else f"\n\n{after}"
    return Passage(
        f"{name}.{number}",
        f"{title}: {location}" if location else title,
        text,
        number,
        (f"book {name}",),
    )
