"""Files of word vectors: GloVe's text, or those that `irtoolkit models --fetch` has put in the cache."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.parquet import read_columns
from irtoolkit.base.paths import on_disk
from irtoolkit.models.sources import Source, sources

Vectors = dict[str, NDArray[np.float32]]


def word_source(name: str) -> Source | None:
    """Returns the word vectors of a name that can be fetched; None of a file.

    Raises:
        InputError: they are not here.
    """
    source = sources().get(name)
    if source is None or source.kind != "words" or on_disk(name).exists():
        return None
    if not source.folder.is_dir():
        raise InputError(
            f"words={name}: they are not here",
            remedy=f"irtoolkit models --fetch {name} ({source.size / 1e6:,.0f} MB)",
        )
    return source


def fetched_vectors(source: Source, needed: Set[str]) -> Vectors:
    """Returns downloaded vectors of some words; of two rows with the same word the first counts.

    Raises:
        InputError: they have none of the words.
    """
    words, table = _opened(source.folder)
    vectors: Vectors = {}
    for row, word in enumerate(words):
        if word in needed and word not in vectors:
            vectors[word] = np.array(table[row], np.float32)
    if not vectors:
        raise InputError(
            f"{source.name} has none of the {len(needed)} words of the training texts",
            remedy="give vectors of lower-case words in the same language",
        )
    return vectors


def _opened(folder: Path) -> tuple[list[str], NDArray[np.float32]]:
    table = np.load(folder / "vectors.npy", mmap_mode="r", allow_pickle=False)
    words = read_columns(folder / "words.parquet").column(0).to_pylist()
    if len(words) != len(table):
        raise InputError(f"{len(words)} words and {len(table)} vectors", file=folder)
    return words, table
