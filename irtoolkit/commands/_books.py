"""The output of commands on books: the place of a passage, and the words it shares with a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import StrPath
from irtoolkit.base.plurals import number_of
from irtoolkit.base.textwidth import printable, shorten
from irtoolkit.commands import note

if TYPE_CHECKING:
    from irtoolkit.ranking.book_index import PlacedIndex
    from irtoolkit.retrievers.hits import Hit

_RANKED = {
    "words": "by the words that they share with a query",
    "meaning": "by their meaning",
    "both": "by words and meaning together",
}


def open_books(
    paths: Sequence[StrPath],
    system: str | None,
    settings: dict[str, Any],
    sentences: int | None,
    usual: int | None = None,
) -> PlacedIndex:
    """Returns the index of some books, built if necessary; describes it on standard error.

    Args:
        paths: plain-text files or folders of them.
        system: its name; by default the best for books that can run here.
        settings: the system's; a length is read as `sentences`.
        sentences: of a passage.
        usual: sentences of a passage if none are given; by default the system's.

    Raises:
        InputError: see `read_books` and `BookIndex`; or an invalid length, or two of them.
    """
    from irtoolkit.datasets.book_files import read_books
    from irtoolkit.datasets.novels import LENGTH
    from irtoolkit.ranking.book_index import BookIndex
    from irtoolkit.ranking.book_search import book_search, is_book_system, told_share
    from irtoolkit.ranking.build_index import DEFAULT
    from irtoolkit.ranking.systems import check_search_settings, find_system

    check_search_settings(settings)
    length = _sentences(settings.pop("length", None), sentences)
    size = usual if length is None else length
    novels = read_books(paths)
    index: PlacedIndex
    if (system is None and not settings) or is_book_system(system):
        index = book_search(novels, system, settings, size)
    else:
        index = BookIndex(novels, find_system(system or DEFAULT, settings), size or LENGTH)
    note(_described(index))
    share = told_share(index.searched_by, index.sentences)
    if share:
        note(f"in measurements this ranking {share}")
    return index


def _described(index: PlacedIndex) -> str:
    """Returns what is searched, by which ranking, and its known recall, in words."""
    from irtoolkit.ranking.book_search import BookSearch, model_lacks
    from irtoolkit.ranking.book_system import BOOKS

    titles = [novel.title for novel in index.books.values()]
    named = titles[0] if len(titles) == 1 else f"{len(titles)} books"
    size = number_of(index.sentences, "sentences")
    method = _RANKED.get(index.searched_by, f"by {index.searched_by}")
    parts = [
        f"{printable(named)}: {number_of(len(index), 'passages', ',')} of {size}, ranked {method}"
    ]
    if index.searched_by == "words" and model_lacks() is not None:
        parts.append("no model that compares meaning is installed")
    elif index.searched_by == "words" and isinstance(index, BookSearch) and index.is_large:
        parts.append(
            f"more than {BOOKS.encoded:,} sentences are compared by meaning with --system both alone"
        )
    return "; ".join(parts)


def _sentences(length: str | None, sentences: int | None) -> int | None:
    """Returns the length of a passage that is given, as one of --length and --sentences."""
    if length is None:
        return sentences
    if sentences is not None:
        raise InputError(
            f"--length {length} and --sentences {sentences} are both given",
            remedy="leave out one of them: both are the length of a passage",
        )
    if not length.isdecimal():
        raise InputError(f"--length {length} is no number of sentences", remedy="such as 3")
    return int(length)


def place_of(index: PlacedIndex, hit: Hit, width: int) -> str:
    """Returns the place of a passage on one line."""
    location = index.place(hit.doc_id)
    parts = [index.novel(hit.doc_id).title] if len(index.books) > 1 else []
    share = f"at {100 * location.share:.0f} %"
    room = width - sum(map(len, parts)) - len(share) - 12
    parts += [shorten(location.chapter, max(20, room))] if location.chapter else []
    return printable(" · ".join([*parts, share]))


def shared_words(hit: Hit) -> str:
    """Returns the words of a passage that match the query, each once."""
    words = dict.fromkeys(hit.text[first:last].lower() for first, last in hit.matches)
    return printable(", ".join(words))


def as_record(index: PlacedIndex, hit: Hit) -> dict[str, Any]:
    """Returns a passage's place and its common words with the query, for JSON."""
    location = index.place(hit.doc_id)
    return {
        "book": index.novel(hit.doc_id).title,
        "chapter": location.chapter,
        "sentence": location.sentence,
        "share": round(location.share, 4),
        "matches": list(dict.fromkeys(hit.text[first:last] for first, last in hit.matches)),
    }
