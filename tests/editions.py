"""Invented editions of invented books in ten languages, with what a reader would say is in them."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple


class Language(NamedTuple):
    """How a language is written.

    Attributes:
        words: of its prose.
        named: sentences with abbreviations and initials, each one sentence.
        marks: around what is said.
        said: what follows it.
        chapter: a heading with the number {0} and the title {1}; or without a title.
        contents: the name of a table of contents.
    """

    words: str
    named: tuple[str, ...]
    marks: tuple[str, str]
    said: str
    chapter: str
    contents: str


LANGUAGES = {
    "en": Language(
        "the mill wheel river stone lamp horse never slowly turned slept under garden night rain window path sack and of",
        ("The critic E.M. Forster met Mrs. Hale at St. Clair.", "Marsh et al. (2004) went to No. 5 with Dr. Lowe."),
        ("\u201c", "\u201d"), "said the miller", "CHAPTER {0}. {1}", "CONTENTS",
    ),
    "fr": Language(
        "le moulin la roue rivi\u00e8re pierre lampe cheval jamais lentement tournait dormait sous jardin nuit pluie et les des est que",
        ("M. Roux et Mme Blanc virent Mgr Durand.", "Il habitait au no. 5, chez M. J. Petit."),
        ("\u00ab\u00a0", "\u00a0\u00bb"), "dit le meunier", "CHAPITRE {0}. {1}", "TABLE DES MATI\u00c8RES",
    ),
    "de": Language(
        "die M\u00fchle das Rad der Fluss Stein Lampe Pferd nicht langsam drehte schlief unter Garten Nacht Regen und sich mit den ist",
        ("Am 3. Mai kam Hr. Busch, d. h. der Vater.", "Er traf Dr. Krone am 12. Oktober im 19. Jahrhundert."),
        ("\u00bb", "\u00ab"), "sagte der M\u00fcller", "{0}. Kapitel. {1}", "INHALT",
    ),
    "es": Language(
        "el molino la rueda los r\u00edo piedra l\u00e1mpara caballo nunca despacio giraba dorm\u00eda bajo jard\u00edn noche lluvia y que de en no",
        ("La Sra. P\u00e9rez y el Sr. Ruiz vieron a D. Luis.", "Ud. Sabe que el Dr. Mora vive aqu\u00ed."),
        ("\u00ab", "\u00bb"), "dijo el molinero", "Cap\u00edtulo {0}. {1}", "\u00cdNDICE",
    ),
    "it": Language(
        "il mulino la ruota fiume pietra lampada cavallo mai piano girava dormiva sotto giardino notte pioggia e che di un non per",
        ("Il sig. Rossi e la sig.ra Bianchi videro il dott. Neri.", "Il prof. Verdi e J. B. Conti partirono."),
        ("\u00ab", "\u00bb"), "disse il mugnaio", "CAPITOLO {0}. {1}", "INDICE",
    ),
    "sv": Language(
        "kvarnen hjulet floden stenen lampan h\u00e4sten aldrig sakta snurrade sov under natten regnet och det att en som inte med p\u00e5",
        ("Hon teg, d.v.s. Anna teg.", "Dr. Berg kom kl. 5 med bl.a. Karin."),
        ("\u201d", "\u201d"), "sade mj\u00f6lnaren", "KAPITEL {0}. {1}", "INNEH\u00c5LL",
    ),
    "ru": Language(
        "\u043c\u0435\u043b\u044c\u043d\u0438\u0446\u0430 \u043a\u043e\u043b\u0435\u0441\u043e \u0440\u0435\u043a\u0430 \u043a\u0430\u043c\u0435\u043d\u044c \u043b\u0430\u043c\u043f\u0430 \u043b\u043e\u0448\u0430\u0434\u044c \u043d\u0438\u043a\u043e\u0433\u0434\u0430 \u043c\u0435\u0434\u043b\u0435\u043d\u043d\u043e \u0441\u043f\u0430\u043b\u0430 \u0441\u0430\u0434 \u043d\u043e\u0447\u044c \u0434\u043e\u0436\u0434\u044c \u0438 \u0432 \u043d\u0435 \u043d\u0430 \u0447\u0442\u043e \u043a\u0430\u043a",
        ("\u0412 1812 \u0433. \u041c\u043e\u0441\u043a\u0432\u0430 \u0433\u043e\u0440\u0435\u043b\u0430.", "\u041f\u0440\u0438\u0448\u0451\u043b \u043f\u0440\u043e\u0444. \u0411\u0435\u043b\u043e\u0432 \u0438 \u0410. \u0421. \u041f\u0443\u0448\u043a\u0438\u043d."),
        ("\u00ab", "\u00bb"), "\u0441\u043a\u0430\u0437\u0430\u043b \u043c\u0435\u043b\u044c\u043d\u0438\u043a", "\u0413\u041b\u0410\u0412\u0410 {0}. {1}", "\u041e\u0413\u041b\u0410\u0412\u041b\u0415\u041d\u0418\u0415",
    ),
    "zh": Language(
        "\u78e8\u574a \u6c34\u8f66 \u6cb3\u6c34 \u77f3\u5934 \u706f\u706b \u8001\u9a6c \u4ece\u672a \u6162\u6162 \u8f6c\u7740 \u7761\u5728 \u82b1\u56ed \u591c\u91cc \u98ce\u96e8 \u6708\u4eae \u5c0f\u8def \u7a97\u524d",
        ("\u4e00\u56de\u5230\u5bb6\uff0c\u5979\u5c31\u54ed\u4e86\u3002", "\u7b2c\u4e09\u8282\u8bfe\u4e0b\u8bfe\u4e86\uff0c\u4ed6\u60f3\u2026\u2026\u660e\u5929\u518d\u8bf4\u5427\u3002"),
        ("\u201c", "\u201d"), "\u78e8\u574a\u4e3b\u8bf4", "\u7b2c{0}\u56de\u3000{1}", "\u76ee\u5f55",
    ),
    "ja": Language(
        "\u6c34\u8eca\u306f \u53e4\u3044 \u5ddd\u3092 \u77f3\u306e \u30e9\u30f3\u30d7\u304c \u99ac\u3068 \u6c7a\u3057\u3066 \u3086\u3063\u304f\u308a \u56de\u308a \u7720\u308b \u5ead\u306b \u591c\u306e \u96e8\u3082 \u6708\u304c \u5c0f\u9053\u3078",
        ("\u300c\u6765\u3044\u3002\u300d\u3068\u5f7c\u306f\u8a00\u3063\u305f\u3002", "\u4e00\u7bc0\u306e\u8a69\u3092\u8aad\u307f\u3001\u5f7c\u5973\u306f\u9ed9\u3063\u305f\u3002"),
        ("\u300c", "\u300d"), "\u3068\u7c89\u5c4b\u306f\u8a00\u3063\u305f", "\u7b2c{0}\u7ae0\u3000{1}", "\u76ee\u6b21",
    ),
    "ko": Language(
        "\ubb3c\ub808\ubc29\uc544\ub294 \ub0a1\uc740 \uac15\uc744 \ub3cc\uc758 \ub4f1\ubd88\uc774 \ub9d0\uacfc \uacb0\ucf54 \ucc9c\ucc9c\ud788 \ub3cc\uc544 \uc7a0\ub4dc\ub294 \uc815\uc6d0\uc5d0 \ubc24\uc758 \ube44\ub3c4",
        ("\u201c\uac00\uc790.\u201d\ub77c\uace0 \uadf8\uac00 \ub9d0\ud588\ub2e4.", "\uc81c1\uc740 \uadf8\uc758 \uac83\uc774\uc5c8\ub2e4."),
        ("\u201c", "\u201d"), "\ub77c\uace0 \ubc29\uc557\uac04 \uc8fc\uc778\uc774 \ub9d0\ud588\ub2e4", "\uc81c{0}\uc7a5 {1}", "\ucc28\ub840",
    ),
}  # fmt: skip
_EAST = ("zh", "ja")
_NUMBERS = {"de": "123", "zh": "\u4e00\u4e8c\u4e09", "ja": "\u4e00\u4e8c\u4e09", "ko": "123"}
_ROMAN = ("I", "II", "III")
START = "*** START OF THE PROJECT GUTENBERG EBOOK {} ***"
STOP = "*** END OF THE PROJECT GUTENBERG EBOOK {} ***"
LICENCE = (
    "Updated editions will replace the previous one\u2014the old editions will be renamed.\n\n"
    "START: FULL LICENSE\n\nThe Project Gutenberg License: you may copy it, give it away or re-use it.\n\n"
    "1.E. Unless you have removed all references to Project Gutenberg, keep them.\n"
)


@dataclass
class Book:
    """An invented book.

    Attributes:
        lang: a code.
        title: of the book.
        chapters: their headings.
        paragraphs: of each chapter, in sentences.
    """

    lang: str
    title: str
    chapters: list[str] = field(default_factory=list)
    paragraphs: list[list[list[str]]] = field(default_factory=list)

    @property
    def sentences(self) -> list[str]:
        """All sentences."""
        return [s for chapter in self.paragraphs for paragraph in chapter for s in paragraph]

    @property
    def space(self) -> str:
        """What is between two sentences."""
        return "" if self.lang in _EAST else " "


@dataclass(frozen=True)
class Edition:
    """A file with a book.

    Attributes:
        name: of the file.
        form: what is special in it.
        data: its bytes.
        chapters, sentences: what a reader would find.
    """

    name: str
    form: str
    data: bytes
    chapters: list[str]
    sentences: list[str]


def invented(lang: str, seed: int = 0) -> Book:
    """A book of three chapters."""
    draw, how = random.Random(f"{lang} {seed}"), LANGUAGES[lang]
    book = Book(lang, _phrase(draw, lang, 2).title())
    for number in range(3):
        value = _NUMBERS.get(lang, _ROMAN)[number]
        book.chapters.append(how.chapter.format(value, _phrase(draw, lang, 2).title()))
        book.paragraphs.append([_paragraph(draw, lang) for _ in range(6)])
    return book


def _phrase(draw: random.Random, lang: str, count: int) -> str:
    space = "" if lang in _EAST else " "
    return space.join(draw.sample(LANGUAGES[lang].words.split(), count))


def _paragraph(draw: random.Random, lang: str) -> list[str]:
    how, stop = LANGUAGES[lang], "\u3002" if lang in _EAST else "."
    found = []
    for _ in range(4):
        kind = draw.random()
        phrase = _phrase(draw, lang, draw.randint(7, 11))
        phrase = phrase[:1].upper() + phrase[1:]
        if kind < 0.15:
            found.append(draw.choice(how.named))
        elif kind < 0.35 and lang not in _EAST:
            space = "" if lang == "ko" else " "
            found.append(f"{how.marks[0]}{phrase}!{how.marks[1]}{space}{how.said}{stop}")
        else:
            found.append(f"{phrase}{stop}")
    return found


def _chapters(book: Book) -> Iterator[tuple[str, list[str]]]:
    """Yields each heading with its paragraphs as texts."""
    for heading, paragraphs in zip(book.chapters, book.paragraphs, strict=True):
        yield heading, [book.space.join(sentences) for sentences in paragraphs]


def wrapped(text: str, width: int = 64) -> list[str]:
    """A paragraph in lines."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    # Chinese and Japanese have no spaces.
    return [
        line[at : at + width]
        for line in lines
        for at in range(0, len(line), width)
        if " " not in text
    ] or lines


