"""Retrievers on their way to workers: other files there are an error, and devices are the driver's."""

from __future__ import annotations

from pathlib import Path

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import rank_ids
from irtoolkit.engines import work
from irtoolkit.models import loading
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers.listing import RankedAs
from irtoolkit.retrievers.parts import QueryPart, RankParts
from irtoolkit.retrievers.registry import create_retriever
from irtoolkit.retrievers.sent import Sent, check_same_cache, shares_cache
from irtoolkit.retrievers.texts import DEFAULT_VIEW, DatasetTexts
from tests.tiny import save


def test_another_file_at_the_same_path_is_refused(tmp_path: Path) -> None:
    stats = tmp_path / "stats.txt"
    stats.write_text("the sea\nthe house\n")
    data = ir.load({"a": "whales at sea", "b": "a house"}, queries={"1": "sea"})
    system = find_system("tfidf", {"statistics": str(stats)})
    task = system.load(data)
    ranked = RankedAs(rank_ids(task.doc_ids), {}, "trec", None, True)
    parts = RankParts(task, system.retriever, ranked)
    packed = work.pack(parts)
    assert work.unpack(packed)([QueryPart(0, 0, 1)]).queries.tolist() == [0]
    stats.write_text("a sea\nthe sea\na house\n")
    with pytest.raises(InputError, match=r"the files of tfidf .* are not those of the driver"):
        work.unpack(packed)([QueryPart(0, 0, 1)])
    stats.unlink()
    with pytest.raises(InputError, match=r"stats.txt is not there"):
        work.unpack(packed)([QueryPart(0, 0, 1)])


def test_other_queries_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"1": "sea", "2": "house"}
    data = ir.load({"a": "whales at sea", "b": "a house"}, queries=texts)
    driver = DatasetTexts(data)
    assert work.unpack(work.pack(driver)).queries(DEFAULT_VIEW) == [("sea",), ("house",)]
    other = ir.load({"a": "whales at sea", "b": "a house"}, queries={**texts, "2": "houses"})
    there = work.unpack(work.pack(driver))
    monkeypatch.setattr(there, "dataset", other)
    with pytest.raises(InputError, match=r"^the queries of \S+ are not those of the driver"):
        there.queries(DEFAULT_VIEW)
    # Those that are given go along.
    given = DatasetTexts(data, data.queries[1:])
    assert work.unpack(work.pack(given)).queries(DEFAULT_VIEW) == [("house",)]


@pytest.mark.parametrize("name", ["doct5query", "generated-query"])
def test_a_worker_that_does_not_see_the_answers_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    retriever = create_retriever(name, {"model": "none"})
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "a"))
    mark = shares_cache(retriever)
    check_same_cache(retriever, mark)
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "b"))
    with pytest.raises(
        InputError, match=r"b: this folder is not .* a folder that all nodes share\)"
    ):
        check_same_cache(retriever, mark)


def test_a_worker_computes_as_the_driver_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = find_system("dense", {"model": str(save(tmp_path / "bert")), "pooling": "mean"}).retriever
    monkeypatch.setattr(loading, "torch_device", lambda device, _: device or "cpu")
    sent = Sent.of(own)
    # The worker has a GPU.
    monkeypatch.setattr(loading, "torch_device", lambda device, _: device or "cuda:0")
    monkeypatch.setattr("torch.cuda.is_bf16_supported", lambda: True)
    assert own.computed() == {"device": "cuda", "precision": "bf16"}
    assert sent.here().computed() == {"device": "cpu", "precision": "fp32"}
