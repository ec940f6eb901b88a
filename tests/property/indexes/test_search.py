"""Pruned search beside adding up every posting, and shards beside one index of everything."""

from __future__ import annotations

import gc
import os
import weakref
from collections import Counter
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from irtoolkit.base import compiled
from irtoolkit.base.analysis import analyzer
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats, Ints, id_array, rank_ids
from irtoolkit.indexes import few, pruned
from irtoolkit.indexes.changes import merge_postings
from irtoolkit.indexes.documents import Documents, DocumentsWriter
from irtoolkit.indexes.lexical_maker import PostingsBuilder
from irtoolkit.indexes.postings import PostingsArrays, PostingsShard
from irtoolkit.indexes.queries import CountedQueries, QueryCounter, QueryTerms
from irtoolkit.indexes.search import PostingsSearch, valued, weighed
from irtoolkit.indexes.shards import OpenShard
from irtoolkit.indexes.strings import Strings
from irtoolkit.indexes.tokens import Counted
from irtoolkit.indexes.weighted import WeighedTerms, WeightedQueries
from irtoolkit.retrievers.bm25_forms import BM25Weighting
from irtoolkit.runs.order import TopDocuments, separate
from tests.conftest import ALL

# Random collections; more of them where somebody has the time.
EXAMPLES = int(os.environ.get("IRTOOLKIT_EXAMPLES", "100"))
FORMS = ("lucene", "okapi", "atire", "bm25l", "bm25+", "rank-bm25l")
Texts = list[list[int]]


def weighted_queries(
    search: PostingsSearch, queries: CountedQueries, weighting: BM25Weighting
) -> list[WeightedQueries]:
    """Queries as the shards take them."""
    return weighed(WeighedTerms(weighting).with_terms(search, queries.terms), queries)


def sums(search: PostingsSearch, query: CountedQueries, weighting: BM25Weighting) -> Floats:
    """One query's score of every document, deleted ones too, by adding up all postings."""
    (weighted,) = weighted_queries(search, query, weighting)
    rows = [few.added_up(part, weighted.batch(part), 0) for part in search.parts]
    scores: Floats = np.concatenate([np.empty(0, np.int64), *rows]) * weighted.unit[0]
    return scores + weighted.everywhere[0]


def best(
    search: PostingsSearch, queries: CountedQueries, weighting: BM25Weighting, depth: int
) -> TopDocuments:
    """The best documents of each query, among those that share a term with it."""
    weighted = weighted_queries(search, queries, weighting)
    return valued(weighted, search.best(weighted, depth))


def shard_of(texts: Texts, vocabulary: int) -> PostingsArrays:
    """The postings of documents whose words are numbers."""
    rows = [Counter(text) for text in texts]
    flat = [pair for row in rows for pair in row.items()]
    builder = PostingsBuilder()
    builder.add(
        Counted(
            np.array([term for term, _ in flat], np.int32),
            np.array([count for _, count in flat], np.int32),
            np.cumsum([len(row) for row in rows]).astype(np.int64),
            np.array([len(text) for text in texts], np.int32),
        )
    )
    return builder.made([f"t{number}" for number in range(vocabulary)])


