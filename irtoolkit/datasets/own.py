"""Benchmarks in users' own folders, as made by `irtoolkit build`.

Such a folder has the files of a release and `benchmark.json`, which names the benchmark whose
format they have:

    {"benchmark": "relic", "format": 1, "splits": ["train", "val", "test"], "hidden": []}

The ids of its datasets are those of the published benchmark with the folder in place of the name:
`mine/val` is like `relic/val`, and `mine/val/1-1` like `relic/val/1-1`. A benchmark takes part with
a function `own(place)` in its module, which returns the dataset or None.
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

ABOUT = "benchmark.json"
FORMAT = 1


@dataclass(frozen=True)
class OwnPlace:
    """The location of a dataset of such a folder.

    Attributes:
        given: the folder as in the id.
        folder: the folder on this machine.
        parts: the rest of the id.
        about: the content of its `benchmark.json`.
    """

    given: str
    folder: Path
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


def own_place(dataset_id: str) -> OwnPlace | None:
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
            return OwnPlace(folder_name, path, tuple(words[end:]), described(path))
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


def own_dataset(dataset_id: str) -> Any:
    """Returns the ir_datasets dataset of an id with a folder; None if it names no such folder.

    Raises:
        InputError: the folder has no such dataset; or see `own_place`.
    """
    location = own_place(dataset_id)
    if location is None:
        return None
    name = location.benchmark
    module = None
    if name.isidentifier():
        with contextlib.suppress(ModuleNotFoundError):
            module = importlib.import_module(f"irtoolkit.datasets.{name}")
    if module is None or not hasattr(module, "own"):
        raise InputError(f"no benchmark {name!r} is known", file=location.folder / ABOUT)
    dataset = module.own(location)
    if dataset is None:
        splits = [f"{location.given}/{split}" for split in location.about["splits"]]
        split_name = PurePath(*location.parts).as_posix() if location.parts else "a split"
        raise InputError(
            f"{location.given} has no dataset {split_name}"
            if location.parts
            else "a benchmark with splits",
            file=None if location.parts else location.given,
            remedy=f"it has {', '.join(splits)}"
            if location.parts
            else f"name one: {', '.join(splits)}",
        )
    return dataset
