"""Losses against their papers' equations, restated over random vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sentence_transformers import CrossEncoder

from irtoolkit.base.errors import InputError
from irtoolkit.training import loss_modules
from irtoolkit.training.loss_makers import DOC_FLOPS, QUERY_FLOPS
from irtoolkit.training.losses import LOSSES, make_loss
from irtoolkit.training.recipes import Stage
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


def near(expected: float) -> Any:
    return pytest.approx(expected, rel=1e-5, abs=1e-7)


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


# -- what a stage needs -----------------------------------------------------------------------


@pytest.mark.parametrize(("name", "kind"), [("hinge", "dense"), ("classes", "late")])
def test_a_loss_that_cannot_be_made(name: str, kind: Any) -> None:
    with pytest.raises(InputError, match=r"no loss|is not for models of kind late"):
        make_loss(Vectors(2, "dot"), stage(name), kind)


@pytest.mark.parametrize("name", SIMILARITIES)
def test_similarities_are_computed_in_single_precision(name: str) -> None:
    """bf16 cannot tell 200 from 200.5, and mixed precision would compute products in it."""
    a, b = 10 * torch.randn(5, 64), 10 * torch.randn(5, 64)
    expected = loss_modules.all_pairs(name)(a, b), loss_modules.row_by_row(name)(a, b)
    with torch.autocast("cpu", torch.bfloat16):
        found = loss_modules.all_pairs(name)(a, b), loss_modules.row_by_row(name)(a, b)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == torch.float32
        assert torch.equal(one, other)
    assert loss_modules.all_pairs(name)(a.bfloat16(), b.bfloat16()).dtype == torch.float32