class Collection:
    """Random documents in shards, some of them deleted."""

    def __init__(self, folder: Path, seed: int, shards: int) -> None:
        draw = np.random.default_rng(seed)
        self.vocabulary = int(draw.integers(1, 40))
        size = int(draw.integers(1, 400))
        skew = 1 / np.arange(1, self.vocabulary + 1) ** draw.uniform(0, 2)
        longest = int(draw.choice([2, 8, 60]))
        words = draw.choice(self.vocabulary, (size, longest), p=skew / skew.sum())
        lengths = draw.integers(0, longest + 1, size)
        self.texts = [row[:n].tolist() for row, n in zip(words, lengths, strict=True)]
        self.ids = [f"d{number}" for number in draw.permutation(size * 3)[:size]]
        gone = draw.random(size) < draw.choice([0.0, 0.2])
        self.gone = {self.ids[i] for i in np.flatnonzero(gone)} if not gone.all() else set()
        self.live = [i for i, name in enumerate(self.ids) if name not in self.gone]
        which = np.random.default_rng(shards).integers(0, shards, size)
        parts = []
        for number in range(shards):
            own = np.flatnonzero(which == number).tolist()
            place = folder / str(number)
            place.mkdir()
            writer = DocumentsWriter(place, texts=False)
            writer.add([self.ids[i] for i in own], [])
            writer.close()
            deleted = [at for at, i in enumerate(own) if self.ids[i] in self.gone]
            shard = shard_of([self.texts[i] for i in own], self.vocabulary)
            parts.append(
                PostingsShard(shard, OpenShard(Documents(place), np.array(deleted, np.int64)))
            )
        self.parts = parts
        self.search = PostingsSearch(parts)
        self.queries = [
            Counter(f"t{t}" for t in draw.integers(0, self.vocabulary + 2, draw.integers(0, 12)))
            for _ in range(3)
        ]
        self.depth = int(draw.choice([1, 3, 10, 100, 1000]))
        form = str(draw.choice(FORMS))
        k1, b = float(draw.choice([0, 0.9, 1.2, 100])), float(draw.choice([0, 0.4, 1]))
        lengths = "lucene" if draw.random() < 0.5 else "exact"
        self.weighting = BM25Weighting(form, k1, b, 0.5, 0.25, lengths)

    def found(self, search: PostingsSearch) -> list[list[tuple[str, float]]]:
        top = best(search, CountedQueries.of(self.queries), self.weighting, self.depth)
        names = search.ids(top.documents)
        rows = list(zip(names, top.scores.tolist(), strict=True))
        return [
            rows[a:b]
            for a, b in zip(top.offsets[:-1].tolist(), top.offsets[1:].tolist(), strict=True)
        ]

    def exhaustive(self, query: QueryTerms) -> list[tuple[str, float]]:
        """All documents with a term of the query, best first."""
        scores = sums(self.search, CountedQueries.of([query]), self.weighting)
        names = self.search.ids(np.arange(len(scores)))
        matching = {
            name
            for name, text in zip(self.ids, self.texts, strict=True)
            if name not in self.gone and any(f"t{word}" in query for word in text)
        }
        rows = [
            (name, score)
            for name, score in zip(names, scores.tolist(), strict=True)
            if name in matching
        ]
        return sorted(rows, key=lambda row: (row[1], row[0]), reverse=True)


@settings(
    max_examples=EXAMPLES, deadline=None, database=None,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
@given(seed=st.integers(0, 2**32), shards=st.sampled_from([1, 1, 2, 5]))
def test_pruned_search_is_exhaustive_search(seed: int, shards: int) -> None:
    with TemporaryDirectory() as folder:
        collection = Collection(Path(folder), seed, shards)
        for query, found in zip(
            collection.queries, collection.found(collection.search), strict=True
        ):
            assert found == collection.exhaustive(query)[: collection.depth]


# Fewer than usual: each builds seventeen shards, and three, and one.
@settings(
    max_examples=25 if ALL else 10, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(seed=st.integers(0, 2**32))
def test_shards_change_nothing(seed: int) -> None:
    with TemporaryDirectory() as folder:
        runs, ranks = [], []
        for shards in (1, 3, 17):
            place = Path(folder, str(shards))
            place.mkdir()
            collection = Collection(place, seed, shards)
            runs.append(collection.found(collection.search))
            ranks.append(exact_ranks(collection, collection.search))
        assert runs[0] == runs[1] == runs[2]
        assert ranks[0] == ranks[1] == ranks[2]


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), depth=st.sampled_from([1, 3, 1_000]))
def test_one_query_alone_has_the_hits_it_has_among_others(seed: int, depth: int) -> None:
    with TemporaryDirectory() as folder:
        collection = Collection(Path(folder), seed, 1)
        search, weighting = collection.search, collection.weighting
        for row in collection.queries:
            query = CountedQueries.of([row])
            terms = WeighedTerms(weighting).with_terms(search, query.terms)
            hits = pruned.best_of_one(search.parts[0], terms, query, min(depth, search.size))
            (weighted,) = weighed(terms, query)
            if hits is None:
                assert weighted.has_weightless or weighted.negative[0]
                continue
            top = best(search, query, weighting, depth)
            np.testing.assert_array_equal(hits[0], top.documents)
            np.testing.assert_array_equal(hits[1], separate(top.scores))


