"""The shelf: collections that the server was started with, and books that readers add."""

from __future__ import annotations

import hashlib
import json
import os
import queue
import re
import shutil
import threading
import time
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_path, atomic_text
from irtoolkit.datasets.novels import LENGTH, Novel, novel_of, read_novel, slug
from irtoolkit.serve.collection import Collection
from irtoolkit.serve.limits import Limits, TooLargeError, unpacked
from irtoolkit.serve.meaning import Meaning, StoppedError

Stage = Literal["waiting", "words", "meaning", "ready", "failed"]
BOOKS = "books"
_TITLE = 200


@dataclass(frozen=True)
class Progress:
    """How far a collection is prepared.

    Attributes:
        stage: "words" and "meaning" are being prepared; a "failed" one may still answer by words.
        done, total: sentences.
        message: why it failed, or why meaning is not compared; else empty.
    """

    stage: Stage
    done: int = 0
    total: int = 0
    message: str = ""


@dataclass
class Entry:
    """A collection on the shelf.

    Attributes:
        collection: its books.
        source: "book" that a reader added, "file", or "dataset".
        dataset: the id of the dataset; empty for others.
        added: seconds since 1970.
        progress: how far it is prepared.
    """

    collection: Collection
    source: Literal["book", "file", "dataset"]
    dataset: str = ""
    added: float = 0
    progress: Progress = field(default_factory=lambda: Progress("waiting"))
    gone: bool = False


class NoCollectionError(KeyError):
    """There is no collection of this name."""


class FullError(InputError):
    """There is no room for another book."""


