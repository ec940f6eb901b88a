"""The finder of quotes beside a slow plain one, with pieces of any size."""

from __future__ import annotations

import re
import tempfile
import unicodedata
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from irtoolkit.building.quoter.corpus import look_at, pieces
from irtoolkit.building.quoter.finder import Patterns, Search
from irtoolkit.building.quoter.letters import Letters, letters
from irtoolkit.building.quoter.quotes import Quote
from irtoolkit.building.shelves import TextFile

ALONE = 2
WORDS = st.sampled_from(["a", "b", "ab", "Ba", "\u00c9", "e\u0301", "\u00df", "don't", "don"])
SENTENCES = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)
MARKS = st.sampled_from([" ", " ", "\n", ", ", "--", ". ", "\u201d ", "'", "-\n"])
Span = tuple[int, int, int]


def quote(sentences: list[str]) -> Quote:
    parts = tuple(letters(sentence) for sentence in sentences)
    return Quote(". ".join(sentences), parts, tuple(len(s.split()) for s in sentences))


def plain(text: str, quotes: list[Quote]) -> set[Span]:
    """Every maximal run of sentences at borders of words, by trying every place."""
    spans: dict[Span, int] = {}
    for number, each in enumerate(quotes):
        count = len(each.parts)
        for first in range(count):
            for last in range(first + 1, count + 1):
                pattern = "".join(each.parts[first:last])
                alone = any(s >= ALONE for s in each.sizes[first:last]) or last - first == count
                for begin, end in occurrences(text, each.parts[first:last], pattern):
                    if alone:
                        spans[begin, end, number] = max(
                            spans.get((begin, end, number), 0), last - first
                        )
    wide = {
        span: size
        for span, size in spans.items()
        if not any(o[:2] != span[:2] and o[0] <= span[0] and span[1] <= o[1] for o in spans)
    }
    return only_one(wide, quotes)


def only_one(spans: dict[Span, int], quotes: list[Quote]) -> set[Span]:
    found: set[Span] = set()
    last: dict[int, int] = {}
    for begin, end in sorted({span[:2] for span in spans}):
        here = {n: size for (b, e, n), size in spans.items() if (b, e) == (begin, end)}
        whole = [n for n, size in here.items() if size == len(quotes[n].parts)] or list(here)
        if len(whole) == 1 and begin >= last.get(whole[0], 0):
            last[whole[0]] = end
            found.add((begin, end, whole[0]))
    return found


def occurrences(text: str, parts: tuple[str, ...], pattern: str) -> list[tuple[int, int]]:
    found = []
    for begin in range(len(text)):
        end, left = begin, pattern
        cuts = {len("".join(parts[:n])) for n in range(1, len(parts))}
        while left and end < len(text):
            own = letters(text[end])
            if not left.startswith(own) or (end == begin and not own):
                break
            done = len(pattern) - len(left)
            if done in cuts and own and not border(text, end):
                break
            left, end = left[len(own) :], end + 1
        if not left and border(text, begin) and border(text, end):
            found.append((begin, end))
    return found


def border(text: str, at: int) -> bool:
    """Whether no word goes on over a place between characters."""
    before = re.search(r"[^\W_](?P<gap>[^a-zA-Z0-9\u00c0-\u00ff]*)$", text[:at])
    after = re.match(r"(?P<gap>[^a-zA-Z0-9\u00c0-\u00ff]*)[^\W_]", text[at:])
    if before is None or after is None:
        return True
    gap = [c for c in before["gap"] + after["gap"] if not unicodedata.combining(c)]
    if set(gap) - {"'"}:
        return True
    return bool(gap) and not re.match(r"(t|s|d|m|ll|ve|re)\b", text[at + len(after["gap"]) :], re.I)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[list[str]], str]:
    """Quotes in sentences, and a text of their words and sentences."""
    listed = draw(st.lists(st.lists(SENTENCES, min_size=1, max_size=3), min_size=1, max_size=5))
    own = st.sampled_from([sentence for each in listed for sentence in each])
    following = st.sampled_from([" ".join(each[at:]) for each in listed for at in range(len(each))])
    pieces = st.tuples(st.one_of(own, following, WORDS), MARKS).map("".join)
    return listed, "".join(draw(st.lists(pieces, min_size=1, max_size=40)))


@settings(max_examples=200, deadline=None)
@given(cases(), st.integers(1, 90), st.integers(1, 30))
def test_the_finder_finds_what_a_plain_one_finds(
    case: tuple[list[list[str]], str], size: int, around: int
) -> None:
    listed, text = case
    quotes = list({each.letters: each for each in map(quote, listed)}.values())
    patterns = Patterns(quotes, ALONE)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text.txt")
        path.write_bytes(text.encode())
        about = look_at(TextFile(path, "text"))
        search = Search(patterns)
        found = {
            (piece.offset + o.begin, piece.offset + o.end, o.quote)
            for piece in pieces(about, patterns.longest, 4 * patterns.longest + around, size)
            for o in search.occurrences(piece)
        }
    assert found == plain(text, quotes)


@given(st.text(max_size=60))
def test_letters_of_a_text_are_those_of_its_characters(text: str) -> None:
    assume("\x00" not in text)
    made = Letters.of(text)
    assert made.line == letters(text)
    assert "".join(letters(text[at]) for at in dict.fromkeys(made.at.tolist())) == made.line