def _body(book: Book) -> str:
    parts = []
    for heading, texts in _chapters(book):
        parts += [f"\n\n{heading}\n", *("\n".join(wrapped(text)) for text in texts)]
    return "\n\n".join(parts)


def _gutenberg(book: Book) -> str:
    contents = "\n".join(f" {heading}" for heading in book.chapters)
    name = LANGUAGES[book.lang].contents
    return (
        f"The Project Gutenberg eBook of {book.title}\n\nTitle: {book.title}\nAuthor: N. N.\n\n{START.format(book.title)}\n\n"
        f"Produced by nobody\n\n\n{name}\n\n{contents}\n\n\n{_body(book)}\n\n\n"
        f"[Transcriber's Note: A dot was added.]\n\n{STOP.format(book.title)}\n\n{LICENCE}"
    )


def gutenberg(lang: str) -> Edition:
    """With header, credits, contents, a transcriber's note, footer and licence."""
    book = invented(lang)
    return Edition(f"gutenberg-{lang}.txt", "header, contents, footer, licence", _gutenberg(book).encode(),
                   book.chapters, book.sentences)  # fmt: skip


def two_volumes(lang: str) -> Edition:
    """Two files in one."""
    one, other = invented(lang), invented(lang, 1)
    text = f"{_gutenberg(one)}\n\n{_gutenberg(other)}"
    return Edition(f"volumes-{lang}.txt", "two volumes in one file", text.encode(),
                   one.chapters + other.chapters, one.sentences + other.sentences)  # fmt: skip


