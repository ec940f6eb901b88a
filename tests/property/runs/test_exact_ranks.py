"""Exact ranks of named documents, told without writing the ranking they stand in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, id_array
from irtoolkit.retrievers import engine
from irtoolkit.retrievers.base import Retriever, ScoreMatrix, Scorer
from irtoolkit.retrievers.engine import Ties, rank
from irtoolkit.retrievers.task import QueryGroup, Task
from irtoolkit.runs.columns import TiedRank

Ranks = dict[str, dict[str, int]]


@dataclass(frozen=True)
class Table(Retriever):
    """Scores looked up in a table; it counts the blocks that it was asked for."""

    name: ClassVar[str] = "table"

    values: NDArray[Any]
    blocks: list[int]

    def scorer(self, task: Task) -> Scorer:
        def score(docs: Ints, queries: Ints) -> ScoreMatrix:
            self.blocks.append(len(queries))
            return self.values[np.ix_(queries, docs)]

        return lambda docs: partial(score, docs)


@dataclass(frozen=True)
class Case:
    """Documents, groups of queries with the pool they share, scores, and who is looked for."""

    ids: tuple[str, ...]
    groups: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    scores: NDArray[Any]
    wanted: dict[str, list[str]]

    def task(self) -> Task:
        queries = id_array([f"q{q}" for q in range(len(self.scores))])
        groups = tuple(
            QueryGroup(np.array(members, np.int64), np.array(pool, np.int64))
            for members, pool in self.groups
        )
        return Task("some/dataset", queries, id_array(self.ids), groups)

    def locate(self, **options: Any) -> Ranks:
        table = Table(self.scores, [])
        run = rank(self.task(), table, self.wanted, progress=False, **options)
        return run.exact_ranks or {}

    def expected(self, ties: Ties) -> Ranks:
        """By sorting each query's whole pool and looking where the wanted have come to stand."""
        ranks: Ranks = {}
        for members, pool in self.groups:
            for query in members:
                order = list(pool)
                if ties == "trec":
                    order.sort(key=lambda doc: self.ids[doc].encode(), reverse=True)
                order.sort(key=lambda doc, q=query: -float(self.scores[q, doc]))  # stable
                places = {self.ids[doc]: i for i, doc in enumerate(order, 1)}
                asked = self.wanted.get(f"q{query}", [])
                found = {doc: places[doc] for doc in asked if doc in places}
                if found:
                    ranks[f"q{query}"] = found
        return ranks


@st.composite
def cases(draw: st.DrawFn) -> Case:
    ids = draw(
        st.lists(st.text("aB1é漢😀", min_size=1, max_size=3), min_size=1, max_size=12, unique=True)
    )
    count = draw(st.integers(1, 6))
    queries = draw(st.permutations(range(count)))
    cuts = sorted(draw(st.sets(st.integers(1, count - 1)))) if count > 1 else []
    groups = []
    for start, stop in zip([0, *cuts], [*cuts, count], strict=True):
        order = draw(st.permutations(range(len(ids))))
        # The first pool is whole, so that there is something to rank; others may be empty.
        size = draw(st.integers(0, len(ids))) if groups else len(ids)
        groups.append((tuple(queries[start:stop]), tuple(order[:size])))
    # Few values, so that nearly everything is tied; and some that only doubles tell apart.
    few = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-12, -1.0])
    row = st.lists(few, min_size=len(ids), max_size=len(ids))
    scores = np.array(draw(st.lists(row, min_size=count, max_size=count)))
    if draw(st.booleans()):
        scores = scores.astype(np.float32)
    wanted = st.lists(st.sampled_from([*ids, "no such document"]), max_size=4, unique=True)
    asked = {f"q{q}": draw(wanted) for q in range(count)} | {"no such query": [ids[0]]}
    return Case(tuple(ids), tuple(groups), scores, asked)


TIES = pytest.mark.parametrize("ties", ["trec", "pool"])


@TIES
@given(case=cases(), depth=st.none() | st.integers(1, 15))
def test_ranks_are_the_places_in_the_full_order(ties: Ties, case: Case, depth: int | None) -> None:
    assert case.locate(ties=ties, depth=depth) == case.expected(ties)


@TIES
@given(case=cases())
def test_ranks_are_those_of_the_run_of_full_depth(ties: Ties, case: Case) -> None:
    """The file that full depth writes says the same, ties separated and all."""
    ranking = rank(case.task(), Table(case.scores, []), case.wanted, ties=ties, progress=False)
    for query, found in (ranking.exact_ranks or {}).items():
        order = [row.doc_id for row in ranking.ranking(query)]
        assert found == {doc: order.index(doc) + 1 for doc in found}


