"""Documents that may not be negatives of a query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from irtoolkit.base.ids import Ints, offsets_of
from irtoolkit.training.ragged import Bools, Ragged, is_among


@dataclass(frozen=True, eq=False)
class Exclusions:
    """The documents that may not be negatives of each query.

    They are stored as keys, so that one key excludes thousands of documents with the same words. A
    document has two keys: the number of its word set, and `word_set_count` plus its own number. A
    query excludes each document that has one of its keys.

    Attributes:
        word_sets: (m,) number of the set of words of each document; documents with the same words
            have the same number.
        word_set_count: number of distinct word sets.
        keys: the excluded keys of each query, ascending.
    """

    word_sets: Ints
    word_set_count: int
    keys: Ragged

    @classmethod
    def of_documents(cls, docs: Sequence[Iterable[int]], total: int) -> Exclusions:
        """Exclusions of single documents.

        Args:
            docs: the documents that each query excludes.
            total: number of documents.
        """
        return cls(np.arange(total), total, Ragged.of([sorted({*row}) for row in docs]))

    def of_query(self, query: int) -> Ints:
        """Returns the documents that a query excludes, ascending."""
        keys = self.keys[query]
        cut = int(np.searchsorted(keys, self.word_set_count))
        same_words = [self.docs_of_word_set[number] for number in keys[:cut].tolist()]
        return np.unique(np.concatenate([*same_words, keys[cut:] - self.word_set_count]))

    def contain(self, queries: Ints, docs: Ints) -> Bools:
        """Returns (k,) whether each of some queries excludes the document at the same position."""
        count = self.word_set_count
        width = count + len(self.word_sets)
        codes = self.keys.owners * width + self.keys.values
        first = queries * width
        by_words = is_among(first + self.word_sets[docs], codes)
        contained: Bools = by_words | is_among(first + count + docs, codes)
        return contained

    def restrict(self, docs: Ints) -> Exclusions:
        """Returns the exclusions among some documents only, which get new numbers.

        Args:
            docs: the documents, ascending; the first one becomes number 0.
        """
        number = np.full(len(self.word_sets), -1)
        number[docs] = np.arange(len(docs))
        values = self.keys.values.copy()
        single = values >= self.word_set_count
        values[single] = number[values[single] - self.word_set_count]
        mask = values >= 0
        values[single] += self.word_set_count
        offsets = offsets_of(self.keys.owners[mask], len(self.keys))
        return Exclusions(self.word_sets[docs], self.word_set_count, Ragged(offsets, values[mask]))

    @cached_property
    def docs_of_word_set(self) -> Ragged:
        """The documents with each word set."""
        order = np.argsort(self.word_sets, kind="stable")
        return Ragged(offsets_of(self.word_sets[order], self.word_set_count), order)
