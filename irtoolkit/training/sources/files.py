"""Training rows in files of JSON lines: examples that were mined from text, and triples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_lines
from irtoolkit.base.ids import Ids, Ints, id_array
from irtoolkit.datasets.cache import content_hash
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.formats import GenericDoc
from irtoolkit.datasets.quoter_release import QuoteQuery as Context
from irtoolkit.datasets.strictjson import read_jsonl
from irtoolkit.models.shards import key_of
from irtoolkit.retrievers.texts import BLOCK_DOCS
from irtoolkit.training.ragged import Ragged
from irtoolkit.training.recipes import Stage
from irtoolkit.training.sources.base import Links, RowSource, TextSink, required

_ROLES = ("query", "positive", "negative")
_REMEDY = 'a line is an object with "query", "positive" and "negative"'
_EXAMPLE = 'a line is an object with the texts "id", "text", "left" and "right"'


def file_key(file: Path) -> str:
    """Returns a hash of a file's content.

    Raises:
        InputError: there is no such file.
    """
    if not file.is_file():
        raise InputError("no such file", file=file)
    return content_hash(file)


def records(file: Path, remedy: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the line number and the object of each line.

    Args:
        file: JSON lines, plain or .gz.
        remedy: the description of a valid line or file.

    Raises:
        InputError: a line is not a JSON object, or the file cannot be read.
    """
    for line, record in read_jsonl(file, by_user=True):
        if not isinstance(record, dict):
            raise InputError("not a JSON object", file=file, line=line, remedy=remedy)
        yield line, record


def read_ids(file: str) -> Ids:
    """Returns the ids in a file, one on a line; empty lines do not count.

    Raises:
        InputError: there is no such file, or no id in it.
    """
    ids = [text for _, line in read_lines(file, empty=False) if (text := line.strip())]
    if not ids:
        raise InputError("no ids", file=file, remedy="one id on a line, of a query or a book")
    return id_array(ids)


def no_rows(file: Path) -> InputError:
    """Returns the error for a file without rows."""
    return InputError("no rows to train on", file=file)


class ExampleSource(RowSource):
    """A row for each line of `irtoolkit extract examples`: a context and the example in it."""

    def __init__(self, stage: Stage, join: str) -> None:
        super().__init__(stage, join)
        self._check_mining()
        self.file = Path(required(stage, "file"))
        self.what = self.file.name

    def key(self) -> str:
        return file_key(self.file)

    def read(self, out: TextSink) -> Links:
        count = 0
        for line, record in records(self.file, "`irtoolkit extract examples` writes such files"):
            for name in ("id", "text", "left", "right"):
                if not isinstance(record.get(name), str):
                    raise self._bad_line(line, f"no text in the field {name!r}")
            if not record["text"].strip():
                raise self._bad_line(line, "an example without text")
            name = record["id"]
            out.query(name, self._query(Context(name, record["left"], record["right"])))
            out.doc(name, self._doc(GenericDoc(name, record["text"])))
            count += 1
        if not count:
            raise no_rows(self.file)
        numbers, zeros = np.arange(count), np.zeros(count, np.int64)
        return Links(numbers, numbers, zeros, zeros, Ragged.of([numbers]))

    def _bad_line(self, line: int, problem: str) -> InputError:
        return InputError(problem, file=self.file, line=line, remedy=_EXAMPLE)


class TripleSource(RowSource):
    """A row for each line with a query, a relevant document and a negative."""

    def __init__(self, stage: Stage, join: str) -> None:
        super().__init__(stage, join)
        self.file = Path(required(stage, "file"))
        self.what = self.file.name
        if stage.negatives == "random" or stage.count not in (0, 1) or stage.run is not None:
            raise InputError(
                "each row of source=triples has one negative, the one on its line",
                remedy="leave run out, and give negatives=mined and count=1 or neither of them",
            )

    def key(self) -> str:
        return file_key(self.file) if not self.stage.dataset else super().key()

    def read(self, out: TextSink) -> Links:
        lines, values = array("q"), array("q")
        queries, docs = self._numberings(out)
        for line, record in records(self.file, _REMEDY):
            missing = sorted({*_ROLES} - record.keys())
            if missing:
                raise InputError(f"no {missing[0]!r}", file=self.file, line=line, remedy=_REMEDY)
            lines.append(line)
            for role in _ROLES:
                numbering = queries if role == "query" else docs
                values.append(numbering.number(line, role, record[role]))
        if not lines:
            raise no_rows(self.file)
        queries.finish()
        docs.finish()
        return _links(np.array(values, np.int64), np.array(lines, np.int64))

    def _numberings(self, out: TextSink) -> tuple[_Numbering, _Numbering]:
        if self.stage.dataset:
            store = Dataset.load(self.stage.dataset).docs_store()
            return (
                _ById(self.file, self._query, out.query, store),
                _ById(self.file, self._doc, out.doc, store),
            )
        return _ByText(self.file, self._query, out.query), _ByText(self.file, self._doc, out.doc)


