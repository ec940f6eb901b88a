"""Late interaction from a compressed index, against exact comparison of the same vectors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

from irtoolkit.base.errors import InputError
from irtoolkit.retrievers import residuals
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.late import Late
from irtoolkit.retrievers.plaid import Plaid
from irtoolkit.retrievers.residuals import Compression, Residuals
from irtoolkit.retrievers.task import Task, load_task
from tests.datasets import POOLS, Known, register, table
from tests.tiny import DIMENSIONS, save, save_colbert, sentence_model

WIDTH, DOCS, ASKED, TOPICS = 16, 600, 25, 50


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "plaid"


@pytest.fixture
def task_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Task]:
    """Makes token vectors a task: task_of(queries, docs, pools)."""

    def make(queries: Any, docs: Any, pools: Any = None, how: str = "MaxSim") -> Task:
        made = {f"query {i}": (vectors,) for i, vectors in enumerate(queries)}
        made |= {f"doc {i}": (vectors,) for i, vectors in enumerate(docs)}
        encoder = Known(tmp_path / "vectors", made, how)
        monkeypatch.setattr(Late, "encoder", lambda self, side: encoder)
        asked = {f"q{i}": f"query {i}" for i in range(len(queries))}
        return load_task(register({f"d{i}": f"doc {i}" for i in range(len(docs))}, asked, pools))

    return make


def unit(vectors: Any) -> Any:
    scaled = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled.astype(np.float32)


def planted(seed: int = 0) -> tuple[list[Any], list[Any]]:
    """Documents of tokens near the centres of topics, and queries near tokens of one document."""
    draw = np.random.default_rng(seed)
    centres = draw.normal(size=(TOPICS, WIDTH))
    docs = []
    for _ in range(DOCS):
        own = draw.choice(TOPICS, 4)[draw.integers(0, 4, draw.integers(3, 20))]
        docs.append(unit(centres[own] + 0.4 * draw.normal(size=(len(own), WIDTH))))
    queries = [
        unit(doc[:5] + 0.1 * draw.normal(size=(min(5, len(doc)), WIDTH))) for doc in docs[:ASKED]
    ]
    return queries, docs


def ranked(task: Task, retriever: Any, depth: int) -> dict[str, list[tuple[str, float]]]:
    run = rank(task, retriever, depth=depth, progress=False)
    return {q: [(row.doc_id, row.score) for row in run.ranking(q)] for q in run.query_ids}


def recall(exact: Any, found: Any) -> float:
    shares = [
        len({d for d, _ in exact[q]} & {d for d, _ in found[q]}) / len(exact[q]) for q in exact
    ]
    return float(np.mean(shares))


@pytest.mark.parametrize(("nbits", "least"), [(1, 0.85), (4, 0.95)])
def test_most_of_the_best_are_found_with_their_exact_scores(
    task_of: Callable[..., Task], nbits: Any, least: float
) -> None:
    task = task_of(*planted())
    exact = ranked(task, Late(device="cpu"), 10)
    retriever = Plaid(nbits=nbits, probes=16, candidates=60, hits=15, device="cpu")
    found = ranked(task, retriever, 10)
    assert recall(exact, found) >= least
    every = ranked(task, Late(device="cpu"), DOCS)
    for query, rows in found.items():
        scores = dict(every[query])
        assert [score for _, score in rows] == pytest.approx([scores[doc] for doc, _ in rows])


def test_more_bits_and_more_probes_find_more(task_of: Callable[..., Task]) -> None:
    task = task_of(*planted(1))
    exact = ranked(task, Late(device="cpu"), 10)

    def of(**settings: Any) -> float:
        return recall(exact, ranked(task, Plaid(device="cpu", hits=10, **settings), 10))

    # With so few hits the compressed scores alone decide which they are.
    assert of(nbits=1) < of(nbits=4)
    # With so few candidates the centroids alone do.
    assert of(nbits=4, candidates=10) < of(nbits=4, candidates=100)
    assert of(nbits=4, centroids=64, probes=1) < of(nbits=4, centroids=64, probes=8)


def test_all_centroids_and_all_documents_are_late(task_of: Callable[..., Task]) -> None:
    queries, docs = planted()
    docs[5] = docs[6] = docs[7]  # equal documents have equal scores
    task = task_of(queries, docs)
    settings = {"centroids": 30, "probes": 30, "candidates": DOCS, "hits": DOCS}
    exact = rank(task, Late(device="cpu"), {"q1": ["d7"]}, progress=False)
    found = rank(task, Plaid(device="cpu", **settings), {"q1": ["d7"]}, progress=False)
    assert found.exact_ranks == exact.exact_ranks
    for a, b in zip(exact.query_ids, found.query_ids, strict=True):
        mine, theirs = found.ranking(b), exact.ranking(a)
        assert [row.doc_id for row in mine] == [row.doc_id for row in theirs]
        assert [r.score for r in mine] == pytest.approx([r.score for r in theirs], rel=1e-6)


def test_pools_have_an_index_each(task_of: Callable[..., Task], cache: Path) -> None:
    pools = {"q0": [f"d{i}" for i in range(40)], "q1": ["d5", "d1"], "q2": [], "q3": ["d5", "d1"]}
    queries, docs = planted()
    task = task_of(queries[:4], docs[:40], pools)
    exact, found = (ranked(task, r, 5) for r in (Late(device="cpu"), Plaid(device="cpu")))
    assert {q: [d for d, _ in rows] for q, rows in found.items()} == {
        q: [d for d, _ in rows] for q, rows in exact.items()
    }
    assert len(list(cache.iterdir())) == 2


def test_an_index_is_made_once(
    task_of: Callable[..., Task], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(*planted())
    first = ranked(task, Plaid(device="cpu"), 10)
    (folder,) = cache.iterdir()
    monkeypatch.setattr(residuals, "write", None)
    again = Plaid(device="cpu", probes=4, hits=1000)
    assert ranked(task, again, 10) == first
    data = (folder / "codes.npy").read_bytes()
    (folder / "codes.npy").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(
        InputError, match=r"damaged index: codes\.npy is not what was written"
    ) as caught:
        ranked(task, again, 10)
    assert caught.value.remedy == "delete it"


def test_an_index_that_is_not_finished_is_not_kept(
    task_of: Callable[..., Task], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(*planted())

    def full(*args: Any) -> Any:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(residuals, "_lists", full)
        with pytest.raises(InputError, match="cannot write: No space left on device"):
            ranked(task, Plaid(device="cpu"), 10)
    assert not list(cache.iterdir())
    assert ranked(task, Plaid(device="cpu"), 10)
    assert len(list(cache.iterdir())) == 1


def test_parts_change_nothing(
    task_of: Callable[..., Task], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(*planted())
    first = ranked(task, Plaid(device="cpu", hits=20), 20)
    (folder,) = cache.iterdir()
    sums = (folder / "sums.json").read_bytes()
    folder.rename(cache.parent / "moved")
    monkeypatch.setattr(residuals, "_PART", 30)
    assert ranked(task, Plaid(device="cpu", hits=20), 20) == first
    assert (folder / "sums.json").read_bytes() == sums


def test_documents_without_tokens_are_not_found(task_of: Callable[..., Task]) -> None:
    queries, docs = planted()
    docs[3] = docs[4] = np.empty((0, WIDTH), np.float32)
    found = ranked(task_of(queries, docs), Plaid(device="cpu"), 1000)
    assert not any(doc in ("d3", "d4") for rows in found.values() for doc, _ in rows)
    with pytest.raises(InputError, match="documents without a token cannot be indexed"):
        ranked(task_of(queries, docs, {"q0": ["d3", "d4"]}), Plaid(device="cpu"), 1000)


@pytest.mark.parametrize("settings", [{}, {"centroids": 64}, {"probes": 1}])
def test_repeated_documents_are_all_found(task_of: Callable[..., Task], settings: Any) -> None:
    """As `late` finds them, where k-means would make equal centroids of equal vectors."""
    draw = np.random.default_rng(0)
    passage = unit(draw.normal(size=(8, WIDTH)))
    task = task_of([passage], [passage] * 100)
    late = ranked(task, Late("m"), 100)
    assert ranked(task, Plaid("m", **settings), 100) == late
    assert len(late["q0"]) == 100


def test_repeated_documents_are_found_among_others(task_of: Callable[..., Task]) -> None:
    draw = np.random.default_rng(1)
    passage = unit(draw.normal(size=(6, WIDTH)))
    others = [unit(draw.normal(size=(8, WIDTH))) for _ in range(50)]
    task = task_of([passage], others + [passage] * 150)
    found = ranked(task, Plaid("m", hits=150), 150)
    assert found == ranked(task, Late("m"), 150)
    assert {doc for doc, _ in found["q0"]} == {f"d{i}" for i in range(50, 200)}


@pytest.mark.parametrize("cut", [{"candidates": 10}, {"hits": 10}])
def test_equal_documents_are_cut_in_the_order_of_late(
    task_of: Callable[..., Task], cut: dict[str, int]
) -> None:
    passage = unit(np.random.default_rng(2).normal(size=(5, WIDTH)))
    task = task_of([passage], [passage] * 40)
    assert ranked(task, Plaid("m", **cut), 10) == ranked(task, Late("m"), 10)


def test_documents_are_found_behind_deleted_ones(tmp_path: Path) -> None:
    """Also where the probed centroids have deleted documents alone."""
    draw = np.random.default_rng(3)
    near, far = unit(draw.normal(size=(2, 6, WIDTH)).reshape(12, WIDTH)).reshape(2, 6, WIDTH)
    docs = np.concatenate([near, far])
    residuals.fill(tmp_path, _Two(docs), Compression(2, 12, 0))
    arrays = [np.load(tmp_path / f"{name}.npy") for name in residuals.ARRAYS]
    names = np.arange(2)
    found = Plaid("m", probes=1, hits=1).found(
        Residuals(*arrays), near, names, np.array([False, True])
    )
    assert found.tolist() == [1]


class _Two:
    """Two documents of as many tokens."""

    def __init__(self, vectors: Any) -> None:
        self.vectors, self.counts = vectors, np.full(2, len(vectors) // 2)

    def of(self, docs: Any) -> Any:
        return np.concatenate([np.split(self.vectors, 2)[doc] for doc in docs])


@pytest.mark.parametrize(("how", "stored"), [("MaxSim", "fp16"), ("meanmaxsim", "int8")])
def test_a_tiny_colbert_ranks_as_late_does(tmp_path: Path, how: str, stored: Any) -> None:
    folder = str(save_colbert(tmp_path / "colbert"))
    if how == "meanmaxsim":
        model = MultiVectorEncoder(folder, device="cpu")
        model.similarity_fn_name = how
        folder = str(tmp_path / "saved")
        model.save(folder)
    exact = table(register(), Late(folder, stored=stored, device="cpu"))
    found = table(register(), Plaid(folder, stored=stored, device="cpu", probes=1 << 10))
    assert found == pytest.approx(exact, rel=1e-5)


def test_a_dense_model_is_found_by_its_tokens(tmp_path: Path) -> None:
    """With the scores that `late` gives, as all its centroids are searched."""
    bert = str(save(tmp_path / "bert"))
    folder = str(sentence_model(tmp_path / "mean", Transformer(bert), Pooling(DIMENSIONS, "mean")))
    name = register(pools=POOLS)
    exact = table(name, Late(folder, device="cpu"))
    found = table(name, Plaid(folder, device="cpu", centroids=8, probes=8))
    assert found == pytest.approx(exact, abs=1e-5)
    assert Plaid(folder, device="cpu").index_settings()["kind"] == "dense"
