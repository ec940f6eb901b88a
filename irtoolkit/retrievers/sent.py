"""A retriever on its way to a worker, which must score as the process that sends it would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from irtoolkit.base.errors import InputError
from irtoolkit.base.home import CACHE_VARIABLE, cache_home, cache_mark, shared_cache
from irtoolkit.engines.node import SHARE
from irtoolkit.indexes.sharded import ShardSet
from irtoolkit.indexes.shards import OpenShard
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
        return cls(pinned(retriever), retriever.fingerprint())

    def here(self) -> Retriever:
        """The retriever, in a worker.

        Raises:
            InputError: the files that decide its scores are not here, or are others.
        """
        retriever = self.retriever
        missing = retriever.missing()
        if missing is not None:
            raise InputError(missing, remedy=SHARE)
        if retriever.fingerprint() != self.content:
            raise InputError(
                f"the files of {retriever.name} (model, statistics or vectors) are not those of the driver",
                remedy=SHARE,
            )
        return retriever


def pinned(retriever: Retriever) -> Retriever:
    """Returns a retriever with the device and precision of its model here as settings, for workers that would choose others."""
    computed = retriever.computed()
    names = {item.name for item in fields(retriever)}
    if "precision" not in computed or "precision" not in names:
        return retriever
    # The precision of an exported model is that of its file.
    name = "backend" if "backend" in computed else "precision"
    settings = {name: computed[name]}
    # Of a process with a GPU, each worker takes its own GPU.
    if computed["device"] == "cpu":
        settings["device"] = "cpu"
    return replace(retriever, **settings)


@dataclass(frozen=True)
class OpenedBy:
    """Opens shards for a retriever, in whatever process; an `indexes.spread.Opener`."""

    retriever: Retriever

    def __call__(self, shards: Sequence[OpenShard], first: int) -> ShardSet:
        return self.retriever.needed_format().shards(shards, first)


def shares_cache(retriever: Retriever) -> str:
    """Returns the mark of the cache that workers must share, if models have filled it, else ""."""
    stored = retriever.stores
    encoded = stored == "vectors" and retriever.computed() and shared_cache() is None
    return cache_mark() if encoded or stored == "answers" else ""


def check_same_cache(retriever: Retriever, mark: str) -> None:
    """Raises InputError for a worker that does not see the driver's cache: its model would do all again.

    Args:
        retriever: in the worker.
        mark: of the driver's cache, as `shares_cache` gives it.

    Raises:
        InputError: the cache here is another one.
    """
    if mark and cache_mark() != mark:
        or_url = "" if retriever.stores == "answers" else ", or to a URL"
        raise InputError(
            "this folder is not the driver's, in which its model's work is",
            file=cache_home(),
            remedy=f"set {CACHE_VARIABLE} to a folder that all nodes share{or_url}",
        )
