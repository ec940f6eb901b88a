"""Queries of different splits that are near duplicates."""

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
    numbers: dict[str, int] = {}
    ids, runs = [], []
    for query_id, words in texts.items() if isinstance(texts, Mapping) else texts:
        ids.append(query_id)
        codes = [numbers.setdefault(word, len(numbers) + 1) for word in words]
        runs.append(np.unique(_runs(np.array(codes, np.uint64))))
    sizes = np.array([len(run) for run in runs], np.int64)
    names = {split: number for number, split in enumerate(dict.fromkeys(split_of.values()))}
    splits = np.array([names[split_of[query_id]] for query_id in ids], np.int32)
    members, lengths = _shared(runs, splits)
    runs.clear()
    near = _pairs(members, lengths, sizes, splits)
    return [[ids[first], ids[second]] for first, second in near]


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
    for second in np.flatnonzero(np.diff(bounds)).tolist():
        sharing = run_of[order[bounds[second] : bounds[second + 1]]]
        steps = np.cumsum(lengths[sharing])
        places = np.arange(steps[-1]) + np.repeat(ends[sharing] - steps, lengths[sharing])
        sharing_members = members[places]
        sharing_members = sharing_members[
            (sharing_members < second) & (splits[sharing_members] != splits[second])
        ]
        ones, counts = np.unique(sharing_members, return_counts=True)
        for first in ones[counts > _NEAR * np.minimum(sizes[ones], sizes[second])].tolist():
            yield [first, second]


def _runs(codes: Hashes) -> Hashes:
    """Returns a hash of each run of words."""
    hashes = np.zeros(max(0, len(codes) - _RUN + 1), np.uint64)
    with np.errstate(over="ignore"):
        for i in range(_RUN):
            hashes = (hashes ^ codes[i : i + len(hashes)]) * _FACTOR
            hashes ^= hashes >> np.uint64(29)
    return hashes


def _shared(runs: Sequence[Hashes], splits: Places) -> tuple[Places, Places]:
    """Returns the runs that texts of several splits share, by text, and their number."""
    bounds = np.arange(1, _PARTS, dtype=np.uint64) << np.uint64(64 - _PARTS.bit_length() + 1)
    cuts = [[0, *np.searchsorted(run, bounds).tolist(), len(run)] for run in runs]
    members, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    for part in range(_PARTS if runs else 0):
        parts = [run[cut[part] : cut[part + 1]] for run, cut in zip(runs, cuts, strict=True)]
        owners = np.repeat(np.arange(len(runs), dtype=np.int32), [len(run) for run in parts])
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
