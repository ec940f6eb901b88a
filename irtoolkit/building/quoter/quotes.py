"""The list of quotes, read from text files without duplicates, short and common ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from irtoolkit.base.errors import InputError, errors_in
from irtoolkit.base.languages import common_words, language_of
from irtoolkit.base.sentences import split_sentences
from irtoolkit.building.quoter.letters import Unit, letters, tokens, unit_of
from irtoolkit.building.shelves import TextFile, digest
from irtoolkit.datasets.editions.edition import decoded
from irtoolkit.datasets.encodings import check_encoding

# Columns of a line: the quote, its author, its source.
_COLUMNS = 3
# Words or characters of a third column that is rather what follows a quote than a source.
_CONTEXT = 20


@dataclass(frozen=True)
class Quote:
    """A quote of the list.

    Attributes:
        text: on one line.
        parts: the letters of its sentences.
        sizes: the words or characters of each sentence.
        author, source: as the list has them; may be empty.
    """

    text: str
    parts: tuple[str, ...]
    sizes: tuple[int, ...]
    author: str = ""
    source: str = ""

    @cached_property
    def letters(self) -> str:
        """The letters of all sentences."""
        return "".join(self.parts)


@dataclass
class QuoteList:
    """The quotes to search.

    Attributes:
        lang: their language as a code.
        unit: the unit of quotes and contexts.
        quotes: distinct by their letters, in the order of the list.
        left_out: lines of the list that are not searched, by the reason.
        encodings: the encoding of each file that is not UTF-8.
    """

    lang: str | None
    unit: Unit
    quotes: list[Quote] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    encodings: dict[str, str] = field(default_factory=dict)

    @property
    def content(self) -> str:
        """A hash of the quotes."""
        return digest(*(text for quote in self.quotes for text in (quote.text, *quote.parts)))


def read_quotes(
    files: Sequence[TextFile], least: int | None, lang: str | None, unit: Unit | None
) -> QuoteList:
    """Reads lists of quotes.

    Args:
        files: a line is a quote, and may have its author and its source after tabs.
        least: words or characters of a quote at least; None takes 4 or 5.
        lang: the language as a code; None guesses it.
        unit: None takes that of the script.

    Raises:
        InputError: a file is not text, damaged, or has other columns; or no quote is left.
    """
    encodings: dict[str, str] = {}
    listed = {file: list(_rows(file, encodings)) for file in files}
    rows = [row for group in listed.values() for row in group]
    everything = "\n".join(row[0] for row in rows)
    unit = unit or unit_of(everything)
    for file, group in listed.items():
        _check_not_release(file, group, unit)
    quote_list = QuoteList(lang or language_of(everything), unit, encodings=encodings)
    least = least or {"words": 4, "characters": 5}[unit]
    seen_texts: set[str] = set()
    for text, author, source in rows:
        quote = _quote(text, author, source, quote_list.lang, unit)
        reason = _left_out(quote, least, quote_list, seen_texts)
        if reason:
            quote_list.left_out[reason] += 1
        else:
            quote_list.quotes.append(quote)
        seen_texts.add(quote.letters)
    if not quote_list.quotes:
        raise InputError(
            f"none of {len(rows)} quotes has {least} {unit} and is no common phrase",
            file=files[0].path,
            remedy="a line is a quote; see --words",
        )
    return quote_list


def _check_not_release(file: TextFile, rows: Sequence[tuple[str, str, str]], unit: Unit) -> None:
    """Raises InputError if most rows end in a context, as those of a release of QuoteR do."""
    long = sum(len(tokens(source, unit)) >= _CONTEXT for _, _, source in rows)
    if 2 * long > len(rows):
        raise InputError(
            "left context, quote and right context, as in a release of QuoteR, not a list of quotes",
            file=file.path,
            remedy="give its second column alone",
        )


def _rows(file: TextFile, encodings: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    data = file.read()
    with errors_in(file.path):
        check_encoding(lambda: iter([data]))
        text, encoding = decoded(data)
    if encoding != "utf-8":
        encodings[str(file.path)] = encoding
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        columns = [" ".join(column.split()) for column in line.split("\t")]
        while len(columns) > 1 and not columns[-1]:
            columns.pop()
        problem = ""
        if len(columns) > _COLUMNS:
            problem = f"{len(columns)} columns: a line is a quote, its author and its source"
        elif not letters(columns[0]):
            problem = "no quote: a line begins with it"
        if problem:
            remedy = "separate at most three columns by tabs"
            raise InputError(problem, file=file.path, line=number, remedy=remedy)
        quote, author, source = (*columns, "", "")[:_COLUMNS]
        yield quote, author, source


def _quote(text: str, author: str, source: str, lang: str | None, unit: Unit) -> Quote:
    sentences = split_sentences(text, lang)
    parts = [(letters(sentence), len(tokens(sentence, unit))) for sentence in sentences]
    parts = [part for part in parts if part[0]]
    return Quote(text, tuple(p[0] for p in parts), tuple(p[1] for p in parts), author, source)


def _left_out(quote: Quote, least: int, quote_list: QuoteList, seen_texts: set[str]) -> str:
    """Returns why a quote is not searched, or ""."""
    if quote.letters in seen_texts:
        return "there already"
    if sum(quote.sizes) < least:
        return f"shorter than {least} {quote_list.unit}"
    words = [word for word, *_ in tokens(quote.text, "words")]
    if quote_list.unit == "words" and phrase_words(quote_list.lang).issuperset(words):
        return "a common phrase: of the commonest words alone"
    return ""


@lru_cache(maxsize=8)
def phrase_words(lang: str | None) -> frozenset[str]:
    """Returns the words of a language that make no quote by themselves."""
    if lang == "en":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return common_words("en").union(ENGLISH_STOP_WORDS)
    return common_words(lang)
