"""Term matching of passages together with what matches nearby, among the candidates of a query."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby, pairwise
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats, Ints
from irtoolkit.base.languages import EAST_RANGES, SOUTHEAST_RANGES
from irtoolkit.retrievers._book_windows import FadedTerms
from irtoolkit.retrievers.base import Ask, Block, Matches, Scorer, is_searched, keep_last
from irtoolkit.retrievers.lexical import BM25
from irtoolkit.retrievers.task import Task

# "c_3171787", or a passage of a book as "emma:120+3": a text, and a position in it.
_POSITION = re.compile(r"(.*?)([0-9]{1,15})(\+[0-9]+)?", re.DOTALL)
# Passages further apart than so many spans count nothing for each other: less than e^-6.
_REACH = 6
# Passages that share so many words in a row overlap, or so many characters if a text has no spaces
# between its words.
_WORDS, _CHARACTERS = 6, 12
_UNSPACED = f"{EAST_RANGES}{SOUTHEAST_RANGES}"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")

# The text and the position of each of some documents, and their words.
PlacesAndWords = tuple[list[tuple[str, int]], list[list[str]]]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BM25Nearby(FadedTerms, BM25):
    """BM25 of a passage together with that of passages nearby, among the candidates of the query.

    The score is z(s) + weight · z(e), where s is BM25, e = Σ max(0, z(s')) · exp(-d / span) is the
    evidence nearby, and z scales to mean 0 and standard deviation 1 over the query's candidates. The
    sum is over candidates of the same text that do not overlap the passage, d positions away:
    overlapping passages repeat what the passage itself says. The last number of an id is the
    position, and what precedes it is the text. Passages overlap if they share six words in a row, or
    twelve characters of Chinese, Japanese, Thai, Lao, Burmese or Khmer.

    Attributes:
        span: the distance, in positions, at which evidence counts 1/e of what it counts at no distance.
        weight: of the evidence nearby; 0 is the ranking of BM25.
    """

    name: ClassVar[str] = "bm25-nearby"
    # 2: passages without spaces between words overlap if they share characters; 3: as bm25's 2.
    format: ClassVar[int] = 3

    span: float = 20.0
    weight: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_fade()
        if not 0 < self.span < np.inf:
            raise InputError(f"setting span={self.span} is not a number above 0")
        if not 0 <= self.weight < np.inf:
            raise InputError(f"setting weight={self.weight} is not a number from 0 on")

    def prepare(self, task: Task) -> Ask:
        ask = super().prepare(task)
        read = keep_last(partial(places_and_words, task))
        if not _look_like_passages(task, read):
            _doubt_positions(task.dataset_id)
        near = keep_last(lambda docs: nearness(*read(docs), self.span))

        def asked(query_task: Task) -> Scorer:
            scorer = ask(query_task)

            def candidates(docs: Ints) -> Block:
                block, counts = scorer(docs), near(docs)

                def score(query: Ints) -> Matches:
                    scored: Any = block(query)
                    matches: Any = scored.every() if is_searched(scored) else scored
                    scores = with_evidence(matches.scores, counts, self.weight)
                    return Matches(scores, matches.shared)

                return score

            return candidates

        return asked


def with_evidence(scores: Any, near: csr_array, weight: float) -> Floats:
    """Returns (q, c) scores with the evidence nearby.

    Args:
        scores: (q, c) of the passages themselves.
        near: (c, c) what each passage counts for each other.
        weight: see `BM25Nearby`.
    """
    own = _standardised(scores)
    return own + weight * _standardised(np.maximum(own, 0) @ near)


def places_and_words(task: Task, docs: Ints) -> PlacesAndWords:
    """Returns the text and position of some candidates of a task, by their ids, and their words.

    Raises:
        InputError: an id has no position.
    """
    texts = task.docs
    words = [_WORD.findall(" ".join(texts[doc]).lower()) for doc in docs]
    return [_place(name, task.dataset_id) for name in task.doc_ids[docs]], words


def _look_like_passages(task: Task, read: Callable[[Ints], PlacesAndWords]) -> bool:
    """Returns whether documents are passages of books, or neighbours among some candidates overlap."""
    if task.dataset is not None and task.dataset.passages() is not None:
        return True
    return any(_neighbours_overlap(*read(group.docs)) for group in task.groups)


def _neighbours_overlap(places: list[tuple[str, int]], words: list[list[str]]) -> bool:
    """Returns whether any passage overlaps the next one of its text."""
    order = sorted(range(len(places)), key=places.__getitem__)
    return any(
        places[one][0] == places[following][0]
        and not _shingles(words[one]).isdisjoint(_shingles(words[following]))
        for one, following in pairwise(order)
    )


@cache
def _doubt_positions(dataset_id: str) -> None:
    """Writes, once for a dataset, a note that its documents do not look like passages."""
    _log.warning(
        "note: bm25-nearby takes the number at the end of an id for a position in a text, but no"
        " neighbours among the candidates of %s overlap; unless they are passages of texts, rank"
        " with bm25",
        dataset_id,
    )


def nearness(places: list[tuple[str, int]], words: list[list[str]], span: float) -> csr_array:
    """Returns a (c, c) matrix of what each passage counts for each other.

    Args:
        places: text and position of each passage.
        words: the words of each passage.
        span: see `BM25Nearby`.
    """
    pairs = np.array(list(_pairs(places, words, _REACH * span)), np.int64).reshape(-1, 2)
    positions = np.array([position for _, position in places], np.float64)
    counts = np.exp(-np.abs(positions[pairs[:, 0]] - positions[pairs[:, 1]]) / span)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    shape = (len(places), len(places))
    return csr_array((np.tile(counts, 2), (both[:, 0], both[:, 1])), shape=shape)


def _pairs(
    places: list[tuple[str, int]], words: list[list[str]], reach: float
) -> Iterator[tuple[int, int]]:
    """Yields passages of one text within reach of each other that do not overlap."""
    shingles = [_shingles(text) for text in words]
    order = sorted(range(len(places)), key=places.__getitem__)
    for _, group in groupby(order, key=lambda number: places[number][0]):
        passages = list(group)
        for index, passage in enumerate(passages):
            is_apart = False
            for later in passages[index + 1 :]:
                if places[later][1] - places[passage][1] > reach:
                    break
                is_apart = is_apart or shingles[passage].isdisjoint(shingles[later])
                if is_apart:
                    yield passage, later


def _place(name: str, dataset_id: str) -> tuple[str, int]:
    """Returns the text and the position of a document, as its id has them."""
    match = _POSITION.fullmatch(name)
    if match is None:
        raise InputError(
            f"document id {name!r} of {dataset_id} has no position: it does not end in a number",
            remedy="passages are named by their text and a number, such as emma-120; or rank with bm25",
        )
    return match[1], int(match[2])


def _shingles(words: list[str]) -> set[tuple[str, ...]]:
    """Returns the sequences of words, or of characters, of which overlapping passages share one."""
    characters = sum(len(word) == 1 for word in words)
    size = _CHARACTERS if 2 * characters > len(words) else _WORDS
    return {tuple(words[i : i + size]) for i in range(max(1, len(words) - size + 1))}


def _standardised(scores: Any) -> Floats:
    """Returns each row with mean 0 and standard deviation 1; a row of equal scores is zeros."""
    # A row is added up in the same order, whatever rows are beside it.
    scores = np.ascontiguousarray(scores)
    centred = scores - scores.mean(axis=1, keepdims=True)
    differs = np.ptp(scores, axis=1, keepdims=True) > 0
    standard: Floats = np.zeros_like(centred)
    np.divide(centred, scores.std(axis=1, keepdims=True), out=standard, where=differs)
    return standard
