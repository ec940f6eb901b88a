"""PlotRetrieval: find the plot passage a reader describes (Xu et al. 2023).

Datasets `plotretrieval/{train,val,test}` rank every chunk of the split's books, as the paper's
tables do; `plotretrieval/{split}/book` ranks the chunks of the query's own book, as its task
definition says (§3.2). Chunks have three sentences; `plotretrieval/{split}/m5` and
`plotretrieval/{split}/m5/book` have chunks of five, and so for any other number. The same under
`plotretrieval/sample`, an invented miniature that ships with the package.

The published files are not out, so this layout is ours: `books/<book>.json` with
{"book", "sentences"}, and `queries-<split>.jsonl` with {"query_id", "book", "query",
"spans": [[first sentence, one past the last], ...]}.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, Tuple  # noqa: UP035 ir_datasets compares these

import ir_datasets
import numpy as np
import pyarrow as pa

from irtoolkit.base.analysis import analyzer
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.base.records import Qrel
from irtoolkit.base.spans import Span
from irtoolkit.datasets.benchmark import Benchmark, Statistic
from irtoolkit.datasets.books import (
    BOOK_COLUMNS,
    SENTENCE_COLUMNS,
    Book,
    Passage,
    Passages,
    sentences_of,
)
from irtoolkit.datasets.cache import CacheWriter, TableRows, Tables, parsed
from irtoolkit.datasets.handlers import (
    DocsHandler,
    QrelsHandler,
    QueriesHandler,
    SharedCandidatesHandler,
)
from irtoolkit.datasets.source import ReleaseSource
from irtoolkit.datasets.strictjson import TRUNCATED, read_json, read_jsonl

NAME = "plotretrieval"
SPLITS = ("train", "val", "test")
# Sentences in a chunk (§3.2).
CHUNK = 3
# The reader's field of vision (§3.3): candidates nearer to a gold passage are judged, at grade 0.
WINDOW = 5
GRADES = {
    0: "a chunk within the reader's field of vision of the plot",
    1: "the plot passage, or a chunk that holds a sentence of it",
}
MEASURES = (
    "RR@1", "RR@10", "RR@100", "RCap@1", "RCap@10", "RCap@100", "NRODCG@1", "NRODCG@10", "NRODCG@100",
)  # fmt: skip
BENCHMARK = Benchmark(
    name=NAME,
    title="PlotRetrieval",
    citation="Xu et al. 2023",
    url="",
    licence="not published",
    description="Plot passages for readers' abstract descriptions of them.",
    measures=MEASURES,
    bibtex="""@article{xu2023plot,
  title={Plot Retrieval as an Assessment of Abstract Semantic Association},
  author={Xu, Shicheng and Pang, Liang and Li, Jiangnan and Yu, Mo and Meng, Fandong and
          Shen, Huawei and Cheng, Xueqi and Zhou, Jie},
  journal={arXiv preprint},
  year={2023}
}""",
)
# Table 1 of the paper: pairs of a query and its plot for train and val, queries for test.
PAIRS = {"train": 400000, "val": 37609}
QUERIES = {"test": 4572}


class PlotQuery(NamedTuple):
    """A reader's description of a plot passage, and the book it is from."""

    query_id: str
    text: str
    book: str
    spans: Tuple[str, ...]  # noqa: UP006

    def default_text(self) -> str:
        """The description."""
        return self.text

    def hides(self, name: str) -> bool:
        """Whether a field is the gold, which no retriever is shown."""
        return name == "spans"


_SCHEMAS = {
    "books": BOOK_COLUMNS,
    "sentences": SENTENCE_COLUMNS,
    "queries": {
        "query_id": pa.string(),
        "text": pa.string(),
        "book": pa.int32(),
        "spans": pa.list_(pa.list_(pa.int32(), 2)),
    },
}