def scan(lang: str) -> Edition:
    """Pages with numbers, running heads and form feeds; soft hyphens at line ends; ligatures."""
    book, lines = invented(lang), []
    for heading, texts in _chapters(book):
        lines += ["", "", heading, "", *(line for text in texts for line in [*_divided(text), ""])]
    pages = [lines[at : at + 20] for at in range(0, len(lines), 20)]
    text = "\n\f\n".join(
        f"{n}  {book.title.upper()}\n" + "\n".join(page) for n, page in enumerate(pages, 11)
    )
    return Edition(f"scan-{lang}.txt", "pages, running heads, divided words", text.replace("fi", "\ufb01").encode(),
                   book.chapters, book.sentences)  # fmt: skip


def _divided(text: str) -> list[str]:
    """A paragraph in lines, at whose ends long words are divided."""
    lines = wrapped(text, 50)
    for at in range(len(lines) - 1):
        head, _, rest = lines[at + 1].partition(" ")
        if len(head) > 5 and head.isalpha() and head.islower() and rest:
            lines[at], lines[at + 1] = f"{lines[at]} {head[:3]}\u00ad", f"{head[3:]} {rest}"
    return lines


def markdown(lang: str) -> Edition:
    """Headings, emphasis, a link and a note of Markdown."""
    book, parts = invented(lang), []
    for heading, texts in _chapters(book):
        parts += [f"## {heading}", *texts]
    parts[1] = parts[1].replace(book.sentences[0], f"*{book.sentences[0]}*", 1)
    parts[2] += "[^1]"
    text = f"# Title: {book.title}\n\n" + "\n\n".join(parts) + "\n\n[^1]: A note.\n"
    return Edition(
        f"markdown-{lang}.md", "Markdown with a note", text.encode(), book.chapters, book.sentences
    )


