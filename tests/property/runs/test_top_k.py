"""The order of scored candidates and the scores to write, against sorting and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.runs import _order_kernels, top_k
from irtoolkit.runs._order_kernels import contenders, parts_of
from irtoolkit.runs.order import Ties, separate
from irtoolkit.runs.top_k import TieOrder

Row = tuple[list[int], list[float]]

FLOAT32_MAX = float(np.finfo(np.float32).max)
TINIEST = float(np.finfo(np.float32).smallest_subnormal)
each_ties = pytest.mark.parametrize("ties", ["trec", "pool"])
each_kind = pytest.mark.parametrize("kind", [np.float32, np.float64])

SIZES = st.integers(1, 14)
# Ties; what differs in double precision alone; what a float32 can hardly hold; and any others.
TIED = st.sampled_from([0.0, -0.0, 1.0, -1.0])
CLOSE = st.builds(
    lambda base, step: base * (1 + step * 2.0**-40),
    st.sampled_from([1.0, -1.0, 3e5, -7e-9]),
    st.integers(-5, 5),
)
DENORMAL = st.integers(-4, 4).map(lambda i: i * TINIEST / 2) | st.sampled_from([1e-40, -1e-40])
HUGE = st.sampled_from([FLOAT32_MAX, FLOAT32_MAX / 2, -FLOAT32_MAX / 2])
ANY = st.floats(-1e30, 1e30, allow_nan=False)
SCORES = st.sampled_from([TIED, CLOSE, DENORMAL, ANY, TIED | CLOSE | DENORMAL | HUGE])


def restated(scores: Any, names: Any, ties: Ties, depth: int | None) -> Row:
    """The order that is meant, and the greatest scores that a reader puts into it."""
    second = [-name for name in names] if ties == "trec" else list(range(len(names)))
    values = [float(score) for score in scores]
    order = sorted(range(len(values)), key=lambda i: (-values[i], second[i]))
    written: list[np.float32] = []
    for above, i in zip([None, *order], order, strict=False):
        value = np.float32(values[i])
        if above is not None:
            below = np.nextafter(written[-1], np.float32(-np.inf))
            value = min(value, written[-1] if names[i] < names[above] else below)
        written.append(value)
    return order[:depth], [float(value) for value in written[:depth]]


def best(scores: Any, names: Any, ties: Ties, depth: int | None) -> Any:
    """The positions and the scores of each row."""
    return zip(*top_k.top_k(scores, TieOrder(names, ties), depth), strict=True)


def found(scores: Any, names: Any, ties: Ties, depth: int | None) -> list[Row]:
    rows = best(np.asarray(scores), np.asarray(names, np.int64), ties, depth)
    return [(order.tolist(), single.tolist()) for order, single in rows]


def as_read(row: Row, names: Any) -> list[int]:
    """The order in which trec_eval reads the rows of a run: by score, then by id, descending."""
    return sorted(row[0], key=lambda i: (row[1][row[0].index(i)], names[i]), reverse=True)


@st.composite
def tables(draw: st.DrawFn, sizes: Any = SIZES) -> tuple[Any, list[int]]:
    """A few rows of scores, and the places of the candidates' ids."""
    count = draw(sizes)
    row = st.lists(draw(SCORES), min_size=count, max_size=count)
    rows = draw(st.lists(row, min_size=1, max_size=3))
    return np.array(rows), draw(st.permutations(range(count)))


@each_kind
@each_ties
@given(table=tables(), depth=st.none() | st.integers(1, 20))
def test_the_order_and_the_scores_are_those_of_sorting(
    ties: Ties, kind: Any, table: tuple[Any, list[int]], depth: int | None
) -> None:
    scores, names = table[0].astype(kind), table[1]
    rows = found(scores, names, ties, depth)
    assert rows == [restated(row, names, ties, depth) for row in scores]
    for row in rows:
        assert as_read(row, names) == row[0]


@each_kind
@each_ties
@given(
    table=tables(st.integers(32, 140)), depth=st.integers(1, 5), bunch=st.sampled_from([1, 2, 7])
)
@settings(max_examples=25)
def test_of_many_the_best_few_are_those_of_sorting(
    ties: Ties, kind: Any, table: tuple[Any, list[int]], depth: int, bunch: int
) -> None:
    """Where so many compete, most are dropped before they are sorted."""
    scores, names = np.sort(table[0].astype(kind), axis=1), table[1]
    scores = np.roll(scores[:, ::bunch].repeat(bunch, axis=1)[:, : len(names)], 11, axis=1)
    assert found(scores, names, ties, depth) == [
        restated(row, names, ties, depth) for row in scores
    ]


