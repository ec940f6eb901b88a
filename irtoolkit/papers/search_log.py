"""The log of a search for the settings of a training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irtoolkit.base.files import StrPath
from irtoolkit.base.search_logs import LogKind, write_log

_LOG = LogKind("a training search", "tried", "the log of another training search")


@dataclass(frozen=True)
class TriedSettings:
    """The result of settings that a model was trained with on a part of the training queries.

    Attributes:
        settings: the settings, as in the grid.
        figure: the measure on the held-out training queries; None if the training failed.
        rows: number of rows trained on.
        held_out: number of queries that were held out.
        steps: number of steps; 0 if the training failed.
        seconds: duration of the training, without measuring; 0 if it failed.
        failed: why it failed; None if it did not.
    """

    settings: dict[str, str]
    figure: float | None
    rows: int
    held_out: int
    steps: int
    seconds: float
    failed: str | None = None


class SearchLog:
    """The log of a search for the settings of a training; logged trainings are not repeated.

    Args:
        path: the file.
        about: the description of the search; a file of another one is refused.
        anew: whether to ignore the content of the file.

    Raises:
        InputError: the file is of another search, or of none.
    """

    def __init__(self, path: StrPath, search: Mapping[str, Any], anew: bool = False) -> None:
        self._path, self._about = path, dict(search)
        self._known: dict[str, TriedSettings] = {} if anew else dict(self._read())

    def _read(self) -> Iterator[tuple[str, TriedSettings]]:
        content = _LOG.read(self._path)
        try:
            tried = [
                (entry.pop("plan"), TriedSettings(**entry)) for entry in content.get("tried", ())
            ]
        except (AttributeError, KeyError, TypeError):
            raise _LOG.refused(self._path) from None
        _LOG.check_same_search(self._path, content, self._about)
        yield from tried

    def find(self, key: str) -> TriedSettings | None:
        """Returns the result of the training with a key, if it has been tried."""
        return self._known.get(key)

    def add(self, key: str, tried: TriedSettings) -> None:
        """Keeps the figure of one training."""
        self._known[key] = tried
        self._write({})

    def finish(
        self, tried: Sequence[TriedSettings], best: TriedSettings, models: Mapping[int, Path]
    ) -> None:
        """Adds the settings that were chosen, and the models that are trained with them."""
        self._write(
            {
                "best": best.settings,
                "tried in this grid": [entry.settings for entry in tried],
                "models": [
                    {"seed": seed, "folder": str(folder)} for seed, folder in models.items()
                ],
            }
        )

    def _write(self, content: Mapping[str, Any]) -> None:
        rows = [{"plan": key, **vars(row)} for key, row in self._known.items()]
        write_log(self._path, self._about, {"tried": rows, **content})
