"""A Ray node that does not share a disk: it sees another folder in the place of one of ours."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NAME = "other-node"


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
    start = f"{sys.executable} -m ray.scripts.scripts start --address {address} --num-cpus 2"
    memory = f"--object-store-memory {80 << 20} --disable-usage-stats --block"
    script = f"hostname {NAME} && mount --bind '{theirs}' '{ours}' && exec {start} {memory}"
    running = subprocess.Popen(
        [*apart, "sh", "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        running.terminate()
        running.wait()
