"""Which process of a launch this one is."""

from __future__ import annotations

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.base.launch import Launch, launch

SALLOC = {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "4", "SLURM_JOB_NODELIST": "n[1-2]"}
SRUN = {**SALLOC, "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_STEP_ID": "0"}


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, Launch()),
        ({"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}, Launch(3, 4, 1, "torchrun")),
        ({"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}, Launch()),
        ({"LOCAL_RANK": "2"}, Launch(local_rank=2)),
        ({"WORLD_SIZE": "2"}, Launch()),
        (
            {"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_LOCALID": "1"},
            Launch(1, 2, 1, "srun"),
        ),
        (
            {"SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_LOCALID": "0"},
            Launch(0, 2, 0, "srun"),
        ),
        (
            {
                "OMPI_COMM_WORLD_RANK": "5",
                "OMPI_COMM_WORLD_SIZE": "8",
                "OMPI_COMM_WORLD_LOCAL_RANK": "1",
            },
            Launch(5, 8, 1, "mpirun"),
        ),
        ({"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "1"}, Launch(1, 2, 1, "mpiexec")),
        ({"PMI_RANK": "1", "PMI_SIZE": "2"}, Launch(1, 2, 0, "mpiexec")),
    ],
)
def test_each_launcher_numbers_its_processes(env: dict[str, str], expected: Launch) -> None:
    assert launch(env) == expected
    assert launch(env).helps == (expected.rank > 0)
    assert launch(env).several == (expected.size > 1)


@pytest.mark.parametrize(
    ("env", "size"),
    [
        (SALLOC, 1),  # the shell of salloc: the job has tasks, and none is started
        ({**SRUN, "SLURM_STEP_ID": str(0xFFFFFFFB)}, 1),  # a batch script, by its step's number
        ({**SRUN, "SLURM_NTASKS": "1", "SLURM_STEP_NUM_TASKS": "1"}, 1),  # srun --ntasks=1
        ({**SRUN, "SLURM_STEP_NUM_TASKS": "4"}, 4),
        ({**SALLOC, "SLURM_PROCID": "0", "SLURM_LAUNCH_NODE_IPADDR": "10.0.0.1"}, 4),
    ],
)
def test_an_allocation_is_not_a_launch(env: dict[str, str], size: int) -> None:
    assert launch(env).size == size


def test_the_innermost_launcher_counts() -> None:
    mpi = {"PMI_RANK": "3", "PMI_SIZE": "4"}
    srun = {**SRUN, "SLURM_STEP_NUM_TASKS": "2"}
    assert launch({**srun, **mpi}) == Launch(3, 4, 0, "mpiexec")
    torchrun = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}
    assert launch({**srun, **mpi, **torchrun}) == Launch(1, 2, 1, "torchrun")


def test_a_ray_worker_is_numbered_by_what_was_set_for_it_alone() -> None:
    worker = {**SRUN, "SLURM_PROCID": "1", "RAY_RAYLET_PID": "12"}
    assert launch(worker) == Launch()
    assert launch({**worker, "RANK": "1", "WORLD_SIZE": "2"}) == Launch(1, 2, 0, "torchrun")


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"RANK": "one", "WORLD_SIZE": "2"}, "RANK is 'one', not a number"),
        ({"RANK": "2", "WORLD_SIZE": "2"}, "RANK=2 is not below WORLD_SIZE=2"),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": ""}, "SLURM_NTASKS is '', not a number"),
    ],
)
def test_numbers_that_cannot_be(env: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        launch(env)
