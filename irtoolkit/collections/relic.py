"""RELiC: retrieve the quotation masked out of literary criticism (Thai et al. 2022).

Datasets `relic/{train,val,test}` with four sentences of context on each side, and
`relic/{split}/{left}-{right}` with fewer, from `0-1` to `4-4`; the same under `relic/sample`, an
invented miniature that ships with the package. The test split of the release hides its gold, so
`relic/test` has no qrels.
"""

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import ir_datasets

from irtoolkit.collections.books import Passage, Passages
from irtoolkit.collections.handlers import (
    Benchmark,
    Docs,
    Judgments,
    Protocol,
    Queries,
    SharedCandidates,
    Statistic,
)
from irtoolkit.collections.relic_release import MAX_CONTEXT, Release, RelicQuery, read_release
from irtoolkit.collections.source import DATA_VARIABLE, Source, sample_source
from irtoolkit.records import Qrel
from irtoolkit.spans import Span

NAME = "relic"
SPLITS = ("train", "val", "test")
HIDDEN = "test"
GRADES = {
    0: "a passage near the quotation, listed for distance-aware measures",
    1: "the quotation",
}
# Recall at six depths and the mean rank over all candidates (§3.1).
MEASURES = ("R@1", "R@3", "R@5", "R@10", "R@50", "R@100", "Rank")
# Passages whose middle is nearer than this to the quotation's are judged, at grade 0.
NEAR = 5
URL = "https://relic.cs.umass.edu"
BIBTEX = """@inproceedings{thai2022relic,
  title={{RELiC}: Retrieving Evidence for Literary Claims},
  author={Thai, Katherine and Chang, Yapei and Krishna, Kalpesh and Iyyer, Mohit},
  booktitle={Proceedings of ACL},
  year={2022}
}"""


def register(add: Callable[[str, ir_datasets.Dataset], None]) -> None:
    """Declares every RELiC dataset; opens no file."""
    for prefix, sample in ((NAME, False), (f"{NAME}/sample", True)):
        for split in SPLITS:
            source = _source(split, sample)
            load = partial(_load, source, split)
            docs = Docs(partial(_passages, load), Passage, NAME, "en")
            whole = _dataset(load, docs, source, split, MAX_CONTEXT, MAX_CONTEXT, listed=True)
            add(f"{prefix}/{split}", whole)
            for left in range(MAX_CONTEXT + 1):
                for right in range(MAX_CONTEXT + 1):
                    if left or right:
                        view = _dataset(load, docs, source, split, left, right, listed=False)
                        add(f"{prefix}/{split}/{left}-{right}", view)


def _source(split: str, sample: bool) -> Source:
    files = (f"{split}.json",)
    if sample:
        return sample_source(NAME, files)
    howto = f"get the dataset from {URL} and put its json files into ${DATA_VARIABLE}/{NAME}/"
    return Source(NAME, files, howto)


@cache
def _read(path: Path, hidden: bool) -> tuple[Release, Passages]:
    release = read_release(path, hidden)
    return release, Passages(release.books)


def _load(source: Source, split: str) -> tuple[Release, Passages]:
    return _read(source.folder() / f"{split}.json", split == HIDDEN)


def _passages(load: Callable[[], tuple[Release, Passages]]) -> Passages:
    return load()[1]


def _dataset(
    load: Callable[[], tuple[Release, Passages]],
    docs: Docs,
    source: Source,
    split: str,
    left: int,
    right: int,
    *,
    listed: bool,
) -> ir_datasets.Dataset:
    def queries() -> list[RelicQuery]:
        return [window.query.clipped(left, right) for window in load()[0].windows]

    def candidates() -> Iterator[tuple[list[str], list[str]]]:
        release, passages = load()
        asking: dict[tuple[str, int], list[str]] = {}
        for window in release.windows:
            asking.setdefault((window.query.book, window.query.length), []).append(
                window.query.query_id
            )
        for book, length, starts in passages.groups:
            members = asking.get((book.name, length))
            if members:
                yield members, [str(Span(book.name, start, length)) for start in starts.tolist()]

    sample = source.sample
    about = Benchmark(
        name=NAME,
        title="RELiC" + (" (invented sample)" if sample else ""),
        paper="Thai et al. 2022, ACL",
        url=URL,
        licence="Apache-2.0" if sample else "see the dataset's page",
        bibtex=BIBTEX,
        where=source.where,
        howto=source.howto,
        description="Quotations masked out of literary criticism, among all passages of that"
        " length in the book.",
        protocol_of=lambda: Protocol(MEASURES),
        statistics_of=lambda: statistics(load()[0]),
        listed=listed,
    )
    judgments = None
    if split != HIDDEN:
        judgments = Judgments(lambda: _qrels(load()[0]), Qrel, GRADES)
    return ir_datasets.Dataset(
        docs,
        Queries(queries, RelicQuery, NAME, "en"),
        judgments,
        SharedCandidates(candidates),
        about,
    )


def _qrels(release: Release) -> Iterator[Qrel]:
    for query, gold in release.windows:
        if gold is not None:
            yield Qrel(query.query_id, str(gold), 1)
            for near in release.books[gold.book].near(gold, NEAR):
                if near != gold and near.length == gold.length:
                    yield Qrel(query.query_id, str(near), 0)


def statistics(release: Release) -> list[Statistic]:
    """The figures of the paper's Table 1 that one split gives."""
    windows = [window.query for window in release.windows]
    context = [len(q.left) + len(q.right) for q in windows]
    sizes = [len(release.books[q.book].starts[q.length]) for q in windows]
    words = [len(q.context.split()) for q in windows]
    golds = [w.gold for w in release.windows if w.gold is not None]
    length = [len(release.books[g.book].text(g.start, g.length).split()) for g in golds]
    return [
        Statistic("Windows", len(windows)),
        Statistic("Primary sources", len(release.books)),
        Statistic("Mean sentences of context", sum(context) / len(context)),
        Statistic("Mean words of context", sum(words) / len(words)),
        Statistic(
            "Mean quotation length, sentences", sum(q.length for q in windows) / len(windows)
        ),
        *([Statistic("Mean quotation length, words", sum(length) / len(length))] if length else []),
        Statistic("Mean candidates per query", sum(sizes) / len(sizes)),
    ]
