"""Losses against their papers' equations, restated over random vectors."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sentence_transformers import CrossEncoder

from irtoolkit.base.errors import InputError
from irtoolkit.training import loss_modules as criteria
from irtoolkit.training.losses import DOC_FLOPS, LOSSES, QUERY_FLOPS, check, make_loss
from irtoolkit.training.recipes import Recipe, Stage
from tests.conftest import ROOT
from tests.tiny import save

Array = NDArray[np.float64]
SIMILARITIES = ("dot", "cosine", "euclidean")


class Vectors(torch.nn.Module):
    """Stands for a model: a vector for a text, or one for each of its tokens, times a matrix."""

    def __init__(self, width: int, similarity: str, sparse: bool = False) -> None:
        super().__init__()
        torch.manual_seed(width)
        self.weight = torch.nn.Parameter(torch.randn(width, width, dtype=torch.float64))
        self.similarity_fn_name, self.sparse = similarity, sparse

    def __getitem__(self, place: int) -> Vectors:
        return self

    def forward(self, features: dict[str, Any], task: str | None = None) -> dict[str, Any]:
        made = features["x"] @ self.weight
        name = "sentence_embedding" if made.ndim == 2 else "token_embeddings"
        return {**features, name: made.relu() if self.sparse else made}


def features(x: Any) -> dict[str, Any]:
    return {"x": torch.as_tensor(x)}


def tokens(x: Any, counts: Any) -> dict[str, Any]:
    mask = np.arange(x.shape[1]) < np.asarray(counts)[:, None]
    return {"x": torch.as_tensor(x), "attention_mask": torch.as_tensor(mask)}


def stage(loss: str, **how: Any) -> Stage:
    return Stage(loss=loss, **how)


# -- restatements -----------------------------------------------------------------------------


def similar(name: str, a: Array, b: Array) -> Array:
    """(n, m) similarities."""
    if name == "euclidean":
        return -np.array([[np.sqrt(np.sum((x - y) ** 2)) for y in b] for x in a])
    if name == "cosine":
        a = a / np.linalg.norm(a, axis=1)[:, None]
        b = b / np.linalg.norm(b, axis=1)[:, None]
    return a @ b.T


def maxsim(a: Array, b: Array, a_count: int, b_count: int) -> float:
    return float(sum(max(x @ y for y in b[:b_count]) for x in a[:a_count]))


def in_batch(scores: Array) -> float:
    """RELiC's equation over the size of the batch; the gold of row i is in column i."""
    total = 0.0
    for i, row in enumerate(scores):
        total -= np.log(np.exp(row[i]) / np.exp(row).sum())
    return total / len(scores)


def own_scores(name: str, query: Array, docs: list[Array]) -> Array:
    """(n, documents) of each row with its own documents."""
    pairs = [np.diag(similar(name, query, doc)) for doc in docs]
    return np.stack(pairs, axis=1)


# -- one vector for a text --------------------------------------------------------------------


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


def near(expected: float) -> Any:
    return pytest.approx(expected, rel=1e-5, abs=1e-7)


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


LABELS: dict[str, Callable[[int, int], Any]] = {
    "margin-mse": lambda rows, docs: torch.linspace(-1, 2, rows * (docs - 1), dtype=torch.float64).view(rows, -1),
    "kl": lambda rows, docs: torch.linspace(-1, 2, rows * docs, dtype=torch.float64).view(rows, -1),
    "all": lambda rows, docs: torch.arange(rows) % 4,
}  # fmt: skip


@pytest.mark.parametrize("name", [n for n, loss in LOSSES.items() if "dense" in loss.cached])
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_chunks_change_no_gradient(name: str, similarity: str) -> None:
    rng = np.random.default_rng(0)
    count = {"all": 1, "triplet": 3}.get(name, 4)
    columns = [rng.normal(size=(7, 3)) for _ in range(count)]
    labels = LABELS[name](7, count - 1) if name in LABELS else None
    how = {"documents": torch.as_tensor(rng.normal(size=(4, 3)))} if name == "all" else {}
    found = []
    for chunk in (None, 1, 3, 100):
        model = Vectors(3, similarity)
        loss = make_loss(model, stage(name, chunk=chunk), "dense", **how)
        made = loss([features(column) for column in columns], labels)
        made.backward()
        found.append((float(made.detach()), model.weight.grad))
    first, expected = found[0]
    for other, gradient in found[1:]:
        assert other == near(first)
        torch.testing.assert_close(gradient, expected)
        assert gradient.abs().sum() > 0


