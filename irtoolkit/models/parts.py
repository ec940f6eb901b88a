"""Outputs that are on disk before their whole chunk is, so that an interruption costs little.

A part holds whole batches, so that the batches that remain, and thus all outputs, are those of an
encoding that was never interrupted, to the last bit.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.models.shards import SUFFIX, Output, Shard, name_of, write_shard

# Seconds of work between two parts.
_SECONDS = 20.0


class Parts:
    """The parts of one chunk, in a folder that is removed when the chunk is complete.

    Args:
        folder: the vector store.
        keys: the texts of the chunk.
    """

    def __init__(self, folder: Path, keys: Sequence[bytes]) -> None:
        self._keys = keys
        self._folder = folder / f".{name_of(keys)}.parts"
        self._lock = threading.Lock()
        self._made: list[tuple[int, Output]] = []
        self._last = time.monotonic()

    def read(self) -> list[Output | None]:
        """Returns an interrupted encoding's output for each text, or None."""
        outputs: list[Output | None] = [None] * len(self._keys)
        if not self._folder.is_dir():
            return outputs
        places = {key: number for number, key in enumerate(self._keys)}
        for path in sorted(self._folder.glob(f"*{SUFFIX}")):
            shard = Shard(path)
            if shard.is_sound():
                for key, output in zip(shard.keys.to_pylist(), _outputs(shard), strict=True):
                    outputs[places[key]] = output
        return outputs

    def add(self, batch: Ints, outputs: Sequence[Output]) -> None:
        """Adds the outputs for a batch of texts, given by their positions in the chunk."""
        with self._lock:
            self._made += zip(batch.tolist(), outputs, strict=True)
            if time.monotonic() - self._last < _SECONDS or len(self._made) == len(self._keys):
                return
            encoded, self._made = self._made, []
            keys = [self._keys[number] for number, _ in encoded]
            with suppress(InputError):  # a full disk is reported when the chunk is written
                write_shard(
                    self._folder,
                    keys,
                    np.zeros(len(encoded), np.int64),
                    [row for _, row in encoded],
                )
            self._last = time.monotonic()

    def remove(self) -> None:
        """Removes the parts of a chunk that is complete."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _outputs(shard: Shard) -> list[Output]:
    """Returns the arrays of each text of a shard, copied out of the file."""
    columns = [shard.column(number) for number in range(shard.arrays)]
    return [
        tuple(flat[starts[row] : starts[row + 1]].copy() for flat, starts in columns)
        for row in range(len(shard.keys))
    ]
