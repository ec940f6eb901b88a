"""Statistics of terms in a file of texts, counted once and kept in the cache."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from functools import cached_property
from importlib import metadata
from itertools import chain
from pathlib import Path

import pyarrow as pa

from irtoolkit.base import analysis
from irtoolkit.base.analysis import Analysis, analyzer, stop_words
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.cache import CacheWriter, Schemas, Tables, parsed
from irtoolkit.indexes.counting import Vocabulary
from irtoolkit.indexes.strings import Strings
from irtoolkit.indexes.weighted import Statistics
from irtoolkit.retrievers.text_files import file_texts

_SCHEMAS: Schemas = {
    "terms": {"term": pa.string(), "found": pa.int64(), "occurrences": pa.int64()},
    "size": {"texts": pa.int64()},
}


def file_terms(path: Path, analysis: Analysis) -> Tables:
    """The terms of a file's texts: in how many texts each occurs, and how often.

    Memory grows with the distinct terms of the file, and not with its texts.

    Raises:
        InputError: the file cannot be read, or has no texts.
    """
    return parsed(
        f"statistics-{_key(analysis)}", [path], _SCHEMAS, lambda out: _count(path, analysis, out)
    )


def _key(text_analysis: Analysis) -> str:
    """Returns a key that changes with anything that decides the terms of a text."""
    version = metadata.version("jieba") if text_analysis.tokenizer == "jieba" else ""
    decides = [analysis.FORMAT, *text_analysis, sorted(stop_words(text_analysis.stop)), version]
    return hashlib.sha256(json.dumps(decides).encode()).hexdigest()[:12]


def _count(path: Path, analysis: Analysis, out: CacheWriter) -> None:
    analyze, size = analyzer(*analysis), 0
    frequencies: Counter[str] = Counter()
    occurrences: Counter[str] = Counter()
    for segments in file_texts(path):
        counts = Counter(chain.from_iterable(map(analyze, segments)))
        size += 1
        frequencies.update(counts.keys())
        occurrences.update(counts)
    if not size:
        raise InputError("the file has no texts", file=path)
    out.add("size", size)
    for term, count in frequencies.items():
        out.add("terms", term, count, occurrences[term])


class FileStatistics:
    """The statistics of a file's texts, which weigh terms in place of those of an index.

    Args:
        path: the file; see `irtoolkit.retrievers.text_files.file_texts`.
        how: how texts become terms.
    """

    def __init__(self, path: Path, analysis: Analysis) -> None:
        self._tables = file_terms(path, analysis)

    @cached_property
    def size(self) -> int:
        """Number of texts."""
        return int(self._tables["size"]["texts"][0].as_py())

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        table = self._tables["terms"]
        names, counts = table["term"].to_pylist(), table["found"].to_numpy()
        order = sorted(range(len(names)), key=names.__getitem__)
        return Vocabulary(Strings.of([names[index] for index in order]), counts[order])

    def vocabulary(self) -> Vocabulary:
        """Every term, and the number of texts that have it."""
        return self._vocabulary

    def statistics(self, terms: Strings) -> Statistics:
        """Returns the number of texts that have each of some terms."""
        return Statistics(self.size, 0, 0, 0, self._vocabulary.of(terms))
