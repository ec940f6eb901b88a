"""Porter's stemmer (1980) with its author's two later departures, as in Lucene.

The departures: -bli becomes -ble (originally -abli, -able), and -logi becomes -log; words of one or
two letters are left alone.
"""

from __future__ import annotations

_VOWELS = frozenset("aeiou")
# Steps 2 to 4: endings, of which the longest that fits counts, and what takes their place.
_STEP2 = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("logi", "log"),
)
_STEP3 = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
_STEP4 = tuple(
    (ending, "")
    for ending in (
        "al",
        "ance",
        "ence",
        "er",
        "ic",
        "able",
        "ible",
        "ant",
        "ement",
        "ment",
        "ent",
        "sion",
        "tion",
        "ou",
        "ism",
        "ate",
        "iti",
        "ous",
        "ive",
        "ize",
    )
)


def _by_letter(endings: tuple[tuple[str, str], ...]) -> dict[str, list[tuple[str, str]]]:
    """Groups endings by their last letter but one, the longest first."""
    rules: dict[str, list[tuple[str, str]]] = {}
    for ending, replacement in sorted(endings, key=lambda pair: -len(pair[0])):
        rules.setdefault(ending[-2], []).append((ending, replacement))
    return rules


_ENDINGS2, _ENDINGS3, _ENDINGS4 = map(_by_letter, (_STEP2, _STEP3, _STEP4))


def _consonant(word: str, index: int) -> bool:
    letter = word[index]
    if letter in _VOWELS:
        return False
    if letter != "y":
        return True
    # A y is a consonant at the beginning and after a vowel; several follow each other.
    first = index
    while first and word[first - 1] == "y":
        first -= 1
    opens = first == 0 or word[first - 1] in _VOWELS
    return opens == ((index - first) % 2 == 0)


def _measure(stem: str) -> int:
    """Returns how often a consonant follows a vowel: m in [C](VC)^m[V]."""
    count, vowel = 0, False
    for i in range(len(stem)):
        if _consonant(stem, i):
            count += vowel
            vowel = False
        else:
            vowel = True
    return count


def _has_vowel(stem: str) -> bool:
    return any(not _consonant(stem, i) for i in range(len(stem)))


def _doubled(word: str) -> bool:
    """Returns whether a word ends in a consonant twice."""
    return len(word) > 1 and word[-1] == word[-2] and _consonant(word, len(word) - 1)


def _short(word: str) -> bool:
    """Returns whether a word ends consonant, vowel, consonant, and the last is not w, x or y."""
    last = len(word) - 1
    return (
        last > 1
        and word[-1] not in "wxy"
        and _consonant(word, last)
        and not _consonant(word, last - 1)
        and _consonant(word, last - 2)
    )


def _replaced(word: str, endings: dict[str, list[tuple[str, str]]], least: int) -> str:
    """Returns the word with its longest matching ending replaced, if the stem is long enough."""
    for ending, replacement in endings.get(word[-2:-1], ()):
        if word.endswith(ending):
            stem = word[: len(word) - len(ending)]
            if ending in ("sion", "tion") and endings is _ENDINGS4:
                stem, replacement = word[:-3], ""
            return stem + replacement if _measure(stem) >= least else word
    return word


def stem(word: str) -> str:
    """Returns the stem of a word in lower case."""
    if len(word) < 3:
        return word
    if word.endswith("s"):
        if word.endswith(("sses", "ies")):
            word = word[:-2]
        elif not word.endswith("ss"):
            word = word[:-1]
    word = _past(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _ENDINGS2, 1)
    word = _replaced(word, _ENDINGS3, 1)
    word = _replaced(word, _ENDINGS4, 2)
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _short(word[:-1])):
            word = word[:-1]
    if word.endswith("ll") and _measure(word[:-1]) > 1:
        word = word[:-1]
    return word


def _past(word: str) -> str:
    """Returns a word after step 1b, which removes -eed, -ed and -ing."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        if word.endswith(ending):
            stem = word[: -len(ending)]
            if not _has_vowel(stem):
                return word
            if stem.endswith(("at", "bl", "iz")):
                return stem + "e"
            if _doubled(stem) and stem[-1] not in "lsz":
                return stem[:-1]
            if _measure(stem) == 1 and _short(stem):
                return stem + "e"
            return stem
    return word
