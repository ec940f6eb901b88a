"""RELiC: retrieve the quotation masked out of literary criticism (Thai et al. 2022).

The datasets `relic/{train,val,test}` have four sentences of context on each side, and
`relic/{split}/{left}-{right}` have fewer, from `0-1` to `4-4`. The same ids under `relic/sample`
are a small invented sample that ships with the package. The release hides the relevant passages of
the test split, so `relic/test` has no qrels.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from statistics import fmean

import ir_datasets
import numpy as np

from irtoolkit.base.records import Qrel
from irtoolkit.base.stamps import stamp
from irtoolkit.datasets.benchmark import RELEASE, Benchmark, Statistic
from irtoolkit.datasets.books import Passage
from irtoolkit.datasets.built import BuiltFolder
from irtoolkit.datasets.handlers import (
    CandidatesHandler,
    DocsHandler,
    QrelsHandler,
    QueriesHandler,
)
from irtoolkit.datasets.relic_release import MAX_CONTEXT, RelicQuery, RelicRelease, read_relic
from irtoolkit.datasets.source import ReleaseSource

NAME = "relic"
SPLITS = ("train", "val", "test")
HIDDEN = "test"
GRADES = {
    0: "a passage near the quotation, listed for distance-aware measures",
    1: "the quotation",
}
# Recall at six depths, and the mean rank among all candidates (§3.1).
MEASURES = ("R@1", "R@3", "R@5", "R@10", "R@50", "R@100", "Rank")
# Passages whose middle is nearer to the quotation's than this many sentences have grade 0 in the
# qrels.
NEAR = 5
URL = "https://relic.cs.umass.edu"
BENCHMARK = Benchmark(
    name=NAME,
    title="RELiC",
    citation="Thai et al. 2022, ACL",
    url=URL,
    licence="see the dataset's page",
    description="Find the quotation masked out of literary criticism, among all passages of its"
    " length in the book.",
    measures=MEASURES,
    main="R@10",
    bibtex="""@inproceedings{thai2022relic,
  title={{RELiC}: Retrieving Evidence for Literary Claims},
  author={Thai, Katherine and Chang, Yapei and Krishna, Kalpesh and Iyyer, Mohit},
  booktitle={Proceedings of ACL},
  year={2022}
}""",
)
# The two editions of the data, and the windows of each split. The submission has 90,000, and its
# Table 1 counts them. The published release has 78,000; the README of the released code counts
# those of one split.
SUBMISSION = "submission"
EDITIONS = {
    "train": {SUBMISSION: 71395},
    "val": {SUBMISSION: 9036, RELEASE: 7833},
    "test": {SUBMISSION: 9034},
}
# The candidates of a query on average: Table 1, over all splits, and the README, over val.
CANDIDATES = {SUBMISSION: 10648.8, RELEASE: 10199.8}


def register(add: Callable[[str, ir_datasets.Dataset], None]) -> None:
    """Registers every RELiC dataset; opens no file."""
    for prefix, sample in BENCHMARK.variants():
        for name in SPLITS:
            howto = f"get the dataset from {URL} and put its json files into"
            source = BENCHMARK.source([f"{name}.json"], sample=sample, howto=howto)
            for dataset_id, dataset in _datasets(prefix, _Split(name, source, name == HIDDEN)):
                add(dataset_id, dataset)


def built(folder: BuiltFolder) -> Iterator[tuple[str, ir_datasets.Dataset]]:
    """Yields the ids and datasets of a folder from `irtoolkit build relic`."""
    for name in folder.splits:
        split = _Split(name, folder.source(f"{name}.json"), name in folder.about["hidden"])
        yield from _datasets(folder.name, split)


def _datasets(prefix: str, split: "_Split") -> Iterator[tuple[str, ir_datasets.Dataset]]:
    """Yields the ids and datasets of a split: the whole context, and each view of it."""
    whole = f"{prefix}/{split.name}"
    yield whole, _dataset(split, MAX_CONTEXT, MAX_CONTEXT)
    for left, right in product(range(MAX_CONTEXT + 1), repeat=2):
        if left or right:
            yield f"{whole}/{left}-{right}", _dataset(split, left, right, view_of=whole)


@cache
def _read(path: Path, hidden: bool, state: object) -> RelicRelease:
    """Returns the release in a file; `state` tells versions of a rebuilt file apart."""
    return read_relic(path, hidden)


class _Split:
    """The files of one split, and the documents that all its datasets share."""

    def __init__(self, name: str, source: ReleaseSource, hidden: bool) -> None:
        self.name, self.source, self.hidden = name, source, hidden
        self.docs = DocsHandler.of_release(self.load, Passage, NAME, "en")

    def load(self) -> RelicRelease:
        path = self.source.folder() / f"{self.name}.json"
        return _read(path, self.hidden, stamp(path))


def _dataset(split: _Split, left: int, right: int, view_of: str = "") -> ir_datasets.Dataset:
    load = split.load

    qrels = None
    if not split.hidden:
        qrels = QrelsHandler(lambda: judgments(load()), Qrel, GRADES)
    return ir_datasets.Dataset(
        split.docs,
        QueriesHandler(lambda: load().queries(left, right), RelicQuery, NAME, "en"),
        qrels,
        CandidatesHandler(lambda: load().candidates()),
        replace(
            BENCHMARK,
            statistics_of=lambda: _statistics(load(), split.name),
            editions=EDITIONS.get(split.name, {}),
            breakdowns={
                "book": lambda: load().by_book(),
                "length": lambda: load().by_length(),
            },
            view_of=view_of,
            listed=not view_of,
        ).at(split.source),
    )


def judgments(release: RelicRelease) -> Iterator[Qrel]:
    """Yields the quotation of each query, and the passages near it with grade 0."""
    for query_id, gold in release.golds():
        yield Qrel(query_id, str(gold), 1)
        for near in release.books[gold.book].near(gold, NEAR, [gold.length]):
            if near != gold:
                yield Qrel(query_id, str(near), 0)


def _statistics(release: RelicRelease, split: str) -> list[Statistic]:
    """Returns the figures of the submission's Table 1 for a split; see CANDIDATES for the release.

    Data of neither edition have the submission's figures beside their own.
    """
    windows = list(release.queries(MAX_CONTEXT, MAX_CONTEXT))
    context = [len(q.left) + len(q.right) for q in windows]
    sizes = [len(release.books[q.book].starts[q.length]) for q in windows]
    words = [len(q.context.split()) for q in windows]
    golds = [release.books[g.book].text(g.start, g.length) for _, g in release.golds()]
    editions = EDITIONS.get(split, {})
    counted = {count: edition for edition, count in editions.items()}
    edition = counted.get(len(windows), SUBMISSION)
    table = [
        Statistic("Windows", len(windows), editions.get(edition)),
        Statistic("Primary sources", len(release.books), 79),
        Statistic("Average sentences of context", fmean(context)),
        Statistic("Average query length, words", fmean(words), 154.1),
        Statistic("Average quotation length, sentences", fmean([q.length for q in windows])),
        *(
            [Statistic("Average quotation length, words", fmean([len(g.split()) for g in golds]))]
            if golds
            else []
        ),
        Statistic("Average candidate length, words", _candidate_words(release), 45.5),
        Statistic("Average number of candidates per query", fmean(sizes), CANDIDATES[edition]),
    ]
    if edition != SUBMISSION:
        table[1:-1] = [row.unreported() for row in table[1:-1]]
    return [row.of_edition(edition) for row in table]


def _candidate_words(release: RelicRelease) -> float:
    """Returns the mean length of all passages in words."""
    total = 0
    for book, length, starts in release.docs.groups:
        sums = np.cumsum([0, *(len(sentence.split()) for sentence in book.sentences)])
        total += int((sums[starts + length] - sums[starts]).sum())
    return total / len(release.docs)
