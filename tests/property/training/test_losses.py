"""Losses of any vectors, against their papers' equations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

from irtoolkit.base.errors import InputError
from irtoolkit.training.losses import LOSSES, check_stage, make_loss
from irtoolkit.training.recipes import Recipe, Stage
from tests.unit.training.test_losses import (
    SIMILARITIES,
    Vectors,
    features,
    in_batch,
    late_batch,
    maxsim,
    near,
    own_scores,
    similar,
    stage,
)


@st.composite
def batches(draw: Any, least: int = 0, most: int = 3, rows: int = 1) -> Any:
    """A model, its query vectors and those of gold and negatives, after the model."""
    seed, count = draw(st.integers(0, 999)), draw(st.integers(rows, 6))
    width, negatives = draw(st.integers(1, 5)), draw(st.integers(least, most))
    rng = np.random.default_rng(seed)
    model = Vectors(width, draw(st.sampled_from(SIMILARITIES)))
    columns = [rng.normal(size=(count, width)) for _ in range(2 + negatives)]
    weight = model.weight.detach().numpy()
    return model, columns, [column @ weight for column in columns]


def value(model: Any, stage: Stage, columns: list[Any], labels: Any = None, **how: Any) -> float:
    loss = make_loss(model, stage, "dense", **how)
    return float(loss([features(column) for column in columns], labels).detach())


@settings(max_examples=60)
@given(batches(), st.floats(0.1, 3))
def test_in_batch(batch: Any, scale: float) -> None:
    """All documents of the batch, mined negatives too."""
    model, columns, (query, *docs) = batch
    scores = scale * similar(model.similarity_fn_name, query, np.concatenate(docs))
    expected = near(in_batch(scores))
    for chunk in (None, 2):
        assert value(model, stage("in-batch", scale=scale, chunk=chunk), columns) == expected


@settings(max_examples=60)
@given(batches(least=1), st.floats(0.1, 3))
def test_sampled(batch: Any, scale: float) -> None:
    model, columns, (query, *docs) = batch
    p = np.exp(scale * own_scores(model.similarity_fn_name, query, docs))
    expected = near(float(np.mean(-np.log(p[:, 0] / p.sum(axis=1)))))
    for chunk in (None, 2):
        assert value(model, stage("sampled", scale=scale, chunk=chunk), columns) == expected


@settings(max_examples=60)
@given(batches(), st.floats(0.1, 3), st.data())
def test_all(batch: Any, scale: float, data: Any) -> None:
    model, (asked, documents, *_), (query, *_) = batch
    gold = [data.draw(st.integers(0, len(documents) - 1)) for _ in query]
    scores = scale * similar(model.similarity_fn_name, query, documents)
    expected = near(float(np.mean([-log_softmax(row)[g] for row, g in zip(scores, gold, strict=True)])))  # fmt: skip
    for chunk in (None, 2):
        found = value(
            model, stage("all", scale=scale, chunk=chunk), [asked], torch.tensor(gold),
            documents=torch.as_tensor(documents),
        )  # fmt: skip
        assert found == expected


@settings(max_examples=60)
@given(batches(least=1, most=1), st.floats(0.1, 3))
def test_triplet(batch: Any, margin: float) -> None:
    """Euclidean, whatever the model is compared by."""
    model, columns, (q, p, n) = batch
    distances = np.linalg.norm(q - p, axis=1) - np.linalg.norm(q - n, axis=1)
    expected = near(float(np.maximum(distances + margin, 0).mean()))
    for chunk in (None, 2):
        assert value(model, stage("triplet", margin=margin, chunk=chunk), columns) == expected


@settings(max_examples=60)
@given(batches(least=1), st.floats(0.1, 3))
def test_margin_mse(batch: Any, scale: float) -> None:
    model, columns, (query, *docs) = batch
    teacher = np.random.default_rng(len(docs)).normal(size=(len(query), len(docs)))
    own = scale * own_scores(model.similarity_fn_name, query, docs)
    wanted = teacher[:, :1] - teacher[:, 1:]
    expected = near(float(((own[:, :1] - own[:, 1:] - wanted) ** 2).mean()))
    for chunk in (None, 2):
        made = stage("margin-mse", scale=scale, chunk=chunk)
        assert value(model, made, columns, torch.as_tensor(wanted)) == expected


@settings(max_examples=60)
@given(batches(least=1), st.floats(0.1, 3))
def test_kl(batch: Any, scale: float) -> None:
    model, columns, (query, *docs) = batch
    teacher = np.random.default_rng(len(docs)).normal(size=(len(query), len(docs)))
    student = softmax(scale * own_scores(model.similarity_fn_name, query, docs), axis=1)
    taught = softmax(teacher, axis=1)
    expected = near(float((taught * np.log(taught / student)).sum(axis=1).mean()))
    for chunk in (None, 2):
        made = stage("kl", scale=scale, chunk=chunk)
        assert value(model, made, columns, torch.as_tensor(teacher)) == expected


@settings(max_examples=30)
@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 99), st.floats(0.1, 2), st.booleans())
def test_late_interaction(rows: int, negatives: int, seed: int, scale: float, mean: bool) -> None:
    columns, laid = late_batch(rows, negatives, seed)
    model = Vectors(4, "meanmaxsim" if mean else "maxsim")
    weight = model.weight.detach().numpy()
    (q, q_counts), *docs = [(x @ weight, counts) for x, counts in columns]

    def score(i: int, doc: Any, j: int) -> float:
        found = maxsim(q[i], doc[0][j], q_counts[i], doc[1][j])
        return scale * found / (q_counts[i] if mean else 1)

    own = np.array([[score(i, doc, i) for doc in docs] for i in range(rows)])
    whole = np.array([[score(i, doc, j) for doc in docs for j in range(rows)] for i in range(rows)])
    teacher = np.random.default_rng(seed).normal(size=own.shape)
    margins = teacher[:, :1] - teacher[:, 1:]
    taught = softmax(teacher, axis=1)
    cases = {
        "in-batch": (in_batch(whole), None),
        "sampled": (-log_softmax(own, axis=1)[:, 0].mean(), None),
        "margin-mse": (((own[:, :1] - own[:, 1:] - margins) ** 2).mean(), margins),
        "kl": ((taught * (np.log(taught) - log_softmax(own, axis=1))).sum(axis=1).mean(), teacher),
    }
    for name, (expected, labels) in cases.items():
        given = None if labels is None else torch.as_tensor(labels)
        for chunk in (None, 2) if "late" in LOSSES[name].cached else (None,):
            loss = make_loss(model, stage(name, scale=scale, chunk=chunk), "late")
            # Some of it is computed in single precision.
            assert float(loss(laid, given)) == pytest.approx(expected, rel=1e-4, abs=1e-4)


RECIPE = Recipe(name="r", stages=(), start="x", encoders=2)


FITTING: list[tuple[dict[str, Any], Stage]] = [
    ({}, stage("in-batch")),
    ({}, stage("in-batch", chunk=4, negatives="mined", count=2, run="x.run")),
    ({}, stage("sampled", negatives="random", count=19)),
    ({}, stage("sampled", source="triples", file="x")),
    ({}, stage("all", frozen="documents")),
    ({}, stage("triplet", negatives="mined", count=1)),
    ({}, stage("margin-mse", negatives="mined", count=1, teacher="t")),
    ({"kind": "late", "encoders": 1}, stage("kl", negatives="mined", count=5, teacher="t")),
    ({"kind": "sparse", "encoders": 1}, stage("sampled", negatives="random", count=1, chunk=2)),
    ({"kind": "cross", "encoders": 1}, stage("listwise", negatives="random", count=3)),
    ({"kind": "cross", "encoders": 1, "labels": 2}, stage("classes", negatives="random", count=3)),
]


@pytest.mark.parametrize(("recipe", "given"), FITTING)
def test_a_stage_that_fits(recipe: dict[str, Any], given: Stage) -> None:
    check_stage(replace(RECIPE, **recipe), given)


CROSS = {"kind": "cross", "encoders": 1}


AMISS: list[tuple[dict[str, Any], Stage, str]] = [
    ({}, stage("hinge"), "no loss 'hinge' (there are in-batch, sampled, all"),
    (CROSS, stage("in-batch"), "kind cross (for these there are pointwise, classes, pairwise, listw"),
    ({}, stage("sampled", count=3), "at least 1 negative of each row, and there are 0"),
    ({}, stage("all"), "so their encoder cannot change (frozen=documents)"),
    ({"kind": "late", "encoders": 1}, stage("in-batch", frozen="documents"), "share an encoder"),
    ({}, stage("in-batch", teacher="t"), "does not use a teacher's scores (leave teacher out, or loss=margin-mse or kl)"),
    ({}, stage("triplet", negatives="random", count=1, scale=20.0), "scale=20: loss=triplet has no scale"),
    ({}, stage("in-batch", batch=1), "has no negative in a batch of one row"),
    (CROSS, stage("listwise", negatives="random", count=1, chunk=2), "for models of kind cross (a smaller batch)"),
]  # fmt: skip


@pytest.mark.parametrize(("recipe", "given", "expected"), AMISS)
def test_a_stage_that_does_not_fit(recipe: dict[str, Any], given: Stage, expected: str) -> None:
    with pytest.raises(InputError) as said:
        check_stage(replace(RECIPE, **recipe), given)
    assert expected in str(said.value)
