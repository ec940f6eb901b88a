"""EPUB, HTML, Markdown and TEI as books: what is text, what is apart from it, and what is refused."""

from __future__ import annotations

import io
import zipfile

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.book_accounts import account_of
from irtoolkit.datasets.editions.edition import Edition
from irtoolkit.datasets.editions.reading import read_edition
from irtoolkit.datasets.novels import novel_of_edition

XHTML = (
    '<?xml version="1.0" encoding="utf-8"?>\n<html xmlns="http://www.w3.org/1999/xhtml" '
    'xmlns:epub="http://www.idpf.org/2007/ops"><head><title>File</title><script src="a.js"/>'
    "<style>p {{}}</style></head>\n<body>{}</body></html>"
)
CHAPTER = (
    '<section><h2>Chapter {0}: The Oil</h2>\n<p>The wheel<a epub:type="noteref" href="#n">1</a> went &eacute; round. '
    'She said <i>noth\u00ading</i>.<span epub:type="pagebreak" id="p3">3</span> More.</p>\n<p>Verse one<br/>verse two.</p>'
    '<script>alert("no")</script><aside epub:type="footnote" id="n"><p>A note {0}.</p></aside></section>'
)
SENTENCES = ["The wheel went \u00e9 round.", "She said nothing.", "More.", "Verse one verse two."]
CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/c.opf"/></rootfiles></container>'
)
TEI = (
    '<?xml version="1.0"?><TEI xmlns="http://www.tei-c.org/ns/1.0" xml:lang="en"><teiHeader><fileDesc><titleStmt>'
    "<title>The Mill</title><author>N. N.</author></titleStmt></fileDesc></teiHeader><text><body>{}</body></text></TEI>"
)
PLAY = (
    "<div><head>Act I</head><div><head>Scene 1</head><stage>Enter Anna.</stage><sp><speaker>ANNA</speaker>"
    '<l>The wheel goes round,</l><l>and so do I.</l></sp><sp><speaker>BEN</speaker><p>I see<note place="foot">A note.'
    "</note> it, <choice><sic>teh</sic><corr>the</corr></choice> wheel.</p></sp></div></div>"
    "<div><head>Act II</head><div><head>Scene 1</head><lg><l>One line</l><l>and another.</l></lg></div></div>"
)


def epub(
    documents: dict[str, str], others: dict[str, bytes] | None = None, spine: str = ""
) -> bytes:
    """An EPUB of some documents."""
    out = io.BytesIO()
    items = "".join(
        f'<item id="i{n}" href="{name}" media-type="application/xhtml+xml"/>'
        for n, name in enumerate(documents)
    )
    refs = spine or "".join(f'<itemref idref="i{n}"/>' for n in range(len(documents)))
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
        "<dc:title>The Mill</dc:title><dc:creator>N. N.</dc:creator><dc:language>en-GB</dc:language></metadata>"
        f'<manifest>{items}<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/></manifest>'
        f'<spine><itemref idref="nav"/>{refs}</spine></package>'
    )
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("mimetype"), "application/epub+zip")
        archive.writestr("META-INF/container.xml", CONTAINER)
        archive.writestr("OEBPS/c.opf", package)
        archive.writestr(
            "OEBPS/nav.xhtml", XHTML.format("<nav><ol><li>Chapter 1: The Oil</li></ol></nav>")
        )
        for name, text in documents.items():
            archive.writestr(f"OEBPS/{name}", text)
        for name, data in (others or {}).items():
            archive.writestr(name, data)
    return out.getvalue()


def book() -> bytes:
    return epub({f"{n}.xhtml": XHTML.format(CHAPTER.format(n)) for n in (1, 2)})


def read(data: bytes | str, name: str = "x") -> Edition:
    """The edition of some bytes; nothing of it may be lost."""
    found = read_edition(data if isinstance(data, bytes) else data.encode(), name)
    assert account_of(found, novel_of_edition(found, "x")).unaccounted == 0
    return found


