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


@pytest.mark.parametrize("launcher", [srun, mpirun])
def test_the_first_process_writes_a_run_that_needs_no_model(launcher, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    run = tmp_path / "bm25.run"
    words = ["retrieve", "csfcube/sample", "bm25", "-o", run, "--depth", 5]
    first, second = together(tmp_path, words, [launcher(0), launcher(1)])
    assert (first[0], *second[:2]) == (0, 0, "")
    assert first[2].count("started 2 processes, which share this command; the first writes") == 1
    assert second[2].count("process 1 of 2 writes nothing: the first does this command") == 1
    assert len(second[2].splitlines()) == 1
    assert first[2].count(f"{run}: ") == 1
    assert len(Run.read(run).query_ids)
    names = ("bm25.run", "bm25.run.ir-metadata.yml", "bm25.run.ranks.tsv")
    assert sorted(path.name for path in tmp_path.glob("*bm25*")) == list(names)


def test_a_helper_leaves_a_command_that_is_not_shared_to_the_first(tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    ((status, _, said),) = together(
        tmp_path, ["retrieve", "csfcube/sample", "bm25", "-o", run], [{}]
    )
    assert status == 0, said
    words = ["eval", "csfcube/sample", run, "--format", "json"]
    first, second = together(tmp_path, words, [srun(0), srun(1)])
    assert second[:2] == (0, "")
    assert second[2].count("process 1 of 2 writes nothing") == 1
    assert first[0] == 0
    assert json.loads(first[1])
    assert first[2].count("srun started 2 processes; eval is not shared") == 1


def test_processes_that_know_nothing_of_each_other_leave_one_whole_run(tmp_path: Path) -> None:
    run = tmp_path / "one.run"
    words = ["retrieve", "csfcube/sample", "bm25", "-o", run]
    assert [each[0] for each in together(tmp_path, words, [{}, {}])] == [0, 0]
    recorded = provenance.read_metadata(run)
    assert recorded is not None
    assert recorded["irtoolkit"]["sha256"] == sha256(run)
    alone = tmp_path / "alone.run"
    together(tmp_path, [*words[:-1], alone], [{}])
    assert run.read_bytes() == alone.read_bytes()
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_processes_that_are_alone_do_their_own_commands(tmp_path: Path) -> None:
    words = ["retrieve", "csfcube/sample", "random", "--depth", 5, "-o"]
    for rank in range(2):
        run = tmp_path / f"{rank}.run"
        (done,) = together(tmp_path, [*words, run], [{**srun(rank), "IRTOOLKIT_ALONE": "1"}])
        assert (done[0], done[2].count("irtoolkit: ")) == (0, 0)
        assert len(Run.read(run).query_ids)
