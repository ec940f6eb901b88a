"""Languages as MTEB writes them, ISO 639-3 and the script, and as codes of two letters."""

from __future__ import annotations

from collections.abc import Iterable

LANGUAGES = {
    "ar": "ara-Arab",
    "cs": "ces-Latn",
    "da": "dan-Latn",
    "de": "deu-Latn",
    "el": "ell-Grek",
    "en": "eng-Latn",
    "es": "spa-Latn",
    "fa": "fas-Arab",
    "fi": "fin-Latn",
    "fr": "fra-Latn",
    "hi": "hin-Deva",
    "hu": "hun-Latn",
    "it": "ita-Latn",
    "ja": "jpn-Jpan",
    "ko": "kor-Hang",
    "la": "lat-Latn",
    "lzh": "lzh-Hant",
    "nl": "nld-Latn",
    "no": "nor-Latn",
    "pl": "pol-Latn",
    "pt": "por-Latn",
    "ru": "rus-Cyrl",
    "sv": "swe-Latn",
    "tr": "tur-Latn",
    "vi": "vie-Latn",
    "zh": "zho-Hans",
}
_CODES = {name.partition("-")[0]: code for code, name in LANGUAGES.items()}
_CODES["cmn"] = "zh"


def two_letters(name: str) -> str | None:
    """Returns the two-letter code of a language in MTEB's notation, en for eng-Latn, or None."""
    return _CODES.get(name.partition("-")[0])


def language_in(words: Iterable[str]) -> str | None:
    """Returns the first word that names a language, as de, deu and deu-Latn do, or None."""
    codes = (word if word in LANGUAGES else two_letters(word) for word in words)
    return next((code for code in codes if code is not None), None)
