"""Weights of a model that is named, downloaded from a local stand-in for the hub.

The hub's client reads its address when it is imported, so the command runs in a process of its own.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.hub import Hub, Repository, hub
from tests.tiny import save
from tests.waiting import PATIENCE

pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")

MODEL, PICKLED = "someone/tiny", "someone/pickled"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder = save(tmp_path_factory.mktemp("tiny") / "tiny", "BertModel", ["a captain pays debts"])
    files = {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }
    with hub() as running:
        pickled = pickled_weights(files)
        running.repositories[PICKLED] = Repository(files=pickled, commits=1)
        files["pytorch_model.bin"] = b"the same weights in another form" * 1000
        running.repositories[MODEL] = Repository(files=files, commits=1)
        yield running


def pickled_weights(files: dict[str, bytes]) -> dict[str, bytes]:
    """Returns the files of a model with its weights as pytorch_model.bin only, and others beside."""
    import torch
    from safetensors.torch import load

    saved = io.BytesIO()
    torch.save(load(files["model.safetensors"]), saved)
    others = {name: data for name, data in files.items() if name != "model.safetensors"}
    others["training_args.bin"] = b"no weights"
    others["a_head.safetensors"] = files["model.safetensors"]
    return {**others, "pytorch_model.bin": saved.getvalue()}


def rank(
    server: Hub, folder: Path, model: str = MODEL, **more: str
) -> subprocess.CompletedProcess[str]:
    """Ranks the sample with a model, with an empty cache of the hub under `folder`."""
    environment = {**os.environ, **server.environment(), "HF_HOME": str(folder / "hub"), **more}
    environment.pop("IRTOOLKIT_DOWNLOAD", None)
    environment.update({"IRTOOLKIT_CACHE": str(folder / "cache"), "PYTHONPATH": str(ROOT), **more})
    command = ["retrieve", "egret/sample/dev", model, "-o", str(folder / "tiny.run")]
    return subprocess.run(
        [sys.executable, "-m", "irtoolkit", *command],
        capture_output=True, text=True, env=environment, timeout=PATIENCE, check=False,
    )  # fmt: skip


def test_a_model_that_is_named_is_downloaded(server: Hub, tmp_path: Path) -> None:
    answer = rank(server, tmp_path)
    assert answer.returncode == 0, answer.stderr
    line = next(line for line in answer.stderr.splitlines() if line.startswith("downloading"))
    assert line.startswith(f"downloading {MODEL} from {server.url}: ")
    assert line.endswith(" MB, licence cc-by-4.0")
    assert not list((tmp_path / "hub").rglob("pytorch_model.bin"))
    asked = len(server.asked)
    again = rank(server, tmp_path)
    assert again.returncode == 0
    assert "downloading" not in again.stderr
    assert server.asked[asked:] == []


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("HF_HUB_OFFLINE", "1", "HF_HUB_OFFLINE keeps them from being downloaded"),
        ("IRTOOLKIT_DOWNLOAD", "0", "IRTOOLKIT_DOWNLOAD=0 is set"),
    ],
)
def test_downloads_can_be_forbidden(
    server: Hub, tmp_path: Path, variable: str, value: str, said: str
) -> None:
    asked = len(server.asked)
    answer = rank(server, tmp_path, **{variable: value})
    assert answer.returncode == 2
    assert f"the weights of {MODEL} are not here" in answer.stderr
    assert said in answer.stderr
    assert server.asked[asked:] == []


def test_a_model_that_the_hub_does_not_have(server: Hub, tmp_path: Path) -> None:
    answer = rank(server, tmp_path, "someone/nothing")
    assert answer.returncode == 2
    assert "the hub has no model someone/nothing, or it is private" in answer.stderr
    assert sum("someone/nothing" in asked for asked in server.asked) == 1


def test_an_interrupted_download_goes_on(
    server: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(server.failing, "pytorch_model.bin", 403)
    answer = rank(server, tmp_path, PICKLED)
    assert answer.returncode == 2
    assert f"cannot download {PICKLED}: " in answer.stderr
    assert "try again later" in answer.stderr
    assert list((tmp_path / "hub").rglob("training_args.bin"))
    monkeypatch.undo()
    answer = rank(server, tmp_path, PICKLED)
    assert answer.returncode == 0, answer.stderr
    assert list((tmp_path / "hub").rglob("pytorch_model.bin"))


def test_a_model_whose_kind_cannot_be_read_now_is_not_taken_for_another(
    server: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model may be a sparse one, or of late interaction; its configuration says so."""
    monkeypatch.setitem(server.failing, "config_sentence_transformers.json", 403)
    answer = rank(server, tmp_path)
    assert answer.returncode == 2
    assert f"cannot download {MODEL}: " in answer.stderr
    assert "try again later" in answer.stderr
    assert "downloading" not in answer.stderr
