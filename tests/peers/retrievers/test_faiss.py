"""Vector search with faiss, against exact comparison of the same vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, id_array
from irtoolkit.retrievers import faiss as module
from irtoolkit.retrievers.base import Hits, Retriever, Scorer
from irtoolkit.retrievers.dense import Dense, VectorRetriever
from irtoolkit.retrievers.engine import Ties, rank
from irtoolkit.retrievers.faiss import Faiss
from irtoolkit.retrievers.task import QueryGroup, Task, load_task
from tests.datasets import Known, register, table

Vectors = NDArray[np.float32]
WIDTH, CLUSTERED, CLUSTERS, ASKED = 32, 3000, 40, 60


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where indices are kept; and one thread, because tests run side by side."""
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    yield tmp_path / "cache" / "faiss"
    faiss.omp_set_num_threads(threads)


@pytest.fixture
def task_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Task]:
    """Makes vectors a task: task_of(queries, docs, pools)."""

    def make(queries: Any, docs: Any, pools: dict[str, list[str]] | None = None) -> Task:
        vectors = {f"query {i}": vector for i, vector in enumerate(queries)}
        vectors |= {f"doc {i}": vector for i, vector in enumerate(docs)}
        made = {text: (np.asarray(vector, np.float32),) for text, vector in vectors.items()}
        encoder = Known(tmp_path / "vectors", made, "l2")
        monkeypatch.setattr(VectorRetriever, "encoder", lambda self, side: encoder)
        asked = {f"q{i}": f"query {i}" for i in range(len(queries))}
        shown = {f"d{i}": f"doc {i}" for i in range(len(docs))}
        return load_task(register(shown, asked, pools))

    return make