def _markup(book: Book) -> Iterator[str]:
    for number, (heading, texts) in enumerate(_chapters(book), 1):
        marks = f'<a class="fnanchor" href="#n{number}">[{number}]</a><span class="pagenum">{number}</span>'
        prose = "".join(
            f"<p>{escape(text)}{marks if not place else ''}</p>\n"
            for place, text in enumerate(texts)
        )
        yield f'<h2>{escape(heading)}</h2>\n{prose}<div class="footnote"><p>A note.</p></div><script>x()</script>'


def html(lang: str) -> Edition:
    """A web page with notes, numbers of pages, scripts and navigation."""
    book = invented(lang)
    body = "".join(_markup(book))
    page = f"<!DOCTYPE html><html lang={lang}><head><title>{book.title}</title><style>p {{}}</style></head><body><nav>Menu</nav>{body}</body></html>"
    return Edition(
        f"page-{lang}.html",
        "web page with notes and scripts",
        page.encode(),
        book.chapters,
        book.sentences,
    )


def tei(lang: str) -> Edition:
    """TEI with a header and notes within paragraphs."""
    book = invented(lang)
    body = "".join(
        f"<div><head>{escape(heading)}</head>"
        + "".join(f'<p>{escape(text)}<note place="foot">A note.</note></p>' for text in texts)
        + "</div>"
        for heading, texts in _chapters(book)
    )
    text = (
        f'<?xml version="1.0"?><TEI xmlns="http://www.tei-c.org/ns/1.0" xml:lang="{lang}"><teiHeader><fileDesc><titleStmt>'
        f"<title>{book.title}</title></titleStmt></fileDesc></teiHeader><text><body>{body}</body></text></TEI>"
    )
    return Edition(
        f"tei-{lang}.xml", "TEI with notes", text.encode(), book.chapters, book.sentences
    )


def epub(lang: str) -> Edition:
    """An EPUB with a document for each chapter and navigation."""
    book, out = invented(lang), io.BytesIO()
    head = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>T</title></head><body>{}</body></html>'
    names = [f"{number}.xhtml" for number in range(3)]
    items = "".join(
        f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in names
    )
    refs = "".join(f'<itemref idref="{name}"/>' for name in names)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("mimetype"), "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="c.opf"/></rootfiles></container>',
        )
        archive.writestr(
            "c.opf",
            '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
            f"<dc:title>{book.title}</dc:title><dc:language>{lang}</dc:language></metadata><manifest>{items}</manifest><spine>{refs}</spine></package>",
        )
        for name, body in zip(names, _markup(book), strict=True):
            archive.writestr(name, head.format(body))
    return Edition(
        f"book-{lang}.epub", "EPUB with notes", out.getvalue(), book.chapters, book.sentences
    )


def editions() -> list[Edition]:
    """Sixty editions: six forms in each of ten languages."""
    forms: list[Callable[[str], Edition]] = [gutenberg, two_volumes, scan, markdown, epub]
    found = [form(lang) for lang in LANGUAGES for form in forms]
    return found + [(html if number % 2 else tei)(lang) for number, lang in enumerate(LANGUAGES)]
