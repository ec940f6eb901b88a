"""QuoteR: recommend the quote that fits a context (Qi et al. 2022).

The datasets are `quoter/{en,zh,lzh}/{train,val,test}` for English, modern and classical Chinese.
`quoter/{language}/{split}/{left,right}` have one side of the context only, and
`quoter/{language}/lower/...` are lower-cased. The same ids under `quoter/sample` are small invented
samples that ship with the package. A query ranks all quotes of its language, which are the
documents of `quoter/{language}`. The authors' code lower-cases whole lines first, so that quotes
which differ only in case are one document there, as they are here under `lower`.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import ir_datasets
import pyarrow as pa
from ir_datasets.formats import GenericDoc

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_lines
from irtoolkit.base.records import Qrel
from irtoolkit.datasets.benchmark import RELEASE, Benchmark, Statistic
from irtoolkit.datasets.cache import CacheWriter, Tables, parsed
from irtoolkit.datasets.columns import Records, TableRows
from irtoolkit.datasets.github import download_blobs
from irtoolkit.datasets.handlers import DocsHandler, QrelsHandler, QueriesHandler
from irtoolkit.datasets.source import ReleaseSource
from irtoolkit.datasets.strictjson import TRUNCATED

NAME = "quoter"
SPLITS = ("train", "val", "test")
FILES = {"en": "english.txt", "zh": "modern_chinese.txt", "lzh": "ancient_chinese.txt"}
# Lines of the published files: the first ones of validation and test, and the number of lines (§4).
PUBLISHED = {
    "en": (101171, 113942, 126713),
    "zh": (32472, 36657, 40842),
    "lzh": (93031, 104784, 116537),
}
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
    "en": {"train": (101171, 6008), "val": (12771, 6108), "test": (12771, 6108),
           "all": (126713, 6108)},
    "zh": {"train": (32472, 2904), "val": (4185, 3004), "test": (4185, 3004), "all": (40842, 3004)},
    "lzh": {"train": (93031, 4338), "val": (11753, 4438), "test": (11753, 4438),
            "all": (116537, 4438)},
}  # fmt: skip
# Bands of how often a quote is in train. The paper does not print the bounds of Figure 2; 0 is for
# quotes that train lacks.
BANDS = (0, 1, 5, 10, 20, 50, 100, 150)


def band_names() -> list[str]:
    """The names of the bands, in order."""
    inner = [str(a) if b == a + 1 else f"{a}-{b - 1}" for a, b in pairwise(BANDS)]
    return [f"{name} in train" for name in (*inner, f"{BANDS[-1]}+")]


ContextSide = Literal["left", "right"]


class QuoteQuery(NamedTuple):
    """The context of a quote that is masked out; the id is the language and the line number."""

    query_id: str
    left: str
    right: str

    @property
    def context(self) -> str:
        """Both sides, joined by a space."""
        return f"{self.left} {self.right}".strip()

    def with_mask(self, token: str) -> str:
        """The context with a token in place of the quote (§5.1)."""
        return f"{self.left} {token} {self.right}".strip()

    def default_text(self) -> str:
        """Both sides of the context."""
        return self.context


_SCHEMAS = {
    "quotes": {"text": pa.string()},
    "contexts": {"left": pa.string(), "quote": pa.int32(), "right": pa.string()},
}


class QuoterRelease:
    """One language: its quotes in the order they first appear, and its contexts in file order.

    Attributes:
        key: the key of its columns, see `irtoolkit.datasets.cache.Tables`.
    """

    def __init__(self, lang: str, tables: Tables) -> None:
        self._lang, self.key, self._contexts = lang, tables.key, tables["contexts"]
        self.golds: list[int] = self._contexts["quote"].to_pylist()
        quotes = tables["quotes"]
        self.quotes: Records[GenericDoc] = Records(
            lambda: [self.quote_id(number) for number in range(len(quotes))],
            TableRows(quotes, lambda number, text: GenericDoc(self.quote_id(number), text)),
        )

    def quote_id(self, number: int) -> str:
        """The document id of a quote."""
        return f"{self._lang}-q{number + 1}"

    def query_id(self, number: int) -> str:
        """The query id of a context: its language and line number."""
        return f"{self._lang}-{number + 1}"

    def part(self, split: str) -> range:
        """The contexts of a split: the published lines, or 8:1:1 in a file of another length."""
        lines = len(self._contexts)
        first, second, total = PUBLISHED[self._lang]
        if lines != total:
            first, second = lines * 8 // 10, lines * 9 // 10
        return {
            "train": range(first),
            "val": range(first, second),
            "test": range(second, lines),
        }[split]

    def queries(self, split: str, side: ContextSide | None) -> TableRows[QuoteQuery]:
        """The queries of a split, with both sides of the context or one."""

        def make(number: int, left: str, _: int, right: str) -> QuoteQuery:
            shown = (left if side != "right" else "", right if side != "left" else "")
            return QuoteQuery(self.query_id(number), *shown)

        return TableRows(self._contexts, make, self.part(split))

    def judgments(self, split: str) -> Iterator[Qrel]:
        """Yields the judgments of a split: the quote of each context."""
        for number in self.part(split):
            yield Qrel(self.query_id(number), self.quote_id(self.golds[number]), 1)

    def by_frequency(self, split: str) -> dict[str, list[str]]:
        """The queries of a split by how often their quote is in train (§6.5, Figure 2)."""
        seen = Counter(self.golds[number] for number in self.part("train"))
        parts: dict[str, list[str]] = {}
        for name, low, high in zip(band_names(), BANDS, (*BANDS[1:], None), strict=True):
            parts[name] = [
                self.query_id(number)
                for number in self.part(split)
                if low <= seen[self.golds[number]]
                and (high is None or seen[self.golds[number]] < high)
            ]
        return {name: members for name, members in parts.items() if members}


def read_quoter(path: Path, lang: str, lower: bool = False) -> QuoterRelease:
    """Parses and checks the file of one language, or maps its columns from the cache.

    Args:
        path: the file.
        lang: en, zh or lzh.
        lower: whether to lower-case all texts before equal quotes are merged.

    Raises:
        InputError: a line is not left context, quote, right context; or a quote is empty.
    """
    kind = f"quoter-{lang}" + ("-lower" if lower else "")
    return QuoterRelease(lang, parsed(kind, [path], _SCHEMAS, partial(_parse, path, lower)))


def _parse(path: Path, lower: bool, out: CacheWriter) -> None:
    numbers: dict[str, int] = {}
    line_number = 0
    for line_number, line in read_lines(path):
        fields = [field.strip() for field in (line.lower() if lower else line).split("\t")]
        problem = None
        if len(fields) != 3:
            problem = f"{len(fields) - 1} tabs instead of 2"
        elif not fields[1]:
            problem = "an empty quote"
        elif not (fields[0] or fields[2]):
            problem = "a quote without context"
        if problem is not None:
            raise InputError(
                f"{problem}: a line is left context, quote, right context",
                file=path,
                line=line_number,
                remedy=TRUNCATED,
            )
        left, quote, right = fields
        if quote not in numbers:
            numbers[quote] = len(numbers)
            out.add("quotes", quote)
        out.add("contexts", left, numbers[quote], right)
    if not line_number:
        raise InputError("no contexts", file=path, remedy=TRUNCATED)


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
                for split in SPLITS:
                    whole = f"{name}/{split}"
                    add(whole, _dataset(quotes, split, None))
                    for side in get_args(ContextSide):
                        add(f"{whole}/{side}", _dataset(quotes, split, side, view_of=whole))


_read = cache(read_quoter)


class _Language:
    """The file of one language, lower-cased or not, and the documents its datasets share."""

    def __init__(self, lang: str, lower: bool, source: ReleaseSource) -> None:
        self.lang, self.lower, self.source = lang, lower, source
        self.namespace = f"{NAME}/{lang}"
        self.docs = DocsHandler(
            lambda: self.load().quotes, GenericDoc, self.namespace, lang, lambda: self.load().key
        )

    def load(self) -> QuoterRelease:
        return _read(self.source.folder() / FILES[self.lang], self.lang, self.lower)

    def record(self) -> Benchmark:
        """The record of the dataset that has the quotes alone."""

        def statistics() -> list[Statistic]:
            return [Statistic("Quotes", len(self.load().quotes))]

        return replace(BENCHMARK, statistics_of=statistics, listed=False).at(self.source)


def _dataset(
    quotes: _Language, split: str, side: ContextSide | None, view_of: str = ""
) -> ir_datasets.Dataset:
    load, lang = quotes.load, quotes.lang
    return ir_datasets.Dataset(
        quotes.docs,
        QueriesHandler(lambda: load().queries(split, side), QuoteQuery, quotes.namespace, lang),
        QrelsHandler(lambda: load().judgments(split), Qrel, GRADES),
        replace(
            BENCHMARK,
            statistics_of=lambda: _statistics(load(), lang, split),
            editions={RELEASE: REPORTED[lang][split][0]},
            breakdowns={"frequency": lambda: load().by_frequency(split)},
            view_of=view_of,
            listed=not quotes.lower and side is None,
        ).at(quotes.source),
    )


def _statistics(release: QuoterRelease, lang: str, split: str) -> list[Statistic]:
    """The figures of the paper's Table 1 for one language and split."""
    seen = {release.golds[number] for number in release.part("train")}
    asked = [release.golds[number] for number in release.part(split)]
    contexts, quotes = REPORTED[lang]["all"]
    here, asked_for = REPORTED[lang][split]
    return [
        Statistic("Contexts", len(release.golds), contexts),
        Statistic("Quotes", len(release.quotes), quotes),
        Statistic("Contexts of the split", len(asked), here),
        Statistic("Quotes of the split", len(set(asked)), asked_for),
        Statistic("Quotes of the split that train lacks", len(set(asked) - seen),
                  0 if split == "train" else 100),
    ]  # fmt: skip