def clustered(seed: int = 0) -> tuple[Vectors, Vectors]:
    """Queries, and documents of which they are near some."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(CLUSTERS, WIDTH))
    docs = centres[np.arange(CLUSTERED) % CLUSTERS] + 0.5 * rng.normal(size=(CLUSTERED, WIDTH))
    queries = docs[:ASKED] + 0.2 * rng.normal(size=(ASKED, WIDTH))
    return queries.astype(np.float32), docs.astype(np.float32)


def few() -> tuple[Vectors, Vectors]:
    queries, docs = clustered()
    return queries[:20], docs[:400]


def ranked(task: Task, retriever: Retriever, **options: Any) -> dict[str, list[tuple[str, float]]]:
    run = rank(task, retriever, progress=False, **options)
    return {q: [(row.doc_id, row.score) for row in run.ranking(q)] for q in run.query_ids}


# -- exact search -----------------------------------------------------------------------------


@pytest.mark.parametrize(("similarity", "asked"), [("cosine", 3), ("dot", ASKED), ("l2", ASKED)])
def test_flat_is_dense(task_of: Callable[..., Task], similarity: Any, asked: int) -> None:
    """With few queries faiss compares vector by vector, with more it multiplies matrices."""
    queries, docs = clustered()
    # Some documents twice, some queries documents; and one of nothing.
    docs[1000:1050] = docs[:50]
    queries[:3] = docs[:3]
    queries[2] = docs[7] = 0
    task = task_of(queries[:asked], docs)
    exact = ranked(task, Dense(similarity=similarity, device="cpu"), depth=50)
    found = ranked(task, Faiss(similarity=similarity, hits=200), depth=50)
    for query, rows in exact.items():
        if query == "q2" and similarity != "l2":
            continue  # it is as near to everything, and 200 hits are any 200
        # A product may differ in its last bit between two places, on some processors: twins have one name.
        assert [twin(doc) for doc, _ in found[query]] == [twin(doc) for doc, _ in rows]
        assert [score for _, score in found[query]] == pytest.approx(
            [score for _, score in rows], rel=1e-5, abs=1e-5
        )


def twin(doc: str) -> int:
    """The number of a document, or that of the one that it repeats."""
    number = int(doc[1:])
    return number - 1000 if 1000 <= number < 1050 else number


def test_flat_over_pools_is_dense(task_of: Callable[..., Task]) -> None:
    queries, docs = clustered()
    pools = {
        "q0": [f"d{i}" for i in range(0, 300, 3)],
        "q1": ["d5", "d1"],
        "q2": [],
        "q3": ["d5", "d1"],
    }
    task = task_of(queries[:4], docs[:300], pools)
    exact = table(task, Dense(similarity="l2", device="cpu"))
    found = table(task, Faiss(similarity="l2"))
    assert found == pytest.approx(exact, rel=1e-5, abs=1e-5)
    assert len(found) == 104


def test_nothing_is_nearer_than_the_same(task_of: Callable[..., Task]) -> None:
    """Far from the origin, |a|² - 2ab + |b|² would lose what is between two vectors."""
    docs = 1000 + np.random.default_rng(0).normal(size=(40, WIDTH)).astype(np.float32)
    found = ranked(task_of(docs, docs), Faiss(similarity="l2"), depth=1)
    assert {query: row[0][0] for query, row in found.items()} == {
        f"q{i}": f"d{i}" for i in range(40)
    }
    assert all(row[0][1] == pytest.approx(0, abs=1e-5) for row in found.values())


# -- approximate search -----------------------------------------------------------------------


def recall(task: Task, retriever: Faiss) -> float:
    """The part of the ten best that is found."""
    exact = ranked(task, Faiss(similarity=retriever.similarity), depth=10)
    found = ranked(task, retriever, depth=10)
    return float(
        np.mean([len({d for d, _ in exact[q]} & {d for d, _ in found[q]}) / 10 for q in exact])
    )


@pytest.mark.parametrize("similarity", ["dot", "l2"])
def test_a_graph_finds_most(task_of: Callable[..., Task], similarity: Any) -> None:
    task = task_of(*clustered())
    assert recall(task, Faiss(index="hnsw", similarity=similarity)) >= 0.95


def test_compressed_vectors_find_much(task_of: Callable[..., Task]) -> None:
    """A byte for two dimensions; in clusters that are as wide as these, neighbours are close."""
    task = task_of(*clustered())
    retriever = Faiss(index="ivfpq", similarity="cosine", subvectors=16)
    assert recall(task, retriever) >= 0.7
    # A byte for all of them tells clusters apart and little else.
    coarse = Faiss(index="ivfpq", similarity="cosine", subvectors=1)
    assert 0.1 <= recall(task, coarse) < recall(task, retriever)


def test_more_probes_find_more(task_of: Callable[..., Task]) -> None:
    task = task_of(*clustered())
    few, many = (
        recall(task, Faiss(index="ivfpq", subvectors=16, lists=CLUSTERS, probes=probes, hits=50))
        for probes in (1, CLUSTERS)
    )
    assert few < many


def test_the_settings_of_the_graph_reach_it(
    task_of: Callable[..., Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    original = Faiss._index

    def noted(self: Faiss, *args: Any) -> Any:
        seen.append(original(self, *args))
        return seen[-1]

    monkeypatch.setattr(Faiss, "_index", noted)
    task = task_of(*clustered())
    ranked(task, Faiss(index="hnsw", m=7, ef_construction=21, ef_search=33), depth=1)
    graph = seen[-1].hnsw
    assert (graph.nb_neighbors(1), graph.efConstruction, graph.efSearch) == (7, 21, 33)
    ranked(task, Faiss(index="ivfpq", lists=11, probes=5, subvectors=4), depth=1)
    assert (seen[-1].nlist, seen[-1].nprobe, seen[-1].pq.M) == (11, 5, 4)


def test_a_seed_is_a_training(task_of: Callable[..., Task]) -> None:
    task = task_of(*clustered())

    def scores(seed: int) -> Any:
        return ranked(task, Faiss(index="ivfpq", subvectors=4, lists=8, seed=seed), depth=5)

    first, other = scores(0), scores(1)
    assert first != other
    for path in (module.cache_home() / "faiss").glob("*.faiss"):
        path.unlink()
    assert scores(0) == first


# -- hits -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found(Retriever):
    """Hits that are given."""

    hits: Hits

    def scorer(self, task: Task) -> Scorer:
        def block(queries: Ints) -> Hits:
            return Hits(self.hits.places[queries], self.hits.scores[queries])

        return lambda docs: block


def hits_task(docs: list[int], queries: int) -> Task:
    """One group, whose candidates are some of the documents a to f."""
    group = QueryGroup(np.arange(queries), np.array(docs, np.int64))
    ids = id_array([f"q{i}" for i in range(queries)])
    return Task("some/dataset", ids, id_array([*"abcdef"]), (group,))


# What faiss puts where it has found nothing.
LOW = float(-np.finfo(np.float32).max)
FOUND = Found(
    Hits(
        np.array([[2, 0, -1], [-1, -1, -1], [1, 3, 2], [-1, 0, -1]]),
        np.array([[0.5, 0.25, LOW], [LOW, LOW, LOW], [1, 1, 2], [LOW, 3, LOW]], np.float32),
    )
)
WANTED = {"q0": ["f", "a"], "q1": ["f"], "q2": ["b", "d", "a"], "q3": ["c", "nobody"]}


@pytest.mark.parametrize(
    ("ties", "depth", "cells"), [("trec", None, 8), ("pool", 2, 1 << 25), ("trec", 1, 1)]
)
def test_rows_with_fewer_hits_are_shorter(
    monkeypatch: pytest.MonkeyPatch, ties: Ties, depth: int | None, cells: int
) -> None:
    monkeypatch.setattr("irtoolkit.retrievers.engine.BLOCK_CELLS", cells)
    run = rank(hits_task([5, 1, 0, 3], 4), FOUND, depth=depth, ties=ties, progress=False)
    tied = ["d", "b"] if ties == "trec" else ["b", "d"]
    expected = {"q0": ["a", "f"], "q1": [], "q2": ["a", *tied], "q3": ["f"]}
    assert {q: [row.doc_id for row in run.ranking(q)] for q in run.query_ids} == {
        query: docs[:depth] for query, docs in expected.items()
    }
    assert len(run) == len(run.scores) == run.offsets[-1]
    assert [row.score for row in run.ranking("q0")] == [0.5, 0.25][:depth]


@pytest.mark.parametrize("ties", ["trec", "pool"])
def test_only_what_was_found_is_located(ties: Ties) -> None:
    task = hits_task([5, 1, 0, 3], 4)
    run = rank(task, FOUND, WANTED, depth=1, ties=ties, progress=False)
    tied = {"b": 3, "d": 2} if ties == "trec" else {"b": 2, "d": 3}
    assert run.exact_ranks == {
        "q0": {"f": 2, "a": 1},
        "q2": {"a": 1, **tied},
    }


def test_a_search_of_few_cells_finds_fewer(task_of: Callable[..., Task]) -> None:
    queries, docs = clustered()
    task = task_of(queries, docs)
    retriever = Faiss(index="ivfpq", subvectors=8, lists=CLUSTERS, probes=1, hits=1000)
    wanted = {f"q{i}": ["d0", f"d{i}"] for i in range(ASKED)}
    run = rank(task, retriever, wanted, depth=900, progress=False)
    counts = [len(run.ranking(query)) for query in run.query_ids]
    assert 0 < min(counts) <= max(counts) < 900
    ranks = run.exact_ranks or {}
    for query, docs_wanted in wanted.items():
        places = {row.doc_id: at for at, row in enumerate(run.ranking(query), 1)}
        assert ranks.get(query, {}) == {doc: places[doc] for doc in docs_wanted if doc in places}
    assert sum(map(len, ranks.values())) < 2 * ASKED - 1, "some are in no cell searched"


# -- kept indices -----------------------------------------------------------------------------


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of the indices that are made from now on."""
    kinds: list[str] = []
    original = Faiss._made

    def noted(self: Faiss, *args: Any) -> Any:
        kinds.append(self.index)
        return original(self, *args)

    monkeypatch.setattr(Faiss, "_made", noted)
    return kinds