class PlotRelease:
    """One split: the books its queries are about, in chunks, and the queries with their golds."""

    def __init__(self, tables: Tables, size: int) -> None:
        sentences = sentences_of(tables)
        self._queries, self._names, self.size = tables["queries"], list(sentences), size
        golds = _golds(self._queries)
        self.books = {
            name: chunked(name, sentences[name], golds[golds[:, 0] == number, 1:].tolist(), size)
            for number, name in enumerate(self._names)
        }
        self.passages = Passages(self.books)

    def queries(self) -> TableRows[PlotQuery]:
        """The descriptions."""

        def make(_: int, query_id: str, text: str, book: int, spans: list[list[int]]) -> PlotQuery:
            name = self._names[book]
            return PlotQuery(query_id, text, name, tuple(map(str, _spans(name, spans))))

        return TableRows(self._queries, make)

    def golds(self) -> Iterator[tuple[str, str, tuple[Span, ...]]]:
        """(query id, book, gold spans) of each query."""

        def make(
            _: int, query_id: str, book: int, spans: list[list[int]]
        ) -> tuple[str, str, tuple[Span, ...]]:
            return query_id, self._names[book], _spans(self._names[book], spans)

        yield from TableRows(self._queries.select(["query_id", "book", "spans"]), make)

    def asking(self) -> dict[str, list[str]]:
        """The ids of the queries about each book."""
        asking: dict[str, list[str]] = {name: [] for name in self._names}
        columns = (self._queries[name].to_pylist() for name in ("query_id", "book"))
        for query_id, book in zip(*columns, strict=True):
            asking[self._names[book]].append(query_id)
        return asking


def _spans(book: str, pairs: Sequence[Sequence[int]]) -> tuple[Span, ...]:
    return tuple(Span(book, start, stop - start) for start, stop in pairs)


def _golds(queries: pa.Table) -> Ints:
    """(n, 3) book, first sentence and length of each gold span."""
    found = [np.empty((0, 3), np.int64)]
    for batch in queries.to_batches():
        # Array.to_numpy would import pandas wherever it is installed.
        pairs = np.from_dlpack(batch["spans"].flatten().flatten())
        spans = pairs.astype(np.int64).reshape(-1, 2)
        counts = np.diff(np.from_dlpack(batch["spans"].offsets))
        books = np.repeat(np.from_dlpack(batch["book"]), counts)
        found.append(np.column_stack((books, spans[:, 0], spans[:, 1] - spans[:, 0])))
    return np.concatenate(found)


def read_plotretrieval(folder: Path, split: str, size: int) -> PlotRelease:
    """Parses and checks one split, or maps what an earlier parse has left; then chunks its books.

    Args:
        folder: holds books/ and the queries.
        split: train, val or test.
        size: sentences in a chunk.

    Raises:
        InputError: a file is truncated, mis-encoded or contradicts another; with file and line.
    """
    path = folder / f"queries-{split}.jsonl"
    # Any book may be asked about; which ones are, only parsing tells.
    files = [path, *sorted((folder / "books").glob("*.json"))]
    return PlotRelease(parsed(NAME, files, _SCHEMAS, partial(_parse, folder, path)), size)


def _parse(folder: Path, path: Path, out: CacheWriter) -> None:
    numbers: dict[str, int] = {}
    lengths: dict[str, int] = {}
    seen: set[str] = set()
    for number, record in read_jsonl(path):
        problem = _problem(record)
        if problem is None and record["query_id"] in seen:
            problem = f"query {record['query_id']} stands twice"
        new = problem is None and record["book"] not in numbers
        if new and not (folder / "books" / f"{record['book']}.json").is_file():
            problem = f"book {record['book']!r} is not in the folder books/"
        if problem is not None:
            raise InputError(problem, file=path, line=number, remedy=TRUNCATED)
        book = record["book"]
        if book not in numbers:
            sentences = _sentences(folder / "books" / f"{book}.json", book)
            numbers[book], lengths[book] = len(numbers), len(sentences)
            out.add("books", book, len(sentences))
            for sentence in sentences:
                out.add("sentences", sentence)
        seen.add(record["query_id"])
        last = max(stop for _, stop in record["spans"])
        if last > lengths[book]:
            raise InputError(
                f"query {record['query_id']} has a span that ends at {last}, past the"
                f" {lengths[book]} sentences of {book}",
                file=path,
                line=number,
                remedy=TRUNCATED,
            )
        out.add("queries", record["query_id"], record["query"], numbers[book], record["spans"])
    if not seen:
        raise InputError("no queries", file=path, remedy=TRUNCATED)


