"""Books to search for quotations: prepared once, stored in files, and mapped into memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.durable import atomic_folder
from irtoolkit.building.relic.words import GRAM, Characters, Grams, Words, code_points

Places = NDArray[np.int32]


@dataclass(frozen=True)
class ShelvedBook:
    """A book in a folder of arrays.

    Attributes:
        folder: its folder.
        name: as in ids of passages.
    """

    folder: Path
    name: str

    @classmethod
    def put(cls, folder: Path, name: str, sentences: Sequence[str]) -> ShelvedBook:
        """Prepares a book, unless it exists already; atomically."""
        if not folder.is_dir():
            with atomic_folder(folder) as temporary:
                _write(temporary, sentences)
        return cls(folder, name)

    def _array(self, name: str) -> Any:
        # Slices of a plain view are much cheaper than those of a memmap.
        return np.load(self.folder / f"{name}.npy", mmap_mode="r").view(np.ndarray)

    @cached_property
    def grams(self) -> Grams:
        """(G,) hashes of its runs of words, ascending."""
        return self._array("grams")  # type: ignore[no-any-return]

    @cached_property
    def places(self) -> Places:
        """(G,) the first word of each run."""
        return self._array("places")  # type: ignore[no-any-return]

    @cached_property
    def sentence(self) -> Places:
        """(W,) the sentence of each word."""
        return self._array("sentence")  # type: ignore[no-any-return]

    @cached_property
    def offsets(self) -> Places:
        """(W + 1,) the position of each word in `characters`."""
        return self._array("offsets")  # type: ignore[no-any-return]

    @cached_property
    def characters(self) -> Characters:
        """Its words as `Words.line` has them, as code points."""
        return self._array("characters")  # type: ignore[no-any-return]

    def between(self, first: int, last: int) -> str:
        """Returns the words from `first` up to, but not including, `last`."""
        begin, end = int(self.offsets[first]), int(self.offsets[last]) - 1
        return self.characters[begin : max(begin, end)].tobytes().decode("utf-32-le")

    def __getstate__(self) -> dict[str, Any]:
        return {"folder": self.folder, "name": self.name}  # arrays are mapped where they are used


def _write(folder: Path, sentences: Sequence[str]) -> None:
    words = Words.of("\n".join(sentences))
    ends = np.cumsum([len(sentence) + 1 for sentence in sentences])
    grams = words.grams()
    order = np.argsort(grams, kind="stable")
    # One after the other, for the sake of memory.
    np.save(folder / "grams.npy", grams[order])
    np.save(folder / "places.npy", order.astype(np.int32))
    del grams, order
    sentence = np.searchsorted(ends, words.begins, side="right").astype(np.int32)
    np.save(folder / "sentence.npy", sentence)
    np.save(folder / "offsets.npy", words.offsets.astype(np.int32))
    np.save(folder / "characters.npy", code_points(words.line))
    (folder / "about.json").write_text(json.dumps({"gram": GRAM, "words": len(words)}), "utf-8")
