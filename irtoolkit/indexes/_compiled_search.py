"""The compiled loops that search postings.

Scores are whole numbers: each term's weight in a document is rounded to a fixed point. Sums of whole
numbers do not depend on the order in which terms, windows or shards are visited, so pruned and
exhaustive search agree in every score and every tie.

A shard is (starts, documents, classes, live), a table the weight of each class of postings; see
`postings.PostingsShard`.
A query is (terms, scales, bounds), its terms in ascending order of bounds, the most that each adds.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from irtoolkit.indexes import weighing
from irtoolkit.runs._order_kernels import best_of, drop_last_ties, from_least, lower
from irtoolkit.runs._sorting_kernels import put_in_order

# Documents whose scores are added up at once; they stay in the processor's cache. Of queries with many
# terms each has few postings in a window, so it is larger for these.
WINDOW, FIRST = 1 << 14, 1 << 10
MANY = 32
# Places within a window: damaged postings must not lead out of it.
MASK = WINDOW - 1
# Sums that are looked at together.
LINE = 32
# More documents compete than there is room for.
CROWDED = -1
# Where a term has so many times more postings than there are classes, each class is weighed once.
OFTEN = 4
# Scores from here on are left to ways that tell what single precision does not hold.
LARGE = np.float32(1e38)


@numba.njit(nogil=True, cache=True, inline="always")  # type: ignore[untyped-decorator]
def part_of(weight: Any, scale: Any) -> Any:
    # Never nothing: a sum of 0 says that a document has not been met.
    return np.int64(weight * scale + 1.0)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def reach(docs: Any, first: int, last: int, doc: int) -> int:
    """The first place from `first` on whose document is not before `doc`."""
    step = 1
    low = first
    while low + step < last and docs[low + step] < doc:
        low += step
        step *= 2
    high = min(low + step, last)
    if low < last and docs[low] < doc:
        low += 1
    while low < high:
        middle = (low + high) // 2
        if docs[middle] < doc:
            low = middle + 1
        else:
            high = middle
    return low


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def collect(
    shard: Any, table: Any, query: Any, depth: int, least: Any, room: Any, out: Any
) -> tuple[int, Any]:
    """Collects all documents that may be among the best `depth`, by MaxScore over windows.

    Terms whose bounds together do not reach the least score of the best so far only confirm
    documents that other terms have found (Turtle and Flood 1995).

    Args:
        shard, table, query: see above.
        depth: number of documents to find.
        least: what a document must score at least.
        room: (sums, touched, cursors, levels, parts), memory to work in; sums and levels are zero.
        out: (documents, scores), to be filled.

    Returns:
        The number of documents, or CROWDED, and what a document must score at least.
    """
    # Arrays of a tuple are counted anew wherever they are taken out of it: not within a loop.
    starts, docs, classes, live = shard
    terms, scales, bounds = query
    sums, touched, cursors, levels, parts = room
    out_docs, scores = out
    count, term_count = 0, len(terms)
    size = len(live)
    reached = np.empty(term_count, np.int64)  # of the first terms together
    total = np.int64(0)
    for t in range(term_count):
        total += bounds[t]
        reached[t] = total
        cursors[t] = starts[terms[t]]
    # How many were found at each level of scores: from it follows what others must reach.
    shift = 0
    while total >> shift >= len(levels):
        shift += 1
    level, above = 0, 0
    required = 0
    low: Any = 0
    step, window = FIRST, WINDOW if term_count <= MANY else len(sums)
    mask = np.uint32(len(sums) - 1)
    following: Any = 0
    while low < size:
        while required < term_count and reached[required] < least:
            required += 1
        if required == term_count:
            break
        # The next window with a document that a required term has.
        following = np.int64(size)
        for t in range(required, term_count):
            if cursors[t] < starts[terms[t] + 1]:
                first = np.int64(docs[cursors[t]])
                if first < following:
                    following = first
        if following >= size:
            break
        if following > low:
            low = following
        # Small windows soon give a score that others must reach.
        high = min(size, low + step)
        step = min(window, 4 * step)
        expected = 0
        for t in range(required, term_count):
            expected += starts[terms[t] + 1] - starts[terms[t]]
        # Where most documents are met anyway, adding up everything is faster than confirming.
        few = 4 * expected < size
        needed = required if few else 0
        touched_count = 0
        for t in range(term_count - 1, needed - 1, -1):
            first, end, scale = cursors[t], starts[terms[t] + 1], scales[t]
            if t < required:  # it may have been left behind
                first = reach(docs, first, end, low)
            last = reach(docs, first, end, high)
            cursors[t] = last
            part_docs, part_classes = docs[first:last], classes[first:last]
            if few:
                for posting in range(len(part_docs)):
                    # Damaged postings must not lead out of the window.
                    doc = np.uint32(part_docs[posting] - low) & mask
                    # Without a branch, which would often be guessed wrong.
                    touched[touched_count] = doc
                    touched_count += sums[doc] == 0
                    sums[doc] += part_of(table[part_classes[posting]], scale)
            elif len(part_docs) > OFTEN * len(table) and len(table) <= len(parts):
                for number in range(len(table)):
                    parts[number] = part_of(table[number], scale)
                for posting in range(len(part_docs)):
                    doc = np.uint32(part_docs[posting] - low) & mask
                    sums[doc] += parts[part_classes[posting]]
            else:
                for posting in range(len(part_docs)):
                    doc = np.uint32(part_docs[posting] - low) & mask
                    sums[doc] += part_of(table[part_classes[posting]], scale)
        if needed:
            touched_count = _confirmed(
                shard, table, query, needed, reached, least, low, high, touched_count, room
            )
        if not few:
            touched_count = _reaching(sums, high - low, max(np.int64(1), least), touched)
        for i in range(touched_count):
            doc = touched[i]
            score = sums[doc]
            if few:
                sums[doc] = 0
            # Of damaged postings a document may be none of the shard's.
            if score < least or score == 0 or low + doc >= size or not live[low + doc]:
                continue
            if count == len(out_docs):
                if count < 2 * depth:
                    return CROWDED, least
                count = from_least(out_docs, scores, count, least)
                if 2 * count > len(out_docs):
                    count, least = best_of(out_docs, scores, count, depth)
                if 2 * count > len(out_docs):
                    return CROWDED, least
                if score < least:
                    continue
            out_docs[count], scores[count] = low + doc, score
            count += 1
            score_level = min(score >> shift, len(levels) - 1)
            levels[score_level] += 1
            above += score_level > level
            if above >= depth:
                while above >= depth:
                    level += 1
                    above -= levels[level]
                least = max(least, np.int64(level) << shift)
        if not few:
            sums[: high - low] = 0
        low = high
    levels[:] = 0
    count = from_least(out_docs, scores, count, least)
    if count > depth:
        count, least = best_of(out_docs, scores, count, depth)
    return count, least


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _reaching(sums: Any, count: int, least: Any, out: Any) -> int:
    """Writes the positions of sums that are not below a score; returns their number."""
    written = 0
    for first in range(0, count, LINE):
        line = sums[first : min(count, first + LINE)]
        # Without branches, so that several are compared at once: few lines have one that reaches.
        greatest = np.int64(0)
        for column in range(len(line)):
            greatest = max(greatest, line[column])
        if greatest >= least:
            for column in range(len(line)):
                out[written] = first + column
                written += line[column] >= least
    return written


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _confirmed(
    shard: Any, table: Any, query: Any, required: int, reached: Any, least: Any, low: int,
    high: int, touched_count: int, room: Any,
) -> int:  # fmt: skip
    """Adds the terms that are not required to the documents of a window that may still compete."""
    starts, docs, classes, _ = shard
    terms, scales, _ = query
    sums, touched, cursors = room[:3]
    mask = np.uint32(len(sums) - 1)
    for t in range(required - 1, -1, -1):
        remaining = 0
        for i in range(touched_count):
            # Without branches, which would often be guessed wrong.
            doc = touched[i]
            score = sums[doc]
            competes = score + reached[t] >= least
            touched[remaining] = doc
            remaining += competes
            sums[doc] = score if competes else 0
        touched_count = remaining
        if touched_count == 0:
            return 0
        end = starts[terms[t] + 1]
        first = reach(docs, cursors[t], end, low)
        last = reach(docs, first, end, high)
        cursors[t] = last
        scale = scales[t]
        if (last - first) < 48 * touched_count:
            for posting in range(first, last):
                doc = np.uint32(docs[posting] - low) & mask
                score = sums[doc]
                sums[doc] = score + part_of(table[classes[posting]], scale) if score != 0 else 0
        else:
            for i in range(touched_count):
                doc = touched[i]
                posting = reach(docs, first, last, low + doc)
                if posting < last and docs[posting] == low + doc:
                    sums[doc] += part_of(table[classes[posting]], scale)
    return touched_count


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def search(
    shard: Any, table: Any, queries: Any, numbers: Any, keys: Any, room: Any, least: Any, out: Any
) -> None:
    """Finds the best documents of several queries, in the one order.

    Args:
        queries: (starts, terms, scales, bounds), the terms of all queries end to end.
        numbers: the queries to search.
        keys: (d,) keys of the shard's documents: of equal scores the greater comes first.
        room: (memory of `collect`, documents, scores) to work in.
        least: (q,) what a document must score at least.
        out: (counts, documents, scores), a row for each of all queries, zeros at first; a count is
            CROWDED where more documents tie than the room holds.
    """
    begins, terms, scales, bounds = queries
    memory, found_docs, values = room
    counts, docs, scores = out
    depth = docs.shape[1]
    for number in numbers:
        part = slice(begins[number], begins[number + 1])
        query = terms[part], scales[part], bounds[part]
        count, _ = collect(shard, table, query, depth, least[number], memory, (found_docs, values))
        if count == CROWDED:
            memory[0][:] = 0
            memory[3][:] = 0
            counts[number] = CROWDED
            continue
        if count > depth:  # some tie at the last place
            count = drop_last_ties(found_docs, values, count, depth, keys)
        put_in_order(found_docs[:count], values[:count], keys, (docs[number], scores[number]))
        counts[number] = count
        docs[number, :count] = found_docs[:count]
        scores[number, :count] = values[:count]


weigh = numba.njit(nogil=True, cache=True)(weighing.weigh)
place = numba.njit(nogil=True, cache=True)(weighing.place)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def search_one(
    shard: Any, keys: Any, terms: Any, numbers: Any, weights: Any, room: Any, out: Any
) -> int:
    """Weighs the terms of one query, finds its best documents in a shard, and lowers tied scores.

    Args:
        terms: (idf, occurs, places, most, table, heaviest, absent); see `weigh`, `place` and
            `Weighting.absent`; (t,) whether a document has each term.
        numbers, weights: (n,) the terms of the query, and their weights in it.
        shard, keys, room: see `search`.
        out: (documents, scores), to be filled; scores in single precision, each lower than the one
            before.

    Returns:
        The number of documents; or CROWDED, also where a term weighs nothing or less, and for scores
        that single precision does not hold.
    """
    idf, occurs, places, most, table, heaviest, absent = terms
    docs, singles = out
    size, depth = len(numbers), len(docs)
    starts = np.zeros(2, np.int64)
    starts[1] = size
    unit, total, negative, scales = np.empty(1), np.empty(1), np.empty(1, np.bool_), np.empty(size)
    weigh(starts, numbers, weights, idf, heaviest, (unit, total, negative, scales))
    if negative[0]:
        return CROWDED
    for row in range(size):
        if scales[row] == 0 and occurs[numbers[row]]:
            return CROWDED
    placed = (
        np.zeros(2, np.int64),
        np.empty(size, np.int64),
        np.empty(size),
        np.empty(size, np.int64),
    )
    place(starts, numbers, scales, places, most, placed)
    only = np.zeros(1, np.int64)
    counts, best_docs = np.zeros(1, np.int64), np.zeros((1, depth), np.int64)
    scores = np.zeros((1, depth), np.int64)
    search(shard, table, placed, only, keys, room, only, (counts, best_docs, scores))
    count = counts[0]
    for row in range(count):
        score = np.float32(scores[0, row] * unit[0] + total[0] * absent)
        if not abs(score) < LARGE:
            return CROWDED
        docs[row], singles[row] = best_docs[0, row], score
    if count > 1:
        every = np.ones(count - 1, np.bool_)
        lower(singles[:count], every, every)
    return int(count)
