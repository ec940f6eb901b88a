"""The terms of a collection's documents, kept in the cache as numbers.

Every process would otherwise split and stem the same texts again. A folder holds the terms of all
texts one after another, and for each text where its terms end. The texts are the documents; of
passages of books they are the sentences, which many passages share.
"""

from __future__ import annotations

import json
import shutil
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.base import analysis
from irtoolkit.base.analysis import Analysis, analyzer, stop_words
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ids, Ints
from irtoolkit.base.locks import locked
from irtoolkit.datasets.books import BLOCK_VIEWS
from irtoolkit.datasets.cache import cache_home
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.retrievers._terms import Numbers
from irtoolkit.retrievers.texts import no_text, text_batches

# Raised by hand when the files of a folder mean something else.
FORMAT = 1
FOLDER = "terms"
# Files of a folder, and the file that names the sizes and check sums of the others.
_STREAM, _ENDS, _TERMS, _IDS, _MANIFEST = (
    "stream",
    "ends",
    "terms.json",
    "ids.json",
    "manifest.json",
)


class KeptTerms:
    """The terms of all documents of a dataset under a view.

    Attributes:
        terms: every term, at its number.
    """

    def __init__(self, dataset: Dataset, sentences: bool, files: dict[str, Any]) -> None:
        """`sentences` says that the texts are the sentences of the dataset's books."""
        self.terms: list[str] = files[_TERMS]
        self._stream, self._ends = files[_STREAM], files[_ENDS]
        self._dataset, self._sentences, self._ids = dataset, sentences, files[_IDS]

    def __len__(self) -> int:
        """Number of documents."""
        return len(self._passages) if self._sentences else len(self._ids)

    @property
    def _passages(self) -> Any:
        return self._dataset.passages()

    @cached_property
    def _place(self) -> dict[str, int]:
        return {doc_id: place for place, doc_id in enumerate(self._ids)}

    def places(self, doc_ids: Ids) -> Ints:
        """The number of each document in the collection.

        Raises:
            InputError: the collection has no such document.
        """
        if self._sentences:
            places: Ints = self._passages.places(doc_ids)
        else:
            found = (self._place.get(doc_id, -1) for doc_id in doc_ids)
            places = np.fromiter(found, np.int64, len(doc_ids))
        if (places < 0).any():
            raise no_text(doc_ids[np.argmax(places < 0)], self._dataset)
        return places

    def of(self, places: Ints) -> tuple[Any, Ints]:
        """The terms of some documents in order, and where each document's begin and end among them.

        Returns:
            (n,) term numbers and (documents + 1,) offsets.
        """
        first, last = (
            self._passages.sentence_ranges(places) if self._sentences else (places, places + 1)
        )
        begins, ends = self._ends[first], self._ends[last]
        offsets = np.concatenate([[0], np.cumsum(ends - begins)])
        if len(places) and np.array_equal(begins[1:], ends[:-1]):
            return self._stream[begins[0] : ends[-1]], offsets
        at = np.arange(offsets[-1]) + np.repeat(begins - offsets[:-1], ends - begins)
        return self._stream[at], offsets


def kept_terms(dataset: Dataset, view: str, how: Analysis) -> KeptTerms | None:
    """The terms of a dataset's documents, which are found once and then kept.

    Returns:
        None where nothing can be kept: only reading the documents tells whether they have changed,
        or the cache cannot be written.
    """
    key = dataset.docs_key
    if key is None:
        return None
    # The tokens of a passage are those of its sentences, but jieba may see words across them.
    sentences = view in BLOCK_VIEWS and how.tokenizer != "jieba" and dataset.passages() is not None
    folder = cache_home() / FOLDER / _name(key, "sentences" if sentences else view, how)
    files = _open(folder)
    if files is None:
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            with locked(folder.with_suffix(".lock"), remove=True):
                files = _open(folder)
                if files is None:
                    files = _built(folder, dataset, None if sentences else view, how)
        except OSError:
            return None
        except InputError as error:
            if isinstance(error.__context__, OSError):
                return None
            raise
    return None if files is None else KeptTerms(dataset, sentences, files)