def _links(values: Ints, lines: Ints) -> Links:
    query_of, golds, negatives = values.reshape(-1, 3).T
    pool = np.zeros(int(query_of.max()) + 1, np.int64)
    numbers = np.arange(max(int(golds.max()), int(negatives.max())) + 1)
    return Links(
        query_of,
        golds,
        np.zeros(len(query_of), np.int64),
        pool,
        Ragged.of([numbers]),
        negatives=negatives[:, None],
        lines=lines,
    )


class _Numbering(ABC):
    """A numbering of the texts of queries or documents, which each go to the sink once."""

    def __init__(
        self, file: Path, text: Callable[[Any], str], give: Callable[[str, str], None]
    ) -> None:
        """Creates an empty numbering.

        Args:
            file: the file of triples, for messages.
            text: maps a record to its text under the view.
            give: takes an id and a text: the method of the sink.
        """
        self.file, self.text, self.give = file, text, give

    @abstractmethod
    def number(self, line: int, role: str, value: Any) -> int:
        """Returns the number of the value that a line has in a role."""

    @abstractmethod
    def finish(self) -> None:
        """Passes the remaining texts to the sink."""

    def _bad_line(self, line: int, problem: str, remedy: str | None) -> InputError:
        return InputError(problem, file=self.file, line=line, remedy=remedy)


class _ByText(_Numbering):
    """A numbering of texts, or objects with the view's fields, by their first occurrence."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._numbers: dict[bytes, int] = {}

    def number(self, line: int, role: str, value: Any) -> int:
        if isinstance(value, dict):
            try:
                text = self.text(_Fields(value))
            except InputError as error:
                raise self._bad_line(line, f"{role}: {error.found}", error.remedy) from None
        elif isinstance(value, str):
            text = value
        else:
            raise self._bad_line(line, f"{role} is {value!r:.40}", "it is a text or an object")
        if not text.strip():
            raise self._bad_line(line, f"{role} has no text", _REMEDY)
        count = len(self._numbers)
        number = self._numbers.setdefault(key_of(text), count)
        if number == count:
            self.give(f"{line}.{role}", text)
        return number

    def finish(self) -> None:
        pass


class _ById(_Numbering):
    """A numbering of ids of a dataset's documents, whose texts are read at the end."""

    def __init__(
        self, file: Path, text: Callable[[Any], str], give: Callable[[str, str], None], store: Any
    ) -> None:
        super().__init__(file, text, give)
        self._store, self._numbers, self._lines = store, dict[str, int](), array("q")

    def number(self, line: int, role: str, value: Any) -> int:
        if not isinstance(value, str):
            raise self._bad_line(line, f"{role} is {value!r:.40}", "it is a document's id")
        number = self._numbers.setdefault(value, len(self._lines))
        if number == len(self._lines):
            self._lines.append(line)
        return number

    def finish(self) -> None:
        ids = list(self._numbers)
        for start in range(0, len(ids), BLOCK_DOCS):
            block = ids[start : start + BLOCK_DOCS]
            docs = {doc.doc_id: doc for doc in self._store.get_many_iter(block)}
            for number, doc_id in enumerate(block, start):
                if doc_id not in docs:
                    raise self._bad_line(
                        self._lines[number],
                        f"no document {doc_id} in the dataset",
                        "without dataset=ID the values are texts",
                    )
                self.give(doc_id, self.text(docs[doc_id]))


class _Fields:
    """A JSON object as a record."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        self._fields = tuple(values)

    def default_text(self) -> str:
        raise InputError(
            "an object, whose text is in its fields",
            remedy=f"name them in the views query and doc, as {'+'.join(self._fields)}",
        )
