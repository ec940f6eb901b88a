"""Retrievers over kept postings: how documents are prepared, and how queries are matched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from irtoolkit.base import analysis
from irtoolkit.base.analysis import Analysis
from irtoolkit.base.ids import Floats, Ints
from irtoolkit.indexes.documents import MemoryDocuments
from irtoolkit.indexes.form import OpenShard, SearchedHere
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.queries import CountedQueries, counted
from irtoolkit.indexes.scanning import filled
from irtoolkit.indexes.search import PostingsSearch, valued, weighed
from irtoolkit.indexes.sharded import CountedShardSet
from irtoolkit.indexes.strings import Strings
from irtoolkit.indexes.tokens import BLOCK
from irtoolkit.indexes.weighted import WeightedQueries
from irtoolkit.indexes.writer import MEMORY, Segments
from irtoolkit.retrievers.base import Matches
from irtoolkit.retrievers.bm25_forms import FORMS, Lengths, stored_lengths
from irtoolkit.runs.order import TopDocuments

if TYPE_CHECKING:
    from irtoolkit.indexes.lexical_maker import PostingsMaker

# Characters of a text in which matches are looked for: what a person reads of it is shorter.
_MATCHED = 1 << 16


class TermRetriever(Protocol):
    """A retriever that matches terms; see `irtoolkit.retrievers.lexical.Lexical`."""

    def analysis(self, lang: str | None) -> Analysis: ...
    def rewritten(self, texts: Iterable[Segments]) -> Iterable[Segments]: ...
    def rewriting(self) -> dict[str, Any]: ...
    def settings(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class BM25Weighting:
    """A form of BM25 as a weight of each term and one of each count in a document of some length.

    Attributes:
        form, k1, b, delta, epsilon, lengths: see `irtoolkit.retrievers.lexical.BM25`.
    """

    form: str
    k1: float
    b: float
    delta: float
    epsilon: float
    lengths: Lengths = "exact"

    @property
    def counts_empty(self) -> bool:
        """Whether documents without a term count; in Lucene they do not."""
        return self.lengths == "exact"

    @property
    def absent(self) -> float:
        """What a term adds to documents that lack it, times its idf."""
        return FORMS[self.form].absent(self.k1, self.delta)

    def idf(self, size: int, found: Ints, all_found: Callable[[], Ints]) -> Floats:
        """(t,) weight of terms that occur in `found` of `size` documents."""
        idf = FORMS[self.form].idf
        own = idf(size, found.astype(float), self.epsilon)
        if self.form == "okapi" and (found > size / 2).any():
            # A negative idf becomes a share of the mean over all terms.
            frequencies = all_found()
            every = idf(size, frequencies.astype(float), self.epsilon)
            known = dict(zip(frequencies.tolist(), every.tolist(), strict=True))
            own = np.array([known[count] for count in found.tolist()])
        return own

    def weights(self, counts: Ints, lengths: Ints, average: float) -> Floats:
        """(n,) weight of a term that occurs so often in a document of such a length."""
        stored = stored_lengths(lengths, self.lengths)
        norm = 1 - self.b + self.b * stored / (average or 1.0)
        made = FORMS[self.form].weight(
            counts.astype(np.float64), np.asarray(norm, np.float64), self.k1, self.delta
        )
        return np.maximum(0.0, made - self.absent)


class LexicalIndex(SearchedHere):
    """How retrievers that match terms keep their documents; a `KeptForm` but for its search.

    Postings are of texts alone: every retriever that makes the same terms of them searches them.
    """

    kind = "postings"

    def __init__(self, retriever: TermRetriever) -> None:
        self._retriever = retriever

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """What was done to the documents."""
        own = self._retriever
        return {
            **own.analysis(None)._asdict(),
            "analysis": analysis.FORMAT, **own.rewriting(),
        }  # fmt: skip

    def shards(self, shards: Sequence[OpenShard], first: int = 0) -> Any:
        """Shards of postings as one."""
        return self.of([(PostingsShard.load(one.documents.folder), one) for one in shards], first)

    def of(self, shards: Sequence[tuple[PostingsShard, OpenShard]], first: int = 0) -> Any:
        """Shards of postings, in memory or mapped, as one."""
        raise NotImplementedError

    def in_memory(self, texts: Iterable[Segments], ids: Sequence[str]) -> Any:
        """Returns documents as a shard of postings in memory."""
        maker = self.maker(MEMORY)
        try:
            maker.begin(Path("memory"))
            every = iter(texts)
            while block := list(islice(every, BLOCK)):
                maker.add(block)
            shard = maker.made()
        finally:
            maker.close()
        docs = OpenShard(MemoryDocuments(Strings.of(ids)), np.empty(0, np.int64))
        return self.of([(shard, docs)])

    def searcher(self, shards: CountedShardSet, counting: Any = None) -> Any:
        """Searches shards of postings with the statistics of `counting`, by default their own."""
        raise NotImplementedError

    def maker(self, memory: int) -> PostingsMaker:
        """Makes shards of postings."""
        from irtoolkit.indexes.lexical_maker import PostingsMaker

        own = self._retriever
        return PostingsMaker(*own.analysis(None), memory=memory, rewritten=own.rewritten)

    def merge(self, shards: Sequence[OpenShard], places: Sequence[Ints], folder: Any) -> None:
        """Writes the postings of all documents as one shard."""
        from irtoolkit.indexes.merging import merge_postings

        merge_postings(
            [PostingsShard.load(shard.documents.folder) for shard in shards], places, folder
        )


class BM25Index(LexicalIndex):
    """How BM25 keeps its documents; a `KeptForm`."""

    def of(
        self, shards: Sequence[tuple[PostingsShard, OpenShard]], first: int = 0
    ) -> PostingsSearch:
        """Shards of postings as one."""
        return PostingsSearch(shards, first)

    def searcher(self, shards: CountedShardSet, counting: Any = None) -> BM25Searcher:
        """Searches shards of postings."""
        return BM25Searcher(self._retriever.settings(), shards, counting)


class LexicalSearcher:
    """What searchers of kept postings share.

    Args:
        settings: of the retriever; see `irtoolkit.retrievers.lexical.Lexical`.
        shards: a `ShardSet` of postings.
        counting: what counts the terms that weigh them; by default the shards.
    """

    def __init__(
        self, settings: Mapping[str, Any], shards: CountedShardSet, counting: Any = None
    ) -> None:
        own = analysis.analysis_of(settings)
        self._tokenizer, self._analyze = own.tokenizer, analysis.analyzer(*own)
        self._settings = settings
        self.shards: CountedShardSet = shards
        self.counting: Any = shards if counting is None else counting

    def reads_all_terms(self, apart: bool) -> bool:
        """Whether terms that no query has decide scores; see `within`."""
        return False

    def within(self, documents: Ints, terms: Strings | None, *, apart: bool) -> Self:
        """Returns what searches some documents, which are numbered from 0.

        Args:
            documents: (c,) their numbers, ascending.
            terms: the terms that are searched for; by default any.
            apart: whether terms are weighed by these documents, and not by all.
        """
        shards: Any = self.shards
        pool = shards.subset(documents, None if self.reads_all_terms(apart) else terms)
        return type(self)(self._settings, pool, None if apart else self.counting)

    def every(self, terms: CountedQueries) -> Matches:
        """The score of every document for each query."""
        shards: Any = self.shards
        scores, shared = shards.every(self._asked(terms))
        return Matches(scores, lambda: shared)

    def matched(self, query: Segments, text: str) -> list[tuple[int, int]]:
        """Where words of the beginning of a text have a term of the query."""
        wanted = set(self.terms([query]).terms)
        text = text[:_MATCHED]
        lower = self._analyze.lower(text)
        found, at = [], 0
        for token in self._analyze.split(lower):
            at = lower.find(token, at)
            if at < 0:  # the tokens are not parts of the text
                return []
            if self._analyze.term(token) in wanted:
                found.append((at, at + len(token)))
            at += 1
        return found if len(lower) == len(text) else []

    def terms(self, queries: Sequence[Segments]) -> CountedQueries:
        """The terms of queries."""
        return counted(queries, self._tokenizer, self._analyze)

    def search(
        self, queries: Sequence[Segments], depth: int, *, fill: bool = False
    ) -> TopDocuments:
        """The best documents of each query; see `found`."""
        return self.found(self.terms(queries), depth, fill=fill)

    def ranks(
        self, queries: Sequence[Segments], wanted: Sequence[Sequence[int]]
    ) -> list[list[int]]:
        """The exact rank of some documents of each query among all documents, from 1."""
        return self.standing(self.terms(queries), wanted)

    def found(self, terms: CountedQueries, depth: int, *, fill: bool = False) -> TopDocuments:
        """The best documents of each query, whose terms may weigh any number above 0."""
        raise NotImplementedError

    def feedback(self, terms: CountedQueries, depth: int) -> TopDocuments:
        """The best documents that share a term with each query; these may give feedback."""
        return self.found(terms, depth)

    def standing(self, terms: CountedQueries, wanted: Sequence[Sequence[int]]) -> list[list[int]]:
        """The ranks of some documents of each query, given its terms."""
        return self.shards.ranks(self._asked(terms), wanted)

    def _asked(self, terms: CountedQueries) -> Any:
        """The queries as the shards take them."""
        raise NotImplementedError


class BM25Searcher(LexicalSearcher):
    """Searches kept postings with BM25; a `Searcher`.

    Args:
        settings: of the retriever; see `irtoolkit.retrievers.lexical.BM25`.
        shards, counting: see `LexicalSearcher`.
    """

    def __init__(
        self, settings: Mapping[str, Any], shards: CountedShardSet, counting: Any = None
    ) -> None:
        super().__init__(settings, shards, counting)
        names = ("form", "k1", "b", "delta", "epsilon")
        constants = {name: settings[name] for name in names}
        # Indexes of before do not name it.
        lengths = settings.get("lengths", "exact")
        self._weighting = BM25Weighting(**constants, lengths=lengths)

    def reads_all_terms(self, apart: bool) -> bool:
        # A negative idf becomes a share of the mean over all terms.
        return apart and self._weighting.form == "okapi"

    def found(self, terms: CountedQueries, depth: int, *, fill: bool = False) -> TopDocuments:
        """The best documents of each query, among those that share a term with it.

        `fill` adds others, by descending id, which score what a document without a term of the
        query does.
        """
        asked = self._asked(terms)
        found = valued(asked, self.shards.best(asked, depth))
        depth = min(depth, self.shards.size)
        is_full = (np.diff(found.offsets) >= depth).all() and found.scores.min(initial=0) >= 0
        if not fill or is_full:
            return found
        return filled(found, depth, self.shards, self._without(asked))

    def feedback(self, terms: CountedQueries, depth: int) -> TopDocuments:
        """The best documents that score more than one without a term of the query."""
        asked = self._asked(terms)
        found = valued(asked, self.shards.best(asked, depth))
        counts = np.diff(found.offsets)
        better = found.scores > np.repeat(self._without(asked), counts)
        owners = np.repeat(np.arange(terms.size), counts)[better]
        offsets = np.searchsorted(owners, np.arange(terms.size + 1))
        return TopDocuments(offsets, found.documents[better], found.scores[better])

    def _without(self, asked: Sequence[WeightedQueries]) -> Floats:
        """(q,) what a document without a term of each query scores."""
        return np.concatenate([np.empty(0), *(one.everywhere for one in asked)])

    def _asked(self, terms: CountedQueries) -> list[WeightedQueries]:
        return weighed(self.counting, terms, self._weighting)
