"""Batches in training that the tokenizer reads itself are the model's own."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer

from irtoolkit.training.gpu_batches import Awaited, FastReading, sent
from irtoolkit.training.st_trainer import _Loader
from tests import planted

TEXTS = ["a short one", "", "n1 n2 n3 " * 300, "d1x2 n0"]


def test_features_are_those_of_the_model(tmp_path: Path) -> None:
    model: Any = SentenceTransformer(str(planted.start(tmp_path / "model")), device="cpu")
    fast = FastReading(model, "dense", model.preprocess)
    for how in ({}, {"prompt": "n1 "}, {"task": "query"}, {"max_length": 7}):
        expected, found = model.preprocess(TEXTS, **how), fast(TEXTS, **how)
        assert expected.keys() == found.keys()
        for key, value in expected.items():
            if isinstance(value, torch.Tensor):
                torch.testing.assert_close(found[key], value)
            else:
                assert found[key] == value
    assert fast.is_complete


def test_masks_of_a_batch_know_their_layout() -> None:
    mask = torch.tensor([[1, 1, 0], [1, 0, 0]])
    batch = sent({"a_attention_mask": mask, "a_task": "query", "rows": [1, 2]}, torch.device("cpu"))
    layout: Any = batch["a_attention_mask"].packed_layout
    assert layout.starts.tolist() == [0, 2, 3]
    assert layout.at.tolist() == [0, 1, 3]
    assert batch["rows"] == [1, 2]
    assert Awaited(torch.tensor(2.5)).value() == 2.5


@pytest.mark.parametrize("complete", [True, False])
def test_only_batches_that_share_no_tokenizer_are_prepared_in_another_thread(
    complete: bool,
) -> None:
    threads: list[str] = []

    def collate(rows: list[int]) -> list[int]:
        threads.append(threading.current_thread().name)
        return rows

    loader = _Loader(range(10), batch_size=2, collate_fn=collate)  # type: ignore[arg-type]
    loader.reading = SimpleNamespace(is_complete=complete)  # type: ignore[assignment]
    assert list(loader) == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    here = threading.current_thread().name
    assert threads[0] == here
    assert set(threads[1:]) == {here} if not complete else here not in threads[1:]
