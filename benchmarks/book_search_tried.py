"""The systems that benchmarks/book_search.py tries, the known passages, and where each system has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.base.ids import Floats
from irtoolkit.base.spans import Span
from irtoolkit.datasets.cache import cache_home
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.novels import Novel
from irtoolkit.ranking.book_ranking import PassageScores, best_passages, by_meaning, standardised
from irtoolkit.ranking.book_system import Around, BookSystem
from irtoolkit.ranking.book_words import BookWords

# What readers look through, and sentences from a hit that still show the passage on the page.
DEPTH, NEAR = 20, 8
# Known passages, by what readers write: critics' sentences beside a quotation, and before one.
DATASETS = ("relic/train/1-1", "relic/val/1-1", "plotretrieval/train", "plotretrieval/val")
LENGTHS, NEAREST, MEANING = (3, 5, 8), (0.0, 0.5, 1.0), (0.3, 0.4, 0.5, 0.6)
# Sentences around a passage, and their share in the score by words.
WINDOWS = (
    Around((), 0.0), Around((16,), 0.5), Around((4, 16), 0.75),
    Around((1, 16, 64), 0.5), Around((1, 16, 64), 0.75), Around((1, 16, 64), 0.9),
)  # fmt: skip
_FUSED = (WINDOWS[0], WINDOWS[2], WINDOWS[4])
_RRF = 60


@dataclass(frozen=True)
class Tried:
    """A system that is tried.

    Attributes:
        kind: words, meaning, both, or rrf: both rankings by their ranks, as it was before.
        how: its settings.
    """

    kind: str
    how: BookSystem

    @property
    def name(self) -> str:
        how, parts = self.how, [f"{self.how.length} sentences"]
        if self.kind != "meaning" and how.fused.share:
            parts.append(f"around {'/'.join(map(str, how.fused.sizes))} at {how.fused.share:g}")
        if self.kind != "words":
            parts.append(f"nearest {how.nearest:g}")
        if self.kind == "both":
            parts.append(f"meaning {how.meaning:g}")
        return f"{self.kind}, {', '.join(parts)}"


def tried() -> list[Tried]:
    """Returns all systems."""
    made = []
    for length in LENGTHS:
        own = BookSystem(length=length)
        worded = [replace(own, alone=around, fused=around) for around in WINDOWS]
        made += [Tried("words", one) for one in worded]
        made += [Tried("meaning", replace(own, nearest=nearest)) for nearest in NEAREST]
        fused = [one for one in worded if one.fused in _FUSED]
        made += [
            Tried("both", replace(one, nearest=nearest, meaning=meaning))
            for one in fused for nearest in NEAREST for meaning in MEANING
        ]  # fmt: skip
        made.append(Tried("rrf", replace(worded[0], nearest=0.0)))
    return made


@dataclass(frozen=True)
class Known:
    """A passage that somebody wrote of.

    Attributes:
        query_id, text: what was written.
        kind: the benchmark.
        spans: the first sentence of the passage and one past its last; of several, any.
    """

    query_id: str
    text: str
    kind: str
    spans: tuple[tuple[int, int], ...]


def known_passages(without: Sequence[str]) -> dict[str, tuple[Novel, list[Known]]]:
    """Returns the books with their known passages, by name, but for some books."""
    books: dict[str, tuple[Novel, list[Known]]] = {}
    for name in DATASETS:
        data = Dataset.of(name)
        passages = data.passages()
        assert passages is not None
        for book in {book.name: book for book, _, _ in passages.groups}.values():
            novel = Novel(book.name, book.name, "", "en", "", list(book.sentences), (), ())
            if book.name not in without:
                mine = books.setdefault(book.name, (novel, []))[0]
                assert len(mine.sentences) == len(novel.sentences)
        texts = {query.query_id: query for query in data.queries}
        for query_id, docs in data.relevant().items():
            spans = [Span.parse(doc) for doc in docs]
            if spans and spans[0].book in books:
                at = tuple((one.start, one.stop) for one in spans)
                one = Known(query_id, texts[query_id].default_text(), name.split("/")[0], at)
                books[spans[0].book][1].append(one)
    return {name: found for name, found in sorted(books.items()) if found[1]}


class Vectors:
    """Vectors of the sentences of books, and of queries."""

    def __init__(self, model: str) -> None:
        from irtoolkit.apps.serve.meaning import Meaning

        self._meaning = Meaning(model)
        if self._meaning.why_not:
            raise SystemExit(f"{model}: {self._meaning.why_not}")

    def cosines(self, novel: Novel, queries: Sequence[str]) -> Floats:
        """Returns (queries, sentences) cosines."""
        kept = cache_home() / "book-search" / f"{novel.content}.npy"
        if not kept.is_file():
            print(f"{novel.name}: {len(novel.sentences):,} sentences", flush=True)
            self._meaning.prepare(novel.content, novel.sentences)
            kept.parent.mkdir(parents=True, exist_ok=True)
            np.save(kept, self._meaning.vectors(novel.content, novel.sentences))
        return np.asarray(self._meaning.asked(queries) @ np.load(kept).T, np.float64)


def ranks(
    novel: Novel, queries: Mapping[str, tuple[str, Sequence[tuple[int, int]]]],
    systems: Sequence[Tried], vectors: Vectors,
) -> dict[str, dict[str, tuple[int, int]]]:  # fmt: skip
    """Returns for each system and query the ranks of the first hits that share a sentence with the
    passage, and that are near it; 0 if none of the first is."""
    settings = {one.how.fused: one.how for one in systems}
    words = {around: BookWords([novel], how) for around, how in settings.items()}
    cosines = vectors.cosines(novel, [text for text, _ in queries.values()])
    found: dict[str, dict[str, tuple[int, int]]] = {one.name: {} for one in systems}
    for (query_id, (text, spans)), similar in zip(queries.items(), cosines, strict=True):
        for one, scores in _scores(systems, words, text, similar):
            length = one.how.length
            hits = best_passages(words[one.how.fused], scores, length, DEPTH)
            starts = [(hit.start, hit.start + hit.length) for hit in hits]
            found[one.name][query_id] = _first(starts, spans, 0), _first(starts, spans, NEAR)
    return found


def _scores(
    systems: Sequence[Tried], words: Mapping[Around, BookWords], text: str, similar: Floats
) -> Iterator[tuple[Tried, PassageScores]]:
    kept: dict[Any, Any] = {}

    def once(key: Any, make: Any) -> Any:
        if key not in kept:
            kept[key] = make()
        return kept[key]

    for one in systems:
        how = one.how
        by = words[how.fused]
        worded = np.empty(0), np.empty(0, bool)
        meant = np.empty(0)
        if one.kind != "meaning":
            worded = once(
                (how.length, how.fused),
                lambda by=by, how=how: by.scores(text, how.length, how.fused),
            )
        if one.kind != "words":
            by.how = replace(by.how, nearest=how.nearest)
            meant = once(
                (how.length, how.nearest),
                lambda by=by, how=how: by_meaning(by, similar, how.length),
            )
        yield one, _fused(one, worded, meant)


def _fused(one: Tried, by_words: tuple[Floats, Any], meant: Floats) -> PassageScores:
    worded, is_hit = by_words
    if one.kind == "words":
        return PassageScores(worded, {}, is_hit)
    every = np.ones(len(meant), bool)
    if one.kind == "meaning":
        return PassageScores(meant, {}, every)
    if one.kind == "rrf":
        listed, other = (1 / (_RRF + 1 + _places(part)) for part in (worded, meant))
        return PassageScores((worded > 0) * listed + other, {}, every)
    share = one.how.meaning
    return PassageScores(
        (1 - share) * standardised(worded) + share * standardised(meant), {}, every
    )


def _places(scores: Floats) -> Floats:
    """Returns how many passages come before each."""
    return np.argsort(np.argsort(-scores, kind="stable"), kind="stable").astype(float)


def _first(hits: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]], near: int) -> int:
    for rank, (start, stop) in enumerate(hits, 1):
        if any(start - near < last and first < stop + near for first, last in spans):
            return rank
    return 0


def scenes(path: Path, novels: Path) -> dict[str, tuple[Novel, dict[str, tuple[str, Any]]]]:
    """Returns the descriptions of scenes in a file by book, with the sentences of their phrases."""
    import re

    from irtoolkit.datasets.novels import read_novel

    found: dict[str, tuple[Novel, dict[str, tuple[str, Any]]]] = {}
    for line in path.read_text("utf-8").splitlines()[1:]:
        book, text, phrase = line.split("\t")
        if book not in found:
            found[book] = read_novel(novels / f"{book}.md"), {}
        novel, own = found[book]
        places = [n for n, sentence in enumerate(novel.sentences) if re.search(phrase, sentence)]
        if not places:
            raise SystemExit(f"{book}: {phrase!r} is not in it")
        own[text] = text, [(place, place + 1) for place in places]
    return found
