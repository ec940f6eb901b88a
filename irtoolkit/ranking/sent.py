"""A system on its way to a worker."""

from __future__ import annotations

from dataclasses import dataclass, replace

from irtoolkit.ranking.systems import System
from irtoolkit.retrievers.sent import Sent


@dataclass(frozen=True)
class SentSystem:
    """A system, and what the files of its stages are where it was sent from."""

    system: System
    stages: tuple[Sent, ...]

    @classmethod
    def of(cls, system: System) -> SentSystem:
        """Packs a system in the process that sends it."""
        sent = Sent.of(system.retriever)
        first = None if system.first is None else cls.of(system.first)
        return cls(
            replace(
                system, retriever=sent.retriever, first=None if first is None else first.system
            ),
            (sent, *(() if first is None else first.stages)),
        )

    def here(self) -> System:
        """The system, in a worker.

        Raises:
            InputError: the files that decide its scores are others here.
        """
        for stage in self.stages:
            stage.here()
        return self.system
