"""Statistics of terms in a file of texts, counted once and kept in the cache."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from irtoolkit.base import analysis
from irtoolkit.base.analysis import Analysis, analyzer, stop_words
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.cache import CacheWriter, Schemas, Tables, parsed
from irtoolkit.retrievers._counts import Collection
from irtoolkit.retrievers._terms import Vocabulary
from irtoolkit.retrievers.text_files import file_texts
from irtoolkit.retrievers.texts import BLOCK_DOCS

_SCHEMAS: Schemas = {
    "terms": {"term": pa.string(), "found": pa.int64(), "occurrences": pa.int64()},
    "size": {"texts": pa.int64()},
}


def file_terms(path: Path, how: Analysis) -> Tables:
    """The terms of a file's texts: in how many texts each occurs, and how often.

    Memory grows with the distinct terms of the file, and not with its texts.

    Raises:
        InputError: the file cannot be read, or has no texts.
    """
    return parsed(f"statistics-{_key(how)}", [path], _SCHEMAS, lambda out: _count(path, how, out))


def _key(how: Analysis) -> str:
    """What changes with anything that decides the terms of a text."""
    version = metadata.version("jieba") if how.tokenizer == "jieba" else ""
    decides = [analysis.FORMAT, *how, sorted(stop_words(how.stop)), version]
    return hashlib.sha256(json.dumps(decides).encode()).hexdigest()[:12]


def _count(path: Path, how: Analysis, out: CacheWriter) -> None:
    vocabulary, texts = Vocabulary(analyzer(*how)), file_texts(path)
    total = Collection(0, np.zeros(1, np.int64), np.zeros(1))
    while block := list(islice(texts, BLOCK_DOCS)):
        total += Collection.of(vocabulary.count(block))
    if not total.size:
        raise InputError("the file has no texts", file=path)
    out.add("size", total.size)
    for term, number in vocabulary.items():
        out.add("terms", term, int(total.found[number]), int(total.occurrences[number]))


class FileStatistics:
    """The statistics of a file's texts, over the terms that a vocabulary has by now.

    Args:
        path: the file; see `irtoolkit.retrievers.text_files.file_texts`.
        how: how texts become terms.
        vocabulary: gives terms their numbers.
    """

    def __init__(self, path: Path, how: Analysis, vocabulary: Vocabulary) -> None:
        self._tables = file_terms(path, how)
        self._vocabulary = vocabulary
        self._known = Collection(self.size, np.zeros(0, np.int64), np.zeros(0))

    @cached_property
    def size(self) -> int:
        """Number of texts."""
        return int(self._tables["size"]["texts"][0].as_py())

    def widened(self, width: int) -> Collection:
        """The statistics of the first terms of the vocabulary; a term of no text has zeros."""
        new = [term for term, _ in islice(self._vocabulary.items(), len(self._known.found), width)]
        if new:
            found, occurrences = self._of(new)
            self._known = Collection(
                self.size,
                np.concatenate([self._known.found, found]),
                np.concatenate([self._known.occurrences, occurrences]),
            )
        return self._known.widened(width)

    def _of(self, terms: list[str]) -> tuple[Any, Any]:
        table = self._tables["terms"]
        # The few terms are looked up in, and the many pass by.
        places = pc.index_in(table["term"], value_set=pa.array(terms))
        kept = places.is_valid()
        at = places.filter(kept).to_numpy()
        counts = np.zeros((2, len(terms)), np.int64)
        for row, name in zip(counts, ("found", "occurrences"), strict=True):
            row[at] = table[name].filter(kept).to_numpy()
        return counts[0], counts[1].astype(np.float64)
