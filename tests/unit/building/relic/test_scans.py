"""Cleaning of printed and scanned text."""

from __future__ import annotations

from io import BytesIO

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.building.reading import Source
from irtoolkit.building.relic.scans import Paragraph, Scan


def read(data: bytes) -> tuple[Scan, list[Paragraph]]:
    scan = Scan(Source.of(lambda: BytesIO(data)))
    return scan, list(scan.paragraphs())


def texts(text: str) -> list[str]:
    return [paragraph.text for paragraph in read(text.encode())[1]]


def test_words_that_are_divided_at_line_ends_are_joined() -> None:
    assert texts("It was a remark-\nable and well-\nknown book, well-known to all.") == [
        "It was a remarkable and well-known book, well-known to all."
    ]


def test_a_paragraph_goes_on_after_a_page() -> None:
    pages = [
        "Darcy's earlier indictment of him is con-", "", "196     MARK HENNELLY", "",
        "firmed, though, and Elizabeth sees it. And the", "", "[197]", "", "MARK HENNELLY", "",
        "eyes of all were opened.", "", "Another paragraph.", "", "198     MARK HENNELLY",
    ]  # fmt: skip
    assert texts("\n".join(pages)) == [
        "Darcy's earlier indictment of him is confirmed, though, and Elizabeth sees it. And the eyes of"
        " all were opened.",
        "Another paragraph.",
    ]


@pytest.mark.parametrize("aside", ["(and so she said)", "(1851)", "(I know)"])
def test_what_is_no_citation_stays(aside: str) -> None:
    assert texts(f"The book {aside} is long.") == [f"The book {aside} is long."]


def test_footnotes_and_their_marks_are_removed() -> None:
    said = 'He says so.[1] And "again."2 And a third time.*\n\n[1] In a letter to Forster.\n\nThe end of it.'
    assert texts(said) == ['He says so. And "again." And a third time.', "The end of it."]


def test_paragraphs_that_are_set_off_are_known() -> None:
    text = "He says of the house in which he lives:\n\n    It was a large house\n    of brick.\n\nAnd so on, he says, until the end."
    assert [p.set_off for p in read(text.encode())[1]] == [False, True, False]


def test_a_publishers_header_line_ends_and_a_refrain() -> None:
    body = "A line of it.\r\n\r\nOh leave me here,\r\n\r\nOh leave me here,\r\n\r\nOh leave me here,\r\n"
    head = "Title: Essays\r\n*** START OF THE PROJECT GUTENBERG EBOOK ESSAYS ***\r\n"
    scan, paragraphs = read(
        (head + body + "*** END OF THE PROJECT GUTENBERG EBOOK ***\r\nLicence").encode()
    )
    assert scan.source.edges.title == "Essays"
    assert [p.text for p in paragraphs] == ["A line of it.", *["Oh leave me here,"] * 3]


def test_latin_1_is_read() -> None:
    scan, paragraphs = read("Selma Lagerlöf's moonïness".encode("latin-1"))
    assert scan.source.encoding == "windows-1252"
    assert paragraphs[0].text == "Selma Lagerlöf's moonïness"


@pytest.mark.parametrize(
    ("data", "said", "line"),
    [
        ("é là\nñ ü\n".encode() + b"caf\xe9\n", "byte 0xe9 at offset 16", 3),
        (b"plain\nthen \x81 this\n", "byte 0x81 at offset 11", 2),
        (b"a\0b", "zero bytes", None),
        (b"[12]\n\n* * *\n", "no text", None),
    ],
    ids=["damaged UTF-8", "neither", "binary", "no words"],
)
def test_what_is_no_text_is_refused(data: bytes, said: str, line: int | None) -> None:
    with pytest.raises(InputError, match=said) as error:
        read(data)
    assert error.value.line == line
