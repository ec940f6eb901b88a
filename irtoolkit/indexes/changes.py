"""Changes of an index that is complete: documents deleted, shards merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.indexes.documents import Documents, DocumentsWriter
from irtoolkit.indexes.manifest import Manifest
from irtoolkit.indexes.shards import (
    DELETED,
    OpenShard,
    begun,
    clean,
    find,
    finished,
    gone_name,
    opened,
    written,
)

# Documents copied at once.
_COPIED = 1 << 13


def delete(folder: Path, doc_ids: Sequence[str]) -> Manifest:
    """Deletes documents. They keep their place until shards are merged.

    One that was deleted before stays deleted, so that an interrupted call can be made again.

    Raises:
        InputError: a document that never was in the index; nothing is deleted then.
    """
    manifest = _settled(folder)
    shards = opened(folder, manifest)
    places: dict[int, list[int]] = {}
    for doc_id in dict.fromkeys(doc_ids):
        location = find(shards, doc_id)
        if location is not None:
            places.setdefault(location[0], []).append(location[1])
        elif all(shard.documents.place(doc_id) is None for shard in shards):
            raise InputError(f"document {doc_id} is not in the index {folder}")
    entries = list(manifest.shards)
    for number, positions in places.items():
        entry = entries[number]
        gone = np.union1d(shards[number].deleted, np.array(positions, np.int64))
        name = gone_name(entry, gone)
        with written(folder):
            (folder / DELETED).mkdir(exist_ok=True)
            np.save(folder / DELETED / name, gone)
        entries[number] = replace(entry, deleted=name)
    if places:
        manifest = replace(manifest, shards=tuple(entries))
        manifest.write(folder)
        clean(folder, manifest)
    return manifest


def merge(
    folder: Path, arrays: Callable[[Sequence[OpenShard], Sequence[Ints], Path], None]
) -> Manifest:
    """Makes one shard of all, without deleted documents.

    Args:
        folder: the index.
        arrays: writes the arrays of the one shard, given the new numbers of each shard's documents.
    """
    manifest = _settled(folder)
    shards = opened(folder, manifest)
    if len(shards) == 1 and not len(shards[0].deleted):
        return manifest
    half = begun(folder)
    live = [_live(docs, gone) for docs, gone in shards]
    ends = np.cumsum([0, *map(len, live)])
    places = []
    for (docs, _), positions, first in zip(shards, live, ends.tolist(), strict=False):
        numbers = np.full(len(docs.ids), -1, np.int64)
        numbers[positions] = np.arange(first, first + len(positions))
        places.append(numbers)
    with written(folder):
        _copy_documents(half, shards, live)
        arrays(shards, places, half)
    entry = finished(half, "0000", int(ends[-1]))
    manifest = replace(manifest, shards=(entry,))
    manifest.write(folder)
    clean(folder, manifest)
    return manifest


def _settled(folder: Path) -> Manifest:
    manifest = Manifest.read(folder)
    clean(folder, manifest)
    if not manifest.is_complete:
        last = manifest.sources[-1]
        raise InputError(
            f"the index {folder} holds only {last.documents:,} documents of {last.name}: putting"
            " them in was interrupted",
            remedy=f"put in {last.name} again to continue",
        )
    return manifest


def _live(docs: Documents, gone: Ints) -> Ints:
    live = np.ones(len(docs.ids), bool)
    live[gone] = False
    return np.flatnonzero(live)


def _copy_documents(half: Path, shards: Sequence[OpenShard], live: Sequence[Ints]) -> None:
    columns = DocumentsWriter(half, all(docs.texts is not None for docs, _ in shards))
    for (docs, _), positions in zip(shards, live, strict=True):
        for start in range(0, len(positions), _COPIED):
            part = positions[start : start + _COPIED]
            texts = docs.texts.chosen(part) if docs.texts is not None else []
            columns.add(docs.ids.chosen(part), texts)
    columns.close()