@pytest.mark.parametrize("shards", [1, 3])
def test_columns_of_terms_are_dropped_when_more_terms_come(tmp_path: Path, shards: int) -> None:
    collection = Collection(tmp_path, 0, shards)
    counter = QueryCounter("word", analyzer("word", "none", "none"))
    terms, columns = WeighedTerms(collection.weighting), []
    for number in range(8):
        queries = counter.count([(f"t{number} n{number}",)])
        columns.append(weakref.ref(queries.terms.data))
        best_alone = weighted_queries(collection.search, queries, collection.weighting)
        weighted = weighed(terms.with_terms(collection.search, queries.terms), queries)
        for part in collection.parts[: number % 4]:  # the others look up several columns at once
            np.testing.assert_array_equal(
                weighted[0].batch(part).terms, best_alone[0].batch(part).terms
            )
        np.testing.assert_array_equal(
            collection.search.best(weighted, 9).documents,
            collection.search.best(best_alone, 9).documents,
        )
    del queries, weighted, best_alone
    gc.collect()
    assert [column() is None for column in columns] == [True] * 7 + [False]


def exact_ranks(collection: Collection, search: PostingsSearch) -> list[dict[str, int]]:
    """The ranks of all documents for each query."""
    names = search.ids(np.arange(int(search.bases[-1])))
    live = [number for number, name in enumerate(names) if name not in collection.gone]
    wanted = [live for _ in collection.queries]
    asked = weighted_queries(search, CountedQueries.of(collection.queries), collection.weighting)
    found = search.ranks(asked, wanted)
    return [{names[number]: rank for number, rank in zip(live, own, strict=True)} for own in found]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), shards=st.sampled_from([1, 4]))
def test_exact_ranks_count_what_is_before(seed: int, shards: int) -> None:
    with TemporaryDirectory() as folder:
        collection = Collection(Path(folder), seed, shards)
        names = collection.search.ids(np.arange(len(collection.ids)))
        ranks = exact_ranks(collection, collection.search)
        for query, own in zip(collection.queries, ranks, strict=True):
            scores = sums(
                collection.search, CountedQueries.of([query]), collection.weighting
            ).tolist()
            rows = [row for row in zip(scores, names, strict=True) if row[1] not in collection.gone]
            order = [name for _, name in sorted(rows, reverse=True)]
            assert own == {name: place for place, name in enumerate(order, 1)}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32))
def test_scores_are_the_formulas(seed: int) -> None:
    with TemporaryDirectory() as folder:
        collection = Collection(Path(folder), seed, 3)
        weighting, search = collection.weighting, collection.search
        by_name = dict(zip(collection.ids, collection.texts, strict=True))
        lengths = np.array([len(collection.texts[i]) for i in collection.live])
        assert search.size == len(lengths)
        assert search.statistics(Strings.of([])).average == pytest.approx(lengths.mean())
        size = len(lengths) if weighting.counts_empty else int(np.count_nonzero(lengths))
        average = lengths.sum() / max(1, size)
        names = search.ids(np.arange(len(collection.ids)))
        for query in collection.queries:
            scores = sums(search, CountedQueries.of([query]), weighting)
            expected = np.zeros(len(names))
            for term, times in query.items():
                count = search.frequencies(Strings.of([term]))
                if not count[0]:
                    continue
                idf = weighting.idf(size, count, search.all_frequencies)[0]
                for at, name in enumerate(names):
                    text = by_name[name]
                    tf = text.count(int(term[1:]))
                    weight = weighting.absent
                    if tf:
                        weight += weighting.weights(np.array([tf]), np.array([len(text)]), average)[
                            0
                        ]
                    expected[at] += times * idf * weight
            np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32))
