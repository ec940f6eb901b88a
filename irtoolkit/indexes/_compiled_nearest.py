"""The compiled loops of exact search: products in few bits propose documents, exact ones decide.

Products are compared as whole numbers, the bits that they have in memory, many at a time. Of two
positive ones the greater has the greater bits; of two negative ones it has the lesser.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from irtoolkit.indexes._compiled_exact import scores_of, undecided

# Products that are compared at a time, and that are counted.
_PART, _COUNTED = 1 << 10, 1 << 14


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _ordered(bits: Any, size: int) -> Any:
    """Returns whole numbers of so many bits that ascend with the values, and from these the bits."""
    return bits ^ ((bits >> 63) & ((1 << (size - 1)) - 1))


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _bits_of(value: float, block: Any, step: int) -> Any:
    """Returns the bits of a value as a block has them, rounded downwards; so many steps above it."""
    size = 8 * block.itemsize
    ordered = _ordered(np.int64(np.float32(value).view(np.int32)), 32) >> (32 - size)
    return block.dtype.type(_ordered(ordered + step, size))


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _value_of(bits: Any, block: Any) -> Any:
    """Returns the value of the bits of a product."""
    return np.float64(np.int32(np.int32(bits) << (32 - 8 * block.itemsize)).view(np.float32))


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _mark(part: Any, bound: Any, marks: Any) -> None:
    """Marks products with 1 if they are not below a bound, else with 0."""
    if bound >= 0:
        for column in range(len(part)):
            marks[column] = part[column] >= bound
    else:
        for column in range(len(part)):
            marks[column] = (part[column] >= 0) | (part[column] <= bound)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _between(part: Any, low: Any, high: Any, marks: Any) -> Any:
    """Marks products that are not below one bound, and are below another; returns how many are not."""
    _mark(part, low, marks)
    if high >= 0:
        for column in range(len(part)):
            marks[column] &= part[column] < high
    else:
        for column in range(len(part)):
            marks[column] &= (part[column] < 0) & (part[column] > high)
    return _count(part, high)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _count(part: Any, bound: Any) -> Any:
    """Returns how many products are not below a bound.

    They are counted in numbers as wide as they are themselves, so that many are compared at once.
    """
    total, kind = 0, part.dtype.type
    for begin in range(0, len(part), _COUNTED):
        some, count = part[begin : begin + _COUNTED], kind(0)
        if bound >= 0:
            for column in range(len(some)):
                count = kind(count + (1 if some[column] >= bound else 0))
        else:
            for column in range(len(some)):
                count = kind(count + (1 if (some[column] >= 0) | (some[column] <= bound) else 0))
        total += count
    return total


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _memory_for(size: int) -> Any:
    """Returns memory for the marks of so many products, their words, and what is marked."""
    words = (size + 7) // 8
    return (
        np.zeros(8 * words, np.uint8),
        np.empty(words + 1, np.int64),
        np.empty(size + 1, np.int64),
    )


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _marked(size: int, memory: Any) -> int:
    """Notes where the first marks are 1; returns how many are. `memory` is that of `_memory_for`.

    First the words of eight marks that are not all 0 are noted. What is noted is overwritten if it is 0:
    a branch that is guessed wrong costs more.
    """
    marks, filled_words, hits = memory
    words, filled = marks.view(np.uint64), 0
    for column in range(size, (size + 7) // 8 * 8):
        marks[column] = 0
    for word in range((size + 7) // 8):
        filled_words[filled] = word
        filled += words[word] != 0
    count = 0
    for number in range(filled):
        begin = 8 * filled_words[number]
        for column in range(begin, begin + 8):
            hits[count] = column
            count += marks[column]
    return count


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _greatest_at(row: Any, k: int) -> Any:
    """Returns the k-th greatest of some products, given their bits.

    It is found bit by bit: to count what reaches a value takes less time than to move what does not.
    """
    size = 8 * row.itemsize
    bound = np.int64(-(1 << (size - 1)))
    for shift in range(size - 1, -1, -1):
        higher = bound + (1 << shift)
        if _count(row, row.dtype.type(_ordered(higher, size))) >= k:
            bound = higher
    return _value_of(_ordered(bound, size), row)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def greatest_values(block: Any, k: int, out: Any) -> None:
    """Fills in the k-th greatest product of each row of a block, given their bits."""
    for row in range(len(block)):
        out[row] = _greatest_at(block[row], k)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def needed(bound: float, base: float, share: float) -> float:
    """Returns a value below which no product v stands for a score that reaches a bound.

    It stands for scores up to v + base + share |v|.
    """
    need = bound - base
    return need - 2 * share * abs(need) if need > -np.inf else need


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def sift(block: Any, first: int, live: Any, off: Any, candidates: Any, least: Any) -> None:
    """Keeps the documents of a block that may be among the best.

    Args:
        block: (q, b) bits of products in single precision (int32) or in bf16 (int16).
        first: the number of the first document.
        live: (b,) whether each document may be found; of length 0 where all may.
        off: (q,) and (q,): how far off a product can be, and what part of itself it is rounded by.
        candidates: (docs, lower, upper, counts): (q, room) documents with bounds of their scores, and (q,)
            how many; a count above the room says that there was none.
        least: (q,) what at least k documents of each query reach; and k.
    """
    counts, room = candidates[3], candidates[0].shape[1]
    bounds = least[0]
    memory = _memory_for(_PART)
    marks, _, hits = memory
    for row in range(len(block)):
        error = off[0][row], off[1][row]
        bound, bits = np.inf, block[row, 0]
        for begin in range(0, block.shape[1], _PART):
            if counts[row] > room:
                break
            if bounds[row] != bound:
                bound = bounds[row]
                bits = _bits_of(needed(bound, error[0], error[1]), block, 0)
            part = block[row, begin : begin + _PART]
            _mark(part, bits, marks)
            for column in range(len(part) if len(live) else 0):
                marks[column] &= live[begin + column]
            count = _marked(len(part), memory)
            if count:
                _keep(part, hits[:count], first + begin, error, row, candidates, least)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _keep(
    part: Any, hits: Any, first: int, off: Any, row: int, candidates: Any, least: Any
) -> None:
    """Keeps some products of a query, and drops others where there is no room."""
    docs, lower, upper, counts = candidates
    room = docs.shape[1]
    count = counts[row]
    for hit in range(len(hits)):
        if count == room:
            counts[row] = count
            _make_room(row, candidates, least)
            count = counts[row]
            if count > room:
                return
        value = _value_of(part[hits[hit]], part)
        error = off[0] + off[1] * abs(value)
        docs[row, count] = first + hits[hit]
        lower[row, count], upper[row, count] = value - error, value + error
        count += 1
    counts[row] = count


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _make_room(row: int, candidates: Any, least: Any) -> None:
    """Drops what cannot be among the best of a row; the count of one that stays full is above its room."""
    bounds, k = least
    counts, room = candidates[3], candidates[0].shape[1]
    bounds[row] = max(bounds[row], _least(row, candidates, k))
    _drop(row, candidates, bounds[row])
    if counts[row] > room - room // 8:
        counts[row] = room + 1


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def merge(source: Any, candidates: Any, least: Any) -> None:
    """Keeps the documents of each row that another pass has kept, too; see `sift`."""
    docs, lower, upper, counts = candidates
    room = docs.shape[1]
    for row in range(len(counts)):
        if source[3][row] > room:
            counts[row] = room + 1
        for column in range(min(source[3][row], room)):
            if counts[row] == room:
                _make_room(row, candidates, least)
            count = counts[row]
            if count > room:
                break
            docs[row, count] = source[0][row, column]
            lower[row, count], upper[row, count] = source[1][row, column], source[2][row, column]
            counts[row] = count + 1


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _least(row: int, candidates: Any, k: int) -> Any:
    """Returns what k documents of a row reach; -inf of fewer."""
    count = candidates[3][row]
    return _greatest_at(candidates[1][row, :count].view(np.int32), k) if count >= k else -np.inf


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _drop(row: int, candidates: Any, bound: float) -> None:
    """Drops the documents of a row that do not reach a bound."""
    docs, lower, upper, counts = candidates
    end = 0
    for column in range(counts[row]):
        # Without a branch, which would often be guessed wrong.
        high = upper[row, column]
        docs[row, end], lower[row, end], upper[row, end] = (
            docs[row, column],
            lower[row, column],
            high,
        )
        end += high >= bound
    counts[row] = end


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def finish(candidates: Any, k: int, guesses: Any) -> None:
    """Drops what cannot be among the k best of each row.

    The count of a row whose `guesses` were too high, which fewer than k documents reach, becomes -1.
    """
    for row in range(len(guesses)):
        if candidates[3][row] > candidates[0].shape[1]:
            continue
        bound = _least(row, candidates, k)
        if candidates[3][row] < k or bound < guesses[row]:
            candidates[3][row] = -1
        else:
            _drop(row, candidates, bound)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def count_before(block: Any, first: int, off: Any, exact: Any, targets: Any) -> Any:
    """Counts the documents of a block that rank before each target.

    Args:
        block, first, off: see `sift`.
        exact: (vectors, the same in double precision, squares) of the queries, (vectors, squares) of the
            documents, and the kind of similarity.
        targets: (rows, scores, places, order): the query, the score and the place among ties of each,
            and the places of all documents.

    Returns:
        (2, w) the number of documents before each, and of those with a greater score.
    """
    (singles, doubles, squares), docs, kind = exact
    rows, scores, places, order = targets
    bounds = np.empty((2, len(rows)), block.dtype)
    for number in range(len(rows)):
        score = scores[number]
        base, share = off[0][rows[number]], off[1][rows[number]]
        # A product above this is that of a greater score.
        high = score + base
        high += 2 * share * abs(high) + 1e-6 * abs(high)
        bounds[0, number] = _bits_of(needed(score, base, share), block, 0)
        bounds[1, number] = _bits_of(high, block, 1)
    size = block.shape[1]
    memory = _memory_for(size)
    marks, _, near = memory
    similarities = np.empty(size)
    counts = np.zeros((2, len(rows)), np.int64)
    for number in range(len(rows)):
        row, score, part = rows[number], scores[number], block[rows[number]]
        more = _between(part, bounds[0, number], bounds[1, number], marks)
        count = _marked(size, memory)
        square, found, greater, tied = squares[row], near[:count], 0, 0
        if count:
            found += first
            greater, count = undecided(singles[row], square, docs, kind, found, score, similarities)
        if count:
            scores_of(doubles[row], square, docs, kind, near[:count], similarities)
        for index in range(count):
            greater += similarities[index] > score
            tied += similarities[index] == score and order[near[index]] < places[number]
        counts[0, number] += more + greater + tied
        counts[1, number] += more + greater
    return counts
