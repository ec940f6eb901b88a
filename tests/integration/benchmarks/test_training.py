"""The benchmark of training with the smallest model: every row is there, and the losses agree.

Nothing here looks at a time.
"""

from __future__ import annotations

import importlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

SCRIPT = ROOT / "benchmarks" / "training.py"
SMALLEST = {"layers": 1, "width": 32, "heads": 2, "vocabulary": 500, "batch": 4, "tokens": 16}

RECIPE = """
start = "{start}"
encoders = 2
pooling = "mean"
similarity = "dot"

[[stage]]
dataset = "quoter/sample/en/train"
loss = "in-batch"
batch = 4
evaluate = "quoter/sample/en/val"
measure = "RR"
"""


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script as a module, which the processes that it starts find too."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    return importlib.import_module("training")


def trial(module: Any, home: Path, **how: Any) -> Any:
    shape = module.Shape(**SMALLEST)
    return module.Trial("irtoolkit", shape, module.start(home / "start", shape), steps=2, **how)


def test_every_row_is_there_and_the_losses_agree(
    module: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Memory is looked at in this process: one of its own for each way takes longer."""
    kept = os.environ["IRTOOLKIT_CACHE"]
    monkeypatch.setattr(module, "alone", lambda trial, home: module.run(trial, home)[0])
    shape = [part for name, size in SMALLEST.items() for part in (f"--{name}", str(size))]
    output = tmp_path / "found.json"
    module.main([*shape, "--steps", "1", "1", "--turns", "1", "-o", str(output)])
    found = json.loads(output.read_text())
    assert os.environ["IRTOOLKIT_CACHE"] == kept
    assert found["shape"] == SMALLEST
    assert {"sentence-transformers", "datasets", "torch"} <= (
        found["platform"]["software"]["libraries"].keys()
    )
    [product] = found["matrix product"]
    both = found["throughput"]
    assert [row["side"] for row in both] == ["irtoolkit", "sentence-transformers"]
    for row in both:
        assert row["ratio"] == pytest.approx(row["rows/s"] / both[1]["rows/s"])
        assert row["share"] == pytest.approx(row["TFLOP/s"] / product["TFLOP/s"])
        assert row["chunk"] is None
    [same] = found["agreement"]
    # Far from the log of 4, which a model has that tells nothing apart.
    assert abs(same["first loss"] - 1.386) > 0.01
    assert same["first loss"] == pytest.approx(same["peer first loss"], rel=1e-4)
    assert same["last loss"] == pytest.approx(same["peer last loss"], rel=1e-3)
    assert same["last loss"] < same["first loss"]
    assert [row["way"] for row in found["memory"]] == [
        "all rows at once", "chunk=1", "checkpointing=true", "chunk=1 checkpointing=true"
    ]  # fmt: skip
    printed = capsys.readouterr().out
    assert all(
        title in printed for title in ("matrix product", "throughput", "agreement", "memory")
    )


@pytest.mark.nightly
def test_memory_is_that_of_a_process_of_its_own(module: Any, tmp_path: Path) -> None:
    found = module.alone(trial(module, tmp_path), tmp_path)
    assert found["MiB"] > 0


@pytest.mark.nightly
def test_both_are_measured_in_chunks_where_memory_does_not_suffice(
    module: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run, asked = module.run, []

    def lacking(one: Any, home: Path) -> Any:
        asked.append((one.side, one.chunk))
        if one.side == "sentence-transformers" and one.chunk is None:
            raise module.MemoryLackedError("CUDA out of memory")
        return run(one, home)

    monkeypatch.setattr(module, "run", lacking)
    rows = module.throughput(trial(module, tmp_path), 1, 1e9, tmp_path)
    assert [row["chunk"] for row in rows] == [2, 2]
    assert asked == [(side, chunk) for chunk in (None, 2) for side in module.SIDES]


def test_want_of_memory_is_told_from_other_errors(
    module: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said: list[str] = []

    def failing(trial: Any, folder: Path) -> Any:
        raise RuntimeError(said[-1])

    made = trial(module, tmp_path)
    monkeypatch.setattr(module, "ours", failing)
    monkeypatch.setattr(module, "alone", lambda trial, home: module.run(trial, home)[0])
    for message in (
        "CUDA out of memory. Tried to allocate 2 GiB",
        "can't allocate memory: 8 bytes",
    ):
        said.append(message)
        rows = module.memory(made, tmp_path)
        assert [row["MiB"] for row in rows] == [None] * 4
        assert message in module.shown("memory", rows).render("text")
    said.append("shapes cannot be multiplied")
    with pytest.raises(RuntimeError, match="shapes"):
        module.memory(made, tmp_path)


def test_losses_that_differ_are_refused(
    module: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    losses = {"irtoolkit": [2.0, 1.0], "sentence-transformers": [2.001, 1.0]}
    monkeypatch.setattr(module, "run", lambda trial, home: ({}, losses[trial.side]))
    with pytest.raises(SystemExit, match=r"2\.0 and 2\.001"):
        module.agreement(trial(module, tmp_path), ("fp32",), tmp_path)


def test_the_work_is_that_of_both_texts(module: Any) -> None:
    shape = module.Shape(**{**SMALLEST, "layers": 3})
    weights, products = 3 * 12 * 32**2, 3 * 2 * 2 * 32 * 16 * 16
    assert shape.work == 2 * (6 * weights * 16 + 3 * products)
    assert replace(shape, batch=8).work == shape.work


def test_recipes_are_trained_or_what_is_missing_is_told(
    module: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    shape = module.Shape(**SMALLEST)
    mine = tmp_path / "mine.toml"
    mine.write_text(RECIPE.format(start=module.start(tmp_path / "start", shape)))
    absent = tmp_path / "absent.toml"
    absent.write_text(RECIPE.format(start=tmp_path / "nowhere"))
    rows = module.recipe_rows([f"{mine},epochs=2,rate=1e-3", str(absent)], "cpu")
    trained, missing = rows
    assert trained["steps"] > 0
    assert trained["measure"] == "RR"
    assert 0 < trained["best"] <= 1
    assert trained["figures"]["RR"] == trained["best"]
    assert missing["missing"] == f"there is no model in {tmp_path / 'nowhere'}"
    assert f"{absent}: there is no model" in module.shown("recipes", rows).render("text")
    [again] = module.recipe_rows([f"{mine},epochs=2,rate=1e-3"], "cpu")
    assert again == {**trained, "reused": True}


def test_a_gpu_that_is_not_there_is_refused(
    module: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(SystemExit) as ended:
        module.main(["--gpu"])
    assert ended.value.code == 2
    assert "torch sees no GPU here" in capsys.readouterr().err
