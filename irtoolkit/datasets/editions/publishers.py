"""Patterns of publishers' lines: headers, footers, licences, credits and notes."""

from __future__ import annotations

import re

_PROJECT = r"pro[jgy]e[ckt]{1,2}t?o?\W{1,3}gutenberg"
_START = re.compile(rf"\W*START OF (?:THE|THIS) {_PROJECT}", re.I)
_SMALL_START = re.compile(r"\W*START\W*THE SMALL PRINT", re.I)
_SMALL_END = re.compile(r"\W*END[ *]*THE SMALL PRINT", re.I)
_STOP = re.compile(rf"\W*(?:END|ENDE|FIN|FINE|EINDE|FIM|SLUT|KONIEC)\b.{{0,40}}?\b{_PROJECT}", re.I)
_LICENCE = re.compile(
    r"gutenberg|\be-?texts?\b|\be-?books?\b|electronic work|copyright|trademark|licen[cs]e|donat|small print"
    r"|public domain|royalt|refund|disclaim|terms of|foundation|\bIRS\b|agreement|www\.|https?:",
    re.I,
)
_LIBRARY = re.compile(
    r"gallica\.bnf\.fr|biblioth\u00e8que nationale de france|wikisource|google book|digitized by|internet archive"
    r"|projekt\.gutenberg|gutenberg-de|\[?zeno\.org",
    re.I,
)
_CREDIT = re.compile(
    r"\W*(?:this )?(?:e-?text |e-?book )?(?:was )?(?:produced|prepared|transcribed|scanned|proofread) (?:by|from)\b",
    re.I,
)
_NOTE_NAMES = (
    r"transcriber'?\u2019?s'?\u2019? notes?|notes? (?:du transcripteur|de transcription|sur la transcription)"
    r"|anmerkung(?:en)? (?:zur transkription|des transkriptors)|hinweise? zur transkription|opmerkingen van de bewerker"
    r"|note? del trascrittore|notas? del? transcriptora?|notas? do transcritor|anm\u00e4rkningar om transkriptionen"
)
_TRANSCRIBER = re.compile(rf"[\s\[(*_=+#|-]*(?:{_NOTE_NAMES})\b(?P<rest>.*)", re.I)
FIELD = re.compile(r"[#\s]{0,99}(title|author|language|year)\s*:\s*(.+)", re.I)
LANGUAGES = {
    "english": "en", "german": "de", "chinese": "zh", "french": "fr", "spanish": "es", "italian": "it",
    "japanese": "ja", "russian": "ru", "swedish": "sv", "dutch": "nl", "portuguese": "pt", "polish": "pl",
    "korean": "ko", "thai": "th", "greek": "el", "danish": "da", "norwegian": "no", "finnish": "fi", "latin": "la",
}  # fmt: skip
_FORMS = (
    ("start", _START), ("small start", _SMALL_START), ("small end", _SMALL_END), ("stop", _STOP),
    ("note", _TRANSCRIBER), ("field", FIELD), ("credit", _CREDIT),
)  # fmt: skip


def kind_of(line: str) -> str:
    """Returns the kind of a publisher's line; "" for other lines."""
    if len(line) > 2000:
        return ""
    for kind, form in _FORMS:
        if form.match(line):
            return kind
    if _LIBRARY.search(line):
        return "library"
    return "licence" if _LICENCE.search(line) else ""