def test_merged_shards_are_the_index_of_what_is_left(seed: int) -> None:
    with TemporaryDirectory() as folder:
        collection = Collection(Path(folder), seed, 4)
        place = Path(folder, "merged")
        place.mkdir()
        writer = DocumentsWriter(place, texts=False)
        places: list[Ints] = []
        count = 0
        for shard in collection.parts:
            live = np.ones(len(shard), bool)
            live[shard.docs.deleted] = False
            numbers = np.full(len(shard), -1, np.int64)
            numbers[live] = np.arange(count, count + live.sum())
            count += int(live.sum())
            places.append(numbers)
            writer.add(shard.docs.documents.ids.chosen(np.flatnonzero(live)), [])
        writer.close()
        merge_postings(collection.parts, places, place)
        nothing = np.empty(0, np.int64)
        merged = PostingsSearch([PostingsShard.load(OpenShard(Documents(place), nothing))])
        assert collection.found(merged) == collection.found(collection.search)
        assert merged.all_frequencies().tolist() == collection.search.all_frequencies().tolist()


class Large:
    """Documents for many windows, in two shards, with many ties."""

    def __init__(self, folder: Path) -> None:
        draw = np.random.default_rng(7)
        self.vocabulary, size = 3_000, 150_000
        chance = 1 / np.arange(1, self.vocabulary + 1) ** 0.9
        words = draw.choice(self.vocabulary, (size, 6), p=chance / chance.sum()).astype(np.int32)
        self.ids = [f"{number:x}" for number in draw.permutation(size).tolist()]
        parts = []
        for number, (first, last) in enumerate([(0, 140_000), (140_000, size)]):
            place = folder / str(number)
            place.mkdir()
            writer = DocumentsWriter(place, texts=False)
            writer.add(self.ids[first:last], [])
            writer.close()
            deleted = np.sort(draw.choice(last - first, 1_000, replace=False)).astype(np.int64)
            shard = self._shard(np.sort(words[first:last], axis=1))
            parts.append(PostingsShard(shard, OpenShard(Documents(place), deleted)))
        self.search = PostingsSearch(parts)
        self.gone = np.concatenate([parts[0].docs.deleted, parts[1].docs.deleted + 140_000])
        self.queries = [
            Counter(f"t{t}" for t in draw.choice(self.vocabulary, count, p=chance / chance.sum()))
            for count in (1, 2, 5, 5, 10, 40, 150)
        ]

    def _shard(self, words: Ints) -> PostingsArrays:
        new = np.ones(words.shape, bool)
        new[:, 1:] = words[:, 1:] != words[:, :-1]
        begins = np.flatnonzero(new)
        builder = PostingsBuilder()
        builder.add(
            Counted(
                words.ravel()[begins],
                np.diff(np.append(begins, words.size)).astype(np.int32),
                np.cumsum(new.sum(axis=1)),
                np.full(len(words), words.shape[1], np.int32),
            )
        )
        return builder.made([f"t{number}" for number in range(self.vocabulary)])


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Large:
    return Large(tmp_path_factory.mktemp("large"))


@pytest.mark.parametrize("depth", [1, 10, 1_000, 20_000])
@pytest.mark.parametrize("number", range(7))
def test_pruned_search_is_exhaustive_over_many_windows(
    large: Large, number: int, depth: int
) -> None:
    query = CountedQueries.of([large.queries[number]])
    weighting = BM25Weighting("lucene", 0.9, 0.4, 0.5, 0.25)
    found = best(large.search, query, weighting, depth)
    scores = sums(large.search, query, weighting)
    scores[large.gone] = 0
    # Later ids come first of those whose scores tie.
    order = np.lexsort((rank_ids(id_array(large.ids)), scores))[::-1][:depth]
    order = order[scores[order] > 0]
    np.testing.assert_array_equal(found.documents, order)
    np.testing.assert_array_equal(found.scores, scores[order])


