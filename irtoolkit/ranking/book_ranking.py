"""Passages of books, ranked by words, by meaning, or by both, none of which share a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from irtoolkit.base.ids import Floats, Ints, id_array
from irtoolkit.ranking.book_system import BookSystemName
from irtoolkit.ranking.book_words import BookWords, running_sums
from irtoolkit.runs.order import best_first, keys


class RankedPassage(NamedTuple):
    """A passage in an answer.

    Attributes:
        book: the position of its book.
        start, length: its sentences.
        score: of the system that ranks.
        parts: its standardised score by words and by meaning, if both were added up.
        similarities: of each of its sentences, if meaning was compared and all of them have vectors.
    """

    book: int
    start: int
    length: int
    score: float
    parts: Mapping[str, float] = {}
    similarities: tuple[float, ...] = ()


class PassageScores(NamedTuple):
    """The scores of all passages.

    Attributes:
        total: (p,) of the system that ranks.
        parts: (p,) each, that were added up; empty for one system alone.
        is_hit: (p,) whether a passage may be in an answer.
    """

    total: Floats
    parts: Mapping[str, Floats]
    is_hit: Any


def score_passages(
    words: BookWords, system: BookSystemName, query: str, length: int, cosines: Floats | None
) -> PassageScores:
    """Scores all passages of some books.

    Args:
        words: the books.
        system: what ranks.
        query: the text.
        length: sentences of a passage.
        cosines: (n,) of the query and each sentence, NaN if its vector is not there yet; not for words.
    """
    if system == "words" or cosines is None:
        total, is_hit = words.scores(query, length, words.how.alone)
        return PassageScores(total, {}, is_hit)
    meaning_scores = by_meaning(words, cosines, length)
    has_vectors = ~np.isnan(meaning_scores)
    if system == "meaning":
        return PassageScores(np.where(has_vectors, meaning_scores, -np.inf), {}, has_vectors)
    worded, is_hit = words.scores(query, length, words.how.fused)
    parts = {"words": standardised(worded), "meaning": standardised(meaning_scores)}
    share = words.how.meaning
    total = (1 - share) * parts["words"] + share * parts["meaning"]
    return PassageScores(total, parts, has_vectors | is_hit)


def by_meaning(words: BookWords, cosines: Floats, length: int) -> Floats:
    """Returns (p,) the mean cosine of each passage, interpolated with that of its nearest sentence."""
    layout, share = words.layout, words.how.nearest
    starts = layout.starts(length)
    placed = layout.spread(cosines)
    sizes = np.repeat(layout.sizes(length), layout.lengths - layout.sizes(length) + 1)
    sums = running_sums(np.where(np.isnan(placed), 0, placed))
    means = (sums[starts + sizes] - sums[starts]) / sizes
    nearest = _greatest(layout.spread(cosines, -np.inf), length)[starts]
    return np.asarray((1 - share) * means + share * nearest)


def _greatest(values: Floats, length: int) -> Floats:
    """Returns the greatest of each value and those that follow; NaN if one of them is."""
    greatest = values[: len(values) - length + 1].copy()
    for shift in range(1, length):
        np.maximum(greatest, values[shift : shift + len(greatest)], out=greatest)
    return greatest


def standardised(scores: Floats) -> Floats:
    """Returns scores less their mean, in standard deviations; 0 for those that are not known."""
    has_score = ~np.isnan(scores)
    if not has_score.any():
        return np.zeros(len(scores))
    deviation = float(scores[has_score].std())
    moved = (scores - scores[has_score].mean()) / (deviation or 1.0)
    return np.where(has_score, moved, 0.0)


def best_passages(
    words: BookWords, scores: PassageScores, length: int, depth: int, cosines: Floats | None = None
) -> tuple[RankedPassage, ...]:
    """Returns the best passages; of those that share a sentence, the best one alone."""
    chosen: list[RankedPassage] = []
    layout = words.layout
    covered = bytearray(layout.size)
    ranked = _ranked(words, scores, length, depth)
    for number, (book, start, size) in zip(
        ranked.tolist(), layout.passages(ranked, length), strict=True
    ):
        begin = int(layout.begins[book]) + start
        if any(covered[begin : begin + size]):
            continue
        covered[begin : begin + size] = b"\1" * size
        chosen.append(_found(words, scores, number, (book, start, size), cosines))
        if len(chosen) == depth:
            break
    return tuple(chosen)


def _ranked(words: BookWords, scores: PassageScores, length: int, depth: int) -> Ints:
    """Returns the numbers of enough passages, best first, that `depth` of them are apart."""
    hits = np.flatnonzero(scores.is_hit)
    # A passage shares a sentence with 2 (n - 1) others of its length.
    most = depth * (2 * length - 1)

    def order(numbers: Ints) -> Ints:
        return keys(id_array(words.layout.ids(hits[numbers], length)))

    ranked: Ints = hits[best_first(scores.total[hits], order, most)]
    return ranked


def _found(
    words: BookWords,
    scores: PassageScores,
    number: int,
    passage: tuple[int, int, int],
    cosines: Floats | None,
) -> RankedPassage:
    book, start, size = passage
    similar: tuple[float, ...] = ()
    if cosines is not None:
        first = int(words.layout.lengths[:book].sum()) + start
        of_sentences = cosines[first : first + size]
        similar = () if np.isnan(of_sentences).any() else tuple(of_sentences.tolist())
    parts = {name: float(values[number]) for name, values in scores.parts.items()}
    return RankedPassage(book, start, size, float(scores.total[number]), parts, similar)
