"""Parquet files that are written row group by row group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from irtoolkit.base.arrow import column, texts
from irtoolkit.integrations.exports.source import Entry, Source

# Rows of a group, and ids in a group of pools.
_ROWS, _IDS = 1 << 14, 1 << 20
QUERY, DOC, DOCS, GRADE = "query-id", "corpus-id", "corpus-ids", "score"


def write_pools(source: Source, path: Path) -> None:
    """Writes the candidates of each query: query-id, and corpus-ids in their order.

    Queries that share their candidates have them next to each other, so that the file holds the ids
    about once.
    """
    schema = pa.schema({QUERY: pa.string(), DOCS: pa.list_(pa.string())})
    with _writer(path, schema) as out:
        for queries, docs in source.pools():
            ids = texts(docs)
            step = max(1, _IDS // max(1, len(ids)))
            for start in range(0, len(queries), step):
                part = queries[start : start + step]
                out.write_table(_pools(part, ids, schema), row_group_size=len(part))


def _pools(queries: Sequence[str], ids: Any, schema: pa.Schema) -> pa.Table:
    ends = np.arange(len(queries) + 1, dtype=np.int32) * len(ids)
    values = pa.concat_arrays([ids] * len(queries))
    lists = pa.ListArray.from_arrays(pa.array(ends), values)
    return pa.Table.from_arrays([texts(queries), lists], schema=schema)


def write_entries(
    entries: Iterator[Entry], fields: Mapping[str, pa.DataType], path: Path, *, titled: bool
) -> None:
    """Writes documents or queries: id, title if they are `titled`, text, and their other fields.

    A field with the name of one of these columns, which the text does not hold, is record_NAME.
    """
    parts = ("id", "title", "text") if titled else ("id", "text")
    named = {f"record_{name}" if name in parts else name: kind for name, kind in fields.items()}
    schema = pa.schema({**dict.fromkeys(parts, pa.string()), **named})
    with _writer(path, schema) as out:
        while block := list(islice(entries, _ROWS)):
            arrays = [texts([getattr(entry, part) for entry in block]) for part in parts]
            arrays += [
                column([entry.other[name] for entry in block], kind)
                for name, kind in fields.items()
            ]
            out.write_table(pa.Table.from_arrays(arrays, schema=schema))


def write_qrels(source: Source, path: Path) -> None:
    """Writes the judgments: query-id, corpus-id and score."""
    kind = pa.float64() if source.dataset.qrels.fractional else pa.int64()
    schema = pa.schema({QUERY: pa.string(), DOC: pa.string(), GRADE: kind})
    rows = source.qrels()
    with _writer(path, schema) as out:
        while block := list(islice(rows, _ROWS)):
            queries, docs, grades = zip(*block, strict=True)
            arrays = [texts(queries), texts(docs), column(grades, kind)]
            out.write_table(pa.Table.from_arrays(arrays, schema=schema))


def _writer(path: Path, schema: pa.Schema) -> Any:
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    return pq.ParquetWriter(path, schema, compression="zstd")