def _name(key: str, view: str, how: Analysis) -> str:
    """What changes with anything that decides the terms."""
    words = sorted(stop_words(how.stop))
    version = metadata.version("jieba") if how.tokenizer == "jieba" else ""
    decides = [FORMAT, analysis.FORMAT, key, view, *how, words, version]
    return sha256(json.dumps(decides).encode()).hexdigest()[:40]


def _built(
    folder: Path, dataset: Dataset, view: str | None, how: Analysis
) -> dict[str, Any] | None:
    """Writes the files of a folder, of sentences where there is no view, and opens them."""
    # One name, since its lock is held: what a killed process has left is there.
    scratch = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        scratch.mkdir()
        _fill(scratch, dataset, view, how)
        shutil.rmtree(folder, ignore_errors=True)
        scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return _open(folder)


def _fill(scratch: Path, dataset: Dataset, view: str | None, how: Analysis) -> None:
    analyze = analyzer(*how)
    numbers = Numbers(analyze)
    ids: list[str] = []
    ends = array("q", [0])
    with open(scratch / _STREAM, "wb") as out:
        for block in _sentences(dataset) if view is None else _documents(dataset, view, ids):
            terms = array("i")
            for segments in block:
                for segment in segments:
                    tokens = map(numbers.__getitem__, analyze.split(analyze.lower(segment)))
                    terms.extend(number for number in tokens if number >= 0)
                ends.append(len(terms))
            _shift(ends, len(block))
            out.write(terms.tobytes())
    (scratch / _ENDS).write_bytes(ends.tobytes())
    (scratch / _TERMS).write_text(json.dumps(list(numbers.terms)))
    (scratch / _IDS).write_text(json.dumps(ids))
    sums = {path.name: [path.stat().st_size, _sum(path)] for path in sorted(scratch.iterdir())}
    (scratch / _MANIFEST).write_text(json.dumps({"format": FORMAT, "files": sums}))


def _shift(ends: array[int], count: int) -> None:
    """Makes the last ends, which count from the start of their block, count from the first of all."""
    before = ends[-count - 1]
    for place in range(len(ends) - count, len(ends)):
        ends[place] += before


def _sentences(dataset: Dataset) -> Iterator[Sequence[tuple[str, ...]]]:
    passages = dataset.passages()
    for book in () if passages is None else passages.sentences():
        yield [(sentence,) for sentence in book]


def _documents(dataset: Dataset, view: str, ids: list[str]) -> Iterator[Sequence[tuple[str, ...]]]:
    """The texts of the documents in blocks, whose ids are added to `ids`."""
    for names, texts in text_batches(dataset, view):
        ids.extend(names)
        yield texts


def _sum(path: Path) -> int:
    found = 0
    with open(path, "rb") as raw:
        while piece := raw.read(1 << 24):
            found = zlib.crc32(piece, found)
    return found


_READERS: dict[str, Callable[[Path], Any]] = {
    _STREAM: lambda path: _mapped(path, np.int32),
    _ENDS: lambda path: _mapped(path, np.int64),
    _TERMS: lambda path: json.loads(path.read_bytes()),
    _IDS: lambda path: json.loads(path.read_bytes()),
}


def _mapped(path: Path, kind: Any) -> Any:
    # An empty file cannot be mapped.
    return np.memmap(path, kind, "r") if path.stat().st_size else np.empty(0, kind)


def _open(folder: Path) -> dict[str, Any] | None:
    """The files of a folder; None where they are not there or damaged."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        about = json.loads((folder / _MANIFEST).read_bytes())
        if about["format"] == FORMAT and set(about["files"]) == set(_READERS):
            paths = {name: folder / name for name in _READERS}
            found = {name: [path.stat().st_size, _sum(path)] for name, path in paths.items()}
            if found == about["files"]:
                return {name: read(paths[name]) for name, read in _READERS.items()}
    return None
