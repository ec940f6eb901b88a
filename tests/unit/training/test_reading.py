"""Batches in training that the tokenizer reads itself are the model's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer

from irtoolkit.training.reading import FastReading
from irtoolkit.training.sending import Awaited, sent
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
    assert all(reader is not None for reader in fast._readers.values())


def test_masks_of_a_batch_know_their_layout() -> None:
    mask = torch.tensor([[1, 1, 0], [1, 0, 0]])
    batch = sent({"a_attention_mask": mask, "a_task": "query", "rows": [1, 2]}, torch.device("cpu"))
    layout: Any = batch["a_attention_mask"].packed_layout
    assert layout.starts.tolist() == [0, 2, 3]
    assert layout.at.tolist() == [0, 1, 3]
    assert batch["rows"] == [1, 2]
    assert Awaited(torch.tensor(2.5)).value() == 2.5