def chunked(
    name: str, sentences: Sequence[str], golds: Iterable[Sequence[int]], size: int = CHUNK
) -> Book:
    """A book whose passages are chunks of `size` sentences, and each gold span (§4.2, step 4).

    The last chunk has what is left over. `golds` are first sentences and lengths.
    """
    whole, rest = divmod(len(sentences), size)
    starts: dict[int, set[int]] = {size: set(range(0, whole * size, size))}
    if rest:
        starts.setdefault(rest, set()).add(whole * size)
    for start, length in golds:
        starts.setdefault(length, set()).add(start)
    return Book(
        name,
        sentences,
        {length: np.array(sorted(found)) for length, found in sorted(starts.items()) if found},
    )


def _problem(record: Any) -> str | None:
    texts = ("query_id", "book", "query")
    if not isinstance(record, dict) or not all(isinstance(record.get(key), str) for key in texts):
        return "not a query: it needs query_id, book and query, all text"
    if record["query_id"].split() != [record["query_id"]]:
        return f"query id {record['query_id']!r} is not one word"
    if record["book"].split() != [record["book"]] or ":" in record["book"]:
        return f"book name {record['book']!r} has white space or a colon"
    if not record["query"].strip():
        return f"query {record['query_id']} has no text"
    spans = record.get("spans")
    if not isinstance(spans, list) or not spans:
        return f"query {record['query_id']} has no spans"
    for span in spans:
        whole = isinstance(span, list) and len(span) == 2 and all(type(x) is int for x in span)
        if not whole or not 0 <= span[0] < span[1]:
            return f"query {record['query_id']} has the span {span!r}, not [first, one past last]"
    return None


def _sentences(path: Path, book: str) -> list[str]:
    data = read_json(path)
    listed = data.get("sentences") if isinstance(data, dict) else None
    if not isinstance(listed, list) or not all(isinstance(s, str) for s in listed) or not listed:
        raise InputError("no list of sentences", file=path, line=1, remedy=TRUNCATED)
    if data.get("book") != book:
        raise InputError(
            f"the book calls itself {data.get('book')!r}", file=path, line=1, remedy=TRUNCATED
        )
    return listed


def register(add: Callable[[str, ir_datasets.Dataset], None]) -> None:
    """Declares every PlotRetrieval dataset; opens no file."""
    for prefix, sample in BENCHMARK.variants():
        for split in SPLITS:
            name = f"{prefix}/{split}"
            for dataset_id, dataset in _datasets(name, split, CHUNK, sample):
                add(dataset_id, dataset)
            ir_datasets.registry.register_pattern(
                rf"^{name}/m([1-9][0-9]?)(?:/book)?$",
                partial(_chunked_otherwise, name, split, sample),
            )


def _datasets(
    name: str, split: str, size: int, sample: bool
) -> Iterator[tuple[str, ir_datasets.Dataset]]:
    """The two datasets of a split at one size of chunks, which share their documents."""
    howto = (
        f"the authors have not published their files: make books/*.json and queries-{split}.jsonl,"
        " as the documentation of irtoolkit.datasets.plotretrieval says, and put them into"
    )
    source = BENCHMARK.source([f"queries-{split}.jsonl"], sample=sample, howto=howto)
    load = partial(_load, source, split, size)
    docs = DocsHandler(lambda: load().passages, Passage, NAME, "en")
    for own_book in (False, True):
        dataset_id = f"{name}/book" if own_book else name
        yield dataset_id, _dataset(load, docs, source, split, own_book, listed=size == CHUNK)