def test_equal_vectors_have_a_gradient() -> None:
    """The root of 0 has none, and Euclidean losses would be lost."""
    x = np.ones((2, 3))
    for name in ("triplet", "sampled"):
        model = Vectors(3, "euclidean")
        columns = [features(x), features(x), features(x + 1)]
        made = make_loss(model, stage(name), "dense")(columns, None)
        made.backward()
        assert model.weight.grad is not None
        assert torch.isfinite(model.weight.grad).all()


def test_all_trains_queries_only() -> None:
    matrix = torch.randn(4, 3, requires_grad=True)
    model = Vectors(3, "dot").float()
    loss = make_loss(model, stage("all"), "dense", documents=matrix)
    loss([features(torch.randn(2, 3))], torch.tensor([1, 3])).backward()
    assert model.weight.grad is not None
    assert matrix.grad is None
    assert not loss.matrix.requires_grad
    with pytest.raises(InputError, match="needs the vectors of all documents"):
        make_loss(model, stage("all"), "dense")


@pytest.mark.parametrize("name", SIMILARITIES)
def test_similarities_are_computed_in_single_precision(name: str) -> None:
    """bf16 cannot tell 200 from 200.5, and mixed precision would compute products in it."""
    a, b = 10 * torch.randn(5, 64), 10 * torch.randn(5, 64)
    expected = criteria.all_pairs(name)(a, b), criteria.row_by_row(name)(a, b)
    with torch.autocast("cpu", torch.bfloat16):
        found = criteria.all_pairs(name)(a, b), criteria.row_by_row(name)(a, b)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == torch.float32
        assert torch.equal(one, other)
    assert criteria.all_pairs(name)(a.bfloat16(), b.bfloat16()).dtype == torch.float32


# -- sparse vectors ---------------------------------------------------------------------------


def flops(vectors: Array) -> float:
    """Paria et al. 2020: the square of the mean activation, summed over the terms."""
    return float(sum(np.mean(vectors[:, j]) ** 2 for j in range(vectors.shape[1])))


@pytest.mark.parametrize("chunk", [None, 2])
@pytest.mark.parametrize("name", ["in-batch", "sampled", "margin-mse", "kl"])
def test_sparse_losses_are_regularised(name: str, chunk: int | None) -> None:
    rng = np.random.default_rng(1)
    model = Vectors(5, "dot", sparse=True)
    columns = [rng.normal(size=(4, 5)) for _ in range(4)]
    query, *docs = [np.maximum(c @ model.weight.detach().numpy(), 0) for c in columns]
    labels = LABELS[name](4, 3) if name in LABELS else None
    own = own_scores("dot", query, docs)
    plain = {
        "in-batch": lambda: in_batch(query @ np.concatenate(docs).T),
        "sampled": lambda: -log_softmax(own, axis=1)[:, 0].mean(),
        "margin-mse": lambda: ((own[:, :1] - own[:, 1:] - labels.numpy()) ** 2).mean(),
        "kl": lambda: (softmax(labels.numpy(), 1) * (log_softmax(labels.numpy(), 1) - log_softmax(own, 1))).sum(1).mean(),
    }[name]()  # fmt: skip
    expected = plain + QUERY_FLOPS * flops(query) + DOC_FLOPS * flops(np.concatenate(docs))
    loss = make_loss(model, stage(name, chunk=chunk), "sparse")
    parts = loss([features(column) for column in columns], labels)
    assert float(sum(parts.values()).detach()) == near(float(expected))
    assert float(parts["document_regularizer_loss"].detach()) > 0


# -- token vectors ----------------------------------------------------------------------------


def late_batch(rows: int, negatives: int, seed: int) -> tuple[list[Any], list[Any]]:
    rng = np.random.default_rng(seed)
    shapes = [(3, rng.integers(1, 4, rows)), *[(5, rng.integers(1, 6, rows))] * (1 + negatives)]
    columns = [(rng.normal(size=(rows, most, 4)), counts) for most, counts in shapes]
    return columns, [tokens(x, counts) for x, counts in columns]


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


def test_late_chunks_change_no_gradient() -> None:
    gradients = []
    for chunk in (None, 1, 3):
        model = Vectors(4, "maxsim")
        make_loss(model, stage("in-batch", chunk=chunk), "late")(late_batch(5, 2, 0)[1]).backward()
        gradients.append(model.weight.grad)
    for gradient in gradients[1:]:
        torch.testing.assert_close(gradient, gradients[0], rtol=1e-4, atol=1e-5)


