"""Quotations of a few real forms, mapped to sentences, and their windows."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtoolkit.building.relic.marks import Document
from irtoolkit.building.relic.quotations import Matching, Quotation, quotations
from irtoolkit.building.relic.scans import Paragraph
from irtoolkit.building.relic.shelf import ShelvedBook
from irtoolkit.building.relic.windows import window

BOOK = [
    "The river carried grain and timber past the mill before the bridge was built.",
    "Nobody in the village could remember who had planted the orchard behind the chapel.",
    "When the miller died, his daughter locked the wheel and gave the key to the sexton.",
    "She never spoke of it again.",
    "Every spring the children asked her for the story, and every spring she sent them home.",
]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> ShelvedBook:
    return ShelvedBook.put(tmp_path_factory.mktemp("shelf") / "mill", "mill", BOOK)


def found(text: str, shelf: ShelvedBook) -> list[Quotation]:
    return quotations(Document.of([Paragraph(text)]), [shelf], Matching())


@pytest.mark.parametrize(
    ("text", "start", "length", "quoted"),
    [
        ("Of it he writes: “The river carried grain and timber past the mill” in time.", 0, 1,
         "The river carried grain and timber past the mill"),
        ("One reads that nobody in the village could remember who had planted the orchard.", 1, 1,
         "nobody in the village could remember who had planted the orchard"),
        ("“When the miller died ... gave the key to the sexton. She never spoke of it again.”", 2, 2,
         "When the miller died ... gave the key to the sexton. She never spoke of it again"),
        ("“When the rniller died, his daugbter lockcd the wheel and gave thc key to the scxton.”", 2, 1,
         "When the rniller died, his daugbter lockcd the wheel and gave thc key to the scxton"),
        ("“Every spring the children [of the place] asked her for the story” is his.", 4, 1,
         "Every spring the children [of the place] asked her for the story"),
        ("He says “she never spoke of it again” twice.", 3, 1, "she never spoke of it again"),
    ],
    ids=["marks", "unmarked", "ellipsis", "scan", "insertion", "short"],
)  # fmt: skip
def test_forms(text: str, start: int, length: int, quoted: str, shelf: ShelvedBook) -> None:
    (one,) = found(text, shelf)
    assert (one.book, one.start, one.length) == ("mill", start, length)
    assert text[one.begin : one.end] == quoted


@pytest.mark.parametrize(
    "text",
    [
        "A few words of it, who had planted the trees, are no quotation.",
        "The wheel and the key, the sexton and the daughter, are all of them in the book.",
        "“The river ran and the mill stood still before the war was won and the bridge burnt.”",
    ],
)
def test_what_is_no_quotation(text: str, shelf: ShelvedBook) -> None:
    assert found(text, shelf) == []


def test_two_books_with_the_same_words(shelf: ShelvedBook, tmp_path: Path) -> None:
    twin = ShelvedBook.put(tmp_path / "twin", "twin", BOOK[1:3])
    text = "“Nobody in the village could remember who had planted the orchard.”"
    (one,) = quotations(Document.of([Paragraph(text)]), [shelf, twin], Matching())
    assert one.places == 2


def test_a_window_ends_where_the_quotation_begins_and_has_no_leak(shelf: ShelvedBook) -> None:
    paragraphs = [
        "HEADING",
        "First of all. Second of all.",
        "Third: the daughter locked the wheel and gave the key away at once. Fourth, he says. Fifth:"
        " “When the miller died, his daughter locked the wheel and gave the key to the sexton.”"
        " Sixth he adds. Seventh.",
        "NEXT HEADING",
        "Eighth.",
    ]
    document = Document.of([Paragraph(p, heading=p.isupper()) for p in paragraphs])
    (one,) = [q for q in quotations(document, [shelf], Matching()) if q.kind == "marks"]
    made = window(document, one, BOOK[2:3], "en")
    assert made.left == (
        "Second of all.",
        "Third: the away at once.",
        "Fourth, he says.",
        "Fifth:",
    )
    assert made.right == ("Sixth he adds.", "Seventh.")
    assert made.leaks == 1
