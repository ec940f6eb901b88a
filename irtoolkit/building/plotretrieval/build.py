"""PlotRetrieval's benchmark of users' own texts, from files to a folder for every command."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import StrPath
from irtoolkit.building.pipeline import Build, Release, each, keep_only
from irtoolkit.building.plotretrieval.alignment import Reach, Thresholds
from irtoolkit.building.plotretrieval.candidates import gather_pairs, no_sure_pair, rows_of
from irtoolkit.building.plotretrieval.comments import (
    CONTEXT,
    SUFFIX,
    Catalogue,
    Comment,
    comments_of,
    is_listed,
    read_comments,
)
from irtoolkit.building.plotretrieval.filters import Filter, length_of
from irtoolkit.building.plotretrieval.pieces import Piecework, Steps, blocks_of
from irtoolkit.building.plotretrieval.plots import Judge, Rule, Trained, read_labelled
from irtoolkit.building.plotretrieval.quality import Gathered, quality
from irtoolkit.building.plotretrieval.release import write_provenance, write_release
from irtoolkit.building.plotretrieval.sheet import NAME as SHEET
from irtoolkit.building.plotretrieval.sheet import read_sheet, write_sheet
from irtoolkit.building.relic.articles import Finder, formats
from irtoolkit.building.relic.books import SHELF, read_books, shelf_in
from irtoolkit.building.shelves import TextFile, digest, text_files
from irtoolkit.building.splits import TEST, split_books
from irtoolkit.datasets.editions.reading import SUFFIXES
from irtoolkit.retrievers.base import Retriever
from irtoolkit.retrievers.neural import encode_ahead
from irtoolkit.retrievers.sent import pinned

# Folders of what is done already; a later build continues from them.
PIECES, FOUND = "pieces", "quotations"
# What an unfinished build leaves in its folder.
_UNFINISHED = (PIECES, FOUND, SHELF, SHEET)
_INTRO = (
    "Texts that this benchmark was built from. Their licences are theirs: the benchmark holds",
    "all sentences of the books that comments are about, and the comments.",
)


@dataclass(frozen=True)
class Recipe:
    """The settings of a build.

    Attributes:
        retriever: compares comments with sentences: `BM25`, or `Dense` with an encoder.
        thresholds: for decisions without a reader.
        filter: which comments are left out.
        reach: the limits of the search for passages.
        context: sentences before a quotation that are the comment, in criticism.
        labelled: a file of texts that are labelled as describing a plot or not; without one, a rule
            decides.
        val, test: names of books for a split.
    """

    retriever: Retriever
    thresholds: Thresholds
    filter: Filter = field(default_factory=Filter)
    reach: Reach = field(default_factory=Reach)
    context: int = CONTEXT
    labelled: StrPath | None = None
    val: tuple[str, ...] = ()
    test: tuple[str, ...] = ()


def build_plotretrieval(
    books: Sequence[StrPath],
    comments: Sequence[StrPath],
    out: StrPath,
    recipe: Recipe,
    *,
    checked: StrPath | None = None,
    replace: bool = False,
) -> Gathered:
    """Builds a benchmark in PlotRetrieval's form; an interrupted build continues.

    Args:
        books: .txt and .md files, and folders of them.
        comments: .jsonl files of comments, .txt and .md files of criticism, and folders of them.
        out: the folder to write.
        recipe: the settings of the build.
        checked: the sheet with verdicts; then only pairs that it confirms make the benchmark.
        replace: whether a benchmark that was built of other texts, or in another way, is replaced.

    Returns:
        the gathered pairs, and why some were left out.

    Raises:
        InputError: a file cannot be used; two books are the same; the folder holds something else;
            no pair is left; or the retriever cannot run here.
    """
    novels = text_files(books, "books")
    files = text_files(comments, "comments", (SUFFIX, *SUFFIXES))
    with Build.locked(out, _UNFINISHED, replace) as build, shelf_in(build.folder) as shelf:
        folder = build.folder
        steps = _steps(recipe)
        if checked is not None:
            read_sheet(Path(checked))  # before the work, not after it
        read = read_books(novels, shelf, False)
        texts = digest(*(f"{book.name} {book.content}" for book in read))
        key = digest(steps.key, texts, repr(_plain(recipe)), *(f.digest() for f in files))
        build.check(key)
        gathered = Gathered(read, recipe.filter.limits.words, classifier=steps.judge.report)
        by_id = _comments(folder, files, recipe, gathered)
        work = _pieces(folder, by_id, steps, gathered, key=digest(steps.key, texts))
        gather_pairs(gathered, work, by_id, checked)
        write_sheet(folder / SHEET, rows_of(gathered.candidates))
        if not gathered.pairs:
            if build.is_of_others(key):  # the sheet is not of that benchmark any more
                build.claim(key)
            raise no_sure_pair(gathered, folder / SHEET)
        build.claim(key)
        build.finish(key, _write(folder, gathered, files, recipe))
        keep_only(folder / PIECES, [work.path(block) for block in blocks_of(by_id)])
        return gathered


def _steps(recipe: Recipe) -> Steps:
    remedy = recipe.retriever.missing()
    if remedy is not None:
        raise InputError(remedy, remedy="or give --align bm25, which needs no model")
    judge: Judge = Rule()
    if recipe.labelled is not None:
        judge = Trained(read_labelled(Path(recipe.labelled)))
    retriever = pinned(recipe.retriever)
    return Steps(judge, retriever, recipe.thresholds, recipe.filter, recipe.reach)


def _plain(recipe: Recipe) -> dict[str, object]:
    """Returns the remaining settings that decide the result; `Steps.key` has the rest."""
    return {"context": recipe.context, "val": recipe.val, "test": recipe.test}


def _comments(
    folder: Path, files: Sequence[TextFile], recipe: Recipe, gathered: Gathered
) -> list[Comment]:
    """Returns the comments of all files, in their order.

    Of several that are the same, the first.
    """
    books = gathered.books
    catalogue = Catalogue(
        {book.name: book.count for book in books}, {book.name: book.title for book in books}
    )
    listed = [file for file in files if is_listed(file)]
    works = [file for file in files if file not in listed]
    comments: dict[str, Comment] = {}
    for file in listed:
        _add(comments, list(read_comments(file.path, catalogue)), gathered)
    if works:
        key = digest(
            formats(), repr(recipe.filter.matching), *(f"{b.name} {b.content}" for b in books)
        )
        shelved = [book.shelved for book in books]
        finder = Finder(folder / FOUND, key, shelved, recipe.filter.matching)
        finder.search_all({file.name: file for file in works}, "criticism", "work")
        left_out: Counter[str] = Counter()
        from_works = list(comments_of(finder, works, recipe.context, left_out))
        gathered.comments += left_out.total()
        gathered.left_out += left_out
        _add(comments, from_works, gathered)
    else:
        shutil.rmtree(folder / FOUND, ignore_errors=True)  # of other texts
    return list(comments.values())


def _add(by_id: dict[str, Comment], comments: Sequence[Comment], gathered: Gathered) -> None:
    gathered.comments += len(comments)
    for comment in comments:
        if comment.id in by_id:
            gathered.left_out["a comment that is there already"] += 1
        else:
            by_id[comment.id] = comment


def _pieces(
    folder: Path, comments: Sequence[Comment], steps: Steps, gathered: Gathered, key: str
) -> Piecework:
    """Does all pieces of the work that are not done yet."""
    books = {book.name: book for book in gathered.books}
    shelved = {name: book.shelved for name, book in books.items()}
    langs = {name: book.lang for name, book in books.items()}
    work = Piecework(folder / PIECES, shelved, langs, steps, key)
    blocks = blocks_of(comments)
    remaining = [block for block in blocks if not work.path(block).exists()]
    gathered.pieces, gathered.continued = len(blocks), len(blocks) - len(remaining)
    needed_books = list(dict.fromkeys(block.book for block in remaining))
    needed = ([(s,) for s in books[name].sentences()] for name in needed_books)
    encode_ahead(steps.retriever, needed)
    each(work, remaining, "comments", "piece")
    return work


def _write(folder: Path, gathered: Gathered, files: Sequence[TextFile], recipe: Recipe) -> Release:
    """Writes the files of the release; returns its description."""
    counts = Counter(pair.book for pair in gathered.pairs)
    splits = split_books(counts, recipe.val, recipe.test)
    gathered.splits = splits
    gathered.test_words = {
        book.name: sum(map(length_of, book.sentences()))
        for book in gathered.books
        if book.name in splits.get(TEST, ())
    }
    write_release(folder, gathered.books, gathered.pairs, splits)
    split_of = {book: split for split, names in splits.items() for book in names}
    write_provenance(folder / "pairs.jsonl", gathered.pairs, split_of)
    sources = {
        "Books": [book.source_line for book in gathered.books],
        "Comments": [f"{file.name}: {file.path}" for file in files],
    }
    settings = {
        **_plain(recipe),
        "align": recipe.retriever.name,
        "settings": recipe.retriever.settings(),
        "thresholds": asdict(recipe.thresholds),
        "filter": asdict(recipe.filter),
        "reach": asdict(recipe.reach),
        "labelled": recipe.labelled and str(recipe.labelled),
        "checked": gathered.checked,
    }
    report = quality(gathered)
    return Release("plotretrieval", list(splits), settings, report, _INTRO, sources)
