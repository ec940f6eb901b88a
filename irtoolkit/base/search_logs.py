"""JSON logs of searches, from which these resume."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, atomic_text
from irtoolkit.base.jsons import load_json
from irtoolkit.base.locks import locked
from irtoolkit.base.paths import hidden_beside, is_url, on_disk


@dataclass(frozen=True)
class LogKind:
    """The logs of one kind of search.

    Attributes:
        search: the name of the search in messages, for example "a grid search".
        rows: the key of the tried settings.
        another: the message for the log of another search of the kind.
        name: the value of "search" in every log of the kind, if any.
    """

    search: str
    rows: str
    another: str
    name: str | None = None

    def read(self, log: StrPath | None) -> dict[str, Any]:
        """Returns the content of a log; {} if there is no such file yet.

        Raises:
            InputError: it is not a log of the kind.
        """
        if log is None or not Path(log).is_file():
            return {}
        try:
            content: dict[str, Any] = load_json(Path(log).read_text("utf-8"))
            if content["about"].get("search") != self.name or self.rows not in content:
                raise KeyError
        except (ValueError, KeyError, TypeError, AttributeError):
            raise self.refused(log) from None
        return content

    def read_of(self, log: StrPath | None, search: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the content of a log of the search that `search` identifies.

        Raises:
            InputError: it is not a log of the kind, or is one of another search.
        """
        content = self.read(log)
        self.check_same_search(log, content, search)
        return content

    def check_same_search(
        self, log: StrPath | None, content: Mapping[str, Any], search: Mapping[str, Any]
    ) -> None:
        """Raises InputError if a log belongs to another search."""
        # As it is in the file, where tuples are lists.
        if content and content["about"] != json.loads(json.dumps(search)):
            raise InputError(self.another, file=log, remedy="name another file")

    def refused(self, log: StrPath) -> InputError:
        """Returns the error for a file that is not a log."""
        return InputError(f"no log of {self.search}", file=log, remedy="name another file")


def write_log(log: StrPath | None, search: Mapping[str, Any], results: Mapping[str, Any]) -> None:
    """Writes the description and the results of a search, if it has a log; atomically."""
    if log is None:
        return
    with atomic_text(log) as out:
        json.dump({"about": search, **results}, out, indent=1)
        out.write("\n")


@contextmanager
def alone(log: StrPath | None) -> Iterator[None]:
    """Raises InputError for a log that another process writes: each would lose the other's points."""
    if log is None or is_url(log):
        yield
        return
    path = on_disk(log)
    with locked(hidden_beside(path, ".lock"), wait=False, remove=True) as acquired:
        if not acquired:
            remedy = "wait until it has ended, or name another log"
            raise InputError("another process writes this log", file=log, remedy=remedy)
        yield
