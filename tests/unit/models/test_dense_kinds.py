"""Models that make no vectors of texts are not taken for dense ones, and the pooling of plain ones is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import tiny
from tests.conftest import Answer

Command = Callable[..., Answer]


def classifier(folder: Path) -> Path:
    return tiny.save(folder, "BertForSequenceClassification", num_labels=1)


def saved_cross(folder: Path) -> Path:
    return saved_as(classifier(folder), "CrossEncoder")


def saved_sparse(folder: Path) -> Path:
    return saved_as(tiny.save(folder, "BertForMaskedLM"), "SparseEncoder")


def colbert(folder: Path) -> Path:
    return tiny.save_colbert(folder)


def saved_as(folder: Path, kind: str) -> Path:
    """A model whose files say which class of sentence-transformers it is for."""
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"model_type": kind}))
    return folder


@pytest.mark.parametrize("system", ["dense", "sentence-max", "faiss"])
@pytest.mark.parametrize(
    ("make", "remedy"),
    [
        (classifier, "the retriever cross-encoder, or pooling=mean"),
        (saved_cross, "the retriever cross-encoder"),
        (saved_sparse, "the retriever sparse"),
        (colbert, "the retriever late"),
    ],
)
def test_models_of_other_kinds_are_refused(
    irtoolkit: Command, tmp_path: Path, system: str, make: Callable[[Path], Path], remedy: str
) -> None:
    folder = make(tmp_path / "model")
    answer = irtoolkit(
        "retrieve", "csfcube/sample", system, "-o", tmp_path / "x.run", "--set", f"model={folder}"
    )
    assert answer.status == 2
    assert "and no vector of a text" in answer.err
    assert remedy in answer.err


@pytest.mark.parametrize("make", ["BertModel", "BertForMaskedLM"])
def test_the_pooling_of_a_plain_transformer_is_named(
    irtoolkit: Command, tmp_path: Path, make: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tiny.save(tmp_path / "model", make)
    words = ("retrieve", "csfcube/sample", "dense", "-o", tmp_path / "x.run", "--set")
    assert irtoolkit(*words, f"model={folder}").status == 0
    assert caplog.text.count("does not say how it pools: pooling=mean is taken") == 1
    assert "pooling: mean" in " ".join(path.read_text() for path in tmp_path.glob("x.run.*"))
    mean = (tmp_path / "x.run").read_text()
    caplog.clear()
    (tmp_path / "x.run").unlink()
    assert irtoolkit(*words, f"model={folder}", "pooling=mean").status == 0
    assert "pools" not in caplog.text
    assert [line.split()[:3] for line in (tmp_path / "x.run").read_text().splitlines()] == [
        line.split()[:3] for line in mean.splitlines()
    ]