@cache
def _chunks(name: str, split: str, size: int, sample: bool) -> Mapping[str, ir_datasets.Dataset]:
    return dict(_datasets(f"{name}/m{size}", split, size, sample))


def _chunked_otherwise(
    name: str, split: str, sample: bool, dataset_id: str, groups: tuple[str, ...]
) -> ir_datasets.Dataset:
    return _chunks(name, split, int(groups[0]), sample)[dataset_id]


_read = cache(read_plotretrieval)


def _load(source: ReleaseSource, split: str, size: int) -> PlotRelease:
    return _read(source.folder(), split, size)


def _dataset(
    load: Callable[[], PlotRelease],
    docs: DocsHandler,
    source: ReleaseSource,
    split: str,
    own_book: bool,
    *,
    listed: bool,
) -> ir_datasets.Dataset:
    def candidates() -> Iterator[tuple[list[str], list[str]]]:
        release = load()
        asking = release.asking()
        for name, book in release.books.items():
            spans = (Span(name, s, n) for n, found in book.starts.items() for s in found.tolist())
            yield asking[name], [str(span) for span in spans]

    return ir_datasets.Dataset(
        docs,
        QueriesHandler(lambda: load().queries(), PlotQuery, NAME, "en"),
        QrelsHandler(lambda: _qrels(load()), Qrel, GRADES),
        SharedCandidatesHandler(candidates) if own_book else None,
        replace(
            BENCHMARK,
            statistics_of=lambda: _statistics(load(), split),
            published=QUERIES.get(split),
            gold_of=lambda query: query.spans[0],
            breakdowns={"book": lambda: load().asking()},
            listed=listed,
        ).at(source),
    )


def _qrels(release: PlotRelease) -> Iterator[Qrel]:
    for query_id, name, spans in release.golds():
        book, near = release.books[name], dict[Span, int]()
        for gold in spans:
            for passage in book.near(gold, WINDOW):
                near.setdefault(passage, 0)
            chunks = (p for p in book.overlapping(gold) if _is_chunk(book, p, release.size))
            near.update((passage, 1) for passage in chunks)
            near[gold] = 1
        for passage, grade in sorted(near.items()):
            yield Qrel(query_id, str(passage), grade)


def _is_chunk(book: Book, passage: Span, size: int) -> bool:
    """Whether a passage is one of the book's regular chunks, and not only somebody's gold span."""
    whole = passage.length == size or passage.stop == len(book.sentences)
    return passage.start % size == 0 and passage.length <= size and whole


def word_overlap(query: str, passage: str) -> float:
    """Share of the query's distinct words, without stop words, that the passage has (Eq. 5)."""
    words = analyzer("word", "sklearn")
    asked = set(words(query))
    return len(asked & set(words(passage))) / len(asked) if asked else 0.0


def _statistics(release: PlotRelease, split: str) -> list[Statistic]:
    """The figures of the paper's Tables 1 and 2 for one split."""
    chunks = release.passages.values()
    queries = release.queries()
    overlap = [
        word_overlap(query.text, release.passages[span].text)
        for query in queries
        for span in query.spans
    ]
    return [
        Statistic("Queries", len(queries), QUERIES.get(split)),
        Statistic("Pairs of query and plot", len(overlap), PAIRS.get(split)),
        Statistic("Books", len(release.books)),
        Statistic("Candidate plot chunks", len(chunks), 136195),
        Statistic(
            "Average query length, words", _mean([len(q.text.split()) for q in queries]), 29.12
        ),
        Statistic(
            "Average chunk length, words", _mean([len(c.text.split()) for c in chunks]), 58.10
        ),
        Statistic("Word overlap, percent", 100 * _mean(overlap), 19.62),
    ]


def _mean(values: list[float] | list[int]) -> float:
    return sum(values) / len(values)
