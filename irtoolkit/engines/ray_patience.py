"""Ray nodes that start even on a busy machine.

Ray waits 30 seconds for a node that it starts, and the node's raylet 15 for its helpers in Python
before it aborts. A busy machine needs longer for both, and Ray has no setting for either.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

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
