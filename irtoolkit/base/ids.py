"""Identifiers as small integers: vocabularies, and trec_eval's order over them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
# Grades are integers, unless one of them is a fraction: then all are floats.
Grades = NDArray[Any]
Singles = NDArray[np.float32]
Ids = NDArray[np.object_]
# A text in parts: the sentences of an abstract, or one part for a text that is not divided.
Segments = tuple[str, ...]

# What separates the fields of TREC text.
SPACE = re.compile(r"[ \t\f\v\r\n]+")
# What nobody sees, and other tools cut or split a field at: control characters, and the byte order
# mark that is within a file where two were joined. An id may hold any other character, a no-break
# space too.
UNFIT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ufeff]")
_HALF = re.compile(r"[\ud800-\udfff]")
# Those, and what separates fields.
NO_WORD = re.compile(r"[\x00-\x20\x7f\ufeff]")


def is_word(text: str) -> bool:
    """Returns whether a text can be one field of TREC text."""
    return bool(text) and NO_WORD.search(text) is None


def is_utf8(text: str) -> bool:
    """Returns whether a text can be written as UTF-8: half of a pair of surrogates cannot."""
    return text.isascii() or _HALF.search(text) is None


def named(text: str) -> str:
    """Returns an id as messages show it: in quotes unless it is one word."""
    return text if is_word(text) else repr(text)


def id_array(ids: Sequence[str] | Ids) -> Ids:
    """Identifiers as a one-dimensional object array of str."""
    array = np.empty(len(ids), dtype=object)
    array[:] = ids
    return array


def encode(ids: Iterable[str]) -> tuple[Ids, Ints]:
    """Returns distinct ids in order of first appearance, and each item's index among them."""
    index: dict[str, int] = {}
    codes = np.fromiter((index.setdefault(i, len(index)) for i in ids), dtype=np.int64)
    return id_array(list(index)), codes


def rank_ids(ids: Ids) -> Ints:
    """Returns the position of each id in the ascending order of their UTF-8 bytes.

    Code point order, in which Python compares str, is the byte order of UTF-8: that of strcmp, and
    so of trec_eval.
    """
    ranks = np.empty(len(ids), dtype=np.int64)
    ranks[np.argsort(ids, kind="stable")] = np.arange(len(ids))
    return ranks


def translate(source: Ids, target: Ids) -> Ints:
    """Returns, for each id of `source`, its index in `target`, or -1 if it is missing there."""
    index = dict(zip(target.tolist(), range(len(target)), strict=True))
    return np.fromiter(map(index.get, source.tolist(), repeat(-1)), np.int64, len(source))


def first_twin(queries: Ints, docs: NDArray[np.integer[Any]]) -> int | None:
    """Returns the first row whose query and document an earlier row has; None if all differ.

    Args:
        queries, docs: (N,) numbers of each row's query and document, from 0.
    """
    pairs = queries * (int(docs.max(initial=0)) + 1) + docs
    ascending = np.sort(pairs)
    if not (ascending[1:] == ascending[:-1]).any():
        return None
    order = np.argsort(pairs, kind="stable")
    return int(order[1:][pairs[order][1:] == pairs[order][:-1]].min())


def offsets_of(groups: NDArray[Any], count: int) -> Ints:
    """Returns the start of each of `count` groups in an ascending array of group numbers.

    Length count+1.
    """
    return np.searchsorted(groups, np.arange(count + 1)).astype(np.int64)


def distinct_numbers(numbers: Ints) -> tuple[Ints, Ints]:
    """Returns the distinct numbers in ascending order, and the place of each among them."""
    size = int(numbers.max(initial=-1)) + 1
    if len(numbers) < size // 16:
        return np.unique(numbers, return_inverse=True)
    # Looked up, where that takes less than sorting.
    present = np.zeros(size, bool)
    present[numbers] = True
    distinct = np.flatnonzero(present)
    places = np.empty(size, np.int64)
    places[distinct] = np.arange(len(distinct))
    return distinct, places[numbers]
