"""Indexes of learned sparse retrieval, faiss and PLAID: as `retrieve` ranks, in shards, and changed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.ranking import build_index
from irtoolkit.ranking.memory_index import MemoryIndex
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers import create_retriever, index_sources
from irtoolkit.retrievers.stored_index import StoredIndex
from tests.tiny import WORDS, save, save_colbert

WORD = WORDS[:60]
DOCS = {
    f"d{n}": " ".join(random.Random(n).choices(WORD, weights=range(1, len(WORD) + 1), k=1 + n % 9))
    for n in range(120)
}
QUERIES = [" ".join(random.Random(1000 + n).choices(WORD, k=1 + n % 4)) for n in range(5)]
EVERY = {"probes": 1 << 20, "candidates": 1 << 20}
# The retriever, its settings, the exact retriever whose scores it has, and whether all is found.
CASES: dict[str, tuple[str, dict[str, Any], str, bool]] = {
    "sparse": ("sparse", {}, "sparse", True),
    "flat": ("faiss", {}, "dense", True),
    "hnsw": ("faiss", {"index": "hnsw", "similarity": "l2"}, "dense", False),
    "ivfpq": ("faiss", {"index": "ivfpq", "subvectors": 8, "probes": 99}, "dense", True),
    "plaid": ("plaid", {"nbits": 4, "centroids": 8}, "late", False),
    "plaid-every": ("plaid", {"centroids": 8, **EVERY}, "late", True),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Settings that name a model of each family."""
    root = tmp_path_factory.mktemp("models")
    bert = {"model": str(save(root / "bert")), "pooling": "cls"}
    late = {"model": str(save_colbert(root / "late"))}
    sparse = {"model": str(save(root / "masked", "BertForMaskedLM"))}
    return {"sparse": sparse, "faiss": bert, "dense": bert, "plaid": late, "late": late}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(index_sources, "_READ_DOCS", 40)
    monkeypatch.setattr(index_sources, "BLOCK_DOCS", 40)


def rows(index: Any, depth: int = 30) -> list[list[tuple[str, float]]]:
    run = index.search_many(QUERIES, k=depth)
    return [
        [(row.doc_id, row.score) for row in run.ranking(str(number))]
        for number in range(len(QUERIES))
    ]


@pytest.mark.parametrize("case", CASES)
def test_an_index_of_a_kind(case: str, models: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    name, settings, exactly, whole = CASES[case]
    system = find_system(name, {**models[name], **settings})

    def built(place: str, docs: dict[str, str], memory: int = 1 << 30) -> StoredIndex:
        data = ir.load(docs, name="first")
        return build_index.build(data, system, tmp_path / place, memory=memory, progress=False)

    one, many = built("one", DOCS), built("many", DOCS, 1)
    assert [len(index.manifest.shards) for index in (one, many)] == [1, 3]
    similarity = {"similarity": settings["similarity"]} if "similarity" in settings else {}
    exact = find_system(exactly, {**models[exactly], **similarity})
    known = [dict(own) for own in rows(MemoryIndex(ir.load(DOCS), exact), len(DOCS))]
    for index in (one, many):
        for own, found in zip(known, rows(index), strict=True):
            # What is found has the score that comparing everything gives it.
            assert found
            assert [own[doc] for doc, _ in found] == pytest.approx(
                [score for _, score in found], abs=1e-4
            )
            if whole:
                best = sorted(own.values(), reverse=True)[: len(found)]
                assert [score for _, score in found] == pytest.approx(best, abs=1e-4)
        ranked = index.exact_ranks(["0"], [(QUERIES[0],)], {"0": [*DOCS, "missing"]})["0"]
        assert [ranked[doc] for doc, _ in rows(index)[0]] == list(range(1, len(rows(index)[0]) + 1))
    if whole:
        assert rows(one) == rows(many)
    before = rows(one)
    gone = [doc for doc, _ in before[0][:5]] + ["d3"]
    less, fewer = one.delete(gone), many.delete(gone)
    left = built("left", {doc: text for doc, text in DOCS.items() if doc not in gone})
    assert not {doc for own in rows(less) for doc, _ in own} & set(gone)
    if whole:
        assert rows(less) == rows(fewer) == rows(left)
    merged = fewer.merge()
    assert rows(merged) == rows(left)
    assert merged.verify() == left.verify() > 10
    again = merged.add({doc: DOCS[doc] for doc in dict.fromkeys(gone)})
    assert len(again) == len(DOCS)
    if whole:
        assert rows(again) == before


def test_an_index_of_faiss_that_is_damaged_says_so(
    models: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    settings = {**models["faiss"], "index": "hnsw"}
    index = ir.index(ir.load(DOCS), "faiss", tmp_path / "index", progress=False, **settings)
    (path,) = (tmp_path / "index").rglob("index.faiss")
    path.write_bytes(b"\0" * path.stat().st_size)
    with pytest.raises(InputError, match=r"index\.faiss: damaged: .*--replace"):
        ir.open_index(tmp_path / "index").search("a")
    assert isinstance(index, StoredIndex)
    with pytest.raises(InputError, match=r"index\.faiss: damaged: its bytes"):
        index.verify()


def test_presets_that_take_one_folder_of_weights_in_other_ways_have_other_indexes(
    models: dict[str, dict[str, Any]],
) -> None:
    bert = models["dense"]["model"]
    kept = [
        create_retriever("dense", {"model": model, "weights": bert}).index_format()
        for model in ("all-MiniLM-L6-v2", "SPECTER", bert)
    ]
    settings = [form.settings for form in kept if form is not None]
    assert len({form["model"] for form in settings}) == 1
    assert settings[0] != settings[1] != settings[2]


@pytest.mark.parametrize("pairs", [False, True])
def test_faiss_flat_orders_equal_scores_as_dense_does(
    pairs: bool, models: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    texts = [" ".join(random.Random(n).choices(WORD, k=1 + n % 9)) for n in range(50)]
    docs = {f"d{n:03}": texts[n % 50] if pairs else texts[5] for n in range(100)}
    exact = find_system("dense", models["dense"])
    found = find_system("faiss", {**models["faiss"], "hits": 15})
    wanted = [[doc for doc, _ in own] for own in rows(MemoryIndex(ir.load(docs), exact), 15)]
    made: list[Any] = [MemoryIndex(ir.load(docs), found)]
    for count, memory in ((1, 1 << 30), (3, 1)):
        place, data = tmp_path / str(count), ir.load(docs, name="first")
        made.append(build_index.build(data, found, place, memory=memory, progress=False))
        assert len(made[-1].manifest.shards) == count
    for index in made:
        assert [[doc for doc, _ in own] for own in rows(index, 15)] == wanted


def test_a_number_of_candidates_is_a_setting(models: dict[str, dict[str, Any]]) -> None:
    data = ir.load(DOCS, queries={"q": QUERIES[0]}, candidates={"q": list(DOCS)})
    run = ir.load(DOCS, queries={"q": QUERIES[0]})
    few = ir.retrieve(run, "plaid", candidates=3, progress=False, **models["plaid"])
    many = ir.retrieve(run, "plaid", candidates=30, progress=False, **models["plaid"])
    assert len(few.ranking("q")) < len(many.ranking("q"))
    again = ir.rerank(data, many, "plaid", candidates=3, progress=False, **models["plaid"])
    assert 0 < len(again.ranking("q")) <= len(many.ranking("q"))
    for other in (3, True):
        with pytest.raises(InputError, match="candidates"):
            ir.retrieve(run, "bm25", candidates=other)  # type: ignore[arg-type]
