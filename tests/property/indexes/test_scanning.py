"""Search that scores every document beside the formulas, one document at a time; and its shards."""

from __future__ import annotations

from collections import Counter
from math import log, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from irtoolkit.base import compiled
from irtoolkit.base.analysis import Analysis
from irtoolkit.indexes.bounds import DamagedIndexError
from irtoolkit.indexes.documents import Documents, DocumentsWriter
from irtoolkit.indexes.index_format import IndexFormat, OpenShard, Searcher
from irtoolkit.retrievers.query_likelihood import QueryLikelihood
from irtoolkit.retrievers.sparse import ImpactIndex, Impacts, ImpactShards
from irtoolkit.retrievers.tfidf import TFIDF
from irtoolkit.runs.order import TopDocuments

# How often terms occur in texts of a few words: "t3 t3 t7".
Texts = list[str]
RETRIEVERS = ("dirichlet", "jm", "tfidf", "unsmoothed", "sparse", "negative")
HOW = Analysis("whitespace", "none", "none")._asdict()
SOME = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def weigher(negative: bool) -> Any:
    """Texts to weights of their terms, which depend on the counts; some of them below zero."""

    def weigh(texts: Any) -> Impacts:
        rows = [sorted(Counter(" ".join(text).split()).items()) for text in texts]
        flat = [(int(term[1:]), count) for row in rows for term, count in row]
        weights = [
            (-1 if negative and term % 3 == 0 else 1) * count**0.5 * (1 + term % 5)
            for term, count in flat
        ]
        return Impacts(
            np.array([term for term, _ in flat], np.int32), np.array(weights, np.float32),
            np.array([len(row) for row in rows], np.int64),
        )  # fmt: skip

    return weigh


def form_of(name: str) -> IndexFormat:
    if name in ("sparse", "negative"):
        return ImpactIndex(weigher(name == "negative"), weigher(name == "negative"), {})
    if name in ("tfidf", "unsmoothed"):
        found = TFIDF(smooth=name == "tfidf", **HOW).index_format()
    else:
        found = QueryLikelihood(smoothing=name, mu=7.0, lam=0.3, **HOW).index_format()  # type: ignore[arg-type]
    assert found is not None
    return found


class Expected:
    """The formulas as they are published, with the statistics of some texts."""

    def __init__(self, name: str, texts: Texts) -> None:
        self.name = name
        self.counts = [Counter(text.split()) for text in texts]
        self.size = len(texts)
        self.found = Counter(term for count in self.counts for term in count)
        self.occurrences = sum(self.counts, Counter())

    def __call__(self, query: str, text: str) -> float:
        asked = Counter(query.split())
        known = Counter({term: n for term, n in asked.items() if self.occurrences[term]})
        return float(getattr(self, self.name)(known, Counter(text.split())))

    def dirichlet(self, asked: Any, doc: Any) -> float:
        total = sum(self.occurrences.values())
        return sum(
            n * log((doc[t] + 7.0 * self.occurrences[t] / total) / (doc.total() + 7.0))
            for t, n in asked.items()
        )

    def jm(self, asked: Any, doc: Any) -> float:
        total = sum(self.occurrences.values())
        return sum(
            n * log(0.7 * doc[t] / max(1, doc.total()) + 0.3 * self.occurrences[t] / total)
            for t, n in asked.items()
        )

    def tfidf(self, asked: Any, doc: Any, extra: int = 1) -> float:
        def vector(counts: Any) -> dict[str, float]:
            return {
                t: n * (log((extra + self.size) / (extra + self.found[t])) + 1)
                for t, n in counts.items()
            }

        one, two = vector(asked), vector(doc)
        norms = [sqrt(sum(w * w for w in v.values())) or 1.0 for v in (one, two)]
        return sum(w * two.get(t, 0.0) for t, w in one.items()) / (norms[0] * norms[1])

    def unsmoothed(self, asked: Any, doc: Any) -> float:
        return self.tfidf(asked, doc, 0)

    def sparse(self, asked: Any, doc: Any, negative: bool = False) -> float:
        weigh = weigher(negative)
        one, two = (weigh([(" ".join(counts.elements()),)]) for counts in (asked, doc))
        weights = dict(zip(two.terms.tolist(), two.weights.tolist(), strict=True))
        return sum(
            weight * weights.get(term, 0.0)
            for term, weight in zip(one.terms.tolist(), one.weights.tolist(), strict=True)
        )

    def negative(self, asked: Any, doc: Any) -> float:
        return self.sparse(asked, doc, True)


