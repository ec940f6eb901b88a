"""A store on disk of a language model's answers to texts.

Answers are lines of JSON, appended in batches; an interrupted job resumes with the texts that have
no answer yet.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any

from irtoolkit.base.files import atomic_path
from irtoolkit.base.jsons import load_json
from irtoolkit.base.locks import locked
from irtoolkit.base.progress import tqdm
from irtoolkit.datasets.cache import cache_home

_log = logging.getLogger(__name__)
_KEY = re.compile(r"[0-9a-f]{32}")


class Answers:
    """The answers of one model under one set of parameters."""

    def __init__(self, kind: str, parameters: Mapping[str, Any]) -> None:
        """`kind` is a part of the file's name, `parameters` everything that decides an answer."""
        described = json.dumps(dict(parameters), sort_keys=True, default=str)
        name = hashlib.sha256(described.encode()).hexdigest()[:32]
        self.path = cache_home() / "answers" / f"{kind}-{name}.jsonl"
        self._known: dict[str, Any] = {}
        # Bytes of the file whose answers are known.
        self._read_to = 0

    def __getitem__(self, text: str) -> Any:
        return self._known[_key(text)]

    def __contains__(self, text: str) -> bool:
        """Returns whether an answer has been read or gathered; see `read`."""
        return _key(text) in self._known

    def read(self) -> None:
        """Reads the answers that are stored.

        Raises:
            InputError: the cache folder cannot be written.
        """
        with self._opened():
            pass

    def fill(
        self,
        texts: Iterable[str],
        ask: Callable[[list[str]], list[Any]],
        batch_size: int,
        progress: bool = True,
    ) -> None:
        """Requests the missing answers, a batch at a time, and stores them.

        Args:
            texts: the texts to be answered.
            ask: returns one answer, a JSON value, for each text of a batch.
            batch_size: texts per batch.
            progress: whether to show a progress bar on a terminal.

        Raises:
            InputError: the cache folder cannot be written.
        """

        def batches(lacking: list[str]) -> Iterator[list[tuple[str, Any]]]:
            for start in range(0, len(lacking), batch_size):
                batch = lacking[start : start + batch_size]
                yield list(zip(batch, ask(batch), strict=True))

        self.gather(texts, batches, progress)

    def gather(
        self,
        texts: Iterable[str],
        ask: Callable[[list[str]], Iterable[Sequence[tuple[str, Any]]]],
        progress: bool = True,
    ) -> None:
        """Requests the missing answers, and stores each as soon as it comes.

        Args:
            texts: the texts to be answered.
            ask: called with the texts that lack an answer, if any, it yields (text, answer) in any
                order, in portions; a portion that was yielded is never lost.
            progress: whether to show a progress bar on a terminal.

        Raises:
            InputError: the cache folder cannot be written.
        """
        wanted = {_key(text): text for text in texts}
        with self._opened() as file:
            lacking = [key for key in wanted if key not in self._known]
            if not lacking:
                return
            # Long texts first: what will not fit into memory shows at once.
            lacking.sort(key=lambda key: (-len(wanted[key]), key))
            with tqdm(
                total=len(lacking),
                desc=self.path.name.split("-")[0],
                unit="text",
                disable=None if progress else True,
            ) as bar:
                for portion in ask([wanted[key] for key in lacking]):
                    for text, answer in portion:
                        key = _key(text)
                        self._known[key] = answer
                        file.write(json.dumps([key, answer], ensure_ascii=False) + "\n")
                    file.flush()
                    bar.update(len(portion))

    @contextmanager
    def _opened(self) -> Iterator[IO[str]]:
        """Yields the file to append to, which has been read, and locks it meanwhile."""
        with locked(self.path.with_suffix(".lock"), remove=True):
            self._read()
            with open(self.path, "a", encoding="utf-8") as file:
                yield file
            self._read_to = self.path.stat().st_size

    def _read(self) -> None:
        """Reads the answers.

        Damaged or truncated lines are removed, and their answers requested again.
        """
        if not self.path.is_file() or self.path.stat().st_size == self._read_to:
            return  # nobody has added to it since
        kept, damaged = [], 0
        with open(self.path, "rb") as raw:
            for line in raw:
                item = _answer(line)
                if item is not None:
                    kept.append(line)
                    self._known[item[0]] = item[1]
                elif line.endswith(b"\n"):  # else it was cut off as it was written
                    damaged += 1
        if sum(map(len, kept)) == self.path.stat().st_size:
            return
        if damaged:
            count = "a line is" if damaged == 1 else f"{damaged} lines are"
            _log.warning("%s: %s damaged: these answers are asked for again", self.path, count)
        with atomic_path(self.path) as half:
            half.write_bytes(b"".join(kept))


def _answer(line: bytes) -> tuple[str, Any] | None:
    """Returns the key and the answer of a line; None if the line is incomplete."""
    try:
        key, answer = load_json(line)
    except (ValueError, TypeError):
        return None
    whole = line.endswith(b"\n") and isinstance(key, str) and _KEY.fullmatch(key)
    return (key, answer) if whole else None


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
