"""The files that examples are taken from: answers, Natural Questions, or books."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import StrPath
from irtoolkit.building.shelves import files_of, text_files
from irtoolkit.datasets.novels import slug

ANSWERS, NQ, BOOKS = KINDS = ("answers", "nq", "books")
_JSON = (".jsonl", ".jsonl.gz", ".json.gz")


@dataclass(frozen=True)
class Source:
    """A file with its kind.

    Attributes:
        kind: one of `KINDS`.
        path: the file.
        name: its name in the benchmark, without white space.
    """

    kind: str
    path: Path
    name: str


def sources(kind: str, paths: Sequence[StrPath]) -> list[Source]:
    """Returns the files of some paths, those of a folder in order of their names.

    Args:
        kind: one of `KINDS`; books are .txt and .md files, others JSON lines, which may be .gz.
        paths: files and folders.

    Raises:
        InputError: no such file, none of that kind, or two of one name.
    """
    if kind != BOOKS:
        problem = f"no file in it ends in {' or '.join(_JSON[:2])}"
        files = files_of(paths, lambda path: path.name.endswith(_JSON), problem)
        names = [re.sub(r"(\.jsonl|\.json)?(\.gz)?$", "", path.name) for path in files]
        return _distinct(
            [Source(kind, path, slug(name)) for path, name in zip(files, names, strict=True)]
        )
    listed = [Source(kind, file.path, file.name) for file in text_files(paths, "books")]
    for source in listed:
        if source.path.suffix in (".jsonl", ".json", ".gz"):
            raise InputError(
                "not a book by its name",
                file=source.path,
                remedy="give .txt and .md files; JSON lines go to --answers or --nq",
            )
    return listed


def _distinct(files: list[Source]) -> list[Source]:
    """Returns the sources, after checking that their names differ."""
    names: dict[str, Source] = {}
    for source in files:
        earlier = names.setdefault(source.name, source)
        if earlier is not source:
            raise InputError(
                f"files of one name: {source.name} is the name of {earlier.path}, too",
                file=source.path,
                remedy="rename one of the two files",
            )
    return files
