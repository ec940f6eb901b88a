"""The one order: scores descend, and of equal scores the document with the later id comes first.

Everything in irtoolkit that sorts, cuts, merges or ranks by score, or separates equal scores, calls
this module or `irtoolkit.runs.top_k`. The rule of ties is stated here alone. Elsewhere it is data: each
document has a key, and of equal scores the one with the greater key comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.compiled import is_worth_loading
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ids, Ints, Singles, rank_ids
from irtoolkit.runs import _lowering

# Raised by hand when the same scores give another run: another order of ties, say.
FORMAT = 2
# Which of equal scores comes first: "trec" and "best" are the rule of this module, as trec_eval has it;
# "pool" is the order in which candidates stand.
Ties = Literal["trec", "pool", "best"]
# Whether the later id comes first, in the byte order of UTF-8.
LATER_FIRST = True
# The same for messages.
IN_WORDS = "in descending order of document ids"

Keys = NDArray[np.integer[Any]]
# Gives the keys of some documents or positions; it is called for those alone that tie.
KeysOf = Callable[[Ints], Keys]

_LOWEST = np.finfo(np.float32).min
# Steps that it takes Python to lower a score; see `is_worth_loading`.
_LOWERED = 25


# -- keys ----------------------------------------------------------------------------------------


def keys(doc_ids: Ids, ties: Ties = "trec") -> Ints:
    """Returns the (c,) keys of documents: of equal scores the greater key comes first.

    Keys tell the order of these documents alone; those of other documents are no measure of them.
    """
    count = len(doc_ids)
    return pool_keys(count) if ties == "pool" else id_keys(count)[rank_ids(doc_ids)]


def pool_keys(count: int) -> Ints:
    """Returns the (c,) keys under which equal scores stay in the order of the candidates."""
    return np.arange(count - 1, -1, -1)


def id_keys(count: int) -> Ints:
    """Returns the (c,) keys of documents in ascending order of their ids."""
    ascending = np.arange(count)
    return ascending if LATER_FIRST else ascending[::-1]


def least_key(count: int, below: int, is_included: bool) -> int:
    """Returns the least key that comes before a document of equal score.

    Args:
        count: number of documents whose keys are those of `id_keys`.
        below: how many of them have an id below the document's.
        is_included: whether the document is one of them.
    """
    return below + is_included if LATER_FIRST else count - below


def key_order(keys: Keys) -> Ints:
    """Returns the positions of documents in the order of equal scores, given their keys."""
    return np.argsort(-keys)


def is_before(scores: Any, keys: Keys, target: Any, least_key: int) -> NDArray[np.bool_]:
    """Returns which scores come before a target, given the least key that wins a tie with it."""
    before: NDArray[np.bool_] = (scores > target) | ((scores == target) & (keys >= least_key))
    return before


def tie_order(ascending: NDArray[Any]) -> NDArray[Any]:
    """Returns documents in the order of equal scores, given their ascending order of ids."""
    return ascending[::-1] if LATER_FIRST else ascending


def by_id(id_order: Keys) -> Ints:
    """Returns the (c,) documents in ascending order of their ids, given their keys."""
    documents = np.empty(len(id_order), np.int64)
    documents[id_order] = np.arange(len(id_order))
    return documents if LATER_FIRST else documents[::-1]


# -- sorting and merging ---------------------------------------------------------------------------


class TopDocuments(NamedTuple):
    """The best documents of some queries.

    Attributes:
        offsets: (q+1,) the first row of each query.
        documents: (n,) numbers of documents, in the one order.
        scores: (n,) their scores, or whole numbers that stand for them.
    """

    offsets: Ints
    documents: Ints
    scores: Any

    @classmethod
    def joined(cls, parts: Sequence[TopDocuments]) -> TopDocuments:
        """Returns the documents of several sets of queries, one after the other."""
        sizes = [np.diff(part.offsets) for part in parts]
        counts = np.concatenate([np.zeros(1, np.int64), *sizes])
        return cls(
            np.cumsum(counts),
            np.concatenate([np.empty(0, np.int64), *(part.documents for part in parts)]),
            # Scores that are whole numbers stay so.
            np.concatenate([part.scores for part in parts] or [np.empty(0)]),
        )

    @classmethod
    def of_rows(cls, rows: Sequence[tuple[Ints, Any]]) -> TopDocuments:
        """Returns the documents of queries, given the documents and scores of each, best first."""
        return cls(
            np.cumsum([0, *(len(documents) for documents, _ in rows)]).astype(np.int64),
            np.concatenate([np.empty(0, np.int64), *(documents for documents, _ in rows)]),
            np.concatenate([np.empty(0), *(scores for _, scores in rows)]),
        )


def best_first(scores: Any, keys: Keys | KeysOf | None = None, k: int | None = None) -> Ints:
    """Returns the positions of the best scores, best first.

    Args:
        scores: (n,) of one query.
        keys: (n,) their keys, or a function from positions to keys. Without keys, equal scores stay
            in their order.
        k: how many positions to return; None is all.
    """
    near = np.arange(len(scores))
    if k is not None and 0 < k < len(scores):
        near = np.flatnonzero(scores >= greatest(scores, k)[0])
    if isinstance(keys, np.ndarray):
        return near[np.lexsort((-keys[near].astype(np.int64), -scores[near]))][:k]
    order: Ints = near[np.argsort(-scores[near], kind="stable")]
    if keys is not None:
        ranked = scores[order]
        rows = np.flatnonzero(_equal_neighbours(ranked[1:] == ranked[:-1]))
        if len(rows):
            _untie(order, rows, -ranked[rows], keys(order[rows]))
    return order[:k]


def greatest(scores: Any, k: int) -> Any:
    """Returns the k greatest scores of each row, which has as many: the least first, others in any order."""
    position = scores.shape[-1] - k
    return np.partition(scores, position, axis=-1)[..., position:]


def _equal_neighbours(equal: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns which of n sorted rows equal a neighbour, given which equal their predecessor."""
    tied = np.zeros(len(equal) + 1, bool)
    tied[1:] = equal
    tied[:-1] |= equal
    return tied[: len(equal) + 1]


