"""RELiC's benchmark of users' own texts, from files to a folder that every command can use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from sys import intern
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import StrPath
from irtoolkit.building.pipeline import Build, Release, source_line
from irtoolkit.building.relic.articles import Finder, formats
from irtoolkit.building.relic.books import SHELF, ReadBook, read_books, shelf_in
from irtoolkit.building.relic.quality import Gathered, quality
from irtoolkit.building.relic.quotations import Matching
from irtoolkit.building.relic.release import (
    WindowAt,
    write_provenance,
    write_qrels,
    write_split,
)
from irtoolkit.building.shelves import TextFile, digest, text_files
from irtoolkit.building.splits import SPLITS, TEST, split_books

# The folder of what is found in each work; it stays, and a later build continues from it.
FOUND = "quotations"
_INTRO = (
    "Texts that this benchmark was built from. Their licences are theirs: the benchmark holds",
    "all sentences of the books, and up to eight sentences of criticism around each quotation.",
)
# The judgments that --hide-test leaves out of test.json.
_HIDDEN = "test.qrels"
# A work of which so much is quoted from one book is an edition of that book.
_EDITION = 0.5


@dataclass(frozen=True)
class Recipe:
    """The settings of a build.

    Attributes:
        matching: the definition of a quotation.
        clauses: whether colons, semicolons and ellipses end the sentences of books, as in the paper.
        val, test: names of books for a split.
        hide_test: whether test.json hides the quotations, as the release does.
    """

    matching: Matching = field(default_factory=Matching)
    clauses: bool = False
    val: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    hide_test: bool = False


def build_relic(
    books: Sequence[StrPath],
    criticism: Sequence[StrPath],
    out: StrPath,
    recipe: Recipe | None = None,
    *,
    replace: bool = False,
) -> Gathered:
    """Builds a benchmark in RELiC's form; an interrupted build continues.

    Args:
        books, criticism: .txt and .md files, and folders of them.
        out: the folder to write.
        recipe: the settings of the build.
        replace: whether a benchmark that was built of other texts, or in another way, is replaced.

    Returns:
        the gathered windows, and why some were left out.

    Raises:
        InputError: a file cannot be used; two books are the same; the folder holds something else;
            or no quotation is found.
    """
    recipe = recipe or Recipe()
    novels, articles = text_files(books, "books"), text_files(criticism, "works of criticism")
    folders = (FOUND, SHELF)
    with Build.locked(out, folders, replace) as build, shelf_in(build.folder) as shelf:
        read = read_books(novels, shelf, recipe.clauses)
        key = digest(formats(), repr(recipe.matching), *(f"{b.name} {b.content}" for b in read))
        finder = Finder(build.folder / FOUND, key, [book.shelved for book in read], recipe.matching)
        whole = digest(key, repr(recipe), *(file.digest() for file in articles))
        build.claim(whole)
        done = finder.search_all({file.name: file for file in articles}, "criticism", "work")
        gathered = _gathered(finder, articles, read)
        gathered.continued = done
        build.finish(whole, _write(build.folder, gathered, recipe))
        return gathered


def _gathered(finder: Finder, articles: Sequence[TextFile], books: Sequence[ReadBook]) -> Gathered:
    """Returns the selected windows, with ids in the order of articles and positions."""
    gathered = Gathered(list(books))
    seen_ids: set[str] = set()
    for file in articles:
        record = gathered.articles[file.name] = finder.record(file.name)
        path, quoted = finder.path(file.name), editions(record)
        before, reasons = len(gathered.windows), Counter[str]()
        for position, window in finder.finds(file.name):
            reason = _left_out(record, window, quoted, finder.matching, seen_ids)
            if reason:
                reasons[reason] += 1
                continue
            where = (intern(window["book"]), window["start"], window["length"])
            gathered.windows.append(
                WindowAt(f"{len(gathered.windows):06d}", file.name, *where, path, position)
            )
        gathered.left_out += reasons
        if len(gathered.windows) == before:
            why = (
                reasons.most_common(1)[0][0] if reasons else "no quotation of these books is in it"
            )
            gathered.unused.setdefault(why, []).append(record["path"])
    if not gathered.windows:
        raise InputError(
            f"no quotation of {len(books)} books is found in {len(articles)} works of criticism",
            remedy="are these works about these books, in the same language and translation?",
        )
    return gathered


def editions(record: dict[str, Any]) -> set[str]:
    """Returns the books that a work is an edition of, by the share of its words that are theirs."""
    least = _EDITION * max(1, record["words"])
    return {book for book, count in record["quoted"].items() if count > least}


def _left_out(
    record: dict[str, Any],
    window: dict[str, Any],
    editions: set[str],
    matching: Matching,
    seen_ids: set[str],
) -> str:
    """Returns why a quotation makes no window of the benchmark, or ""."""
    if not record["criticism"]:
        return "in a work that is no criticism by its title"
    if window["book"] in editions:
        return "in a work that is an edition of the book"
    if window["places"] > 1:
        return "found at several places of the books"
    if window["length"] > matching.longest:
        return f"longer than {matching.longest} sentences"
    if not window["left"] and not window["right"]:
        return "without a context"
    content = digest(window["book"], str(window["start"]), *window["left"], *window["right"])
    if content in seen_ids:
        return "a window that is there already"
    seen_ids.add(content)
    return ""


def _write(folder: Path, gathered: Gathered, recipe: Recipe) -> Release:
    """Writes the files of the release; returns its description."""
    counts = Counter(window.book for window in gathered.windows)
    splits = split_books(counts, recipe.val, recipe.test)
    split_of = {book: split for split, names in splits.items() for book in names}
    for name in (*(f"{split}.json" for split in SPLITS), _HIDDEN):
        (folder / name).unlink(missing_ok=True)
    for split, names in splits.items():
        split_windows = [window for window in gathered.windows if split_of[window.book] == split]
        hidden = recipe.hide_test and split == TEST
        books_of_split = [book for book in gathered.books if book.name in names]
        write_split(
            folder / f"{split}.json", books_of_split, split_windows, recipe.matching.longest, hidden
        )
        if hidden:
            write_qrels(folder / _HIDDEN, split_windows)
    gathered.splits = splits
    write_provenance(folder / "windows.jsonl", gathered.windows, split_of)
    gathered.report = quality(gathered)
    sources = {
        "Books": [book.source_line for book in gathered.books],
        "Criticism": [
            source_line(name, record["title"], record["author"], record["path"])
            for name, record in gathered.articles.items()
        ],
    }
    without = [TEST] if recipe.hide_test and TEST in splits else []
    settings = asdict(recipe)
    return Release("relic", list(splits), settings, gathered.report, _INTRO, sources, without)
