"""Where processes of a training meet, by the variables of their launcher."""

from __future__ import annotations

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.base.launch import Launch
from irtoolkit.training.rendezvous import first_host, torch_variables

SRUN = Launch(3, 8, 1, "srun")


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("node1", "node1"),
        ("a01,b02", "a01"),
        ("n[007-010,012],m1", "n007"),
        ("gpu[3,5]", "gpu3"),
        ("tux[1-2]-ib", "tux1-ib"),
        ("", ""),
    ],
)
def test_the_first_host_of_a_list(nodes: str, first: str) -> None:
    assert first_host(nodes) == first


def test_srun_gives_torchs_variables() -> None:
    env = {"SLURM_JOB_ID": "4242", "SLURM_STEP_ID": "1", "SLURM_JOB_NODELIST": "n[07-08]"}
    found = torch_variables(SRUN, env)
    assert (found["RANK"], found["WORLD_SIZE"], found["LOCAL_RANK"]) == ("3", "8", "1")
    assert found["MASTER_ADDR"] == "n07"
    assert 1024 < int(found["MASTER_PORT"]) < 32768
    # All processes of a step find one port, and another step of the job another one.
    assert found["MASTER_PORT"] == torch_variables(Launch(0, 8, 0, "srun"), env)["MASTER_PORT"]
    other = torch_variables(SRUN, {**env, "SLURM_STEP_ID": "2"})
    assert found["MASTER_PORT"] != other["MASTER_PORT"]
    assert torch_variables(SRUN, {**env, "SLURM_NNODES": "1"})["MASTER_ADDR"] == "127.0.0.1"
    given = {"MASTER_ADDR": "here", "MASTER_PORT": "99"}
    assert torch_variables(SRUN, {**env, **given}).items() >= given.items()
    launched = {"SLURM_JOB_ID": "1", "SLURM_LAUNCH_NODE_IPADDR": "10.0.0.7"}
    assert torch_variables(SRUN, launched)["MASTER_ADDR"] == "10.0.0.7"


def test_mpirun_on_one_machine() -> None:
    env = {"OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
    assert torch_variables(Launch(0, 2, 0, "mpirun"), env)["MASTER_ADDR"] == "127.0.0.1"


@pytest.mark.parametrize(
    ("here", "env", "lacking"),
    [
        (SRUN, {}, "MASTER_ADDR"),
        (SRUN, {"SLURM_JOB_NODELIST": "n1"}, "MASTER_PORT"),
        (Launch(0, 4, 0, "mpirun"), {"OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, "MASTER_ADDR"),
    ],
)
def test_nothing_tells_where(here: Launch, env: dict[str, str], lacking: str) -> None:
    with pytest.raises(InputError, match=f"nothing tells where they meet .set {lacking} to"):
        torch_variables(here, env)
