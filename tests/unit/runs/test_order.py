"""The one order: its functions by hand, and one rule that everything follows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtoolkit as ir
from irtoolkit.apps.serve.collection import Collection
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import id_array
from irtoolkit.datasets.novels import novel_of
from irtoolkit.engines.engine import using
from irtoolkit.runs import Run, order
from irtoolkit.runs.order import TopDocuments, best_first, merge, separate
from irtoolkit.runs.top_k import TieOrder, before, top_k
from tests.property.indexes.test_spread import Sent
from tests.tiny import save

TEXTS = {f"d{n}": "the lamp of the keeper" for n in range(12)} | {
    f"x{n}": f"nothing but storms {'lamp ' * (n % 3)}" for n in range(12)
}


QUERY = "lamp keeper storms"


# -- by hand -------------------------------------------------------------------------------------


def test_of_equal_scores_the_later_id_comes_first() -> None:
    ids = id_array(["b", "a", "c", "é", "Z"])
    assert ids[best_first(np.zeros(5), order.keys(ids))].tolist() == ["é", "c", "b", "a", "Z"]
    assert best_first(np.array([1, 2, 2, 1, 3]), order.keys(ids)).tolist() == [4, 2, 1, 3, 0]
    assert best_first(np.zeros(5), order.keys(ids, "pool")).tolist() == [0, 1, 2, 3, 4]


def test_parts_are_merged_and_cut_at_k() -> None:
    parts = [
        TopDocuments(np.array([0, 2, 2]), np.array([0, 1]), np.array([2.0, 1.0])),
        TopDocuments(np.array([0, 2, 3]), np.array([4, 5, 4]), np.array([2.0, 1.0, 7.0])),
    ]
    best = merge(parts, 3, lambda documents: documents)
    assert best.offsets.tolist() == [0, 3, 4]
    assert best.documents.tolist() == [4, 0, 5, 4]
    assert best.scores.tolist() == [2, 2, 1, 7]
    assert merge(parts, 3, lambda documents: -documents).documents.tolist() == [0, 4, 1, 4]


def test_ranks_count_what_is_before() -> None:
    scores = np.array([[1.0, 2.0, 2.0, 3.0, 2.0]])
    tied = TieOrder(np.array([0, 4, 1, 2, 3]), "trec")
    ranks, greater = before(scores, tied, np.zeros(5, int), np.arange(5))
    assert ranks.tolist() == [4, 1, 3, 0, 2]
    assert greater.tolist() == [4, 1, 1, 0, 1]
    assert top_k(scores, tied)[0].tolist() == [[3, 1, 4, 2, 0]]


@pytest.mark.parametrize("compiled", [False, True])
def test_scores_are_lowered_by_the_fewest_steps(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order, "is_worth_loading", lambda _: compiled)
    one, below = np.float32(1), np.nextafter(np.float32(1), np.float32(0))
    assert separate([1.0, 1.0], np.array([1, 0])).tolist() == [one, one]
    assert separate([1.0, 1.0], np.array([0, 1])).tolist() == [one, below]
    assert separate([1.0, 1.0]).tolist() == [one, below]
    assert separate([1.0, 1.0], queries=np.array([0, 1])).tolist() == [one, one]
    assert separate([]).tolist() == []
    # What is lowered may reach what follows; a zero stays the zero that it was.
    lowest = np.nextafter(below, np.float32(0))
    assert separate([1.0, 1.0, below]).tolist() == [one, below, lowest]
    assert separate([1.0, 1.0, below], np.array([0, 1, 1])).tolist() == [one, below, below]
    assert np.signbit(separate([1.0, 1.0, -0.0])[2])
    with pytest.raises(InputError, match="no room"):
        separate(np.full(2, np.finfo(np.float32).min))


# -- one rule ------------------------------------------------------------------------------------


Made = tuple[list[str], dict[str, int]]


def of_run(run: Run, ranks: Any) -> Made:
    """The documents of the one query, and the exact ranks of all."""
    return [row.doc_id for row in run.ranking("q")], (ranks or {}).get("q", {})


def from_memory(system: str, _: Path, **settings: Any) -> Made:
    data = ir.load(TEXTS, queries={"q": QUERY}, qrels={"q": dict.fromkeys(TEXTS, 1)})
    run = ir.retrieve(data, system, progress=False, **settings)
    return of_run(run, run.exact_ranks)


def from_folder(system: str, folder: Path, shards: int = 1, **settings: Any) -> Made:
    names = sorted(TEXTS)
    parts = [{name: TEXTS[name] for name in names[first::shards]} for first in range(shards)]
    index: Any = ir.index(parts[0], system, folder, progress=False, **settings)
    for part in parts[1:]:
        index = index.add(part, progress=False)
    asked = ["q"], [(QUERY,)]
    ranks = index.exact_ranks(*asked, {"q": list(TEXTS)})
    return of_run(index.run(*asked, 100, fill=True), ranks)


def from_shards(system: str, folder: Path, **settings: Any) -> Made:
    return from_folder(system, folder, 3, **settings)


def from_workers(system: str, folder: Path, **settings: Any) -> Made:
    with using(Sent(2)):
        return from_folder(system, folder, 3, **settings)


@pytest.mark.parametrize("system", ["bm25", "dense"])
@pytest.mark.parametrize("way", [from_memory, from_shards, from_workers])
def test_every_way_follows_the_one_rule(
    system: str, way: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = {"model": str(save(tmp_path / "bert"))} if system == "dense" else {}
    for later_first in (True, False):
        monkeypatch.setattr(order, "LATER_FIRST", later_first)
        monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / f"cache {later_first}"))
        docs, ranks = way(system, tmp_path / f"index {later_first}", **model)
        equal = [doc for doc in docs if doc.startswith("d")]
        assert equal == sorted(equal, reverse=later_first)
        assert len(equal) == 12
        assert docs == sorted(ranks, key=lambda doc: ranks[doc])[: len(docs)]


@pytest.mark.parametrize("method", ["rrf", "combsum", "condorcet"])
@pytest.mark.parametrize("later_first", [True, False])
def test_fusion_follows_the_one_rule(
    method: str, later_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order, "LATER_FIRST", later_first)
    runs = [Run.of({"q": {"a": 1.0, "b": 0.5}}), Run.of({"q": {"b": 1.0, "a": 0.5}})]
    [first, _] = ir.fuse(*runs, method=method).ranking("q")
    assert first.doc_id == ("b" if later_first else "a")


class OneMeaning:
    """Compares meaning, and finds all sentences alike."""

    def vectors(self, key: str, sentences: Any) -> Any:
        return np.ones((len(sentences), 1), np.float32)

    def asked(self, texts: Any) -> Any:
        return np.ones((len(texts), 1), np.float32)


@pytest.mark.parametrize("later_first", [True, False])
def test_the_page_follows_the_one_rule(
    later_first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Passages tie by their document ids, by words as by meaning: b:19+1 is before b:20+1."""
    monkeypatch.setattr(order, "LATER_FIRST", later_first)
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path))
    novel = novel_of(b"The lamp burned low. " * 60, "b")
    meaning: Any = OneMeaning()
    books = Collection("b", "b", [novel], meaning)
    books.has_vectors = True
    for system in ("words", "meaning", "both"):
        [answer] = books.answer(system, ["lamp"], 1, 100)
        scores = {f"b:{one.start}+{one.length}": one.score for one in answer.found}
        assert len(scores) == 60
        # Windows at the edges of a book are shorter, and score otherwise.
        assert len(set(scores.values())) < 40
        later = sorted(scores, reverse=later_first)
        assert list(scores) == sorted(later, key=scores.__getitem__, reverse=True)