def test_colberts_loss_is_that_of_one_negative() -> None:
    """Pairwise softmax cross-entropy: log(1 + exp(s_n - s_p))."""
    columns, laid = late_batch(4, 1, 3)
    model = Vectors(4, "maxsim")
    weight = model.weight.detach().numpy()
    (q, qc), (p, pc), (n, nc) = [(x @ weight, counts) for x, counts in columns]
    gold = np.array([maxsim(q[i], p[i], qc[i], pc[i]) for i in range(4)])
    other = np.array([maxsim(q[i], n[i], qc[i], nc[i]) for i in range(4)])
    found = make_loss(model, stage("sampled"), "late")(laid)
    assert float(found) == pytest.approx(np.log1p(np.exp(other - gold)).mean(), rel=1e-4)


# -- cross-encoders ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> dict[int, CrossEncoder]:
    root = tmp_path_factory.mktemp("readers")
    made = "BertForSequenceClassification"
    return {
        labels: CrossEncoder(str(save(root / str(labels), made, num_labels=labels)), device="cpu").eval()
        for labels in (1, 2)
    }  # fmt: skip


QUERIES = ["a cat", "the dog ran", "sea"]
LISTS = [["the cat sat", "a rat"], ["dogs", "cats", "a mat in the sun"], ["the sea", "on"]]


def logits(model: CrossEncoder, pairs: list[tuple[str, str]]) -> Any:
    return np.asarray(model.predict(pairs, activation_fn=torch.nn.Identity()), np.float64)


def test_pointwise(readers: Any) -> None:
    pairs = [(q, doc) for q, docs in zip(QUERIES, LISTS, strict=True) for doc in docs]
    y = np.array([1, 0, 1, 0, 0, 1, 0])
    p = 1 / (1 + np.exp(-logits(readers[1], pairs)))
    expected = -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean()
    found = make_loss(readers[1], stage("pointwise"), "cross")(
        list(zip(*pairs, strict=True)), torch.tensor(y)
    )
    assert float(found.detach()) == pytest.approx(expected, rel=1e-4)


def test_classes(readers: Any) -> None:
    pairs = [(q, doc) for q, docs in zip(QUERIES, LISTS, strict=True) for doc in docs]
    y = np.array([1, 0, 1, 0, 0, 1, 0])
    p = softmax(logits(readers[2], pairs), axis=1)
    expected = -np.log(p[np.arange(7), y]).mean()
    found = make_loss(readers[2], stage("classes"), "cross")(
        list(zip(*pairs, strict=True)), torch.tensor(y)
    )
    assert float(found.detach()) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("scale", [1.0, 0.3])
@pytest.mark.parametrize("name", ["pairwise", "listwise"])
def test_losses_over_lists(readers: Any, name: str, scale: float) -> None:
    """Of queries with differently many documents."""
    scores = [scale * logits(readers[1], [(q, d) for d in docs]) for q, docs in zip(QUERIES, LISTS, strict=True)]  # fmt: skip
    expected = {
        "pairwise": np.mean([np.log1p(np.exp(-(row[0] - n))) for row in scores for n in row[1:]]),
        "listwise": np.mean([-log_softmax(row)[0] for row in scores]),
    }[name]
    labels = [torch.tensor([1.0] + [0.0] * (len(docs) - 1)) for docs in LISTS]
    found = make_loss(readers[1], stage(name, scale=scale), "cross")([QUERIES, LISTS], labels)
    assert float(found.detach()) == pytest.approx(expected, rel=1e-4)


def test_the_gold_of_a_list_may_stand_anywhere(readers: Any) -> None:
    loss = make_loss(readers[1], stage("listwise"), "cross")
    first = loss([["a cat"], [["the sea", "cats", "a rat"]]], [torch.tensor([1.0, 0, 0])])
    last = loss([["a cat"], [["cats", "a rat", "the sea"]]], [torch.tensor([0, 0, 1.0])])
    assert float(first.detach()) == pytest.approx(float(last.detach()), rel=1e-5)


# -- several processes ------------------------------------------------------------------------

CASES: list[tuple[str, Any, int | None]] = [
    ("in-batch", "dense", None), ("in-batch", "dense", 2), ("in-batch", "sparse", None),
    ("in-batch", "sparse", 2), ("in-batch", "late", None), ("in-batch", "late", 2),
    ("sampled", "dense", None),
]  # fmt: skip


