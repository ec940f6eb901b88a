"""Books in files, as datasets of their passages.

data = dataset_of_books(["emma.txt"], 3)
data = dataset_of_books(["novels/"])         # every book of a folder
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import ir_datasets

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import local
from irtoolkit.base.missing import no_such_file
from irtoolkit.base.paths import StrPath, is_url, on_disk, url_of
from irtoolkit.base.remote import name_of
from irtoolkit.datasets.books import Passage, Passages
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.editions.reading import SUFFIXES
from irtoolkit.datasets.handlers import DocsHandler
from irtoolkit.datasets.local.collection import LocalCollection
from irtoolkit.datasets.local.folder import folder_books, other_files
from irtoolkit.datasets.local.formats import BOOK
from irtoolkit.datasets.local.registry import read_registry
from irtoolkit.datasets.novels import LENGTH, Novel, novel_of, read_novel, slug

_log = logging.getLogger(__name__)


def registered_books(name: str) -> tuple[list[Path], int] | None:
    """Returns the files of a registered collection of books, and the sentences of a passage.

    None if no such collection is registered, or its documents are other files.

    Raises:
        InputError: a file is gone or has changed since.
    """
    entry = read_registry(lambda _: None).get(name)  # damage is reported when irtoolkit is imported
    if entry is None or not entry.docs.format.startswith(BOOK):
        return None
    files = LocalCollection(name, entry).doc_files()
    return files, int(entry.docs.format.removeprefix(BOOK))


def is_book(data: Any) -> bool:
    """Returns whether something is the path of a book by its name, or a folder of books."""
    if not isinstance(data, str | PathLike):
        return False
    if is_url(data):
        return str(data).lower().endswith(SUFFIXES)
    path = on_disk(data)
    return path.suffix.lower() in SUFFIXES or (path.is_dir() and bool(folder_books(path)))


def book_files(paths: Sequence[StrPath]) -> list[StrPath]:
    """Returns the files of books; those of a folder in the order of their names.

    Raises:
        InputError: no such file or folder.
    """
    files: list[StrPath] = []
    for path in paths:
        if is_url(path):
            files.append(path)
            continue
        local_path = on_disk(path)
        if not local_path.exists():
            raise no_such_file(path)
        files += _books_of(local_path) if local_path.is_dir() else [local_path]
    return list(dict.fromkeys(files))


def _books_of(folder: Path) -> list[Path]:
    """Returns the books of a folder; warns about its other files."""
    books = folder_books(folder)
    others = other_files(folder, books) if books else []
    if others:
        _log.warning("%s: left out, because they are not books: %s", folder, ", ".join(others))
    return books


def read_books(paths: Sequence[StrPath]) -> list[Novel]:
    """Reads books; books of one name get the name of their folder in front.

    Raises:
        InputError: no such file, or no text; see `read_novel`.
    """
    files = book_files(paths)
    novels = [_read(path) for path in files]
    names = Counter(novel.name for novel in novels)
    return [
        novel if names[novel.name] == 1 else replace(novel, name=f"{_folder(path)}_{novel.name}")
        for novel, path in zip(novels, files, strict=True)
    ]


def _read(path: StrPath) -> Novel:
    _check_not_documents(path)
    url = url_of(path)
    if url is None:
        return read_novel(path)
    # The copy of a file has another name than the file.
    name = Path(name_of(url))
    return novel_of(local(url).read_bytes(), name.stem, file=name.name)


def _check_not_documents(path: StrPath) -> None:
    """Raises InputError if a file of JSON lines or TREC documents has the file name of a book."""
    try:
        with open(local(path), "rb") as raw:
            start = raw.read(200).lstrip().lower()
    except OSError:
        return  # reading the book raises the error
    if start.startswith((b'{"', b"[{", b"<doc>")):
        raise InputError(
            "a file of documents by its content, and a book by its name",
            file=path,
            remedy="documents are .jsonl, .csv, .tsv, .trec or .parquet files: rename it",
        )


def _folder(path: StrPath) -> str:
    url = url_of(path)
    return slug(Path(path).resolve().parent.name if url is None else url.rsplit("/", 2)[-2])


def dataset_of_books(paths: Sequence[StrPath], sentences: int = LENGTH) -> Dataset:
    """Returns all passages of so many consecutive sentences of some books.

    Args:
        paths: books as plain text, Markdown, EPUB, HTML or TEI, and folders of them.
        sentences: of a passage, from 1 to 20.

    Raises:
        InputError: see `read_books` and `novel_dataset`.
    """
    return novel_dataset(read_books(paths), sentences)


def novel_dataset(
    novels: Novel | Sequence[Novel], length: int = LENGTH, *, name: str | None = None
) -> Dataset:
    """Returns the passages of a fixed number of sentences of one or more novels, as a dataset.

    Its indexes are stored in irtoolkit's cache, and used again as long as the texts are the same.

    Args:
        novels: with distinct names.
        length: sentences of a passage, from 1 to 20.
        name: the dataset's name in messages; by default the books' names.

    Raises:
        InputError: two books of one name; another length.
    """
    listed = [novels] if isinstance(novels, Novel) else list(novels)
    books = {novel.name: novel.book(length) for novel in listed}
    if len(books) != len(listed):
        twice = next(n.name for n in listed if sum(o.name == n.name for o in listed) > 1)
        raise InputError(f"two books are named {twice}", remedy="give one another name")
    passages = Passages(books)
    langs = {novel.lang for novel in listed}
    content = hashlib.sha256()
    for novel in listed:
        content.update(f"{novel.name}\x1f{novel.content}\x1e".encode())
    key = f"novels-{content.hexdigest()[:40]}-{length}"
    called = name or "+".join(books)
    docs: Any = DocsHandler(
        lambda: passages, Passage, called, langs.pop() if len(langs) == 1 else None, lambda: key
    )
    return Dataset(called, ir_datasets.Dataset(docs), in_memory=True)
