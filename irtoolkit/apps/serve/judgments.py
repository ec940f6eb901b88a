"""Readers' judgments of passages, "this is it" and "not this": stored at once, exported as qrels."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from io import FileIO
from pathlib import Path
from typing import Annotated

from pydantic import Field

from irtoolkit.base.errors import InputError
from irtoolkit.base.jsons import load_json
from irtoolkit.base.spans import Span
from irtoolkit.base.toml_records import Record, record

FILE = "judgments.jsonl"
# Bytes that are read at once to find the end of the last line.
_BLOCK = 1 << 12


@record
class Judgment(Record):
    """One click.

    Attributes:
        collection: the id of the collection.
        query: the text that was asked.
        passage: the id of the passage.
        grade: 1 "this is it", 0 "not this", None withdrawn.
        system: that had found it, or empty.
        rank: at which, or 0.
        time: seconds since 1970.
    """

    collection: str
    query: str
    passage: str
    grade: Annotated[int, Field(ge=0, le=1)] | None
    system: str = ""
    rank: int = 0
    time: float = 0

    @cached_property
    def query_id(self) -> str:
        """See `query_id`."""
        return query_id(self.query)

    @cached_property
    def span(self) -> Span:
        """The sentences of the passage."""
        return Span.parse(self.passage)


def query_id(query: str) -> str:
    """The id of a query in runs and qrels: the same text has the same id."""
    return "q" + hashlib.sha256(" ".join(query.split()).encode()).hexdigest()[:12]


def judgment_for(judgments: Sequence[Judgment], span: Span) -> Judgment | None:
    """Returns the judgment that counts for a passage, if there is one.

    It is the passage's own, or else the last of those whose passages share half of the sentences of
    the shorter one: passages of another length or system rarely begin at the same sentence.
    """
    own = [judgment for judgment in judgments if judgment.span == span]
    return max(
        own or _overlapping(judgments, span), key=lambda judgment: judgment.time, default=None
    )


def withdrawn_with(
    judgments: Sequence[Judgment], span: Span, seen: int | None = None
) -> list[Judgment]:
    """Returns the judgments to withdraw so that the grade of a passage no longer counts for it.

    Where several passages that overlap it have the same grade, it would else be back at once.

    Args:
        judgments: those that count for a query.
        span: the sentences of the passage.
        seen: the grade that the reader saw; another one, which came meanwhile, stays.
    """
    counting = judgment_for(judgments, span)
    if counting is None or seen not in (None, counting.grade):
        return []
    return [one for one in _overlapping(judgments, span) if one.grade == counting.grade]


def _overlapping(judgments: Sequence[Judgment], span: Span) -> list[Judgment]:
    return [judgment for judgment in judgments if _share_half(judgment.span, span)]


def _share_half(one: Span, other: Span) -> bool:
    shared = min(one.stop, other.stop) - max(one.start, other.start)
    return one.book == other.book and 2 * shared >= min(one.length, other.length)


class Judgments:
    """A file to which each judgment is added as a line that is on the disk before it is confirmed.

    Args:
        folder: where the file is.
        most: judgments that are taken.
    """

    def __init__(self, folder: Path, most: int) -> None:
        self._path, self._most = folder / FILE, most
        self._lock = threading.Lock()
        # By collection and query, and there by passage.
        self._known: dict[tuple[str, str], dict[str, Judgment]] = {}
        self._lines = 0
        self._read()

    def _read(self) -> None:
        if not self._path.exists():
            return
        data = self._path.read_bytes()
        whole = data.rfind(b"\n") + 1
        for number, line in enumerate(data[:whole].splitlines(), 1):
            try:
                self._take(Judgment(**load_json(line)))
            except (ValueError, TypeError, InputError) as error:
                raise InputError(
                    f"not a judgment: {error}",
                    file=self._path,
                    line=number,
                    remedy="repair the line, or move the file away",
                ) from None

    def _take(self, judgment: Judgment) -> None:
        self._lines += 1
        key = (judgment.collection, judgment.query_id)
        group = self._known.setdefault(key, {})
        group.pop(judgment.passage, None)
        if judgment.grade is not None:
            group[judgment.passage] = judgment
        elif not group:
            del self._known[key]

    def add(self, judgment: Judgment, seen: int | None = None) -> Judgment:
        """Keeps a judgment; one without a grade withdraws what counts for its passage.

        Of several judgments of one passage for one query the last counts. What is withdrawn is
        decided and written while no other judgment is: readers may withdraw the same one at once.

        Args:
            judgment: without its time.
            seen: see `withdrawn_with`.

        Raises:
            InputError: there are too many, or the disk refuses.
        """
        stored = replace(judgment, time=time.time())
        with self._lock:
            if stored.grade is not None:
                self._write(stored)
                return stored
            group = self._known.get((stored.collection, stored.query_id), {})
            for one in withdrawn_with(list(group.values()), stored.span, seen):
                self._write(replace(stored, passage=one.passage))
        return stored

    def _write(self, judgment: Judgment) -> None:
        """Adds a judgment to the file and to those that count; the lock is held."""
        line = json.dumps(asdict(judgment), ensure_ascii=False).encode() + b"\n"
        if self._lines >= self._most:
            raise InputError(f"there are {self._most:,} judgments already")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            _append(self._path, line)
        except OSError as error:
            raise InputError(f"cannot write: {error.strerror or error}", file=self._path) from None
        self._take(judgment)

    def of(self, collection: str | None = None, query: str | None = None) -> list[Judgment]:
        """The judgments that count, of one collection and query or of all."""
        with self._lock:
            if collection is not None and query is not None:
                return list(self._known.get((collection, query_id(query)), {}).values())
            wanted_id = None if query is None else query_id(query)
            return [
                judgment
                for (name, key_query), group in self._known.items()
                if collection in (None, name) and wanted_id in (None, key_query)
                for judgment in group.values()
            ]

    def qrels(self, collection: str | None = None) -> Iterator[str]:
        """Yields the lines of a TREC qrels file; of a pair in several collections the last counts."""
        ordered = sorted(self.of(collection), key=lambda judgment: judgment.time)
        pairs = {(judgment.query_id, judgment.passage): judgment.grade for judgment in ordered}
        for (query, passage), grade in sorted(pairs.items()):
            yield f"{query} 0 {passage} {grade}\n"

    def topics(self, collection: str | None = None) -> Iterator[str]:
        """Yields the lines of a TSV file of the queries that were judged."""
        queries = {
            judgment.query_id: " ".join(judgment.query.split()) for judgment in self.of(collection)
        }
        for name, text in sorted(queries.items()):
            yield f"{name}\t{text}\n"


def _append(path: Path, line: bytes) -> None:
    """Adds a line to a file, onto the disk, or leaves the lines that are there as they were."""
    # Without a buffer, whose rest would be written when the file is closed.
    with open(path, "a+b", buffering=0) as out:
        size = _lines_end(out)
        # A line that was cut short was never confirmed.
        out.truncate(size)
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[out.write(rest) :]
            os.fsync(out.fileno())
        except OSError:
            # A full disk may have taken half of it.
            out.truncate(size)
            raise


def _lines_end(file: FileIO) -> int:
    """Where the last whole line of a file ends."""
    end = file.seek(0, os.SEEK_END)
    while end:
        start = max(0, end - _BLOCK)
        file.seek(start)
        last = (file.read(end - start) or b"").rfind(b"\n")
        if last >= 0:
            return start + last + 1
        end = start
    return 0
