"""Search a book, a dataset or an index by text.

INDEX is the folder of an index, or a dataset, or a .jsonl, .csv, .tsv, .trec or .parquet file of documents, whose index
is built first where it is not there yet. A system that keeps no index, such as best, prepares the documents in
memory each time. Without a text, queries are read from the terminal or from
standard input, one a line. Words of a passage that match the query are highlighted on a terminal.

INDEX may also be a book as plain text, several books, or a folder of them: .txt files are divided into
sentences and chapters, and searched for passages of 8 sentences, or of --sentences N, that do not
overlap. Each is shown with its place: the chapter, and the share of the book before it. Passages are
ranked by words and meaning together (--system both), or by words alone (--system words) where no model
is installed: measurements on novels chose this. The first search by meaning encodes all sentences, some
hundred a second; irtoolkit's cache keeps them, and finds them again by the content of the books. Books
that are registered are searched by the name of their collection, in the passages that they were
registered with: of 3 sentences, unless register or search has --sentences N.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import is_url
from irtoolkit.base.plurals import number_of
from irtoolkit.base.tables import DEFAULT_WIDTH, terminal_width
from irtoolkit.base.textwidth import printable, wrap
from irtoolkit.commands import add_settings, argument, note, parse_pairs, print_json
from irtoolkit.commands._engines import add_engine

if TYPE_CHECKING:
    from irtoolkit.ranking.book_index import PlacedIndex
    from irtoolkit.retrievers.hits import Hit, SearchResult
    from irtoolkit.retrievers.index import Index

HELP = "search a book, a dataset or an index by text"
EXAMPLES = (
    'irtoolkit search novel.txt "the heroine refuses a proposal of marriage"',
    'irtoolkit search emma.txt shirley.txt "a quarrel about money" --sentences 5 -k 3',
    'irtoolkit search csfcube/sample "neural networks for parsing" -k 3',
    'irtoolkit search indexes/papers "a whale at sea" --set k1=1.2 b=0.75',
    'irtoolkit search csfcube/sample "parsing of questions" --system bm25 --format json',
)
_BOLD, _PLAIN = "\033[1m", "\033[0m"
# Characters without width that mark where a match begins and ends until lines are made.
_BEGIN, _END = "\ufff9", "\ufffb"


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("INDEX", "an index, a dataset, a file of documents, or a book")
    add("[TEXT...]", "after more books, if there are some; default: read from the terminal")
    add("-k, --hits N", "hits to print", least=1, default=10)
    add(
        "--system SYSTEM",
        "what ranks; default: what a folder was built for; bm25 for a dataset; for a book the best, both or words",
    )
    add(
        "--sentences N",
        "sentences of a passage of a book; default: 8; 3 with a retriever such as bm25; of registered books, theirs",
        least=1,
    )
    add(
        "--format",
        "form of the output; default: text; json of several queries is one line for each",
        choices=("text", "json"),
        default="text",
    )
    add_settings(parser)
    add_engine(parser)


def execute(args: argparse.Namespace) -> None:
    places, text = _divided([args.index, *args.text])
    if text is None:
        _check_not_stdin()
    index = _opened(places, args)
    if text is not None:
        _show(index, text, args)
        return
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    if interactive:
        print(
            f"{number_of(len(index), 'documents', ',')}; an empty line or Ctrl-D ends",
            file=sys.stderr,
        )
    blank: list[int] = []
    is_searched = interactive
    for number in count(1):
        try:
            line = input("> ") if interactive else sys.stdin.readline()
        except EOFError:
            break
        except KeyboardInterrupt:
            if not interactive:
                raise
            print(file=sys.stderr)
            break
        if not line or (interactive and not line.strip()):
            break
        if line.strip():
            _show(index, line.strip(), args, named=not interactive)
            is_searched = True
        else:
            blank.append(number)
    if blank:
        note(_skipped(blank))
    if not is_searched:
        raise InputError("no query in standard input", remedy="give a text, or one query a line")


def _check_not_stdin() -> None:
    from irtoolkit.base.pipes import is_copied

    if is_copied(0):
        raise InputError(
            "documents and queries would both come from standard input",
            remedy="give a query after the documents, or write the documents to a file",
        )


def _skipped(blank: Sequence[int]) -> str:
    """Returns the note on lines without a query."""
    lines = number_of(len(blank), "empty lines", ",")
    return f"note: {lines} of the input without a result, the first is line {blank[0]}"


def _divided(words: Sequence[str]) -> tuple[list[str], str | None]:
    """Returns what is searched, and the query text, if one is given.

    Raises:
        InputError: several things to search that are not books.
    """
    from irtoolkit.datasets.book_files import is_book

    if len(words) == 2 and not _is_place(words[0]) and _is_place(words[1]):
        words = words[::-1]
        note(f"note: {words[0]} is searched for {words[1]!r}")
    first, *rest = words
    text = rest.pop() if rest and not (is_book(first) and is_book(rest[-1])) else None
    if rest and not all(map(is_book, (first, *rest))):
        raise _several_texts(words[1:])
    return [first, *rest], text


def _several_texts(words: Sequence[str]) -> InputError:
    """Returns the error for several texts, one of which may be the name of a system."""
    from irtoolkit.ranking.order import is_system

    text = [word for word in words if not is_system(word)]
    remedy = f'write a text in quotes: "{" ".join(words)}"'
    if len(text) == len(words) - 1:
        system = next(word for word in words if is_system(word))
        remedy = f'name a system with its flag: "{" ".join(text)}" --system {system}'
    return InputError(f"{len(words)} texts", remedy=remedy)


def _is_place(word: str) -> bool:
    """Returns whether a word names something that can be searched."""
    from irtoolkit.datasets.recognise import is_dataset
    from irtoolkit.indexes.remote import is_index

    # A URL is taken at its word: looking would fetch it.
    return is_url(word) or is_index(word) or is_dataset(word)


def _opened(places: Sequence[str], args: argparse.Namespace) -> Index:
    from irtoolkit.commands._books import open_books
    from irtoolkit.datasets.book_files import is_book, registered_books
    from irtoolkit.indexes.remote import is_index
    from irtoolkit.ranking.build_index import open_or_prepare

    settings = parse_pairs(args.settings)
    if not is_index(places[0]):
        if is_book(places[0]):
            return open_books(places, args.system, settings, args.sentences)
        registered = registered_books(places[0])
        if registered is not None:
            files, length = registered
            return open_books(files, args.system, settings, args.sentences, usual=length)
    if args.sentences is not None:
        raise InputError("--sentences goes with books", remedy="leave it out")
    try:
        return open_or_prepare(places[0], args.system, settings)
    except InputError as error:
        searched, built_for, _ = error.found.rpartition(", not ")
        if args.system is None or not (built_for and searched.startswith("the index ")):
            raise
        remedy = f"index the documents with {args.system}"
        raise InputError(f"{searched}, not {args.system}", remedy=remedy) from None


def _show(index: Index, text: str, args: argparse.Namespace, named: bool = False) -> None:
    """Prints the hits of a query; one of several is `named`."""
    from irtoolkit.commands import _books
    from irtoolkit.ranking.book_index import PlacedIndex

    result = index.search(text, args.hits)
    books = index if isinstance(index, PlacedIndex) else None
    if args.format == "json":
        hits = [
            {"rank": hit.rank, "id": hit.doc_id, "score": hit.score, "text": hit.text}
            | ({} if books is None else _books.as_record(books, hit))
            for hit in result
        ]
        print_json({"query": text, "hits": hits}, None if named else 2)
        return
    if named:
        print(printable(text))
    if not result:
        print(printable(repr(result)))
    _print(result, books)
    if named:
        print(flush=True)


def _print(result: SearchResult, books: PlacedIndex | None = None) -> None:
    """Prints hits; of passages of books, their places and all of them, up to some length."""
    from irtoolkit.commands import _books

    width = min(DEFAULT_WIDTH, terminal_width())
    bold = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    # About three lines, or ten, which end before they are full.
    most = (27 if books is None else 90) * (width - 5) // 10
    for hit in result:
        print(f"{hit.rank:>3}  {hit.score:.4f}  {printable(hit.doc_id)}")
        if books is not None:
            print(f"     {_books.place_of(books, hit, width)}")
        for line in _marked(*_passage(hit, most), width - 5):
            rendered = line.replace(_BEGIN, _BOLD if bold else "")
            print(f"     {rendered.replace(_END, _PLAIN if bold else '')}")
        if books is not None and hit.matches:
            print(f"     [{_books.shared_words(hit)}]")


def _passage(hit: Hit, most: int) -> tuple[str, list[tuple[int, int]]]:
    """Returns the part of a text around its first match, cut between words, and its matches."""
    text = "".join(c if c.isprintable() and c not in (_BEGIN, _END) else " " for c in hit.text)
    matches = hit.matches
    first = max(0, matches[0][0] - most // 4) if matches and matches[0][0] > most // 2 else 0
    last = min(len(text), first + most)
    if first and not text[first - 1].isspace():
        space = text.find(" ", first, matches[0][0])
        first = first if space < 0 else space + 1
    if last < len(text) and not text[last].isspace():
        space = text.rfind(" ", first, last)
        last = last if space < first + most // 2 else space
    head = "…" if first else ""
    cut = f"{head}{text[first:last]}{'…' if last < len(text) else ''}"
    move = len(head) - first
    inside = [(a + move, b + move) for a, b in matches if first <= a and b <= last]
    return cut, inside


def _marked(text: str, matches: Sequence[tuple[int, int]], width: int) -> Iterator[str]:
    """Yields the lines of a text with marks around matches; one that is broken is marked on each."""
    is_open = False
    for line in wrap(_with_marks(text, matches), width):
        line = f"{_BEGIN if is_open else ''}{line}"
        is_open = line.rfind(_BEGIN) > line.rfind(_END)
        yield f"{line}{_END if is_open else ''}"


def _with_marks(text: str, matches: Sequence[tuple[int, int]]) -> str:
    """Returns a text with marks around its matches, which may overlap as pairs of Chinese characters do."""
    parts, position = [], 0
    for first, last in matches:
        first = max(first, position)
        if first < last:
            parts += [text[position:first], _BEGIN, text[first:last], _END]
            position = last
    return "".join([*parts, text[position:]])
