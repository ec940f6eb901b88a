"""Passages as readers see them: marked, in their surroundings, with the score in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from irtoolkit.apps.serve.collection import Answer, Collection, SystemName
from irtoolkit.apps.serve.judgments import Judgment, judgment_for
from irtoolkit.apps.serve.models import (
    ChapterModel,
    HitModel,
    NearWord,
    PassageModel,
    PlaceModel,
    SentenceModel,
    SystemAnswer,
)
from irtoolkit.base.errors import InputError
from irtoolkit.base.spans import Span
from irtoolkit.datasets.novels import LONGEST
from irtoolkit.ranking.book_ranking import RankedPassage
from irtoolkit.reports.overlap import Pieces

# What marks the place of the quotation that is sought.
GAP = re.compile(r"\[\s*(?:quote|quotation|zitat|\u5f15\u6587|\u2026|\.\.\.)\s*\]", re.I)
_NEAREST = 5


def asked(query: str) -> str:
    """The text that is compared: without the mark of the gap.

    Raises:
        InputError: nothing else is there.
    """
    text = " ".join(GAP.sub(" ", query).split())
    if not re.search(r"\w", text):
        raise InputError("the query has no word", remedy="write what the passage is about")
    return text


def chapters(collection: Collection, book: int) -> list[ChapterModel]:
    """The chapters of a book."""
    novel = collection.novels[book]
    return [
        ChapterModel(
            title=chapter.title, start=chapter.start, share=chapter.start / len(novel.sentences)
        )
        for chapter in novel.chapters
    ]


def located(collection: Collection, passage: str) -> tuple[int, int, int]:
    """The book, first sentence and length of a passage, by its id.

    Raises:
        InputError: the collection has no such passage.
    """
    wrong = InputError(f"there is no passage {passage} in {collection.name}")
    try:
        span = Span.parse(passage)
    except InputError:
        raise wrong from None
    if span.length > LONGEST:
        raise wrong
    for number, novel in enumerate(collection.novels):
        if novel.name == span.book and span.stop <= len(novel.sentences):
            return number, span.start, span.length
    raise wrong


def passage(
    collection: Collection, book: int, start: int, length: int, *, before: int, after: int
) -> PassageModel:
    """A passage in its surroundings."""
    plain = collection.marks.of(())
    return PassageModel(
        **_passage(collection, RankedPassage(book, start, length, 0.0), before, after, plain)
    )


def _passage(
    collection: Collection,
    found: RankedPassage,
    before: int,
    after: int,
    pieces: Callable[[int, int], list[Pieces]],
) -> dict[str, Any]:
    """Returns the fields of a passage in its surroundings; `pieces` marks terms in sentences."""
    novel, start, stop = collection.novels[found.book], found.start, found.start + found.length
    first, last = max(0, start - before), min(len(novel.sentences), stop + after)
    beginnings, offset = collection.paragraphs[found.book], collection.firsts[found.book]
    sentences = [
        SentenceModel(number, parts, number in beginnings)
        for number, parts in enumerate(pieces(offset + first, offset + last), first)
    ]
    begin, end = start - first, stop - first
    for sentence, similarity in zip(sentences[begin:end], found.similarities, strict=False):
        sentence.similarity = round(similarity, 4)
    place = novel.place(start)
    return {
        "id": f"{novel.name}:{start}+{found.length}",
        "collection": collection.name,
        "book": novel.name,
        "title": novel.title,
        "author": novel.author,
        "place": PlaceModel(place.chapter, place.number, place.sentence, place.share),
        "before": sentences[:begin],
        "sentences": sentences[begin:end],
        "after": sentences[end:],
    }


def system_answer(
    collection: Collection,
    system: SystemName,
    query: str,
    answer: Answer,
    judgments: Sequence[Judgment],
    context: int,
) -> SystemAnswer:
    """Returns the passages that one system found, as readers see them; judgments are of the query."""
    terms = collection.telling(query)
    hits, pieces = [], collection.marks.of(terms)
    for rank, hit in enumerate(answer.found, 1):
        fields = _passage(collection, hit, context, context, pieces)
        shared = _shared(collection, fields["sentences"], terms)
        judgment = judgment_for(judgments, Span(fields["book"], hit.start, hit.length))
        hits.append(
            HitModel(
                **fields,
                rank=rank,
                score=round(hit.score, 6),
                shared=shared,
                explanation=_explained(collection, system, hit, shared),
                grade=None if judgment is None else judgment.grade,
                judged=None if judgment is None else judgment.passage,
            )
        )
    return SystemAnswer(
        system=system,
        hits=hits,
        curve=[list(point) for point in answer.curve],
        note=_note(collection, system, not hits),
    )


def _shared(
    collection: Collection, sentences: Sequence[SentenceModel], terms: frozenset[str]
) -> list[str]:
    """The words of a passage that the query shares, each term once, the rarest first."""
    words: dict[str, str] = {}
    for sentence in sentences:
        for word in sentence.pieces[1::2]:
            for term in collection.marks.terms(word) & terms:
                words.setdefault(term, word)
    counts = collection.marks.frequencies
    ordered = sorted(words, key=lambda term: (counts[term], term))
    return list(dict.fromkeys(words[term] for term in ordered))


def _explained(
    collection: Collection, system: SystemName, passage: RankedPassage, shared: Sequence[str]
) -> str:
    """A score in words."""
    if system == "words":
        return f"Score {passage.score:.1f}, of the passage and what is around it: {_words_said(collection, shared)}."
    if not passage.similarities:
        return f"Its meaning is not compared yet. {_words_said(collection, shared, capital=True)}."
    best = max(range(len(passage.similarities)), key=lambda i: passage.similarities[i])
    explanation = f"sentence {best + 1} of {passage.length} is the nearest in meaning ({passage.similarities[best]:.2f} of at most 1)"
    words = _words_said(collection, shared, capital=True)
    if system == "meaning":
        return f"Similarity {passage.score:.2f}, from the mean of the sentences and the nearest: {explanation}. {words}."
    parts = " and ".join(f"{passage.parts[name]:+.1f} by {name}" for name in ("words", "meaning"))
    return (
        f"Score {passage.score:.1f}, from {parts}: standard deviations above the mean of all passages;"
        f" {explanation}. {words}."
    )


def _words_said(collection: Collection, shared: Sequence[str], *, capital: bool = False) -> str:
    if not shared:
        explanation = "it shares no word with the query but common ones"
    else:
        counts = []
        for word in shared[:4]:
            term = min(collection.marks.terms(word), default=word)
            number = collection.marks.frequencies[term]
            counts.append(f"\u201c{word}\u201d (in {number:,} sentence{'s' * (number != 1)})")
        more = f" and {len(shared) - 4} more" if len(shared) > 4 else ""
        explanation = f"it shares {', '.join(counts)}{more}; rare words count most"
    return explanation[0].upper() + explanation[1:] if capital else explanation


def _note(collection: Collection, system: SystemName, nothing: bool) -> str:
    if nothing:
        return "No passage shares a word with the query, other than the commonest ones."
    if system != "words" and not collection.has_vectors:
        return "Meaning is compared in the part of the book that is prepared; search again for the rest."
    meaning = collection.meaning
    english = meaning is not None and "all-MiniLM" in meaning.model
    if system != "words" and english and collection.lang not in ("en", None):
        return "The model was trained on English; on this language expect little of it."
    return ""


def nearest_words(
    collection: Collection, query: str, passages: Sequence[str]
) -> dict[str, list[NearWord]]:
    """The words of passages that are nearest to a query in meaning.

    Raises:
        InputError: no such passage, or no model.
    """
    meaning = collection.meaning
    if meaning is None or not collection.has_vectors:
        raise InputError("no model compares meaning here")
    words: dict[str, list[str]] = {}
    for name in passages:
        book, start, length = located(collection, name)
        text = " ".join(collection.novels[book].sentences[start : start + length])
        pieces = collection.overlap.mark(text, collection.overlap.terms(text))
        words[name] = list(dict.fromkeys(word.lower() for word in pieces[1::2]))[:80]
    distinct = list(dict.fromkeys(word for nearest in words.values() for word in nearest))
    if not distinct:
        return {name: [] for name in passages}
    cosines = meaning.words(distinct) @ meaning.asked([query])[0]
    near = dict(zip(distinct, cosines.tolist(), strict=True))
    return {
        name: [
            NearWord(word=word, similarity=round(near[word], 3))
            for word in sorted(nearest, key=lambda word: -near[word])[:_NEAREST]
        ]
        for name, nearest in words.items()
    }
