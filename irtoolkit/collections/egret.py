"""EgRet: retrieve the example masked out of a long-form answer (Wang et al. 2022).

Datasets `egret/{train,dev}` with the context on both sides, and `egret/{split}/left` with only
what stands before the example; the same under `egret/sample`, an invented miniature that ships
with the package. The documents are the exemplifying units of train and dev together.

The release is KILT's ELI5: `eli5-train-kilt.jsonl` and `eli5-dev-kilt.jsonl`.
"""

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import ir_datasets
from ir_datasets.formats import GenericDoc

from irtoolkit.collections.examples import CONTEXT, Example, clip, extract
from irtoolkit.collections.handlers import (
    Benchmark,
    Docs,
    Judgments,
    Protocol,
    Queries,
    Statistic,
)
from irtoolkit.collections.source import DATA_VARIABLE, Source, sample_source
from irtoolkit.collections.strictjson import TRUNCATED, read_jsonl
from irtoolkit.errors import InputError
from irtoolkit.records import Qrel

NAME = "egret"
SPLITS = ("train", "dev")
FILE = "eli5-{}-kilt.jsonl"
MEASURES = ("R@1", "R@3", "R@5", "R@10", "R@50", "R@100", "Rank")
GRADES = {1: "the example that stood in the answer"}
URL = "https://github.com/facebookresearch/KILT"
BIBTEX = """@inproceedings{wang2022modeling,
  title={Modeling Exemplification in Long-form Question Answering via Retrieval},
  author={Wang, Shufan and Xu, Fangyuan and Thompson, Laure and Choi, Eunsol and Iyyer, Mohit},
  booktitle={Proceedings of NAACL},
  year={2022}
}"""


class ExampleQuery(NamedTuple):
    """What stands around an exemplifying unit; `right` is empty in the left-only datasets."""

    query_id: str
    question: str
    left: str
    right: str

    @property
    def context(self) -> str:
        """Both sides, joined by a space."""
        return f"{self.left} {self.right}".strip()

    def with_mask(self, token: str) -> str:
        """The context with a token where the example stood (§3.1)."""
        return f"{self.left} {token} {self.right}".strip()

    def default_text(self) -> str:
        """The context."""
        return self.context


class Unit(NamedTuple):
    """An extracted example with its question; the id is the question's, the answer's and its number."""

    unit_id: str
    question: str
    example: Example


class Split(NamedTuple):
    """The units of one file, and the line of each of its questions."""

    units: list[Unit]
    lines: dict[str, int]


@cache
def read_split(path: Path) -> Split:
    """Extracts every exemplifying unit of one file.

    Raises:
        InputError: a line that is no question with answers, or an id twice.
    """
    units: list[Unit] = []
    lines: dict[str, int] = {}
    for number, record in read_jsonl(path):
        problem = _problem(record)
        if problem is None and record["id"] in lines:
            problem = f"question {record['id']} stands twice"
        if problem is not None:
            raise InputError(problem, file=path, line=number, remedy=TRUNCATED)
        lines[record["id"]] = number
        answers = [out["answer"] for out in record["output"] if out.get("answer") is not None]
        for i, answer in enumerate(answers, 1):
            for j, example in enumerate(extract(answer), 1):
                units.append(Unit(f"{record['id']}.{i}.{j}", record["input"], example))
    if not lines:
        raise InputError("no questions", file=path, remedy=TRUNCATED)
    return Split(units, lines)


def _problem(record: Any) -> str | None:
    if not isinstance(record, dict) or not isinstance(record.get("id"), str):
        return "not a question: it has no id"
    if record["id"].split() != [record["id"]]:
        return f"question id {record['id']!r} is not one word"
    if not isinstance(record.get("input"), str):
        return f"question {record['id']} has no input"
    output = record.get("output")
    if not isinstance(output, list) or not all(isinstance(item, dict) for item in output):
        return f"question {record['id']} has no list of outputs"
    # KILT's records also hold outputs that carry only provenance.
    if not all(isinstance(item.get("answer", ""), str | None) for item in output):
        return f"question {record['id']} has an answer that is no text"
    return None