SMALL: dict[str, Any] = {"subvectors": 4, "lists": 8}


@pytest.mark.parametrize("index", ["flat", "hnsw", "ivfpq"])
def test_a_second_run_makes_no_index(
    task_of: Callable[..., Task], made: list[str], cache: Path, index: Any
) -> None:
    task = task_of(*few())
    first = ranked(task, Faiss(index=index, **SMALL), depth=20)
    assert made == [index]
    assert ranked(task, Faiss(index=index, **SMALL), depth=20) == first
    # What only a search is told leaves the index as it is.
    ranked(task, Faiss(index=index, **SMALL, ef_search=9, probes=2, hits=30), depth=20)
    assert made == [index]
    assert len(list(cache.glob("*.faiss"))) == 1
    assert not list(cache.glob(".*.tmp"))


@pytest.mark.parametrize(
    ("index", "other"),
    [
        ("flat", {"similarity": "dot"}),
        ("hnsw", {"ef_construction": 40}),
        ("ivfpq", {"lists": 9}),
        ("ivfpq", {"seed": 1}),
    ],
)
def test_what_decides_an_index_makes_another(
    task_of: Callable[..., Task], made: list[str], index: Any, other: dict[str, Any]
) -> None:
    task = task_of(*few())
    ranked(task, Faiss(index=index, **SMALL), depth=1)
    ranked(task, Faiss(index=index, **{**SMALL, **other}), depth=1)
    assert made == [index] * 2
    # And nothing else does: these are the settings of other kinds.
    if index == "flat":
        ranked(task, Faiss(m=3, ef_construction=9, lists=2, subvectors=7, seed=5), depth=1)
        assert made == [index] * 2


