"""Backends beside torch, with tiny models on the sample."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from tests import tiny
from tests.conftest import ROOT
from tests.scripts import run_benchmark

for _library in ("onnx", "onnxscript", "onnxruntime"):
    pytest.importorskip(_library)


def test_an_encoder_and_a_cross_encoder_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    script = importlib.import_module("backends")
    monkeypatch.setattr(script, "WAYS", (script.WAYS[0], script.WAYS[2], script.WAYS[3]))
    monkeypatch.setattr(script, "READ", "csfcube/sample")
    monkeypatch.setattr(script, "ROUNDS", 2)
    dense = tiny.save(tmp_path / "dense", longest=128)
    cross = tiny.save(
        tmp_path / "cross", "BertForSequenceClassification", num_labels=1, longest=128
    )
    out = tmp_path / "backends.json"
    for model in (dense, cross):  # the second is added to the first
        run_benchmark(
            "backends", "--models", model, "--dataset", "quoter/sample/en/test", "-o", out
        )
    found = json.loads(out.read_text("utf-8"))
    assert found["measure"] == "RR"
    kinds = {name: about["kind"] for name, about in found["models"].items()}
    assert kinds == {str(dense): "dense", str(cross): "cross"}
    for about in found["models"].values():
        torch, int8, onnx = about["ways"].values()
        assert (torch["ratio"], torch["largest difference"]) == (1.0, 0.0)
        assert min(int8["rate"], onnx["rate"]) > 0
        assert onnx["largest difference"] < 1e-4 < int8["largest difference"]
        assert onnx["RR"] == torch["RR"]