def test_an_epub_is_a_book() -> None:
    found = read(book())
    novel = novel_of_edition(found, "x")
    assert (novel.title, novel.author, novel.lang) == ("The Mill", "N. N.", "en")
    assert list(novel.sentences) == SENTENCES * 2
    assert [chapter.title for chapter in novel.chapters] == [
        "Chapter 1: The Oil",
        "Chapter 2: The Oil",
    ]
    assert [note.text for note in found.notes] == ["A note 1.", "A note 2."]
    assert {piece.reason for piece in found.dropped} == {
        "title of the page", "style", "script", "page number", "mark of a note", "navigation", "control character",
    }  # fmt: skip
    assert {piece.part for piece in found.dropped if piece.reason == "script"} == {
        "OEBPS/1.xhtml",
        "OEBPS/2.xhtml",
    }


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_html_is_a_book_in_any_encoding(encoding: str) -> None:
    body = "<h1>La Meule</h1><p>L'\u00e9t\u00e9 tout enti&egrave;re.</p><div class=footnotes><p>Une note.</p></div><nav>Menu</nav>"
    page = f"<!DOCTYPE html><html><head><meta charset={encoding}></head><body>{body}</body></html>"
    found = read(page.encode(encoding))
    assert [block.text for block in found.text_blocks()] == [
        "La Meule",
        "L'\u00e9t\u00e9 tout enti\u00e8re.",
    ]
    assert [note.text for note in found.notes] == ["Une note."]


def test_a_web_page_of_project_gutenberg_has_no_header() -> None:
    page = (
        "<html><body><pre>The Project Gutenberg EBook of The Mill\n\nTitle: The Mill\n\n*** START OF THE PROJECT GUTENBERG "
        "EBOOK THE MILL ***</pre><h2>CHAPTER I</h2><p>She came.</p><p>*** END OF THE PROJECT GUTENBERG EBOOK THE MILL ***</p>"
        "<p>Project Gutenberg License: copy it.</p></body></html>"
    )
    found = read(page)
    assert [block.text for block in found.blocks] == ["CHAPTER I", "She came."]
    assert found.title == "The Mill"
    boilerplate = (
        '<html><body><section id="pg-header">Words.</section><p>She came.</p></body></html>'
    )
    assert [block.text for block in read(boilerplate).blocks] == ["She came."]


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("A Page", "A Page"),
        ("\n  The Mill &amp;\n the Oil ", "The Mill & the Oil"),
        ("The Mill | Project Gutenberg", "The Mill"),
        ("The Project Gutenberg eBook of The Mill, by N. N.", "The Mill"),
        ("The Mill - Wikisource, the free online library", "The Mill"),
        ("The Index of Pages", "The Index of Pages"),
        ("Untitled Document", "x"),
        ("index 2", "x"),
        ("", "x"),
    ],
)
def test_a_web_page_has_the_title_of_its_head(written: str, title: str) -> None:
    page = f"<html><head><title>{written}</title></head><body><p>She came.</p></body></html>"
    assert novel_of_edition(read(page), "x").title == title
    headed = page.replace("<p>", "<p>Title: The Wheel</p><p>Author: N. N.</p><p>")
    assert read(headed).title == "The Wheel"


def test_a_picture_names_no_page() -> None:
    page = "<html><body><svg><title>A Wheel</title></svg><p>She came.</p></body></html>"
    assert read(page).title == ""


def test_markdown_has_headings_and_no_marks() -> None:
    text = (
        "The Mill\n========\n\nShe *never* **came** to [the mill](http://x.org/a).\n\nThe Oil\n-------\n\n"
        "<!-- a comment\nof two lines -->\n\n> He said so.[^1]\n\n## The Wick\n\nIt burned \\* at last.\n\n[^1]: In a letter.\n"
    )
    found = read(text, "mill.md")
    assert [block.text for block in found.text_blocks()] == [
        "The Mill", "She never came to the mill.", "The Oil", "He said so.", "The Wick", "It burned * at last.",
    ]  # fmt: skip
    assert [note.text for note in found.notes] == ["[^1]: In a letter."]
    assert "*never*" in " ".join(block.text for block in read(text, "mill.txt").blocks)


def test_tei_has_speakers_lines_and_notes_apart() -> None:
    found = read(TEI.format(PLAY))
    novel = novel_of_edition(found, "x")
    assert (novel.title, novel.author, novel.lang) == ("The Mill", "N. N.", "en")
    assert list(novel.sentences) == [
        "Enter Anna.", "ANNA", "The wheel goes round, and so do I.", "BEN", "I see it, the wheel.", "One line and another.",
    ]  # fmt: skip
    assert [chapter.title for chapter in novel.chapters] == [
        "Act I \u00b7 Scene 1",
        "Act II \u00b7 Scene 1",
    ]
    assert [note.text for note in found.notes] == ["A note."]


