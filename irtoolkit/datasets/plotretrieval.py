"""PlotRetrieval: find the plot passage a reader describes (Xu et al. 2023).

The datasets `plotretrieval/{train,val,test}` rank all chunks of the split's books, as in the
paper's tables; `plotretrieval/{split}/book` rank the chunks of the query's own book, as in its task
definition (§3.2). Chunks have three sentences; those of `plotretrieval/{split}/m5` and
`plotretrieval/{split}/m5/book` have five, and any other number works alike. The same ids under
`plotretrieval/sample` are a small invented sample that ships with the package.

The authors have not published their files; `irtoolkit.datasets.plotretrieval_release` describes the
files that irtoolkit reads.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from statistics import fmean

import ir_datasets

from irtoolkit.base.records import Qrel
from irtoolkit.base.spans import Span
from irtoolkit.datasets.benchmark import RELEASE, Benchmark, Statistic
from irtoolkit.datasets.books import Book, Passage
from irtoolkit.datasets.built import BuiltFolder
from irtoolkit.datasets.handlers import (
    CandidatesHandler,
    DocsHandler,
    QrelsHandler,
    QueriesHandler,
)
from irtoolkit.datasets.plotretrieval_release import (
    CHUNK,
    PlotQuery,
    PlotRelease,
    read_plotretrieval,
)
from irtoolkit.datasets.registration import Registered
from irtoolkit.datasets.source import ReleaseSource
from irtoolkit.datasets.word_overlap import WordSource, missing_words, word_overlap, word_sets

NAME = "plotretrieval"
SPLITS = ("train", "val", "test")
# The reader's field of vision (§3.3): candidates nearer to the plot passage than this many sentences
# have grade 0 in the qrels.
WINDOW = 5
GRADES = {
    0: "a chunk within the reader's field of vision of the plot",
    1: "the plot passage, or a chunk with a sentence of it",
}
MEASURES = tuple(f"{name}@{k}" for name in ("RR", "RCap", "NRODCG") for k in (1, 10, 100))
BENCHMARK = Benchmark(
    name=NAME,
    title="PlotRetrieval",
    citation="Xu et al. 2023",
    url="",
    licence="not published",
    description="Find the plot passage that a reader describes in their own words.",
    measures=MEASURES,
    main="NRODCG@10",
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


def register(add: Callable[[str, ir_datasets.Dataset], None]) -> None:
    """Registers every PlotRetrieval dataset; opens no file."""
    for prefix, sample in BENCHMARK.variants():
        for split in SPLITS:
            name = f"{prefix}/{split}"
            chunks = _Chunks(split, CHUNK, _source(split, sample))
            for dataset_id, dataset in _datasets(name, chunks).items():
                add(dataset_id, dataset)
            ir_datasets.registry.register_pattern(
                rf"^{name}/{_SIZE}(?:/book)?$",
                partial(_chunked_otherwise, name, split, sample),
            )


def built(folder: BuiltFolder) -> Iterator[tuple[str, ir_datasets.Dataset]]:
    """Yields the ids and datasets of a folder from `irtoolkit build plotretrieval`."""
    sizes = [(part, match) for part in folder.parts if (match := re.fullmatch(_SIZE, part))]
    for split in folder.splits:
        name, source = f"{folder.name}/{split}", folder.source(f"queries-{split}.jsonl")
        yield from _datasets(name, _Chunks(split, CHUNK, source)).items()
        for part, match in sizes:
            chunks = _Chunks(split, int(match[1]), source)
            yield from _datasets(f"{name}/{part}", chunks).items()


# The part of an id that names another number of sentences in a chunk.
_SIZE = "m([1-9][0-9]?)"
_read = cache(read_plotretrieval)


class _Chunks:
    """A split at one chunk size: its files, and the documents that its datasets share."""

    def __init__(self, split: str, size: int, source: ReleaseSource) -> None:
        self.split, self.size, self.source = split, size, source
        self.docs = DocsHandler.of_release(self.load, Passage, NAME, "en")

    def load(self) -> PlotRelease:
        return _read(self.source.folder(), self.split, self.size)


def _source(split: str, sample: bool) -> ReleaseSource:
    howto = (
        "the authors have not published their files: write books/*.json and"
        " queries-<split>.jsonl as docs/benchmarks/plotretrieval.md describes them, and put"
        " them into"
    )
    return BENCHMARK.source([f"queries-{split}.jsonl"], sample=sample, howto=howto)


def _datasets(name: str, chunks: _Chunks) -> dict[str, ir_datasets.Dataset]:
    """Returns the dataset that ranks all chunks and the one of the query's own book, by id."""
    return {
        name: _dataset(chunks, within_book=False),
        f"{name}/book": _dataset(chunks, within_book=True),
    }


