"""Sentences of English, German and Chinese prose."""

from __future__ import annotations

import pytest

from irtoolkit.base.languages import language_of
from irtoolkit.base.sentences import LONGEST, split_sentences

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

# Sentences are divided by " | ".
MORE = [
    ("en", "1. Bring water. | Then go."),
    ("en", "I. She is not one of us. | So did I. | He ran."),
    ("en", "He follows J.R.R. Tolkien here. | She does not."),
    ("en", "The U.S. Navy came. | He loves the U.S. | She does not."),
    ("en", "Marsh et al. [2004] found it. | Others (Vale et al. 1999) did not."),
    ("en", "We saw Lake St. Clair, Mt. Vesuvius and Ft. Worth. | It was 5 ft. wide. | It fell 3 ft. | He ran."),
    ("en", "See sec. 4, ch. IV and vol. II of it. | Then p. 12. | He said no. | I came."),
    ("en", 'He wrote "come home. | We wait. " | She did not.'),
    ("en", "Done.\u201d | \u201cWhat?\u201d he said."),
    ("en", "\u201cAda Lorne . . . what an honour.\u201d | He ran."),
    ("en", "He lived at 5 Oak St. | He died there. | St. Paul lived in St. Ives."),
    ("en", "It was vitamin C. | The end came. | She saw H. G. Wells, D. & S. Ltd. and J. | They left."),
    ("en", "The Mill, ed. A. Marsh, trans. Vale, ed. Lorne. | It is ed. | He had it."),
    ("fr", "Voir p\u00e1g. 12, cap. III et t. IV. | Ch. Baudelaire et Th. Gautier vinrent."),
    ("es", "Vive en EE. UU. desde ayer. | V\u00e9ase p\u00e1g. 12. | Es as\u00ed."),
    ("de", "Das ist Nr. 5 bzw. Nr. 6. | Gut. | Hg. Marsh, S. 12. | Er ging. | Am 6. Mai kam er."),
    ("ru", "\u041e\u043d \u0436\u0438\u043b \u0432 \u0433. \u041c\u043e\u0441\u043a\u0432\u0435 \u0432 1812 \u0433. | \u041e\u043d\u0430 \u0442\u043e\u0436\u0435."),
    ("fr", "\u00ab\u202fViens\u202f! \u00bb | Il partit. | \u00ab\u00a0Reste\u00a0?\u00a0\u00bb dit-elle. | Il sortit."),
    ("fr", "\u00ab Il est tard. \u00bb | Elle se tut. | M. Roux et Mme Roux entr\u00e8rent."),
    ("de", "Er kam als 2. | Er ging am 12. Oktober. | Obst usw. | Dann ging er."),
    ("es", "\u2014\u00a1Ven! \u2014dijo \u00e9l. | \u00bfAd\u00f3nde vas? | La Sra. P\u00e9rez y D. Luis; Ud. Sabe."),
    ("sv", "\u201dKom!\u201d sade han. | \u201dVarf\u00f6r?\u201d | Hon teg, d.v.s. Anna teg."),
    ("pl", "\u201eChod\u017a!\u201d powiedzia\u0142. | Ona milcza\u0142a, np. Anna."),
    ("ru", "\u042d\u0442\u043e \u0431\u044b\u043b\u043e \u0432 1812 \u0433. \u041c\u043e\u0441\u043a\u0432\u0430 \u0433\u043e\u0440\u0435\u043b\u0430. | \u2014 \u0418\u0434\u0438! \u2014 \u0441\u043a\u0430\u0437\u0430\u043b \u043e\u043d. | \u041e\u043d\u0430 \u0443\u0448\u043b\u0430."),
    ("ko", "\u201c\uac00\uc790.\u201d\ub77c\uace0 \uadf8\uac00 \ub9d0\ud588\ub2e4. | \uadf8\ub140\ub294 \uc6b8\uc5c8\ub2e4."),
    ("hi", "\u0935\u0939 \u0906\u092f\u093e\u0964 | \u0935\u0939 \u0917\u092f\u093e\u0964"),
]  # fmt: skip


@pytest.mark.parametrize(("lang", "text"), MORE)
def test_more_languages(lang: str, text: str) -> None:
    expected = [" ".join(sentence.split()) for sentence in text.split(" | ")]
    glued = text.replace("\u3002 | ", "\u3002").replace("\u201d | \u201c", "\u201d\u201c")
    assert split_sentences(glued.replace(" | ", " "), lang) == expected


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
    assert (
        language_of(
            "\u041e\u043d \u0441\u043a\u0430\u0437\u0430\u043b, \u0447\u0442\u043e \u043d\u0435 \u043f\u043e\u0439\u0434\u0451\u0442 \u0432 \u0433\u043e\u0440\u043e\u0434 \u0438 \u043d\u0435 \u043f\u0440\u0438\u0434\u0451\u0442."
        )
        == "ru"
    )
    assert language_of("Han sade att det inte var en dag och att hon gick.") == "sv"
    assert language_of("\uadf8\ub140\ub294 \uc6b8\uc5c8\ub2e4.") == "ko"
    assert language_of("xyzzy plugh") is None
    assert language_of("") is None
