"""Queries of different splits that say much the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

# Texts are near duplicates where they share so much of the smaller one's runs of five words.
_NEAR, _RUN = 0.5, 5
# Hashes are sorted in so many parts, one after the other, for the sake of memory; a power of two.
_PARTS = 8
_FACTOR = np.uint64(0x9E3779B97F4A7C15)

Hashes = NDArray[np.uint64]


def near_duplicates(
    texts: Mapping[str, Sequence[str]] | Iterable[tuple[str, Sequence[str]]],
    split_of: Mapping[str, str],
) -> list[list[str]]:
    """Pairs of queries of different splits whose texts share most of their runs of words.

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
    sizes = [len(own) for own in runs]
    splits = [split_of[query_id] for query_id in ids]
    shared: Counter[tuple[int, int]] = Counter()
    for members in _sharing(runs):
        if len({splits[member] for member in members}) > 1:
            shared.update(
                (one, other)
                for one, other in combinations(members, 2)
                if splits[one] != splits[other]
            )
    near = [pair for pair, count in shared.items() if count > _NEAR * min(sizes[i] for i in pair)]
    return [[ids[one], ids[other]] for one, other in sorted(near, key=lambda pair: pair[::-1])]


def _runs(codes: Hashes) -> Hashes:
    """A hash of each run of words."""
    found = np.zeros(max(0, len(codes) - _RUN + 1), np.uint64)
    with np.errstate(over="ignore"):
        for at in range(_RUN):
            found = (found ^ codes[at : at + len(found)]) * _FACTOR
            found ^= found >> np.uint64(29)
    return found


def _sharing(runs: Sequence[Hashes]) -> Iterator[list[int]]:
    """Yields the numbers of the texts that have a run, ascending, of each run that several have."""
    bounds = np.arange(1, _PARTS, dtype=np.uint64) << np.uint64(64 - _PARTS.bit_length() + 1)
    cuts = [[0, *np.searchsorted(own, bounds).tolist(), len(own)] for own in runs]
    for part in range(_PARTS if runs else 0):
        parts = [own[cut[part] : cut[part + 1]] for own, cut in zip(runs, cuts, strict=True)]
        owners = np.repeat(np.arange(len(runs), dtype=np.int32), [len(own) for own in parts])
        hashes = np.concatenate(parts)
        order = np.argsort(hashes, kind="stable")
        hashes, owners = hashes[order], owners[order]
        edges = np.flatnonzero(np.concatenate([[True], hashes[1:] != hashes[:-1], [True]]))
        for at in np.flatnonzero(np.diff(edges) > 1).tolist():
            yield owners[edges[at] : edges[at + 1]].tolist()