class Scanned:
    """Random documents in shards, some of them deleted."""

    def __init__(self, folder: Path, name: str, seed: int, shards: int) -> None:
        draw = np.random.default_rng(seed)
        vocabulary, size = int(draw.integers(1, 30)), int(draw.integers(1, 120))
        longest = int(draw.choice([2, 8, 30]))
        words = draw.integers(0, vocabulary, (size, longest))
        lengths = draw.integers(0, longest + 1, size)
        self.texts = [
            " ".join(f"t{word}" for word in row[:n])
            for row, n in zip(words, lengths, strict=True)
        ]  # fmt: skip
        self.ids = [f"d{number}" for number in draw.permutation(size * 3)[:size]]
        gone = draw.random(size) < draw.choice([0.0, 0.3])
        gone = np.zeros(size, bool) if gone.all() else gone
        self.live = {
            self.ids[i]: self.texts[i] for i in np.flatnonzero(~gone).tolist()
        }  # fmt: skip
        self.queries = [
            " ".join(f"t{t}" for t in draw.integers(0, vocabulary + 2, draw.integers(1, 9)))
            for _ in range(3)
        ]
        self.depth = int(draw.choice([1, 7, 1000]))
        self.form, self.expected = form_of(name), Expected(name, list(self.live.values()))
        self.maker = self.form.maker(1 << 30)
        which = np.random.default_rng(shards).integers(0, shards, size)
        self.shards, self.names = [], []
        for number in range(shards):
            own = np.flatnonzero(which == number).tolist()
            self.shards.append(self._shard(folder / str(number), own, gone))
            self.names += [self.ids[i] for i in own]
        self.searcher: Searcher = self.form.open(self.shards)

    def _shard(self, place: Path, own: list[int], gone: Any) -> OpenShard:
        place.mkdir()
        columns = DocumentsWriter(place, texts=False)
        columns.add([self.ids[i] for i in own], [])
        columns.close()
        self.maker.begin(place)
        self.maker.add([(self.texts[i],) for i in own])
        self.maker.end()
        deleted = np.array([at for at, i in enumerate(own) if gone[i]], np.int64)
        return OpenShard(Documents(place), deleted)

    def rows(self, searcher: Searcher, names: list[str], fill: bool) -> list[Any]:
        asked = [(query,) for query in self.queries]
        top: TopDocuments = searcher.search(asked, self.depth, fill=fill)
        found = [(names[doc], score) for doc, score in zip(top.documents, top.scores, strict=True)]
        bounds = zip(top.offsets[:-1].tolist(), top.offsets[1:].tolist(), strict=True)
        return [found[first:last] for first, last in bounds]

    def ranks(self) -> list[dict[str, int]]:
        live = [number for number, name in enumerate(self.names) if name in self.live]
        asked = [(query,) for query in self.queries]
        found = self.searcher.ranks(asked, [live] * len(asked))
        return [
            {self.names[doc]: rank for doc, rank in zip(live, own, strict=True)} for own in found
        ]


@SOME
@given(
    seed=st.integers(0, 2**32), name=st.sampled_from(RETRIEVERS), shards=st.sampled_from([1, 4])
)  # fmt: skip
def test_the_best_are_those_of_the_formula(seed: int, name: str, shards: int) -> None:
    with TemporaryDirectory() as folder:
        made = Scanned(Path(folder), name, seed, shards)
        filled = made.rows(made.searcher, made.names, fill=True)
        for query, found, ranks in zip(made.queries, filled, made.ranks(), strict=True):
            scores = {doc: made.expected(query, text) for doc, text in made.live.items()}
            wanted = sorted(scores.values(), reverse=True)[: made.depth]
            assert [score for _, score in found] == pytest.approx(wanted, rel=1e-9, abs=1e-9)
            assert [scores[doc] for doc, _ in found] == pytest.approx(wanted, rel=1e-9, abs=1e-9)
            # Ties are by id, and ranks are places in the whole ranking.
            assert found == sorted(found, key=lambda row: (row[1], row[0]), reverse=True)
            assert [ranks[doc] for doc, _ in found] == list(range(1, len(found) + 1))
            assert sorted(ranks.values()) == list(range(1, len(made.live) + 1))


