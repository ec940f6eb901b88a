"""The store of many shards: tables of keys that are written, merged, damaged and deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irtoolkit.models import keytable, store
from irtoolkit.models.keytable import KeyTable, merged, words_of
from irtoolkit.models.shards import key_of, write_shard
from irtoolkit.models.store import Store

PER_SHARD = 5


def keys_of(first: int, last: int) -> list[bytes]:
    return [key_of(str(i)) for i in range(first, last)]


def write(folder: Path, first: int, last: int) -> Path:
    """A shard with the numbers themselves as vectors."""
    outputs = [(np.full(2, i, np.float32),) for i in range(first, last)]
    keys = keys_of(first, last)
    return write_shard(folder, keys, np.ones(len(keys), np.int64), outputs).path


def fill(folder: Path, shards: int, begin: int = 0) -> list[Path]:
    starts = range(begin, begin + shards * PER_SHARD, PER_SHARD)
    return [write(folder, start, start + PER_SHARD) for start in starts]


def values(opened: Store, first: int, last: int) -> list[float]:
    assert all(opened.has(keys_of(first, last)))
    return opened.rows(keys_of(first, last)).vectors()[:, 0].tolist()  # type: ignore[no-any-return]


def tables(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{keytable.SUFFIX}"))


def test_keys_with_the_same_first_half_are_told_apart() -> None:
    draw = np.random.default_rng(0)
    keys = np.stack([draw.integers(0, 3, 60), draw.permutation(60)], axis=1).astype(np.uint64)
    keys[:2] = [[2**64 - 1, 5], [2**64 - 1, 4]]
    table = KeyTable.of("a", keys)
    shard, row = table.find(keys)
    assert shard.tolist() == [0] * 60
    assert row.tolist() == list(range(60))
    absent = np.array([[0, 61], [2**64 - 1, 6], [2**64 - 1, 3], [7, 0]], np.uint64)
    assert table.find(absent)[0].tolist() == [-1] * 4


@pytest.mark.parametrize("at_once", [7, 1 << 21])
@pytest.mark.parametrize("kept", [False, True])
def test_merged_tables_say_what_they_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int, kept: bool
) -> None:
    monkeypatch.setattr(keytable, "_MERGED", at_once)
    # Keys 40 to 59 are in two shards, of which the first counts; shard c is gone.
    parts = {"a": (0, 60), "b": (40, 100), "c": (100, 120)}
    made = [KeyTable.of(name, words_of(keys_of(*part))) for name, part in parts.items()]
    table = merged(made, {"a", "b"}, tmp_path if kept else None)
    assert (len(table), table.names) == (100, ("a", "b"))
    shard, row = table.find(words_of(keys_of(0, 125)))
    assert shard.tolist() == [0] * 60 + [1] * 40 + [-1] * 25
    assert row[:100].tolist() == [*range(60), *range(20, 60)]
    assert (np.diff(table.high.astype(float)) >= 0).all()
    if kept:
        assert isinstance(table.high, np.memmap)


def test_a_second_process_sees_new_shards_and_tables(tmp_path: Path) -> None:
    fill(tmp_path, 20)
    one, two = Store(tmp_path), Store(tmp_path)
    for path in fill(tmp_path, 20, begin=100):
        one.add(store.Shard(path))
    assert not any(two.has(keys_of(100, 200)))
    two.refresh()
    assert values(two, 0, 200) == values(one, 0, 200) == list(range(200))


def test_no_byte_of_a_table_leads_to_another_texts_output(tmp_path: Path) -> None:
    fill(tmp_path, 17)
    Store(tmp_path)
    (table,) = tables(tmp_path)
    sound = table.read_bytes()
    draw = np.random.default_rng(1)
    for at in draw.integers(0, len(sound), 60).tolist():
        for bit in (0x01, 0x80):
            damaged = bytearray(sound)
            damaged[at] ^= bit
            for other in tables(tmp_path):
                other.unlink()
            table.write_bytes(damaged)
            opened, keys = Store(tmp_path), keys_of(0, 85)
            known = np.flatnonzero(opened.has(keys))
            assert len(known) >= 80  # those that are not found are made again
            found = opened.rows([keys[i] for i in known]).vectors()[:, 0]
            assert found.tolist() == known.tolist(), at


@pytest.mark.parametrize("size", [0, 3, 40, -8])
def test_a_table_cut_short_is_made_again(tmp_path: Path, size: int) -> None:
    fill(tmp_path, 17)
    Store(tmp_path)
    (table,) = tables(tmp_path)
    table.write_bytes(table.read_bytes()[:size])
    assert values(Store(tmp_path), 0, 85) == list(range(85))


def test_what_is_gone_from_a_table_is_found_in_a_newer_shard(tmp_path: Path) -> None:
    paths = fill(tmp_path, 18)
    Store(tmp_path)
    paths[0].unlink()
    opened = Store(tmp_path)
    assert not any(opened.has(keys_of(0, 5)))
    for start in range(5):  # in shards of other names, until there is another table
        opened.add(store.Shard(write(tmp_path, start, start + 1)))
    for path in fill(tmp_path, store._LOOSE, begin=90):
        opened.add(store.Shard(path))
    assert values(opened, 0, 90) == values(Store(tmp_path), 0, 90) == list(range(90))


def test_a_folder_that_cannot_be_written_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, 40)

    def refused(*args: Any, **kwargs: Any) -> Any:
        raise store.InputError("cannot write: read-only file system")

    monkeypatch.setattr(store, "locked", refused)
    assert values(Store(tmp_path), 0, 200) == list(range(200))
    assert not tables(tmp_path)