def many(draw: np.random.Generator, rows: int, count: int, how: str) -> NDArray[np.float64]:
    if how == "any":
        return draw.normal(size=(rows, count))
    if how == "tied":
        return draw.integers(0, 4, (rows, count)).astype(float)
    if how == "all tied":
        return np.zeros((rows, count))
    if how == "double":
        return 1 + draw.integers(0, 50, (rows, count)) * 2.0**-45
    if how == "rising":
        return np.tile(np.arange(count, dtype=float), (rows, 1))
    if how == "one best":
        scores = np.zeros((rows, count))
        scores[:, count // 3] = 1
        return scores
    assert how == "mostly nothing"
    return np.where(draw.random((rows, count)) < 0.01, draw.random((rows, count)), 0.0)


HOW = ["any", "tied", "all tied", "double", "rising", "one best", "mostly nothing"]


def by_numpy(scores: Any, names: Any, ties: Ties) -> Any:
    second = -names if ties == "trec" else np.arange(len(names))
    return np.lexsort((second, -scores.astype(np.float64)))


@each_kind
@each_ties
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize(("count", "depth"), [(3200, 100), (3199, 100), (7013, 3), (641, 20)])
def test_large_candidate_sets(ties: Ties, kind: Any, how: str, count: int, depth: int) -> None:
    draw = np.random.default_rng(5)
    scores, names = many(draw, 3, count, how).astype(kind), draw.permutation(count)
    for row, (order, single) in zip(scores, best(scores, names, ties, depth), strict=True):
        expected = by_numpy(row, names, ties)[:depth]
        assert order.tolist() == expected.tolist()
        assert single.tolist() == separate(row[expected], np.argsort(np.argsort(names[expected]))).tolist()  # fmt: skip


@each_ties
@pytest.mark.parametrize("how", ["any", "tied", "double"])
def test_many_rows_are_shared_out_and_come_back_in_their_order(ties: Ties, how: str) -> None:
    draw = np.random.default_rng(6)
    scores, names = many(draw, 700, 900, how), draw.permutation(900)
    rows = list(best(scores, names, ties, None))
    assert len(rows) == 700
    for row, (order, single) in zip(scores, rows, strict=True):
        assert order.tolist() == by_numpy(row, names, ties).tolist()
        read = np.lexsort((-names[order], -single))
        assert read.tolist() == list(range(900))


@each_ties
def test_a_row_without_room_among_many_is_refused(ties: Ties) -> None:
    scores = np.zeros((700, 900))
    scores[650, :2] = -FLOAT32_MAX
    names = np.arange(900)
    if ties == "trec":
        assert len(list(best(scores, names, ties, None))) == 700
    else:
        with pytest.raises(InputError, match="no room"):
            list(best(scores, names, ties, None))


@each_ties
@given(table=tables(st.integers(1, 60)), depth=st.integers(1, 60))
def test_what_is_kept_is_the_head_of_the_whole(
    ties: Ties, table: tuple[Any, list[int]], depth: int
) -> None:
    whole = found(*table, ties, None)
    assert found(*table, ties, depth) == [(o[:depth], s[:depth]) for o, s in whole]


@each_ties
@pytest.mark.parametrize("bound", [1, 2, 10**9])
def test_dropping_candidates_early_changes_nothing(
    ties: Ties, bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(8)
    scores = np.concatenate([many(draw, 2, 1000, how) for how in HOW])
    names = draw.permutation(1000)
    before = found(scores, names, ties, 10)
    monkeypatch.setattr(top_k, "_MANY", max(bound, 4))
    assert found(scores, names, ties, 10) == before


@given(row=st.lists(TIED | CLOSE | ANY, min_size=8, max_size=300), depth=st.integers(1, 2))
def test_contenders_hold_the_best_and_all_that_ties_with_the_last(
    row: list[float], depth: int
) -> None:
    scores = np.array(row)
    room = np.empty(parts_of(len(row), depth)), np.empty(len(row), np.int64)
    kept = room[1][: contenders(scores, depth, *room)]
    assert len(set(kept)) == len(kept)
    last = np.sort(scores)[-depth]
    assert set(np.flatnonzero(scores >= last)) <= set(kept)


# -- single cases -----------------------------------------------------------------------------


@each_ties
def test_a_negative_zero_is_a_zero(ties: Ties) -> None:
    [(order, single)] = found([[-0.0, 0.0, -0.0, TINIEST]], [1, 0, 2, 3], ties, None)
    assert order == {"trec": [3, 2, 0, 1], "pool": [3, 0, 1, 2]}[ties]
    if ties == "trec":
        assert single == [TINIEST, 0, 0, 0]
    else:
        assert single == [TINIEST, 0, 0, -TINIEST]


@each_kind
def test_denormals_are_not_flushed(kind: Any) -> None:
    scores = np.array([[2 * TINIEST, TINIEST, -TINIEST, 0.0, 3 * TINIEST]], kind)
    [(order, single)] = found(scores, [4, 3, 2, 1, 0], "trec", None)
    assert order == [4, 0, 1, 3, 2]
    assert single == [3 * TINIEST, 2 * TINIEST, TINIEST, 0.0, -TINIEST]


def test_scores_that_only_double_precision_tells_apart_are_separated() -> None:
    scores = [[1.0, 1 + 2.0**-50, 1 + 2.0**-51, 1 - 2.0**-52]]
    [(order, single)] = found(scores, [0, 1, 2, 3], "trec", None)
    assert order == [1, 2, 0, 3]
    step = 2.0**-24
    assert single == [1.0, 1 - step, 1 - step, 1 - 2 * step]


def test_a_score_below_zero_in_double_alone_is_written_below_zero() -> None:
    [(order, single)] = found([[-1e-60, 0.0]], [1, 0], "trec", None)
    assert order == [1, 0]
    assert single == [0.0, -TINIEST]


@each_ties
@pytest.mark.parametrize("depth", [None, 1, 5, 6, 1000])
def test_a_depth_may_be_more_than_there_are(ties: Ties, depth: int | None) -> None:
    [(order, single)] = found([[3.0, 1.0, 2.0, 3.0, 0.0]], [0, 1, 2, 3, 4], ties, depth)
    whole = {"trec": [3, 0, 2, 1, 4], "pool": [0, 3, 2, 1, 4]}[ties]
    assert order == whole[:depth]
    assert len(single) == len(order)


@each_ties
@pytest.mark.parametrize("depth", [None, 3])
def test_there_may_be_nothing(ties: Ties, depth: int | None) -> None:
    assert found(np.zeros((2, 0)), [], ties, depth) == [([], []), ([], [])]
    assert found(np.zeros((0, 4)), range(4), ties, depth) == []


def test_scores_may_be_given_in_any_layout() -> None:
    draw = np.random.default_rng(9)
    scores, names = draw.normal(size=(400, 6)), draw.permutation(6)
    plain = found(scores, names, "trec", None)
    assert found(np.asfortranarray(scores), names, "trec", None) == plain
    assert found(np.repeat(scores, 2, axis=1)[:, ::2], names, "trec", None) == plain
    assert found(np.asfortranarray(scores), names, "trec", 2) == found(scores, names, "trec", 2)


def test_arguments_are_left_alone() -> None:
    scores, names = np.array([[1.0, 2.0, 1.0]]), np.array([0, 1, 2])
    list(best(scores, names, "pool", 2))
    assert scores.tolist() == [[1.0, 2.0, 1.0]]
    assert names.tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_below_the_least_float32_there_is_no_room(kind: Any) -> None:
    scores = np.array([[-FLOAT32_MAX, -FLOAT32_MAX]], kind)
    assert found(scores, [0, 1], "trec", None) == [([1, 0], [-FLOAT32_MAX] * 2)]
    assert found(scores, [1, 0], "pool", None) == [([0, 1], [-FLOAT32_MAX] * 2)]
    with pytest.raises(InputError, match="no room"):
        found(scores, [0, 1], "pool", None)


def test_what_is_cut_off_needs_no_room() -> None:
    """Of a ranking that is cut, only what is written must be told apart."""
    scores = np.full((1, 40), -FLOAT32_MAX)
    scores[0, 7] = 1.0
    assert found(scores, range(40), "pool", 1) == [([7], [1.0])]


@given(
    rows=st.lists(TIED | CLOSE | DENORMAL | ANY, min_size=1, max_size=12).flatmap(
        lambda scores: st.tuples(st.just(scores), st.permutations(range(len(scores))))
    )
)
@example(rows=([0.0, -0.0], [0, 1]))
def test_separated_scores_are_those_of_the_restatement(rows: tuple[list[float], list[int]]) -> None:
    scores, names = sorted(rows[0], reverse=True), rows[1]
    single = separate(np.array(scores), np.array(names))
    assert single.dtype == np.float32
    assert (list(range(len(scores))), single.tolist()) == restated(scores, names, "pool", None)


def test_many_scores_within_one_float32_do_not_take_the_square_of_their_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Few that stand the wrong way round are put right one by one; these are sorted again."""
    fates: list[int] = []
    finish = _order_kernels.finish

    def counting(*args: object) -> int:
        fates.append(finish(*args))
        return fates[-1]

    monkeypatch.setattr(_order_kernels, "finish", counting)
    count = 50_000
    scores = 1 + np.arange(count)[None, :] * 2.0**-50
    [(order, _)] = best(scores, np.arange(count)[::-1].copy(), "trec", None)
    assert order.tolist() == list(range(count))[::-1]
    assert fates == [_order_kernels.CROWDED, _order_kernels.DONE]


@given(
    scores=SCORES.flatmap(lambda kind: st.lists(kind, min_size=1, max_size=14)),
    seed=st.integers(0, 2**32),
)
@pytest.mark.parametrize("copies", [1, 70])
def test_the_best_of_some_candidates_are_those_of_these_alone(
    copies: int, scores: list[float], seed: int
) -> None:
    draw = np.random.default_rng(seed)
    own = np.array(scores * copies)  # of many equal ones the order is found in another way
    names = draw.permutation(2 * len(own))
    chosen = np.sort(draw.permutation(2 * len(own))[: len(own)])
    depth = int(draw.integers(1, len(own) + 1))
    padded = np.append(own, [-np.inf] * 3)[None], np.append(chosen, [0] * 3)[None]
    ((order, written),) = best(own[None], names[chosen], "trec", depth)
    tied, counts = TieOrder(names, "trec"), np.array([len(own)])
    (places,), (singles,) = top_k.top_k_of_some(*padded, counts, tied, depth)
    np.testing.assert_array_equal(places, chosen[order])
    np.testing.assert_array_equal(singles, written)