@TIES
@given(case=cases(), depth=st.none() | st.integers(1, 15))
def test_looking_for_documents_leaves_the_run_alone(
    ties: Ties, case: Case, depth: int | None
) -> None:
    options: dict[str, Any] = {"ties": ties, "depth": depth, "progress": False}
    ranking = rank(case.task(), Table(case.scores, []), case.wanted, **options)
    assert ranking == rank(case.task(), Table(case.scores, []), **options)


@TIES
@given(case=cases(), cells=st.integers(1, 40))
def test_ranks_do_not_depend_on_the_size_of_blocks(ties: Ties, case: Case, cells: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "BLOCK_CELLS", cells)
        table = Table(case.scores, [])
        found = rank(
            case.task(), table, case.wanted, ties=ties, depth=2, progress=False
        ).exact_ranks
        sizes = [
            max(1, cells // len(pool)) for members, pool in case.groups for _ in members[:1] if pool
        ]
        assert max(table.blocks) <= max(sizes)
    assert (found or {}) == case.expected(ties)


def test_blocks_of_one_query_find_what_one_block_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(7).integers(0, 3, size=(9, 20)).astype(float)
    ids = tuple(f"d{i}" for i in range(20))
    wanted = {f"q{q}": [f"d{q}", f"d{2 * q}"] for q in range(9)}
    case = Case(ids, ((tuple(range(9)), tuple(range(20))),), scores, wanted)
    whole = case.locate()
    monkeypatch.setattr(engine, "BLOCK_CELLS", 1)
    table = Table(scores, [])
    assert rank(case.task(), table, wanted, progress=False).exact_ranks == whole
    assert table.blocks == [1] * 9
    assert whole == case.expected("trec")


# Three documents tied below one: c, then the others by the tie rule.
TIED = Case(("b", "a", "c", "d"), (((0,), (0, 1, 2, 3)),), np.array([[1.0, 1.0, 2.0, 1.0]]), {})


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("trec", {"c": 1, "d": 2, "b": 3, "a": 4}),
        ("pool", {"c": 1, "b": 2, "a": 3, "d": 4}),
        ("best", {"c": 1, "b": 2, "a": 2, "d": 2}),
    ],
)
@pytest.mark.parametrize("depth", [None, 1, 4])
def test_by_hand(ties: Ties, expected: dict[str, int], depth: int | None) -> None:
    found = rank(
        TIED.task(), Table(TIED.scores, []), {"q0": list(expected)}, depth=depth, ties=ties
    )
    ranks = (found.exact_ranks or {})["q0"]
    if ties == "best":
        assert ranks == {"c": 1, "d": 2, "b": 3, "a": 4}  # those of the run
        ranks = {doc: rank.best for doc, rank in ranks.items() if isinstance(rank, TiedRank)}
    assert ranks == expected
    assert len(found) == (depth or 4)
    kinds = {type(place) for place in ranks.values()}
    assert kinds == {int}


@given(
    scores=st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=40),
    depth=st.sampled_from([None, 1, 3]),
)
def test_the_best_rank_counts_what_scores_more_and_leaves_the_run_alone(
    scores: list[float], depth: int | None
) -> None:
    """As the place of the first equal score among all scores, sorted."""
    ids = tuple(f"d{i:02}" for i in range(len(scores)))
    wanted = {"q0": list(ids)}
    case = Case(ids, (((0,), tuple(range(len(ids)))),), np.array([scores]), wanted)
    descending = sorted(scores, reverse=True)
    expected = {name: descending.index(s) + 1 for name, s in zip(ids, scores, strict=True)}
    found = rank(
        case.task(), Table(case.scores, []), wanted, depth=depth, ties="best", progress=False
    )
    ranks = (found.exact_ranks or {})["q0"].items()
    best = {doc: rank.best for doc, rank in ranks if isinstance(rank, TiedRank)}
    assert best == expected
    usual = rank(case.task(), Table(case.scores, []), depth=depth, progress=False)
    assert [row.doc_id for row in found.ranking("q0")] == [
        row.doc_id for row in usual.ranking("q0")
    ]


def test_the_order_of_a_pool_is_not_that_of_the_documents() -> None:
    """Under "pool" a tie falls by the place in the query's own pool."""
    case = Case(("a", "b", "c"), (((0,), (2, 0, 1)),), np.zeros((1, 3)), {"q0": ["a", "b", "c"]})
    assert case.locate(ties="pool") == {"q0": {"c": 1, "a": 2, "b": 3}}
    assert case.locate(ties="trec") == {"q0": {"c": 1, "b": 2, "a": 3}}


