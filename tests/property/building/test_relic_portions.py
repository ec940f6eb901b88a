"""A work that is read and searched in parts gives what it gives as a whole, wherever it is divided."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from io import BytesIO
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from irtoolkit.base.errors import InputError
from irtoolkit.building.reading import Source
from irtoolkit.building.relic.portions import portions
from irtoolkit.building.relic.quotations import Matching, quotations
from irtoolkit.building.relic.scans import Paragraph, Scan
from irtoolkit.building.relic.shelf import ShelvedBook
from irtoolkit.building.relic.windows import window
from irtoolkit.datasets.editions.edges import edges_of, without
from irtoolkit.datasets.encodings import encoding_of
from tests import critic
from tests.conftest import ALL

BOOKS = {f"book{n}": critic.book(n, 80) for n in range(2)}
LINES = st.sampled_from([
    "A line of it.", "", "_a_ word and _one that goes", "on here_ to the end", "[Illustration: a ship]",
    "[Illustration: a house", "[with a garden]", "and a gate]", "[Illustration, unclosed", "lone _mark",
    "*** START OF THE PROJECT GUTENBERG EBOOK X ***", "*** END OF THE PROJECT GUTENBERG EBOOK X ***",
    "12", "THE ART OF IT  13", "a\fb", "\u201cCaf\u00e9\u201d", "End of Project Gutenberg's X", "c\rd\r", "]",
])  # fmt: skip


def source(data: bytes, size: int) -> Source:
    return Source.of(lambda: BytesIO(data), size)


@given(st.lists(LINES, max_size=60), st.integers(1, 50))
def test_what_publishers_added_is_cut_from_any_pieces(lines: list[str], size: int) -> None:
    text = "\n".join(lines)
    edges = edges_of(f"{line}\n" for line in text.split("\n"))
    pieces = (text[at : at + size] for at in range(0, len(text), size))
    gone = {n for cut in edges.cuts for n in range(cut.first, cut.last + 1)}
    kept = [line for number, line in enumerate(text.split("\n"), 1) if number not in gone]
    assert "".join(without(pieces, edges.cuts)).split("\n")[: len(kept)] == kept


@given(st.binary(max_size=40) | st.text(max_size=30).map(str.encode), st.integers(1, 8))
def test_the_encoding_does_not_depend_on_the_pieces(data: bytes, size: int) -> None:
    """Only the first piece, which tells a file's kind, must be long enough for that."""
    start = b"plain, "
    data = start + data
    pieces = [
        data[: len(start)],
        *(data[at : at + size] for at in range(len(start), len(data), size)),
    ]

    def said(parts: list[bytes]) -> Any:
        try:
            return encoding_of(lambda: iter(parts))
        except InputError as error:
            return str(error)

    assert said(pieces) == said([data])


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> list[ShelvedBook]:
    folder = tmp_path_factory.mktemp("shelf")
    return [ShelvedBook.put(folder / name, name, text) for name, text in BOOKS.items()]


TEXT = critic.article(BOOKS, 7, 42).text.encode()


def paragraphs(block: int, short: bool) -> Iterator[Paragraph]:
    """Those of the work; `short`: one for each sentence, so that quotations go across them."""
    for paragraph in Scan(source(TEXT, block)).paragraphs():
        parts = re.split(r"(?<=\.) ", paragraph.text) if short else [paragraph.text]
        yield from (replace(paragraph, text=part) for part in parts)


def windows(
    shelf: list[ShelvedBook], block: int, short: bool, size: int, margin: int
) -> list[tuple[Any, ...]]:
    find = partial(quotations, books=shelf, matching=Matching())
    found = []
    for portion in portions(paragraphs(block, short), find, size, margin):
        for one in portion.quotations:
            quoted = BOOKS[one.book][one.start : one.start + one.length]
            made = window(portion.document, one, quoted, "en")
            at = replace(one, begin=one.begin + portion.offset, end=one.end + portion.offset)
            found.append((at, made.left, made.right, made.leaks))
    return found


@pytest.fixture(scope="module")
def whole(shelf: list[ShelvedBook]) -> dict[bool, list[tuple[Any, ...]]]:
    large = 2 * len(TEXT)
    return {short: windows(shelf, large, short, large, large) for short in (False, True)}


@settings(
    suppress_health_check=[HealthCheck.too_slow], max_examples=25 if ALL else 10, deadline=None
)
@given(st.integers(2_000, 30_000), st.booleans(), st.integers(2_500, 20_000))
def test_windows_are_those_of_the_whole_work(
    shelf: list[ShelvedBook], whole: dict[bool, Any], block: int, short: bool, size: int
) -> None:
    assert len(whole[short]) > 35
    assert windows(shelf, block, short, size, 3_000) == whole[short]


def test_a_long_quotation_is_divided_and_nothing_is_lost(shelf: list[ShelvedBook]) -> None:
    """An edition of a book; memory must not grow with it."""
    text = BOOKS["book0"]
    edition = [Paragraph(" ".join(text[at : at + 4])) for at in range(0, len(text), 4)]
    find = partial(quotations, books=shelf, matching=Matching())
    parts = list(portions(edition, find, 1_000, 200))
    found = [one for part in parts for one in part.quotations]
    assert len(found) > 1
    assert max(len(part.document.text) for part in parts) < 5_000
    covered = {n for one in found for n in range(one.start, one.start + one.length)}
    assert covered == set(range(len(text)))
