"""Writes irtoolkit/base/_word_break.py: the class that Lucene's StandardTokenizer gives each character.

The classes are those of Unicode's word boundaries (UAX #29) in Lucene's version of Unicode, and are
told from tokens: each character is analysed between others. Needs the extra `lucene`.

    python benchmarks/word_break.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice, takewhile
from pathlib import Path
from textwrap import wrap

from irtoolkit.retrievers.lucene.java import java_class

TABLE = Path(__file__).parents[1] / "irtoolkit" / "base" / "_word_break.py"
# What no token has: it separates the probes.
_MARK = "zqzqz"
# A character c between others: whether all become one token.
PROBES = {
    "alone": "{}", "letters": "a{}a", "digits": "1{}1", "katakana": "\uff71{}\uff71",
    "hebrew": "\u05d0{}\u05d0", "quoted": '\u05d0"{}', "number": "1,{}", "thai": "\u0e01{}\u0e01",
    "emoji": "{}\u200d\u2764", "flag": "\U0001f1e9{}",
}  # fmt: skip
_HEADER = '''"""Characters by their class in Lucene's StandardTokenizer; written by benchmarks/word_break.py.

Each class is a list of ranges of code points in hexadecimal digits. Characters of no class separate
tokens.
"""

# fmt: off
'''


def joined(texts: Iterable[str]) -> Iterator[bool]:
    """Whether Lucene makes one token of each text, all of it."""
    analyzer = java_class("org.apache.lucene.analysis.standard.StandardAnalyzer")()
    tokens_of = java_class("io.anserini.analysis.AnalyzerUtils").analyze
    rest = iter(texts)
    while block := list(islice(rest, 20_000)):
        text = "".join(f"{probe}\n{_MARK}\n" for probe in block)
        tokens = iter(tokens_of(analyzer, text).toString()[1:-1].split(", "))
        for probe in block:
            found = list(takewhile(_MARK.__ne__, tokens))
            yield len(found) == 1 and len(found[0]) == len(probe)


def classes() -> dict[str, list[int]]:
    """The characters of each class."""
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    results = joined(form.format(chr(code)) for code in codes for form in PROBES.values())
    found: dict[str, list[int]] = {name: [] for name in _CLASSES}
    for code in codes:
        own = list(islice(results, len(PROBES)))
        names = {name for name, is_joined in zip(PROBES, own, strict=True) if is_joined}
        name = next((name for name, is_it in _CLASSES.items() if is_it(names)), None)
        if name is not None:
            found[name].append(code)
    return found


# The first that fits is a character's class.
_CLASSES: dict[str, Callable[[set[str]], bool]] = {
    "MODIFIER": lambda names: {"alone", "letters", "thai", "emoji"} <= names,
    "COMPLEX_MARK": lambda names: {"alone", "letters", "thai"} <= names,
    "DIGIT": lambda names: {"alone", "letters", "number"} <= names,
    "HEBREW": lambda names: {"alone", "letters", "quoted"} <= names,
    "EMOJI_LETTER": lambda names: {"alone", "letters", "emoji"} <= names,
    "LETTER": lambda names: {"alone", "letters"} <= names,
    "KATAKANA": lambda names: {"alone", "katakana"} <= names,
    "COMPLEX": lambda names: {"alone", "thai"} <= names,
    "EMOJI": lambda names: {"alone", "emoji"} <= names,
    "SINGLE": lambda names: "alone" in names,
    "EXTEND": lambda names: {"letters", "thai"} <= names,
    "CONNECTOR": lambda names: {"letters", "katakana"} <= names,
    "MID_BOTH": lambda names: {"letters", "digits"} <= names,
    "MID_LETTER": lambda names: "letters" in names,
    "MID_NUMBER": lambda names: "digits" in names,
    "FLAG": lambda names: "flag" in names,
}


def ranges(codes: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The first and last code of each run."""
    first = last = -1
    for code in codes:
        if code == last + 1:
            last = code
            continue
        if first >= 0:
            yield first, last
        first = last = code
    if first >= 0:
        yield first, last


def table() -> str:
    """The module of the classes."""
    lines = [_HEADER]
    for name, codes in sorted(classes().items()):
        runs = " ".join(
            f"{first:x}" if first == last else f"{first:x}-{last:x}"
            for first, last in ranges(codes)
        )
        rows = "\n".join(f'    "{row} "' for row in wrap(runs, 92, break_on_hyphens=False))
        lines.append(f"{name} = (\n{rows}\n)\n")
    return "".join(lines)


if __name__ == "__main__":
    TABLE.write_text(table())
