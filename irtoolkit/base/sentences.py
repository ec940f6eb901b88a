"""Splitting prose into sentences by rules: English, German and their like, and Chinese.

The rules read one paragraph at a time. A full stop ends a sentence unless it belongs to an
abbreviation, an initial or a German ordinal; an exclamation or question mark that is followed by a
small letter, as in "Stop!" said he, does not. Raise `FORMAT` when the same text gives other sentences.
"""

from __future__ import annotations

import re
from collections import Counter

FORMAT = 1
# Characters of a sentence at most; a longer one is cut at a pause or a space.
LONGEST = 1200

_EAST = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
EAST = re.compile(f"[{_EAST}]")
_QUOTES = "\"'\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a"
# What ends a sentence, with the marks that close it, before white space. No run of marks is looked at
# from its middle, so that time grows with the length of a text and no faster.
_END = re.compile(
    rf"(?<![.!?\u2026])(?P<mark>[.!?\u2026]+)(?P<close>[{_QUOTES})\]}}*_]*)(?P<dash>(?:--|\u2014|\u2013)?)\s+"
)
_EAST_END = re.compile(
    '(?:[\u3002\uff01\uff1f!?]+|(?<!\u2026)\u2026+(?=[\u201d\u300d\u300f\u2019"]))'
    "[\u201d\u300d\u300f\u2019\"'\u300b\uff09)\\]]*"
)
_OPENING = re.compile(rf"[{_QUOTES}(\[*_\u2014\u2013\u2026. -]{{0,100}}")
_LAST_WORD = re.compile(r"[^\W_]+(?:[.'\u2019][^\W_]+)*$")
_PAUSE = re.compile(r"(?<=[;:,\u2014\uff1b\uff0c\u3001])\s*|\s+")


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# Abbreviations that come before a name or a number, so that a capital follows them inside a sentence.
_ABBREVIATIONS = _words(
    # English
    "mr mrs ms messrs mme mlle dr st ste prof rev revd hon capt col gen lieut lt maj sergt sgt esq jr sr"
    " vol vols no nos chap ch p pp fig cf vs viz e.g i.e ed eds"
    # German
    " hr hrn fr frl bzw z.b d.h u.a s.o s.u nr abs abt bd sog geb gest vgl ggf evtl kgl hl"
    # French, Spanish, Italian
    " mm mgr sig sra srta"
)  # fmt: skip
# Those that may also end a sentence: a capital that follows says nothing.
_WEAK = _words("etc usw u.s.w a.m p.m co ff")
# Those that are also words: only before a number.
_BEFORE_NUMBERS = _words("no nos fig ed p gen hon col art")
_TITLES = _words("gen hon col")
_MONTHS = "januar februar m\u00e4rz april mai juni juli august september oktober november dezember"
_GERMAN_MONTHS = _words(_MONTHS)
_COMMON = {
    "en": "the and of to was that his her with for not had you",
    "de": "der die und das nicht ist ein zu sich mit er sie den",
    "fr": "le la les et des est que une dans pas qui il elle",
    "es": "el la los y que de en una por con no las su",
    "it": "il la che di e un una non per con gli del si",
}


def common_words(lang: str | None) -> frozenset[str]:
    """The commonest words of a language, where they are known here."""
    return _words(_COMMON.get(lang or "", ""))


def language_of(text: str) -> str | None:
    """The language of a text as a code, from its script and its commonest words; None if none fits.

    English, German, French, Spanish, Italian and Chinese are told apart; Japanese by its kana.
    """
    sample = text[:200_000]
    east = len(EAST.findall(sample))
    if east > 0.15 * max(1, len(re.sub(r"\s", "", sample))):
        kana = len(re.findall("[\u3040-\u30ff]", sample))
        return "ja" if kana > 0.1 * east else "zh"
    words = Counter(re.findall(r"[^\W\d_]+", sample.lower()))
    total = sum(words.values())
    shares = {code: sum(words[word] for word in common.split()) for code, common in _COMMON.items()}
    best = max(shares, key=lambda code: shares[code])
    return best if total and shares[best] > 0.08 * total else None


def split_sentences(paragraph: str, lang: str | None = "en") -> list[str]:
    """The sentences of a paragraph, in order, without white space around them.

    Args:
        paragraph: prose; line ends count as spaces.
        lang: the language as a code; `zh` and `ja` have rules of their own, `de` has ordinals.
    """
    text = " ".join(paragraph.split())
    cuts = _eastern_cuts(text) if lang in ("zh", "ja") else _western_cuts(text, lang)
    sentences: list[list[str]] = []
    start = 0
    for cut in [*cuts, len(text)]:
        found = text[start:cut].strip()
        if found and not re.search(r"\w", found) and sentences:
            # Marks alone, such as a quotation mark after a space, belong to what they close.
            sentences[-1].append(found)
        elif found:
            sentences.append([found])
        start = cut
    return [piece for parts in sentences for piece in _bounded(" ".join(parts))]


def _eastern_cuts(text: str) -> list[int]:
    cuts = []
    for match in _EAST_END.finditer(text):
        rest = text[match.end() : match.end() + 1]
        # A quotation that the sentence around it continues: "…！"，he said.
        if rest not in ("\uff0c", "\u3001", "\uff1b", ","):
            cuts.append(match.end())
    return cuts


def _western_cuts(text: str, lang: str | None) -> list[int]:
    return [match.end() for match in _END.finditer(text) if _ends(text, match, lang)]


def _ends(text: str, match: re.Match[str], lang: str | None) -> bool:
    """Whether a mark ends its sentence."""
    opening = _OPENING.match(text, match.end())
    begin = opening.end() if opening else match.end()
    # Not the whole rest, which would be copied for every mark of a long line.
    first = text[begin : begin + 1]
    if first.islower() or (match["dash"] and match["mark"] == "."):
        return False
    if match["mark"] != "." or match["close"]:
        return True
    before = _LAST_WORD.search(text, max(0, match.start() - 30), match.start())
    rest = text[match.end() : match.end() + 30]
    return before is None or not _is_abbreviation(before[0], first, rest, lang)


def _is_abbreviation(word: str, first: str, rest: str, lang: str | None) -> bool:
    """Whether the full stop after a word is only part of it."""
    low = word.lower()
    if low in _WEAK:
        return False
    if low in _BEFORE_NUMBERS:
        # "No. 5" but not "He said no. Five men came."
        return first.isdigit() or (low in _TITLES and word[0].isupper())
    if low in _ABBREVIATIONS:
        return True
    if word.isdigit():
        following = re.match(r"[^\W\d_]+", rest)
        is_month = following is not None and following[0].lower() in _GERMAN_MONTHS
        return lang == "de" and (is_month or len(word) < 3)
    # An initial, as in J. Smith and z. B.; I ends sentences.
    return len(word) == 1 and word.isalpha() and word != "I"


def _bounded(sentence: str) -> list[str]:
    """A sentence in pieces of at most `LONGEST` characters."""
    pieces, start = [], 0
    while len(sentence) - start > LONGEST:
        cuts = [m.end() for m in _PAUSE.finditer(sentence, start + LONGEST // 2, start + LONGEST)]
        cut = cuts[-1] if cuts else start + LONGEST
        pieces.append(sentence[start:cut].strip())
        # White space was made single spaces.
        start = cut + (sentence[cut] == " ")
    return [*pieces, sentence[start:]] if sentence[start:] else pieces
