"""Folders with the files of a collection, as datasets: the path of the folder is the id.

`FOLDER/SPLIT` has the judgments of `qrels/SPLIT.tsv`, as BEIR's folders have them.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import is_url, on_disk
from irtoolkit.datasets.local.collection import collection_dataset
from irtoolkit.datasets.local.contents import Role
from irtoolkit.datasets.local.examining import examine
from irtoolkit.datasets.local.folder import find_role_files

_QRELS = "qrels"
# The split of a folder with several, unless another is named.
_USUAL = "test"

_log = logging.getLogger(__name__)


def folder_dataset(dataset_id: str) -> Any:
    """Returns the ir_datasets dataset of a folder; None if an id names no folder.

    Raises:
        InputError: the folder has no documents, several files that may be a part, or an invalid file.
    """
    if is_url(dataset_id) or not dataset_id:
        return None
    folder, role_files = _parts(on_disk(dataset_id))
    if folder is None:
        return None
    try:
        entry, notes = examine(folder, find_role_files(folder, role_files), None, lenient=False)
    except InputError as error:
        remedy = error.remedy
        if remedy and "--" in remedy:
            remedy = f"{remedy}, of irtoolkit register NAME FOLDER"
        raise InputError(error.found, file=error.file, line=error.line, remedy=remedy) from None
    for line in notes:
        _log.warning("%s: %s", dataset_id, line)
    return collection_dataset(dataset_id, entry)


def is_folder(dataset_id: str) -> bool:
    """Returns whether an id is the path of a folder, perhaps with a split."""
    return (
        not is_url(dataset_id) and bool(dataset_id) and _parts(on_disk(dataset_id))[0] is not None
    )


def holds_documents(folder: Path) -> bool:
    """Returns whether a folder has files of documents, even if the user has to choose one."""
    try:
        find_role_files(folder, {})
    except InputError as error:
        return error.found != "no documents found"
    return True


def _parts(path: Path) -> tuple[Path | None, dict[Role, Sequence[str] | None]]:
    """Returns the folder that a path names, and its choice of judgments."""
    # Not Path.is_dir, which fails for a name that is too long for a file.
    if os.path.isdir(path):
        usual = _judgments(path, _USUAL)
        several = usual is not None and len(os.listdir(path / _QRELS)) > 1
        return path, {"qrels": [str(usual)]} if several else {}
    chosen = _judgments(path.parent, path.name)
    return (None, {}) if chosen is None else (path.parent, {"qrels": [str(chosen)]})


def _judgments(folder: Path, split: str) -> Path | None:
    """Returns the file of a split's judgments, relative to the folder."""
    names = (f"{_QRELS}/{split}{end}" for end in (".tsv", ".txt", ".csv", ".parquet"))
    return next((Path(name) for name in names if os.path.isfile(folder / name)), None)
