"""QuoteR: recommend the quote that fits a context (Qi et al. 2022).

The datasets are `quoter/{en,zh,lzh}/{train,val,test}` for English, modern and classical Chinese.
`quoter/{language}/{split}/{left,right}` have one side of the context only, and
`quoter/{language}/lower/...` are lower-cased. The same ids under `quoter/sample` are small invented
samples that ship with the package. A query ranks all quotes of its language, which are the
documents of `quoter/{language}`. The authors' code lower-cases whole lines first, so that quotes
which differ only in case are one document there, as they are here under `lower`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import get_args

import ir_datasets
from ir_datasets.formats import GenericDoc

from irtoolkit.base.errors import InputError
from irtoolkit.base.records import Qrel
from irtoolkit.datasets.benchmark import RELEASE, Benchmark, Statistic
from irtoolkit.datasets.built import ABOUT, BuiltFolder
from irtoolkit.datasets.downloads import download_blobs
from irtoolkit.datasets.handlers import DocsHandler, QrelsHandler, QueriesHandler
from irtoolkit.datasets.quoter_release import (
    FILES,
    SPLITS,
    Bounds,
    ContextSide,
    QuoteQuery,
    QuoterRelease,
    file_of,
    read_quoter,
)
from irtoolkit.datasets.source import ReleaseSource

NAME = "quoter"
# §6.3. With one relevant quote, NDCG@5 is the same with any gain and the discount 1/log2(rank + 1).
MEASURES = ("RR", "nDCG@5", "MedianRank", "Rank", "StdRank", "R@1", "R@10", "R@100")
GRADES = {1: "the quote that was in the context"}
REPOSITORY = "thunlp/QuoteR"
COMMIT = "7c42dbd49cc88103928b6ed40688fb444e7cde9a"
# The blob ids are taken from GitHub's listing of the commit.
BLOBS: dict[str, str | None] = dict.fromkeys(FILES.values())
URL = f"https://github.com/{REPOSITORY}"
BENCHMARK = Benchmark(
    name=NAME,
    title="QuoteR",
    citation="Qi et al. 2022, ACL",
    url=URL,
    licence="see the repository",
    description="Find the quote masked out of a context, among all quotes of its language.",
    measures=MEASURES,
    bibtex="""@inproceedings{qi2022quoter,
  title={{QuoteR}: A Benchmark of Quote Recommendation for Writing},
  author={Qi, Fanchao and Yang, Yanhui and Yi, Jing and Cheng, Zhili and Liu, Zhiyuan and
          Sun, Maosong},
  booktitle={Proceedings of ACL},
  year={2022}
}""",
)
# Table 1 of the paper: contexts and quotes of each split, and of all splits.
REPORTED = {
    "en": {
        "train": (101171, 6008),
        "val": (12771, 6108),
        "test": (12771, 6108),
        "all": (126713, 6108),
    },
    "zh": {"train": (32472, 2904), "val": (4185, 3004), "test": (4185, 3004), "all": (40842, 3004)},
    "lzh": {
        "train": (93031, 4338),
        "val": (11753, 4438),
        "test": (11753, 4438),
        "all": (116537, 4438),
    },
}


def register(add: Callable[[str, ir_datasets.Dataset], None]) -> None:
    """Registers every QuoteR dataset; opens no file."""
    for prefix, sample in BENCHMARK.variants():
        for lang, file in FILES.items():
            source = BENCHMARK.source(
                [file],
                sample=sample,
                howto=f"get the data from {URL} and put {', '.join(FILES.values())} into",
                download=partial(download_blobs, REPOSITORY, COMMIT, BLOBS, under="data/"),
            )
            for lower in (False, True):
                name = f"{prefix}/{lang}" + ("/lower" if lower else "")
                quotes = _Language(lang, lower, source)
                add(name, ir_datasets.Dataset(quotes.docs, quotes.record()))
                for dataset_id, dataset in _datasets(name, quotes, SPLITS):
                    add(dataset_id, dataset)


def built(folder: BuiltFolder) -> Iterator[tuple[str, ir_datasets.Dataset]]:
    """Yields the ids and datasets of a folder from `irtoolkit build quoter`."""
    lang, bounds = _described(folder)
    for lower in (False, True):
        name = folder.name + ("/lower" if lower else "")
        quotes = _Language(lang, lower, folder.source(file_of(lang)), bounds)
        yield from _datasets(name, quotes, folder.splits)


def _datasets(
    prefix: str, quotes: "_Language", splits: Iterable[str]
) -> Iterator[tuple[str, ir_datasets.Dataset]]:
    """Yields the ids and datasets of splits: the whole context, and each side of it."""
    for split in splits:
        whole = f"{prefix}/{split}"
        yield whole, _dataset(quotes, split, None)
        for side in get_args(ContextSide):
            yield f"{whole}/{side}", _dataset(quotes, split, side, view_of=whole)


def _described(folder: BuiltFolder) -> tuple[str, Bounds]:
    """Returns the language of such a folder, and the first lines of its val and test."""
    lang, bounds = folder.about.get("lang"), folder.about.get("bounds")
    if isinstance(lang, str) and isinstance(bounds, list):
        match bounds:
            case [int(first), int(second)] if 0 <= first <= second:
                return lang, (first, second)
    raise InputError(
        "no language and no bounds of splits in it",
        file=folder.path / ABOUT,
        remedy="build it again",
    )


_read = cache(read_quoter)


class _Language:
    """The file of one language, lower-cased or not, and the documents its datasets share."""

    def __init__(
        self, lang: str, lower: bool, source: ReleaseSource, bounds: Bounds | None = None
    ) -> None:
        self.lang, self.lower, self.source, self._bounds = lang, lower, source, bounds
        self.namespace = f"{NAME}/{lang}"
        self.docs = DocsHandler.of_release(self.load, GenericDoc, self.namespace, lang)

    def load(self) -> QuoterRelease:
        path = self.source.folder() / file_of(self.lang)
        return _read(path, self.lang, self.lower, self._bounds)

    def record(self) -> Benchmark:
        """Returns the record of the dataset that has the quotes alone."""
        return BENCHMARK.of_documents("Quotes", lambda: self.load().docs).at(self.source)


def _dataset(
    quotes: _Language, split: str, side: ContextSide | None, view_of: str = ""
) -> ir_datasets.Dataset:
    load, lang = quotes.load, quotes.lang
    figures = REPORTED.get(lang, {})
    return ir_datasets.Dataset(
        quotes.docs,
        QueriesHandler(lambda: load().queries(split, side), QuoteQuery, quotes.namespace, lang),
        QrelsHandler(lambda: load().judgments(split), Qrel, GRADES),
        replace(
            BENCHMARK,
            statistics_of=lambda: _statistics(load(), lang, split),
            editions={RELEASE: figures[split][0]} if split in figures else {},
            breakdowns={"frequency": lambda: load().by_frequency(split)},
            view_of=view_of,
            listed=not quotes.lower and side is None,
        ).at(quotes.source),
    )


def _statistics(release: QuoterRelease, lang: str, split: str) -> list[Statistic]:
    """Returns the figures of the paper's Table 1 for one language and split."""
    training_golds = {release.golds[number] for number in release.part("train")}
    split_golds = [release.golds[number] for number in release.part(split)]
    figures = REPORTED.get(lang, {})
    contexts, quotes = figures.get("all", (None, None))
    counts, reported_quotes = figures.get(split, (None, None))
    lacked = None if lang not in REPORTED else 0 if split == "train" else 100
    return [
        Statistic("Contexts", len(release.golds), contexts),
        Statistic("Quotes", len(release.docs), quotes),
        Statistic("Contexts of the split", len(split_golds), counts),
        Statistic("Quotes of the split", len(set(split_golds)), reported_quotes),
        Statistic(
            "Quotes of the split that train lacks", len(set(split_golds) - training_golds), lacked
        ),
    ]