def test_only_the_querys_own_candidates_are_found() -> None:
    """b is a candidate of q1 alone; q2 has no candidates; nobody asks for q3's."""
    groups = (((0, 3), (0, 2)), ((1,), (1, 0)), ((2,), ()))
    wanted = {f"q{q}": ["a", "b", "z"] for q in range(3)}
    case = Case(("a", "b", "c"), groups, np.tile([1.0, 2.0, 3.0], (4, 1)), wanted)
    assert case.locate() == {"q0": {"a": 2}, "q1": {"b": 1, "a": 2}}


@pytest.mark.parametrize("wanted", [{}, {"q0": []}, {"q0": ()}, {"other": ["a"]}, {"q0": ["z"]}])
def test_nothing_to_find(wanted: dict[str, list[str]]) -> None:
    found = rank(TIED.task(), Table(TIED.scores, []), wanted, progress=False)
    assert found.exact_ranks is None
    assert len(found) == 4


@pytest.mark.parametrize("kind", [list, tuple, set, frozenset])
def test_wanted_may_be_any_collection(kind: type) -> None:
    found = rank(TIED.task(), Table(TIED.scores, []), {"q0": kind(["a", "c"])}, progress=False)
    assert found.exact_ranks == {"q0": {"a": 4, "c": 1}}


@given(places=st.permutations(range(30)), seed=st.integers(0, 3))
@example(places=list(range(30)), seed=0)
def test_many_golds_of_many_queries(places: list[int], seed: int) -> None:
    """Distinct scores: the rank of the document that was put at a place is that place."""
    order = np.array(places)
    scores = np.empty((3, 30))
    for query in range(3):
        scores[query, np.roll(order, query * (seed + 1))] = -np.arange(30)
    ids = tuple(f"d{i}" for i in range(30))
    wanted = {f"q{q}": list(ids) for q in range(3)}
    case = Case(ids, (((0, 1, 2), tuple(range(30))),), scores, wanted)
    found = case.locate(depth=1)
    for query in range(3):
        rolled = np.roll(order, query * (seed + 1))
        assert found[f"q{query}"] == {f"d{doc}": i for i, doc in enumerate(rolled.tolist(), 1)}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e39])
def test_a_score_that_is_no_number_is_refused(bad: float) -> None:
    scores = np.array([[1.0, bad, 2.0, 1.0]])
    with pytest.raises(InputError, match="the score of document a for query q0 is"):
        rank(TIED.task(), Table(scores, []), {"q0": ["c"]}, progress=False)


@pytest.mark.parametrize("depth", [0, -1])
def test_a_depth_below_one_is_refused(depth: int) -> None:
    with pytest.raises(InputError, match=f"depth {depth} is not at least 1"):
        TIED.locate(depth=depth)


def test_no_candidates_at_all_are_refused() -> None:
    case = Case(("a",), (((0,), ()),), np.zeros((1, 1)), {"q0": ["a"]})
    with pytest.raises(InputError, match="dataset some/dataset has no candidates to rank"):
        case.locate()


def test_measures_know_what_stands_below_the_cut() -> None:
    """Those of relevant documents are those of the whole ranking; what counts rows is not touched."""
    from irtoolkit.datasets.dataset import Dataset
    from irtoolkit.retrievers.random import Random
    from irtoolkit.retrievers.task import load_task
    from irtoolkit.scoring.evaluation import evaluate, parse_measures

    for name in ("quoter/sample/en/train", "plotretrieval/sample/val"):
        qrels = Dataset.of(name).qrels
        wanted: dict[str, list[str]] = {}
        for row in qrels:
            if row.relevance > 0:
                wanted.setdefault(row.query_id, []).append(row.doc_id)
        whole = rank(load_task(name), Random(), progress=False)
        cut = rank(load_task(name), Random(), wanted, depth=3, progress=False)
        measures = parse_measures(
            "RR RR@3 RR@20 R@10 P@20 AP nDCG nDCG@10 Success@10 Rprec RCap@9 Rank IPrec@0.5 IPrecAvg"
            " RprecMult@2.0 GMAP G binG nDCGrel"
        )
        exact = evaluate(whole, qrels, measures).figures()
        found = evaluate(cut, qrels, measures, ranks=cut.exact_ranks).figures()
        blind = evaluate(cut, qrels, measures).figures()
        assert found == pytest.approx(exact, abs=1e-12)
        assert blind["R@10"] < exact["R@10"]
        rows = parse_measures("NumRet SetP Judged@10 RnDCG Utility Bpref")
        listed = evaluate(cut, qrels, rows).figures()
        assert evaluate(cut, qrels, rows, ranks=cut.exact_ranks).figures() == listed
