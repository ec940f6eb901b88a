"""The registered collections as ids of ir_datasets, in every process that imports irtoolkit.

Importing opens none of their files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import ir_datasets

from irtoolkit.base.discovery import modules
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.local import registry
from irtoolkit.datasets.local.collection import collection_dataset
from irtoolkit.datasets.local.registry import CollectionRecord

Add = Callable[[str, ir_datasets.Dataset], None]


def owner_of(name: str) -> str | None:
    """Returns the owner of an id, for example "irtoolkit's own"; None if it is free."""
    package = sys.modules["irtoolkit.datasets"]
    ours = {getattr(module, "NAME", None) for module in modules(package)}
    # All ids under our benchmarks' names are reserved, since some are registered later than others.
    if name.partition("/")[0] in ours:
        return "irtoolkit's own"
    if name in _ids() and name not in _ours:
        return "another package's"
    try:
        ir_datasets.registry[name]
    except KeyError:
        return None
    except Exception:  # a registered pattern matches, and its function does not accept the id
        pass
    return "ir_datasets' own"


_ours: set[str] = set()
_add_to_ir_datasets: Add | None = None


def add_to_ir_datasets(name: str, entry: CollectionRecord) -> None:
    """Registers a collection with ir_datasets in this process, if it is not registered yet."""
    if name not in _ours and _add_to_ir_datasets is not None:
        _add_to_ir_datasets(name, collection_dataset(name, entry))
        _ours.add(name)


def drop_from_ir_datasets(name: str) -> None:
    """Removes a collection from ir_datasets in this process."""
    if name in _ours:
        # ir_datasets has no public function for this.
        ir_datasets.registry._registered.pop(name, None)
        _ids().remove(name)
        _ours.discard(name)


def _ids() -> list[str]:
    return sys.modules["irtoolkit.datasets"]._registered  # type: ignore[no-any-return]


def register(add: Add) -> None:
    """Registers every collection on the user's list; opens the list and no other file.

    Problems with the list are logged, as ir_datasets logs, and never raised: they must not break
    programs that import ir_datasets.
    """
    global _add_to_ir_datasets
    _add_to_ir_datasets = add
    log = ir_datasets.log.easy()

    def report(problem: InputError) -> None:
        log.warn(f"irtoolkit: {problem}")

    try:
        records = registry.read_registry(report)
    except OSError as error:  # ir_datasets' home cannot be created
        report(InputError(f"cannot read the list of registered collections: {error}"))
        return
    for name, entry in records.items():
        owner = owner_of(name)
        if owner is not None:
            report(
                InputError(
                    f"the registered collection {name} is ignored: the id is {owner}",
                    file=registry.registry_path(),
                    remedy=f"run irtoolkit register --remove {name}",
                )
            )
            continue
        add_to_ir_datasets(name, entry)
