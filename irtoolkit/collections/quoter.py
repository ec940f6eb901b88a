"""QuoteR: recommend the quote that fits a context (Qi et al. 2022).

Datasets `quoter/{en,zh,lzh}/{train,val,test}`: English, modern and classical Chinese; the same
under `quoter/sample`, invented miniatures that ship with the package. A query ranks every quote of
its language.
"""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import ir_datasets
from ir_datasets.formats import GenericDoc

from irtoolkit.collections.handlers import (
    Benchmark,
    Docs,
    Judgments,
    Protocol,
    Queries,
    Statistic,
)
from irtoolkit.collections.source import DATA_VARIABLE, Source, sample_source
from irtoolkit.collections.strictjson import TRUNCATED
from irtoolkit.errors import InputError
from irtoolkit.files import read_lines
from irtoolkit.records import Qrel

NAME = "quoter"
SPLITS = ("train", "val", "test")
FILES = {"en": "english.txt", "zh": "modern_chinese.txt", "lzh": "ancient_chinese.txt"}
# Lines of the published files: where validation and test begin, and how many there are (§4).
PUBLISHED = {
    "en": (101171, 113942, 126713),
    "zh": (32472, 36657, 40842),
    "lzh": (93031, 104784, 116537),
}
# §6.3. NDCG@5 has one gold quote, so any discount that is 1/log2(rank + 1) gives it.
MEASURES = ("RR", "nDCG@5", "MedianRank", "Rank", "StdRank", "R@1", "R@10", "R@100")
GRADES = {1: "the quote that stood in the context"}
URL = "https://github.com/thunlp/QuoteR"
BIBTEX = """@inproceedings{qi2022quoter,
  title={{QuoteR}: A Benchmark of GenericDoc Recommendation for Writing},
  author={Qi, Fanchao and Yang, Yanhui and Yi, Jing and Cheng, Zhili and Liu, Zhiyuan and
          Sun, Maosong},
  booktitle={Proceedings of ACL},
  year={2022}
}"""


class QuoteQuery(NamedTuple):
    """A context that a quote has been taken out of; the id is its language and line number."""

    query_id: str
    left: str
    right: str

    @property
    def context(self) -> str:
        """Both sides, joined by a space."""
        return f"{self.left} {self.right}"

    def with_mask(self, token: str) -> str:
        """The context with a token where the quote stood (§5.1)."""
        return f"{self.left} {token} {self.right}"

    def default_text(self) -> str:
        """Both sides of the context."""
        return self.context


class Release(NamedTuple):
    """One language: its quotes, its contexts in file order, and each context's quote.

    Quotes are numbered by first appearance.
    """

    quotes: dict[str, GenericDoc]
    queries: list[QuoteQuery]
    golds: list[str]
    bounds: tuple[int, int]

    def part(self, split: str) -> slice:
        """The contexts of a split."""
        first, second = self.bounds
        return {"train": slice(first), "val": slice(first, second), "test": slice(second, None)}[
            split
        ]


@cache
def read_release(path: Path, lang: str) -> Release:
    """Parses and checks one language's file.

    Raises:
        InputError: a line that is not left context, quote, right context, or an empty quote.
    """
    ids: dict[str, str] = {}
    queries, golds = [], []
    for number, line in read_lines(path):
        fields = line.split("\t")
        problem = None
        if len(fields) != 3:
            problem = f"{len(fields) - 1} tabs instead of 2"
        elif not fields[1].strip():
            problem = "an empty quote"
        elif not (fields[0].strip() or fields[2].strip()):
            problem = "a quote without context"
        if problem is not None:
            raise InputError(
                f"{problem}: a line is left context, quote, right context",
                file=path,
                line=number,
                remedy=TRUNCATED,
            )
        left, quote, right = (field.strip() for field in fields)
        golds.append(ids.setdefault(quote, f"{lang}-q{len(ids) + 1}"))
        queries.append(QuoteQuery(f"{lang}-{number}", left, right))
    if not queries:
        raise InputError("no contexts", file=path, remedy=TRUNCATED)
    quotes = {doc_id: GenericDoc(doc_id, text) for text, doc_id in ids.items()}
    return Release(quotes, queries, golds, _bounds(lang, len(queries)))


def _bounds(lang: str, lines: int) -> tuple[int, int]:
    """Where validation and test begin: the published lines, or 8:1:1 for a file of another size."""
    first, second, total = PUBLISHED[lang]
    return (first, second) if lines == total else (lines * 8 // 10, lines * 9 // 10)


def register(add: Callable[[str, ir_datasets.Dataset], None]) -> None:
    """Declares every QuoteR dataset; opens no file."""
    for prefix, sample in ((NAME, False), (f"{NAME}/sample", True)):
        for lang in FILES:
            source = _source(lang, sample)
            load = partial(_load, source, lang)
            docs = Docs(partial(_quotes, load), GenericDoc, f"{NAME}/{lang}", lang)
            for split in SPLITS:
                add(f"{prefix}/{lang}/{split}", _dataset(load, docs, source, lang, split))


def _source(lang: str, sample: bool) -> Source:
    if sample:
        return sample_source(NAME, (FILES[lang],))
    howto = f"get the data from {URL} and put {FILES[lang]} into ${DATA_VARIABLE}/{NAME}/"
    return Source(NAME, (FILES[lang],), howto)


def _load(source: Source, lang: str) -> Release:
    return read_release(source.folder() / FILES[lang], lang)


def _quotes(load: Callable[[], Release]) -> dict[str, GenericDoc]:
    return load().quotes


def _dataset(
    load: Callable[[], Release], docs: Docs, source: Source, lang: str, split: str
) -> ir_datasets.Dataset:
    def queries() -> list[QuoteQuery]:
        release = load()
        return release.queries[release.part(split)]

    def judgments() -> list[Qrel]:
        release = load()
        part = release.part(split)
        pairs = zip(release.queries[part], release.golds[part], strict=True)
        return [Qrel(query.query_id, gold, 1) for query, gold in pairs]

    return ir_datasets.Dataset(
        docs,
        Queries(queries, QuoteQuery, f"{NAME}/{lang}", lang),
        Judgments(judgments, Qrel, GRADES),
        Benchmark(
            name=NAME,
            title="QuoteR" + (" (invented sample)" if source.sample else ""),
            paper="Qi et al. 2022, ACL",
            url=URL,
            licence="Apache-2.0" if source.sample else "see the repository",
            bibtex=BIBTEX,
            where=source.where,
            howto=source.howto,
            description="Quotes for the contexts they were taken out of, among all quotes of the"
            " language.",
            protocol_of=lambda: Protocol(MEASURES),
            statistics_of=lambda: statistics(load(), split),
        ),
    )


def statistics(release: Release, split: str) -> list[Statistic]:
    """The figures of the paper's Table 1 for one language and split."""
    part = release.part(split)
    seen, asked = set(release.golds[release.part("train")]), release.golds[part]
    return [
        Statistic("Quotes", len(release.quotes)),
        Statistic("Contexts", len(release.queries)),
        Statistic("Contexts of the split", len(asked)),
        Statistic("Quotes of the split", len(set(asked))),
        Statistic("Quotes of the split that train lacks", len(set(asked) - seen)),
    ]
