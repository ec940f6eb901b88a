"""Training in several processes, sharded weights and adapters: the losses and models of one process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.engines.choose import engine
from irtoolkit.ranking.produce import produce
from irtoolkit.ranking.systems import System
from irtoolkit.training.checkpoints import StageFolder
from irtoolkit.training.model_paths import RECORD
from irtoolkit.training.ranks import train_with
from irtoolkit.training.recipe_files import find_recipe
from irtoolkit.training.trainer import train
from tests import planted

# Of the losses of sharded training beside those of one process: the order of sums differs.
BOUND = 1e-4
# Ends a process without a word once it has a checkpoint of a step.
SCRIPT = """
import os, sys
from irtoolkit.cli import main
from irtoolkit.training import st_trainer
from irtoolkit.training.monitor import TrainingMonitor

step = int(sys.argv[1])
saved = TrainingMonitor.on_save
def on_save(self, args, state, *rest, **more):
    saved(self, args, state, *rest, **more)
    if state.global_step == step:
        import torch
        torch.distributed.barrier()
        os._exit(9)
TrainingMonitor.on_save = on_save
raise SystemExit(main(sys.argv[2:]))
"""


def srun(rank: int, job: int) -> dict[str, str]:
    """What srun tells each of two processes."""
    return {
        "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank), "SLURM_NTASKS": "2",
        "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_ID": "0", "SLURM_JOB_ID": str(job),
        "SLURM_NNODES": "1", "SLURM_JOB_NODELIST": "here",
    }  # fmt: skip


def recipe_file(folder: Path, **model: Any) -> Path:
    """A recipe with batches that two processes share equally, and its data."""
    start = planted.start(folder / "start")
    file, path = folder / "examples.jsonl", folder / "mine.toml"
    units = [
        {"id": f"e{t}", "text": f"d{t}x0 d{t}x1 d{t}x2", "left": f"q{t}x0 n1", "right": f"q{t}x2"}
        for t in range(24)
    ]
    file.write_text("".join(f"{json.dumps({**unit, 'marker': 'e.g.'})}\n" for unit in units))
    path.write_text(
        f'start = "{start}"\nencoders = 2\npooling = "mean"\nsimilarity = "cosine"\n\n[[stage]]\n'
        f'source = "examples"\nfile = "{file}"\nloss = "in-batch"\nscale = 20\nbatch = 8\n'
        "rate = 1e-3\nepochs = 7\n"
    )
    return path


def run(tmp_path: Path, name: str, *words: object, ranks: int = 1, end_at: int = -1) -> list[Any]:
    """Trains in processes as srun starts them; (status, messages) of each."""
    (tmp_path / "script.py").write_text(SCRIPT)
    env = {**os.environ, "IRTOOLKIT_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    command = [
        sys.executable, str(tmp_path / "script.py"), str(end_at), "train",
        *map(str, words), "--device", "cpu", "-o", str(tmp_path / name), "--save-every", "10",
    ]  # fmt: skip
    job = os.getpid() + 7 * sum(map(ord, name))
    started = [
        subprocess.Popen(
            command, env=env | (srun(rank, job) if ranks > 1 else {}), text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )
        for rank in range(ranks)
    ]  # fmt: skip
    said = [process.communicate()[1] for process in started]
    return [(process.returncode, text) for process, text in zip(started, said, strict=True)]


def losses(folder: Path) -> list[float]:
    return [row["loss"] for row in json.loads((folder / RECORD).read_text())["stages"][0]["losses"]]


def weights(folder: Path) -> dict[str, np.ndarray[Any, Any]]:
    from safetensors.numpy import load_file

    found = {
        f"{path.parent.name}/{name}": values
        for path in sorted(folder.rglob("*.safetensors"))
        for name, values in load_file(path).items()
    }
    assert found
    return found


def test_sharded_training_has_the_losses_of_one_process_and_resumes(tmp_path: Path) -> None:
    recipe = recipe_file(tmp_path)
    train(find_recipe(str(recipe)), tmp_path / "one", device="cpu")
    words = (recipe, "--set", "fsdp=true")
    ended = run(tmp_path, "cut", *words, ranks=2, end_at=10)
    assert [status for status, _ in ended] == [9, 9], ended
    assert (tmp_path / "cut.training" / "stage-1" / "checkpoint-10" / "shards").is_dir()
    done = run(tmp_path, "cut", *words, ranks=2)
    assert [status for status, _ in done] == [0, 0], done
    assert len(losses(tmp_path / "one")) == 2  # one before the end of the first, one after
    assert losses(tmp_path / "cut") == pytest.approx(losses(tmp_path / "one"), rel=BOUND)
    first, second = weights(tmp_path / "one"), weights(tmp_path / "cut")
    assert first.keys() == second.keys()
    for name, values in first.items():
        if not name.endswith("key.bias"):  # its gradient is zero but for rounding
            np.testing.assert_allclose(second[name], values, atol=2e-4, err_msg=name)


@pytest.mark.parametrize("name", ["processes", "ray"])
def test_workers_of_an_engine_have_the_losses_of_one_process(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "ray":
        pytest.importorskip("ray")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    recipe = find_recipe(str(recipe_file(tmp_path)))
    alone = train(recipe, tmp_path / "one", device="cpu")
    with engine(name, workers=2) as made:
        shared = train_with(made, 2, recipe, tmp_path / "two", device="cpu")
        found = [each.record["stages"][0]["losses"] for each in (alone, shared)]
        assert found[0]
        for one, two in zip(*found, strict=True):
            assert two["loss"] == pytest.approx(one["loss"], rel=BOUND)
        with pytest.raises(InputError, match=r"another training: .*seed was 42 and is 1"):
            train_with(made, 2, replace(recipe, seed=1), tmp_path / "two", device="cpu")
    assert not list(tmp_path.glob(".*.meet*"))


# -- adapters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"kind": "cross", "loss": "listwise", "negatives": "random", "count": 7},
        {"kind": "late", "checkpointing": True, "lora_targets": "query, value"},
    ],
)
def test_adapters_learn_and_are_merged_into_a_model_that_any_command_loads(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    cross = settings.get("kind") == "cross"  # to read two texts together is learned more slowly
    data, test = planted.task(topics=8, asked=12) if cross else planted.task(topics=6, asked=6)
    how = {"lora": 16, "lora_alpha": 32.0, "rate": 5e-3 if cross else 2e-2, "epochs": 25}
    start = planted.start(tmp_path / "start")
    made = planted.recipe(data, start, test, every=10**6, **how, **settings)
    trained = train(made, tmp_path / "model", device="cpu")
    evaluated = trained.record["stages"][0]["evaluations"][-1]["figures"]["R@1"]
    assert evaluated > 0.5
    assert not any("lora" in name for name in weights(trained.folder))
    kind = {"dense": "dense", "cross": "cross-encoder", "late": "late"}[made.kind]
    system = System.make(kind, kind, {"model": str(trained.folder)})
    run, _ = produce(test, system, tmp_path / "x.run", progress=False)
    best: dict[str, Any] = {}
    for row in run:
        best[row.query_id] = max(row, best.get(row.query_id, row), key=lambda each: each.score)
    right = [row.doc_id == f"d{query[4:].partition('-')[0]}" for query, row in best.items()]
    assert np.mean(right) == pytest.approx(evaluated, abs=1e-6)


def test_training_of_adapters_resumes_to_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, test = planted.task(topics=6, asked=6)
    start = planted.start(tmp_path / "start", hidden_dropout_prob=0.1)
    made = planted.recipe(data, start, test, lora=2, lora_dropout=0.1, batch=6, epochs=2, every=2)
    whole = train(made, tmp_path / "whole", device="cpu", save_every=3)
    original = StageFolder.complete

    def interrupted(self: StageFolder, step: int, state: dict[str, Any]) -> None:
        original(self, step, state)
        if step == 6:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(StageFolder, "complete", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(made, tmp_path / "cut", device="cpu", save_every=3)
    names = weights(tmp_path / "cut.training" / "stage-1" / "checkpoint-6")
    assert names
    assert all("lora_" in name for name in names)
    cut = train(made, tmp_path / "cut", device="cpu", save_every=3)
    first, second = weights(whole.folder), weights(cut.folder)
    assert all(np.array_equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"lora": 0}, "lora=0 is not at least 1"),
        ({"lora_alpha": 8.0}, "lora_alpha=8.0 without adapters .lora=16"),
        ({"lora": 4, "lora_dropout": 1.0}, "lora_dropout=1.0 is not a share"),
        ({"lora": 4, "lora_targets": "wings"}, "lora_targets=wings: .*the model has query, key"),
        ({"lora": 4, "quantize": "4bit"}, "quantize=4bit on the device cpu .train on a GPU"),
        ({"quantize": "4bit"}, "quantize=4bit without adapters"),
        ({"lora": 4, "quantize": "4bit", "fsdp": True}, "quantize=4bit with fsdp=true"),
    ],
)
def test_settings_of_adapters_that_cannot_be(
    settings: dict[str, Any], said: str, tmp_path: Path
) -> None:
    data, _ = planted.task(topics=4, asked=4)
    made = planted.recipe(data, planted.start(tmp_path / "start"), **settings)
    with pytest.raises(InputError, match=said):
        train(made, tmp_path / "model", device="cpu")
    assert not (tmp_path / "model").exists()
