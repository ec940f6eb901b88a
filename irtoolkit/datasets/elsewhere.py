"""Datasets on their way to other processes, which may run on machines that lack their files."""

from __future__ import annotations

import os
import pickle
from typing import Any

import ir_datasets

from irtoolkit.base.errors import InputError
from irtoolkit.datasets import dataset_ids
from irtoolkit.datasets.handlers import docs_key
from irtoolkit.datasets.hub.names import is_hub_name
from irtoolkit.datasets.local.unregistered import is_folder
from irtoolkit.datasets.named import source_named
from irtoolkit.datasets.source import DATA_VARIABLE
from irtoolkit.engines.node import SHARE

# What a dataset in memory takes along to other processes, beside its texts.
_SENT = ("qrels", "protocol", "replaced")


def reduced(dataset: Any) -> tuple[Any, ...]:
    """Returns how a dataset is pickled: by id if it has one, so that other processes read its documents themselves."""
    cls, dataset_id, source = type(dataset), dataset.id, dataset.source
    if dataset._derived is not None:
        derived: tuple[Any, ...] = dataset._derived
        return derived
    if not dataset.in_memory:
        return _of_id, (cls, dataset_id, *packed(dataset_id, source))
    if dataset_id in ir_datasets.registry and ir_datasets.load(dataset_id) is source:
        return _of_registered, (cls, dataset_id)
    sent = {name: vars(dataset)[name] for name in _SENT if name in vars(dataset)}
    return _of_source, (cls, dataset_id, source, sent)


def _of_id(cls: Any, dataset_id: str, key: str | None, sent: bytes | None) -> Any:
    return cls(dataset_id, unpacked(dataset_id, key, sent))


def _of_registered(cls: Any, dataset_id: str) -> Any:
    return cls(dataset_id, ir_datasets.load(dataset_id), in_memory=True)


def _of_source(cls: Any, dataset_id: str, source: Any, more: dict[str, Any]) -> Any:
    dataset = cls(dataset_id, source, in_memory=True)
    vars(dataset).update(more)
    return dataset


def packed(dataset_id: str, source: Any) -> tuple[str | None, bytes | None]:
    """Returns what another process needs besides a dataset's id: its key, and perhaps itself.

    The key is None if its documents are not on this machine. The dataset itself is sent if other
    processes do not know the id because this program has registered it with ir_datasets; if it
    cannot be sent, it is None: then a process that has registered it likewise finds it.
    """
    try:
        key = _key(source)
    except InputError:
        key = None
    is_available = dataset_id in dataset_ids() or is_hub_name(dataset_id)
    if is_available or is_folder(dataset_id) or _comes_with_ir_datasets(dataset_id):
        return key, None
    import cloudpickle

    try:
        return key, cloudpickle.dumps(source, pickle.HIGHEST_PROTOCOL)
    except Exception:  # handlers may hold anything
        return key, None


def unpacked(dataset_id: str, key: str | None, sent: bytes | None) -> Any:
    """Returns the ir_datasets dataset of an id and a result of `packed`.

    Raises:
        InputError: it is not on this machine, or has other documents.
    """
    try:
        if sent is not None and dataset_id not in ir_datasets.registry:
            ir_datasets.registry.register(dataset_id, pickle.loads(sent))
        source = source_named(dataset_id)
        current = None if key is None else _key(source)
    except InputError as error:
        raise _not_here(dataset_id, error) from None
    # Those of ir_datasets itself are downloaded when they are read.
    if current not in (None, key):
        raise InputError(f"the documents of {dataset_id} are not those of the driver", remedy=SHARE)
    return source


def _key(source: Any) -> str | None:
    return docs_key(source.docs_handler() if source.has_docs() else None)


def _comes_with_ir_datasets(dataset_id: str) -> bool:
    provider = ir_datasets.util.metadata.default_metadata_provider
    return any(provider.get_metadata(dataset_id, kind) for kind in ir_datasets.EntityType)


def _not_here(dataset_id: str, error: InputError) -> InputError:
    """Returns the error for a dataset that the sending process has and this one lacks."""
    if dataset_id not in ir_datasets.registry:
        return InputError(
            f"no dataset {dataset_id!r}",
            file=ir_datasets.util.home_path(),
            remedy="every node needs the same packages, and the same folder $IR_DATASETS_HOME, which"
            " lists registered collections",
        )
    home = os.environ.get(DATA_VARIABLE) or ir_datasets.util.home_path()
    return InputError(error.found, file=error.file or home, line=error.line, remedy=SHARE)
