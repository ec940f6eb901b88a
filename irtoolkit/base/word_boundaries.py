"""Lucene's StandardTokenizer: Unicode's word boundaries (UAX #29) and emoji (UTS #51).

The classes of characters are those of Lucene 9 and 10. Characters that Unicode has added since then
separate tokens.
"""

from __future__ import annotations

import re
from functools import cache

from irtoolkit.base import _word_break

# What shows the character before it as text, as an emoji or on a key, and what joins emoji.
_TEXT, _EMOJI, _KEYCAP, _JOINER = "\ufe0e", "\ufe0f", "\u20e3", "\u200d"
_EXTEND = "EXTEND", "COMPLEX_MARK", "MODIFIER"
# What only `tokens` knows.
_SPECIAL = (
    "SINGLE",
    "KATAKANA",
    "COMPLEX",
    "COMPLEX_MARK",
    "EMOJI",
    "EMOJI_LETTER",
    "MODIFIER",
    "FLAG",
    "HEBREW",
)


def code_points(runs: str) -> frozenset[int]:
    """Returns the code points of ranges, for example "41-5a 61-7a"."""
    bounds = [(run.partition("-")[0], run.rpartition("-")[2]) for run in runs.split()]
    return frozenset(
        code for first, last in bounds for code in range(int(first, 16), int(last, 16) + 1)
    )


@cache
def one_of(codes: frozenset[int]) -> str:
    """Returns a regular expression's class of some code points."""
    firsts = sorted(code for code in codes if code - 1 not in codes)
    lasts = sorted(code for code in codes if code + 1 not in codes)
    runs = zip(firsts, lasts, strict=True)
    return "[" + "".join(rf"\U{first:08x}-\U{last:08x}" for first, last in runs) + "]"


@cache
def special() -> re.Pattern[str]:
    """Returns the characters that `western_tokens` does not know."""
    return re.compile(one_of(_characters(*_SPECIAL) | {ord(_KEYCAP)}))


@cache
def western_tokens() -> re.Pattern[str]:
    """Returns the tokens of texts without a character of `special`."""
    either, extend, joint = one_of(_characters("LETTER", "DIGIT")), _extend(), _joint()
    connector = one_of(_characters("CONNECTOR"))
    inside = _characters("CONNECTOR", *_EXTEND)
    marks = _characters("MID_LETTER", "MID_NUMBER", "MID_BOTH")
    more = rf"(?:{joint}|{extend}*{connector}{one_of(inside)}*){either}+"
    word = rf"{either}+(?:(?={one_of(inside | marks)})(?:{more})*{one_of(inside)}*)?"
    # The first alternative decides nothing: it is the quicker way to most words.
    return re.compile(rf"[0-9a-z]++(?=[ \n)\-])|(?:{connector}{one_of(inside)}*)?{word}")


@cache
def tokens(without: frozenset[int] = frozenset()) -> re.Pattern[str]:
    """Returns the pattern of tokens in any text; some characters may be made to separate tokens."""
    extend, single = _extend(), one_of(_characters("SINGLE") - without)
    southeast, flag = one_of(_characters("COMPLEX", "COMPLEX_MARK")), one_of(_characters("FLAG"))
    key = rf"[#*]{_extend(_TEXT, _EMOJI, _KEYCAP)}*{_EMOJI}?{_KEYCAP}{_extend(_TEXT, _EMOJI)}*"
    quick = r"[\u4e00-\u9fef](?=[\u3002\uff0c\u4e00-\u9fef])|" if not without else ""
    return re.compile(
        rf"{quick}{single}{extend}*|{_letter_sequence()}|{_word(without)}"
        rf"|{southeast}(?:{southeast}|{extend})*|{_emoji_sequence()}"
        rf"|{flag}{extend}*{flag}{extend}*|{key}"
    )


@cache
def _characters(*classes: str) -> frozenset[int]:
    """Returns the code points of some classes of `_word_break`."""
    return code_points(" ".join(getattr(_word_break, name) for name in classes))


def _extend(*without: str) -> str:
    """Returns the pattern of a character that extends the one before it."""
    characters = _characters(*_EXTEND)
    return one_of(characters - frozenset(map(ord, without)))


def _connectors() -> str:
    """Returns the pattern of a connector, for example _, and its extending characters."""
    return rf"(?:{one_of(_characters('CONNECTOR'))}{_extend()}*)"


def _joint() -> str:
    """Returns the pattern of characters that join letters and digits into one word."""
    extend, digit = _extend(), one_of(_characters("DIGIT"))
    not_letter = one_of(_characters("DIGIT") | set(map(ord, "'\"")))
    between_letters = one_of(_characters("MID_LETTER", "MID_BOTH"))
    between_digits = one_of(_characters("MID_NUMBER", "MID_BOTH"))
    return (
        rf"(?:(?<!{not_letter}){extend}*{between_letters}{extend}*(?!{digit})"
        rf"|(?<={digit}){extend}*{between_digits}{extend}*(?={digit})|{extend}+)"
    )


def _word(without: frozenset[int]) -> str:
    """Returns the pattern of a word: letters, digits and Katakana, which split unless connected."""
    either = one_of(_characters("LETTER", "HEBREW", "EMOJI_LETTER", "DIGIT") - without)
    hebrew, extend, connectors = one_of(_characters("HEBREW")), _extend(), _connectors()
    quotes = rf"(?<={hebrew}){extend}*(?:'{extend}*|\"{extend}*(?={hebrew}))"
    part = rf"{either}+(?:{_joint()}{either}+|{quotes}{either}*)*{extend}*"
    katakana = _characters("KATAKANA") - without
    if katakana:
        kana = one_of(katakana)
        part = rf"(?:{part}|{kana}{extend}*(?:{connectors}*{kana}{extend}*)*)"
    return rf"{connectors}*{part}(?:{connectors}+{part})*{connectors}*"


def _emoji_sequence() -> str:
    """Returns the pattern of emoji with their modifiers, and of joined emoji."""
    emoji, modifier = one_of(_characters("EMOJI")), one_of(_characters("MODIFIER"))
    after_joiner = one_of(_characters("EMOJI", "EMOJI_LETTER"))
    any_emoji = one_of(_characters("EMOJI", "EMOJI_LETTER", "MODIFIER"))
    extend = _extend(_TEXT, _EMOJI)
    first = rf"(?:{emoji}|{_JOINER}+{after_joiner}){extend}*{_EMOJI}?|{modifier}{extend}*"
    return rf"(?:{first})(?:{_JOINER}?(?<={_JOINER}){any_emoji}{extend}*{_EMOJI}?)*"


def _letter_sequence() -> str:
    """Returns a letter that is an emoji too, with emoji that are joined to it."""
    letter = one_of(_characters("EMOJI_LETTER"))
    return rf"{letter}{_extend(_TEXT, _EMOJI)}*{_EMOJI}?{_JOINER}?(?<={_JOINER}){_emoji_sequence()}"
