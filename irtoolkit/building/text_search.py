"""The files of what is found in texts: JSON lines about the text, of each find, and of totals."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irtoolkit.base.files import atomic_text
from irtoolkit.base.jsons import json_line
from irtoolkit.building.pipeline import each, keep_only


@dataclass(frozen=True)
class TextSearch(ABC):
    """A base of callables for workers that search a text and write what they find to its file.

    A file appears when it is whole: a text whose file has the same key is done, and a later build
    continues from it.

    Attributes:
        folder: the folder of the files of all texts.
        key: a hash of all that decides what is found, the text aside.
    """

    folder: Path
    key: str

    @abstractmethod
    def __call__(self, text: Any, /) -> bool:
        """Searches a text unless it is done; returns whether it was searched."""

    def search_all(self, texts: Mapping[str, Any], title: str, unit: str) -> int:
        """Searches texts by name and removes the files of others; returns how many were done.

        Args:
            texts: the texts by name.
            title, unit: of the bar.
        """
        done = sum(not searched for searched in each(self, list(texts.values()), title, unit))
        keep_only(self.folder, list(map(self.path, texts)))
        return done

    def path(self, name: str) -> Path:
        """Returns the file of a text."""
        return self.folder / f"{name}.jsonl"

    def is_done(self, name: str, key: str) -> bool:
        """Returns whether there is the file of a text with a key."""
        try:
            with open(self.path(name), encoding="utf-8") as lines:
                return bool(json.loads(lines.readline())["key"] == key)
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def write(
        self,
        name: str,
        about: Mapping[str, Any],
        finds: Iterable[Mapping[str, Any]],
        totals: Callable[[], Mapping[str, Any]],
    ) -> None:
        """Writes the file of a text: its key and all that is known before, finds one by one, totals."""
        with atomic_text(self.path(name)) as out:
            out.write(json_line(about))
            out.writelines(map(json_line, finds))
            out.write(json_line(totals()))

    def record(self, name: str) -> dict[str, Any]:
        """Returns what is known of a text that is done, with the totals."""
        with open(self.path(name), "rb") as lines:
            first, (last,) = next(lines), deque(lines, maxlen=1)
        return {**json.loads(first), **json.loads(last)}

    def finds(self, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yields the finds in a text that is done, each with its position in the file in bytes."""
        with open(self.path(name), "rb") as lines:
            position, line = len(next(lines)), next(lines)
            for following in lines:
                yield position, json.loads(line)
                position, line = position + len(line), following
