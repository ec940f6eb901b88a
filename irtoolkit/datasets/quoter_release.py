"""The files of QuoteR's release: contexts of quotes, one language a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

import pyarrow as pa
from ir_datasets.formats import GenericDoc

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_lines
from irtoolkit.base.plurals import number_of
from irtoolkit.base.records import Qrel
from irtoolkit.datasets.cache import CacheWriter, Tables, parsed
from irtoolkit.datasets.columns import Records, TableRows
from irtoolkit.datasets.strictjson import TRUNCATED

SPLITS = ("train", "val", "test")
FILES = {"en": "english.txt", "zh": "modern_chinese.txt", "lzh": "ancient_chinese.txt"}
# Lines of the published files: the first ones of validation and test, and the number of lines (§4).
PUBLISHED = {
    "en": (101171, 113942, 126713),
    "zh": (32472, 36657, 40842),
    "lzh": (93031, 104784, 116537),
}


def file_of(lang: str) -> str:
    """Returns the file name of a language; the release defines three."""
    return FILES.get(lang, f"{lang}.txt")


# Bands of how often a quote is in train. The paper does not print the bounds of Figure 2; 0 is for
# quotes that train lacks.
BANDS = (0, 1, 5, 10, 20, 50, 100, 150)


def band_names() -> list[str]:
    """Returns the names of the bands, in order."""
    inner = [str(a) if b == a + 1 else f"{a}-{b - 1}" for a, b in pairwise(BANDS)]
    return [f"{name} in train" for name in (*inner, f"{BANDS[-1]}+")]


Bounds = tuple[int, int]
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
        """Returns the context with a token in place of the quote (§5.1)."""
        return f"{self.left} {token} {self.right}".strip()

    def default_text(self) -> str:
        """Returns both sides of the context."""
        return self.context


_SCHEMAS = {
    "quotes": {"text": pa.string()},
    "contexts": {"left": pa.string(), "quote": pa.int32(), "right": pa.string()},
}


class QuoterRelease:
    """A language: its quotes in the order they first appear, and its contexts in file order.

    Args:
        lang: the language.
        tables: its columns.
        bounds: the first lines of validation and test, if they differ from the release's.

    Attributes:
        key: the key of its columns, see `irtoolkit.datasets.cache.Tables`.
    """

    def __init__(self, lang: str, tables: Tables, bounds: Bounds | None = None) -> None:
        self._bounds = bounds
        self._lang, self.key, self._contexts = lang, tables.key, tables["contexts"]
        self.golds: list[int] = self._contexts["quote"].to_pylist()
        quotes = tables["quotes"]
        self.docs: Records[GenericDoc] = Records(
            lambda: [self.quote_id(number) for number in range(len(quotes))],
            TableRows(quotes, lambda number, text: GenericDoc(self.quote_id(number), text)),
        )

    def quote_id(self, number: int) -> str:
        """Returns the document id of a quote."""
        return f"{self._lang}-q{number + 1}"

    def query_id(self, number: int) -> str:
        """Returns the query id of a context: its language and line number."""
        return f"{self._lang}-{number + 1}"

    def part(self, split: str) -> range:
        """Returns the contexts of a split: the published lines, or 8:1:1 in other files."""
        lines = len(self._contexts)
        *bounds, total = PUBLISHED.get(self._lang, (0, 0, -1))
        if lines != total:
            bounds = [lines * 8 // 10, lines * 9 // 10]
        first, second = self._bounds or bounds
        return {
            "train": range(first),
            "val": range(first, second),
            "test": range(second, lines),
        }[split]

    def queries(self, split: str, side: ContextSide | None) -> TableRows[QuoteQuery]:
        """Returns the queries of a split, with both sides of the context or one."""

        def make(number: int, left: str, _: int, right: str) -> QuoteQuery:
            texts = (left if side != "right" else "", right if side != "left" else "")
            return QuoteQuery(self.query_id(number), *texts)

        return TableRows(self._contexts, make, self.part(split))

    def judgments(self, split: str) -> Iterator[Qrel]:
        """Yields the judgments of a split: the quote of each context."""
        for number in self.part(split):
            yield Qrel(self.query_id(number), self.quote_id(self.golds[number]), 1)

    def by_frequency(self, split: str) -> dict[str, list[str]]:
        """Returns the queries of a split by how often their quote is in train (§6.5, Figure 2)."""
        frequencies = Counter(self.golds[number] for number in self.part("train"))
        parts: dict[str, list[str]] = {}
        for name, low, high in zip(band_names(), BANDS, (*BANDS[1:], None), strict=True):
            parts[name] = [
                self.query_id(number)
                for number in self.part(split)
                if low <= frequencies[self.golds[number]]
                and (high is None or frequencies[self.golds[number]] < high)
            ]
        return {name: members for name, members in parts.items() if members}


def read_quoter(
    path: Path, lang: str, lower: bool = False, bounds: Bounds | None = None
) -> QuoterRelease:
    """Parses and checks the file of one language, or maps its columns from the cache.

    Args:
        path: the file.
        lang: en, zh, lzh, or another code.
        lower: whether to lower-case all texts before equal quotes are merged.
        bounds: the first lines of validation and test, if they differ from the release's.

    Raises:
        InputError: a line is not left context, quote, right context; or a quote is empty.
    """
    kind = f"quoter-{lang}" + ("-lower" if lower else "")
    tables = parsed(kind, [path], _SCHEMAS, partial(_parse, path, lower))
    return QuoterRelease(lang, tables, bounds)


def _parse(path: Path, lower: bool, out: CacheWriter) -> None:
    numbers: dict[str, int] = {}
    line_number = 0
    for line_number, line in read_lines(path):
        fields = [field.strip() for field in (line.lower() if lower else line).split("\t")]
        problem = None
        if len(fields) != 3:
            problem = f"{number_of(len(fields) - 1, 'tabs')} instead of 2"
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
