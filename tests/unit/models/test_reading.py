"""Texts that are read ahead of a GPU are the model's own batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irtoolkit.models.encoder import Encoder, EncoderSettings
from tests import planted

TEXTS = ["a short one", "", "a text that is longer " * 40, "another", "x y z", "one more text here"]


@pytest.mark.parametrize("prompt", [None, "query: "])
def test_vectors_of_texts_that_are_read_ahead_are_the_same(
    prompt: str | None, tmp_path: Path
) -> None:
    folder = planted.start(tmp_path / "model")
    encoder = Encoder(
        EncoderSettings(str(folder), "dense", "document", prompt=prompt, device="cpu")
    )
    model: Any = encoder._model
    expected = encoder.once(TEXTS)
    model.device = "a GPU"
    tokens, lengths = model.read(TEXTS)
    model.device = "cpu"
    assert model.reader is not None
    assert lengths.tolist() == model.lengths(TEXTS).tolist()
    found = encoder._batches(tokens, lengths, lambda count: None)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
