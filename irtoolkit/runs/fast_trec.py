"""TREC runs in which every line is regular, read column-wise by pyarrow."""

from __future__ import annotations

import lzma
import mmap
import os
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.base.files import StrPath, local
from irtoolkit.base.ids import is_word
from irtoolkit.base.packed import is_plain, opened
from irtoolkit.runs.columns import RUN_FIELDS, RunColumns, whole_number
from irtoolkit.runs.precision import Precision

# Smaller files are read on the calling thread.
_THREADED_BYTES = 1 << 20
# Bytes that are read at once.
_PIECE = 1 << 24
# Exceptions of damaged packed files, besides OSError; the other reader reports them.
_DAMAGE = (
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    NotImplementedError,
    UnicodeDecodeError,
)
# How a file begins whose first line is empty, and what stands before and in any other empty line.
_EMPTY_FIRST, _EMPTY = (b"\n", b"\r\n"), (b"\n\n", b"\n\r\n")


def read_regular(path: StrPath, precision: Precision = "single") -> RunColumns | None:
    """Returns the columns of a file in which every line is regular, or None for any other file."""
    fields = _fields(path)
    if fields is None:
        return None
    from irtoolkit.base import arrow

    names = {
        name: np.array(column.dictionary.to_pylist(), dtype=object)
        for name, column in fields.items()
        if name != "score"
    }
    ranks = [whole_number(name) for name in names["rank"]]
    doubles = arrow.to_numpy(fields["score"])
    with np.errstate(over="ignore"):
        scores = doubles.astype(np.float32)
    # An empty or blank-padded field is an irregular line that happens to split in six.
    regular = all(is_word(name) for ids in names.values() for name in ids)
    if None in ranks or not regular or not np.isfinite(scores).all():
        return None
    codes = {name: arrow.to_numpy(fields[name].indices) for name in names}
    return RunColumns(
        np.arange(1, len(scores) + 1),
        names["query"],
        codes["query"].astype(np.int64),
        names["document"],
        codes["document"].astype(np.int64),
        np.array(ranks, dtype=np.int64)[codes["rank"]],
        scores if precision == "single" else doubles,
        names["iteration"],
        codes["iteration"],
        names["tag"],
        codes["tag"],
    )


def _fields(path: StrPath) -> dict[str, Any] | None:
    """Returns an Arrow array for each field, dictionaries except scores; None if pyarrow fails."""
    import pyarrow as pa

    tables: list[Any] = []
    try:
        for data in _pieces(path):
            if not tables:
                tabs = b"\t" in bytes(data[:4096]).partition(b"\n")[0]
            tables.append(_parsed(data, "\t" if tabs else " "))
    except (*_DAMAGE, pa.ArrowInvalid, OSError, _IrregularError):
        return None
    if not tables:
        return None
    table = pa.concat_tables(tables)
    # One dictionary of many documents is made faster than one for each block, to be unified.
    documents = table["document"].dictionary_encode()
    table = table.set_column(RUN_FIELDS.index("document"), "document", documents)
    table = table.unify_dictionaries()
    return {name: table[name].combine_chunks() for name in RUN_FIELDS}


def _parsed(data: bytes | mmap.mmap, delimiter: str) -> Any:
    """Returns some lines as an Arrow table; raises ArrowInvalid if one is not regular."""
    import pyarrow as pa
    import pyarrow.csv as pacsv

    text = pa.dictionary(pa.int32(), pa.string())
    # Ranks as text: pyarrow would take 0x1F for a whole number.
    kinds = dict.fromkeys(RUN_FIELDS, text) | {"document": pa.string(), "score": pa.float64()}
    return pacsv.read_csv(
        pa.BufferReader(pa.py_buffer(data)),
        pacsv.ReadOptions(
            column_names=list(RUN_FIELDS),
            block_size=_PIECE,
            # A process that ends while pyarrow still starts its threads aborts.
            use_threads=len(data) > _THREADED_BYTES,
        ),
        pacsv.ParseOptions(
            delimiter=delimiter, quote_char=False, double_quote=False, ignore_empty_lines=False
        ),
        pacsv.ConvertOptions(column_types=kinds, null_values=[], strings_can_be_null=False),
    )


class _IrregularError(Exception):
    """A file is to be read line by line."""


def _pieces(path: StrPath) -> Iterator[bytes | mmap.mmap]:
    """Yields the unpacked content of a file, whole lines at a time; nothing if the file is empty.

    Raises:
        _IrregularError: it is not a file, or has an empty line or a CR that does not end a line.
        InputError: it unpacks to very much more than its size.
    """
    path = local(path)
    if not path.is_file():
        raise _IrregularError  # the other reader reports it
    if not is_plain(path):
        yield from _unpacked(path)
        return
    with open(path, "rb") as raw:
        if not os.fstat(raw.fileno()).st_size:
            return
        mapped = mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ)
    yield _lines_only(mapped)


def _unpacked(path: Path) -> Iterator[bytes | mmap.mmap]:
    """Yields the lines of a packed file, some at a time, up to the first irregular one."""
    rest = b""
    with opened(path) as packed:
        while piece := packed.read(_PIECE):
            end = piece.rfind(b"\n") + 1
            if not end:
                raise _IrregularError  # no line is that long
            yield _lines_only(rest + piece[:end])
            rest = piece[end:]
    if rest:
        yield _lines_only(rest)


def _lines_only(data: bytes | mmap.mmap) -> bytes | mmap.mmap:
    """Returns the data, if no line is empty, on which pyarrow is slow, and each CR ends a line."""
    # Searched one by one: a regular expression takes longer than pyarrow does.
    if data[:2].startswith(_EMPTY_FIRST) or any(data.find(empty) >= 0 for empty in _EMPTY):
        raise _IrregularError
    if data.find(b"\r") >= 0:
        data = bytes(data)
        if data.count(b"\r") != data.count(b"\r\n"):
            raise _IrregularError
    return data
