"""Changes of an index that is complete: documents deleted, shards merged."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.indexes.documents import Documents, DocumentsWriter
from irtoolkit.indexes.manifest import Manifest
from irtoolkit.indexes.postings import PostingsShard
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
from irtoolkit.indexes.strings import Strings, reserved

# Documents copied at once.
_COPIED = 1 << 13


def delete(folder: Path, doc_ids: Sequence[str]) -> Manifest:
    """Deletes documents. They keep their place until shards are merged.

    One that was deleted before stays deleted, so that an interrupted call can be made again.

    Raises:
        InputError: a document that never was in the index; nothing is deleted then.
    """
    manifest = _settled(folder)
    shards = opened(folder, manifest.shards)
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
    shards = opened(folder, manifest.shards)
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


def merge_postings(shards: Sequence[PostingsShard], places: Sequence[Ints], folder: Path) -> None:
    """Writes the postings of all documents as one shard.

    Memory is that of the terms and of the numbers of documents; postings are copied on disk.

    Args:
        shards: the shards.
        places: (d,) of each shard: the new number of each document, ascending; -1 leaves it out.
        folder: where the arrays go.
    """
    from irtoolkit.indexes._compiled_postings import copy_postings, extremes, live_postings

    lives = [np.empty(len(shard.terms), np.int64) for shard in shards]
    for shard, numbers, live in zip(shards, places, lives, strict=True):
        live_postings(shard.starts, shard.documents, numbers, live)
    terms, targets = _union(shards, lives)
    frequencies = np.zeros(len(terms), np.int64)
    for live, target in zip(lives, targets, strict=True):
        frequencies[target[target >= 0]] += live[target >= 0]
    starts = np.concatenate([[0], np.cumsum(frequencies)]).astype(np.int64)
    counts, lengths, classes = _classes(shards, places)
    kind: Any = np.uint16 if len(counts) <= 1 << 16 else np.uint32
    total = int(starts[-1])
    out = [
        reserved(folder / f"{name}.npy", dtype, total) if total else np.empty(0, dtype)
        for name, dtype in (("documents", np.dtype(np.int32)), ("classes", np.dtype(kind)))
    ]
    cursors = starts[:-1].copy()
    for shard, numbers, target, class_numbers in zip(shards, places, targets, classes, strict=True):
        copy_postings(
            (shard.starts, shard.documents, shard.classes),
            numbers,
            target,
            class_numbers,
            cursors,
            (out[0], out[1]),
        )
    bounds = np.empty((len(terms), 4), np.int32)
    extremes(starts, out[1], counts, lengths, bounds)
    Strings.of(terms).save(folder, "terms")
    whole = [shard.lengths[numbers >= 0] for shard, numbers in zip(shards, places, strict=True)]
    arrays: dict[str, NDArray[Any]] = {
        "starts": starts,
        "class-counts": counts,
        "class-lengths": lengths,
        "bounds": bounds,
        "lengths": np.concatenate([np.empty(0, np.int32), *whole]),
    }
    if not total:
        arrays |= {"documents": out[0], "classes": out[1]}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    for array in out:
        if isinstance(array, np.memmap):
            array.flush()


def _union(shards: Sequence[PostingsShard], lives: Sequence[Ints]) -> tuple[list[str], list[Ints]]:
    """All terms that some document still has, and the place of each shard's terms there, or -1."""
    terms: list[str] = []
    targets = [np.full(len(shard.terms), -1, np.int64) for shard in shards]
    columns = (
        [
            (term, number, term_number)
            for term_number, term in enumerate(shard.terms)
            if live[term_number]
        ]
        for number, (shard, live) in enumerate(zip(shards, lives, strict=True))
    )
    for term, number, term_number in heapq.merge(*columns):
        if not terms or terms[-1] != term:
            terms.append(term)
        targets[number][term_number] = len(terms) - 1
    return terms, targets


def _classes(
    shards: Sequence[PostingsShard], places: Sequence[Ints]
) -> tuple[Ints, Ints, list[Ints]]:
    """Counts and lengths of the classes of all shards, and the new number of each shard's classes."""
    from irtoolkit.indexes._compiled_postings import live_classes

    used = [np.zeros(len(shard.class_counts), np.uint8) for shard in shards]
    for shard, new_numbers, is_used in zip(shards, places, used, strict=True):
        live_classes(shard.documents, shard.classes, new_numbers, is_used)
    pairs = [
        np.stack([shard.class_counts, shard.class_lengths], axis=1)[is_used > 0]
        for shard, is_used in zip(shards, used, strict=True)
    ]
    distinct, inverse = np.unique(
        np.concatenate([np.empty((0, 2), np.int64), *pairs]), axis=0, return_inverse=True
    )
    numbers, first = [], 0
    for is_used, pair in zip(used, pairs, strict=True):
        number = np.full(len(is_used), -1, np.int64)
        number[is_used > 0] = inverse.ravel()[first : first + len(pair)]
        numbers.append(number)
        first += len(pair)
    return (np.ascontiguousarray(distinct[:, 0]), np.ascontiguousarray(distinct[:, 1]), numbers)
