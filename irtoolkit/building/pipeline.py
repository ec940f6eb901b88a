"""The pipeline of all builders: lock a folder, work on each text, select, write a release.

A builder differs in how it reads, finds and selects. `Build` is what they share: the folder is
locked meanwhile; what is found in a text stays there, so that an interrupted build continues; and
`benchmark.json`, written last, makes the folder a benchmark.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, atomic_text, check_writable, is_temporary
from irtoolkit.base.jsons import write_json
from irtoolkit.base.locks import locked
from irtoolkit.base.paths import as_given
from irtoolkit.base.progress import tqdm
from irtoolkit.building.quality import Quality
from irtoolkit.datasets.built import ABOUT, FORMAT, described
from irtoolkit.engines.engine import current

Item = TypeVar("Item")
Result = TypeVar("Result")
# In the folder, which may be the only place that can be written to.
_LOCK = ".lock"


@dataclass(frozen=True)
class Release:
    """The description of a benchmark that is complete but for its description.

    Attributes:
        benchmark: the name of a module in `irtoolkit/datasets/`.
        splits: its splits.
        settings: the settings of the build.
        report: the quality report.
        intro: lines on how much of the texts the benchmark holds.
        sources: a line for each text, by the kind of text.
        hidden: splits whose judgments are not in the release's own files.
        more: further fields for the benchmark's module.
    """

    benchmark: str
    splits: Sequence[str]
    settings: Mapping[str, Any]
    report: Quality
    intro: Sequence[str]
    sources: Mapping[str, Iterable[str]]
    hidden: Sequence[str] = ()
    more: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Build:
    """The folder of a benchmark that is being built.

    Attributes:
        folder: the folder.
        replace: whether a complete benchmark of other texts or settings is replaced.
    """

    folder: Path
    replace: bool = False

    @classmethod
    @contextlib.contextmanager
    def locked(
        cls, out: StrPath, unfinished: Iterable[str], replace: bool = False, within: str = ""
    ) -> Iterator[Build]:
        """Locks out other builds from a folder, and removes what a killed one left half written.

        The lock ends with the process, however that ends.

        Args:
            out: the folder.
            unfinished: names of files that an interrupted build leaves there.
            replace: see `Build`.
            within: the subfolder with what may be half written; "" is the whole folder.

        Raises:
            InputError: another build is writing there; it holds something else, or cannot be written.
        """
        folder = Path(out)
        _check_free(folder, unfinished)
        new = not folder.is_dir()
        try:
            with locked(folder / _LOCK, wait=False, remove=True) as acquired:
                if not acquired:
                    raise InputError(
                        "another build is writing there",
                        file=folder,
                        remedy="wait until it has ended, or name another folder",
                    )
                _remove_temporary(folder / within)
                yield cls(folder, replace)
        finally:
            if new:  # a build that is refused leaves no empty folder
                with contextlib.suppress(OSError):
                    folder.rmdir()

    def is_of_others(self, key: str) -> bool:
        """Returns whether the folder holds a complete benchmark of others, or a damaged one."""
        if not is_whole(self.folder):
            return False
        with contextlib.suppress(InputError):
            return described(self.folder).get("key") != key
        return True

    def check(self, key: str) -> None:
        """Raises InputError rather than replace a benchmark whose texts or settings have another hash."""
        if not self.replace and self.is_of_others(key):
            raise InputError(
                "a benchmark of other texts or settings",
                file=self.folder,
                remedy="add --replace, or name another",
            )

    def claim(self, key: str) -> None:
        """Checks the folder as `check` does; from then on it is no benchmark until `finish`."""
        self.check(key)
        (self.folder / ABOUT).unlink(missing_ok=True)

    def finish(self, key: str, release: Release) -> None:
        """Writes the report and SOURCES.txt, and last benchmark.json.

        Args:
            key: a hash of texts and settings.
            release: the description of the benchmark, whose own files are written.
        """
        release.report.write(self.folder)
        lines = list(release.intro)
        for title, texts in release.sources.items():
            lines += ["", title, *(f"  {as_given(text)}" for text in texts)]
        with atomic_text(self.folder / "SOURCES.txt") as out:
            out.write("\n".join(lines) + "\n")
        record = {
            "benchmark": release.benchmark,
            "format": FORMAT,
            "splits": list(release.splits),
            "hidden": list(release.hidden),
            **(release.more or {}),
            "recipe": dict(release.settings),
            "key": key,
        }
        write_json(self.folder / ABOUT, record, indent=1)


def is_whole(folder: Path) -> bool:
    """Returns whether the folder holds a benchmark that was built to its end."""
    return (folder / ABOUT).exists()


def each(
    work: Callable[[Item], Result], items: Sequence[Item], title: str, unit: str
) -> list[Result]:
    """Does a piece of work for each item with the current engine, under a bar; in order.

    Args:
        work: can be sent to a worker.
        items: for example the files of a corpus.
        title, unit: of the bar.
    """
    results = current().map(work, items)
    return list(tqdm(results, total=len(items), desc=title, unit=unit, leave=False))


def keep_only(folder: Path, used: Collection[Path]) -> None:
    """Removes the files of a folder that builds of other texts or settings have left.

    Args:
        folder: the folder with the results of each text.
        used: the files of this build.
    """
    used_names = set(used)
    for path in sorted(folder.glob("*.json*")):
        if path not in used_names and path.is_file():
            path.unlink()


def source_line(name: str, title: str, author: str, path: StrPath) -> str:
    """Returns the line of a text in SOURCES.txt."""
    credit = f"{title}{', ' + author if author else ''}; " if title else ""
    return f"{name}: {credit}{path}"


def encoding_notes(texts: Iterable[tuple[StrPath, str]]) -> Iterator[str]:
    """Yields a note for each path whose encoding is not UTF-8."""
    for path, encoding in texts:
        if encoding != "utf-8":
            yield f"{path}: not UTF-8, read as {encoding}"


def _check_free(folder: Path, unfinished: Iterable[str]) -> None:
    """Raises InputError for a folder that holds anything but a build, or cannot be written."""
    check_writable(folder, folder=True)
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if names - {_LOCK} and not names & {ABOUT, *unfinished}:
        raise InputError("the folder is not empty", file=folder, remedy="name another")


def _remove_temporary(folder: Path) -> None:
    for path in sorted(folder.rglob(".*.tmp")):
        if is_temporary(path) and path.is_file():
            path.unlink(missing_ok=True)
        elif is_temporary(path):
            shutil.rmtree(path, ignore_errors=True)
