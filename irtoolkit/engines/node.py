"""Nodes: what workers on other machines take over, errors of theirs, and starts on a busy machine.

Ray waits 30 seconds for a node that it starts, and the node's raylet 15 for its helpers in Python
before it aborts. A busy machine needs longer for both, and Ray has no setting for either.
"""

from __future__ import annotations

import copy
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from irtoolkit import version
from irtoolkit.base.cores import THREADS
from irtoolkit.base.errors import InputError
from irtoolkit.base.progress import QUIET

# Beginnings of the names of variables that workers take over from the driver.
_TAKEN = ("IRTOOLKIT_", "IR_DATASETS_", "HF_", "TRANSFORMERS_", "TOKENIZERS_", "FSSPEC_", "AWS_")
# Of those, what no worker needs: the token of a page that is served.
_KEPT = ("IRTOOLKIT_TOKEN",)
# What to do where a machine lacks what the driver has.
SHARE = "every node needs the same files at the same path: share their folder, or put them at a URL"


class Driver(NamedTuple):
    """The driver, the process that the workers work for.

    Attributes:
        version: of irtoolkit.
        ray: the version of Ray.
        environment: variables with the location of data and the behaviour of libraries.
    """

    version: str
    ray: str
    environment: dict[str, str]

    def __repr__(self) -> str:
        # Some of the variables are keys.
        return f"Driver({self.version!r}, {self.ray!r}, {sorted(self.environment)})"

    @classmethod
    def here(cls) -> Driver:
        """This process."""
        environment = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(_TAKEN) and name not in _KEPT
        }
        return cls(version.__version__, _ray(), environment)

    def followed(self) -> None:
        """Makes this process a worker of the driver.

        Raises:
            InputError: it has another irtoolkit or Ray.
        """
        os.environ.update({**self.environment, QUIET: "1", "TQDM_DISABLE": "1", THREADS: "1"})
        libraries = [("irtoolkit", version.__version__, self.version), ("Ray", _ray(), self.ray)]
        for name, installed, expected in libraries:
            if installed != expected:
                raise InputError(
                    f"{node()} has {name} {installed}, and the process that it works for {expected}",
                    remedy="install the same version on every node",
                )


def node() -> str:
    """This machine as messages name it."""
    return f"node {socket.gethostname()}"


def located(error: Exception, missing: str = "") -> Exception:
    """Returns a worker's error with the name of its machine; InputError for a missing file.

    Args:
        error: the exception.
        missing: the working folder of the driver, if this machine lacks it.
    """
    where = f"on {node()}{f', which has no folder {missing}' if missing else ''}"
    if isinstance(error, InputError):
        remedy = error.remedy or (SHARE if missing else None)
        return InputError(
            f"{error.found}, {where}", file=error.file, line=error.line, remedy=remedy
        )
    if isinstance(error, FileNotFoundError | PermissionError) and error.filename is not None:
        file = os.fsdecode(error.filename)
        return InputError(f"{error.strerror}, {where}", file=file, remedy=SHARE)
    return error


def _ray() -> str:
    import ray

    return str(ray.__version__)


# Seconds that a node may take until the head knows it.
_START = 300.0
# How often a node is started. A second start finds in memory what the first has read.
_TRIES = 4
# What Ray says of a node that was not known in time.
LATE = "timed out during startup"


@contextmanager
def patient_start() -> Iterator[None]:
    """Waits for nodes that this process starts while they live, and restarts those that die."""
    from ray._private import services
    from ray._private.node import Node

    begin, get_node = Node.__init__, services.get_node

    def start(node: Any, *args: Any, **kwargs: Any) -> None:
        services.get_node = lambda *where: _known(node, get_node, *where)
        try:
            _begun(node, begin, args, kwargs)
        finally:
            services.get_node = get_node

    Node.__init__ = start
    try:
        yield
    finally:
        Node.__init__ = begin


def _begun(node: Any, begin: Any, args: Any, kwargs: Any) -> None:
    """Starts a node, and again if one of its processes dies before the head knows the node."""
    for tries_left in reversed(range(_TRIES)):
        # A start writes into what it is given.
        arguments, named = copy.deepcopy((args, kwargs)) if tries_left else (args, kwargs)
        try:
            begin(node, *arguments, **named)
            return
        except Exception as error:
            if not tries_left or LATE not in str(error):
                raise
            with suppress(Exception):  # some of its processes may have died meanwhile
                node.kill_all_processes(check_alive=False)


def _known(node: Any, get_node: Any, *where: Any) -> Any:
    """Returns the head's record of a node, once it has one.

    Raises:
        RuntimeError: the head does not know it, and a process of it has died, or none was started here.
    """
    ends = time.monotonic() + _START
    while True:
        try:
            return get_node(*where)
        except RuntimeError:
            lives = node.all_processes and node.remaining_processes_alive()
            if not lives or time.monotonic() > ends:
                raise
            time.sleep(0.1)
