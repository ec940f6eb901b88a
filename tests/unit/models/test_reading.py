"""Texts that are read ahead of a GPU are the model's own batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irtoolkit.base.threads import put_off
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


def test_chunks_that_another_process_is_at_are_put_off_in_order() -> None:
    chunks: Any = range(10)
    assert put_off(chunks, lambda chunk: chunk not in (0, 3, 6, 9)) == [0, 3, 6, 9]


def test_an_error_of_a_chunk_is_raised() -> None:
    def fail(_: Any) -> bool:
        raise ValueError("damaged")

    chunks: Any = range(10)
    with pytest.raises(ValueError, match="damaged"):
        put_off(chunks, fail)
