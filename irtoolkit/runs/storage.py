"""Files of runs, written as TREC text and Parquet. `irtoolkit.runs.trec` and `.parquet` read them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TextIO

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import (
    StrPath,
    atomic_path,
    is_gzip,
    is_parquet,
    sha256,
    text_into,
)
from irtoolkit.base.ids import Ids, Ints, is_utf8, is_word
from irtoolkit.base.streams import is_special
from irtoolkit.base.targets import check_ending, check_packing

# The forms of a run in text.
RunForm = Literal["trec", "msmarco"]
# Lines that are made at once.
_LINES = 1 << 20


@dataclass(frozen=True)
class RunTable:
    """The rows of a run as parallel columns, as they are stored.

    Attributes:
        query_ids: (Q,) ids that `queries` points into.
        queries: (N,) index of each row's query.
        doc_ids: (D,) ids that `docs` points into.
        docs: (N,) index of each row's document.
        scores: (N,) scores.
        ranks: (N,) ranks from 1.
        tag: the name of the system.
    """

    query_ids: Ids
    queries: Ints
    doc_ids: Ids
    docs: NDArray[np.integer[Any]]
    scores: NDArray[np.floating[Any]]
    ranks: Ints
    tag: str


def write(path: StrPath, table: RunTable, form: RunForm = "trec") -> str | None:
    """Writes Parquet to a file whose name ends in .parquet, otherwise text.

    Returns:
        The SHA-256 of the written bytes, whatever another process writes to the path at once; None
        for a pipe or device.
    """
    check_packing(path)
    check_run_name(path, form)
    _check_ids(path, table)
    with atomic_path(path) as half:
        if is_parquet(path):
            _write_parquet(half, table)
        else:
            with text_into(half, packed=is_gzip(path)) as out:
                _write_text(out, table, form)
        return None if is_special(path) else sha256(half)


def check_run_name(path: StrPath, form: RunForm = "trec") -> None:
    """Raises InputError for a name that is not a run's, and for Parquet in a form of text."""
    check_ending(path, "a run", ".run", ".parquet", ".tsv")
    if is_parquet(path) and form != "trec":
        raise InputError(f"{form} is a form of text, not of Parquet", file=path)


def _check_ids(path: StrPath, table: RunTable) -> None:
    text = not is_parquet(path)
    for name in (*table.query_ids, *table.doc_ids):
        if not is_utf8(name):
            raise InputError(
                f"the id {name!r} cannot be written as UTF-8", file=path, remedy="rename it"
            )
        if text and not is_word(name):
            raise InputError(
                f"the id {name!r} cannot be written as one field of TREC text",
                file=path,
                remedy="rename it, or write Parquet",
            )


def _write_text(out: TextIO, table: RunTable, form: RunForm) -> None:
    """Writes lines of text.

    Lines are `qid Q0 docid rank score tag`, or in the form "msmarco" qid, tab, docid, tab, rank.
    Scores are the shortest decimals that read back to the same float32.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from irtoolkit.base import arrow

    trec = form == "trec"
    queries = arrow.texts([f"{name} Q0" if trec else name for name in table.query_ids])
    docs = arrow.texts(table.doc_ids)
    most = int(table.ranks.max(initial=0))
    ranks = arrow.texts([str(rank) if trec else f"{rank}\n" for rank in range(most + 1)])
    # Scalars of arrays, as one of a str would import pandas.
    tag, space = arrow.texts([f"{table.tag}\n", " " if trec else "\t"])
    for start in range(0, len(table.docs), _LINES):
        rows = slice(start, start + _LINES)
        lines = pc.binary_join_element_wise(
            queries.take(arrow.numbers(table.queries[rows])),
            docs.take(arrow.numbers(table.docs[rows])),
            ranks.take(arrow.numbers(table.ranks[rows])),
            *([arrow.numbers(table.scores[rows]).cast(pa.string()), tag] if trec else []),
            space,
        )
        # The lines lie end to end in the array's memory: no str is made of them.
        _, offsets, data = lines.buffers()
        size = np.frombuffer(offsets, dtype=np.int32)[len(lines)]
        out.buffer.write(memoryview(data)[:size])


def _write_parquet(path: Path, table: RunTable) -> None:
    """Writes the columns query_id, doc_id, rank and score, with the tag in the metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from irtoolkit.base import arrow

    columns = {
        "query_id": _encoded(table.query_ids, table.queries),
        "doc_id": _encoded(table.doc_ids, table.docs),
        "rank": arrow.numbers(table.ranks.astype(np.int32)),
        "score": arrow.numbers(table.scores),
    }
    arrow_table = pa.table(columns).replace_schema_metadata({"tag": table.tag})
    # With them a changed byte is found when the file is read.
    pq.write_table(arrow_table, path, write_page_checksum=True)


def _encoded(names: Ids, codes: NDArray[np.integer[Any]]) -> Any:
    import pyarrow as pa

    from irtoolkit.base import arrow

    indices = arrow.numbers(codes.astype(np.int32))
    return pa.DictionaryArray.from_arrays(indices, arrow.texts(names))
