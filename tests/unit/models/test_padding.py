"""Models whose tokenizer has no padding token, as GPT-2's and Llama's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.models.encoder import Encoder, EncoderSettings
from tests import tiny

TEXTS = ["an art", "the art of the one and only quote", "b"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))


def unpadded(folder: Path, make: str, end: str | None = "[SEP]", **settings: Any) -> Path:
    """A model of GPT-2's architecture, and a tokenizer with an end token at most."""
    tiny.save(folder, make, pad_token_id=None, **settings)
    path = folder / "tokenizer_config.json"
    content = json.loads(path.read_text())
    content.pop("pad_token")
    content |= {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": end}
    path.write_text(json.dumps(content))
    for name in ("special_tokens_map.json",):
        (folder / name).unlink(missing_ok=True)
    return folder


def encoder(folder: Path, kind: Any, **how: Any) -> Encoder:
    return Encoder(EncoderSettings(str(folder), kind, "document", device="cpu", **how))


@pytest.mark.parametrize("pooling", ["mean", "max", "cls", None])
def test_the_end_token_pads(tmp_path: Path, pooling: str | None) -> None:
    """A text has the same vector in a batch as alone."""
    made = encoder(unpadded(tmp_path / "gpt", "GPT2Model"), "dense", pooling=pooling)
    together = np.concatenate([output[0][None] for output in made.once(TEXTS)])
    alone = np.concatenate([made.once([text])[0][0][None] for text in TEXTS])
    np.testing.assert_allclose(together, alone, atol=1e-4)


def test_no_token_to_pad_with_is_refused(tmp_path: Path) -> None:
    folder = unpadded(tmp_path / "gpt", "GPT2Model", end=None)
    with pytest.raises(InputError, match="no padding token and no end token") as caught:
        encoder(folder, "dense", pooling="mean")
    assert "pad_token" in str(caught.value.remedy)
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "pad_token": "[UNK]"}))
    encoder(folder, "dense", pooling="mean").once(TEXTS)
