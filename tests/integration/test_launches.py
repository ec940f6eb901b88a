"""Several processes of one command: one whole output, whatever has started them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from irtoolkit.base.files import sha256
from irtoolkit.cli import main
from irtoolkit.runs import Run, provenance


def srun(rank: int, size: int = 2) -> dict[str, str]:
    """What srun tells a process."""
    return {
        "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank), "SLURM_NTASKS": str(size),
        "SLURM_STEP_NUM_TASKS": str(size), "SLURM_STEP_ID": "0", "SLURM_JOB_ID": "71",
    }  # fmt: skip


def mpirun(rank: int, size: int = 2) -> dict[str, str]:
    """What Open MPI tells a process."""
    names = {"RANK": rank, "SIZE": size, "LOCAL_RANK": rank, "LOCAL_SIZE": size}
    return {f"OMPI_COMM_WORLD_{name}": str(value) for name, value in names.items()}


def together(
    tmp_path: Path, words: list[object], environments: list[Mapping[str, str]]
) -> list[tuple[int, str, str]]:
    """Status, output and messages of processes that run at once."""
    env = {**os.environ, "IRTOOLKIT_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "irtoolkit", *map(str, words)]
    started = [
        subprocess.Popen(
            command, env={**env, **more}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for more in environments
    ]  # fmt: skip
    said = [process.communicate() for process in started]
    return [(p.returncode, *both) for p, both in zip(started, said, strict=True)]


def test_the_first_process_writes_what_no_model_is_needed_for(tmp_path: Path) -> None:
    run = tmp_path / "bm25.run"
    words = ["retrieve", "csfcube/sample", "bm25", "-o", run, "--depth", 5]
    first, second = together(tmp_path, words, [srun(0), srun(1)])
    assert (first[0], *second[:2]) == (0, 0, ""), first
    assert first[2].count("started 2 processes, which share this command; the first writes") == 1
    assert second[2].count("process 1 of 2 writes nothing: the first does this command") == 1
    assert len(second[2].splitlines()) == 1
    assert first[2].count(f"{run}: ") == 1
    assert len(Run.read(run).query_ids)
    names = ("bm25.run", "bm25.run.ir-metadata.yml", "bm25.run.ranks.tsv")
    assert sorted(path.name for path in tmp_path.glob("*bm25*")) == list(names)

    # And a command that is not shared.
    words = ["eval", "csfcube/sample", run, "--format", "json"]
    first, second = together(tmp_path, words, [mpirun(0), mpirun(1)])
    assert second[:2] == (0, "")
    assert second[2].count("process 1 of 2 writes nothing") == 1
    assert first[0] == 0
    assert json.loads(first[1])
    assert first[2].count("mpirun started 2 processes; eval is not shared") == 1


def test_processes_that_know_nothing_of_each_other_leave_one_whole_run(tmp_path: Path) -> None:
    run = tmp_path / "one.run"
    words = ["retrieve", "csfcube/sample", "bm25", "-o", run]
    assert [each[0] for each in together(tmp_path, words, [{}, {}])] == [0, 0]
    recorded = provenance.read_metadata(run)
    assert recorded is not None
    assert recorded["irtoolkit"]["sha256"] == sha256(run)
    alone = tmp_path / "alone.run"
    assert main([str(word) for word in [*words[:-1], alone]]) == 0
    assert run.read_bytes() == alone.read_bytes()
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_process_that_is_alone_does_its_own_command(
    rank: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {**srun(rank), "IRTOOLKIT_ALONE": "1"}.items():
        monkeypatch.setenv(name, value)
    run = tmp_path / "a.run"
    assert main(["retrieve", "csfcube/sample", "random", "--depth", "5", "-o", str(run)]) == 0
    assert "irtoolkit: " not in capsys.readouterr().err
    assert len(Run.read(run).query_ids)
