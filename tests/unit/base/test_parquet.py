"""Parquet files that hold very much more than their size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from irtoolkit.base import packed
from irtoolkit.base.errors import InputError
from irtoolkit.base.parquet import read_columns
from irtoolkit.runs import Run

# How much a file may hold in these tests, whatever its size.
SMALL = 1 << 20
# Each is a column of which all rows are the same.
ROWS = 4 * SMALL


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "SMALL", SMALL)


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but the footer may be read."""

    def read(*_: Any, **__: Any) -> None:
        raise AssertionError("the columns were read")

    monkeypatch.setattr(pq, "read_table", read)


def repeated(text: str, rows: int) -> Any:
    codes = pa.array(np.zeros(rows, np.int32))
    return pa.DictionaryArray.from_arrays(codes, pa.array([text]))


def written(path: Path, columns: dict[str, Any]) -> Path:
    pq.write_table(pa.table(columns), path, compression="zstd", store_schema=False)
    return path


@pytest.mark.usefixtures("unread")
def test_many_equal_rows_are_refused_before_they_are_read(tmp_path: Path) -> None:
    bomb = written(
        tmp_path / "x.parquet",
        {
            "query_id": repeated("q1", ROWS),
            "doc_id": repeated("d1", ROWS),
            "score": pa.array(np.zeros(ROWS, np.float32)),
        },
    )
    with pytest.raises(InputError, match="unpacks to more than 200 times its size") as caught:
        Run.read(bomb)
    assert caught.value.file == str(bomb)


@pytest.mark.usefixtures("unread")
def test_long_texts_are_refused_before_they_are_read(tmp_path: Path) -> None:
    columns = {"query_id": ["q1"], "doc_id": ["d" * 4 * SMALL], "score": [1.0]}
    with pytest.raises(InputError, match="unpacks to more than 200 times its size"):
        Run.read(written(tmp_path / "x.parquet", columns))


def test_a_long_text_of_many_rows_is_kept_once(tmp_path: Path) -> None:
    """Every row would be a copy of it."""
    rows, long = 2_000, "d" * 10_000
    path = written(tmp_path / "x.parquet", {"doc_id": repeated(long, rows)})
    table = read_columns(path, ["doc_id"], ["doc_id"])
    assert table.nbytes < 100_000
    assert table["doc_id"].to_pylist() == [long] * rows


def test_a_changed_byte_of_a_run_is_found(tmp_path: Path) -> None:
    """Of its pages, that is: what surrounds them has no checksum."""
    Run.from_rows([("q1", f"d{i}", 1000.0 - i) for i in range(1000)]).write(tmp_path / "x.parquet")
    whole = (tmp_path / "x.parquet").read_bytes()
    found = pq.read_metadata(tmp_path / "x.parquet").row_group(0).column(1)
    end = found.dictionary_page_offset + found.total_compressed_size
    for at in (end - 1, end - 500, found.data_page_offset - 10):
        changed = bytes([*whole[:at], whole[at] ^ 1, *whole[at + 1 :]])
        (tmp_path / "x.parquet").write_bytes(changed)
        with pytest.raises(InputError, match=r"not a Parquet run: .*CRC"):
            Run.read(tmp_path / "x.parquet")