ENCRYPTED = b'<encryption><EncryptedData><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/></EncryptedData></encryption>'  # fmt: skip
LAUGHS = (
    '<!DOCTYPE TEI [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
    + TEI.format("<p>&b;</p>").partition("?>")[2]
)
OUTSIDE = (
    '<!DOCTYPE TEI [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
    + TEI.format("<p>&a;</p>").partition("?>")[2]
)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (epub({"../../etc/passwd": "x"}), "outside of itself"),
        (epub({"/etc/passwd": "x"}), "outside of itself"),
        (epub({"1.xhtml": "<html><body><p>" + "a " * (17 << 20)}), "larger than 32 MB"),
        (epub({f"{n}.xhtml": "<p>" + "a " * (15 << 20) for n in range(4)}), "100 MB in all"),
        (epub({"1.xhtml": "x"}, {"META-INF/encryption.xml": ENCRYPTED}), "protected"),
        (epub({"1.xhtml": "x"}, spine='<itemref idref="none"/>'), "no sentence"),
        (book()[:-400], "EPUB"),
        (LAUGHS.encode(), "entities"),
        (OUTSIDE.encode(), "entities"),
        (b'<?xml version="1.0"?><book><p>x</p></book>', "root <book>"),
        (b'<?xml version="1.0"?><TEI><p>x</TEI>', "not well-formed"),
        (b"<html><body><script>x()</script></body></html>", "no sentence"),
    ],
    ids=["traversal", "absolute", "bomb", "many bombs", "protected", "empty spine", "damaged", "laughs", "outside", "other XML", "broken XML", "scripts"],
)  # fmt: skip
def test_what_is_hostile_or_damaged_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        novel_of_edition(read_edition(data, "x"), "x")


def test_deep_trees_and_pictures_do_no_harm() -> None:
    deep = "<html><body>" + "<div>" * 20_000 + "<p>She came.</p>"
    with pytest.raises(InputError, match="nested too deep"):
        read_edition(deep.encode(), "x")
    deep = "<html><body>" + "<div>" * 500 + "<p>She came.</p>"
    assert [block.text for block in read_edition(deep.encode(), "x").blocks] == ["She came."]
    found = read(
        epub({"1.xhtml": XHTML.format(CHAPTER.format(1))}, {"OEBPS/a.jpg": bytes(20 << 20)})
    )
    assert len(novel_of_edition(found, "x").sentences) == 4


def test_footnotes_that_only_links_mark_are_notes() -> None:
    page = (
        '<p>The mill<a href="#n1" id="r1"><sup>1</sup></a> stood. It<a href="#n2" id="r2">[2]</a> fell.</p>'
        '<p id="n1"><a href="#r1">1</a>. An old mill.</p><ol><li id="n2"><p><a href="#r2">2</a> Late.</p></li></ol>'
    )
    found = read(epub({"1.xhtml": XHTML.format(page)}))
    assert [note.text for note in found.notes] == ["1. An old mill.", "2 Late."]
    assert "The mill stood." in novel_of_edition(found, "x").sentences
    contents = '<p id="t1"><a href="#c1">1</a> The Oil</p><h2 id="c1"><a href="#t1">1</a> The Oil</h2><p>It went out.</p>'
    assert not read_edition(f"<html><body>{contents}</body></html>".encode(), "x").notes


def test_hidden_text_and_parts_of_web_pages() -> None:
    found = read_edition(
        b'<h2>One</h2><p style="display: none">secret</p><p>She came.</p>', "x.html"
    )
    assert [block.text for block in found.blocks] == ["One", "She came."]
    assert [piece.reason for piece in found.dropped] == ["hidden text"]


def test_tags_and_entities_of_markdown_are_dropped() -> None:
    found = read_edition(b"# One\n\nA <em>mill</em> &amp; a <br>wheel.\n", "x.md")
    assert [block.text for block in found.blocks] == ["One", "A mill & a wheel."]
    assert (
        found.characters
        == 7
        + len("Amill&awheel.")
        + sum(len("".join(piece.text.split())) for piece in found.dropped)
        - 4
    )
