"""What the wheel and the source distribution contain, as they are built."""

from __future__ import annotations

import subprocess
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from irtoolkit.version import __version__
from tests.conftest import ROOT

pytest.importorskip("hatchling", reason="hatchling is not installed")


def tracked() -> list[str]:
    """The files of the repository."""
    found = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        pytest.skip("this is no git checkout")
    return [name for name in found.stdout.splitlines() if (ROOT / name).is_file()]


def built(kind: str, folder: Path) -> Path:
    """The distribution of a kind, "wheel" or "sdist"."""
    from hatchling.builders.sdist import SdistBuilder
    from hatchling.builders.wheel import WheelBuilder

    builder = {"wheel": WheelBuilder, "sdist": SdistBuilder}[kind](str(ROOT))
    return Path(next(builder.build(directory=str(folder), versions=["standard"])))


def strange(names: Iterable[str]) -> list[str]:
    """Names of what no distribution may contain: data, weights, caches, what was built."""
    ends = (".pyc", ".safetensors", ".bin", ".pt", ".run.gz")
    parts = {".venv", "node_modules", "__pycache__", "shared", ".git"}
    return [name for name in names if name.endswith(ends) or parts & set(Path(name).parts)]


def test_the_wheel_has_the_package_and_nothing_else(tmp_path: Path) -> None:
    with zipfile.ZipFile(built("wheel", tmp_path)) as wheel:
        names = wheel.namelist()
        metadata = wheel.read(f"irtoolkit-{__version__}.dist-info/METADATA").decode()
    package = {name for name in names if not name.startswith(f"irtoolkit-{__version__}.dist-info/")}
    assert package == {name for name in tracked() if name.startswith("irtoolkit/")}
    assert "irtoolkit/py.typed" in package
    assert f"\nVersion: {__version__}\n" in metadata
    assert "\nLicense-Expression: Apache-2.0\n" in metadata
    assert not strange(names)


def test_the_source_distribution_has_every_file_of_the_repository(tmp_path: Path) -> None:
    with tarfile.open(built("sdist", tmp_path)) as packed:
        names = [name.partition("/")[2] for name in packed.getnames()]
    assert {*tracked()} <= {*names} | {".gitignore"}
    assert {*names} - {*tracked()} == {"PKG-INFO"}
    assert not strange(names)
