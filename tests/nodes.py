"""A Ray node that does not share a disk: it sees another folder in the place of one of ours."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clusters import OBJECTS

NAME = "other-node"
# What `ray` does, where a node may take as long as it needs to start.
RAY = """
from irtoolkit.engines.node import patient_start
from ray.scripts.scripts import main

with patient_start():
    main()
"""


@contextmanager
def other_node(address: str, ours: Path, theirs: Path) -> Iterator[None]:
    """A node of two CPUs in mount and host name spaces of its own.

    What is simulated is the other machine only: its kernel, processes and network are ours. Its
    workers open `ours` and find the files of `theirs`, as where a disk is not shared.
    """
    apart = ["unshare", "--map-root-user", "--mount", "--uts"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*apart, "hostname", NAME], check=False).returncode
    ):
        pytest.skip("this system lets no user have name spaces")
    start = [
        sys.executable, "-c", RAY, "start", "--address", address, "--num-cpus", "2",
        "--object-store-memory", str(OBJECTS), "--disable-usage-stats", "--block",
    ]  # fmt: skip
    script = f"hostname {NAME} && mount --bind '{theirs}' '{ours}' && exec {shlex.join(start)}"
    running = subprocess.Popen(
        [*apart, "sh", "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        running.terminate()
        running.wait()
