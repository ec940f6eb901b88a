"""Texts in pieces: what is left out of them, where they are cut, and how much of them is in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtoolkit.building.quoter.corpus import look_at, pieces
from irtoolkit.building.quoter.finder import Patterns, Search
from irtoolkit.building.quoter.letters import letters, unit_of
from irtoolkit.building.quoter.quotes import Quote
from irtoolkit.building.shelves import TextFile

HEADER = "Title: Essays\n\n*** START OF THE PROJECT GUTENBERG EBOOK ESSAYS ***\n"
FOOTER = "\n*** END OF THE PROJECT GUTENBERG EBOOK ESSAYS ***\nUpdated editions of this eBook: "
QUOTE = "Brevity is the soul of wit"
PATTERNS = Patterns([Quote(QUOTE, (letters(QUOTE),), (6,))], 7)


def found(path: Path, size: int = 1 << 20) -> list[int]:
    text = look_at(TextFile(path, "text"))
    search = Search(PATTERNS)
    return [
        piece.offset + occurrence.begin
        for piece in pieces(text, PATTERNS.longest, 400, size)
        for occurrence in search.occurrences(piece)
    ]


@pytest.mark.parametrize(
    "printed",
    [
        "Brevity [Pg 12] is the soul{12} of wit",
        "Brevity is the soul[1] of[A] wit",
        "Brevity is the soul\n  112\nof wit",
        "Brevity is [Illustration: a soul] the soul of wit",
        "BREVITY\tIS\tTHE--soul\u2026 of \u201cwit\u201d",
        "Brevity is the s\u00f6ul of w\u0131\u0301t".replace("\u0131\u0301", "\u00ed"),
        "Bre\u00advity is the so\u00adul of wit",
    ],
)
def test_what_an_edition_adds_does_not_count(printed: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"He said: {printed}. Then he went.", "utf-8")
    assert found(tmp_path / "a.txt") == [9]


@pytest.mark.parametrize(
    "printed",
    [
        "Abrevity is the soul of wit",
        "Brevity is the soul of wits",
        "Brevity is the very soul of wit",
        "Brevity is the soul of wit's own",
        "Brevity is the soul" + " . " * 60 + "of wit",
    ],
)
def test_other_words_do(printed: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"He said: {printed}. Then he went.", "utf-8")
    assert found(tmp_path / "a.txt") == []


def test_no_word_goes_on_from_one_sentence_of_a_quote_to_the_next(tmp_path: Path) -> None:
    parts = tuple(map(letters, ("Then come in", "To the mill we go")))
    patterns = Patterns([Quote("Then come in. To the mill we go", parts, (3, 5))], 7)
    (tmp_path / "a.txt").write_text(
        "Then come into the mill we go; then come in to the mill we go."
    )
    text = look_at(TextFile(tmp_path / "a.txt", "text"))
    search = Search(patterns)
    places = [o.begin for p in pieces(text, 40, 400) for o in search.occurrences(p)]
    assert places == [31]


@pytest.mark.parametrize("size", [40, 100, 1 << 20])
def test_headers_and_footers_are_no_text(size: int, tmp_path: Path) -> None:
    body = f"{QUOTE}. " + "Much was said of it. " * 30 + f"{QUOTE}."
    text = f"{QUOTE}.\n{HEADER}{body}{FOOTER}{QUOTE}."
    (tmp_path / "a.txt").write_text(text, "utf-8")
    first = text.index(body)
    assert found(tmp_path / "a.txt", size) == [first, first + body.rindex(QUOTE)]


def test_a_text_without_letters_is_read_in_pieces_too(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("* " * 200_000 + QUOTE, "utf-8")
    assert found(tmp_path / "a.txt", 1000) == [400_000]


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("To be or not to be", "words"),
        ("靡不有初，鲜克有终", "characters"),
        ("吾輩は猫である", "characters"),
        ("ความรู้คืออำนาจ", "characters"),
        ("아는 것이 힘이다", "words"),
        ("Знание — сила", "words"),
    ],
)
def test_the_unit_is_that_of_the_script(text: str, unit: str) -> None:
    assert unit_of(text) == unit
