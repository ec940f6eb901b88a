"""Rankings of any scores, against sorting."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.retrievers.engine import rank
from irtoolkit.runs import Run
from irtoolkit.runs.order import Ties, separate
from tests.unit.retrievers.test_engine import (
    TIES,
    TINIEST,
    Case,
    Table,
    order,
)

# Scores full of ties; scores that differ in double precision alone; and any others.
TIED = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5])


CLOSE = st.builds(
    lambda base, step: base + step * 1e-12 * max(1.0, abs(base)),
    st.sampled_from([0.0, 1.0, -1.0, 1e6]),
    st.integers(-4, 4),
)


SMALL = st.sampled_from([0.0, TINIEST, -TINIEST, 2 * TINIEST, TINIEST / 4, 1.2e-38])


ANY = st.floats(-1e30, 1e30, allow_nan=False)


SCORES = st.sampled_from([TIED, CLOSE, SMALL, ANY, TIED | CLOSE | SMALL])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    ids = draw(
        st.lists(st.text("aB1é漢😀", min_size=1, max_size=3), min_size=1, max_size=12, unique=True)
    )
    pool = st.permutations(range(len(ids))).flatmap(
        lambda order: st.integers(0, len(ids)).map(lambda size: tuple(order[:size]))
    )
    whole = st.permutations(range(len(ids))).map(tuple)
    pools = [draw(whole), *draw(st.lists(pool, max_size=3))]
    row = st.lists(draw(SCORES), min_size=len(ids), max_size=len(ids))
    scores = np.array(draw(st.lists(row, min_size=len(pools), max_size=len(pools))))
    return Case(tuple(ids), tuple(pools), scores)


DEPTHS = st.none() | st.integers(1, 15)


@TIES
@given(case=cases(), depth=DEPTHS)
def test_a_ranking_is_what_sorting_gives(ties: Ties, case: Case, depth: int | None) -> None:
    run = case.rank(ties=ties, depth=depth)
    for query in range(len(case.pools)):
        assert order(run, query) == case.expected(query, ties, depth)


@TIES
@given(case=cases())
def test_a_file_read_by_trec_evals_rule_has_the_order_that_was_meant(
    ties: Ties, case: Case, tmp_path: Path
) -> None:
    path = tmp_path / "x.run"
    case.rank(ties=ties).write(path)
    rows = [line.split(" ") for line in path.read_text("utf-8").splitlines()]
    for query in range(len(case.pools)):
        own = [(float(np.float32(r[4])), r[2].encode()) for r in rows if r[0] == f"q{query}"]
        read = [name.decode() for _, name in sorted(own, reverse=True)]
        assert read == case.expected(query, ties)
    again = Run.read(path)
    assert [order(again, q) for q in range(len(case.pools))] == [
        case.expected(q, ties) for q in range(len(case.pools))
    ]


@TIES
@given(case=cases(), depth=st.integers(1, 15))
def test_a_shallower_run_is_the_head_of_the_whole(ties: Ties, case: Case, depth: int) -> None:
    cut, head = case.rank(ties=ties, depth=depth), case.rank(ties=ties).head(depth)
    assert cut == head
    assert [order(cut, q) for q in range(len(case.pools))] == [
        order(head, q) for q in range(len(case.pools))
    ]


@TIES
@given(case=cases(), depth=DEPTHS)
def test_exact_ranks_are_places_in_the_whole_order(
    ties: Ties, case: Case, depth: int | None
) -> None:
    """Asked for every document, and for strangers, of every query, and of one that is not there."""
    names = [f"q{query}" for query in range(len(case.pools))]
    wanted = dict.fromkeys([*names, "stranger"], (*case.ids, "stranger"))
    table = Table(case.scores, [])
    found = rank(case.task(), table, wanted, ties=ties, depth=depth, progress=False)
    assert found == case.rank(ties=ties, depth=depth)
    ranks = found.exact_ranks or {}
    for query, name in enumerate(names):
        whole = case.expected(query, ties)
        assert ranks.get(name, {}) == {doc: i for i, doc in enumerate(whole, 1)}
    assert ranks.keys() <= set(names)


@st.composite
def lists(draw: st.DrawFn) -> tuple[list[float], list[int]]:
    scores = draw(st.lists(draw(SCORES), min_size=1, max_size=10))
    return sorted(scores, reverse=True), draw(st.permutations(range(len(scores))))


@given(rows=lists())
def test_rows_in_order_are_left_alone(rows: tuple[list[float], list[int]]) -> None:
    single = np.array(rows[0], dtype=np.float32)
    names = np.array(rows[1])
    by_trec = np.lexsort((-names, -single))
    single, names = single[by_trec], names[by_trec]
    assert separate(single, names).tolist() == single.tolist()