def _untie(order: Ints, rows: Ints, ties: Any, keys: Keys) -> None:
    """Puts the rows of an order that tie into the order of their keys; `ties` rise from tie to tie."""
    order[rows] = order[rows][np.lexsort((-keys.astype(np.int64), ties))]


def merge(parts: Sequence[TopDocuments], k: int, keys: KeysOf) -> TopDocuments:
    """Returns the best k documents of each query, given the best of several sets of documents.

    Args:
        parts: rows of the same queries, in the one order; no document is in two of them.
        k: documents of each query, at most.
        keys: a function from distinct documents to their keys.
    """
    scores, rows = _side_by_side(parts)
    ends = np.cumsum([len(part.documents) for part in parts])
    documents = np.concatenate([part.documents for part in parts])
    order = np.argsort(-scores, axis=1, kind="stable")
    scores, rows = (np.take_along_axis(array, order, axis=1) for array in (scores, rows))
    inside = rows >= 0
    if scores.shape[1] > k:  # what ties with the last may come before it
        inside &= scores >= scores[:, k - 1 : k]
    queries = np.nonzero(inside)[0]
    scores, rows = scores[inside], rows[inside]
    equal = (scores[1:] == scores[:-1]) & (queries[1:] == queries[:-1])
    tied = _between_parts(equal, np.searchsorted(ends, rows, side="right"))
    if len(tied):
        distinct, codes = np.unique(documents[rows[tied]], return_inverse=True)
        ties = np.cumsum(np.concatenate([[True], ~equal]))
        _untie(rows, tied, ties[tied], keys(distinct)[codes])
    starts = np.searchsorted(queries, np.arange(len(inside)))
    within_k = np.arange(len(rows)) - starts[queries] < k
    offsets = np.searchsorted(queries[within_k], np.arange(len(inside) + 1)).astype(np.int64)
    return TopDocuments(offsets, documents[rows[within_k]], scores[within_k])


