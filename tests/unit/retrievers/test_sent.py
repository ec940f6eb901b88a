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
from irtoolkit.retrievers.parts import Part
from irtoolkit.retrievers.sent import Sent
from irtoolkit.retrievers.spread import RankParts
from tests.tiny import save


def test_another_file_at_the_same_path_is_refused(tmp_path: Path) -> None:
    stats = tmp_path / "stats.txt"
    stats.write_text("the sea\nthe house\n")
    data = ir.load({"a": "whales at sea", "b": "a house"}, queries={"1": "sea"})
    system = find_system("tfidf", {"statistics": str(stats)})
    task = system.load(data)
    parts = RankParts(task, system.retriever, {}, rank_ids(task.doc_ids), "trec", None)
    packed = work.pack(parts)
    assert work.unpack(packed)([Part(0, 0, 1)]).queries == 1
    stats.write_text("a sea\nthe sea\na house\n")
    with pytest.raises(InputError, match=r"the files of tfidf .* are not those of the driver"):
        work.unpack(packed)([Part(0, 0, 1)])
    stats.unlink()
    with pytest.raises(InputError, match=r"stats.txt is not there"):
        work.unpack(packed)([Part(0, 0, 1)])


def test_a_worker_computes_as_the_driver_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = find_system("dense", {"model": str(save(tmp_path / "bert"))}).retriever
    monkeypatch.setattr(loading, "torch_device", lambda device: device or "cpu")
    sent = Sent.of(own)
    # The worker has a GPU.
    monkeypatch.setattr(loading, "torch_device", lambda device: device or "cuda:0")
    monkeypatch.setattr("torch.cuda.is_bf16_supported", lambda: True)
    assert own.computed() == {"device": "cuda", "precision": "bf16"}
    assert sent.here().computed() == {"device": "cpu", "precision": "fp32"}
