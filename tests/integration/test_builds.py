"""With SOURCE_DATE_EPOCH, the same files give the same wheel and the same source archive."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(find_spec("hatchling") is None, reason="hatchling is not installed")

# Enough of the sources for a build to be one; more only takes longer.
PARTS = ("irtoolkit/base", "irtoolkit/measures", "irtoolkit/__init__.py", "irtoolkit/version.py")
FILES = (
    "pyproject.toml",
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "LICENSE",
)


def built(folder: Path, age: int, mask: int) -> dict[str, str]:
    """The digests of what is built from a copy whose files have a time and a mode of their own."""
    for name in (*PARTS, *FILES):
        source, copy = ROOT / name, folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copyfile(source, copy)
    for path in folder.rglob("*"):
        os.utime(path, (age, age))
        path.chmod(path.stat().st_mode & ~mask)
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder / "dist")]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    files = (folder / "dist").iterdir()
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_two_builds_are_the_same(tmp_path: Path) -> None:
    first = built(tmp_path / "one", 1_600_000_000, 0)
    assert {name.rpartition(".")[2] for name in first} == {"whl", "gz"}
    assert built(tmp_path / "another", 1_650_000_000, 0o022) == first