class Shelf:
    """Collections by id; one thread prepares them, one after the other.

    Args:
        folder: where books of readers are kept.
        meaning: what compares meaning, or None.
        limits: sizes.
    """

    def __init__(self, folder: Path, meaning: Meaning | None, limits: Limits) -> None:
        self.folder, self.meaning, self.limits = folder, meaning, limits
        self._entries: dict[str, Entry] = {}
        self._lock = threading.RLock()
        self._queue: queue.SimpleQueue[Entry | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._worker = threading.Thread(target=self._work, name="prepare", daemon=True)

    def start(self) -> None:
        """Puts kept books on the shelf and begins to prepare what is there."""
        (self.folder / BOOKS).mkdir(parents=True, exist_ok=True)
        for place in sorted((self.folder / BOOKS).iterdir()):
            if place.name.startswith("."):
                # What a process that was killed had begun.
                shutil.rmtree(place, ignore_errors=True)
            elif (place / "book.json").is_file():
                self._put(self._kept(place))
        self._worker.start()

    def stop(self) -> None:
        """Stops preparing; what is prepared so far is kept."""
        self._stopping.set()
        self._queue.put(None)
        if self._worker.is_alive():
            self._worker.join()

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
        """Puts a plain-text file on the shelf, which stays where it is."""
        novel = read_novel(path)
        entry = Entry(self._collection(_identity(novel.title, novel.content), novel), "file")
        return self._put(entry)

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
                remedy="name a benchmark of books, such as relic/sample/test, or a plain-text file",
            )
        books = {book.name: book for book, _, _ in passages.groups}
        novels = [
            Novel(name, _readable(name), "", data.lang, "utf-8", book.stripped, (), ())
            for name, book in books.items()
        ]
        name = _identity(dataset_id, hashlib.sha256(dataset_id.encode()).hexdigest())
        made = Collection(name, dataset_id, novels, self.meaning)
        return self._put(Entry(made, "dataset", dataset_id))

    def add_upload(self, data: bytes, filename: str) -> tuple[Entry, bool]:
        """Keeps a book that a reader adds; the entry, and whether it is new.

        Args:
            data: plain text, or gzip or .zip of it.
            filename: names the book where its header has no title; never a path here.

        Raises:
            TooLargeError, FullError, InputError: see `unpacked` and `novel_of`.
        """
        if len(data) > self.limits.upload:
            raise TooLargeError(f"a book has at most {self.limits.upload / 1e6:g} MB")
        text = unpacked(data, self.limits.upload)
        title = _title_of(filename)
        novel = novel_of(text, title, name=slug(title))
        name = _identity(novel.title, hashlib.sha256(text).hexdigest())
        with self._lock:
            if name in self._entries:
                return self._entries[name], False
            self.check_room()
            added = time.time()
            self._keep(name, text, {"title": title, "added": added})
            entry = Entry(self._collection(name, novel), "book", added=added)
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
            place = self.folder / BOOKS / name
            hidden = place.with_name(f".{name}.removed")
            if place.is_dir():
                place.rename(hidden)
        shutil.rmtree(hidden, ignore_errors=True)

    def _keep(self, name: str, text: bytes, about: dict[str, object]) -> None:
        place = self.folder / BOOKS / name
        begun = place.with_name(f".{name}.{os.getpid()}")
        shutil.rmtree(begun, ignore_errors=True)
        begun.mkdir(parents=True)
        with atomic_path(begun / "text.txt") as path:
            path.write_bytes(text)
        with atomic_text(begun / "book.json") as out:
            json.dump(about, out, ensure_ascii=False)
        begun.rename(place)

    def _kept(self, place: Path) -> Entry:
        about = json.loads((place / "book.json").read_text("utf-8"))
        title = str(about["title"])
        novel = novel_of((place / "text.txt").read_bytes(), title, name=slug(title))
        return Entry(self._collection(place.name, novel), "book", added=float(about["added"]))

    def _collection(self, name: str, novel: Novel) -> Collection:
        # Ids of passages begin with the collection's own name, so judgments of books never mix.
        return Collection(name, novel.title, [replace(novel, name=name)], self.meaning)

    def _put(self, entry: Entry) -> Entry:
        with self._lock:
            known = self._entries.setdefault(entry.collection.name, entry)
        if known is entry:
            self._queue.put(entry)
        return known

    def _work(self) -> None:
        while (entry := self._queue.get()) is not None and not self._stopping.is_set():
            if entry.gone:
                continue
            try:
                self.prepare(entry)
            except StoppedError:
                continue
            except Exception as error:
                reason = " ".join(str(error).split()) or type(error).__name__
                entry.progress = Progress("failed", message=reason)

    def prepare(self, entry: Entry) -> None:
        """Indexes a collection, in this thread.

        Raises:
            StoppedError: the shelf stops, or the collection was removed.
            InputError: it cannot be indexed.
        """
        made = entry.collection
        total = len(made.sentences)
        entry.progress = Progress("words", 0, total)
        made.index(LENGTH)
        _ = made.frequencies
        if self.meaning is None or self.meaning.why_not:
            why = "" if self.meaning is None else self.meaning.why_not or ""
            entry.progress = Progress("ready", total, total, why)
            return
        entry.progress = Progress("meaning", 0, total)

        def tell(done: int, of: int) -> None:
            entry.progress = Progress("meaning", done, of)

        self.meaning.prepare(
            made.key, made.sentences, tell, lambda: self._stopping.is_set() or entry.gone
        )
        made.has_vectors = True
        entry.progress = Progress("ready", total, total)


def _identity(title: str, digest: str) -> str:
    """The id of a collection: letters of its title, and a part of a hash."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:40].strip("-") or "book"
    return f"{words}-{digest[:8]}"


def _title_of(filename: str) -> str:
    """A title from the name of an uploaded file: without folders, ends and control characters."""
    base = re.split(r"[/\\]", filename)[-1]
    base = re.sub(r"(?:\.(?:txt|md|gz|zip))+$", "", base, flags=re.I)
    clean = "".join(c if c.isprintable() else " " for c in base)
    return " ".join(clean.split())[:_TITLE] or "Untitled"


def _readable(name: str) -> str:
    """The name of a book as a title."""
    return name.replace("_", " ").title()


def paths_in(places: Iterable[Path]) -> list[Path]:
    """The plain-text files among some files and in some folders."""
    found: list[Path] = []
    for place in places:
        found += sorted(place.glob("*.txt")) if place.is_dir() else [place]
    return found
