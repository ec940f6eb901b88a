"""TREC runs in which every line is regular, read column-wise by pyarrow."""

from __future__ import annotations

import gzip
import mmap
import os
import zlib
from typing import Any

import numpy as np

from irtoolkit.base.files import StrPath, is_gzip, local
from irtoolkit.base.ids import is_word
from irtoolkit.base.streams import stream_of
from irtoolkit.runs.columns import RUN_FIELDS, RunColumns, whole_number

# Smaller files are read on the calling thread.
_THREADED_BYTES = 1 << 20


def read_regular(path: StrPath) -> RunColumns | None:
    """The columns of a file in which every line is regular, or None for any other file."""
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
    with np.errstate(over="ignore"):
        scores = arrow.to_numpy(fields["score"]).astype(np.float32)
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
        scores,
        names["iteration"],
        codes["iteration"],
        names["tag"],
        codes["tag"],
    )


def _fields(path: StrPath) -> dict[str, Any] | None:
    """Field name to its Arrow array, dictionary-encoded but for scores; None where pyarrow fails."""
    import pyarrow as pa
    import pyarrow.csv as pacsv

    text = pa.dictionary(pa.int32(), pa.string())
    # Ranks as text: pyarrow would take 0x1F for a whole number.
    kinds = dict.fromkeys(RUN_FIELDS, text) | {"document": pa.string(), "score": pa.float64()}
    try:
        data = _plain_bytes(path)
        if data is None:
            return None
        head = bytes(data[:4096]).partition(b"\n")[0]
        table = pacsv.read_csv(
            pa.BufferReader(pa.py_buffer(data)),
            pacsv.ReadOptions(
                column_names=list(RUN_FIELDS),
                block_size=1 << 24,
                # A process that ends while pyarrow still starts its threads aborts.
                use_threads=len(data) > _THREADED_BYTES,
            ),
            pacsv.ParseOptions(
                delimiter="\t" if b"\t" in head else " ",
                quote_char=False,
                double_quote=False,
                ignore_empty_lines=False,
            ),
            pacsv.ConvertOptions(column_types=kinds, null_values=[], strings_can_be_null=False),
        )
    except (pa.ArrowInvalid, OSError, EOFError, zlib.error):
        return None
    # One dictionary of many documents is made faster than one for each block, to be unified.
    documents = table["document"].dictionary_encode()
    table = table.set_column(RUN_FIELDS.index("document"), "document", documents)
    table = table.unify_dictionaries()
    return {name: table[name].combine_chunks() for name in RUN_FIELDS}


def _plain_bytes(path: StrPath) -> bytes | mmap.mmap | None:
    """The unpacked content of a file; None of a pipe, and where it is empty or a line has a CR."""
    path = local(path)
    if not path.is_file() or stream_of(path) is not None:
        return None  # a pipe can be opened only once
    if is_gzip(path):
        with gzip.open(path, "rb") as packed:
            return _lines_only(packed.read())
    with open(path, "rb") as raw:
        if not os.fstat(raw.fileno()).st_size:
            return None
        mapped = mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ)
    return mapped if mapped.find(b"\r") < 0 else _lines_only(bytes(mapped))


def _lines_only(data: bytes) -> bytes | None:
    """The data, or None when it has a CR that does not end a line."""
    return data if data and data.count(b"\r") == data.count(b"\r\n") else None