def trained(rank: int, world: int) -> list[tuple[Any, Any]]:
    """The mean losses and gradients of a batch of which each process has a share."""
    found = []
    for name, kind, chunk in CASES:
        similarity = {"dense": "dot", "sparse": "dot", "late": "maxsim"}[kind]
        model = Vectors(4, similarity, kind == "sparse")
        if kind == "late":
            laid = late_batch(6, 1, 5)[1]
        else:
            rng = np.random.default_rng(5)
            laid = [features(rng.normal(size=(6, 4))) for _ in range(3)]
        own = slice(rank * 6 // world, (rank + 1) * 6 // world)
        mine = [{key: value[own] for key, value in column.items()} for column in laid]
        made = make_loss(model, stage(name, chunk=chunk), kind)(mine, None)
        made = sum(made.values()) if isinstance(made, dict) else made
        made.backward()
        numbers = [made.detach(), model.weight.grad]
        if world > 1:
            for number in numbers:
                torch.distributed.all_reduce(number)
        found.append(tuple(number / world for number in numbers))
    return found


SCRIPT = """
import sys
import torch
from tests.unit.training.test_losses import trained
torch.distributed.init_process_group("gloo")
rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
found = trained(rank, world)
if rank == 0:
    torch.save(found, sys.argv[1])
torch.distributed.destroy_process_group()
"""


def test_two_processes_have_the_loss_of_one(tmp_path: Path) -> None:
    script = tmp_path / "shared.py"
    script.write_text(SCRIPT)
    places = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    env = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, places)),
    }
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
        str(script), str(tmp_path / "found.pt"),
    ]  # fmt: skip
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = torch.load(tmp_path / "found.pt")
    for case, (loss, gradient), (one, whole) in zip(CASES, found, trained(0, 1), strict=True):
        torch.testing.assert_close(gradient, whole, rtol=1e-4, atol=1e-5, msg=str(case))
        assert float(loss) == pytest.approx(float(one), rel=1e-4), case


# -- what a stage needs -----------------------------------------------------------------------

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
    check(replace(RECIPE, **recipe), given)


CROSS = {"kind": "cross", "encoders": 1}
AMISS: list[tuple[dict[str, Any], Stage, str]] = [
    ({}, stage("hinge"), "no loss 'hinge' (there are in-batch, sampled, all"),
    ({}, stage("classes"), "loss=classes is not for models of kind dense (for these there are in-"),
    (CROSS, stage("in-batch"), "kind cross (for these there are pointwise, classes, pairwise, listw"),
    ({}, stage("sampled"), "needs negatives of each row, 1 at least, and there are 0 (negatives=ran"),
    ({}, stage("sampled", count=3), "1 at least, and there are 0"),
    ({}, stage("triplet", negatives="random", count=2), "looks at 1 negative of a row, and there are 2 (count=1)"),
    ({}, stage("all", frozen="documents", negatives="random", count=2), "looks at no negatives of a row, and there are 2 (negatives=none)"),
    ({}, stage("all"), "so their encoder cannot change (frozen=documents)"),
    ({"encoders": 1}, stage("all", frozen="documents"), "share an encoder (encoders=2"),
    ({"kind": "late", "encoders": 1}, stage("in-batch", frozen="documents"), "share an encoder"),
    ({}, stage("kl", negatives="random", count=2), "learns the scores of a teacher, and there is none (teacher=MODEL"),
    ({}, stage("in-batch", teacher="t"), "does not look at a teacher's scores (leave teacher out, or loss=margin-mse or kl)"),
    (CROSS, stage("classes", negatives="random", count=1), "with labels=2, not 1 (labels=2)"),
    ({**CROSS, "labels": 2}, stage("pointwise", negatives="random", count=1), "with labels=1, not 2"),
    ({}, stage("triplet", negatives="random", count=1, scale=20.0), "scale=20: loss=triplet has no scale"),
    ({}, stage("triplet", negatives="random", count=1, margin=0.0), "margin=0 is not above 0"),
    ({}, stage("in-batch", scale=0.0), "scale=0 is not above 0"),
    ({}, stage("in-batch", batch=1), "has no negative in a batch of one row"),
    ({}, stage("in-batch", chunk=0), "chunk=0 is not at least 1"),
    ({"kind": "late", "encoders": 1}, stage("sampled", negatives="random", count=1, chunk=2), "cannot be computed in chunks for models of kind late (a smaller batch, or loss=in-batch)"),
    (CROSS, stage("listwise", negatives="random", count=1, chunk=2), "for models of kind cross (a smaller batch)"),
]  # fmt: skip


@pytest.mark.parametrize(("recipe", "given", "expected"), AMISS)
def test_a_stage_that_does_not_fit(recipe: dict[str, Any], given: Stage, expected: str) -> None:
    with pytest.raises(InputError) as said:
        check(replace(RECIPE, **recipe), given)
    assert expected in str(said.value)


@pytest.mark.parametrize(("name", "kind"), [("hinge", "dense"), ("classes", "late")])
def test_a_loss_that_cannot_be_made(name: str, kind: Any) -> None:
    with pytest.raises(InputError, match=r"no loss|is not for models of kind late"):
        make_loss(Vectors(2, "dot"), stage(name), kind)
