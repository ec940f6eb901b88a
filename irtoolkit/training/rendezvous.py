"""The rendezvous of the processes of a training: torch's variables, from the launcher's."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.launch import Launch, launch

# The file in which the workers of an engine meet.
MEET = "IRTOOLKIT_MEET"
# For all processes to arrive; a Slurm batch script that is not started with srun waits in vain.
_ARRIVAL = timedelta(minutes=10)
# One process evaluates while the others wait, which may take hours.
_WAIT = timedelta(days=1)
# Below the ports that systems give away by themselves.
_FIRST_PORT, _PORTS = 15000, 15000


def torch_variables(process: Launch, env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Returns the environment variables by which torch finds the other processes of a launch.

    Args:
        process: this process.
        env: the environment variables; `MASTER_ADDR` and `MASTER_PORT` are kept.

    Raises:
        InputError: the address of process 0 is unknown.
    """
    address = env.get("MASTER_ADDR") or _address(process, env)
    port = env.get("MASTER_PORT") or _port(process, env)
    if not address or not port:
        variable = "MASTER_PORT" if address else "MASTER_ADDR"
        raise InputError(
            f"{process.launcher} started {process.size} processes, and nothing tells where they meet",
            remedy=f"set {variable} to {'a free port' if address else 'the host of process 0'},"
            " or start them with torchrun",
        )
    return {
        "RANK": str(process.rank),
        "WORLD_SIZE": str(process.size),
        "LOCAL_RANK": str(process.local_rank),
        "MASTER_ADDR": address,
        "MASTER_PORT": port,
    }


def _address(process: Launch, env: Mapping[str, str]) -> str:
    if process.launcher == "srun":
        if env.get("SLURM_STEP_NUM_NODES", env.get("SLURM_NNODES")) == "1":
            return "127.0.0.1"
        nodes = env.get("SLURM_STEP_NODELIST") or env.get("SLURM_JOB_NODELIST") or ""
        # Process 0 is on the first node; where srun was typed may be another machine.
        return first_host(nodes) or env.get("SLURM_LAUNCH_NODE_IPADDR", "")
    here_alone = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")
    return "127.0.0.1" if any(env.get(name) == str(process.size) for name in here_alone) else ""


def _port(process: Launch, env: Mapping[str, str]) -> str:
    if process.launcher == "srun":
        job, step = env.get("SLURM_JOB_ID", ""), env.get("SLURM_STEP_ID", "0")
        if not (job.isdecimal() and step.isdecimal()):
            return ""
        return str(_FIRST_PORT + (int(job) + 101 * int(step)) % _PORTS)
    # On one machine the launcher is the parent of all processes.
    return str(_FIRST_PORT + os.getppid() % _PORTS) if process.several else ""


def first_host(nodes: str) -> str:
    """Returns the first host of a list as Slurm writes it: n007 of "n[007-010,012],m1"."""
    match = re.match(r"([^,\[]*)(?:\[([^\],-]+)[^\]]*\])?([^,\[]*)", nodes.strip())
    return "".join(part or "" for part in match.groups()) if match else ""


def meet(backend: str) -> None:
    """Joins the other processes of this launch.

    Raises:
        InputError: the rendezvous is unknown, or some processes did not arrive in time.
    """
    import torch
    from torch.distributed.rendezvous import rendezvous

    process = launch()
    file = os.environ.get(MEET)
    if process.launcher != "torchrun" and file is None:
        # The libraries know torchrun's variables only.
        os.environ.update(torch_variables(process))
    try:
        url = "env://" if file is None else Path(file).as_uri()
        store, rank, size = next(rendezvous(url, process.rank, process.size, timeout=_ARRIVAL))
        _await_all(store, rank, size)
    except (RuntimeError, ValueError) as error:
        location = file or f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}"
        reason = " ".join(str(error).split())
        if "EADDRINUSE" in reason or "in use" in reason:
            raise InputError(
                f"{location} is in use", remedy="set MASTER_PORT to a free port"
            ) from None
        raise InputError(
            f"not all of the {process.size} processes met at {location}: {reason[:200]}",
            remedy="each is started with srun, mpirun or torchrun, and reaches that address;"
            " MASTER_ADDR and MASTER_PORT set another",
        ) from None
    torch.distributed.init_process_group(
        backend, store=store, rank=rank, world_size=size, timeout=_WAIT
    )


def _await_all(store: Any, rank: int, size: int) -> None:
    """Waits until every process has written its name."""
    store.set(f"irtoolkit/here/{rank}", "here")
    store.wait([f"irtoolkit/here/{number}" for number in range(size)], _ARRIVAL)
    store.set_timeout(_WAIT)
