"""A rule-based sentence splitter for prose in languages of any script.

The rules read one paragraph at a time. A full stop ends a sentence unless it belongs to an
abbreviation, an initial or a German ordinal; an exclamation or question mark before a small letter,
as in "Stop!" said he, does not. Chinese and Japanese marks end sentences without a space after
them; Thai, which has no such marks, is split at spaces. Marks that close a quotation stay with it,
even after a space. Raise `FORMAT` when the same text gives other sentences.
"""

from __future__ import annotations

import re

from irtoolkit.base.abbreviations import (
    BEFORE_NUMBERS,
    FINAL,
    GERMAN_MONTHS,
    INSIDE,
    STARTERS,
    UNCERTAIN,
)
from irtoolkit.base.languages import CHARACTER_RANGES, EAST_RANGES

FORMAT = 3
# Characters of a sentence at most; a longer one is cut at a pause or a space.
LONGEST = 1200
# Characters of Thai from which on a space ends a piece.
_THAI_PIECE = 60

_QUOTES = "\"'\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a"
_CLOSING_EAST = "\u201d\u2019\u300d\u300f\ufe42\ufe44\u300b\u3009\uff09\u3011\u3015"
_MARKS = ".!?\u2026\u203d\u061f\u06d4\u0964\u0965\u0589\u1362\u17d4\u104b"
_EASTERN_MARKS = "\u3002\uff01\uff1f\uff0e\uff61"
# After a Greek letter, a semicolon asks.
_GREEK = "\u0370-\u03ff\u1f00-\u1fff"
# A mark that closes a quotation after a space, as French ones do: nothing but a space or another
# mark follows it.
_SPACED = r"(?: [\u00bb\u203a\u201d\u300d\u300f](?=[ .,;:!?\u2026)\]]|$))*"
# What ends a sentence, with the marks that close it. No run of marks is looked at from its middle, so
# that time grows with the length of a text and no faster.
_END = re.compile(
    rf"(?<![{re.escape(_MARKS)}])(?P<mark>\.(?: \.)+|[{re.escape(_MARKS)}]+|(?<=[{_GREEK}])[;\u037e])"
    rf"(?P<close>[{_QUOTES})\]}}*_]*{_SPACED})(?P<dash>(?:--|\u2014|\u2013)?)"
    rf"(?:\s+|(?<=[\u201d\u00bb])(?=[\u201c\u00ab]))"
)
_EAST_END = re.compile(
    rf"(?:[{_EASTERN_MARKS}]+[!?]*|(?<=[{EAST_RANGES}])[!?]+|(?<!\u2026)\u2026+(?=[\"{_CLOSING_EAST}]))"
    rf"[\"'{_CLOSING_EAST})\]]*"
)
# What the sentence around a quotation goes on with.
_CONTINUED = ("\uff0c", "\u3001", "\uff1b", ",", ":", "\uff1a", "\u3068", "\u3063\u3066")
_OPENING = re.compile(rf"[{_QUOTES}(\[*_\u2014\u2013\u2026.\u00bf\u00a1` -]{{0,100}}")
_LAST_WORD = re.compile(r"[^\W_]+(?:[.'\u2019-][^\W_]+)*$")
_INITIAL = re.compile(r"[A-HJ-Z]\. ")
_ITEM = re.compile(r"\d{1,3}|[IVXLC]{1,6}|[A-Za-z]")
_OPENING_MARKS = f"{_QUOTES}([ "
_PART = re.compile(r"\d|[^\W\d_]\.|[IVXLC]+\b")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_NEXT_WORD = re.compile(r"[^\W\d_]+")
# Abbreviations that are also words; as abbreviations they have a capital, or a small letter.
_TITLES = frozenset(
    ["gen", "col", "hon", "fr", "wm", "thos", "chas", "jas", "geo", "edw", "robt", "th", "ph", "ee"]
)
_SMALL = frozenset(["ed"])
# A number, in digits or Roman numerals.
_NUMBER = re.compile(r"\d|[IVXLC]{2,}\b|[VX]\b")
# A number after them is no ordinal, as in "Nr. 6."
_COUNTED = re.compile(r"\b(?:Nr|No|S|Bd|Kap|Abb|Art|Taf|Akt)\. $")
# Languages in which no name begins as sentences do.
_PLAIN_NAMES = ("en", "de", None)
_PAUSE = re.compile(r"(?<=[;:,\u2014\uff1b\uff0c\u3001])\s*|\s+")
_EASTERN = re.compile(f"[{_EASTERN_MARKS}\u2026{EAST_RANGES}]")
_THAI = re.compile("[\u0e01-\u0e5b]")
_CHARACTER = re.compile(f"[{CHARACTER_RANGES}]")


def split_sentences(paragraph: str, lang: str | None = "en") -> list[str]:
    """Returns the sentences of a paragraph, in order, without white space around them.

    Args:
        paragraph: prose; line ends count as spaces.
        lang: the language as a code; it decides on ordinals and on the words that begin sentences.
    """
    text = " ".join(paragraph.split())
    cuts = set(_western_cuts(text, lang))
    if _EASTERN.search(text):
        cuts.update(_eastern_cuts(text))
    if lang in ("th", None) and _THAI.search(text):
        cuts.update(_thai_cuts(text))
    sentences: list[list[str]] = []
    start = 0
    for cut in [*sorted(cuts), len(text)]:
        sentence = text[start:cut].strip()
        if sentence and not re.search(r"\w", sentence) and sentences:
            # Marks alone, such as a quotation mark after a space, belong to what they close.
            sentences[-1].append(sentence)
        elif sentence:
            sentences.append([sentence])
        start = cut
    return [piece for parts in sentences for piece in _bounded(" ".join(parts))]


