"""Encoding by the workers of an engine: chunks of texts go out, shards of outputs come back.

Chunks are those of an encoding in one process, and so are the batches in them; a worker computes
each batch on one thread, as one process does. So the outputs are the same to the last bit, wherever
they are computed, on processors of one kind.

Shards return to this process, which writes them: workers need not see the vector store.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import chain, islice
from typing import NamedTuple

from irtoolkit.engines.engine import Engine
from irtoolkit.models.adapters import Item
from irtoolkit.models.shards import KEY_BYTES, key_of, place_shard, table_bytes
from irtoolkit.models.store import Store


class Chunk(NamedTuple):
    """Texts that are encoded together, each with its key."""

    keys: list[bytes]
    items: list[Item]


def chunked(
    items: Iterable[Item],
    size: int,
    done: Callable[[int], object],
    keys: list[bytes] | None = None,
) -> Iterator[Chunk]:
    """Yields items in chunks of a size, each item once.

    Args:
        items: texts, or pairs of texts.
        size: items of a chunk.
        done: called with the number of repeated items.
        keys: receives the keys of all items.
    """
    seen_keys: set[bytes] = set()
    chunk = Chunk([], [])
    for item in items:
        key = key_of(item if isinstance(item, str) else _as_one(*item))
        if keys is not None:
            keys.append(key)
        if key in seen_keys:
            done(1)
            continue
        seen_keys.add(key)
        chunk.keys.append(key)
        chunk.items.append(item)
        if len(chunk.keys) == size:
            yield chunk
            chunk = Chunk([], [])
    if chunk.keys:
        yield chunk


class Workers(NamedTuple):
    """The workers that chunks go to.

    Attributes:
        engine: their engine.
        shard: makes the shard of a chunk in a worker, where it loads the model once.
        here: encodes a chunk in this process, given also the keys that are locked.
        gpus: GPUs that each worker needs, if there are any.
    """

    engine: Engine
    shard: Callable[[bytes], bytes]
    here: Callable[[Chunk, list[bytes]], None]
    gpus: float


class _Sent(NamedTuple):
    """A chunk that a worker is at: its keys, and those that are locked for it, end to end."""

    keys: bytes
    locked: bytes
    lock: ExitStack


class Spread:
    """A distributor of chunks of texts that are not in the vector store to workers.

    Args:
        store: receives the shards.
        workers: the workers.
        done: called with a number of texts whenever more are done.
    """

    def __init__(self, store: Store, workers: Workers, done: Callable[[int], object]) -> None:
        self._store, self._workers, self._done = store, workers, done
        # In the order in which workers get them.
        self._sent: deque[_Sent] = deque()
        # Keys that workers are at: parts of a collection may have texts in common.
        self._flying: set[bytes] = set()
        self._put_off: list[Chunk] = []

    def __call__(self, chunks: Iterable[Chunk]) -> list[Chunk]:
        """Encodes what is missing; returns the chunks that other processes are encoding."""
        try:
            missing = self._missing(chunks)
            first = list(islice(missing, 2))
            if len(first) == 1:  # to start workers takes longer than one chunk
                self._workers.here(first[0], _split(self._sent[0].locked))
            elif first:
                self._encode(chain(first, missing))
        finally:
            for sent in self._sent:
                sent.lock.close()
        return self._put_off

    def _encode(self, missing: Iterable[Chunk]) -> None:
        engine, encode, _, gpus = self._workers
        for shard in engine.map(encode, map(packed, missing), gpus=gpus):
            sent = self._sent.popleft()
            keys = _split(sent.keys)
            self._store.add(place_shard(self._store.folder, keys, shard, _split(sent.locked)))
            sent.lock.close()
            self._flying.difference_update(keys)
            self._done(len(keys))

    def _missing(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yields the missing part of each chunk, which stays locked."""
        for whole in chunks:
            new, lock = self._new(whole), ExitStack()
            if new:
                if not lock.enter_context(self._store.locked(whole.keys, wait=False)):
                    self._put_off.append(whole)
                    continue
                self._store.refresh()  # another process may have been here before
                new = self._new(whole)
            self._done(len(whole.keys) - len(new))
            if not new:
                lock.close()
                continue
            keys = [whole.keys[position] for position in new]
            self._sent.append(_Sent(b"".join(keys), b"".join(whole.keys), lock))
            self._flying.update(keys)
            yield Chunk(keys, [whole.items[position] for position in new])

    def _new(self, chunk: Chunk) -> list[int]:
        """Returns the texts that are neither in the store nor at a worker."""
        states = zip(chunk.keys, self._store.has(chunk.keys), strict=True)
        return [
            position
            for position, (key, is_stored) in enumerate(states)
            if not is_stored and key not in self._flying
        ]


def packed(chunk: Chunk) -> bytes:
    """Returns a chunk as it is sent to a worker, as an Arrow file; `unpacked` is its reverse."""
    import pyarrow as pa

    pairs = [item if isinstance(item, tuple) else (item, None) for item in chunk.items]
    columns = {
        "key": pa.array(chunk.keys, pa.binary(KEY_BYTES)),
        "first": pa.array([first for first, _ in pairs], pa.large_string()),
        "second": pa.array([second for _, second in pairs], pa.large_string()),
    }
    return table_bytes(pa.table(columns))


def unpacked(data: bytes) -> Chunk:
    """Returns the chunk that a worker gets."""
    import pyarrow as pa

    table = pa.ipc.open_file(pa.BufferReader(data)).read_all()
    pairs = zip(table["first"].to_pylist(), table["second"].to_pylist(), strict=True)
    items = [first if second is None else (first, second) for first, second in pairs]
    return Chunk(table["key"].to_pylist(), items)


def _split(keys: bytes) -> list[bytes]:
    return [keys[start : start + KEY_BYTES] for start in range(0, len(keys), KEY_BYTES)]


def _as_one(first: str, second: str) -> str:
    """Returns one text for a pair of texts, to be hashed: no two pairs are the same."""
    return f"{len(first)} {first}{second}"
