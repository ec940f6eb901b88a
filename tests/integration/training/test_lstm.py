"""Encoders without a checkpoint, trained: what they learn, and training that was interrupted."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.models import loading
from irtoolkit.training.base_model import segment_separator
from irtoolkit.training.trainer import train
from tests import planted
from tests.trained import interrupted, same


@pytest.fixture
def vectors(tmp_path: Path) -> Callable[..., Path]:
    def write(*lines: str, name: str = "vectors.txt") -> Path:
        path = tmp_path / name
        opened = gzip.open if name.endswith(".gz") else open
        with opened(path, "wt", encoding="utf-8") as out:
            out.writelines(f"{line}\n" for line in lines)
        return path

    return write


def trained(tmp_path: Path, name: str, **how: Any) -> Any:
    data, test = planted.task(topics=12, asked=6)
    made = planted.recipe(
        data, "lstm", test, width=24, pooling="own", loss="sampled", negatives="random", count=7,
        rate=1e-2, every=10**6, **how,
    )  # fmt: skip
    assert segment_separator(made) == " "
    return train(made, tmp_path / name, device="cpu")


def test_what_is_planted_is_learned(tmp_path: Path) -> None:
    def last(found: Any) -> float:
        return float(found.record["stages"][-1]["evaluations"][-1]["figures"]["R@1"])

    assert last(trained(tmp_path, "untrained", epochs=0.1)) < planted.CHANCE
    assert last(trained(tmp_path, "model", epochs=15)) > 0.9
    card = (tmp_path / "model" / "README.md").read_text()
    assert "Base model: lstm" in card
    assert "base_model" not in card


STARTS = {
    "nnqr": {"rate": 1e-2, "epochs": 10},
    "transform": {"mapping": 0.01, "rate": 3e-3, "epochs": 18},
}


@pytest.mark.nightly
@pytest.mark.parametrize("start", STARTS)
def test_baselines_of_quoter_learn_over_all_documents(start: str, tmp_path: Path) -> None:
    data, test = planted.task(topics=8, asked=12)
    how: dict[str, Any] = {"width": 16, "pooling": "own", "loss": "every", "every": 10**6}
    made = planted.recipe(data, start, test, **{**how, **STARTS[start]})
    untrained = replace(made, stages=(replace(made.stages[0], rate=1e-9, epochs=0.1),))
    before, after = (
        train(each, tmp_path / name, device="cpu").record["stages"][-1]["evaluations"][-1]
        for name, each in (("untrained", untrained), ("model", made))
    )
    assert before["figures"]["R@1"] < 0.3
    assert after["figures"]["R@1"] > 0.9


def test_the_words_of_all_stages_are_known(tmp_path: Path) -> None:
    first, _ = planted.task(topics=2, asked=2)
    second, _ = planted.task(topics=4, asked=4)
    made = planted.recipe(first, "lstm", width=4, pooling="own", epochs=0.1)
    stages = (made.stages[0], replace(made.stages[0], dataset=second))
    folder = train(replace(made, stages=stages), tmp_path / "model", device="cpu").folder
    model = loading.open_model("dense", str(folder))
    asked = model.encode_query(["q0x0", "q3x0", "never"])
    assert not np.allclose(asked[1], asked[2])


@pytest.mark.parametrize("start", ["lstm", *STARTS])
def test_who_is_interrupted_goes_on_to_the_same_weights(start: str, tmp_path: Path) -> None:
    data, test = planted.task(topics=4, asked=6)
    loss = "in-batch" if start == "lstm" else "every"
    made = planted.recipe(data, start, test, width=8, pooling="own", loss=loss, batch=6, epochs=2)
    if start == "lstm":
        made = replace(made, stages=(made.stages[0], replace(made.stages[0], frozen="documents")))
    how: dict[str, Any] = {"device": "cpu", "save_every": 2}
    whole = train(made, tmp_path / "whole", **how).folder
    with interrupted(6):
        train(made, tmp_path / "cut", **how)
    cut = train(made, tmp_path / "cut", **how).folder
    assert same(whole, cut)


def test_other_word_vectors_are_another_training(
    tmp_path: Path, vectors: Callable[..., Path]
) -> None:
    path = vectors(*(f"q{t}x0 {t} 1 0" for t in range(12)))
    data, test = planted.task(topics=4, asked=4)
    made = planted.recipe(data, "lstm", test, width=4, pooling="own", epochs=0.1, words=str(path))
    train(made, tmp_path / "model", device="cpu")
    assert train(made, tmp_path / "model", device="cpu").reused
    path.write_text(path.read_text().replace(" 1 0", " 1 1"))
    with pytest.raises(InputError, match="another training: start"):
        train(made, tmp_path / "model", device="cpu")
    path.unlink()
    with pytest.raises(InputError, match=r"there is no file of word vectors .*vectors\.txt"):
        train(made, tmp_path / "model", device="cpu")
