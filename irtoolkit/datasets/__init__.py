"""The benchmarks as ir_datasets datasets, registered when this package is imported.

A benchmark is a module here with a function `register(add)`, which calls `add(id, dataset)` for
each of its datasets and opens no file. Another package adds datasets with such a function under the
entry point group `irtoolkit.datasets`:

    [project.entry-points."irtoolkit.datasets"]
    my-benchmark = "my_package.datasets:register"
"""

from __future__ import annotations

import logging
import sys

from irtoolkit.base import plugins
from irtoolkit.base.discovery import modules
from irtoolkit.base.errors import InputError
from irtoolkit.base.temporary_home import instead_of_home

instead_of_home()

import ir_datasets  # noqa: E402 it makes folders in its home when it is imported

from irtoolkit.datasets.registration import Registered  # noqa: E402

_registered: list[str] = []


def dataset_ids() -> list[str]:
    """Returns the ids registered by irtoolkit, by its plugins and for the user's collections."""
    return list(_registered)


def _add(dataset_id: str, dataset: ir_datasets.Dataset) -> None:
    ir_datasets.registry.register(dataset_id, Registered(dataset_id, dataset))
    _registered.append(dataset_id)


def _register_plugins() -> None:
    """Calls the register functions of other packages; a failure only logs a warning."""
    for name, plugin in plugins.of_group(plugins.DATASETS).items():
        try:
            register = plugin.load()
            try:
                register(_add)
            except Exception as error:  # anything may happen in another package's modules
                reason = " ".join(str(error).split())
                raise InputError(
                    f"the dataset {name!r} of the package {plugin.distributions[0]} cannot be"
                    f" registered: {type(error).__name__}: {reason}",
                    remedy=f"upgrade or uninstall {plugin.distributions[0]}",
                ) from error
        except InputError as error:
            logging.getLogger(__name__).warning("%s", error)


for _module in modules(sys.modules[__name__]):
    if hasattr(_module, "register"):
        _module.register(_add)
_register_plugins()
