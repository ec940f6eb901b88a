"""Parquet files, refused if they hold very much more than their size.

A few bytes of Parquet may stand for any number of rows: equal values of a column are written once
with their count, texts once in a dictionary. The footer gives the unpacked size before reading.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from irtoolkit.base.packed import check_ratio

# Bytes that a row takes in memory beside the values of its columns: indices and numbers.
_ROW = 32


def read_columns(
    path: Path, names: Collection[str] | None = None, texts: Sequence[str] = ()
) -> Any:
    """Returns a file as an Arrow table, or some of its columns in the file's order.

    Args:
        path: a file on this machine.
        names: the columns to read, some of which may be missing; by default all.
        texts: columns in which each distinct text is held in memory once.

    Raises:
        InputError: the file holds very much more than its size.
        pyarrow.ArrowException, OSError, UnicodeDecodeError: it cannot be read.
    """
    import pyarrow.parquet as pq

    metadata = _checked_names(path)
    if names is not None:
        names = [name for name in metadata if name in names]
    table = pq.read_table(
        path, columns=names, read_dictionary=list(texts), page_checksum_verification=True
    )
    # What is damaged may be read as indices of texts that are not there.
    table.validate(full=True)
    return table


def read_batches(path: Path, names: Sequence[str], rows: int) -> Iterator[Any]:
    """Yields some columns of a file as Arrow record batches, of which one is in memory at a time.

    Args:
        path: a file on this machine.
        names: the columns to read, all of which the file has.
        rows: the most rows of a batch.

    Raises:
        InputError, pyarrow.ArrowException, OSError, UnicodeDecodeError: see `read_columns`.
    """
    import pyarrow.parquet as pq

    _checked_names(path)
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        for batch in file.iter_batches(rows, columns=list(names)):
            batch.validate(full=True)
            yield batch


def _checked_names(path: Path) -> list[str]:
    """Returns the names of a file's columns.

    Raises:
        InputError: the file holds very much more than its size.
    """
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    # Those of single columns end the process where they are damaged.
    size = sum(group.total_byte_size + _ROW * group.num_rows for group in groups)
    check_ratio(path, size, os.path.getsize(path))
    names: list[str] = metadata.schema.to_arrow_schema().names
    return names
