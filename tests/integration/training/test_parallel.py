"""Training in several processes, sharded weights and adapters: the losses and models of one process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.cli import main
from irtoolkit.engines.choose import engine
from irtoolkit.engines.work import WorkerKilledError
from irtoolkit.ranking.produce import produce
from irtoolkit.ranking.systems import System
from irtoolkit.training.ranks import train_with
from irtoolkit.training.recipe_files import find_recipe
from irtoolkit.training.trainer import train
from tests import planted
from tests.trained import assert_shared, interrupted, losses, recipe_file, same, weights
from tests.waiting import wait_for

# Of a loss in a checkpoint: only the training that resumes from it has it in its record.
MARK = 123.0
# The first checkpoint that has a loss.
STEP = 10


def srun(rank: int, job: int) -> dict[str, str]:
    """What srun tells each of two processes."""
    return {
        "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank), "SLURM_NTASKS": "2",
        "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_ID": "0", "SLURM_JOB_ID": str(job),
        "SLURM_NNODES": "1", "SLURM_JOB_NODELIST": "here",
    }  # fmt: skip


def by_srun(words: list[str]) -> list[tuple[int, str]]:
    """Status and messages of each of two processes, as srun starts them."""
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "irtoolkit", *words], env={**os.environ, **srun(rank, os.getpid())},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    said = [process.communicate()[1] for process in started]
    return [(process.returncode, text) for process, text in zip(started, said, strict=True)]


def checkpoints(stage: Path) -> list[Path]:
    """The complete checkpoints that have a loss, the newest last."""
    found = {int(path.parent.name[11:]): path for path in stage.glob("checkpoint-*/follower.json")}
    return [found[step].parent for step in sorted(found) if step >= STEP]


def assert_one_line(said: str, *parts: str) -> None:
    assert said.count("\n") == 1, said
    assert all(part in said for part in parts), said


@pytest.mark.nightly
def test_sharded_training_is_alone_in_its_folder_and_resumes_when_a_process_was_killed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe, out = recipe_file(tmp_path, epochs=14), tmp_path / "two"
    words = ["train", str(recipe), "--device", "cpu", "-o", str(out), "--set", "fsdp=true"]
    killed_in_training(words, out, capsys)
    last = checkpoints(tmp_path / "two.training" / "stage-1")[-1]
    assert (last / "shards").is_dir()
    state = json.loads((last / "follower.json").read_text())
    state["losses"][0]["loss"] = MARK
    (last / "follower.json").write_text(json.dumps(state))

    done = by_srun(words)
    assert [status for status, _ in done] == [0, 0], done
    assert not list(tmp_path.glob(".*"))
    train(find_recipe(str(recipe)), tmp_path / "one", device="cpu")
    assert losses(out)[0] == MARK
    # A loss is that of ten steps; the first after the checkpoint is that of fewer.
    assert_shared(tmp_path / "one", out, skipped=len(state["losses"]) + 1)


def killed_in_training(words: list[str], out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Trains in two workers of which one is killed; another training is refused meanwhile."""
    stage = out.with_name(f"{out.name}.training") / "stage-1"
    first = subprocess.Popen(
        [sys.executable, "-m", "irtoolkit", *words, "--engine", "processes", "--workers", "2"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    ranks: list[psutil.Process] = []
    try:
        wait_for(lambda: checkpoints(stage) or first.poll() is not None)
        assert first.poll() is None, first.communicate()[1]
        children = psutil.Process(first.pid).children()
        ranks += [each for each in children if "spawn_main" in " ".join(each.cmdline())]
        assert len(ranks) == 2
        ranks[0].suspend()  # and the other waits for it
        capsys.readouterr()  # of the recipe
        assert main(words) == 2
        assert_one_line(capsys.readouterr().err, f"another training is writing {out}", "-o")
        ranks[0].kill()
        said = first.communicate()[1]
        assert first.returncode == 2, said
        assert_one_line(said, "was killed in training", "rerun the same command")
        assert not any(each.is_running() for each in ranks)
        assert not list(out.parent.glob(".*.meet*"))
    finally:
        for each in (*ranks, first):
            with suppress(psutil.NoSuchProcess):
                each.kill()
        first.wait()


def _kill_the_second(number: int) -> None:
    if number:
        os.kill(os.getpid(), signal.SIGKILL)
    threading.Event().wait()


@pytest.mark.nightly
def test_workers_of_a_cluster_have_the_losses_of_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    recipe = find_recipe(str(recipe_file(tmp_path)))
    train(recipe, tmp_path / "one", device="cpu")
    with engine("ray", workers=2) as made:
        train_with(made, 2, recipe, tmp_path / "two", device="cpu")
        assert_shared(tmp_path / "one", tmp_path / "two")
        with pytest.raises(InputError, match=r"another training: .*seed was 42 and is 1"):
            train_with(made, 2, replace(recipe, seed=1), tmp_path / "two", device="cpu")
        # One that is killed ends the other, which waits for it.
        with pytest.raises(WorkerKilledError):
            list(made.map(_kill_the_second, [0, 1], together=True))
    assert not list(tmp_path.glob(".*"))


# -- adapters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "late", "checkpointing": True, "lora_targets": "query, value"},
        {"kind": "cross", "loss": "listwise", "negatives": "random", "count": 5},
    ],
)
def test_adapters_learn_and_are_merged_into_a_model_that_any_command_loads(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    cross = settings.get("kind") == "cross"  # to read two texts together is learned more slowly
    data, test = planted.task(topics=6, asked=8 if cross else 6)
    how = {
        "lora": 16, "lora_alpha": 32.0, "rate": 5e-3 if cross else 2e-2, "epochs": 25 if cross else 10,
    }  # fmt: skip
    start = planted.start(tmp_path / "start", num_hidden_layers=2 if cross else 1)
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


def test_training_of_adapters_resumes_to_the_same_weights(tmp_path: Path) -> None:
    data, test = planted.task(topics=6, asked=6)
    start = planted.start(tmp_path / "start", hidden_dropout_prob=0.1)
    made = planted.recipe(data, start, test, lora=2, lora_dropout=0.1, batch=6, epochs=2, every=2)
    whole = train(made, tmp_path / "whole", device="cpu", save_every=3)
    with interrupted(6):
        train(made, tmp_path / "cut", device="cpu", save_every=3)
    names = weights(tmp_path / "cut.training" / "stage-1" / "checkpoint-6")
    assert names
    assert all("lora_" in name for name in names)
    cut = train(made, tmp_path / "cut", device="cpu", save_every=3)
    assert same(whole.folder, cut.folder)