@SOME
@given(
    seed=st.integers(0, 2**32), name=st.sampled_from(RETRIEVERS), shards=st.sampled_from([1, 4])
)  # fmt: skip
def test_numpy_scores_as_compiled_loops_do(seed: int, name: str, shards: int) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        ways = []
        for steps in (1 << 60, 0):
            patch.setattr(compiled, "STEPS", steps)
            place = Path(folder, str(steps))
            place.mkdir()
            made = Scanned(place, name, seed, shards)
            lists = [made.rows(made.searcher, made.names, fill=fill) for fill in (True, False)]
            ways.append((lists, made.ranks()))
        # Bit by bit, and -0.0 is not 0.0.
        assert repr(ways[0]) == repr(ways[1])


@pytest.mark.parametrize("name", RETRIEVERS)
@pytest.mark.parametrize("document", [-1, 9])
def test_numpy_refuses_postings_of_documents_that_are_not_there(
    name: str, document: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled.Work, "steps", 0)
    form = form_of(name)
    shards: Any = form.in_memory([(f"t{number % 2}",) for number in range(9)], list("abcdefghi"))
    is_sparse = isinstance(shards, ImpactShards)
    documents = shards.scanned[0].arrays[1] if is_sparse else shards.parts[0].documents
    documents[-1] = document
    with pytest.raises(DamagedIndexError, match="documents that are not in the index"):
        form.searcher(shards).search([("t0 t1",)], 5)


@SOME
@given(seed=st.integers(0, 2**32), name=st.sampled_from(("tfidf", "sparse")))
def test_unless_filled_a_list_has_what_shares_a_term(seed: int, name: str) -> None:
    with TemporaryDirectory() as folder:
        made = Scanned(Path(folder), name, seed, 2)
        for query, found in zip(
            made.queries, made.rows(made.searcher, made.names, fill=False), strict=True
        ):
            sharing = {
                doc for doc, text in made.live.items() if set(text.split()) & set(query.split())
            }
            assert len(found) == min(made.depth, len(sharing))
            assert {doc for doc, _ in found} <= sharing


@pytest.mark.parametrize("name", RETRIEVERS)
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32))
def test_shards_and_merging_change_nothing(seed: int, name: str) -> None:
    with TemporaryDirectory() as folder:
        runs, ranks = [], []
        for shards in (1, 3, 17):
            place = Path(folder, str(shards))
            place.mkdir()
            made = Scanned(place, name, seed, shards)
            runs.append([made.rows(made.searcher, made.names, fill=fill) for fill in (True, False)])
            ranks.append(made.ranks())
        assert runs[0] == runs[1] == runs[2]
        assert ranks[0] == ranks[1] == ranks[2]
        place = Path(folder, "merged")
        place.mkdir()
        columns, places, left = DocumentsWriter(place, texts=False), [], list[str]()
        for docs, deleted in made.shards:
            own = np.setdiff1d(np.arange(len(docs.ids)), deleted)
            numbers = np.full(len(docs.ids), -1, np.int64)
            numbers[own] = np.arange(len(left), len(left) + len(own))
            places.append(numbers)
            left += docs.ids.chosen(own)
        columns.add(left, [])
        columns.close()
        made.form.merge(made.shards, places, place)
        merged = made.form.open([OpenShard(Documents(place), np.empty(0, np.int64))])
        assert [made.rows(merged, left, fill=fill) for fill in (True, False)] == runs[0]


def test_vectors_of_one_direction_tie() -> None:
    with TemporaryDirectory() as folder:
        made = Scanned(Path(folder), "tfidf", 0, 1)
        made.ids = [f"d{number}" for number in range(9)]
        made.texts = [" ".join(["t1"] * 7 * n + ["t2"] * 3 * n) for n in range(1, 10)]
        shard = made._shard(Path(folder, "tied"), list(range(9)), np.zeros(9, bool))
        found = made.form.open([shard]).search([("t1 t2 t2 t3",)], 9)
        assert len(set(found.scores.tolist())) == 1
        assert found.documents.tolist() == list(range(8, -1, -1))
