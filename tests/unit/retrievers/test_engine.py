"""Ranking, and the settings of what ranks."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Optional

import numpy as np
import pytest
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, id_array
from irtoolkit.retrievers import create_retriever, engine, retrievers
from irtoolkit.retrievers.base import Retriever, ScoreMatrix, Scorer
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.task import QueryGroup, Task
from irtoolkit.runs import Run
from irtoolkit.runs.order import Ties, separate

FLOAT32_MAX = float(np.finfo(np.float32).max)
TINIEST = float(np.finfo(np.float32).smallest_subnormal)


@dataclass(frozen=True)
class Table(Retriever):
    """Scores looked up in a table; it keeps the blocks that it was asked for."""

    name: ClassVar[str] = "table"

    values: NDArray[Any]
    blocks: list[tuple[list[int], list[int]]]

    def scorer(self, task: Task) -> Scorer:
        def score(docs: Ints, queries: Ints) -> ScoreMatrix:
            self.blocks.append((queries.tolist(), docs.tolist()))
            return self.values[np.ix_(queries, docs)]

        return lambda docs: partial(score, docs)


@dataclass(frozen=True)
class Case:
    """Documents, and for each query its pool, in order, with its scores."""

    ids: tuple[str, ...]
    pools: tuple[tuple[int, ...], ...]
    scores: NDArray[Any]

    def task(self) -> Task:
        groups = [
            QueryGroup(np.array([q]), np.array(p, np.int64)) for q, p in enumerate(self.pools)
        ]
        queries = [f"q{q}" for q in range(len(self.pools))]
        return Task("some/dataset", id_array(queries), id_array(self.ids), tuple(groups))

    def rank(self, **options: Any) -> Run:
        return rank(self.task(), Table(self.scores, []), progress=False, **options)

    def expected(self, query: int, ties: Ties, depth: int | None = None) -> list[str]:
        """The order that is meant, by sorting and nothing else."""
        pool = list(self.pools[query])
        if ties == "trec":
            pool.sort(key=lambda doc: self.ids[doc].encode(), reverse=True)
        pool.sort(key=lambda doc: float(self.scores[query, doc]), reverse=True)  # stable
        return [self.ids[doc] for doc in pool[:depth]]


def case(scores: list[float], ids: str | None = None) -> Case:
    """One query that ranks documents a, b, c, ... in this order."""
    names = tuple(ids or "abcdefghijklmnopqrstuvwxyz"[: len(scores)])
    return Case(names, (tuple(range(len(scores))),), np.array([scores]))


TIES = pytest.mark.parametrize("ties", ["trec", "pool"])


def order(run: Run, query: int = 0) -> list[str]:
    return [row.doc_id for row in run.ranking(f"q{query}")]


def lowered(scores: Any, names: Any) -> NDArray[np.float32]:
    return separate(np.array(scores), np.array(names, dtype=np.int64))


# -- order ------------------------------------------------------------------------------------


# -- depth ------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [0, -1])
def test_a_depth_below_one_is_refused(depth: int) -> None:
    with pytest.raises(InputError, match=f"depth {depth} is not at least 1"):
        case([1.0]).rank(depth=depth)


# -- exact ranks ------------------------------------------------------------------------------


def test_only_wanted_ranks_of_candidates_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pools = ((0, 1, 2), (2, 1), (0,), (1, 2))
    ranked = Case(("a", "b", "c"), pools, np.array([[3.0, 1, 2]] * 4))
    monkeypatch.setattr(engine, "BLOCK_CELLS", 1)
    wanted: dict[str, Any] = {"q0": {"c"}, "q1": ["a"], "q2": [], "q3": ["a", "b"]}
    table = Table(ranked.scores, [])
    run = rank(ranked.task(), table, wanted, depth=1, progress=False)
    assert run.exact_ranks == {"q0": {"c": 2}, "q3": {"b": 2}}


# -- blocks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("cells", [1, 5, 6, 12, 17, 1 << 24])
def test_blocks_change_nothing(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(7).integers(0, 4, (5, 6)).astype(float)
    groups = (
        QueryGroup(np.array([3, 0, 1]), np.arange(6)),
        QueryGroup(np.array([4]), np.array([5, 2])),
        QueryGroup(np.array([2]), np.arange(6)[::-1]),
    )
    task = Task("x", id_array(list("vwxyz")), id_array(list("fbdeca")), groups)
    whole = rank(task, Table(scores, []), progress=False)
    monkeypatch.setattr(engine, "BLOCK_CELLS", cells)
    table = Table(scores, [])
    assert rank(task, table, progress=False) == whole
    for queries, docs in table.blocks:
        assert len(queries) * len(docs) <= max(cells, len(docs))
    asked = [(query, docs) for queries, docs in table.blocks for query in queries]
    assert sorted(asked) == sorted((q, g.docs.tolist()) for g in groups for q in g.queries.tolist())


# -- what cannot be ranked --------------------------------------------------------------------


@pytest.mark.parametrize("value", [1e39, -1e39])
def test_a_score_too_large_for_a_run_is_refused(value: float) -> None:
    with pytest.raises(InputError, match="document b for query q0"):
        case([0.0, value]).rank()


def test_a_tie_that_has_no_room_below_is_refused() -> None:
    """Below the least float32 there is none to separate with; an infinity would be no score."""
    with pytest.raises(InputError):
        case([-FLOAT32_MAX, -FLOAT32_MAX]).rank(ties="pool")
    assert order(case([-FLOAT32_MAX, -FLOAT32_MAX]).rank(ties="trec")) == ["b", "a"]


@pytest.mark.parametrize("pools", [(), ((),), ((), ())])
def test_a_dataset_without_candidates_is_refused(pools: tuple[tuple[int, ...], ...]) -> None:
    ranked = Case(("a",), pools, np.zeros((len(pools), 1)))
    with pytest.raises(InputError, match="some/dataset has no candidates"):
        ranked.rank()


# -- tags -------------------------------------------------------------------------------------


# -- settings ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Probe(Retriever):
    name: ClassVar[str] = "probe"

    whole: int = 1
    part: float = 0.5
    flag: bool = False
    kind: Literal["one", "two"] = "one"
    text: str = "t"
    maybe: int | None = None
    perhaps: Optional[float] = 2.0  # noqa: UP045 both spellings are to be understood
    folder: str | None = None


@dataclass(frozen=True)
class Demanding(Retriever):
    name: ClassVar[str] = "demanding"

    needed: int


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("whole", "3.5", "a whole number"),
        ("whole", "", "a whole number"),
        ("whole", 3.7, "a whole number"),
        ("part", "half", "a number"),
        ("flag", "yes", "true or false"),
        ("flag", "", "true or false"),
        ("kind", "One", "one or two"),
        ("perhaps", "x", "a number"),
    ],
)
def test_values_of_another_kind_are_refused(key: str, value: Any, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        Probe.with_settings({key: value})
    assert str(caught.value) == f"setting {key}={value} is not {expected}"


def test_a_setting_without_a_default_is_needed() -> None:
    with pytest.raises(InputError, match="retriever demanding needs the setting needed"):
        Demanding.with_settings({})
    assert Demanding.with_settings({"needed": "4"}) == Demanding(4)


# -- discovery --------------------------------------------------------------------------------


def test_an_unknown_retriever_is_named_beside_those_there_are() -> None:
    with pytest.raises(InputError, match="no retriever 'bm52'") as caught:
        create_retriever("bm52", {})
    for name in retrievers():
        assert name in str(caught.value.remedy)


def test_a_retriever_lacks_nothing_unless_it_says_so() -> None:
    assert Probe().missing() is None
    with pytest.raises(NotImplementedError):
        Probe().scorer(case([1.0]).task())


def test_finding_retrievers_loads_no_neural_library() -> None:
    code = (
        "import sys; from irtoolkit.retrievers import retrievers; retrievers();"
        "print(sorted({'torch', 'transformers', 'gensim', 'sklearn'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
