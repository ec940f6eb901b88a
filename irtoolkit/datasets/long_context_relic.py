"""Long-context RELiC: literary evidence by generation from the whole book (Thai and Iyyer 2025).

The dataset `long-context-relic` has all examples, `long-context-relic/human` and
`long-context-relic/close-reading` the release's two subsets. The same ids under
`long-context-relic/sample` are a small invented sample that ships with the package.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial

import ir_datasets

from irtoolkit.base.errors import InputError
from irtoolkit.base.records import Qrel
from irtoolkit.datasets.benchmark import RELEASE, Benchmark, Statistic
from irtoolkit.datasets.books import Passage
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.downloads import download_blobs
from irtoolkit.datasets.handlers import (
    CandidatesHandler,
    DocsHandler,
    QrelsHandler,
    QueriesHandler,
)
from irtoolkit.datasets.long_context_relic_release import (
    BOOKS,
    EXAMPLES,
    SUBSETS,
    Example,
    LongContextRelease,
    files_of,
    read_examples,
    read_release,
)
from irtoolkit.datasets.relic import GRADES, judgments
from irtoolkit.datasets.relic_release import MAX_CONTEXT, RelicQuery
from irtoolkit.datasets.source import ReleaseSource

NAME = "long-context-relic"
MEASURES = ("R@1", "R@3", "R@5", "R@10", "R@50", "R@100", "Rank")
REPOSITORY = "katherinethai/long_context_relic"
COMMIT = "19039d1d08eedfcc7d77659ff580d72246448b60"
BLOBS = {
    EXAMPLES: "112f4a79b2b81902adac50b3bb57649f5f1fa7f5",
    BOOKS: "c35113e5d55b4207bd12f911afa1cc3148997f4b",
}
# Examples of the release, and of its subsets, as its evaluation script counts them.
EXAMPLES_OF = {"": 292, "human": 40, "close-reading": 39}
BENCHMARK = Benchmark(
    name=NAME,
    title="Long-context RELiC",
    citation="Thai and Iyyer 2025, ACL",
    url=f"https://github.com/{REPOSITORY}",
    licence="MIT",
    description="Find or write the quotation masked out of literary analysis, given the whole book.",
    measures=MEASURES,
    main="R@1",
    bibtex="""@inproceedings{thai2025literary,
  title={Literary Evidence Retrieval via Long-Context Language Models},
  author={Thai, Katherine and Iyyer, Mohit},
  booktitle={Proceedings of ACL (Volume 2: Short Papers)},
  year={2025}
}""",
)


def register(add: Callable[[str, ir_datasets.Dataset], None]) -> None:
    """Registers the datasets; opens no file."""
    for prefix, sample in BENCHMARK.variants():
        source = BENCHMARK.source(
            (),
            sample=sample,
            howto=f"get https://github.com/{REPOSITORY} and put what is in its folder data into",
            download=partial(download_blobs, REPOSITORY, COMMIT, BLOBS, under="data/"),
        )
        files = _Files(source)
        add(prefix, files.dataset())
        for subset in SUBSETS:
            add(f"{prefix}/{subset}", files.dataset(subset))


def examples(dataset: Dataset) -> list[Example]:
    """Returns the examples of one of the datasets, with the published responses.

    Raises:
        InputError: it is another dataset, or the release is not on this machine.
    """
    handler = dataset.source.queries_handler() if dataset.has("queries") else None
    if not isinstance(handler, _Queries):
        raise InputError(
            f"dataset {dataset.id} has no examples of long-context RELiC",
            remedy=f"name {NAME}, or one of its subsets {', '.join(SUBSETS)}",
        )
    ids = {query.query_id for query in handler.queries_iter()}
    return [row for row in read_examples(handler.files.source.paths()[0]) if row.query_id in ids]


class _Files:
    """The files of the release, and the documents that all datasets share."""

    def __init__(self, source: ReleaseSource) -> None:
        self.source = replace(source, find=files_of)
        self.docs = DocsHandler.of_release(lambda: self.release, Passage, NAME, "en")

    @cached_property
    def release(self) -> LongContextRelease:
        """The release, read at its first use."""
        return read_release(self.source.paths())

    def ids(self, subset: str) -> set[str] | None:
        """Returns the ids of the queries of a subset; None for all of them."""
        return set(self.release.members(subset)) if subset else None

    def queries(self, subset: str) -> list[RelicQuery]:
        """Returns the queries of a subset, or all."""
        ids = self.ids(subset)
        queries = self.release.queries(MAX_CONTEXT, MAX_CONTEXT)
        return [query for query in queries if ids is None or query.query_id in ids]

    def qrels(self, subset: str) -> list[Qrel]:
        """Returns the quotations of a subset, or of all, and the passages near them."""
        ids = self.ids(subset)
        return [row for row in judgments(self.release) if ids is None or row.query_id in ids]

    def statistics(self, subset: str) -> list[Statistic]:
        """Returns the sizes of a dataset; the number of examples beside the release's."""
        queries = self.queries(subset)
        books = {query.book for query in queries}
        words = [len(query.context.split()) for query in queries]
        sizes = [len(" ".join(self.release.books[book].sentences).split()) for book in books]
        count = max(1, len(queries))
        return [
            Statistic("Examples", len(queries), EXAMPLES_OF[subset]),
            Statistic("Primary sources", len(books)),
            Statistic("Words of a primary source on average", sum(sizes) / max(1, len(books))),
            Statistic("Words of an excerpt on average", sum(words) / count),
            Statistic("Sentences of a quotation", sum(query.length for query in queries) / count),
        ]

    def dataset(self, subset: str = "") -> ir_datasets.Dataset:
        """Returns the ir_datasets dataset of a subset, or of all examples."""
        record = replace(
            BENCHMARK,
            statistics_of=lambda: self.statistics(subset),
            editions={RELEASE: EXAMPLES_OF[subset]},
            breakdowns={
                "book": lambda: dict(sorted(self.release.by_book(self.ids(subset)).items())),
                "length": lambda: self.release.by_length(self.ids(subset)),
            },
        )
        return ir_datasets.Dataset(
            self.docs,
            _Queries(self, subset),
            QrelsHandler(lambda: self.qrels(subset), Qrel, GRADES),
            CandidatesHandler(lambda: self.release.candidates(self.ids(subset))),
            record.at(self.source),
        )


class _Queries(QueriesHandler):
    """The queries of one of the datasets, and where they are from."""

    def __init__(self, files: _Files, subset: str) -> None:
        super().__init__(lambda: files.queries(subset), RelicQuery, NAME, "en")
        self.files = files
