"""Benchmarks in folders that `irtoolkit build` has written.

Such a folder has the files of a release and `benchmark.json`, which names the benchmark whose
format they have:

    {"benchmark": "relic", "format": 1, "splits": ["train", "val", "test"], "hidden": []}

The ids of its datasets are those of the published benchmark with the folder in place of the name:
`mine/val` is like `relic/val`, and `mine/val/1-1` like `relic/val/1-1`. A benchmark supports this with
a function `built(folder)` in its module, which yields the ids and datasets of such a folder.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import is_url, on_disk
from irtoolkit.datasets.source import ReleaseSource

ABOUT = "benchmark.json"
FORMAT = 1


@dataclass(frozen=True)
class BuiltFolder:
    """A folder that was built, and the rest of an id that begins with it.

    Attributes:
        name: the folder as in the id.
        path: the folder on this machine.
        parts: the rest of the id.
        about: the content of its `benchmark.json`.
    """

    name: str
    path: Path
    parts: tuple[str, ...]
    about: dict[str, Any]

    @property
    def benchmark(self) -> str:
        """The benchmark whose format it has."""
        return str(self.about["benchmark"])

    @property
    def lang(self) -> str:
        """The code of its language; empty if its `benchmark.json` names none."""
        return str(self.about.get("lang", ""))

    @property
    def splits(self) -> list[str]:
        """The names of its splits."""
        return list(self.about["splits"])

    def source(self, *files: str) -> ReleaseSource:
        """Returns the location of some of its files."""
        remedy = "build the benchmark again"
        return ReleaseSource(self.benchmark, files, remedy, self.path.absolute(), built=True)


def built_folder(dataset_id: str) -> BuiltFolder | None:
    """Returns the folder and the rest of an id; None if no folder in it is a benchmark.

    Raises:
        InputError: its `benchmark.json` is damaged or of a newer version.
    """
    if is_url(dataset_id) or not dataset_id:
        return None
    words = dataset_id.split("/")
    for end in range(len(words), 0, -1):
        folder_name = "/".join(words[:end])
        path = on_disk(folder_name or "/")
        # Not Path.is_file, which fails for a name that is too long for a file.
        if os.path.isfile(path / ABOUT):
            return BuiltFolder(folder_name, path, tuple(words[end:]), described(path))
    return None


def described(folder: Path) -> dict[str, Any]:
    """Returns the content of a folder's `benchmark.json`.

    Raises:
        InputError: it is damaged or of a newer version.
    """
    from irtoolkit.datasets.strictjson import read_json_file

    path = folder / ABOUT
    try:
        record = read_json_file(path)
    except InputError as error:
        raise InputError(error.found, file=path, line=error.line, remedy="build it again") from None
    if isinstance(record, dict) and isinstance(form := record.get("format"), int) and form > FORMAT:
        raise InputError("written by a newer irtoolkit", file=path, remedy="update irtoolkit")
    if not isinstance(record, dict) or not _is_whole(record):
        raise InputError("not a benchmark's description", file=path, remedy="build it again")
    return dict(record)


def _is_whole(record: dict[str, Any]) -> bool:
    kinds = {"benchmark": str, "format": int, "splits": list, "hidden": list}
    return all(isinstance(record.get(name), kind) for name, kind in kinds.items())


def built_dataset(dataset_id: str) -> Any:
    """Returns the ir_datasets dataset of an id with a folder; None if it names no such folder.

    Raises:
        InputError: the folder has no such dataset; or see `built_folder`.
    """
    folder = built_folder(dataset_id)
    if folder is None:
        return None
    name = folder.benchmark
    module = None
    if name.isidentifier():
        with contextlib.suppress(ModuleNotFoundError):
            module = importlib.import_module(f"irtoolkit.datasets.{name}")
    if module is None or not hasattr(module, "built"):
        raise InputError(f"no benchmark {name!r} is known", file=folder.path / ABOUT)
    for built_id, dataset in module.built(folder):
        if built_id == dataset_id:
            return dataset
    splits = ", ".join(f"{folder.name}/{split}" for split in folder.splits)
    if not folder.parts:
        remedy = f"name one: {splits}"
        raise InputError("a benchmark with splits", file=folder.name, remedy=remedy)
    rest = PurePath(*folder.parts).as_posix()
    raise InputError(f"{folder.name} has no dataset {rest}", remedy=f"it has {splits}")