def _eastern_cuts(text: str) -> list[int]:
    """Returns the ends of sentences at Chinese and Japanese marks."""
    ends = (match.end() for match in _EAST_END.finditer(text))
    # A quotation that the sentence around it continues: "…！"，he said.
    return [end for end in ends if not text.startswith(_CONTINUED, end)]


def _thai_cuts(text: str) -> list[int]:
    """Returns the spaces at which Thai is cut, each so many characters after the last."""
    cuts, last = [], 0
    for match in re.finditer(r" ", text):
        if match.start() - last >= _THAI_PIECE and _THAI.match(text, match.end()):
            cuts.append(match.end())
            last = match.end()
    return cuts


def _western_cuts(text: str, lang: str | None) -> list[int]:
    """Returns the ends of sentences at marks that a space follows."""
    cuts, open_quote, counted = [], False, 0
    for match in _END.finditer(text):
        open_quote ^= text.count('"', counted, match.end()) % 2 == 1
        counted = match.end()
        end = match.end()
        # A straight mark with spaces on both sides closes what is open.
        if open_quote and text.startswith('" ', end):
            end += 2
            open_quote, counted = False, end
        if _ends(text, match, end, lang):
            cuts.append(end)
    return cuts


def _ends(text: str, match: re.Match[str], end: int, lang: str | None) -> bool:
    """Returns whether a mark ends its sentence."""
    opening = _OPENING.match(text, end)
    begin = opening.end() if opening else end
    # Not the whole rest, which would be copied for every mark of a long line.
    first = text[begin : begin + 1]
    if first.islower() or (match["dash"] and match["mark"] == "."):
        return False
    if match["mark"] != "." or match["close"]:
        return True
    before = _LAST_WORD.search(text, max(0, match.start() - 30), match.start())
    if before is None:
        return True
    if (
        before.start() < 4
        and not text[: before.start()].strip(_OPENING_MARKS)
        and _ITEM.fullmatch(before[0])
    ):
        return False  # the number of a paragraph: "1. Bring water."
    after = text[begin : begin + 30]
    earlier = text[max(0, before.start() - 6) : before.start()]
    return not _is_abbreviation(before[0], after, earlier, lang)


def _is_abbreviation(word: str, after: str, earlier: str, lang: str | None) -> bool:
    """Returns whether the full stop after a word is only part of the word.

    Args:
        word: the word, without the full stop.
        after: the text that follows, from its first letter or digit on.
        earlier: the six characters before the word.
        lang: the language as a code.
    """
    low = word.lower()
    if low in FINAL:
        return False
    if word.isdigit():
        return lang == "de" and not _COUNTED.search(earlier) and _is_german_ordinal(word, after)
    if low in BEFORE_NUMBERS and _NUMBER.match(after):
        return True
    if low in _SMALL and word.islower():
        return _PART.match(after) is not None or not _begins_sentence(after, lang)
    if low in INSIDE:
        return low not in _TITLES or word[0].isupper()
    if low in UNCERTAIN or _INITIALS.fullmatch(word):
        return after[:1].isdigit() or not _begins_sentence(after, lang)
    # An initial, as in J. Smith and z. B.; I ends sentences.
    if len(word) != 1 or not word.isalpha() or _CHARACTER.match(word):
        return False
    if word.islower():
        # As in z. B., p. 12; else it is a word, as in Spanish "y".
        return _PART.match(after) is not None
    if lang in _PLAIN_NAMES and _is_starter(after, lang):
        return False  # "vitamin C. The end"
    return word != "I" or _INITIAL.fullmatch(earlier[-3:]) is not None


def _begins_sentence(after: str, lang: str | None) -> bool:
    """Returns whether a word begins sentences more often than names."""
    following = _NEXT_WORD.match(after)
    starters = STARTERS.get(lang or "en", STARTERS["en"])
    return following is None or following[0].lower() in starters


def _is_starter(after: str, lang: str | None) -> bool:
    """Returns whether a text begins with a word that begins sentences, and no initial."""
    following = _NEXT_WORD.match(after)
    if following is None or _PART.match(after):
        return False
    in_capitals = len(following[0]) > 1 and following[0].isupper()
    return not in_capitals and _begins_sentence(after, lang)


def _is_german_ordinal(word: str, after: str) -> bool:
    """Returns whether a number is an ordinal, as in "am 3. Mai"."""
    following = _NEXT_WORD.match(after)
    name = following[0].lower() if following else ""
    if name in GERMAN_MONTHS:
        return True
    return len(word) < 3 and name not in ("er", "sie", "es", "wir", "ich", "man", "da", "dann")


def _bounded(sentence: str) -> list[str]:
    """Returns a sentence in pieces of at most `LONGEST` characters."""
    pieces, start = [], 0
    while len(sentence) - start > LONGEST:
        cuts = [m.end() for m in _PAUSE.finditer(sentence, start + LONGEST // 2, start + LONGEST)]
        cut = cuts[-1] if cuts else start + LONGEST
        pieces.append(sentence[start:cut].strip())
        # White space was made single spaces.
        start = cut + (sentence[cut] == " ")
    return [*pieces, sentence[start:]] if sentence[start:] else pieces
