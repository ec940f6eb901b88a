"""Preparing collections beside the answers: by words first, then by meaning."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

from irtoolkit.apps.serve.entries import Entry, Progress
from irtoolkit.apps.serve.meaning import Meaning, StoppedError
from irtoolkit.apps.web.server import keep_for_good
from irtoolkit.base.threads import room_for

# Seconds between two looks whether a thread has ended.
_LOOK = 0.05
_Queue = queue.SimpleQueue[Entry | None]


class Preparing:
    """Two threads that prepare collections in the order in which they come.

    Args:
        meaning: what compares meaning, or None.
    """

    def __init__(self, meaning: Meaning | None) -> None:
        self._meaning = meaning
        self._words: _Queue = queue.SimpleQueue()
        self._meant: _Queue = queue.SimpleQueue()
        self._stopping, self._words_are_done = threading.Event(), threading.Event()
        self._threads = [
            threading.Thread(target=self._index_all, name="words", daemon=True),
            threading.Thread(target=self._compare_all, name="meaning", daemon=True),
        ]

    @property
    def loading(self) -> bool:
        """Whether the model is being loaded, which cannot be stopped."""
        return self._meaning is not None and self._meaning.loading

    def start(self) -> None:
        """Begins to prepare.

        Raises:
            MemoryError: there is no room for threads.
        """
        room_for(len(self._threads))
        for thread in self._threads:
            thread.start()

    def put(self, entry: Entry) -> None:
        """Takes a collection that is to be prepared."""
        self._words.put(entry)

    def end(self) -> None:
        """Has the threads stop at the next batch; what is prepared is kept."""
        self._stopping.set()
        self._words_are_done.set()
        self._words.put(None)
        self._meant.put(None)

    def stop(self) -> None:
        """Waits until the threads have stopped, or nothing but the model is being loaded."""
        self.end()
        for thread in self._threads:
            while thread.is_alive() and not self.loading:
                thread.join(_LOOK)

    def prepare(self, entry: Entry) -> None:
        """Prepares a collection, in this thread.

        Raises:
            StoppedError: the server ends, or the collection was removed.
            InputError: it cannot be indexed.
        """
        self._index(entry)
        self._compare(entry)

    def _index_all(self) -> None:
        while True:
            if self._words.empty():
                self._words_are_done.set()
            entry = self._words.get()
            if entry is None or self._stopping.is_set():
                return
            if self._did(self._index, entry):
                self._meant.put(entry)

    def _compare_all(self) -> None:
        # To load the model takes many times as long as to index a book by words.
        self._words_are_done.wait()
        if self._stopping.is_set():
            return
        # Before anybody asks: the first search is not to wait for it.
        if self._meaning is not None and not self._meaning.why_not:
            self._load(self._meaning)
        # Those whose vectors only have to be read, and the others.
        waiting: list[Entry] = []
        new: list[Entry] = []
        while not self._stopping.is_set():
            for entry in self._come(wait=not waiting and not new):
                (waiting if self._is_kept(entry) else new).append(entry)
            if waiting or new:
                self._did(self._compare, (waiting or new).pop(0))

    @staticmethod
    def _load(meaning: Meaning) -> None:
        """Loads the model; if that fails, words alone are compared."""
        try:
            meaning.load()
        except Exception as error:
            meaning.why_not = _reason(error)
        keep_for_good()

    def _come(self, *, wait: bool) -> Iterator[Entry]:
        """Yields entries queued for comparison by meaning; can wait for the first."""
        while wait or not self._meant.empty():
            entry = self._meant.get()
            if entry is None or self._stopping.is_set():
                return
            wait = False
            if entry.progress.stage == "loading":
                entry.progress = replace(entry.progress, stage="meaning")
            yield entry

    def _is_kept(self, entry: Entry) -> bool:
        able = self._meaning is not None and not self._meaning.why_not
        return able and cast(Meaning, self._meaning).is_kept(entry.collection.sentences)

    def _did(self, work: Callable[[Entry], None], entry: Entry) -> bool:
        """Whether some work on a collection was done; why not is in its progress."""
        if entry.gone:
            return False
        try:
            work(entry)
            return True
        except StoppedError:
            return False
        except Exception as error:
            entry.progress = Progress("failed", message=_reason(error))
            return False

    def _index(self, entry: Entry) -> None:
        collection = entry.collection
        total = len(collection.sentences)
        entry.progress = Progress("words", 0, total)
        _ = collection.words, collection.marks
        collection.warm_up("words")
        meaning = self._comparing(entry)
        if meaning is not None:
            entry.progress = Progress("meaning" if meaning.is_loaded else "loading", 0, total)

    def _comparing(self, entry: Entry) -> Meaning | None:
        """Returns what compares meaning; None if nothing does, and then a collection is ready."""
        if self._meaning is not None and not self._meaning.why_not:
            return self._meaning
        total = len(entry.collection.sentences)
        why = "" if self._meaning is None else self._meaning.why_not or ""
        entry.progress = Progress("ready", total, total, why)
        return None

    def _compare(self, entry: Entry) -> None:
        meaning = self._comparing(entry)
        if meaning is None:
            return
        collection = entry.collection
        total = len(collection.sentences)

        def tell(done: int, of: int) -> None:
            collection.has_some_vectors = done > 0
            entry.progress = Progress("meaning", done, of)

        def stop() -> bool:
            return self._stopping.is_set() or entry.gone

        try:
            meaning.prepare(collection.key, collection.sentences, tell, stop)
            collection.has_vectors = True
        finally:
            collection.has_some_vectors = False
        collection.warm_up("both")
        entry.progress = Progress("ready", total, total)


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