@pytest.mark.parametrize(
    ("index", "damage"),
    [("flat", "overwritten"), ("hnsw", "emptied"), ("ivfpq", "cut")],
)
def test_a_damaged_index_is_refused_by_name(
    task_of: Callable[..., Task], cache: Path, index: Any, damage: str
) -> None:
    task = task_of(*few())
    ranked(task, Faiss(index=index, **SMALL), depth=1)
    (path,) = cache.glob("*.faiss")
    data = path.read_bytes()
    path.write_bytes(
        {
            "cut": data[: len(data) // 2],
            "emptied": b"",
            "overwritten": data[:8] + b"\xff" * 64 + data[72:],
        }[damage]
    )
    with pytest.raises(InputError, match="damaged index") as caught:
        ranked(task, Faiss(index=index, **SMALL), depth=1)
    assert caught.value.file == str(path)
    assert "\n" not in str(caught.value)
    path.unlink()
    assert ranked(task, Faiss(index=index, **SMALL), depth=1)


def test_an_index_that_was_not_finished_is_not_there(
    task_of: Callable[..., Task], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_bytes

    def fail(path: Path, content: Any) -> None:
        write(path, content[: len(content) // 2])
        raise KeyboardInterrupt

    task = task_of(*clustered())
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", fail)
        with pytest.raises(KeyboardInterrupt):
            ranked(task, Faiss(), depth=1)
    assert not list(cache.glob("*.faiss"))
    assert not list(cache.glob(".*.tmp"))
    assert ranked(task, Faiss(), depth=1)


# -- settings ---------------------------------------------------------------------------------


@pytest.mark.parametrize("subvectors", [5, WIDTH + 1])
def test_subvectors_that_do_not_divide_are_refused(
    task_of: Callable[..., Task], subvectors: int
) -> None:
    with pytest.raises(InputError, match=f"subvectors={subvectors} does not divide") as caught:
        ranked(task_of(*clustered()), Faiss(index="ivfpq", subvectors=subvectors))
    assert "2, 4, 8, 16, 32" in str(caught.value)


@pytest.mark.parametrize(("count", "settings"), [(77, {}), (100, {"lists": 101})])
def test_documents_that_do_not_train_an_index_are_compared_as_by_flat(
    task_of: Callable[..., Task], caplog: pytest.LogCaptureFixture, count: int,
    settings: dict[str, Any],
) -> None:  # fmt: skip
    queries, docs = clustered()
    task = task_of(queries, docs[:count])
    found = ranked(task, Faiss(index="ivfpq", subvectors=8, **settings))
    assert found == ranked(task, Faiss(index="flat"))
    takes = max(78, settings.get("lists", 0))
    assert [one.getMessage() for one in caplog.records] == [
        f"{count} documents are too few for index=ivfpq, which takes {takes}: compared as by index=flat"
    ]


def test_hits_that_tie_with_the_last_are_found_too() -> None:
    """Ids decide which of them are kept, and not where they are in the index."""
    import faiss

    from irtoolkit.retrievers.faiss_index import with_ties

    index: Any = faiss.IndexFlat(4, faiss.METRIC_INNER_PRODUCT)
    index.add(np.ones((100, 4), np.float32))
    _, places = with_ties(index, np.ones((2, 4), np.float32), 3, 100)
    assert sorted(places[0]) == list(range(100))
