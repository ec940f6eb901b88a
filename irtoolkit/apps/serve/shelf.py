"""The shelf: collections that the server was started with, and books that readers add."""

from __future__ import annotations

import hashlib
import re
import threading
import time
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from irtoolkit.apps.serve.books import Books, KeptBook, Origin
from irtoolkit.apps.serve.collection import Collection
from irtoolkit.apps.serve.entries import Entry, Progress
from irtoolkit.apps.serve.formats import check_upload
from irtoolkit.apps.serve.indexes import Indexes
from irtoolkit.apps.serve.limits import Limits, TooLargeError, unpacked
from irtoolkit.apps.serve.meaning import Meaning
from irtoolkit.apps.serve.preparing import Preparing
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.editions.reading import SUFFIXES, form_of, read_edition
from irtoolkit.datasets.novels import Novel, novel_of_edition, read_novel, slug

_TITLE = 200
_PACKED = re.compile(r"(?:\.(?:gz|gzip|zip))+$", re.I)


class NoCollectionError(KeyError):
    """There is no collection of this name."""


class FullError(InputError):
    """There is no room for another book."""


class Shelf:
    """Collections by id.

    Args:
        folder: where books of readers are kept.
        meaning: what compares meaning, or None.
        limits: sizes.
    """

    def __init__(self, folder: Path, meaning: Meaning | None, limits: Limits) -> None:
        self.meaning, self.limits = meaning, limits
        self.preparing = Preparing(meaning)
        self._books, self._indexes = Books(folder), Indexes(limits.indexes)
        self._entries: dict[str, Entry] = {}
        self._lock = threading.RLock()

    def start(self, writes: bool) -> None:
        """Puts kept books on the shelf and begins to prepare what is there.

        Args:
            writes: whether no other process uses the folder; one that only reads it changes nothing.
        """
        if writes:
            self._books.tidy()
        for book in self._books:
            if book.novel is None or self._same(book.novel) is None:
                self._put(self._kept(book))
        self.preparing.start()

    def damaged(self) -> list[str]:
        """For each book that cannot be read, a line on what to do."""
        return [entry.progress.message for entry in self.entries() if entry.damaged]

    def entries(self) -> list[Entry]:
        """All collections, those of the server first."""
        with self._lock:
            return sorted(self._entries.values(), key=lambda e: (e.source == "book", e.added))

    def get(self, name: str) -> Entry:
        """A collection.

        Raises:
            NoCollectionError: there is none.
        """
        with self._lock:
            if name not in self._entries:
                raise NoCollectionError(name)
            return self._entries[name]

    def add_file(self, path: Path) -> Entry:
        """Puts a book in a file on the shelf, which stays where it is."""
        novel = read_novel(path)
        name = _identity(novel.title, hashlib.sha256(path.read_bytes()).hexdigest())
        with self._lock:
            existing = self._same(novel)
            return existing or self._put(
                Entry(self._collection(name, [novel]), "file", file=path.name)
            )

    def add_dataset(self, dataset_id: str) -> Entry:
        """Puts the books of a dataset on the shelf.

        Raises:
            InputError: no such dataset, or its documents are no passages of books.
        """
        from irtoolkit.datasets.dataset import Dataset

        data = Dataset.of(dataset_id)
        passages = data.passages()
        if passages is None:
            raise InputError(
                f"the documents of {dataset_id} are no passages of books",
                remedy="name a benchmark of books, such as relic/sample/test, or the file of a book",
            )
        books = {book.name: book for book, _, _ in passages.groups}
        novels = [
            Novel(name, _readable(name), "", data.lang, "utf-8", book.stripped, (), ())
            for name, book in books.items()
        ]
        name = _identity(dataset_id, hashlib.sha256(dataset_id.encode()).hexdigest())
        collection = self._collection(name, novels, dataset_id, whole=True)
        return self._put(Entry(collection, "dataset", dataset_id))

    def add_upload(self, data: bytes, filename: str) -> tuple[Entry, bool]:
        """Keeps a book that a reader adds; the entry, and whether it is new.

        Args:
            data: a book of a form of `formats.READ`.
            filename: names the book where its header has no title; never a path here.

        Raises:
            TooLargeError, FullError, InputError: see `check_upload`, `unpacked` and
                `novel_of`.
        """
        if len(data) > self.limits.upload:
            raise TooLargeError(f"a book has at most {self.limits.upload / 1e6:g} MB")
        check_upload(data, filename)
        text = data if form_of(data) == "epub" else unpacked(data, self.limits.upload)
        title, file = _title_of(filename), _PACKED.sub("", filename)
        edition = read_edition(text, file, self.limits.upload)
        novel = novel_of_edition(edition, title, name=slug(title), most=self.limits.sentences)
        if len(novel.chapters) > self.limits.chapters:
            raise InputError(
                f"it has more than {self.limits.chapters:,} headings",
                remedy="divide it into volumes",
            )
        name = _identity(novel.title, hashlib.sha256(text).hexdigest())
        with self._lock:
            same = self._same(novel)
            if same is not None:
                return same, False
            # A damaged one of this name gives its place.
            if name not in self._entries:
                self.check_room()
            added = time.time()
            self._books.keep(name, text, Origin(title, file, added))
            self._entries.pop(name, None)
            entry = Entry(self._collection(name, [novel]), "book", file=file, added=added)
            return self._put(entry), True

    def check_room(self) -> None:
        """Raises FullError where no other book may be added."""
        with self._lock:
            count = sum(entry.source == "book" for entry in self._entries.values())
        if count >= self.limits.books:
            raise FullError(f"there are {count} books already", remedy="remove one first")

    def remove(self, name: str) -> None:
        """Removes a book that a reader has added. Judgments of it are kept.

        Raises:
            NoCollectionError: there is none.
            InputError: it belongs to the server.
        """
        with self._lock:
            entry = self.get(name)
            if entry.source != "book":
                raise InputError(f"{name} was not added by a reader")
            entry.gone = True
            del self._entries[name]
            self._books.remove(name)
        self._indexes.drop(name)

    def _same(self, novel: Novel) -> Entry | None:
        """The collection that is a book with the same sentences, whatever its file is called."""
        for entry in self._entries.values():
            present = entry.collection.novels
            if len(present) == 1 and entry.dataset == "" and present[0].content == novel.content:
                return entry
        return None

    def _kept(self, book: KeptBook) -> Entry:
        if book.novel is not None:
            collection = self._collection(book.name, [book.novel])
            return Entry(collection, "book", file=book.file, added=book.added)
        collection = self._collection(book.name, [], book.title)
        failed = Progress("failed", message=book.why_not)
        return Entry(collection, "book", added=book.added, progress=failed, damaged=True)

    def _collection(
        self, name: str, novels: list[Novel], title: str = "", *, whole: bool = False
    ) -> Collection:
        # Ids of passages of a book begin with its collection's name, so judgments never mix.
        novels_named = novels if whole else [replace(novel, name=name) for novel in novels]
        title = title or novels[0].title
        return Collection(name, title, novels_named, self.meaning, self._indexes)

    def _put(self, entry: Entry) -> Entry:
        with self._lock:
            existing = self._entries.setdefault(entry.collection.name, entry)
        if existing is entry and not entry.damaged:
            self.preparing.put(entry)
        return existing


def _identity(title: str, digest: str) -> str:
    """The id of a collection: letters of its title, and a part of a hash."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:40].strip("-") or "book"
    return f"{words}-{digest[:8]}"


def _title_of(filename: str) -> str:
    """A title from the name of an uploaded file: without folders, ends and control characters."""
    base = re.split(r"[/\\]", filename)[-1]
    base = re.sub(
        r"(?:\.(?:txt|md|markdown|epub|html?|xhtml|xml|tei|gz|zip))+$", "", base, flags=re.I
    )
    clean = "".join(c if c.isprintable() else " " for c in base)
    return " ".join(clean.split())[:_TITLE] or "Untitled"


def _readable(name: str) -> str:
    """The name of a book as a title."""
    return name.replace("_", " ").title()


def paths_in(places: Iterable[Path]) -> list[Path]:
    """The books among some files and in some folders."""
    paths: list[Path] = []
    for source in places:
        inside = sorted(source.iterdir()) if source.is_dir() else []
        paths += [path for path in inside if path.suffix.lower() in SUFFIXES] or (
            [] if source.is_dir() else [source]
        )
    return paths
