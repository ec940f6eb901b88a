"""Weights of trained models that were damaged or changed since."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.models import loading
from irtoolkit.models.exported import chosen_backend
from irtoolkit.models.places import (
    RECORD,
    WEIGHTS,
    check_unchanged,
    fingerprint,
    in_hub_cache,
    left_out,
    weight_sums,
)

NAMES = ("model.safetensors", "query/model.safetensors", "document/pytorch_model.bin")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model of two encoders, as training leaves it."""
    made = tmp_path / "model"
    for name in (*NAMES, "config.json", "query/tokenizer.json"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_bytes(name.encode() * 100)
    record = {"plan": {}, WEIGHTS: weight_sums(made)}
    (made / RECORD).write_text(json.dumps(record), "utf-8")
    return made


def flip(path: Path) -> None:
    """Changes one bit."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("name", NAMES)
def test_one_changed_bit_is_refused(folder: Path, name: str) -> None:
    flip(folder / name)
    with pytest.raises(InputError, match="not the weights that training wrote") as caught:
        check_unchanged(str(folder))
    assert caught.value.file == str(folder / name)
    assert "train the model again" in str(caught.value.remedy)


def test_an_encoder_is_compared_with_the_record_of_its_model(folder: Path) -> None:
    flip(folder / NAMES[1])
    check_unchanged(str(folder / "document"))
    with pytest.raises(InputError, match="not the weights"):
        check_unchanged(str(folder / "query"))


def test_changed_weights_are_not_loaded(folder: Path) -> None:
    def never() -> None:
        raise AssertionError("the loader was called")

    flip(folder / NAMES[0])
    with pytest.raises(InputError, match="not the weights that training wrote"):
        loading.load_model(str(folder), never, "fp32", "cpu")


def test_a_folder_without_a_model_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("irtoolkit.models.places.sha256", lambda _: pytest.fail("it was read"))
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "films.mkv").write_bytes(bytes(1000))
    (tmp_path / "deep" / "er" / "config.json").write_text("{}")
    with pytest.raises(InputError, match="there is no model in"):
        fingerprint(str(tmp_path))


# -- models of the hub's cache ----------------------------------------------------------------


PICKLED = ("config.json", "2_Dense/pytorch_model.bin", "training_args.bin", "pytorch_model.bin")
BOTH = (*PICKLED, "model.safetensors")


@pytest.mark.parametrize(
    ("names", "not_downloaded"),
    [
        (PICKLED, set()),
        (BOTH, {"pytorch_model.bin"}),
        ((*PICKLED, "adapter.safetensors"), set()),
        ((*PICKLED, "model.fp16.safetensors"), set()),
        ((*PICKLED, "model.safetensors.index.json"), {"pytorch_model.bin"}),
        ((*PICKLED, "[2]/model.safetensors", "[2]/pytorch_model-1.bin"), {"[2]/pytorch_model-1.bin"}),
        ((*PICKLED, "onnx/model.onnx"), {"onnx/model.onnx"}),
    ],
)  # fmt: skip
def test_weights_that_are_not_downloaded(names: tuple[str, ...], not_downloaded: set[str]) -> None:
    pytest.importorskip("huggingface_hub")
    from huggingface_hub.utils import filter_repo_objects

    kept = set(filter_repo_objects(names, ignore_patterns=left_out(names)))
    assert set(names) - kept == not_downloaded


@pytest.mark.parametrize(
    ("names", "here", "found"),
    [
        (PICKLED, PICKLED[:1], False),
        (PICKLED, PICKLED[:3], False),
        (PICKLED, PICKLED, True),
        (BOTH, (*PICKLED[:3], "model.safetensors"), True),
        (BOTH, PICKLED, False),
        (None, ("config.json", "training_args.bin", "optimizer.pt", "scheduler.pt"), False),
        (None, PICKLED, True),
    ],
)
def test_a_model_is_here_when_all_its_weights_are(
    names: tuple[str, ...] | None, here: tuple[str, ...], found: bool,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """What a repository has is in the cache as the hub's library writes it, or not at all."""
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    home, commit = tmp_path / "models--me--tiny", "a" * 40
    for name in (f"snapshots/{commit}/{one}" for one in here):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("content")
    (home / "refs").mkdir()
    (home / "refs/main").write_text(commit)
    if names is not None:
        listed = {name: {"size": 7, "blob_id": "b" * 40} for name in names}
        (home / "trees").mkdir()
        tree = json.dumps({"format_version": 1, "files": listed})
        (home / "trees" / f"{commit}.json").write_text(tree)
    assert in_hub_cache("me/tiny") == (str(home / "snapshots" / commit) if found else None)


def test_what_a_training_left_is_not_weights_for_torch(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"exported")
    (tmp_path / "training_args.bin").write_bytes(b"no weights")
    assert chosen_backend("auto", str(tmp_path)) == "onnx"
    (tmp_path / "pytorch_model.bin").write_bytes(b"weights")
    assert chosen_backend("auto", str(tmp_path)) == "torch"


def test_a_missing_file_is_refused(folder: Path) -> None:
    (folder / NAMES[2]).unlink()
    with pytest.raises(InputError, match="missing"):
        check_unchanged(str(folder))
