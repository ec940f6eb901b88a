"""The launch that this process belongs to: torchrun, srun and MPI start several of one command.

Each launcher numbers its processes in environment variables. Process 0 writes files and messages.
The others, the helpers, share the work, and write nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from irtoolkit.base.errors import InputError

# Set to 1, it makes each process of srun or mpirun do its own command.
ALONE = "IRTOOLKIT_ALONE"
# Numbers of Slurm's steps that no srun has started: batch script, interactive shell and others.
_SPECIAL_STEPS = 0xFFFFFF00


@dataclass(frozen=True)
class Launch:
    """A process among those that were started together.

    Attributes:
        rank: number of the process, from 0.
        size: number of processes.
        local_rank: number of the process among those on its machine.
        launcher: name of the launcher; "" for a process that was started alone.
    """

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    launcher: str = ""

    @property
    def helps(self) -> bool:
        """Whether this process only helps: another one writes files and messages."""
        return self.rank > 0

    @property
    def several(self) -> bool:
        """Whether there are other processes."""
        return self.size > 1


@dataclass(frozen=True)
class _Launcher:
    """The names of a launcher's variables."""

    name: str
    rank: str
    size: str
    local_ranks: tuple[str, ...]


# The innermost launcher comes first: mpirun starts its processes in what srun or sbatch started.
_LAUNCHERS = (
    _Launcher("torchrun", "RANK", "WORLD_SIZE", ("LOCAL_RANK",)),
    _Launcher(
        "mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", ("OMPI_COMM_WORLD_LOCAL_RANK",)
    ),
    _Launcher("mpiexec", "PMI_RANK", "PMI_SIZE", ("MPI_LOCALRANKID", "PMI_LOCAL_RANK")),
    _Launcher("srun", "SLURM_PROCID", "SLURM_NTASKS", ("SLURM_LOCALID",)),
)


def launch(env: Mapping[str, str] = os.environ) -> Launch:
    """Returns this process's rank in a launch, and the size of the launch.

    Args:
        env: the environment variables.

    Raises:
        InputError: a launcher's variable is not a number, or the rank is not below the size.
    """
    for launcher in _LAUNCHERS:
        if launcher.rank not in env or launcher.size not in env:
            continue
        if launcher.name == "srun" and not _of_srun(env):
            continue
        # In a Ray worker only what was set for this very process counts: `srun ray start` numbers
        # Ray's own processes.
        if launcher.name != "torchrun" and "RAY_RAYLET_PID" in env:
            continue
        numbers = _numbered(launcher, env)
        # What torchrun's variables say was set for this very process.
        alone = launcher.name != "torchrun" and env.get(ALONE, "") not in ("", "0")
        return replace(numbers, rank=0, size=1) if alone else numbers
    return Launch(local_rank=_number(env, "LOCAL_RANK") if env.get("LOCAL_RANK") else 0)


def _numbered(launcher: _Launcher, env: Mapping[str, str]) -> Launch:
    rank = _number(env, launcher.rank)
    # salloc's number of tasks is the job's; that of the step is how many srun has started.
    step = launcher.name == "srun" and "SLURM_STEP_NUM_TASKS" in env
    size = _number(env, "SLURM_STEP_NUM_TASKS" if step else launcher.size)
    if not 0 <= rank < max(size, 1):
        raise InputError(
            f"{launcher.rank}={rank} is not below {launcher.size}={size}",
            remedy=f"unset {launcher.rank}, unless {launcher.name} has set it",
        )
    local = next((_number(env, name) for name in launcher.local_ranks if name in env), 0)
    return Launch(rank, max(size, 1), local, launcher.name if size > 1 else "")


def _of_srun(env: Mapping[str, str]) -> bool:
    """Returns whether srun started this process, rather than only an allocation's script or shell.

    Slurm numbers a batch script as process 0, with the tasks of the whole job, though it is alone.
    """
    step = env.get("SLURM_STEP_ID", env.get("SLURM_STEPID", ""))
    if step.isdecimal():
        return int(step) < _SPECIAL_STEPS
    started = ("SLURM_STEP_NUM_TASKS", "SLURM_LAUNCH_NODE_IPADDR", "SLURM_SRUN_COMM_HOST")
    whole_job = "SLURM_JOB_ID" in env and env["SLURM_PROCID"] == "0"
    return not whole_job or any(name in env for name in started)


def _number(env: Mapping[str, str], name: str) -> int:
    value = env[name]
    if not value.strip().isdecimal():
        raise InputError(
            f"the environment variable {name} is {value!r}, not a number", remedy=f"unset {name}"
        )
    return int(value)


def nothing_to_do(process: Launch) -> str:
    """Returns the message of a helper that ends unused; its own -o may be another."""
    return (
        f"irtoolkit: process {process.rank} of {process.size} writes nothing: the first does this command"
        f" ({ALONE}=1 gives each process its own)"
    )
