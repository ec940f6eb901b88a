"""PlotRetrieval: find the plot passage a reader describes (Xu et al. 2023).

Datasets `plotretrieval/{train,val,test}` rank every chunk of the split's books, as the paper's
tables do; `plotretrieval/{split}/book` ranks the chunks of the query's own book, as its task
definition says (§3.2). The same under `plotretrieval/sample`, an invented miniature that ships
with the package.

The published files are not out, so this layout is ours: `books/<book>.json` with
{"book", "sentences"}, and `queries-<split>.jsonl` with {"query_id", "book", "query",
"spans": [[first sentence, one past the last], ...]}.
"""

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, Tuple  # noqa: UP035 ir_datasets compares these

import ir_datasets
import numpy as np

from irtoolkit.analysis import analyzer
from irtoolkit.collections.books import Book, Passage, Passages
from irtoolkit.collections.handlers import (
    Benchmark,
    Docs,
    Judgments,
    Protocol,
    Queries,
    SharedCandidates,
    Statistic,
)
from irtoolkit.collections.source import DATA_VARIABLE, Source, sample_source
from irtoolkit.collections.strictjson import TRUNCATED, read_json, read_jsonl
from irtoolkit.errors import InputError
from irtoolkit.records import Qrel
from irtoolkit.spans import Span

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
    "RR@1", "RR@10", "RR@100", "R@1", "R@10", "R@100", "NRODCG@1", "NRODCG@10", "NRODCG@100",
)  # fmt: skip
BIBTEX = """@article{xu2023plot,
  title={Plot Retrieval as an Assessment of Abstract Semantic Association},
  author={Xu, Shicheng and Pang, Liang and Li, Jiangnan and Yu, Mo and Meng, Fandong and
          Shen, Huawei and Cheng, Xueqi and Zhou, Jie},
  journal={arXiv preprint},
  year={2023}
}"""


class PlotQuery(NamedTuple):
    """A reader's description of a plot passage, and the book it is from."""

    query_id: str
    text: str
    book: str
    spans: Tuple[str, ...]  # noqa: UP006

    def default_text(self) -> str:
        """The description."""
        return self.text


class Release(NamedTuple):
    """One split: the chunked books its queries are about, and the queries with their golds."""

    books: dict[str, Book]
    queries: list[tuple[str, str, str, tuple[Span, ...]]]
    passages: Passages


def read_release(folder: Path, split: str) -> Release:
    """Parses and checks one split.

    Raises:
        InputError: a file is truncated, mis-encoded or contradicts another; with file and line.
    """
    path = folder / f"queries-{split}.jsonl"
    sentences: dict[str, tuple[str, ...]] = {}
    golds: dict[str, list[Span]] = {}
    queries: dict[str, tuple[str, str, str, tuple[Span, ...]]] = {}
    for number, record in read_jsonl(path):
        problem = _problem(record)
        if problem is None and record["query_id"] in queries:
            problem = f"query {record['query_id']} stands twice"
        if problem is None and not (folder / "books" / f"{record['book']}.json").is_file():
            problem = f"book {record['book']!r} is not in the folder books/"
        if problem is not None:
            raise InputError(problem, file=path, line=number, remedy=TRUNCATED)
        book = record["book"]
        if book not in sentences:
            sentences[book] = _sentences(folder / "books" / f"{book}.json", book)
        spans = tuple(Span(book, start, stop - start) for start, stop in record["spans"])
        for span in spans:
            if span.stop > len(sentences[book]):
                raise InputError(
                    f"query {record['query_id']} has a span that ends at {span.stop}, past the"
                    f" {len(sentences[book])} sentences of {book}",
                    file=path,
                    line=number,
                    remedy=TRUNCATED,
                )
        golds.setdefault(book, []).extend(spans)
        queries[record["query_id"]] = (record["query_id"], record["query"], book, spans)
    if not queries:
        raise InputError("no queries", file=path, remedy=TRUNCATED)
    books = {name: chunked(name, sentences[name], golds[name]) for name in sentences}
    return Release(books, list(queries.values()), Passages(books))


def chunked(name: str, sentences: tuple[str, ...], golds: list[Span], size: int = CHUNK) -> Book:
    """A book whose passages are chunks of `size` sentences, and each gold span (§4.2, step 4).

    The last chunk has what is left over.
    """
    whole, rest = divmod(len(sentences), size)
    starts: dict[int, set[int]] = {size: set(range(0, whole * size, size))}
    if rest:
        starts.setdefault(rest, set()).add(whole * size)
    for span in golds:
        starts.setdefault(span.length, set()).add(span.start)
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