@pytest.mark.parametrize("depth", [1, 10, 1_000])
def test_numpy_finds_what_compiled_code_finds(
    large: Large, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = CountedQueries.of(large.queries)
    weighting = BM25Weighting("lucene", 0.9, 0.4, 0.5, 0.25)
    compiled = best(large.search, queries, weighting, depth)
    monkeypatch.setattr(few, "is_faster", lambda *_: True)
    monkeypatch.setattr(pruned, "best", None)
    for one, other in zip(compiled, best(large.search, queries, weighting, depth), strict=True):
        np.testing.assert_array_equal(one, other)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), shards=st.sampled_from([1, 4]))
def test_numpy_breaks_ties_as_compiled_code_does(seed: int, shards: int) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        collection = Collection(Path(folder), seed, shards)
        expected = collection.found(collection.search)
        patch.setattr(few, "is_faster", lambda *_: True)
        assert collection.found(collection.search) == expected


def test_a_process_with_many_queries_loads_compiled_code(
    large: Large, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled.Work, "steps", 0)
    monkeypatch.setattr(compiled, "STEPS", 4_000_000)
    weighting = BM25Weighting("lucene", 0.9, 0.4, 0.5, 0.25)
    (asked,) = weighted_queries(large.search, CountedQueries.of(large.queries[2:3]), weighting)
    searches = [(part.arrays, asked.batch(part).terms, 1) for part in large.search.parts]
    faster = [few.is_faster(searches) for _ in range(200)]
    assert faster[0]
    assert not faster[-1]
    assert faster == sorted(faster, reverse=True)
    # A query over few postings goes over all documents nevertheless.
    assert faster.count(True) <= 1_000_000 / (150_000 / 8)


@pytest.mark.parametrize("by_numpy", [False, True])
def test_a_damaged_posting_leads_to_no_other_document(
    by_numpy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(few, "is_faster", lambda *_: by_numpy)
    writer = DocumentsWriter(tmp_path, texts=False)
    writer.add([f"d{number}" for number in range(100)], [])
    writer.close()
    # So few documents have the term that only these are looked at.
    docs = OpenShard(Documents(tmp_path), np.empty(0, np.int64))
    shard = PostingsShard(shard_of([[0]] * 96 + [[1]] * 4, 2), docs)
    search = PostingsSearch([shard])
    # What follows in memory is no document, though it looks like one.
    shard.live = np.ones(1 << 18, np.uint8)[: len(shard)]
    shard.documents[-2] = len(shard) + 5
    query, weighting = CountedQueries.of([{"t1": 1}]), BM25Weighting("lucene", 0.9, 0.4, 0.5, 0.25)
    if by_numpy:
        with pytest.raises(InputError, match=r"documents\.npy: damaged.*--replace"):
            best(search, query, weighting, 10)
    else:
        assert best(search, query, weighting, 10).documents.tolist() == [99, 97, 96]


def test_searches_in_several_threads_have_their_own_weights(tmp_path: Path) -> None:
    alone = Collection(tmp_path, 3, 1).parts[0]
    weighting, others = (BM25Weighting("lucene", k1, 0.4, 0.5, 0.25) for k1 in (0.9, 2.0))
    expected = alone.weights(np.arange(2), weighting, 5.0)[0].tolist()
    theirs = alone._weights(others, 5.0)

    class Shared(PostingsShard):
        """As soon as one search has kept its weights, another one keeps its own."""

        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, theirs if name == "_weighed" else value)

    shared = copy(alone)
    shared.__class__ = Shared
    assert shared.weights(np.arange(2), weighting, 5.0)[0].tolist() == expected