def register(add: Callable[[str, ir_datasets.Dataset], None]) -> None:
    """Declares every EgRet dataset; opens no file."""
    for prefix, sample in ((NAME, False), (f"{NAME}/sample", True)):
        source = _source(sample)
        docs = Docs(partial(_documents, source), GenericDoc, NAME, "en")
        for split in SPLITS:
            for left_only in (False, True):
                dataset_id = f"{prefix}/{split}" + ("/left" if left_only else "")
                add(dataset_id, _dataset(source, docs, split, left_only))


def _source(sample: bool) -> Source:
    files = tuple(FILE.format(split) for split in SPLITS)
    if sample:
        return sample_source(NAME, files)
    howto = f"get ELI5 from {URL} and put {' and '.join(files)} into ${DATA_VARIABLE}/{NAME}/"
    return Source(NAME, files, howto)


def _units(source: Source, split: str) -> list[Unit]:
    """The units of a split, once both are known to share no question."""
    train, dev = (source.folder() / FILE.format(name) for name in SPLITS)
    shared = read_split(train).lines.keys() & read_split(dev).lines.keys()
    if shared:
        line, name = min((read_split(dev).lines[name], name) for name in shared)
        raise InputError(
            f"train and dev share a question id: {name}", file=dev, line=line, remedy=TRUNCATED
        )
    return read_split(train if split == SPLITS[0] else dev).units


def _documents(source: Source) -> dict[str, GenericDoc]:
    both = (unit for split in SPLITS for unit in _units(source, split))
    return {unit.unit_id: GenericDoc(unit.unit_id, unit.example.text) for unit in both}


def _dataset(source: Source, docs: Docs, split: str, left_only: bool) -> ir_datasets.Dataset:
    def queries() -> list[ExampleQuery]:
        return [
            ExampleQuery(
                unit_id,
                question,
                clip(example.left, CONTEXT, end=True),
                "" if left_only else clip(example.right, CONTEXT, end=False),
            )
            for unit_id, question, example in _units(source, split)
        ]

    def judgments() -> Iterator[Qrel]:
        return (Qrel(unit.unit_id, unit.unit_id, 1) for unit in _units(source, split))

    return ir_datasets.Dataset(
        docs,
        Queries(queries, ExampleQuery, NAME, "en"),
        Judgments(judgments, Qrel, GRADES),
        Benchmark(
            name=NAME,
            title="EgRet" + (" (invented sample)" if source.sample else ""),
            paper="Wang et al. 2022, NAACL",
            url=URL,
            licence="Apache-2.0" if source.sample else "see KILT and ELI5",
            bibtex=BIBTEX,
            where=source.where,
            howto=source.howto,
            description="Examples masked out of long-form answers, among all examples.",
            protocol_of=lambda: Protocol(MEASURES),
            statistics_of=lambda: statistics(
                _units(source, split), len(_documents(source)), left_only
            ),
        ),
    )


def statistics(units: list[Unit], corpus: int, left_only: bool) -> list[Statistic]:
    """The figures of the paper's Table 1 for one split; lengths in words between white space."""

    def mean(texts: list[str]) -> float:
        return sum(len(text.split()) for text in texts) / max(1, len(texts))

    left = [clip(unit.example.left, CONTEXT, end=True) for unit in units]
    right = [clip(unit.example.right, CONTEXT, end=False) for unit in units]
    return [
        Statistic("Examples", len(units)),
        Statistic("Examples of train and dev", corpus),
        Statistic("Average left context, words", mean(left)),
        Statistic("Average example, words", mean([unit.example.text for unit in units])),
        *([] if left_only else [Statistic("Average right context, words", mean(right))]),
    ]
