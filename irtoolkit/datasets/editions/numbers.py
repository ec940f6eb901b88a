"""Reads the numbers of chapter headings: digits, Roman and Chinese numerals, number words."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

from irtoolkit.datasets.editions import words

_ROMAN = re.compile(r"m{0,3}(?:cm|cd|d?c{0,3})(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,4})", re.I)
_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}
_CHINESE = {c: n for n, c in enumerate("\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d", 1)}
_CHINESE |= {
    "\u4e24": 2,
    "\u5169": 2,
    "\u96f6": 0,
    "\u3007": 0,
    "\u58f9": 1,
    "\u8d30": 2,
    "\u53c1": 3,
}
_UNITS = {"\u5341": 10, "\u767e": 100, "\u5343": 1000}
CHINESE = "[0-9\uff10-\uff19\u96f6\u3007\u4e00\u4e8c\u4e24\u5169\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341\u767e\u5343\u5eff\u5345]+"
# Cardinals and ordinals from 1, one language after the other; variants of one number are joined by /.
_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty",
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth"
    " fifteenth sixteenth seventeenth eighteenth nineteenth twentieth",
    "eins/ein zwei drei vier f\u00fcnf sechs sieben acht neun zehn elf zw\u00f6lf dreizehn vierzehn f\u00fcnfzehn sechzehn"
    " siebzehn achtzehn neunzehn zwanzig",
    "erst* zweit* dritt* viert* f\u00fcnft* sechst* siebent*/siebt* acht* neunt* zehnt* elft*/eilft* zw\u00f6lft* dreizehnt*"
    " vierzehnt* f\u00fcnfzehnt* sechzehnt* siebzehnt* achtzehnt* neunzehnt* zwanzigst*",
    "premier/premi\u00e8re/un deuxi\u00e8me/second/seconde/deux troisi\u00e8me/trois quatri\u00e8me/quatre cinqui\u00e8me/cinq sixi\u00e8me"
    " septi\u00e8me/sept huiti\u00e8me/huit neuvi\u00e8me/neuf dixi\u00e8me/dix onzi\u00e8me/onze douzi\u00e8me/douze treizi\u00e8me/treize"
    " quatorzi\u00e8me/quatorze quinzi\u00e8me/quinze seizi\u00e8me dix-septi\u00e8me dix-huiti\u00e8me dix-neuvi\u00e8me vingti\u00e8me/vingt",
    "primero/primer/primera/uno segundo/segunda/dos tercero/tercer/tercera/tres cuarto/cuarta/cuatro quinto/quinta/cinco"
    " sexto/sexta s\u00e9ptimo/s\u00e9ptima/siete octavo/octava/ocho noveno/novena/nueve d\u00e9cimo/d\u00e9cima/diez",
    "primo/prima secondo/seconda/due terzo/terza quarto/quarta/quattro quinto/quinta/cinque sesto/sesta/sei"
    " settimo/settima/sette ottavo/ottava nono/nona decimo/decima/dieci",
    "primeiro/primeira/um segundo/segunda/dois terceiro/terceira quarto/quarta quinto/quinta sexto/sexta"
    " s\u00e9timo/s\u00e9tima oitavo/oitava nono/nona d\u00e9cimo/d\u00e9cima/dez",
    "eerste/een tweede/twee derde/drie vierde/vier vijfde/vijf zesde/zes zevende/zeven achtste negende/negen tiende/tien",
    "f\u00f6rsta/ett andra/tv\u00e5 tredje/tre fj\u00e4rde/fyra femte/fem sj\u00e4tte/sex sjunde/sju \u00e5ttonde/\u00e5tta nionde/nio tionde/tio",
    "pierwszy/pierwsza drugi/druga trzeci/trzecia czwarty/czwarta pi\u0105ty/pi\u0105ta sz\u00f3sty/sz\u00f3sta si\u00f3dmy/si\u00f3dma"
    " \u00f3smy/\u00f3sma dziewi\u0105ty/dziewi\u0105ta dziesi\u0105ty/dziesi\u0105ta",
    "\u043f\u0435\u0440\u0432* \u0432\u0442\u043e\u0440* \u0442\u0440\u0435\u0442\u044c* \u0447\u0435\u0442\u0432\u0435\u0440\u0442*/\u0447\u0435\u0442\u0432\u0451\u0440\u0442* \u043f\u044f\u0442* \u0448\u0435\u0441\u0442* \u0441\u0435\u0434\u044c\u043c* \u0432\u043e\u0441\u044c\u043c* \u0434\u0435\u0432\u044f\u0442* \u0434\u0435\u0441\u044f\u0442* \u043e\u0434\u0438\u043d\u043d\u0430\u0434\u0446\u0430\u0442* \u0434\u0432\u0435\u043d\u0430\u0434\u0446\u0430\u0442*",
)
_ENDINGS = (
    "",
    *words(
        "e er es en em \u044b\u0439 \u0430\u044f \u043e\u0435 \u043e\u0439 \u0438\u0439 \u044f \u0435 \u044c\u044f \u0439"
    ),
)
_TENS = {
    ten: 10 * value
    for value, ten in enumerate(
        words("twenty thirty forty fifty sixty seventy eighty ninety hundred"), 2
    )
}


def _all_words() -> dict[str, int]:
    values: dict[str, int] = {}
    for line in _WORDS:
        for value, forms in enumerate(line.split(), 1):
            for form in forms.split("/"):
                ends = _ENDINGS if form.endswith("*") else ("",)
                values.update({form.rstrip("*") + end: value for end in ends})
    tens = {f"{ten[:-1]}ieth": value for ten, value in _TENS.items() if ten.endswith("y")}
    return {**values, **_TENS, **tens}


_VALUE_OF = _all_words()


def roman(text: str) -> int | None:
    """Returns the value of a Roman numeral; None of other texts."""
    low = text.lower()
    if not low or _ROMAN.fullmatch(low) is None:
        return None
    values = [_VALUES[c] for c in low] + [0]
    return sum(-value if value < following else value for value, following in pairwise(values))


def chinese(text: str) -> int | None:
    """Returns the value of a Chinese numeral or of digits of any width; None of other texts."""
    plain = (
        unicodedata.normalize("NFKC", text)
        .replace("\u5eff", "\u4e8c\u5341")
        .replace("\u5345", "\u4e09\u5341")
    )
    if plain.isdecimal():
        return int(plain) if len(plain) < 10 else None
    total = digit = 0
    if not any(c in _UNITS for c in plain):  # digit by digit, as in 一二〇
        digits = [_CHINESE.get(c) for c in plain]
        return None if None in digits or not digits else int("".join(map(str, digits)))
    for character in plain:
        if character in _UNITS:
            total += (digit or 1) * _UNITS[character]
            digit = 0
        elif character in _CHINESE:
            digit = _CHINESE[character]
        else:
            return None
    return total + digit


def number_of(text: str) -> int | None:
    """Returns the value of a number in digits, Roman or Chinese numerals or words; None of other texts."""
    bare = text.strip().strip(".").lower()
    if not bare:
        return None
    if bare.isdecimal():
        return int(bare) if len(bare) < 10 else None
    if bare in _VALUE_OF:
        return _VALUE_OF[bare]
    parts = re.split(r"[- ]", bare)
    if len(parts) == 2 and parts[0] in _TENS and 0 < _VALUE_OF.get(parts[1], 0) < 10:
        return _TENS[parts[0]] + _VALUE_OF[parts[1]]
    value = roman(bare)
    return chinese(bare) if value is None else value
