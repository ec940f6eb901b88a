"""The documents of a large text file: read from columns on disk, so memory does not grow with them."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ir_datasets.formats import GenericDoc

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import is_file, local
from irtoolkit.base.forms import without_packing
from irtoolkit.base.paths import StrPath, is_url, split_query
from irtoolkit.datasets.columns import Records, TableRows
from irtoolkit.datasets.local.collection import part_tables
from irtoolkit.datasets.local.sheets import is_sheet

# Bytes of a file from which on its documents stay on disk.
LARGE = 1 << 24
# Ends of file names to formats.
FORMATS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".trec": "trec",
    ".sgml": "trec",
    ".parquet": "parquet",
    ".arrow": "arrow",
}
# The usual ends of names, as messages have them.
DOCUMENTS = ".jsonl, .csv, .tsv, .trec or .parquet"


def is_text_file(name: str) -> bool:
    """Returns whether a name ends as a file of texts does; dataset ids do not."""
    plain = split_query(name)[0] if is_url(name) else name
    return Path(without_packing(plain)).suffix.lower() in FORMATS


def format_of(path: Path) -> str | None:
    """Returns the format of a file, by the end of its name; None if it is not a file of texts."""
    form = FORMATS.get(Path(without_packing(path.name)).suffix.lower())
    return "csv" if form == "tsv" and path.is_file() and is_sheet(path) else form


def large_docs(source: StrPath) -> FileDocs | None:
    """Returns the documents of a file that is better not held in memory; None of another one."""
    path = local(source)
    form = format_of(path)
    is_large = form is not None and path.is_file() and path.stat().st_size >= LARGE
    return FileDocs(source, form) if form is not None and is_large else None


class FileDocs:
    """A callable that returns a file's documents, {document id: record}, made as they are read.

    The file is parsed once, into irtoolkit's cache. Other processes get its name, not its texts,
    and read it on their machine.

    Args:
        path: a path or a URL.
        form: its format; a key of `irtoolkit.datasets.local.formats.DOC_FORMATS`.

    Raises:
        InputError: the file is invalid; in another process, it is missing or different.
    """

    def __init__(self, path: StrPath, form: str) -> None:
        self._path, self._form = path, form
        tables = part_tables("docs", form, [local(path)])
        self._key, self._records = tables.key, _records(tables["docs"])

    def __call__(self) -> Mapping[str, GenericDoc]:
        """Returns the documents in the order of the file."""
        return self._records

    def __reduce__(self) -> Any:
        return _sent, (self._path, self._form, self._key)

    def holds(self, key: str) -> bool:
        """Returns whether the file has the content that a key is of."""
        return self._key == key


def _records(table: Any) -> Records[GenericDoc]:
    rows = TableRows(table, lambda _, doc_id, title, text: _doc(doc_id, title, text))
    return Records(lambda: table["doc_id"].to_pylist(), rows)


def _doc(doc_id: str, title: str, text: str) -> GenericDoc:
    return GenericDoc(doc_id, f"{title} {text}".strip())


def _sent(path: StrPath, form: str, key: str) -> FileDocs:
    """Returns the documents in a process that they were sent to."""
    if not is_file(path):
        raise InputError(
            f"the machine {socket.gethostname()} has no such file",
            file=path,
            remedy="keep it where every worker sees it, or at a URL",
        )
    docs = FileDocs(path, form)
    if not docs.holds(key):
        raise InputError(
            f"the machine {socket.gethostname()} has other documents in this file",
            file=path,
            remedy="give every machine the same data",
        )
    return docs
