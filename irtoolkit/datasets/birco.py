"""BIRCO: five tasks with complex objectives as queries and candidate pools (Wang et al. 2024).

The datasets `birco/{relic,wtb,doris-mae,arguana,clinical-trial}` are the test splits, and
`birco/{task}/dev` the development splits; `birco/{task}/test` is another name of the test split.
The same ids under `birco/sample` are a small invented sample that ships with the package.

The release is the repository's `datasets/{task}/{test,dev}_set.pickle`. The Hub's Parquet of the
test splits (mteb/BIRCO-Relic-Test and so on) and the same rows in BEIR's format are read too.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import NamedTuple, Tuple  # noqa: UP035

import ir_datasets
from ir_datasets.formats import GenericDoc, GenericQuery

from irtoolkit.base.records import GradedQrel
from irtoolkit.base.sentences import split_sentences
from irtoolkit.datasets.benchmark import RELEASE, Benchmark, Statistic
from irtoolkit.datasets.birco_release import (
    SPLITS,
    TASKS,
    BircoRelease,
    files_of,
    pickle_name,
    read_birco,
)
from irtoolkit.datasets.downloads import download_blobs
from irtoolkit.datasets.handlers import DocsHandler, PoolsHandler, QrelsHandler, QueriesHandler
from irtoolkit.datasets.source import ReleaseSource

NAME = "birco"
MEASURES = ("nDCG@10", "R@5", "R@10", "R@20", "R@100", "RR@10", "AP")
REPOSITORY = "BIRCO-benchmark/BIRCO"
COMMIT = "84b2b05c862cff6f6a80c06a6a11e6a7cd12e838"
DESCRIPTIONS = {
    "relic": "Find the quotation masked out of literary criticism, in a pool of passages of one book.",
    "wtb": "Find the book that a reader remembers some details of.",
    "doris-mae": "Find papers that meet the many needs of a research question.",
    "arguana": "Find the argument that refutes an argument.",
    "clinical-trial": "Find the clinical trials that a patient can take part in.",
}
GRADES = {
    "doris-mae": {0: "meets none of the needs", 1: "meets all; fractions meet some"},
    "clinical-trial": {0: "no trial for the patient", 1: "perhaps one", 2: "very likely one"},
}
# What stands in a query of relic in place of the quotation.
MASK = "[masked sentence(s)]"
# Queries of each split, of those whose number is known.
QUERIES = {
    "relic": {"test": 100},
    "wtb": {"test": 100, "dev": 57},
    "doris-mae": {"test": 60, "dev": 40},
    "arguana": {"test": 100},
    "clinical-trial": {"test": 50, "dev": 9},
}
BLOBS = {
    "arguana/test_set.pickle": "2710ad4fa7080b3f896defbb0512a38225602600",
    "arguana/dev_set.pickle": "8b556ce18500bd64ddd192a1dbb6376147e7d75b",
    "clinical-trial/test_set.pickle": "23209d4c4d3c6dab0fdddfe0b16154232d0fa37d",
    "clinical-trial/dev_set.pickle": "ccd3859bed5968da2e49dd27d05197d2a510fcd7",
    "doris-mae/test_set.pickle": "261526c56f7c30f3f8277ea20b6382fbfb99490d",
    "doris-mae/dev_set.pickle": "88378187477f9549ebeac22eaae574a07abbc6e1",
    "relic/test_set.pickle": "3c7ddae930cec18c647a9f5da37d2f69807553a9",
    "relic/dev_set.pickle": "1c28a6f43d1db05f2ab45be9896da37ec04db8fd",
    "wtb/test_set.pickle": "5aa3838028a4c51a44aa67f78ea491e55c04676d",
    "wtb/dev_set.pickle": "7b9ab4640a99b0e6cd58cee4045832cd64e974c2",
}
BENCHMARK = Benchmark(
    name=NAME,
    title="BIRCO",
    citation="Wang et al. 2024, arXiv 2402.14151",
    url=f"https://github.com/{REPOSITORY}",
    licence="CC BY-NC 4.0",
    description="",
    overview="Find what meets a complex objective, in a pool of each query.",
    measures=MEASURES,
    main="nDCG@10",
    bibtex="""@article{wang2024birco,
  title={{BIRCO}: A Benchmark of Information Retrieval Tasks with Complex Objectives},
  author={Wang, Xiaoyue and Wang, Jianyou and Cao, Weili and Wang, Kaicheng and Paturi, Ramamohan
          and Bergen, Leon},
  journal={arXiv preprint arXiv:2402.14151},
  year={2024}
}""",
)


class MaskedQuery(NamedTuple):
    """A passage of literary criticism, with a mark in place of a quotation."""

    query_id: str
    text: str

    @property
    def left(self) -> Tuple[str, ...]:  # noqa: UP006
        """The sentences before the quotation."""
        return tuple(split_sentences(self.text.split(MASK, 1)[0].strip()))

    @property
    def right(self) -> Tuple[str, ...]:  # noqa: UP006
        """The sentences after the quotation."""
        return tuple(split_sentences("".join(self.text.split(MASK, 1)[1:]).strip()))

    def default_text(self) -> str:
        """Returns the text with the mark."""
        return self.text


def register(add: Callable[[str, ir_datasets.Dataset], None]) -> None:
    """Registers every BIRCO dataset; opens no file."""
    for prefix, sample in BENCHMARK.variants():
        source = BENCHMARK.source(
            (),
            sample=sample,
            howto=f"get https://github.com/{REPOSITORY} and put what is in its folder datasets into",
            download=partial(download_blobs, REPOSITORY, COMMIT, BLOBS, under="datasets/"),
        )
        for task in TASKS:
            for split in SPLITS:
                source_split = _Split(source, task, split)
                if split == "test":
                    add(f"{prefix}/{task}", source_split.dataset())
                add(f"{prefix}/{task}/{split}", source_split.dataset(listed=split != "test"))


class _Split:
    """The files of one split of a task."""

    def __init__(self, source: ReleaseSource, task: str, split: str) -> None:
        self.task, self.split = task, split
        self.source = replace(
            source,
            part=pickle_name(task, split),
            find=lambda folder: files_of(folder, task, split),
        )
        self.docs = DocsHandler.of_release(lambda: self.release, GenericDoc, NAME, "en")

    @cached_property
    def release(self) -> BircoRelease:
        """The split, read at its first use."""
        return read_birco(self.source.paths())

    def dataset(self, *, listed: bool = True) -> ir_datasets.Dataset:
        """Returns the ir_datasets dataset."""
        count = QUERIES[self.task].get(self.split)
        benchmark = replace(
            BENCHMARK,
            description=DESCRIPTIONS[self.task],
            statistics_of=self.statistics,
            editions={} if count is None else {RELEASE: count},
            listed=listed,
        ).at(self.source)
        return ir_datasets.Dataset(
            self.docs,
            self._queries(),
            QrelsHandler(
                lambda: self.release.judgments(),
                GradedQrel,
                GRADES.get(self.task, {0: "not relevant", 1: "relevant"}),
            ),
            PoolsHandler(lambda: self.release.pools().items()),
            benchmark,
        )

    def _queries(self) -> QueriesHandler:
        """Returns the queries; those of relic tell what is before the quotation and what after it."""
        if self.task != "relic":
            return QueriesHandler(lambda: self.release.queries, GenericQuery, NAME, "en")
        return QueriesHandler(
            lambda: [MaskedQuery(*query) for query in self.release.queries], MaskedQuery, NAME, "en"
        )

    def statistics(self) -> list[Statistic]:
        """Returns sizes of the split; the number of queries beside the release's."""
        pools = self.release.pools()
        judged = self.release.judgments()
        relevant = sum(row.relevance >= 1 for row in judged)
        sizes = [len(pool) for pool in pools.values()]
        words = [len(query.text.split()) for query in self.release.queries]
        return [
            Statistic("Queries", len(pools), QUERIES[self.task].get(self.split)),
            Statistic("Documents", len(self.release.docs)),
            Statistic("Documents of a pool on average", sum(sizes) / len(sizes)),
            Statistic("Documents of grade 1 or higher per query", relevant / len(pools)),
            Statistic("Words of a query on average", sum(words) / len(words)),
        ]
