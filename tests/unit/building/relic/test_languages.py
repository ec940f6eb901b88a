"""Verbatim quotations in several languages and with their marks are found, in scans as well."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import NamedTuple

import pytest

from irtoolkit.building.plotretrieval.alignment import USUAL
from irtoolkit.building.plotretrieval.build import Recipe, build_plotretrieval
from irtoolkit.building.relic.build import build_relic
from irtoolkit.retrievers.lexical import BM25


class Language(NamedTuple):
    """How invented prose of a language is written.

    Attributes:
        words: its words, divided by spaces; joined by `space`.
        stop: the end of a sentence.
        marks: around a quotation.
        before, after: what a critic says.
    """

    words: str
    space: str
    stop: str
    marks: tuple[str, str]
    before: str
    after: str


LANGUAGES = {
    "en": Language(
        "the mill wheel old river stone lamp horse never slowly turned slept under garden and night rain",
        " ", ".", ("\u201c", "\u201d"), "The critic writes here that", "and says no more about it.",
    ),
    "fr": Language(
        "le moulin la roue vieille rivi\u00e8re pierre lampe cheval jamais lentement tournait dormait sous jardin et nuit",
        " ", ".", ("\u00ab\u00a0", "\u00a0\u00bb"), "Le critique remarque dans cette page que", "et il ne dit rien de plus.",
    ),
    "de": Language(
        "die M\u00fchle das Rad alter Fluss Stein Lampe Pferd niemals langsam drehte schlief unter Garten und Nacht",
        " ", ".", ("\u00bb", "\u00ab"), "Der Kritiker bemerkt hier, dass", "und sagt weiter nichts davon.",
    ),
    "sv": Language(
        "kvarnen hjulet gamla floden stenen lampan h\u00e4sten aldrig l\u00e5ngsamt snurrade sov under tr\u00e4dg\u00e5rden och natten",
        " ", ".", ("\u201d", "\u201d"), "Kritikern p\u00e5pekar h\u00e4r att", "och s\u00e4ger inte mer om det.",
    ),
    "ru": Language(
        "\u043c\u0435\u043b\u044c\u043d\u0438\u0446\u0430 \u043a\u043e\u043b\u0435\u0441\u043e \u0441\u0442\u0430\u0440\u0430\u044f \u0440\u0435\u043a\u0430 \u043a\u0430\u043c\u0435\u043d\u044c \u043b\u0430\u043c\u043f\u0430 \u043b\u043e\u0448\u0430\u0434\u044c \u043d\u0438\u043a\u043e\u0433\u0434\u0430 \u043c\u0435\u0434\u043b\u0435\u043d\u043d\u043e \u0441\u043f\u0430\u043b\u0430 \u043f\u043e\u0434 \u0441\u0430\u0434\u043e\u043c \u0438 \u043d\u043e\u0447\u044c",
        " ", ".", ("\u00ab", "\u00bb"), "\u041a\u0440\u0438\u0442\u0438\u043a \u0437\u0430\u043c\u0435\u0447\u0430\u0435\u0442, \u0447\u0442\u043e", "\u0438 \u0431\u043e\u043b\u044c\u0448\u0435 \u043d\u0438\u0447\u0435\u0433\u043e.",
    ),
    "zh": Language(
        "\u78e8\u574a \u6c34\u8f66 \u65e7 \u6cb3\u6c34 \u77f3\u5934 \u706f\u706b \u8001\u9a6c \u4ece\u672a \u6162\u6162 \u8f6c\u7740 \u7761\u5728 \u82b1\u56ed \u591c\u91cc \u98ce\u96e8 \u6708\u4eae \u5c0f\u8def \u7a97\u524d",
        "", "\u3002", ("\u201c", "\u201d"), "\u8bc4\u8bba\u5bb6\u5199\u9053\uff1a", "\u8fd9\u91cc\u4e0d\u518d\u591a\u8bf4\u4e86\u3002",
    ),
    "ja": Language(
        "\u6c34\u8eca\u306f \u53e4\u3044 \u5ddd\u3092 \u77f3\u306e \u30e9\u30f3\u30d7\u304c \u99ac\u3068 \u6c7a\u3057\u3066 \u3086\u3063\u304f\u308a \u56de\u308a \u7720\u308b \u5ead\u306b \u591c\u306e \u96e8\u3082 \u6708\u304c \u5c0f\u9053\u3078 \u7a93\u8fba\u3067",
        "", "\u3002", ("\u300c", "\u300d"), "\u6279\u8a55\u5bb6\u306f\u3053\u3046\u66f8\u3044\u3066\u3044\u308b\u3002", "\u3068\u3044\u3046\u306e\u3067\u3042\u308b\u3002",
    ),
    "ko": Language(
        "\ubb3c\ub808\ubc29\uc544\ub294 \ub0a1\uc740 \uac15\uc744 \ub3cc\uc758 \ub4f1\ubd88\uc774 \ub9d0\uacfc \uacb0\ucf54 \ucc9c\ucc9c\ud788 \ub3cc\uc544 \uc7a0\ub4dc\ub294 \uc815\uc6d0\uc5d0 \ubc24\uc758 \ube44\ub3c4 \ub2ec\uc774",
        " ", ".", ("\u201c", "\u201d"), "\ube44\ud3c9\uac00\ub294 \uc774\ub807\uac8c \uc4f4\ub2e4.", "\ub77c\uace0 \ub9d0\ud558\uace0 \uadf8\ucce4\ub2e4.",
    ),
    "th": Language(
        "\u0e01\u0e31\u0e07\u0e2b\u0e31\u0e19 \u0e41\u0e21\u0e48\u0e19\u0e49\u0e33 \u0e01\u0e49\u0e2d\u0e19\u0e2b\u0e34\u0e19 \u0e42\u0e04\u0e21\u0e44\u0e1f \u0e21\u0e49\u0e32\u0e41\u0e01\u0e48 \u0e44\u0e21\u0e48\u0e40\u0e04\u0e22 \u0e0a\u0e49\u0e32\u0e46 \u0e2b\u0e21\u0e38\u0e19 \u0e2b\u0e25\u0e31\u0e1a \u0e2a\u0e27\u0e19 \u0e01\u0e25\u0e32\u0e07\u0e04\u0e37\u0e19 \u0e1d\u0e19\u0e15\u0e01 \u0e1e\u0e23\u0e30\u0e08\u0e31\u0e19\u0e17\u0e23\u0e4c",
        "", " ", ("\u201c", "\u201d"), "\u0e19\u0e31\u0e01\u0e27\u0e34\u0e08\u0e32\u0e23\u0e13\u0e4c\u0e40\u0e02\u0e35\u0e22\u0e19\u0e27\u0e48\u0e32", "\u0e41\u0e25\u0e30\u0e44\u0e21\u0e48\u0e1e\u0e39\u0e14\u0e2d\u0e30\u0e44\u0e23\u0e2d\u0e35\u0e01",
    ),
}  # fmt: skip
QUOTATIONS = 30


def prose(lang: str) -> list[str]:
    """Sentences of a book, each different."""
    how, draw = LANGUAGES[lang], random.Random(lang)
    words = how.words.split()
    return [how.space.join(draw.sample(words, 12)) for _ in range(300)]


def criticism(lang: str, hyphen: str | None = None) -> tuple[str, list[str], list[str]]:
    """A book, an article that quotes it, and the sentences that are quoted."""
    how, sentences = LANGUAGES[lang], prose(lang)
    quoted = sentences[::10][:QUOTATIONS]
    parts = [
        f"{how.before} {how.marks[0]}{broken(text, hyphen)}{how.marks[1]} {how.after * 4} {how.before * 4}{how.stop}"
        for text in quoted
    ]
    return "\n\n".join(f"{text}{how.stop}" for text in sentences), parts, quoted


def broken(text: str, hyphen: str | None) -> str:
    """A text whose longer words are divided at the ends of lines."""
    if hyphen is None:
        return text
    return " ".join(
        f"{word[:3]}{hyphen}\n{word[3:]}" if len(word) > 5 and word.isalpha() else word
        for word in text.split()
    )


def recall(place: Path, lang: str, hyphen: str | None = None) -> float:
    """The share of planted quotations that are found at their sentence."""
    book, parts, quoted = criticism(lang, hyphen)
    (place / "book.txt").write_text(book, "utf-8")
    (place / "article.txt").write_text("\n\n".join(parts), "utf-8")
    build_relic([place / "book.txt"], [place / "article.txt"], place / "built")
    lines = (place / "built" / "windows.jsonl").read_text("utf-8").splitlines()
    starts = {json.loads(line)["passage"].split(":")[1].split("+")[0] for line in lines}
    return sum(str(10 * number) in starts for number in range(len(quoted))) / len(quoted)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_quotations_are_found(lang: str, tmp_path: Path) -> None:
    assert recall(tmp_path, lang) >= 0.95


@pytest.mark.parametrize("lang", ["zh", "ja"])
def test_comments_are_found_in_criticism(lang: str, tmp_path: Path) -> None:
    book, parts, quoted = criticism(lang)
    (tmp_path / "book.txt").write_text(book, "utf-8")
    (tmp_path / "article.txt").write_text("\n\n".join(parts), "utf-8")
    built = build_plotretrieval(
        [tmp_path / "book.txt"],
        [tmp_path / "article.txt"],
        tmp_path / "built",
        Recipe(BM25(), USUAL["bm25"]),
    )
    assert len(built.candidates) >= 0.95 * len(quoted)
