"""Training rows from the passages of books and the sentences around them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from operator import attrgetter
from typing import Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.spans import Span
from irtoolkit.datasets.books import Passage
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.quoter_release import QuoteQuery as Context
from irtoolkit.training.duplicates import words_of
from irtoolkit.training.ragged import Ragged
from irtoolkit.training.recipes import Stage
from irtoolkit.training.sources.base import Links, RowSource, TextSink, required

# A passage with fewer distinct words says too little to be found by its surroundings.
FEWEST_WORDS = 5


class SurroundingsSource(RowSource):
    """A row for each passage of a dataset's books: the sentences around it, and the passage.

    The passages of a book follow one another without overlap.
    """

    def __init__(self, stage: Stage, join: str) -> None:
        super().__init__(stage, join)
        self._check_mining()
        self.what = f"the books of {required(stage, 'dataset')}"
        for name in ("around", "length"):
            if getattr(stage, name) < 1:
                raise InputError(f"{name}={getattr(stage, name)} sentences", remedy="at least one")
        fields = getattr(Dataset.load(stage.dataset).docs_cls(), "_fields", ())
        if not {*Passage._fields} <= {*fields}:
            raise InputError(
                f"the documents of {stage.dataset} are not passages of books",
                remedy="source=surroundings takes a dataset of books, such as relic/train",
            )

    def read(self, out: TextSink) -> Links:
        books = array("q")
        names: set[str] = set()
        docs = Dataset.load(self.stage.dataset).docs_iter()
        for name, passages in groupby(docs, attrgetter("book")):
            if name in names:
                raise InputError(f"the passages of {name} are not together in {self.stage.dataset}")
            for query, passage in self._cut(name, passages):
                out.query(query.query_id, self._query(query))
                out.doc(passage.doc_id, self._doc(passage))
                books.append(len(names))
            names.add(name)
        if not books:
            raise InputError(
                f"{self.what} have no passage of {self.stage.length} sentences with another"
                " sentence beside it",
                remedy="lower length",
            )
        groups = np.array(books, np.int64)
        used, numbers = np.unique(groups, return_inverse=True)
        group_numbers = np.arange(len(groups))
        pools = np.split(group_numbers, np.searchsorted(groups, used)[1:])
        return Links(group_numbers, group_numbers, numbers, numbers, Ragged.of(pools))

    def _cut(self, name: str, passages: Iterable[Any]) -> Iterator[tuple[Context, Passage]]:
        """Yields the passages of a book with the sentences around each."""
        around, length = self.stage.around, self.stage.length
        for first, sentences in _stretches(passages):
            for start in range(0, len(sentences) - length + 1, length):
                stop = start + length
                before = " ".join(sentences[max(0, start - around) : start])
                right = " ".join(sentences[stop : stop + around])
                sentences_inside = tuple(sentences[start:stop])
                text = " ".join(sentences_inside)
                if len(words_of(text)) >= FEWEST_WORDS and (before or right):
                    span = str(Span(name, first + start, length))
                    yield (
                        Context(span, before, right),
                        Passage(span, text, name, first + start, length, sentences_inside),
                    )


def _stretches(passages: Iterable[Any]) -> Iterator[tuple[int, list[str]]]:
    """Yields the stretches of consecutive sentences that some passages of a book cover.

    Yields:
        The number of the first sentence, and the sentences.
    """
    texts: dict[int, str] = {}
    for passage in passages:
        texts.update(enumerate(passage.sentences, passage.start))
    first, texts_found = 0, list[str]()
    for position in chain(sorted(texts), [None]):
        if texts_found and position != first + len(texts_found):
            yield first, texts_found
            texts_found = []
        if position is not None:
            first = first if texts_found else position
            texts_found.append(texts[position])
