"""Retrievers over kept postings: how documents are prepared, and how queries are matched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from irtoolkit.base import analysis
from irtoolkit.base.analysis import Analysis
from irtoolkit.base.compiled import is_worth_loading
from irtoolkit.base.ids import Ints, Segments
from irtoolkit.indexes import pruned
from irtoolkit.indexes.bounds import DamagedIndexError
from irtoolkit.indexes.formula import Weighting
from irtoolkit.indexes.index_format import IndexFormat, OpenShard, Searcher
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.queries import CountedQueries, QueryCounter
from irtoolkit.indexes.search import PostingsSearch, valued, weighed
from irtoolkit.indexes.sharded import CountedShardSet, Sharded
from irtoolkit.indexes.strings import Strings
from irtoolkit.indexes.tokens import BLOCK
from irtoolkit.indexes.weighted import WeighedTerms, WeightedQueries
from irtoolkit.indexes.writer import MEMORY
from irtoolkit.retrievers.base import Matches
from irtoolkit.retrievers.bm25_forms import BM25Weighting
from irtoolkit.runs.order import TopDocuments

if TYPE_CHECKING:
    from irtoolkit.indexes.lexical_maker import PostingsMaker

# Characters of a text in which matches are looked for: what a person reads of it is shorter.
_MATCHED = 1 << 16


class TermRetriever(Protocol):
    """A retriever that matches terms; see `irtoolkit.retrievers.lexical.Lexical`."""

    @property
    def statistics(self) -> str: ...
    def reads_corpus(self) -> bool: ...
    def indexed(self) -> Any: ...
    def analysis(self, lang: str | None) -> Analysis: ...
    def rewritten(self, texts: Iterable[Segments]) -> Iterable[Segments]: ...
    def rewriting(self) -> dict[str, Any]: ...
    def postings(self, shards: Sequence[PostingsShard], first: int = 0) -> Any: ...
    def searcher(self, shards: Any, counting: Any = None) -> Any: ...


class PostingsIndex(IndexFormat):
    """How retrievers that match terms keep their documents.

    Postings are of texts alone: every retriever that makes the same terms of them searches them.
    """

    kind = "postings"

    def __init__(self, retriever: TermRetriever) -> None:
        self._retriever = retriever

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """How documents became terms; another value needs another index."""
        retriever = self._retriever
        return {
            **retriever.analysis(None)._asdict(),
            "analysis": analysis.FORMAT,
            **retriever.rewriting(),
        }

    def shards(self, shards: Sequence[OpenShard], first: int = 0) -> Any:
        """Shards of postings as one."""
        return self._retriever.postings(list(map(PostingsShard.load, shards)), first)

    def in_memory(self, texts: Iterable[Segments], ids: Sequence[str]) -> Any:
        """Returns documents as a shard of postings in memory."""
        maker = self.maker(MEMORY)
        try:
            maker.begin(Path("memory"))
            stream = iter(texts)
            while block := list(islice(stream, BLOCK)):
                maker.add(block)
            postings = maker.made()
        finally:
            maker.close()
        shard = PostingsShard(postings, OpenShard.in_memory(Strings.of(ids)))
        return self._retriever.postings([shard])

    def searcher(self, shards: CountedShardSet) -> Any:
        """Returns what searches shards of postings."""
        return self._retriever.searcher(shards)

    def maker(self, memory: int) -> PostingsMaker:
        """Makes shards of postings."""
        from irtoolkit.indexes.lexical_maker import PostingsMaker

        retriever = self._retriever
        return PostingsMaker(
            *retriever.analysis(None), memory=memory, rewritten=retriever.rewritten
        )

    def merge(self, shards: Sequence[OpenShard], places: Sequence[Ints], folder: Any) -> None:
        """Writes the postings of all documents as one shard."""
        from irtoolkit.indexes.changes import merge_postings

        merge_postings(list(map(PostingsShard.load, shards)), places, folder)


class PostingsSearcher(Searcher):
    """A searcher of postings, but for the formula.

    Args:
        settings: of the retriever; see `irtoolkit.retrievers.lexical.Lexical`.
        shards: a `ShardSet` of postings.
        counting: what counts the terms that weigh them; by default the shards.
    """

    def __init__(
        self, settings: Mapping[str, Any], shards: CountedShardSet, counting: Any = None
    ) -> None:
        super().__init__(shards)
        analysis_settings = analysis.analysis_of(settings)
        self._analyze = analysis.analyzer(*analysis_settings)
        self._counter = QueryCounter(analysis_settings.tokenizer, self._analyze)
        self._is_english = analysis_settings.stop != "none" or analysis_settings.stem == "porter"
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
        pool = self.shards.subset(documents, None if self.reads_all_terms(apart) else terms)
        searcher = copy(self)
        searcher.shards, searcher.counting = pool, pool if apart else self.counting
        return searcher

    def every(self, terms: CountedQueries) -> Matches:
        """The score of every document for each query."""
        scores, shared = self.shards.every(self.weighed(terms))
        return Matches(scores, lambda: shared)

    def matched(self, query: Segments, text: str) -> list[tuple[int, int]]:
        """Returns where words of the beginning of a text have a term of the query.

        English function words are left out where other words match.
        """
        query_terms = set(self.terms([query]).terms)
        text = text[:_MATCHED]
        lower = self._analyze.lower(text)
        if len(lower) != len(text):
            return []
        matches, content, offset = [], [], 0
        for token in self._analyze.split(lower):
            offset = lower.find(token, offset)
            if offset < 0:  # the tokens are not parts of the text
                return []
            if self._analyze.term(token) in query_terms:
                matches.append((offset, offset + len(token)))
                if not (self._is_english and analysis.is_function_word(token)):
                    content.append(matches[-1])
            offset += 1
        return content or matches

    def terms(self, queries: Sequence[Segments]) -> CountedQueries:
        """The terms of queries."""
        return self._counter.count(queries).with_own_terms()

    def encoded(self, queries: Sequence[Segments]) -> Any:
        """Returns queries as the shards take them."""
        return self.weighed(self.terms(queries))

    def search(
        self, queries: Sequence[Segments], depth: int, *, fill: bool = False
    ) -> TopDocuments:
        """Returns the best documents of each query; see `found`."""
        return self.found(self.terms(queries), depth, fill=fill)

    def found(self, terms: CountedQueries, depth: int, *, fill: bool = False) -> TopDocuments:
        """Returns the best documents of each query, given its terms, which may weigh any number above 0.

        `fill` adds some that share no term with the query.
        """
        hits: TopDocuments = self.shards.best(self.weighed(terms), depth, fill)
        return hits

    def feedback(self, terms: CountedQueries, depth: int) -> TopDocuments:
        """Returns the best documents that share a term with each query; these may give feedback."""
        return self.found(terms, depth)

    def standing(
        self, terms: CountedQueries, documents: Sequence[Sequence[int]]
    ) -> list[list[int]]:
        """Returns the ranks of some documents of each query, given its terms."""
        ranks: list[list[int]] = self.shards.ranks(self.weighed(terms), documents)
        return ranks

    def weighed(self, terms: CountedQueries) -> Any:
        """Returns queries, given their terms, as the shards take them."""
        raise NotImplementedError


class WeightedSearcher(PostingsSearcher):
    """Searches postings by sums of weights.

    Args:
        settings, shards, counting: see `PostingsSearcher`.
        weighting: the formula.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        weighting: Weighting,
        shards: CountedShardSet,
        counting: Any = None,
    ) -> None:
        super().__init__(settings, shards, counting)
        self._weighting = weighting
        self._known, self._lock = WeighedTerms(weighting), Lock()

    def reads_all_terms(self, apart: bool) -> bool:
        return apart and self._weighting.reads_all_terms

    def within(self, documents: Ints, terms: Strings | None, *, apart: bool) -> Self:
        searcher = super().within(documents, terms, apart=apart)
        searcher._known = WeighedTerms(self._weighting)
        return searcher

    def search(
        self, queries: Sequence[Segments], depth: int, *, fill: bool = False
    ) -> TopDocuments:
        # Workers are sent the terms of these queries alone.
        is_here = isinstance(self.counting, Sharded)
        terms = self._counter.count(queries) if is_here else self.terms(queries)
        return self.found(terms, depth, fill=fill)

    def best(self, query: str, depth: int) -> tuple[list[str], list[float]]:
        shards = self.shards
        if isinstance(shards, PostingsSearch) and len(shards.parts) == 1 and is_worth_loading(0):
            terms = self._counter.count([(query,)])
            known, most = self._weighed_terms(terms), max(1, min(depth, shards.size))
            hits = pruned.best_of_one(shards.parts[0], known, terms, most)
            if hits is not None:
                return shards.ids(hits[0]), hits[1].tolist()
        return super().best(query, depth)

    def weighed(self, terms: CountedQueries) -> list[WeightedQueries]:
        return weighed(self._weighed_terms(terms), terms)

    def _weighed_terms(self, terms: CountedQueries) -> WeighedTerms:
        """Returns what is known of terms, those of some queries too."""
        if terms.numbering is None:
            return WeighedTerms(self._weighting).with_terms(self.counting, terms.terms)
        with self._lock:
            if self._known.numbering is not terms.numbering:
                self._known = WeighedTerms(self._weighting, terms.numbering)
            return self._known.with_terms(self.counting, terms.terms)

    def found(self, terms: CountedQueries, depth: int, *, fill: bool = False) -> TopDocuments:
        queries = self.weighed(terms)
        return valued(queries, self.shards.best(queries, depth, fill))

    def feedback(self, terms: CountedQueries, depth: int) -> TopDocuments:
        """Returns the best documents that score more than one without a term of the query."""
        queries = self.weighed(terms)
        hits = valued(queries, self.shards.best(queries, depth))
        counts = np.diff(hits.offsets)
        without = np.concatenate([np.empty(0), *(batch.everywhere for batch in queries)])
        better = hits.scores > np.repeat(without, counts)
        owners = np.repeat(np.arange(terms.size), counts)[better]
        offsets = np.searchsorted(owners, np.arange(terms.size + 1))
        return TopDocuments(offsets, hits.documents[better], hits.scores[better])


def bm25_searcher(settings: Mapping[str, Any], shards: Sequence[OpenShard], file: Path) -> Searcher:
    """Returns what searches open shards with settings of BM25, which a manifest says.

    Raises:
        DamagedIndexError: it does not have them.
    """
    try:
        return WeightedSearcher(settings, BM25Weighting.of(settings), PostingsSearch.of(shards))
    except (TypeError, ValueError, KeyError) as error:
        raise DamagedIndexError(
            f"damaged: it has no parameters of bm25 ({error})", file=file
        ) from None
