"""Books searched by words, by meaning, or by both, as `book_system` says."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from importlib.resources import files
from typing import Any, cast

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats, id_array
from irtoolkit.base.spans import Span
from irtoolkit.datasets.novels import LONGEST, Novel
from irtoolkit.models.downloads import only_here
from irtoolkit.ranking.book_index import PlacedIndex
from irtoolkit.ranking.book_ranking import PassageScores, best_passages, score_passages
from irtoolkit.ranking.book_system import BOOK_SYSTEMS, BOOKS, BookSystemName, best_system
from irtoolkit.ranking.book_words import BookWords
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers.dense import Dense
from irtoolkit.retrievers.hits import MatchedPlaces
from irtoolkit.runs import Run
from irtoolkit.runs.order import best_first, keys


class BookSearch(PlacedIndex):
    """All passages of some books, ranked as was found best for descriptions of what happens.

    The sentences are indexed, and encoded if meaning is compared, once: irtoolkit's cache keeps both.

    Args:
        novels: with distinct names.
        system: words, meaning or both; by default the best that can run here for the language, and
            words for more sentences than are encoded in some minutes.
        sentences: of a passage, from 1 to 20.
        progress: whether to show a bar on a terminal while they are prepared.

    Attributes:
        books: name to book.
        sentences: see above.
        searched_by: the system.
        is_large: whether there are too many sentences to encode them all unasked.

    Raises:
        InputError: another length; or a system that compares meaning, whose model is not here.
    """

    def __init__(
        self,
        novels: Sequence[Novel],
        system: BookSystemName | None = None,
        sentences: int | None = None,
        *,
        progress: bool = True,
    ) -> None:
        self.sentences = BOOKS.length if sentences is None else sentences
        if not 1 <= self.sentences <= LONGEST:
            raise InputError(
                f"passages of {self.sentences} sentences", remedy=f"a passage has 1 to {LONGEST}"
            )
        self.books = {novel.name: novel for novel in novels}
        self.words = BookWords(novels, progress=progress)
        self.kept, self.name, self._progress = self.words.index, "+".join(self.books), progress
        lacks = model_lacks()
        self.is_large = sum(len(novel.sentences) for novel in novels) > BOOKS.encoded
        has_model = lacks is None and not self.is_large
        self.searched_by = system or best_system(self.words.lang, has_model=has_model)
        if self.searched_by != "words" and lacks is not None:
            raise InputError(f"{BOOKS.model} is not here: {lacks}", remedy="search by words")

    def __len__(self) -> int:
        return len(self.words.layout.starts(self.sentences))

    def _best(self, query: str, depth: int) -> tuple[list[str], list[float]]:
        """The best passages of one query; of those that share a sentence, the best one."""
        passages = best_passages(self.words, self._scores(query), self.sentences, depth)
        names = [self.words.layout.novels[passage.book].name for passage in passages]
        ids = [
            f"{name}:{passage.start}+{passage.length}"
            for name, passage in zip(names, passages, strict=True)
        ]
        return ids, [passage.score for passage in passages]

    def _scores(self, query: str) -> PassageScores:
        system = cast(BookSystemName, self.searched_by)
        cosines = None if system == "words" else self._cosines(query)
        return score_passages(self.words, system, query, self.sentences, cosines)

    def _cosines(self, query: str) -> Floats:
        """Returns (n,) the cosine of a query and each sentence."""
        compare, encoder = self._compared
        vector = encoder.once([encoder.text((query,))])[0][0].reshape(1, -1)
        return np.asarray(compare(vector)[0])

    @cached_property
    def _compared(self) -> Any:
        """A function that compares a vector with those of all sentences, and the encoder of queries."""
        from irtoolkit.retrievers.vectors import prepared

        model = cast(Dense, find_system(BOOKS.model, {}).retriever)
        texts = [text for novel in self.words.layout.novels for text in novel.sentences]
        # One count hides the bar.
        count = len(texts) if self._progress else 1
        encoded = model.encoder("document").encode(texts, what="sentences", count=count)
        return prepared(encoded.vectors(), "cosine", "cpu"), model.encoder("query")

    def settings(self) -> Mapping[str, Any]:
        return {**asdict(BOOKS), "length": self.sentences}

    def with_settings(self, **settings: Any) -> BookSearch:
        if settings:
            raise InputError(
                f"{self.searched_by} has no setting {', '.join(settings)}",
                remedy="name a retriever, such as bm25, which has settings",
            )
        return self

    def _rank(self, queries: Mapping[str, str], depth: int) -> Run:
        rows, scores, names = [], [], []
        for text in queries.values():
            passage_scores = self._scores(text)
            hits = np.flatnonzero(passage_scores.is_hit)

            def order(numbers: Any, hits: Any = hits) -> Any:
                return keys(id_array(self.words.layout.ids(hits[numbers], self.sentences)))

            best = hits[best_first(passage_scores.total[hits], order, depth)]
            rows.append(len(best))
            scores.append(passage_scores.total[best])
            names += self.words.layout.ids(best, self.sentences)
        distinct = list(dict.fromkeys(names))
        number = {name: position for position, name in enumerate(distinct)}
        docs = np.array([number[name] for name in names], np.int32)
        return Run.ordered(
            id_array(list(queries)),
            np.cumsum([0, *rows]),
            id_array(distinct),
            docs,
            np.concatenate([np.empty(0), *scores]).astype(np.float32),
            self.searched_by,
        ).untied()

    def _texts(self, doc_ids: Sequence[str]) -> Mapping[str, str]:
        return {name: text for name in doc_ids if (text := self._text(name)) is not None}

    def _text(self, doc_id: str) -> str | None:
        """Returns the text of a passage; None if there is no such one."""
        try:
            span = Span.parse(doc_id)
        except InputError:
            return None
        novel = self.books.get(span.book)
        if novel is None or not 0 <= span.start < span.stop <= len(novel.sentences):
            return None
        return " ".join(novel.sentences[span.start : span.stop])

    def _matches(self, query: str, text: str) -> MatchedPlaces:
        matches = self.kept._matches(" ".join(self.words.content_words(query)), text)
        # "having" in a query has the term of "have" in a passage.
        return tuple(
            (first, last)
            for first, last in matches
            if not self.words.is_function_word(text[first:last].lower())
        )

    def _why_none(self, query: str) -> str:
        if not any(character.isalnum() for character in query):
            return "it has no words"
        content = self.words.terms(query)[1]
        return "" if content else "all its words are too common to tell one passage from another"


def book_search(
    novels: Sequence[Novel],
    system: Any,
    settings: Mapping[str, Any],
    sentences: int | None,
    *,
    progress: bool = True,
) -> BookSearch:
    """Returns books searched by a system for books.

    Raises:
        InputError: see `BookSearch`; or settings, which these systems have none of.
    """
    index = BookSearch(novels, system, sentences, progress=progress)
    return index.with_settings(**settings)


def model_lacks() -> str | None:
    """Returns what the model that compares meaning lacks to run here; None if nothing."""
    try:
        with only_here():
            return find_system(BOOKS.model, {}).missing()
    except InputError as error:
        return str(error)


def is_book_system(name: Any) -> bool:
    """Whether a name is that of a system for books alone."""
    return name in BOOK_SYSTEMS


def told_share(system: str, sentences: int) -> str:
    """Returns the share of known passages that a system finds, in words: "finds ...".

    It is empty unless the system was measured on passages of as many sentences.
    """
    if sentences != BOOKS.length:
        return ""
    figures = json.loads((files("irtoolkit.ranking") / "book_figures.json").read_text("utf-8"))
    shares = figures["systems"].get(system)
    if shares is None:
        return ""
    first, more = (f"{100 * shares[key]:.0f} %" for key in ("first 5", "first 20"))
    return (
        f"finds {first} of {figures['queries']} passages of {figures['books']} novels, which critics"
        f" wrote of, among the first 5, and {more} among the first 20"
    )
