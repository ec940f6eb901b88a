"""Sentences of English, German and Chinese prose."""

from __future__ import annotations

import pytest

from irtoolkit.base.sentences import LONGEST, language_of, split_sentences

ENGLISH = [
    ("He came. She went.", ["He came.", "She went."]),
    ("Mr. Hale and Mrs. Thorn met Dr. J. B. Lowe.", ["Mr. Hale and Mrs. Thorn met Dr. J. B. Lowe."]),
    ('"Stop!" said he. "Why?" asked Ann.', ['"Stop!" said he.', '"Why?" asked Ann.']),
    ('"Go away." She went.', ['"Go away."', "She went."]),
    ("\u2018Is it you?\u2019 \u2018It is I.\u2019 They sat.", ["\u2018Is it you?\u2019", "\u2018It is I.\u2019", "They sat."]),
    ("See No. 5 of the list. He said no. Five men came.", ["See No. 5 of the list.", "He said no.", "Five men came."]),
    ("He waited... and then he ran. Off!", ["He waited... and then he ran.", "Off!"]),
    ("So did I. Nobody saw.", ["So did I.", "Nobody saw."]),
    ("At 3 p.m. the bell rang.", ["At 3 p.m. the bell rang."]),
    ("An end without a mark", ["An end without a mark"]),
    ("  \n ", []),
]  # fmt: skip
GERMAN = [
    ("Am 3. Mai kam Hr. Abel. Er blieb.", ["Am 3. Mai kam Hr. Abel.", "Er blieb."]),
    ("\u201eHalt!\u201c rief er. \u00bbWohin?\u00ab fragte sie.", ["\u201eHalt!\u201c rief er.", "\u00bbWohin?\u00ab fragte sie."]),
    ("Obst, z. B. \u00c4pfel, lag da. Im 19. Jahrhundert nicht.", ["Obst, z. B. \u00c4pfel, lag da.", "Im 19. Jahrhundert nicht."]),
]  # fmt: skip
CHINESE = [
    ("\u4ed6\u6765\u4e86\u3002\u5979\u8d70\u4e86\uff01", ["\u4ed6\u6765\u4e86\u3002", "\u5979\u8d70\u4e86\uff01"]),
    ("\u201c\u597d\u5417\uff1f\u201d\u4ed6\u95ee\u3002", ["\u201c\u597d\u5417\uff1f\u201d", "\u4ed6\u95ee\u3002"]),
    ("\u4ed6\u8bf4\u201c\u597d\uff01\u201d\uff0c\u8d70\u4e86\u3002", ["\u4ed6\u8bf4\u201c\u597d\uff01\u201d\uff0c\u8d70\u4e86\u3002"]),
    ("\u7b49\u7b49\u2026\u2026\u7136\u540e\u8d70\u4e86\u3002", ["\u7b49\u7b49\u2026\u2026\u7136\u540e\u8d70\u4e86\u3002"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), ENGLISH)
def test_english(text: str, expected: list[str]) -> None:
    assert split_sentences(text, "en") == expected


@pytest.mark.parametrize(("text", "expected"), GERMAN)
def test_german(text: str, expected: list[str]) -> None:
    assert split_sentences(text, "de") == expected


@pytest.mark.parametrize(("text", "expected"), CHINESE)
def test_chinese(text: str, expected: list[str]) -> None:
    assert split_sentences(text, "zh") == expected


def test_nothing_of_a_text_is_lost_and_no_sentence_is_endless() -> None:
    text = "word, " * 2000 + "x" * (3 * LONGEST) + " end"
    found = split_sentences(text, "en")
    assert max(map(len, found)) <= LONGEST
    assert "".join("".join(found).split()) == "".join(text.split())


def test_languages_are_told_apart() -> None:
    assert language_of("It was the best of times and the worst of times for her.") == "en"
    assert (
        language_of("Es war einmal ein K\u00f6nig, der hatte die Tochter nicht bei sich.") == "de"
    )
    assert language_of("\u8bdd\u8bf4\u5929\u4e0b\u5927\u52bf\uff0c\u5206\u4e45\u5fc5\u5408") == "zh"
    assert language_of("xyzzy plugh") is None
    assert language_of("") is None
