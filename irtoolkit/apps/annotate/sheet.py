"""An annotator's judgments: a TREC qrels file that is on disk before any confirmation."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable
from pathlib import Path

from irtoolkit.apps.annotate.pool import Pool
from irtoolkit.base.durable import sync_folder, write_durably
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_lines
from irtoolkit.runs.trec import parse_qrels

NOTE = 2000  # characters of a note
_NAME = re.compile(r"\w[\w.-]{0,63}")
_Pair = tuple[str, str]


class ConflictError(InputError):
    """A judgment was changed elsewhere since a page showed it."""


class UnknownPairError(InputError):
    """A query or a document that is not in the pool."""


def check_name(annotator: str) -> None:
    """Raises InputError for a name that is invalid for a file.

    Raises:
        InputError: it is another.
    """
    if _NAME.fullmatch(annotator) is None:
        raise InputError(
            f"{annotator!r} cannot name an annotator",
            remedy="letters, digits, _ . and -, at most 64: it names a file",
        )


class Sheet:
    """The judgments and notes of one annotator.

    The files are NAME.qrels, which exists after the first judgment, and NAME.notes.tsv. Each change
    replaces a file as a whole, so that readers never see a part of one.

    Args:
        folder: the folder of the files.
        annotator: their name.
        pool: the pairs, and the grades.

    Raises:
        InputError: an invalid file name; a file with a pair or a grade that the pool lacks.
    """

    def __init__(self, folder: Path, annotator: str, pool: Pool) -> None:
        check_name(annotator)
        self.annotator, self._pool = annotator, pool
        self.path = folder / f"{annotator}.qrels"
        self.notes_path = folder / f"{annotator}.notes.tsv"
        self._lock = threading.Lock()
        self._known = {query: frozenset(doc_ids) for query, doc_ids in pool.documents.items()}
        self._grades: dict[_Pair, int] = {}
        self._notes: dict[_Pair, str] = {}
        self._read()
        self._seen = _state(self.path)

    def _read(self) -> None:
        if self.path.exists():
            columns = parse_qrels(self.path)
            rows = zip(columns.lines, columns.queries, columns.docs, columns.grades, strict=True)
            for line, query, doc, grade in rows:
                pair = (columns.query_ids[query], columns.doc_ids[doc])
                self._grades[pair] = self._checked(pair, int(grade), int(line))
        if self.notes_path.exists():
            for line, text in read_lines(self.notes_path):
                fields = text.split("\t", 2)
                if len(fields) != 3:
                    raise InputError(
                        "not a query, a document and a note", file=self.notes_path, line=line
                    )
                self._notes[fields[0], fields[1]] = fields[2]

    def _checked(self, pair: _Pair, grade: int, line: int) -> int:
        wrong = None
        if pair[1] not in self._known.get(pair[0], ()):
            wrong = f"document {pair[1]} of query {pair[0]} is not in the pool"
        elif grade not in self._pool.grades.values():
            wrong = f"grade {grade} is none of {self._pool.grades}"
        if wrong is not None:
            raise InputError(
                wrong, file=self.path, line=line, remedy="correct the line, or move the file away"
            )
        return grade

    def __len__(self) -> int:
        """Number of judgments."""
        return len(self._grades)

    def grade(self, query: str, document: str) -> int | None:
        """Returns the grade of a pair; None if it is not judged."""
        return self._grades.get((query, document))

    def note(self, query: str, document: str) -> str:
        """Returns the note on a pair, or ""."""
        return self._notes.get((query, document), "")

    def judged(self, query: str) -> int:
        """Returns how many documents of a query are judged."""
        return sum((query, document) in self._grades for document in self._known[query])

    def judge(self, query: str, document: str, grade: int | None, before: int | None) -> None:
        """Stores a grade; it is on disk when this returns.

        Args:
            query: an id.
            document: an id.
            grade: None withdraws a judgment.
            before: the grade that the annotator saw, None for none.

        Raises:
            UnknownPairError: the pair is not in the pool.
            ConflictError: the grade is no longer `before`, so that another one would be lost.
            InputError: a grade that is not in the pool; the disk refuses; the file was changed by
                something else. The judgments are then as they were.
        """
        pair = self._pair(query, document)
        if grade is not None and grade not in self._pool.grades.values():
            raise InputError(f"grade {grade} is none of {self._pool.grades}")
        with self._lock:
            now = self._grades.get(pair)
            if now not in (before, grade):
                raise ConflictError(
                    f"this was judged {now} in another window"
                    if now is not None
                    else "this judgment was withdrawn in another window"
                )
            if now == grade:
                return
            changed = {**self._grades}
            changed.pop(pair, None)
            if grade is not None:
                changed[pair] = grade
            self._write(changed)
            self._grades = changed

    def set_note(self, query: str, document: str, note: str) -> None:
        """Keeps a note on a pair, on one line; an empty one removes it. Errors as for `judge`."""
        pair, text = self._pair(query, document), " ".join(note.split())
        with self._lock:
            changed = {**self._notes, pair: text}
            if not text:
                del changed[pair]
            if changed == self._notes:
                return
            lines = (f"{q}\t{d}\t{changed[q, d]}\n" for q, d in self._sorted(changed))
            _put(self.notes_path, "".join(lines))
            self._notes = changed

    def _pair(self, query: str, document: str) -> _Pair:
        if document not in self._known.get(query, ()):
            raise UnknownPairError("this document is not in the pool of this query")
        return query, document

    def _sorted(self, pairs: Iterable[_Pair]) -> list[_Pair]:
        """Returns pairs by the position of the query in the pool, then by document."""
        number_of = {query: number for number, query in enumerate(self._known)}
        return sorted(pairs, key=lambda pair: (number_of.get(pair[0], -1), pair[1]))

    def _write(self, grades: dict[_Pair, int]) -> None:
        if _state(self.path) != self._seen:
            raise InputError(
                "the file was changed by something else",
                file=self.path,
                remedy="start again to read it",
            )
        lines = (f"{query} 0 {doc} {grades[query, doc]}\n" for query, doc in self._sorted(grades))
        _put(self.path, "".join(lines))
        self._seen = _state(self.path)


def _put(path: Path, text: str) -> None:
    """Writes a file, or removes it if it would be empty: qrels without a row are invalid."""
    if text:
        write_durably(path, text.encode())
    else:
        path.unlink(missing_ok=True)
        sync_folder(path.parent)


def _state(path: Path) -> tuple[int, int] | None:
    """Returns values that change when another program writes a file; None if it is missing."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_size
