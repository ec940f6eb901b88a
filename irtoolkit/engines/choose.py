"""Engines by name, from arguments or from the environment."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from irtoolkit.base import plugins
from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean
from irtoolkit.engines.engine import Engine, LocalEngine, using

NAMES = ("local", "processes", "ray")
# Environment variables that stand for --engine and --workers; Ray's own stands for --address.
ENGINE, WORKERS, ADDRESS = "IRTOOLKIT_ENGINE", "IRTOOLKIT_WORKERS", "RAY_ADDRESS"


@contextmanager
def engine(
    name: str | None = None, *, workers: int | None = None, address: str | None = None
) -> Iterator[Engine]:
    """Sends work to an engine until the end of the block, which ends the engine.

    Args:
        name: "local" (this process), "processes" (of this machine), "ray", or an engine of another
            package. By default "ray" with an address, else `$IRTOOLKIT_ENGINE`, else "ray" if
            `$RAY_ADDRESS` names a cluster, else "processes" if there are several workers, else
            "local".
        workers: number of pieces of work at once; by default `$IRTOOLKIT_WORKERS`, or else one for
            each core or CPU of the cluster.
        address: of a Ray cluster: host:port, ray://host:port or auto; by default `$RAY_ADDRESS`, else
            a Ray is started on this machine and stopped at the end.

    Raises:
        InputError: no such engine, an invalid number of workers, an address for another engine
            than Ray; Ray is not installed, does not answer, or has another version.
    """
    count = wanted_workers(workers)
    chosen = _name(name, count, address, os.environ)
    if address is not None and chosen != "ray":
        raise InputError(
            f"an address for the engine {chosen}", remedy="it goes with the engine ray"
        )
    if name == "local" and workers is not None and workers > 1:
        raise InputError(
            f"{workers} workers for the engine local, which is this process",
            remedy="it is processes or ray that have several",
        )
    started = _started(chosen, count, address)
    try:
        with using(started):
            yield started
    finally:
        started.close()


def _name(
    choice: str | None, workers: int | None, address: str | None, environment: Mapping[str, str]
) -> str:
    if choice is not None:
        return choice
    if address is not None:
        return "ray"
    if environment.get(ENGINE):
        return environment[ENGINE]
    if environment.get(ADDRESS):
        return "ray"
    return "processes" if workers is not None and workers > 1 else "local"


def wanted_workers(workers: int | None = None) -> int | None:
    """Returns the number of pieces of work at once: as given, else `$IRTOOLKIT_WORKERS`, else None.

    Raises:
        InputError: an invalid number of workers.
    """
    text = os.environ.get(WORKERS, "")
    if workers is None and text:
        if not text.isdecimal() or not int(text):
            raise InputError(f"${WORKERS}={text} is not a whole number of at least 1")
        return int(text)
    if workers is not None and workers < 1:
        raise InputError(f"{workers} workers", remedy="give at least 1")
    return workers


def _started(name: str, workers: int | None, address: str | None) -> Engine:
    if name == "local":
        return LocalEngine()
    if name == "processes":
        from irtoolkit.engines.processes import ProcessEngine

        return ProcessEngine(workers)
    if name == "ray":
        from irtoolkit.engines.ray import RayEngine

        return RayEngine(workers, address)
    others = plugins.of_group(plugins.ENGINES)
    if name not in others:
        names = [*NAMES, *others]
        raise InputError(
            f"no engine {name!r}", remedy=f"{did_you_mean(name, names)}there are {', '.join(names)}"
        )
    start: Any = others[name].load()
    started: Engine = start(workers)
    return started
