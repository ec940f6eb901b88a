"""One rule of ties, which every way of ranking follows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtoolkit as ir
from irtoolkit.apps.serve.collection import Collection
from irtoolkit.datasets.novels import novel_of
from irtoolkit.engines.engine import using
from irtoolkit.runs import Run, order
from tests.property.indexes.test_spread import Sent
from tests.tiny import save

TEXTS = {f"d{n}": "the lamp of the keeper" for n in range(12)} | {
    f"x{n}": f"nothing but storms {'lamp ' * (n % 3)}" for n in range(12)
}


QUERY = "lamp keeper storms"


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
