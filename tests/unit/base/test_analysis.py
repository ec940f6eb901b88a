"""From text to terms, against Lucene's own analyzers and jieba."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irtoolkit.base import analysis
from irtoolkit.base.analysis import analyzer, is_function_word, missing_tokenizer, stop_words
from irtoolkit.base.errors import InputError
from irtoolkit.retrievers import create_retriever
from irtoolkit.retrievers.lucene import java as _java
from irtoolkit.retrievers.lucene.indexing import lucene_analyzer
from tests.lucene import with_java

with_jieba = pytest.mark.skipif(find_spec("jieba") is None, reason="jieba is not installed")

standard = analyzer("standard", "none")
english = analyzer("standard", "lucene", "porter")
cjk = analyzer("cjk", "none")

# Text, the tokens of Lucene's StandardAnalyzer, the terms of Anserini's English analyzer.
LUCENE: list[tuple[str, list[str], list[str]]] = [
    ('', [], []),
    ("The cat's whiskers", ['the', "cat's", 'whiskers'], ['cat', 'whisker']),
    ('the dogs’ bone', ['the', 'dogs', 'bone'], ['dog', 'bone']),
    ("it's Itʼs", ["it's", 'itʼs'], ['itʼ']),
    ("'s", ['s'], ['s']),
    ('THE’S', ['the’s'], []),
    ('U.S.A. e.g. i.e.', ['u.s.a', 'e.g', 'i.e'], ['u.s.a', 'e.g', 'i.']),
    ("can't won't I'm", ["can't", "won't", "i'm"], ["can't", "won't", "i'm"]),
    ('3.14 1,000,000.5 1;2', ['3.14', '1,000,000.5', '1;2'], ['3.14', '1,000,000.5', '1;2']),
    ('10:30 a:b a:1 1:a', ['10', '30', 'a:b', 'a', '1', '1', 'a'], ['10', '30', 'a:b', '1', '1']),
    ('a.b 1.a a.1', ['a.b', '1', 'a', 'a', '1'], ['a.b', '1', '1']),
    ('x-ray co-op--end', ['x', 'ray', 'co', 'op', 'end'], ['x', 'rai', 'co', 'op', 'end']),
    ('snake_case _a_ __ a__b _1', ['snake_case', '_a_', 'a__b', '_1'], ['snake_cas', '_a_', 'a__b', '_1']),
    ('naïve café résumé', ['naïve', 'café', 'résumé'], ['naïv', 'café', 'résumé']),
    ('ＡＢＣ ａｂｃ１', ['ａｂｃ', 'ａｂｃ１'], ['ａｂｃ', 'ａｂｃ１']),
    ('x² H₂O ½ ① №', ['x', 'h', 'o'], ['x', 'h', 'o']),
    ('C++ .NET node.js', ['c', 'net', 'node.js'], ['c', 'net', 'node.j']),
    ("rock'n'roll", ["rock'n'roll"], ["rock'n'rol"]),
    ("a'", ['a'], []),
    ("l'été", ["l'été"], ["l'été"]),
    ('ae\u0301b', ['ae\u0301b'], ['ae\u0301b']),
    ('a\u200db a\u200cb', ['a\u200db', 'a\u200cb'], ['a\u200db', 'a\u200cb']),
    ('a\u200bb', ['a', 'b'], ['b']),
    ('a\u2060b', ['a\u2060b'], ['a\u2060b']),
    ('\ufeffa', ['a'], []),
    ('Привет, мир!', ['привет', 'мир'], ['привет', 'мир']),
    ('مرحبا', ['مرحبا'], ['مرحبا']),
    ('한국어 단어', ['한국어', '단어'], ['한국어', '단어']),
    ('ひらがな カタカナ', ['ひ', 'ら', 'が', 'な', 'カタカナ'], ['ひ', 'ら', 'が', 'な', 'カタカナ']),
    ('3カ月 aカ ア1', ['3', 'カ', '月', 'a', 'カ', 'ア', '1'], ['3', 'カ', '月', 'カ', 'ア', '1']),
    ('鲁迅 abc鲁迅def', ['鲁', '迅', 'abc', '鲁', '迅', 'def'], ['鲁', '迅', 'abc', '鲁', '迅', 'def']),
    ('𠀀𠀁', ['𠀀', '𠀁'], ['𠀀', '𠀁']),
    ('A\x00b', ['a', 'b'], ['b']),
    ('1st 2nd 3D', ['1st', '2nd', '3d'], ['1st', '2nd', '3d']),
    ('12:30pm', ['12', '30pm'], ['12', '30pm']),
    ('1.2.3.4', ['1.2.3.4'], ['1.2.3.4']),
    ('a,b', ['a', 'b'], ['b']),
    ('a‧b', ['a‧b'], ['a‧b']),
    ("3'4", ["3'4"], ["3'4"]),
    ('3’4', ['3’4'], ['3’4']),
    ('sky skies die dies dying', ['sky', 'skies', 'die', 'dies', 'dying'], ['sky', 'ski', 'die', 'di', 'dy']),
    ('as is of on', ['as', 'is', 'of', 'on'], []),
    ('by cry', ['by', 'cry'], ['cry']),
    ('no not nor', ['no', 'not', 'nor'], ['nor']),
    ('rock’n’roll’s', ['rock’n’roll’s'], ['rock’n’rol']),
    ('été’S', ['été’s'], ['été']),
    ('a—b', ['a', 'b'], ['b']),
    ('A.', ['a'], []),
    ('..a..', ['a'], []),
    ("a.'b", ['a', 'b'], ['b']),
    ("a:'b", ['a', 'b'], ['b']),
    ('a_1.b', ['a_1', 'b'], ['a_1', 'b']),
    ('1_000 1_a', ['1_000', '1_a'], ['1_000', '1_a']),
    ('१२', ['१२'], ['१२']),
    ('Ⅳ ⅳ', ['ⅳ', 'ⅳ'], ['ⅳ', 'ⅳ']),
    ('µ', ['µ'], ['µ']),
    ('ʼa aʼb', ['ʼa', 'aʼb'], ['ʼa', 'aʼb']),
    ('a´b', ['a', 'b'], ['b']),
    ('a\u0301 \u0301b', ['a\u0301', 'b'], ['a\u0301', 'b']),
    ('ー カー', ['ー', 'カー'], ['ー', 'カー']),
    ('アイ・ウ', ['アイ', 'ウ'], ['アイ', 'ウ']),
    ('ㇰ', ['ㇰ'], ['ㇰ']),
    ('가나다abc', ['가나다abc'], ['가나다abc']),
    ('ᄀᄁ', ['ᄀᄁ'], ['ᄀᄁ']),
    ('a：b', ['a：b'], ['a：b']),
    ('a．b', ['a．b'], ['a．b']),
    ('1，2', ['1，2'], ['1，2']),
    ('1⁄3', ['1⁄3'], ['1⁄3']),
    ('=\u0301', [], []),
    ('a\u034fb', ['a\u034fb'], ['a\u034fb']),
    ('𐐀x', ['𐐨x'], ['𐐨x']),
    ('ꀕ', ['ꀕ'], ['ꀕ']),
    ('᷀a', ['a'], []),
]  # fmt: skip

# Text and the tokens of Lucene's CJKAnalyzer.
CJK: list[tuple[str, list[str]]] = [
    ('ﬁne ﬂ', ['ﬁne', 'ﬂ']),
    ('한국어 단어', ['한국', '국어', '단어']),
    ('ひらがな カタカナ', ['ひら', 'らが', 'がな', 'カタ', 'タカ', 'カナ']),
    ('鲁迅 abc鲁迅def', ['鲁迅', 'abc', '鲁迅', 'def']),
    ('漢字かな交じり', ['漢字', '字か', 'かな', 'な交', '交じ', 'じり']),
    ('アイ・ウ', ['アイ', 'ウ']),
    ('惛々之', ['惛', '々', '之']),
    ('𠀀𠀁', ['𠀀𠀁']),
    ('a𝒳b', ['a𝒳b']),
    ('ｶﾀｶﾅ', ['カタ', 'タカ', 'カナ']),
    ('ゔ ヴ', ['ゔ', 'ヴ']),
    ('ㇰ', ['ㇰ']),
    ('a：b', ['a:b']),
    ('1．2', ['1.2']),
    ('1，2', ['1,2']),
    ('𝐀bc', ['𝐀bc']),
    ('𐐀x', ['𐐨x']),
    ('〱〵', ['〱〵']),
]  # fmt: skip
# What CJKAnalyzer stops, and we do not.
CJK_STOP = frozenset(
    [
        "a",
        "and",
        "are",
        "as",
        "at",
        "be",
        "but",
        "by",
        "for",
        "if",
        "in",
        "into",
        "is",
        "it",
        "no",
        "not",
        "of",
        "on",
        "or",
        "s",
        "such",
        "t",
        "that",
        "the",
        "their",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "was",
        "will",
        "with",
        "www",
    ]
)
# Scripts beside each other, symbols, and sequences of emoji; as Lucene's StandardTokenizer has them.
SCRIPTS = [
    ("party 🎉 time", ["party", "🎉", "time"]),
    ("windows® 11", ["windows", "®", "11"]),
    ("a ↔ ☺ b", ["a", "↔", "☺", "b"]),
    ("ซื้อiphoneรุ่นใหม่", ["ซื้อ", "iphone", "รุ่นใหม่"]),
    ("ລາວabc", ["ລາວ", "abc"]),
    ("ខ្មែរ3d", ["ខ្មែរ", "3d"]),
    ("မြန်မာok", ["မြန်မာ", "ok"]),
    ("ｶﾞｲﾄﾞ ﾌﾞｯｸ", ["ｶﾞｲﾄﾞ", "ﾌﾞｯｸ"]),
    ("ｱ_b ｱb", ["ｱ_b", "ｱ", "b"]),
    ("⼈⼯知能", ["⼈", "⼯", "知", "能"]),
    ("צה\"ל ג'ירפה ר'", ['צה"ל', "ג'ירפה", "ר'"]),
    ('"צה"', ["צה"]),
    ("👩\u200d💻👍🏽 ❤️", ["👩\u200d💻", "👍🏽", "❤️"]),
    ("🇩🇪🇫 1️⃣#️⃣", ["🇩🇪", "1️⃣", "#️⃣"]),
    ("☺\ufe0e", ["☺"]),
    ("e\u0301'e 1\u0301,2", ["e\u0301'e", "1\u0301,2"]),
]


# -- Lucene's tokens --------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "tokens", "terms"), LUCENE, ids=ascii)
def test_tokens_and_terms_are_lucenes(text: str, tokens: list[str], terms: list[str]) -> None:
    assert standard(text) == tokens
    assert english(text) == terms


@pytest.mark.parametrize(("text", "tokens"), CJK, ids=ascii)
def test_pairs_of_characters_are_lucenes(text: str, tokens: list[str]) -> None:
    assert [token for token in cjk(text) if token not in CJK_STOP] == tokens


@pytest.mark.parametrize("length", [254, 255, 256, 510, 511, 1000])
def test_words_longer_than_255_characters_are_cut(length: int) -> None:
    word = ("abcdefghij" * 100)[:length]
    assert standard(f"x {word} y") == ["x", *_pieces(word), "y"]
    assert "".join(standard("1" * length)) == "1" * length


def _pieces(word: str) -> list[str]:
    return [word[i : i + 255] for i in range(0, len(word), 255)]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("हिन्दी", ["हिन्दी"]),
        ("ကမြန်မာ", ["ကမြန်မာ"]),
        ("ខ្មែរ", ["ខ្មែរ"]),
        ("שָׁלוֹם", ["שָׁלוֹם"]),
        ("مُحَمَّد", ["مُحَمَّد"]),
    ],
)
def test_marks_of_other_scripts_belong_to_their_words(text: str, tokens: list[str]) -> None:
    assert standard(text) == tokens


@pytest.mark.parametrize(("text", "tokens"), [("İstanbul", ["istanbul"]), ("ΣΟΦΟΣ", ["σοφοσ"])])
def test_letters_are_lowered_one_by_one(text: str, tokens: list[str]) -> None:
    """Lucene looks at no letter beside; Python makes a final sigma, and a dot of its own."""
    assert standard(text) == tokens


@pytest.mark.parametrize(("text", "tokens"), SCRIPTS, ids=ascii)
def test_scripts_symbols_and_emoji_are_split_as_lucene_does(text: str, tokens: list[str]) -> None:
    assert standard(text) == tokens


@cache
def _utils() -> Any:
    return _java.java_class("io.anserini.analysis.AnalyzerUtils")


@cache
def _lucenes(name: str) -> Any:
    if name == "standard":
        return _java.java_class("org.apache.lucene.analysis.standard.StandardAnalyzer")()
    return lucene_analyzer({"english": "porter", "cjk": "zh"}[name])


def lucenes(name: str, text: str) -> list[str]:
    """The tokens of the real analyzer."""
    return list(map(str, _utils().analyze(_lucenes(name), text).toArray()))


@with_java
def test_the_tables_are_lucenes() -> None:
    for text, tokens, terms in LUCENE:
        assert lucenes("standard", text) == tokens
        assert lucenes("english", text) == terms
    for text, tokens in CJK:
        assert lucenes("cjk", text) == tokens
    word = "abcdefghij" * 60
    assert lucenes("standard", word) == lucenes("cjk", word) == _pieces(word)
    for text, tokens in [
        ("हिन्दी", ["हिन्दी"]), ("שָׁלוֹם", ["שָׁלוֹם"]), ("مُحَمَّد", ["مُحَمَّد"]), ("ကမြန်မာ", ["ကမြန်မာ"]),
        ("ខ្មែរ", ["ខ្មែរ"]), ("İstanbul", ["istanbul"]), ("ΣΟΦΟΣ", ["σοφοσ"]),
    ]:  # fmt: skip
        assert lucenes("standard", text) == tokens
    for text, tokens in SCRIPTS:
        assert lucenes("standard", text) == tokens
    assert lucenes("cjk", "가나다abc") == ["가나다abc"]


LATIN = st.text("abcIS19éß's’.,:;_-·\u00ad \n\t/&²鲁迅", max_size=24)


@with_java
@given(LATIN)
def test_tokens_of_any_text_are_lucenes(text: str) -> None:
    assert standard(text) == lucenes("standard", text)
    assert english(text) == lucenes("english", text)
    found = [token for token in cjk(text) if token not in CJK_STOP]
    assert found == lucenes("cjk", text)


# Characters of every class, and of those that stand beside them.
EVERY = st.text(
    "a1.'\",:_ #é\u0301\u00ad\u05d0\u05f4\uff71\uff9e\u3042中가\u0e01\u0e31\u0e50\u0ea5\u1780\u1000⼈®❤😀🏽\u200d\u2139",
    max_size=12,
)


@with_java
@settings(max_examples=1000, deadline=None)
@given(EVERY)
def test_tokens_of_any_script_are_lucenes(text: str) -> None:
    # A Hebrew letter's quote behind a letter that a mark joins is cut off in Lucene.
    if not re.search("[.:'\u05f4][\u0301\u00ad\uff9e\u0e31🏽\u200d]*\u05d0", text):
        assert standard(text) == lucenes("standard", text)


@with_java
@pytest.mark.parametrize(
    "form", ["{}", "a{}a", "1{}1", "\u05d0{}\u05d0", "ｱ{}ｱ", "\u0e01{}中", "😀{}."]
)
def test_every_character_is_split_as_lucene_does(form: str) -> None:
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    for first in range(0, len(codes), 50_000):
        text = "\n".join(form.format(chr(code)) for code in codes[first : first + 50_000])
        assert standard(text) == lucenes("standard", text)


# -- stop words -------------------------------------------------------------------------------


def test_lucenes_stop_words() -> None:
    assert stop_words("lucene") == CJK_STOP - {"s", "t", "www"} | {"an"}


@with_java
def test_lucenes_stop_words_are_lucenes() -> None:
    words = sorted({*stop_words("lucene"), *stop_words("sklearn"), *CJK_STOP})
    kept = [word for word in words if lucenes("english", word)]
    assert [word for word in words if word not in stop_words("lucene")] == kept


def test_words_are_stopped_before_they_are_stemmed() -> None:
    assert english("ise this thises being bees") == ["is", "thise", "be", "bee"]


# -- stems ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("by", "by"),
        ("ss", "ss"),
        ("skies", "ski"),
        ("dies", "di"),
        ("possibly", "possibl"),
        ("geology", "geologi"),
        ("apology", "apolog"),
        ("generalizations", "gener"),
        ("running", "run"),
        ("été", "été"),
    ],
)
def test_stems_are_porters_with_his_own_changes(word: str, stem: str) -> None:
    assert analyzer("standard", "none", "porter")(word) == [stem]
    assert analyzer("whitespace", "none", "porter")(word) == [stem]
    assert analyzer("whitespace", "none", "none")(word) == [word]


@pytest.mark.parametrize("mark", ["'", "\u2019", "\uff07"])
def test_a_possessive_goes_where_words_are_stemmed(mark: str) -> None:
    assert english(f"The cat{mark}s whiskers") == ["cat", "whisker"]
    assert english(f"CAT{mark}S") == ["cat"]
    assert analyzer("standard", "lucene")(f"cat{mark}s") == [f"cat{mark}s"]
    assert english(f"the{mark}s") == [], "what is left is stopped"


# -- whitespace and words ---------------------------------------------------------------------


@given(st.lists(st.text("ab'1.漢字,é", max_size=8), max_size=5))
def test_a_space_always_parts(parts: list[str]) -> None:
    """So that the sentences of a text have the terms of the text."""
    for analyze in (standard, english, cjk, analyzer("word", "sklearn")):
        assert analyze(" ".join(parts)) == [term for part in parts for term in analyze(part)]


# -- jieba ------------------------------------------------------------------------------------


@with_jieba
@pytest.mark.parametrize(
    "text", ["鲁迅先生，原名周树人！", "ABC 中文 3.14，好。", "", "，。！", "学而时习之"]
)
def test_words_of_chinese_are_jiebas(text: str) -> None:
    import jieba

    expected = [
        word for word in jieba.cut(text.lower()) if any(c.isalnum() or c == "_" for c in word)
    ]
    assert analyzer("jieba", "none")(text) == expected


@pytest.fixture
def no_jieba(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    analysis._jieba.cache_clear()
    monkeypatch.setattr(analysis, "find_spec", lambda name: None)
    yield
    analysis._jieba.cache_clear()


@pytest.mark.usefixtures("no_jieba")
def test_without_jieba_the_extra_is_named() -> None:
    assert ".[chinese]" in str(missing_tokenizer("jieba"))
    assert missing_tokenizer("cjk") is None
    with pytest.raises(InputError, match=r"\.\[chinese\]"):
        analyzer("jieba", "none")
    assert create_retriever("bm25", {"tokenizer": "jieba"}).missing() == missing_tokenizer("jieba")
    assert create_retriever("bm25", {"tokenizer": "cjk"}).missing() is None


@pytest.mark.parametrize(
    ("word", "lang", "is_plain"),
    [
        ("have", None, True),
        ("having", "en", True),
        ("haven't", "en-GB", True),
        ("didn\u2019t", None, True),
        ("she'll", None, True),
        ("can't", None, True),
        ("fire", None, False),
        ("john's", None, False),
        ("nicht", "de", True),
        ("have", "de", False),
        ("die", "en", False),
    ],
)
def test_function_words(word: str, lang: str | None, is_plain: bool) -> None:
    assert is_function_word(word, lang) is is_plain
