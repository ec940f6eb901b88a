"""Entries of the shelf: a collection, where it comes from, and how far it is prepared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from irtoolkit.apps.serve.collection import Collection

Stage = Literal["waiting", "words", "loading", "meaning", "ready", "failed"]


@dataclass(frozen=True)
class Progress:
    """How far a collection is prepared.

    Attributes:
        stage: "words" and "meaning" are being prepared; "loading": words are there, and the model that
            compares meaning is being loaded; a "failed" one may still answer by words.
        done, total: sentences.
        message: why it failed, or why meaning is not compared; else empty.
    """

    stage: Stage
    done: int = 0
    total: int = 0
    message: str = ""


@dataclass
class Entry:
    """A collection on the shelf.

    Attributes:
        collection: its books; none where `damaged`.
        source: "book" that a reader added, "file", or "dataset".
        dataset: the id of the dataset; empty for others.
        file: the name of the book's file, which tells books of one title apart; empty for a dataset.
        added: seconds since 1970.
        progress: how far it is prepared.
        gone: whether it was removed.
        damaged: whether its files cannot be read.
    """

    collection: Collection
    source: Literal["book", "file", "dataset"]
    dataset: str = ""
    file: str = ""
    added: float = 0
    progress: Progress = field(default_factory=lambda: Progress("waiting"))
    gone: bool = False
    damaged: bool = False