@cache
def _datasets_of_size(
    name: str, split: str, size: int, sample: bool
) -> Mapping[str, ir_datasets.Dataset]:
    return _datasets(f"{name}/m{size}", _Chunks(split, size, _source(split, sample)))


def _chunked_otherwise(
    name: str, split: str, sample: bool, dataset_id: str, groups: tuple[str, ...]
) -> ir_datasets.Dataset:
    dataset = _datasets_of_size(name, split, int(groups[0]), sample)[dataset_id]
    return Registered(dataset_id, dataset)


def _dataset(chunks: _Chunks, *, within_book: bool) -> ir_datasets.Dataset:
    load = chunks.load

    def candidates() -> Iterator[tuple[list[str], list[str]]]:
        release = load()
        queries_of = release.queries_by_book()
        for name, book in release.books.items():
            ids = (book.ids(starts, length) for length, starts in book.starts.items())
            yield queries_of[name], [doc_id for part in ids for doc_id in part]

    return ir_datasets.Dataset(
        chunks.docs,
        QueriesHandler(lambda: load().queries(), PlotQuery, NAME, "en"),
        QrelsHandler(lambda: _qrels(load()), Qrel, GRADES),
        CandidatesHandler(candidates) if within_book else None,
        replace(
            BENCHMARK,
            statistics_of=lambda: _statistics(load(), chunks.split),
            editions={RELEASE: QUERIES[chunks.split]} if chunks.split in QUERIES else {},
            gold_of=lambda query: query.spans[0],
            breakdowns={"book": lambda: load().queries_by_book()},
            listed=chunks.size == CHUNK,
        ).at(chunks.source),
    )


def _qrels(release: PlotRelease) -> Iterator[Qrel]:
    """Yields the plot passages, the chunks that share a sentence with one, and their neighbours."""
    for query_id, name, spans in release.golds():
        book = release.books[name]
        relevant = set(spans)
        for gold in spans:
            chunks = (p for p in book.overlapping(gold) if _is_chunk(book, p, release.size))
            relevant.update(chunks)
        near = {passage for position in relevant for passage in book.near(position, WINDOW)}
        for passage in sorted(near | relevant):
            yield Qrel(query_id, str(passage), int(passage in relevant))


def _is_chunk(book: Book, passage: Span, size: int) -> bool:
    """Returns whether a passage is a regular chunk, and not only a query's plot passage."""
    whole = passage.length == size or passage.stop == len(book.sentences)
    return passage.start % size == 0 and passage.length <= size and whole


def _statistics(release: PlotRelease, split: str) -> list[Statistic]:
    """Returns the figures of the paper's Tables 1 and 2 for one split."""
    chunks = release.docs.values()
    queries = release.queries()
    # A figure with other words than NLTK's is not to be compared with the paper's.
    source: WordSource = "sklearn" if missing_words("nltk") else "nltk"
    words = word_sets(source)
    overlap = [
        word_overlap(words(query.text), words(release.docs[span].text))
        for query in queries
        for span in query.spans
    ]
    named = {"nltk": "Word overlap, percent", "sklearn": "Word overlap without NLTK, percent"}
    return [
        Statistic("Queries", len(queries), QUERIES.get(split)),
        Statistic("Pairs of query and plot", len(overlap), PAIRS.get(split)),
        Statistic("Books", len(release.books)),
        Statistic("Candidate plot chunks", len(chunks), 136195),
        Statistic(
            "Average query length, words", fmean([len(q.text.split()) for q in queries]), 29.12
        ),
        Statistic(
            "Average chunk length, words", fmean([len(c.text.split()) for c in chunks]), 58.10
        ),
        Statistic(named[source], 100 * fmean(overlap), 19.62 if source == "nltk" else None),
    ]
