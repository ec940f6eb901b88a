"""Scripts and languages: characters that are written without spaces, common words, and telling languages apart."""

from __future__ import annotations

import re
from collections import Counter

EAST_RANGES = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Chinese and Japanese characters.
EAST = re.compile(f"[{EAST_RANGES}]")
# Thai, Lao, Burmese, Khmer.
SOUTHEAST_RANGES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_HANGUL_RANGES = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3"
# Scripts whose characters are the units of a text: written without spaces, or with spaces that
# editions set differently, as in Korean.
CHARACTER_RANGES = f"{EAST_RANGES}{SOUTHEAST_RANGES}{_HANGUL_RANGES}"
# The characters at the beginning of a text by which its language is detected.
_SAMPLE = 200_000
# A script is a text's script with so many of its characters; kana are fewer than the kanji around them.
_SCRIPT_SHARE, _KANA_SHARE = 0.15, 0.1
# A language is a text's language with so many of its words.
_WORD_SHARE = 0.08
_KANA = re.compile("[\u3040-\u30ff]")
_SCRIPTS = (
    ("ko", re.compile(f"[{_HANGUL_RANGES}]")),
    ("th", re.compile("[\u0e01-\u0e5b]")),
    ("el", re.compile("[\u0370-\u03ff\u1f00-\u1fff]")),
)
_COMMON = {
    "en": "the and of to was that his her with for not had you",
    "de": "der die und das nicht ist ein zu sich mit er sie den",
    "fr": "le la les et des est que une dans pas qui il elle",
    "es": "el la los y que de en una por con no las su",
    "it": "il la che di e un una non per con gli del si",
    "pt": "o a os e que de n\u00e3o uma em com um para as se do da",
    "nl": "de het een van en dat niet zijn ik hij met op was te",
    "sv": "och det att en som han inte hon med p\u00e5 jag den var ett sig",
    "pl": "i w nie na si\u0119 z \u017ce do to jak ale by\u0142 jest",
    "ru": "\u0438 \u0432 \u043d\u0435 \u043d\u0430 \u0447\u0442\u043e \u043e\u043d \u0441 \u044f \u043a\u0430\u043a \u044d\u0442\u043e \u043d\u043e \u043e\u043d\u0430 \u0435\u0433\u043e \u0431\u044b\u043b\u043e",
}


def common_words(lang: str | None) -> frozenset[str]:
    """Returns the commonest words of a language; empty if the language has no list."""
    return frozenset(_COMMON.get(lang or "", "").split())


def language_of(text: str) -> str | None:
    """Returns the language code of a text, from its script and commonest words; None if none fits.

    Chinese, Japanese, Korean, Thai and Greek are told by their script; Dutch, English, French, German,
    Italian, Polish, Portuguese, Russian, Spanish and Swedish by their words.
    """
    sample = text[:_SAMPLE]
    characters = max(1, len("".join(sample.split())))
    east = len(EAST.findall(sample))
    if east > _SCRIPT_SHARE * characters:
        return "ja" if len(_KANA.findall(sample)) > _KANA_SHARE * east else "zh"
    for code, script in _SCRIPTS:
        if len(script.findall(sample)) > 0.5 * characters:
            return code
    words = Counter(re.findall(r"[^\W\d_]+", sample.lower()))
    total = sum(words.values())
    shares = {code: sum(words[word] for word in common.split()) for code, common in _COMMON.items()}
    best = max(shares, key=lambda code: shares[code])
    # One word says little: other languages may have it, too.
    distinct = sum(word in words for word in _COMMON[best].split())
    return best if distinct > 1 and shares[best] > _WORD_SHARE * total else None
