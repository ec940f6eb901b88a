"""The files of EgRet: KILT's ELI5, whose answers hold the examples, and those of a build."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from ir_datasets.formats import GenericDoc

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import is_word
from irtoolkit.datasets.cache import CacheWriter, Tables, parsed
from irtoolkit.datasets.columns import Records, TableRows
from irtoolkit.datasets.examples import CONTEXT, FORMAT, extract_examples
from irtoolkit.datasets.strictjson import TRUNCATED, read_jsonl

SPLITS = ("train", "dev")


class ExampleQuery(NamedTuple):
    """The context of an exemplifying unit; `right` is empty in the left-only datasets."""

    query_id: str
    question: str
    left: str
    right: str

    @property
    def context(self) -> str:
        """Both sides, joined by a space."""
        return f"{self.left} {self.right}".strip()

    def with_mask(self, token: str) -> str:
        """Returns the context with a token in place of the example (§3.1)."""
        return f"{self.left} {token} {self.right}".strip()

    def default_text(self) -> str:
        """Returns the context."""
        return self.context


_SCHEMAS = {
    "units": {
        "unit_id": pa.string(),
        "question": pa.string(),
        "left": pa.string(),
        "text": pa.string(),
        "right": pa.string(),
    },
    "splits": {"units": pa.int64(), "questions": pa.int64()},
}
# The columns of units as a build names them.
_FIELDS = ("id", "question", "left", "text", "right")


class EgretRelease:
    """The exemplifying units of all splits, in the order of the splits.

    Attributes:
        key: the key of its columns, see `irtoolkit.datasets.cache.Tables`.
        questions: those of each split, with or without an example.
    """

    def __init__(self, tables: Tables, splits: Sequence[str] = SPLITS) -> None:
        self.key, self._units = tables.key, tables["units"]
        counts = tables["splits"].to_pydict()
        self.questions = dict(zip(splits, counts["questions"], strict=True))
        ends = [0, *accumulate(counts["units"])]
        self._parts = {split: range(*ends[i : i + 2]) for i, split in enumerate(splits)}
        ids = self._units["unit_id"]
        self.docs: Records[GenericDoc] = Records(
            ids.to_pylist,
            TableRows(
                self._units.select(["unit_id", "text"]),
                lambda _, unit_id, text: GenericDoc(unit_id, text),
            ),
        )

    def queries(self, split: str, left_only: bool) -> TableRows[ExampleQuery]:
        """Returns the contexts of the units of a split."""

        def make(_: int, unit_id: str, question: str, left: str, right: str) -> ExampleQuery:
            return ExampleQuery(unit_id, question, left, "" if left_only else right)

        columns = self._units.select(["unit_id", "question", "left", "right"])
        return TableRows(columns, make, self._parts[split])

    def examples(self, split: str) -> Sequence[GenericDoc]:
        """Returns the units of a split as documents."""
        part = self._parts[split]
        return self.docs.values()[part.start : part.stop]


def read_kilt(files: Sequence[Path]) -> EgretRelease:
    """Extracts the exemplifying units of KILT's files, or maps their columns from the cache.

    A unit's id is its question's id, the number of the answer, and its number in the answer.

    Args:
        files: those of train and dev.

    Raises:
        InputError: a line is not a question with answers, or an id appears twice.
    """
    tables = parsed("egret", files, _SCHEMAS, partial(_parse, files), version=FORMAT)
    return EgretRelease(tables)


def read_built(folder: Path, splits: tuple[str, ...]) -> EgretRelease:
    """Reads the exemplifying units that `irtoolkit build egret` has written.

    Args:
        folder: has a file of JSON lines for each split.
        splits: their names, in order.

    Raises:
        InputError: a line is not an exemplifying unit, or an id appears twice.
    """
    files = [folder / f"{split}.jsonl" for split in splits]
    tables = parsed("egret-built", files, _SCHEMAS, partial(_parse_built, files))
    return EgretRelease(tables, splits)


def _parse_built(files: Sequence[Path], out: CacheWriter) -> None:
    ids: set[str] = set()
    for path in files:
        units, questions = 0, set[str]()
        for number, record in read_jsonl(path):
            problem = _problem_built(record)
            if problem is None and record["id"] in ids:
                problem = f"example {record['id']} appears twice"
            if problem is not None:
                raise InputError(problem, file=path, line=number, remedy="build it again")
            ids.add(record["id"])
            questions.add(record["question"])
            out.add("units", *(record[name] for name in _FIELDS))
            units += 1
        out.add("splits", units, len(questions))


def _problem_built(record: Any) -> str | None:
    if not isinstance(record, dict) or not all(isinstance(record.get(n), str) for n in _FIELDS):
        return f"not an example: it needs the texts {', '.join(_FIELDS)}"
    if not is_word(record["id"]):
        return f"example id {record['id']!r} is not one word"
    return None


def _parse(files: Sequence[Path], out: CacheWriter) -> None:
    paths: dict[str, Path] = {}
    for path in files:
        units = questions = 0
        for number, record in read_jsonl(path):
            problem = _problem(record)
            if problem is None and paths.get(record["id"], path) != path:
                problem = f"train and dev share a question id: {record['id']}"
            if problem is None and record["id"] in paths:
                problem = f"question {record['id']} appears twice"
            if problem is not None:
                raise InputError(problem, file=path, line=number, remedy=TRUNCATED)
            paths[record["id"]] = path
            questions += 1
            for unit in _units(record):
                out.add("units", *unit)
                units += 1
        if not questions:
            raise InputError("no questions", file=path, remedy=TRUNCATED)
        out.add("splits", units, questions)


def _units(record: Any) -> Iterator[tuple[str, str, str, str, str]]:
    answers = [out["answer"] for out in record["output"] if out.get("answer") is not None]
    for i, answer in enumerate(answers, 1):
        for j, example in enumerate(extract_examples(answer), 1):
            left, right = example.context(CONTEXT)
            yield f"{record['id']}.{i}.{j}", record["input"], left, example.text, right


def _problem(record: Any) -> str | None:
    if not isinstance(record, dict) or not isinstance(record.get("id"), str):
        return "not a question: it has no id"
    if not is_word(record["id"]):
        return f"question id {record['id']!r} is not one word"
    if not isinstance(record.get("input"), str):
        return f"question {record['id']} has no input"
    output = record.get("output")
    if not isinstance(output, list) or not all(isinstance(item, dict) for item in output):
        return f"question {record['id']} has no list of outputs"
    # KILT's records also have outputs with nothing but provenance.
    if not all(isinstance(item.get("answer", ""), str | None) for item in output):
        return f"question {record['id']} has an answer that is not text"
    return None
