"""Losses over the batches of two processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from irtoolkit.training.losses import make_loss
from tests.conftest import ROOT
from tests.unit.training.test_losses import Vectors, features, late_batch, stage
from tests.waiting import PATIENCE

CASES: list[tuple[str, Any, int | None]] = [
    ("in-batch", "dense", None), ("in-batch", "dense", 2), ("in-batch", "sparse", None),
    ("in-batch", "sparse", 2), ("in-batch", "late", None), ("in-batch", "late", 2),
    ("sampled", "dense", None),
]  # fmt: skip


def trained(rank: int, world: int) -> list[tuple[Any, Any]]:
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


SCRIPT = """
import sys
import torch
from tests.integration.training.test_losses import trained
torch.distributed.init_process_group("gloo")
rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
found = trained(rank, world)
if rank == 0:
    torch.save(found, sys.argv[1])
torch.distributed.destroy_process_group()
"""


def test_two_processes_have_the_loss_of_one(tmp_path: Path) -> None:
    script = tmp_path / "shared.py"
    script.write_text(SCRIPT)
    places = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    env = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, places)),
    }
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
        str(script), str(tmp_path / "found.pt"),
    ]  # fmt: skip
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    found = torch.load(tmp_path / "found.pt")
    for case, (loss, gradient), (one, whole) in zip(CASES, found, trained(0, 1), strict=True):
        torch.testing.assert_close(gradient, whole, rtol=1e-4, atol=1e-5, msg=str(case))
        assert float(loss) == pytest.approx(float(one), rel=1e-4), case
