"""EgRet: retrieve the example masked out of a long-form answer (Wang et al. 2022).

The datasets `egret/{train,dev}` have the context on both sides of the example, and
`egret/{split}/left` only that before it. The same ids under `egret/sample` are a small invented
sample that ships with the package. The documents are the exemplifying units of train and dev
together.

The release is KILT's ELI5: `eli5-train-kilt.jsonl` and `eli5-dev-kilt.jsonl`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import ir_datasets
import pyarrow as pa
from ir_datasets.formats import GenericDoc

from irtoolkit.base.errors import InputError
from irtoolkit.base.records import Qrel
from irtoolkit.datasets.benchmark import RELEASE, Benchmark, Statistic
from irtoolkit.datasets.cache import CacheWriter, Tables, parsed
from irtoolkit.datasets.columns import Records, TableRows
from irtoolkit.datasets.examples import CONTEXT, extract_examples
from irtoolkit.datasets.handlers import DocsHandler, QrelsHandler, QueriesHandler
from irtoolkit.datasets.source import ReleaseSource
from irtoolkit.datasets.strictjson import TRUNCATED, read_jsonl
from irtoolkit.datasets.web import download_files

NAME = "egret"
SPLITS = ("train", "dev")
MEASURES = ("R@1", "R@3", "R@5", "R@10", "R@50", "R@100", "Rank")
GRADES = {1: "the example that was in the answer"}
URL = "https://github.com/facebookresearch/KILT"
BENCHMARK = Benchmark(
    name=NAME,
    title="EgRet",
    citation="Wang et al. 2022, NAACL",
    url=URL,
    licence="see KILT and ELI5",
    description="Find the example masked out of a long-form answer, among all examples.",
    measures=MEASURES,
    bibtex="""@inproceedings{wang2022modeling,
  title={Modeling Exemplification in Long-form Question Answering via Retrieval},
  author={Wang, Shufan and Xu, Fangyuan and Thompson, Laure and Choi, Eunsol and Iyyer, Mohit},
  booktitle={Proceedings of NAACL},
  year={2022}
}""",
)
# Addresses and SHA-256 hashes as in Hugging Face's kilt_tasks.
FILES = {
    "eli5-train-kilt.jsonl": (
        "http://dl.fbaipublicfiles.com/KILT/eli5-train-kilt.jsonl",
        "66f19183bda5f5185fe98a5fe84925f6802d9b53a5bb12728ded760fd80ef0a0",
    ),
    "eli5-dev-kilt.jsonl": (
        "http://dl.fbaipublicfiles.com/KILT/eli5-dev-kilt.jsonl",
        "10387a08e3277d3e5722305cef8e739279c83de0218e7b3db76b301949822303",
    ),
}
# Examples of each split in Table 1 of the paper, column ELI5.
REPORTED = {"train": 65157, "dev": 1185}


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
        """The context with a token in place of the example (§3.1)."""
        return f"{self.left} {token} {self.right}".strip()

    def default_text(self) -> str:
        """The context."""
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


class EgretRelease:
    """The exemplifying units of both splits, those of train first.

    A unit's id is its question's id, the number of the answer, and its number in the answer.

    Attributes:
        key: the key of its columns, see `irtoolkit.datasets.cache.Tables`.
    """

    def __init__(self, tables: Tables) -> None:
        self.key, self._units = tables.key, tables["units"]
        counts = tables["splits"].to_pydict()
        self.questions = dict(zip(SPLITS, counts["questions"], strict=True))
        train = counts["units"][0]
        self._parts = dict(zip(SPLITS, (range(train), range(train, len(self._units))), strict=True))
        ids = self._units["unit_id"]
        self.docs: Records[GenericDoc] = Records(
            ids.to_pylist,
            TableRows(
                self._units.select(["unit_id", "text"]),
                lambda _, unit_id, text: GenericDoc(unit_id, text),
            ),
        )

    def queries(self, split: str, left_only: bool) -> TableRows[ExampleQuery]:
        """The contexts of the units of a split."""

        def make(_: int, unit_id: str, question: str, left: str, right: str) -> ExampleQuery:
            return ExampleQuery(unit_id, question, left, "" if left_only else right)

        columns = self._units.select(["unit_id", "question", "left", "right"])
        return TableRows(columns, make, self._parts[split])

    def examples(self, split: str) -> Sequence[GenericDoc]:
        """The units of a split as documents."""
        part = self._parts[split]
        return self.docs.values()[part.start : part.stop]


def read_egret(folder: Path) -> EgretRelease:
    """Extracts the exemplifying units of both files, or maps their columns from the cache.

    Raises:
        InputError: a line is not a question with answers, or an id appears twice.
    """
    files = [folder / name for name in FILES]
    return EgretRelease(parsed(NAME, files, _SCHEMAS, partial(_parse, files)))


def _parse(files: list[Path], out: CacheWriter) -> None:
    seen: dict[str, Path] = {}
    for path in files:
        units = questions = 0
        for number, record in read_jsonl(path):
            problem = _problem(record)
            if problem is None and seen.get(record["id"], path) != path:
                problem = f"train and dev share a question id: {record['id']}"
            if problem is None and record["id"] in seen:
                problem = f"question {record['id']} appears twice"
            if problem is not None:
                raise InputError(problem, file=path, line=number, remedy=TRUNCATED)
            seen[record["id"]] = path
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
    if record["id"].split() != [record["id"]]:
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


def register(add: Callable[[str, ir_datasets.Dataset], None]) -> None:
    """Registers every EgRet dataset; opens no file."""
    for prefix, sample in BENCHMARK.variants():
        howto = f"get ELI5 from {URL} and put {' and '.join(FILES)} into"
        source = BENCHMARK.source(
            list(FILES), sample=sample, howto=howto, download=partial(download_files, FILES)
        )
        examples = _Examples(source)
        add(prefix, ir_datasets.Dataset(examples.docs, examples.record()))
        for split in SPLITS:
            whole = f"{prefix}/{split}"
            add(whole, _dataset(examples, split))
            add(f"{whole}/left", _dataset(examples, split, view_of=whole))


_read = cache(read_egret)


class _Examples:
    """The files of the release, and the documents that all its datasets share."""

    def __init__(self, source: ReleaseSource) -> None:
        self.source = source
        self.docs = DocsHandler(
            lambda: self.load().docs, GenericDoc, NAME, "en", lambda: self.load().key
        )

    def load(self) -> EgretRelease:
        return _read(self.source.folder())

    def record(self) -> Benchmark:
        """The record of the dataset that has the examples alone."""

        def statistics() -> list[Statistic]:
            return [Statistic("Examples", len(self.load().docs))]

        return replace(BENCHMARK, statistics_of=statistics, listed=False).at(self.source)


def _dataset(examples: _Examples, split: str, view_of: str = "") -> ir_datasets.Dataset:
    """The dataset of a split, or the view of it that shows the left context alone."""
    load, left_only = examples.load, bool(view_of)

    def judgments() -> Iterator[Qrel]:
        return (Qrel(unit.doc_id, unit.doc_id, 1) for unit in load().examples(split))

    return ir_datasets.Dataset(
        examples.docs,
        QueriesHandler(lambda: load().queries(split, left_only), ExampleQuery, NAME, "en"),
        QrelsHandler(judgments, Qrel, GRADES),
        replace(
            BENCHMARK,
            statistics_of=lambda: _statistics(load(), split, left_only),
            editions={RELEASE: REPORTED[split]},
            view_of=view_of,
            listed=not left_only,
        ).at(examples.source),
    )


def _statistics(release: EgretRelease, split: str, left_only: bool) -> list[Statistic]:
    """The figures of the paper's Table 1 for one split; lengths in words between white space."""

    def mean(texts: Iterator[str]) -> float:
        lengths = [len(text.split()) for text in texts]
        return sum(lengths) / max(1, len(lengths))

    queries = release.queries(split, left_only)
    return [
        Statistic("Questions", release.questions[split]),
        Statistic("Examples", len(queries), REPORTED[split]),
        Statistic("Examples of train and dev", len(release.docs), sum(REPORTED.values())),
        Statistic("Average left context, words", mean(q.left for q in queries), 123.7),
        Statistic("Average example, words", mean(e.text for e in release.examples(split)), 23.3),
        *(
            []
            if left_only
            else [Statistic("Average right context, words", mean(q.right for q in queries), 135.3)]
        ),
    ]
