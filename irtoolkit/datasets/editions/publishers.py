"""Patterns of publishers' lines: headers, footers, licences, credits and notes."""

from __future__ import annotations

import re

from irtoolkit.datasets.editions import words

_PROJECT = r"pro[jgy]e[ckt]{1,2}t?o?\W{1,3}gutenberg"
_START = re.compile(rf"\W*START OF (?:THE|THIS) {_PROJECT}", re.I)
_SMALL_START = re.compile(r"\W*START\W*THE SMALL PRINT", re.I)
_SMALL_END = re.compile(r"\W*END[ *]*THE SMALL PRINT", re.I)
_END = r"\W*(?:END|ENDE|FIN|FINE|EINDE|FIM|SLUT|KONIEC|\u041a\u041e\u041d\u0415\u0426)\b"
_STOP = re.compile(
    rf"{_END}.{{0,40}}?\b{_PROJECT}|{_END} (?:of|dieses|de cet?|di questo|av denna) ?(?:this|the)? ?e-?(?:text|book)",
    re.I,
)
_NAME = re.compile(
    rf"\W*(?:this is )?(?:the )?{_PROJECT}(?:['\u2019]s|-tm)?\W{{1,3}}(?:e-?texts?|e-?books?|edition)\b",
    re.I,
)
_LICENCE = re.compile(
    r"gutenberg|\be-?texts?\b|\be-?books?\b|electronic work|copyright|trademark|licen[cs]e|donat|small print"
    r"|public domain|royalt|refund|disclaim|terms of|foundation|\bIRS\b|agreement|www\.|https?:",
    re.I,
)
_LIBRARY = re.compile(
    r"gallica\.bnf\.fr|(?:site|sur|de) gallica\b|r\u00e9utilisation (?:non )?commerciale"
    r"|biblioth\u00e8que nationale de france|wikisource|google book|digitized by|internet archive"
    r"|projekt\.gutenberg|gutenberg-de|\[?zeno\.org",
    re.I,
)
# Each line that the two patterns above match has one of them. Most lines have none: this check takes a tenth of the time.
_WORDS = (
    *words(
        "gutenberg text book copyright trademark licen donat royalt refund disclaim foundation irs"
        " agreement www. http gallica r\u00e9utilisation nationale wikisource digitized archive zeno.org"
    ),
    "electronic work",
    "small print",
    "public domain",
    "terms of",
)
_CREDIT = re.compile(
    r"\W*(?:this )?(?:e-?text |e-?book )?(?:was )?(?:produced|prepared|transcribed|scanned|proofread) (?:by|from)\b",
    re.I,
)
# What credits have that a sentence "Prepared by years of want, he ate little." has not.
_CREDITED = re.compile(
    r"proofread|https?:|www\.|@|\be-?texts?\b|\be-?books?\b|distributed|volunteer|\bteam\b|\bscan|archive|\bHTML\b|gutenberg",
    re.I,
)
NOTE_NAMES = (
    r"transcriber'?\u2019?s'?\u2019? notes?|notes? (?:du transcripteur|de transcription|sur la transcription)"
    r"|anmerkung(?:en)? (?:zur transkription|des (?:transkriptors|bearbeiters))|hinweise? zur transkription|opmerkingen van de bewerker"
    r"|note? del trascrittore|notas? del? transcriptora?|notas? do transcritor|anm\u00e4rkningar om transkriptionen"
)
NOTE = "note of a transcriber"
_TRANSCRIBER = re.compile(
    rf"[\s\[(*_=+#|\u2502\u2551-]*(?:{NOTE_NAMES})\b(?P<rest>(?:['\u2019]?s?['\u2019]?)\W*$"
    r"|\s*[:.\u2014(\[\])*_=+#|-].*|\s+(?:and|und|et|y|e|och|en|&)\s.*)",
    re.I,
)
# What notes of transcribers are about.
_NOTE_WORDS = re.compile(
    r"transcri|typogr|\btypos?\b|misprint|errat|spelling|spelt|hyphen|punctuation|italic|footnote|underscore"
    r"|correct(?:ed|ion)|changed? (?:from|to)|replaced|retained|moved to|original (?:text|book|edition|spelling)"
    r"|(?:\b(?:pages?|pp?\.|lines?|seite|s\.|sida|pagina|p\u00e1gina|\u0441\u0442\u0440\.) ?\d)|->|\u2192|\bsic\b"
    r"|corrig|coquille|orthogra|ortogra|ponctuation|puntuaci|punteggiatura|refus[oi]|ratas|conserv\u00e9"
    r"|druckfehler|rechtschreib|zeichensetzung|schreibweise|korrigiert|tryckfel|stavning|spelfout|drukfout"
    r"|\u043e\u043f\u0435\u0447\u0430\u0442|\u043e\u0440\u0444\u043e\u0433\u0440\u0430\u0444",
    re.I,
)
_SAYS = re.compile(r"['\u2019s]*\s*[:.\u2014-]+\s*\w")
FIELD = re.compile(r"[#\s]{0,99}(title|author|language|year)\s*:\s*(.+)", re.I)
LANGUAGES = {
    "english": "en",
    "german": "de",
    "chinese": "zh",
    "french": "fr",
    "spanish": "es",
    "italian": "it",
    "japanese": "ja",
    "russian": "ru",
    "swedish": "sv",
    "dutch": "nl",
    "portuguese": "pt",
    "polish": "pl",
    "korean": "ko",
    "thai": "th",
    "greek": "el",
    "danish": "da",
    "norwegian": "no",
    "finnish": "fi",
    "latin": "la",
}
_FORMS = (
    ("start", _START),
    ("small start", _SMALL_START),
    ("small end", _SMALL_END),
    ("stop", _STOP),
    ("note", _TRANSCRIBER),
    ("name", _NAME),
    ("field", FIELD),
    ("credit", _CREDIT),
)


def kind_of(line: str) -> str:
    """Returns the kind of a publisher's line; "" for other lines."""
    if len(line) > 2000:
        return ""
    for kind, form in _FORMS:
        if form.match(line):
            return kind
    if not any(map(line.lower().__contains__, _WORDS)):
        return ""
    if _LIBRARY.search(line):
        return "library"
    return "licence" if _LICENCE.search(line) else ""


def is_credited(line: str) -> bool:
    """Returns whether a line has what credits have, for example an address or "proofread"."""
    return _CREDITED.search(line[:2000]) is not None


def is_about_texts(line: str) -> bool:
    """Returns whether a line has words of transcribers' notes, such as "spelling" or "page 3"."""
    return _NOTE_WORDS.search(line[:2000]) is not None


def is_titled_note(line: str) -> bool:
    """Returns whether the first line of a transcriber's note is its title alone."""
    match = _TRANSCRIBER.match(line)
    return match is not None and not _SAYS.match(match["rest"])


def is_field(line: str, after: str) -> bool:
    """Returns whether a line is a field such as "Title: The Mill", and not prose that begins like one.

    Args:
        line: the line.
        after: the next line; empty if it is blank.
    """
    match = FIELD.fullmatch(line.strip())
    if match is None or len(line) > _LONGEST_FIELD:
        return False
    if after.strip() and FIELD.match(after):
        return True
    goes_on = bool(after.strip()) and (len(line.strip()) > _WRAPPED or after.lstrip()[:1].islower())
    return not goes_on and match[2].strip()[-1:] not in tuple(".,;:\u3002")


# Characters of a field at most, and from which on a line goes on in the next.
_LONGEST_FIELD, _WRAPPED = 120, 50
