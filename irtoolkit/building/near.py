"""Queries of different splits that say much the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Texts are near duplicates where they share so much of the smaller one's runs of five words.
_NEAR, _RUN = 0.5, 5
# Hashes are sorted in so many parts, one after the other, for the sake of memory; a power of two.
_PARTS = 8
_FACTOR = np.uint64(0x9E3779B97F4A7C15)

Hashes = NDArray[np.uint64]
Places = NDArray[Any]  # of integers


def near_duplicates(
    texts: Mapping[str, Sequence[str]] | Iterable[tuple[str, Sequence[str]]],
    split_of: Mapping[str, str],
) -> list[list[str]]:
    """Returns pairs of queries of different splits whose texts share most of their runs of words.

    Memory is about 10 bytes for each word of all texts, if they are given one by one.

    Args:
        texts: the words of each query, in lower case.
        split_of: the split of each query.

    Returns:
        the ids of each pair, in the order of the texts.
    """
    known: dict[str, int] = {}
    ids, runs = [], []
    for query_id, words in texts.items() if isinstance(texts, Mapping) else texts:
        ids.append(query_id)
        codes = [known.setdefault(word, len(known) + 1) for word in words]
        runs.append(np.unique(_runs(np.array(codes, np.uint64))))
    sizes = np.array([len(own) for own in runs], np.int64)
    names = {split: number for number, split in enumerate(dict.fromkeys(split_of.values()))}
    splits = np.array([names[split_of[query_id]] for query_id in ids], np.int32)
    members, lengths = _shared(runs, splits)
    runs.clear()
    near = _pairs(members, lengths, sizes, splits)
    return [[ids[one], ids[other]] for one, other in near]


def _pairs(members: Places, lengths: Places, sizes: Places, splits: Places) -> Iterator[list[int]]:
    """Yields the numbers of near duplicates, one text after the other, for the sake of memory.

    Args:
        members: the texts that have a run, one run after the other.
        lengths: how many texts have each run.
        sizes, splits: the number of runs, and the split, of each text.
    """
    ends = np.cumsum(lengths)
    run_of = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    order = np.argsort(members, kind="stable")
    bounds = np.searchsorted(members[order], np.arange(len(sizes) + 1))
    for other in np.flatnonzero(np.diff(bounds)).tolist():
        own = run_of[order[bounds[other] : bounds[other + 1]]]
        steps = np.cumsum(lengths[own])
        places = np.arange(steps[-1]) + np.repeat(ends[own] - steps, lengths[own])
        found = members[places]
        found = found[(found < other) & (splits[found] != splits[other])]
        ones, counts = np.unique(found, return_counts=True)
        for one in ones[counts > _NEAR * np.minimum(sizes[ones], sizes[other])].tolist():
            yield [one, other]


def _runs(codes: Hashes) -> Hashes:
    """Returns a hash of each run of words."""
    found = np.zeros(max(0, len(codes) - _RUN + 1), np.uint64)
    with np.errstate(over="ignore"):
        for at in range(_RUN):
            found = (found ^ codes[at : at + len(found)]) * _FACTOR
            found ^= found >> np.uint64(29)
    return found


def _shared(runs: Sequence[Hashes], splits: Places) -> tuple[Places, Places]:
    """Returns the runs that texts of several splits share, by text, and their number."""
    bounds = np.arange(1, _PARTS, dtype=np.uint64) << np.uint64(64 - _PARTS.bit_length() + 1)
    cuts = [[0, *np.searchsorted(own, bounds).tolist(), len(own)] for own in runs]
    members, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    for part in range(_PARTS if runs else 0):
        parts = [own[cut[part] : cut[part + 1]] for own, cut in zip(runs, cuts, strict=True)]
        owners = np.repeat(np.arange(len(runs), dtype=np.int32), [len(own) for own in parts])
        hashes = np.concatenate(parts)
        order = np.argsort(hashes, kind="stable")
        hashes, owners = hashes[order], owners[order]
        if not len(hashes):
            continue
        begins = np.flatnonzero(np.concatenate([[True], hashes[1:] != hashes[:-1]]))
        counts = np.diff(begins, append=len(hashes))
        of = splits[owners]
        several = np.minimum.reduceat(of, begins) != np.maximum.reduceat(of, begins)
        members.append(owners[np.repeat(several, counts)])
        lengths.append(counts[several])
    return np.concatenate(members), np.concatenate(lengths)
