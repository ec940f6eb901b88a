"""Shards of one index, built by the workers of an engine: each reads a range of the documents.

A shard that was written is found again, by the driver in the manifest, or by a worker in the record
of its range. So whatever is killed, the same call does the rest, and work that is done twice gives
the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text
from irtoolkit.engines.engine import current
from irtoolkit.indexes.manifest import Manifest, ShardEntry, check_shard
from irtoolkit.indexes.shards import SHARDS, begun, finished, written
from irtoolkit.indexes.writer import (
    DocumentBlock,
    Entries,
    Make,
    Reading,
    Target,
    Tell,
    written_shards,
)

# Documents of a range at most: what is lost when a worker is killed.
_MOST = 1 << 20

# Numbers of the first document and the last + 1; None for the end.
Range = tuple[int, int | None]


def ranges(done: int, total: int, workers: int, block: int) -> list[Range]:
    """The documents that are not done in ranges, which begin at multiples of a number of blocks."""
    size = min(_MOST, -(-total // max(1, workers)))
    size = max(block, -(-size // block) * block)
    starts = [done, *range((done // size + 1) * size, total, size)]
    return list(zip(starts, [*starts[1:], None], strict=True))


def by_workers(gpus: float = 0.0) -> Entries:
    """Writes shards in the workers of the current engine.

    Args:
        gpus: GPUs that each worker needs, where there are any.
    """

    def entries(
        target: Target, manifest: Manifest, reading: Reading, make: Make, tell: Tell
    ) -> Iterator[ShardEntry]:
        engine = current()
        plan = ranges(
            manifest.sources[-1].documents, reading.total or 0, engine.workers, reading.block
        )
        work = RangeBuilder(
            str(target.folder.resolve()),
            _key(target, manifest, make),
            target.texts,
            reading.blocks,
            make,
        )
        for range_entries in engine.map(work, plan, gpus=gpus):
            for entry in range_entries:
                tell(entry.documents)
                yield entry

    return entries


def _key(target: Target, manifest: Manifest, make: Make) -> str:
    """Returns a key of everything that decides the shards of a range."""
    source = manifest.sources[-1]
    decides = [
        manifest.format,
        manifest.kind,
        manifest.settings,
        manifest.view,
        source.name,
        source.content,
        target.texts,
        repr(make),
    ]
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class RangeBuilder:
    """Builds the shards of a range of documents, in whatever process.

    Attributes:
        folder: the index.
        key: tells the ranges of these documents and settings from others.
        texts: whether texts are kept.
        blocks: the documents from a number on.
        make: makes what makes the shards.
    """

    folder: str
    key: str
    texts: bool
    blocks: Callable[[int], Iterable[DocumentBlock]]
    make: Make

    def __call__(self, bounds: Range) -> list[ShardEntry]:
        shards = Path(self.folder) / SHARDS
        record = shards / f".ranges-{self.key}" / f"{bounds[0]}-{bounds[1] or 'end'}.json"
        recorded = _recorded(shards, record)
        return self._built(bounds, record) if recorded is None else recorded

    def _built(self, bounds: Range, record: Path) -> list[ShardEntry]:
        folder, done = Path(self.folder), bounds[0]
        if not folder.is_dir():
            raise InputError(
                "there is no such folder",
                file=folder,
                remedy="build the index where every worker"
                " sees it; for one at a URL, that is $IRTOOLKIT_CACHE",
            )
        half = f".unfinished-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        maker = self.make()
        entries = []
        try:
            for name, count in written_shards(
                lambda: begun(folder, half), self.texts, cut(self.blocks, bounds), maker, int
            ):
                entries.append(finished(name, f"{done:09}", count))
                done += count
        finally:
            getattr(maker, "close", int)()
        with written(folder):
            record.parent.mkdir(parents=True, exist_ok=True)
            with atomic_text(record) as out:
                json.dump([asdict(entry) for entry in entries], out)
        return entries


def _recorded(shards: Path, record: Path) -> list[ShardEntry] | None:
    """The shards of a range that was built before; None where they are not all whole."""
    with suppress(InputError, OSError, ValueError, TypeError):
        entries = [ShardEntry(**entry) for entry in json.loads(record.read_text("utf-8"))]
        for entry in entries:
            check_shard(shards / entry.name, entry)
        return entries
    return None


def cut(blocks: Callable[[int], Iterable[DocumentBlock]], bounds: Range) -> Iterator[DocumentBlock]:
    """The documents of a range, in blocks."""
    position, last = bounds
    for block in blocks(position):
        remaining = len(block.ids) if last is None else last - position
        if remaining < len(block.ids):
            block = DocumentBlock(block.ids[:remaining], block.texts[:remaining])
        if block.ids:
            yield block
        position += len(block.ids)
        if position == last:
            return
