"""The compiled loops that turn text into counted terms."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

# How bytes of ASCII are split. In SPLIT text tokens are separated by
# a byte that UTF-8 does not have.
WORD, STANDARD, WHITESPACE, SPLIT = 0, 1, 2, 3
SEPARATOR = 255
# Classes of bytes.
_NONE, _LETTER, _DIGIT, _UNDERSCORE = 0, 1, 2, 3
# A document that the loops leave to Python; and the longest token of "standard".
HARD = -1
_LONGEST = 255
_OFFSET, _PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)


@numba.njit(nogil=True, cache=True, inline="always")  # type: ignore[untyped-decorator]
def _kind(byte: Any) -> int:
    if 97 <= byte <= 122 or 65 <= byte <= 90:
        return _LETTER
    if 48 <= byte <= 57:
        return _DIGIT
    return _UNDERSCORE if byte == 95 else _NONE


@numba.njit(nogil=True, cache=True, inline="always")  # type: ignore[untyped-decorator]
def _punctuation(text: Any, begin: int, end: int) -> int:
    """The last byte of a dash, curly quote or ellipsis (U+2013 to U+2026), or 0 for another character."""
    if begin + 2 < end and text[begin] == 0xE2 and text[begin + 1] == 0x80:
        last = text[begin + 2]
        if last == 0x93 or last == 0x94 or 0x98 <= last <= 0x9D or last == 0xA6:
            return int(last)
    return 0


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _end(text: Any, begin: int, end: int, mode: int) -> tuple[int, bool]:
    """Where the token that begins here ends, and whether it is one; -1 leaves the document to Python."""
    if mode == SPLIT:
        while begin < end and text[begin] != SEPARATOR:
            begin += 1
        return begin, True
    if mode == WHITESPACE:
        while begin < end and not (9 <= text[begin] <= 13 or 28 <= text[begin] <= 32):
            if text[begin] >= 128:
                if not _punctuation(text, begin, end):
                    return HARD, False
                begin += 2
            begin += 1
        return begin, True
    first = begin
    sound = False
    while True:
        while begin < end and _kind(text[begin]) != _NONE:
            sound = sound or text[begin] != 95
            begin += 1
        if begin < end and text[begin] >= 128 and not _punctuation(text, begin, end):
            return HARD, False
        if mode == WORD:
            return begin, begin - first > 1
        if not sound:
            return begin, False
        # Letters may be joined by an apostrophe, full stop or colon, digits by other marks.
        wide = 1
        mark = int(text[begin]) if begin < end else 0
        if mark >= 128:
            mark, wide = 39 if 0x98 <= _punctuation(text, begin, end) <= 0x99 else 0, 3
        if mark == 0 or begin + wide >= end:
            return begin, True
        before, after = _kind(text[begin - 1]), _kind(text[begin + wide])
        letters = (
            before == _LETTER and after == _LETTER and (mark == 39 or mark == 46 or mark == 58)
        )
        digits = (
            before == _DIGIT and after == _DIGIT
            and (mark == 39 or mark == 44 or mark == 46 or mark == 59)
        )  # fmt: skip
        if not (letters or digits):
            return begin, True
        begin += wide


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _number(text: Any, first: int, last: int, table: Any, used: Any, lower: bool) -> int:
    """The number of a token, which gets the next one where it is new; -1 where the table is full."""
    slots, hashes, starts, arena = table
    code = _OFFSET
    for offset in range(first, last):
        byte = text[offset]
        if lower and 65 <= byte <= 90:
            byte += np.uint8(32)
        code = (code ^ np.uint64(byte)) * _PRIME
    code ^= code >> np.uint64(32)
    mask = np.uint64(len(slots) - 1)
    slot = code & mask
    while slots[slot] >= 0:
        number = slots[slot]
        begin = starts[number]
        if hashes[number] == code and starts[number + 1] - begin == last - first:
            same = True
            for offset in range(last - first):
                byte = text[first + offset]
                if lower and 65 <= byte <= 90:
                    byte += np.uint8(32)
                if arena[begin + offset] != byte:
                    same = False
                    break
            if same:
                return int(number)
        slot = (slot + np.uint64(1)) & mask
    count = used[0]
    begin = starts[count]
    if 2 * (count + 1) > len(slots) or count + 2 > len(starts):
        return HARD
    if begin + last - first > len(arena):
        return HARD
    for offset in range(last - first):
        byte = text[first + offset]
        if lower and 65 <= byte <= 90:
            byte += np.uint8(32)
        arena[begin + offset] = byte
    slots[slot] = count
    hashes[count] = code
    starts[count + 1] = begin + last - first
    used[0] = count + 1
    return int(count)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def tokenize(text: Any, starts: Any, first: int, mode: int, table: Any, used: Any, out: Any) -> int:
    """Writes the token numbers of texts end to end, from text `first` on.

    `table` is (slots, hashes, starts, arena) of the known tokens and `used` their number. `out` is
    (tokens, begins, ends), begins and ends by text; a text that is left to Python ends at HARD.

    Returns:
        The text at which the table was full, or the number of texts.
    """
    tokens, begins, ends = out
    count = 0 if first == 0 else begins[first]
    for doc in range(first, len(starts) - 1):
        begin, end = starts[doc], starts[doc + 1]
        begins[doc] = count
        written = count
        hard = False
        while begin < end:
            byte = text[begin]
            if mode == SPLIT:
                outside = byte == SEPARATOR
            elif mode == WHITESPACE:
                outside = 9 <= byte <= 13 or 28 <= byte <= 32
            else:
                outside = byte < 128 and _kind(byte) == _NONE
                if byte >= 128:
                    if not _punctuation(text, begin, end):
                        hard = True
                        break
                    begin += 3
                    continue
            if outside:
                begin += 1
                continue
            last, is_token = _end(text, begin, end, mode)
            if last == HARD or (mode == STANDARD and last - begin > _LONGEST):
                hard = True
                break
            if is_token:
                number = _number(text, begin, last, table, used, mode != SPLIT)
                if number == HARD:
                    return doc
                tokens[written] = number
                written += 1
            begin = last
        if hard:
            ends[doc] = HARD
        else:
            ends[doc] = written
            count = written
        if doc + 1 < len(begins):
            begins[doc + 1] = count
    return len(starts) - 1


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def count(tokens: Any, begins: Any, ends: Any, terms: Any, room: Any, out: Any) -> int:
    """Counts the terms of each text.

    Args:
        tokens, begins, ends: what `tokenize` wrote.
        terms: token number to term number, -1 for one that is stopped.
        room: (stamps, places), memory for as many terms as there are; stamps begin at -1.
        out: (terms, counts, ends, lengths): terms of all texts end to end with their counts, where each
            text's end, and its number of terms with repetitions.

    Returns:
        The number of distinct terms of all texts together.
    """
    stamps, places = room
    found_terms, counts, found_ends, lengths = out
    end = 0
    for doc in range(len(begins)):
        length = 0
        for token in range(begins[doc], ends[doc]):
            term = terms[tokens[token]]
            if term < 0:
                continue
            length += 1
            if stamps[term] == doc:
                counts[places[term]] += 1
            else:
                stamps[term] = doc
                places[term] = end
                found_terms[end] = term
                counts[end] = 1
                end += 1
        found_ends[doc] = end
        lengths[doc] = length
    return end


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def find_each(data: Any, starts: Any, texts: Any, text_starts: Any, out: Any) -> None:
    """Fills in the position of each text among texts in byte order, or -1."""
    for number in range(len(out)):
        first, last = text_starts[number], text_starts[number + 1]
        low, high = 0, len(starts) - 1
        while low < high:
            middle = (low + high) // 2
            # A damaged start must not lead out of the texts.
            begin, end = max(0, starts[middle]), min(len(data), starts[middle + 1])
            if order_of(data, begin, end, texts, first, last) < 0:
                low = middle + 1
            else:
                high = middle
        out[number] = -1
        if low < len(starts) - 1:
            begin, end = max(0, starts[low]), min(len(data), starts[low + 1])
            if order_of(data, begin, end, texts, first, last) == 0:
                out[number] = low


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def order_of(
    text: Any, begin: int, end: int, text_other: Any, begin_other: int, end_other: int
) -> int:
    """Compares two texts in byte order: below 0 if the first comes first, above 0 if it comes last."""
    for step in range(min(end - begin, end_other - begin_other)):
        byte, byte_other = text[begin + step], text_other[begin_other + step]
        if byte != byte_other:
            return -1 if byte < byte_other else 1
    return (end - begin) - (end_other - begin_other)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def copy_each(data: Any, starts: Any, places: Any, out: Any, out_starts: Any) -> None:
    """Copies some texts, end to end."""
    for number in range(len(places)):
        first, begin = starts[places[number]], out_starts[number]
        for step in range(out_starts[number + 1] - begin):
            out[begin + step] = data[first + step]
