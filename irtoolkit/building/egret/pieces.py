"""The examples of one file, found once and stored in pieces, from which a later build continues."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text
from irtoolkit.base.jsons import json_line
from irtoolkit.base.progress import tqdm
from irtoolkit.building.egret import natural, passages
from irtoolkit.building.egret.natural import long_answer
from irtoolkit.building.egret.passages import Passage, Seen, answered, chapters
from irtoolkit.building.egret.sources import BOOKS, NQ, Source
from irtoolkit.building.shelves import TextFile, digest
from irtoolkit.datasets import examples
from irtoolkit.datasets.cache import content_hash
from irtoolkit.datasets.editions import edition
from irtoolkit.datasets.examples import MARKER, Clipper, extract_examples
from irtoolkit.datasets.strictjson import read_jsonl

# Lines of JSON in a piece.
LINES = 2000
_FORM = 'a line is an object such as {"id": "q1", "question": "...", "answer": "..."}'
_NQ_FORM = "a line is an object of simplified-nq or of the original Natural Questions"


@dataclass(frozen=True)
class Contexts:
    """The amount of text on each side of an example.

    Attributes:
        tokens: at most so many.
        tokenizer: words between white space, or the name of a Hugging Face tokenizer.
    """

    tokens: int = examples.CONTEXT
    tokenizer: str = examples.WHITESPACE


@dataclass(frozen=True)
class Finder:
    """A callable for workers that finds the examples of a file and writes them in pieces.

    A piece is a file of JSON lines. Its first line is an account of the file, the others are
    examples.

    Attributes:
        folder: the folder of the pieces of all files.
        contexts: the context around an example.
    """

    folder: Path
    contexts: Contexts

    @cached_property
    def _clip(self) -> Clipper:
        return Clipper(self.contexts.tokenizer, self.contexts.tokens)

    def key(self, source: Source) -> str:
        """Returns a hash of a file and of all that decides its examples."""
        return digest(
            formats(), source.kind, source.name, repr(self.contexts), content_hash(source.path)
        )

    def __call__(self, source: Source) -> tuple[int, int]:
        """Writes the missing pieces of a file; returns how many existed, and how many it has.

        Raises:
            InputError: the file is empty, damaged, or of another form.
        """
        key = self.key(source)
        done = list(self._heads(source, key))
        if done and done[-1]["last"]:
            return len(done), len(done)
        if source.kind == BOOKS:
            summary = Seen()
            passages = list(chapters(TextFile(source.path, source.name), summary))
            self._write(source, 0, {"key": key, "last": True, "lines": 1}, summary, passages)
            return 0, 1
        piece = self._write_lines(source, key, len(done), done[-1]["lines"] if done else 0)
        return len(done), len(done) + piece

    def seen(self, source: Source) -> Seen:
        """Returns the account of a file whose pieces all exist."""
        summary = Seen()
        for head in self._heads(source, self.key(source)):
            summary.add(head)
        return summary

    def _heads(self, source: Source, key: str) -> Iterator[dict[str, Any]]:
        """Yields the first lines of the existing pieces, up to the first missing one."""
        number = 0
        while (head := _head(self._path(source, number))) is not None and head["key"] == key:
            yield head
            if head["last"]:
                return
            number += 1

    def units(self, source: Source) -> Iterator[dict[str, Any]]:
        """Yields the examples of a file whose pieces all exist."""
        for path in self.pieces(source):
            with open(path, encoding="utf-8") as piece:
                piece.readline()  # what was read
                for line in piece:
                    yield json.loads(line)

    def pieces(self, source: Source) -> Iterator[Path]:
        """Yields the pieces of a file, which all exist, in order."""
        for number, _ in enumerate(self._heads(source, self.key(source))):
            yield self._path(source, number)

    def _path(self, source: Source, number: int) -> Path:
        return self.folder / f"{source.name}.{number:05d}.jsonl"

    def _write_lines(self, source: Source, key: str, number: int, skip: int) -> int:
        """Writes pieces from one number on, the last of which is empty; returns how many."""
        records = tqdm(
            read_jsonl(source.path, by_user=True, skip=skip),
            desc=source.name,
            unit=" records",
            leave=False,
            initial=skip,
        )
        first = number
        for block, lines in groupby(records, lambda item: (item[0] - 1) // LINES):
            summary, passages = Seen(), list[Passage]()
            for line, record in lines:
                summary.questions += 1
                passages += _passages(source, record, line, summary)
            head = {"key": key, "last": False, "lines": (block + 1) * LINES}
            self._write(source, number, head, summary, passages)
            number += 1
        if not number:
            raise InputError("no record in it", file=source.path, remedy="leave the file out")
        self._write(source, number, {"key": key, "last": True, "lines": 0}, Seen(), [])
        return number + 1 - first

    def _write(
        self,
        source: Source,
        number: int,
        head: dict[str, Any],
        summary: Seen,
        passages: list[Passage],
    ) -> None:
        with atomic_text(self._path(source, number)) as out:
            out.write(json_line({**head, **summary.as_json()}))
            for passage in passages:
                self._write_units(out, passage)

    def _write_units(self, out: Any, passage: Passage) -> None:
        groups = [digest(" ".join(group.casefold().split())) for group in passage.groups]
        for number, example in enumerate(extract_examples(passage.text), 1):
            left, right = self._clip.around(example)
            unit = {
                "id": f"{passage.key}.{number}",
                "question": passage.question,
                "left": left,
                "text": " ".join(example.text.split()),
                "right": right,
                "marker": example.marker,
                "line": passage.line,
                "groups": groups,
            }
            out.write(json_line(unit))


def _passages(source: Source, record: Any, line: int, summary: Seen) -> list[Passage]:
    """Returns the passages of a record that have a marker."""
    try:
        if source.kind == NQ:
            answer = long_answer(record, line)
            if isinstance(answer, str):
                summary.left_out[answer] += 1
                return []
            passages = [answer]
        else:
            passages = list(answered(record, source.name, line))
    except ValueError as error:
        raise InputError(
            str(error), file=source.path, line=line, remedy=_NQ_FORM if source.kind == NQ else _FORM
        ) from None
    # What has none need not be held until the piece is written.
    return [passage for passage in passages if MARKER.search(passage.text)]


def _head(path: Path) -> dict[str, Any] | None:
    """Returns the first line of a piece; None if it is not a piece."""
    try:
        with open(path, encoding="utf-8") as piece:
            head = json.loads(piece.readline())
    except (OSError, ValueError):
        return None
    return head if isinstance(head, dict) and {"key", "last", "lines"} <= head.keys() else None


def formats() -> str:
    """Returns the format numbers of everything that decides examples."""
    return f"{passages.FORMAT}.{natural.FORMAT}.{edition.FORMAT}.{examples.FORMAT}"