@cache
def _sentences(path: Path, book: str) -> tuple[str, ...]:
    data = read_json(path)
    listed = data.get("sentences") if isinstance(data, dict) else None
    if not isinstance(listed, list) or not all(isinstance(s, str) for s in listed) or not listed:
        raise InputError("no list of sentences", file=path, line=1, remedy=TRUNCATED)
    if data.get("book") != book:
        raise InputError(
            f"the book calls itself {data.get('book')!r}", file=path, line=1, remedy=TRUNCATED
        )
    return tuple(listed)


def register(add: Callable[[str, ir_datasets.Dataset], None]) -> None:
    """Declares every PlotRetrieval dataset; opens no file."""
    for prefix, sample in ((NAME, False), (f"{NAME}/sample", True)):
        for split in SPLITS:
            source = _source(split, sample)
            load = partial(_load, source, split)
            docs = Docs(lambda load=load: load().passages, Passage, NAME, "en")  # type: ignore[misc]
            add(f"{prefix}/{split}", _dataset(load, docs, source, own_book=False))
            add(f"{prefix}/{split}/book", _dataset(load, docs, source, own_book=True))


def _source(split: str, sample: bool) -> Source:
    files = (f"queries-{split}.jsonl",)
    if sample:
        return sample_source(NAME, files)
    howto = (
        f"put books/*.json and queries-{split}.jsonl into ${DATA_VARIABLE}/{NAME}/; the authors have"
        " not published theirs"
    )
    return Source(NAME, files, howto)


@cache
def _read(folder: Path, split: str) -> Release:
    return read_release(folder, split)


def _load(source: Source, split: str) -> Release:
    return _read(source.folder(), split)


def _dataset(
    load: Callable[[], Release], docs: Docs, source: Source, own_book: bool
) -> ir_datasets.Dataset:
    def queries() -> list[PlotQuery]:
        return [
            PlotQuery(query_id, text, book, tuple(map(str, spans)))
            for query_id, text, book, spans in load().queries
        ]

    def candidates() -> Iterator[tuple[list[str], list[str]]]:
        release = load()
        for name, book in release.books.items():
            asking = [query_id for query_id, _, about, _ in release.queries if about == name]
            yield asking, [str(Span(name, s, n)) for n, found in book.starts.items() for s in found]

    return ir_datasets.Dataset(
        docs,
        Queries(queries, PlotQuery, NAME, "en"),
        Judgments(lambda: _qrels(load()), Qrel, GRADES),
        SharedCandidates(candidates) if own_book else None,
        Benchmark(
            name=NAME,
            title="PlotRetrieval" + (" (invented sample)" if source.sample else ""),
            paper="Xu et al. 2023",
            url="",
            licence="Apache-2.0" if source.sample else "not published",
            bibtex=BIBTEX,
            where=source.where,
            howto=source.howto,
            description="Plot passages for readers' abstract descriptions of them.",
            protocol_of=lambda: Protocol(MEASURES),
            statistics_of=lambda: statistics(load()),
        ),
    )


def _qrels(release: Release) -> Iterator[Qrel]:
    for query_id, _, name, spans in release.queries:
        book, near = release.books[name], dict[Span, int]()
        for gold in spans:
            for passage in book.near(gold, WINDOW):
                near.setdefault(passage, 0)
            near.update((p, 1) for p in book.overlapping(gold) if _is_chunk(book, p))
            near[gold] = 1
        for passage, grade in sorted(near.items()):
            yield Qrel(query_id, str(passage), grade)


def _is_chunk(book: Book, passage: Span) -> bool:
    """Whether a passage is one of the book's regular chunks, and not only somebody's gold span."""
    whole = passage.length == CHUNK or passage.stop == len(book.sentences)
    return passage.start % CHUNK == 0 and passage.length <= CHUNK and whole


def word_overlap(query: str, passage: str) -> float:
    """Share of the query's distinct words, without stop words, that the passage has (Eq. 5)."""
    words = analyzer("word", "sklearn")
    asked = set(words(query))
    return len(asked & set(words(passage))) / len(asked) if asked else 0.0


def statistics(release: Release) -> list[Statistic]:
    """The figures of the paper's Tables 1 and 2 for one split."""
    chunks = release.passages.values()
    texts = [text for _, text, _, _ in release.queries]
    overlap = [
        word_overlap(text, release.books[book].text(span.start, span.length))
        for _, text, book, spans in release.queries
        for span in spans
    ]
    return [
        Statistic("Queries", len(texts)),
        Statistic("Books", len(release.books)),
        Statistic("Candidate plot chunks", len(chunks)),
        Statistic("Average query length, words", _mean([len(t.split()) for t in texts])),
        Statistic("Average chunk length, words", _mean([len(c.text.split()) for c in chunks])),
        Statistic("Word overlap, percent", 100 * _mean(overlap)),
    ]


def _mean(values: list[float] | list[int]) -> float:
    return sum(values) / len(values)
