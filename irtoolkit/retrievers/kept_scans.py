"""Query likelihood and TF-IDF over kept postings: every document is scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from irtoolkit.base.ids import Floats, Ints
from irtoolkit.indexes.form import OpenShard
from irtoolkit.indexes.queries import QueryTerms
from irtoolkit.indexes.scanning import Scan, ScannedQuery, ScannedShard, filled
from irtoolkit.indexes.search import PostingsSearch
from irtoolkit.indexes.strings import Strings
from irtoolkit.indexes.top_documents import TopDocuments
from irtoolkit.indexes.weighted import SearchedShard
from irtoolkit.indexes.writer import Segments
from irtoolkit.retrievers.kept import LexicalIndex, LexicalSearcher

# Numbers that a class of postings may have, so that damage does not lead out of a table.
_CLASSES = 1 << 16


class LikelihoodIndex(LexicalIndex):
    """How query likelihood keeps its documents; a `KeptForm`."""

    def open(self, shards: Sequence[OpenShard]) -> LikelihoodSearcher:
        """Searches shards of postings."""
        return LikelihoodSearcher(self._retriever.settings(), shards)


class CosineIndex(LexicalIndex):
    """How TF-IDF keeps its documents; a `KeptForm`."""

    def open(self, shards: Sequence[OpenShard]) -> CosineSearcher:
        """Searches shards of postings."""
        return CosineSearcher(self._retriever.settings(), shards)


class LikelihoodSearcher(LexicalSearcher):
    """Searches kept postings with query likelihood; a `Searcher`.

    Args:
        settings: of the retriever; see `irtoolkit.retrievers.lexical.QueryLikelihood`.
        shards: the postings.
    """

    def __init__(self, settings: Mapping[str, Any], shards: Sequence[OpenShard]) -> None:
        super().__init__(settings, shards)
        self._dirichlet = settings["smoothing"] == "dirichlet"
        self._mu, self._lam = settings["mu"], settings["lam"]
        self._occurrences: dict[str, int] = {}

    @cached_property
    def _scan(self) -> Scan:
        if self._dirichlet:
            made = [
                _scanned(
                    part,
                    part.shard.class_counts,
                    -np.log(np.asarray(part.shard.lengths) + self._mu),
                )
                for part in self._shards.parts
            ]
        else:
            made = [
                _scanned(part, part.shard.class_counts / part.shard.class_lengths, np.empty(0))
                for part in self._shards.parts
            ]
        return Scan(made, "logarithm")

    @cached_property
    def _total(self) -> int:
        """Terms of all documents, with repetitions."""
        return sum(part.tokens for part in self._shards.parts)

    def search(
        self, queries: Sequence[Segments], depth: int, *, fill: bool = False
    ) -> TopDocuments:
        """The best documents of each query; all documents have a probability."""
        return self._scan.search(self._asked(queries), depth, every=True)

    def ranks(
        self, queries: Sequence[Segments], wanted: Sequence[Sequence[int]]
    ) -> list[list[int]]:
        """The exact rank of some documents of each query among all documents, from 1."""
        return self._scan.ranks(self._asked(queries), wanted)

    def _asked(self, queries: Sequence[Segments]) -> list[ScannedQuery]:
        return [self._query(terms) for terms in self._terms(queries).each()]

    def _query(self, terms: QueryTerms) -> ScannedQuery:
        self._count(terms)
        known = sorted(term for term in terms if self._occurrences[term])
        counts = np.array([terms[term] for term in known], np.float64)
        chance = np.array([self._occurrences[term] for term in known], np.float64) / max(
            1, self._total
        )
        # log p(t) = log(what an absent term has) + log(1 + what occurrence adds)
        if self._dirichlet:
            everywhere = float((counts * np.log(self._mu * chance)).sum())
            return ScannedQuery(known, counts, 1 / (self._mu * chance), counts.sum(), everywhere)
        everywhere = float((counts * np.log(self._lam * chance)).sum())
        return ScannedQuery(known, counts, (1 - self._lam) / (self._lam * chance), 0.0, everywhere)

    def _count(self, terms: QueryTerms) -> None:
        """Counts how often terms occur in all documents."""
        new = [term for term in terms if term not in self._occurrences]
        found = np.zeros(len(new), np.int64)
        for part in self._shards.parts:
            shard = part.shard
            for at, place in enumerate(shard.places(Strings.of(new)).tolist()):
                if place >= 0:
                    own = slice(shard.starts[place], shard.starts[place + 1])
                    counts = shard.class_counts[shard.classes[own]]
                    found[at] += int(counts[part.live[shard.documents[own]] == 1].sum())
        self._occurrences.update(zip(new, found.tolist(), strict=True))


class CosineSearcher(LexicalSearcher):
    """Searches kept postings by the cosine of TF-IDF vectors; a `Searcher`.

    Args:
        settings: of the retriever; see `irtoolkit.retrievers.tfidf.TFIDF`.
        shards: the postings.
    """

    def __init__(self, settings: Mapping[str, Any], shards: Sequence[OpenShard]) -> None:
        super().__init__(settings, shards)
        self._extra = int(settings["smooth"])

    @cached_property
    def _scan(self) -> Scan:
        frequencies = _frequencies(self._shards)
        made = []
        for part, found in zip(self._shards.parts, frequencies, strict=True):
            scanned = _scanned(part, part.shard.class_counts, np.empty(0))
            made.append(_scanned(part, part.shard.class_counts, _norms(scanned, self._idf(found))))
        return Scan(made, "class", divided=True)

    def search(
        self, queries: Sequence[Segments], depth: int, *, fill: bool = False
    ) -> TopDocuments:
        """The best documents of each query, among those that share a term with it.

        Where these are fewer than `depth`, `fill` adds others, by descending id, which score 0.
        """
        found = self._scan.search(self._asked(queries), depth)
        depth = min(depth, self._shards.size)
        if not fill or (np.diff(found.offsets) >= depth).all():
            return found
        return filled(found, depth, self._shards.latest(2 * depth), np.zeros(len(queries)))

    def ranks(
        self, queries: Sequence[Segments], wanted: Sequence[Sequence[int]]
    ) -> list[list[int]]:
        """The exact rank of some documents of each query among all documents, from 1."""
        return self._scan.ranks(self._asked(queries), wanted)

    def _asked(self, queries: Sequence[Segments]) -> list[ScannedQuery]:
        return [self._query(terms) for terms in self._terms(queries).each()]

    def _query(self, terms: QueryTerms) -> ScannedQuery:
        every = sorted(terms)
        found = self._shards.frequencies(Strings.of(every))
        known = [term for term, count in zip(every, found.tolist(), strict=True) if count]
        idf = self._idf(found[found > 0])
        weights = idf * np.array([terms[term] for term in known], np.float64)
        length = float(np.sqrt((weights * weights).sum())) or 1.0
        return ScannedQuery(known, weights * idf / length, np.ones(len(known)))

    def _idf(self, found: Ints) -> Floats:
        """(t,) weight of terms that occur in `found` documents; 0 for those in none."""
        size = self._shards.size
        idf = np.log((size + self._extra) / np.maximum(found + self._extra, 1)) + 1
        return np.where(found > 0, idf, 0.0)


def _scanned(part: SearchedShard, table: Any, own: Any) -> ScannedShard:
    shard = part.shard
    classes = np.zeros(max(len(table), _CLASSES))
    classes[: len(table)] = table
    return ScannedShard(
        part.docs.documents, (shard.starts, shard.documents, shard.classes, part.live), part.names,
        lambda terms: shard.places(Strings.of(terms)), classes, np.asarray(own, np.float64),
    )  # fmt: skip


def _frequencies(search: PostingsSearch) -> list[Ints]:
    """For each shard, the number of all shards' documents that have each of its terms."""
    from irtoolkit.indexes._compiled_postings import live_postings

    own = []
    for part in search.parts:
        found = np.empty(len(part.shard.terms), np.int64)
        places = np.asarray(part.live, np.int64) - 1
        live_postings(part.shard.starts, part.shard.documents, places, found)
        own.append(found)
    if len(own) == 1:
        return own
    total: dict[str, int] = {}
    for part, found in zip(search.parts, own, strict=True):
        for term, count in zip(part.shard.terms, found.tolist(), strict=True):
            total[term] = total.get(term, 0) + count
    return [
        np.fromiter((total[term] for term in part.shard.terms), np.int64, len(part.shard.terms))
        for part in search.parts
    ]


def _norms(scanned: ScannedShard, idf: Floats) -> Floats:
    """(d,) length of each document's vector; 1 for one without terms."""
    from irtoolkit.indexes._compiled_scan import square_sums

    sums, lost = np.zeros((2, len(scanned.live)))
    square_sums(scanned.arrays, scanned.table, idf, sums, lost)
    norms: Floats = np.sqrt(sums + lost)
    return np.where(norms > 0, norms, 1.0)
