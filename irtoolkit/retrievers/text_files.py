"""The texts of a file that is no dataset: what statistics are counted in, or words learnt from."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from irtoolkit.base import analysis
from irtoolkit.base.analysis import Analysis, analyzer, stop_words
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, first_line, read_lines
from irtoolkit.base.ids import Segments
from irtoolkit.datasets.cache import CacheWriter, Schemas, Tables, parsed
from irtoolkit.datasets.local.formats import DOC_TEXTS
from irtoolkit.datasets.strictjson import read_jsonl
from irtoolkit.indexes.counting import Statistics, Vocabulary
from irtoolkit.indexes.strings import Strings

# Fields of a JSON object that hold its text; the first one that the first object has is used.
FIELDS = (*DOC_TEXTS, "abstract")


def file_texts(path: StrPath) -> Iterator[Segments]:
    """The texts of a file, one at a time.

    A file whose first line begins with "{" is JSON lines: the text of an object is its text,
    contents, body or abstract, either a text or a list of sentences, as CSFCube's abstracts are.
    In any other file each line is a text. Blank lines are skipped.

    Args:
        path: UTF-8 text, plain, .gz, or a .zip with one file in it.

    Raises:
        InputError: not such a file, with the line.
    """
    _, first = first_line(path)
    if first.lstrip().startswith("{"):
        yield from _json_texts(Path(path))
    else:
        yield from ((line,) for _, line in read_lines(path) if line.strip())


def _json_texts(path: Path) -> Iterator[Segments]:
    name: str | None = None
    for line, value in read_jsonl(path, by_user=True):
        if not isinstance(value, dict):
            raise InputError("the line is not a JSON object", file=path, line=line)
        name = name or next((field for field in FIELDS if field in value), None)
        text: Any = None if name is None else value.get(name)
        if isinstance(text, str):
            yield (text,)
        elif isinstance(text, list) and all(isinstance(part, str) for part in text):
            yield tuple(text)
        else:
            raise InputError(
                "the object has no text" if name is None else f"{name} is not a text or sentences",
                file=path,
                line=line,
                remedy=f"its text is one of {', '.join(FIELDS)}, a text or a list of sentences",
            )


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
        analysis: how texts become terms.
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
