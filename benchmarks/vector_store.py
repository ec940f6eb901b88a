"""Opening a vector store and looking up 1,000 keys, in a new process each time.

    python benchmarks/vector_store.py                       # 10^6 keys in real shards, some minutes
    python benchmarks/vector_store.py --synthetic 100000000 # and a table of 10^8 keys, 2.4 GB of disk
    python benchmarks/vector_store.py -o benchmarks/results/vector_store.json

The real store has shards of 4,096 vectors, written as an encoder writes them; those that the keys
are in are also checked (SHA-256 of the whole file) and read. The synthetic one is a table of random
keys in order, beside empty files with the names of its shards: it shows opening and looking up, and
nothing can be read from it. "before" is what the store did until it had tables: it read all keys of
all shards into a dict. Files are in the page cache, as they are after they have been written.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.base.tables import TextTable
from irtoolkit.models import keytable
from irtoolkit.models.encoder import SHARD
from irtoolkit.models.shards import SUFFIX, Shard, write_shard
from irtoolkit.models.store import Store

LOOKED_UP = 1000
DIMENSIONS = 32


def keys_of(first: int, last: int) -> list[bytes]:
    """Keys as random as those of texts."""
    draw = np.random.default_rng(first)
    return [draw.bytes(16) for _ in range(first, last)]


def fill(folder: Path, count: int) -> None:
    """Writes shards of vectors, and opens the store once, so that it has its tables."""
    outputs = [(row,) for row in np.ones((SHARD, DIMENSIONS), np.float32)]
    for first in range(0, count, SHARD):
        keys = keys_of(first, min(count, first + SHARD))
        write_shard(folder, keys, np.ones(len(keys), np.int64), outputs[: len(keys)])
    Store(folder)


def invent(folder: Path, count: int) -> None:
    """Writes a table of so many keys in order, and empty files with the names of their shards."""
    names = tuple(f"{i:032x}-{0:032x}{SUFFIX}" for i in range(-(-count // SHARD)))
    for name in names:
        (folder / name).touch()

    def parts() -> Iterator[Any]:
        size = 1 << 21
        for first in range(0, count, size):
            many = min(size, count - first)
            draw = np.random.default_rng(first)
            low_end, high_end = (int(at / count * 2**64) for at in (first, first + many))
            high = np.sort(draw.integers(low_end, high_end, many, np.uint64))
            place = draw.integers(0, count, many)
            yield (
                high,
                draw.integers(0, 2**63, many, np.uint64),
                place // SHARD << 32 | place % SHARD,
            )

    keytable._write(folder, names, parts(), count)


def known(folder: Path) -> list[bytes]:
    """Some keys of a table, far from one another."""
    (path,) = sorted(folder.glob(f"*{keytable.SUFFIX}"), key=lambda path: -path.stat().st_size)[:1]
    table = keytable.read(path)
    assert table is not None
    rows = np.random.default_rng(7).choice(len(table), LOOKED_UP)
    pairs = np.stack([table.high[rows], table.low[rows]], axis=1)
    return [bytes(pair) for pair in pairs.astype(">u8")]


def before(folder: Path, keys: Sequence[bytes], real: bool) -> tuple[dict[str, float], Any]:
    """The dict of all keys, and the look-up in it."""
    del real
    started = time.perf_counter()
    places: dict[bytes, int] = {}
    for number, path in enumerate(sorted(folder.glob(f"*{SUFFIX}"))):
        for row, key in enumerate(Shard(path).keys.to_pylist()):
            places.setdefault(key, number << 32 | row)
    opened = time.perf_counter()
    found = [places[key] for key in keys]
    looked = time.perf_counter()
    assert len(found) == len(keys)
    return {"open ms": 1000 * (opened - started), "look up ms": 1000 * (looked - opened)}, places


def now(folder: Path, keys: Sequence[bytes], real: bool) -> tuple[dict[str, float], Any]:
    """The store; of a real one the shards are checked and the vectors read too."""
    started = time.perf_counter()
    store = Store(folder)
    opened = time.perf_counter()
    shard, _ = store.places(keys)
    looked = time.perf_counter()
    assert (shard >= 0).all()
    row = {"open ms": 1000 * (opened - started), "look up ms": 1000 * (looked - opened)}
    if real:
        assert all(store.has(keys))
        assert store.rows(keys).vectors().shape == (len(keys), DIMENSIONS)
        row["check and read ms"] = 1000 * (time.perf_counter() - looked)
    return row, store


def alone(work: Callable[..., Any], *args: Any) -> dict[str, float]:
    """A function's result and the memory that it took, in a new process."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_measured, (work, args))


def _measured(work: Callable[..., Any], args: Any) -> dict[str, float]:
    import psutil
    import pyarrow  # noqa: F401 loading libraries is not opening a store

    def own() -> int:  # what is mapped from files can be dropped at any time
        info = psutil.Process().memory_info()
        return int(info.rss - getattr(info, "shared", 0))

    memory = own()
    row, _kept = work(*args)  # what has been opened is held until memory is read
    return {**row, "MB": (own() - memory) / 1e6}


def measure(real: int, synthetic: int, home: Path, turns: int) -> list[dict[str, Any]]:
    """The rows of the table; of some turns the fastest counts."""
    rows = []
    for count, make in ((real, fill), (synthetic, invent)):
        if not count:
            continue
        folder = home / f"{make.__name__}-{count}"
        folder.mkdir()
        make(folder, count)
        keys = known(folder)
        for work in (before, now) if make is fill else (now,):
            found = [alone(work, folder, keys, make is fill) for _ in range(turns)]
            best = min(found, key=lambda row: row["open ms"])
            rows.append({"keys": count, "store": make.__name__, "code": work.__name__, **best})
    return rows


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Opening a vector store and looking up keys.")
    parser.add_argument("--real", type=int, default=1_000_000, help="keys in shards")
    parser.add_argument("--synthetic", type=int, default=0, help="keys in a table alone")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as home:
        rows = measure(args.real, args.synthetic, Path(home), args.turns)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[row.get(column) for column in columns] for row in rows]
    device = f"{platform.machine()}, {os.cpu_count()} cores"
    print(TextTable(columns, cells, title=f"{LOOKED_UP} keys, {device}", places=1).render("text"))
    if args.output:
        found = {"device": device, "looked up": LOOKED_UP, "stores": rows}
        args.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