def _side_by_side(parts: Sequence[TopDocuments]) -> tuple[Any, Ints]:
    """Returns (q, w) scores and row numbers of each query in all parts; -1 for a missing row."""
    counts = np.array([np.diff(part.offsets) for part in parts])
    kind: Any = np.result_type(*(part.scores.dtype for part in parts))
    lowest = np.iinfo(kind).min + 1 if kind.kind == "i" else -np.inf
    shape = counts.shape[1], int(counts.sum(axis=0).max(initial=0))
    scores, rows = np.full(shape, lowest, kind), np.full(shape, -1, np.int64)
    begins, first = np.arange(shape[0]) * shape[1], 0
    for part, size in zip(parts, counts, strict=True):
        count = len(part.documents)
        cells = np.arange(count) + np.repeat(begins - part.offsets[:-1], size)
        scores.ravel()[cells], rows.ravel()[cells] = part.scores, np.arange(first, first + count)
        begins, first = begins + size, first + count
    return scores, rows


def _between_parts(equal: NDArray[np.bool_], parts: Ints) -> Ints:
    """Returns the rows of ties of several parts; those of one part are in order already."""
    if not equal.any():
        return np.empty(0, np.int64)
    firsts = np.flatnonzero(np.concatenate([[True], ~equal]))
    sizes = np.diff(np.append(firsts, len(parts)))
    mixed = parts[firsts] != parts[firsts + sizes - 1]
    return np.flatnonzero(np.repeat(mixed, sizes))


# -- scores that show the order --------------------------------------------------------------------


def separate(scores: Any, keys: Keys | None = None, queries: Ints | None = None) -> Singles:
    """Returns float32 scores that keep the one order of rows.

    Args:
        scores: (n,) descending.
        keys: (n,) keys of the documents; rows that are in the order of their keys may stay equal.
            Without keys each score becomes lower than its predecessor.
        queries: (n,) numbers of the queries, ascending; by default all rows are of one.

    Returns:
        (n,) the scores in single precision, lowered by the fewest steps.

    Raises:
        InputError: a row would have to go below the lowest float32.
    """
    single: Singles = np.asarray(scores, np.float32)
    rises = single[1:] >= single[:-1]
    same = np.ones_like(rises) if queries is None else queries[1:] == queries[:-1]
    if not (rises & same).any():
        return single
    falls = np.ones_like(same) if keys is None else keys[1:] > keys[:-1]
    single = single.copy()
    with np.errstate(over="ignore"):
        _loops(len(single)).lower(single, same, falls)
    if single.min() < _LOWEST:
        raise InputError(
            f"scores near {_LOWEST} leave no room to tell tied documents apart",
            remedy="scale the scores",
        )
    return single


def is_ordered(queries: Ints, scores: Any, keys: Keys) -> bool:
    """Returns whether rows are in ascending order of queries, and in the one order within each."""
    same = queries[1:] == queries[:-1]
    lower = np.where(same, scores[1:] < scores[:-1], queries[1:] > queries[:-1])
    tied = np.flatnonzero(~lower)
    falling = keys[tied + 1] < keys[tied]
    return bool(np.all(same[tied] & (scores[tied + 1] == scores[tied]) & falling))


def row_order(queries: Ints, scores: Any, keys: Keys) -> Ints:
    """Returns the positions of rows by query, and in the one order of each."""
    return np.lexsort((-keys, -scores, queries))


def _loops(rows: int) -> Any:
    """Returns the loop that lowers scores, compiled where that is worth while."""
    if is_worth_loading(_LOWERED * rows):
        from irtoolkit.runs import _order_kernels

        return _order_kernels
    return _lowering
