"""Ray clusters on this machine, which start however busy it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from irtoolkit.engines.node import patient_start

# Bytes of objects that a node holds: enough for these tests, where many clusters may run at once.
OBJECTS = 80 << 20


@contextmanager
def started(*cpus: int) -> Iterator[Any]:
    """A cluster with a node for each number of CPUs, the head first; it ends with the block."""
    from ray.cluster_utils import Cluster

    head = {"num_cpus": cpus[0], "object_store_memory": OBJECTS, "include_dashboard": False}
    with patient_start():
        made = Cluster(initialize_head=True, head_node_args=head)
        try:
            for number in cpus[1:]:
                made.add_node(num_cpus=number, object_store_memory=OBJECTS)
            yield made
        finally:
            made.shutdown()
