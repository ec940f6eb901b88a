"""Stored outputs of a model: files of some thousand texts, found by the texts' hashes.

A shard is an Arrow file that is mapped into memory, not read. Its name holds the hash of its
content, so damage is found; it appears whole or not at all; and any number of processes may write
to one folder, because a shard is never changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import sha256
from irtoolkit.base.ids import Ints

# A text's key: the first bytes of a hash.
KEY_BYTES = 16
# The arrays that a model makes of one text: a (d,) vector; (t, d) vectors of its tokens; or (n,) term
# numbers with their (n,) weights.
Output = tuple[NDArray[Any], ...]
SUFFIX = ".arrow"


def key_of(text: str) -> bytes:
    """Returns the key of a text.

    Raises:
        InputError: it cannot be written as UTF-8.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"half a surrogate pair at character {error.start + 1} of the text {text[:60]!r}"
        ) from None
    return hashlib.blake2b(data, digest_size=KEY_BYTES).digest()


@dataclass(frozen=True)
class Shard:
    """A file of outputs."""

    path: Path

    @cached_property
    def _table(self) -> Any:
        import pyarrow as pa

        with pa.memory_map(str(self.path)) as source:
            table = pa.ipc.open_file(source).read_all().combine_chunks()
        table.validate(full=True)  # damage must not lead out of the file
        return table

    @cached_property
    def keys(self) -> Any:
        """(n,) Arrow array of the texts' keys."""
        return self._table["key"].chunk(0)

    def words(self) -> NDArray[np.uint64]:
        """Returns (n, 2) the keys as numbers of the same order."""
        words = np.frombuffer(self.keys.buffers()[1], ">u8").reshape(-1, 2)
        return words[: len(self.keys)].astype(np.uint64)

    @cached_property
    def lengths(self) -> Ints:
        """(n,) tokens of each text before it was cut."""
        return np.asarray(self._table["length"].chunk(0))

    @property
    def arrays(self) -> int:
        """Number of arrays that the model makes of a text."""
        return len(self._columns)

    def column(self, number: int) -> tuple[NDArray[Any], Ints]:
        """Returns the concatenated rows of all texts, and (n+1,) the first row of each.

        A row is one number, or a vector if the model makes vectors of a text's parts.
        """
        return self._columns[number]

    @cached_property
    def _columns(self) -> list[tuple[NDArray[Any], Ints]]:
        widths = json.loads(self._table.schema.metadata[b"widths"])
        columns = []
        for number, width in enumerate(widths):
            array = self._table[f"values{number}"].chunk(0)
            flat = array.values.to_numpy(zero_copy_only=True)
            starts = array.offsets.to_numpy(zero_copy_only=True)
            columns.append((flat.reshape(-1, width), starts // width) if width else (flat, starts))
        return columns

    def is_sound(self) -> bool:
        """Returns whether the file holds what was written."""
        with suppress(FileNotFoundError):  # another process may have found it damaged
            return self._is_whole()
        return False

    def _is_whole(self) -> bool:
        return self.path.is_file() and sha256(self.path)[:32] == self.path.stem.partition("-")[2]


def shard_table(keys: Sequence[bytes], lengths: Ints, outputs: Sequence[Output]) -> Any:
    """Returns a model's outputs for some texts as an Arrow table: keys, tokens, arrays."""
    import pyarrow as pa

    columns: dict[str, Any] = {
        "key": pa.array(list(keys), pa.binary(KEY_BYTES)),
        "length": pa.array(lengths, pa.int64()),
    }
    widths = []
    for number, first in enumerate(outputs[0]):
        parts = [output[number] for output in outputs]
        starts = np.concatenate([[0], np.cumsum([part.size for part in parts])]).astype(np.int64)
        flat = np.concatenate([part.ravel() for part in parts])
        columns[f"values{number}"] = pa.LargeListArray.from_arrays(pa.array(starts), pa.array(flat))
        widths.append(first.shape[1] if first.ndim == 2 else None)
    return pa.table(columns).replace_schema_metadata({"widths": json.dumps(widths)})


def table_bytes(table: Any) -> bytes:
    """Returns an Arrow table as the content of a file."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    _write(table, sink)
    return bytes(sink.getvalue())


def write_shard(
    folder: Path,
    keys: Sequence[bytes],
    lengths: Ints,
    outputs: Sequence[Output],
    chunk: Sequence[bytes] | None = None,
) -> Shard:
    """Writes a model's outputs for some texts.

    Args:
        folder: the folder to write to.
        keys, lengths, outputs: of each text, its key, its tokens, and its arrays.
        chunk: what this process has locked, if that is more: two chunks may lack the same texts.

    Raises:
        InputError: the disk refuses.
    """
    return place_shard(folder, keys, shard_table(keys, lengths, outputs), chunk)


def place_shard(
    folder: Path, keys: Sequence[bytes], table: Any, chunk: Sequence[bytes] | None = None
) -> Shard:
    """Writes a shard, given as a table or as the bytes of its file; see `write_shard`."""
    import pyarrow as pa

    name = name_of(keys)
    temporary = folder / f".{name_of(chunk or keys)}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with pa.OSFile(str(temporary), "wb") as sink:
            if isinstance(table, bytes):
                sink.write(table)
            else:
                _write(table, sink)
        path = folder / f"{name}-{sha256(temporary)[:32]}{SUFFIX}"
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror or error}", file=folder) from None
    finally:
        with suppress(OSError):  # where nothing could be written there is nothing to remove
            temporary.unlink()
    return Shard(path)


def _write(table: Any, sink: Any) -> None:
    import pyarrow as pa

    with pa.ipc.new_file(sink, table.schema) as out:
        out.write_table(table, max_chunksize=len(table))


def name_of(keys: Sequence[bytes]) -> str:
    """Returns a name for a file or a lock of some texts."""
    return hashlib.sha256(b"".join(keys)).hexdigest()[:32]


@dataclass(frozen=True)
class Encodings:
    """A model's outputs for some texts, in order; mapped from disk, not in memory.

    Attributes:
        shards: the shards of the outputs.
        shard, row: (n,) the shard of each text, and its row there.
    """

    shards: Sequence[Shard]
    shard: Ints
    row: Ints

    def __len__(self) -> int:
        return len(self.shard)

    def __getitem__(self, chosen: Ints) -> Encodings:
        return Encodings(self.shards, self.shard[chosen], self.row[chosen])

    @cached_property
    def lengths(self) -> Ints:
        """(n,) tokens of each text before it was cut."""
        lengths = np.empty(len(self), np.int64)
        for shard, rows in self._by_shard():
            lengths[rows] = shard.lengths[self.row[rows]]
        return lengths

    def digest(self) -> str:
        """Returns a hash of the model with its parameters, and of the texts in order."""
        keys = np.empty((len(self), KEY_BYTES), np.uint8)
        for shard, rows in self._by_shard():
            key_bytes = np.frombuffer(shard.keys.buffers()[1], np.uint8).reshape(-1, KEY_BYTES)
            keys[rows] = key_bytes[self.row[rows]]
        folder = self.shards[0].path.parent.name if len(self) else ""
        return hashlib.sha256(folder.encode() + keys.tobytes()).hexdigest()

    def distinct(self) -> tuple[Encodings, Ints]:
        """Returns each text once, in order of first appearance, and (n,) each one's index there."""
        _, first, inverse = np.unique(
            self.shard << 32 | self.row, return_index=True, return_inverse=True
        )
        if len(first) == len(self):
            return self, np.arange(len(self))
        order = np.argsort(first)
        positions = np.empty(len(first), np.int64)
        positions[order] = np.arange(len(first))
        return self[first[order]], positions[inverse]

    @cached_property
    def counts(self) -> Ints:
        """(n,) rows of each text's first array: the tokens that a late model keeps of it."""
        counts = np.empty(len(self), np.int64)
        for shard, rows in self._by_shard():
            starts = shard.column(0)[1]
            counts[rows] = starts[self.row[rows] + 1] - starts[self.row[rows]]
        return counts

    def vectors(self) -> NDArray[np.float32]:
        """Returns (n, dimensions) of models that make one vector of a text."""
        matrix: NDArray[np.float32] | None = None
        for shard, rows in self._by_shard():
            flat, starts = shard.column(0)
            width = int(starts[1] - starts[0])
            if matrix is None:
                matrix = np.empty((len(self), width), np.float32)
            matrix[rows] = flat.reshape(-1, width)[self.row[rows]]
            if flat.dtype == np.int8:
                matrix[rows] *= shard.column(1)[0][self.row[rows], None]
        return np.empty((0, 0), np.float32) if matrix is None else matrix

    def ragged(self, number: int) -> tuple[NDArray[Any], Ints]:
        """Returns one array of each text, concatenated, and (n+1,) the start of each."""
        counts = np.empty(len(self), np.int64)
        for shard, rows in self._by_shard():
            starts = shard.column(number)[1]
            counts[rows] = starts[self.row[rows] + 1] - starts[self.row[rows]]
        begins = np.concatenate([[0], np.cumsum(counts)])
        values: NDArray[Any] | None = None
        for shard, rows in self._by_shard():
            flat, starts = shard.column(number)
            if values is None:
                values = np.empty((begins[-1], *flat.shape[1:]), flat.dtype)
            many = counts[rows]
            within = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
            source = np.repeat(starts[self.row[rows]], many) + within
            values[np.repeat(begins[rows], many) + within] = flat[source]
        return np.empty(0) if values is None else values, begins

    def _by_shard(self) -> Iterator[tuple[Shard, Ints]]:
        order = np.argsort(self.shard, kind="stable")
        numbers, begins = np.unique(self.shard[order], return_index=True)
        for number, rows in zip(numbers, np.split(order, begins[1:]), strict=len(numbers) > 0):
            yield self.shards[number], rows
