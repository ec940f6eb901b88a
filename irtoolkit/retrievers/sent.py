"""A retriever on its way to a worker, which must score as the process that sends it would."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from irtoolkit.base.errors import InputError
from irtoolkit.retrievers.base import Retriever


@dataclass(frozen=True)
class Sent:
    """A retriever, and what its files are where it was sent from.

    Attributes:
        retriever: as it scores there, whatever device the worker has.
        content: its `fingerprint` there.
    """

    retriever: Retriever
    content: str | None

    @classmethod
    def of(cls, retriever: Retriever) -> Sent:
        """Packs a retriever in the process that sends it."""
        return cls(retriever.pinned(), retriever.fingerprint())

    def here(self) -> Retriever:
        """The retriever, in a worker.

        Raises:
            InputError: the files that decide its scores are others here.
        """
        own = self.retriever
        # What is not here at all is named where it is opened.
        if own.missing() is None and own.fingerprint() != self.content:
            raise InputError(
                f"the machine {socket.gethostname()} has other files for {own.name} (model,"
                " statistics or vectors) than the machine of this command",
                remedy="give every machine the same files, or name a folder that all of them share",
            )
        return own
