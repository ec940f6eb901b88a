"""Optimal transport of small texts, against POT, a linear program and all permutations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.special import softmax

from irtoolkit.retrievers._transport import Transport
from tests.conftest import ALL

ot = pytest.importorskip("ot", reason="POT is not installed")

MATRICES = st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(0, 1 << 30))


def matrix(shape: tuple[int, int, int], scale: float = 1.0) -> Any:
    rows, columns, seed = shape
    return scale * np.random.default_rng(seed).uniform(-1, 1, (rows, columns))


def least(own: Any, other: Any, costs: Any) -> float:
    """The least cost, as a linear program."""
    rows, columns = costs.shape
    sums = [np.kron(np.eye(rows), np.ones(columns)), np.kron(np.ones(rows), np.eye(columns))]
    found = linprog(costs.ravel(), A_eq=np.vstack(sums), b_eq=np.concatenate([own, other]))
    assert found.success
    return float(found.fun)


@settings(max_examples=50, deadline=None)
@given(MATRICES, st.booleans(), st.sampled_from([0.3, 1.0, 10.0]))
def test_exact_transport_is_the_linear_program(shape: Any, uniform: bool, scale: float) -> None:
    similarities = matrix(shape, scale)
    how = Transport(uniform, 0.7, 0.0)
    own, other = how.masses(similarities, 0), how.masses(similarities, 1)
    expected = least(own, other, scale - similarities)
    assert how.cost(similarities, scale) == pytest.approx(expected, abs=1e-7 * scale)
    assert how.cost(similarities, scale) == pytest.approx(
        ot.emd2(own, other, scale - similarities), abs=1e-9 * scale
    )


@settings(max_examples=50 if ALL else 20, deadline=None)
@given(MATRICES, st.booleans(), st.sampled_from([0.2, 0.5, 2.0]))
def test_sinkhorn_is_pots(shape: Any, uniform: bool, weight: float) -> None:
    similarities = matrix(shape)
    how = Transport(uniform, 1.0, weight)
    own, other = how.masses(similarities, 0), how.masses(similarities, 1)
    expected = ot.bregman.sinkhorn_log(
        own, other, 1 - similarities, weight, numItermax=100_000, stopThr=1e-12
    )
    assert how.plan(own, other, 1 - similarities) == pytest.approx(expected, abs=1e-6)
    assert how.cost(similarities, 1) == pytest.approx(
        (expected * (1 - similarities)).sum(), abs=1e-6
    )


@settings(max_examples=50, deadline=None)
@given(MATRICES, st.booleans(), st.sampled_from([1.0, 30.0, 1e4]))
def test_a_small_regularisation_is_near_the_optimum(
    shape: Any, uniform: bool, scale: float
) -> None:
    """The plan has its masses whatever the scale, and costs no less than the best one."""
    similarities = matrix(shape, scale)
    how = Transport(uniform, scale, 0.01 * scale)
    own, other = how.masses(similarities, 0), how.masses(similarities, 1)
    plan = how.plan(own, other, scale - similarities)
    assert (plan >= 0).all()
    assert plan.sum(axis=1) == pytest.approx(own, abs=1e-9)
    assert plan.sum(axis=0) == pytest.approx(other, abs=1e-9)
    optimum = least(own, other, (scale - similarities) / scale) * scale
    # The entropy of a plan is at most log(mn), so that its weight bounds what it costs.
    excess = how.cost(similarities, scale) - optimum
    assert -1e-6 * scale <= excess <= 0.01 * scale * np.log(plan.size) + 5e-3 * scale


def test_masses_are_the_softmax_of_the_greatest_similarities() -> None:
    similarities = np.array([[0.9, 0.1, 0.3], [0.2, 0.4, 0.8]])
    how = Transport(False, 0.5)
    assert how.masses(similarities, 0) == pytest.approx(softmax([1.8, 1.6]))
    assert how.masses(similarities, 1) == pytest.approx(softmax([1.8, 0.8, 1.6]))
    assert Transport(True).masses(similarities, 1) == pytest.approx(np.full(3, 1 / 3))


@pytest.mark.parametrize("weight", [0.0, 0.05])
def test_many_pairs_are_each_pair_alone(weight: float) -> None:
    draw = np.random.default_rng(3)
    rows, columns = np.array([0, 2, 3, 6]), np.cumsum([0, *draw.integers(1, 9, 40)])
    similarities = draw.uniform(-1, 1, (6, columns[-1])).astype(np.float32)
    how = Transport(regularisation=weight)
    scores = np.empty((3, 40))
    how.fill(similarities, rows, columns, 1.0, scores)
    for query in range(3):
        for doc in range(40):
            part = similarities[rows[query] : rows[query + 1], columns[doc] : columns[doc + 1]]
            assert scores[query, doc] == -how.cost(part.astype(np.float64), 1.0)
