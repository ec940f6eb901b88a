"""The ir_datasets dataset that an id or a place names."""

from __future__ import annotations

import logging
import os
from functools import cache
from pathlib import Path
from typing import Any

import ir_datasets

from irtoolkit.base.errors import InputError
from irtoolkit.base.missing import no_such_file
from irtoolkit.base.near import nearest
from irtoolkit.base.paths import is_url, same_place
from irtoolkit.datasets import dataset_ids
from irtoolkit.datasets.built import built_dataset
from irtoolkit.datasets.hub.named import hub_dataset
from irtoolkit.datasets.local.registry import read_registry
from irtoolkit.datasets.local.unregistered import folder_dataset
from irtoolkit.datasets.nway import built_nway

_log = logging.getLogger(__name__)


def source_named(dataset_id: str) -> Any:
    """Returns the ir_datasets dataset of an id, a folder, or a name on the hub.

    Raises:
        InputError: no such id; names the nearest ones.
    """
    ours = dataset_ids()
    try:
        dataset = ir_datasets.load(dataset_id)
        if not _has_data(dataset):
            # Some ids only begin others, as beir does: a folder of the name is meant.
            return folder_dataset(dataset_id) or dataset
        if os.path.isdir(dataset_id) and not _is_folder_of(dataset_id):
            _note_folder(dataset_id)
        return dataset
    except KeyError:
        for find in (built_nway, built_dataset, hub_dataset, folder_dataset):
            if (dataset := find(dataset_id)) is not None:
                return dataset
        # What begins ids is a name too, of irtoolkit datasets NAME.
        beginnings = {name.partition("/")[0] for name in ours}
        similar = nearest(dataset_id, sorted({*ours, *ir_datasets.registry, *beginnings}))
        names = dict.fromkeys(filter(None, map(_first_with_data, similar)))
        guess = f"did you mean {', '.join(names)}? " if names else ""
        listed = "irtoolkit datasets lists ours"
        group = dataset_id.lower()
        parts = [name for name in ours if name.startswith(f"{group}/")]
        if parts and group not in ours:
            guess = f"name a part, such as {parts[0]}; "
            listed = f"irtoolkit datasets {group} lists them"
        if is_url(dataset_id):
            raise InputError(
                "not a file of documents or judgments by its name",
                file=dataset_id,
                remedy="documents are .jsonl, .csv, .tsv, .trec or .parquet files, plain or .gz",
            ) from None
        if _is_missing_folder(dataset_id):
            near = no_such_file(dataset_id).remedy or guess.strip() or None
            raise InputError("no such folder", file=dataset_id, remedy=near) from None
        if Path(dataset_id).suffix and not Path(dataset_id).exists():
            listed += "; there is no file of this name"
            near = no_such_file(dataset_id).remedy
            guess = f"{near} " if near else guess
        raise InputError(f"no dataset {dataset_id!r}", remedy=f"{guess}{listed}") from None


def _is_folder_of(name: str) -> bool:
    """Returns whether a collection is registered under the name of its own folder."""
    record = read_registry(lambda _: None).get(name)
    return record is not None and same_place(record.folder) == same_place(name)


@cache
def _note_folder(name: str) -> None:
    """Notes once that a folder has the name of a dataset."""
    _log.warning("note: %s is the dataset of this name; the folder is ./%s", name, name)


def _is_missing_folder(name: str) -> bool:
    """Returns whether a name has the form of a folder's path, and there is nothing there."""
    path = os.path.expanduser(name)
    is_path = path.endswith(os.sep) or (path.startswith((".", os.sep)) and not Path(path).suffix)
    return is_path and not os.path.exists(path)


def _first_with_data(name: str) -> str | None:
    """Returns a name, or the first that it begins if it has no data of its own, as beir has none."""
    if name in ir_datasets.registry and _has_data(ir_datasets.load(name)):
        return name
    ids = sorted({*dataset_ids(), *ir_datasets.registry})
    return next((one for one in ids if one.startswith(f"{name}/")), None)


def _has_data(source: Any) -> bool:
    return any(getattr(source, f"has_{kind}")() for kind in ("docs", "queries", "qrels"))
