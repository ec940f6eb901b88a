"""The folder of a benchmark that is being built: refused, replaced, continued, and at last described."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text, check_writable, is_temporary
from irtoolkit.base.locks import locked
from irtoolkit.base.paths import as_given
from irtoolkit.datasets.built import ABOUT, FORMAT, described

# In the folder, which may be the only place that can be written to.
_LOCK = ".lock"


@contextlib.contextmanager
def alone(folder: Path, unfinished: Iterable[str]) -> Iterator[None]:
    """Locks out other builds from a folder while this one writes there.

    The lock ends with the process, however that ends.

    Args:
        folder: the folder.
        unfinished: names of files that an interrupted build leaves there.

    Raises:
        InputError: another build is writing there; it holds something else, or cannot be written.
    """
    check_free(folder, unfinished)
    new = not folder.is_dir()
    try:
        with locked(folder / _LOCK, wait=False, remove=True) as acquired:
            if not acquired:
                raise InputError(
                    "another build is writing there",
                    file=folder,
                    remedy="wait until it has ended, or name another folder",
                )
            yield
    finally:
        if new:  # a build that is refused leaves no empty folder
            with contextlib.suppress(OSError):
                folder.rmdir()


def check_free(folder: Path, unfinished: Iterable[str]) -> None:
    """Raises InputError for a folder that holds anything but a build.

    Args:
        folder: the folder.
        unfinished: names of files that an interrupted build leaves there.

    Raises:
        InputError: it holds something else, or cannot be written.
    """
    check_writable(folder, folder=True)
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if names - {_LOCK} and not names & {ABOUT, *unfinished}:
        raise InputError("the folder is not empty", file=folder, remedy="name another")


def remove_unfinished(folder: Path) -> None:
    """Removes temporary files that a killed build has left; no other build may write to the folder."""
    for path in sorted(folder.rglob(".*.tmp")):
        if is_temporary(path) and path.is_file():
            path.unlink(missing_ok=True)
        elif is_temporary(path):
            shutil.rmtree(path, ignore_errors=True)


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


def is_whole(folder: Path) -> bool:
    """Returns whether the folder holds a benchmark that was built to its end."""
    return (folder / ABOUT).exists()


def is_of_others(folder: Path, key: str) -> bool:
    """Returns whether the folder holds a complete benchmark of others, or a damaged one."""
    if not is_whole(folder):
        return False
    with contextlib.suppress(InputError):
        return described(folder).get("key") != key
    return True


def check_unchanged(folder: Path, key: str, replace: bool) -> None:
    """Raises InputError rather than replace a complete benchmark of other texts or settings.

    Args:
        folder: the folder.
        key: a hash of texts and settings.
        replace: whether a benchmark of others is replaced.

    Raises:
        InputError: it is a benchmark of others.
    """
    if not replace and is_of_others(folder, key):
        raise InputError(
            "a benchmark of other texts or settings",
            file=folder,
            remedy="add --replace, or name another",
        )


def check_same(folder: Path, key: str, replace: bool) -> None:
    """Raises InputError as `check_unchanged` does, otherwise marks an existing benchmark as incomplete.

    Args:
        folder: the folder.
        key: a hash of texts and settings.
        replace: whether a benchmark of others is replaced.

    Raises:
        InputError: it is a benchmark of others.
    """
    check_unchanged(folder, key, replace)
    (folder / ABOUT).unlink(missing_ok=True)  # it is no benchmark until it is whole again


def describe(
    folder: Path,
    benchmark: str,
    splits: Sequence[str],
    key: str,
    recipe: Mapping[str, Any],
    *,
    hidden: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
) -> None:
    """Writes benchmark.json, which makes the folder a benchmark; the last file of a build.

    Args:
        folder: the folder.
        benchmark: the name of a module in `irtoolkit/datasets/`.
        splits: its splits.
        key: a hash of texts and settings.
        recipe: the settings.
        hidden: splits whose judgments are not in the release's own files.
        more: further fields for the benchmark's module.
    """
    record = {
        "benchmark": benchmark,
        "format": FORMAT,
        "splits": list(splits),
        "hidden": list(hidden),
        **(more or {}),
        "recipe": dict(recipe),
        "key": key,
    }
    with atomic_text(folder / ABOUT) as out:
        json.dump(record, out, indent=1, ensure_ascii=False)
        out.write("\n")


def write_sources(folder: Path, intro: Sequence[str], sources: Mapping[str, Iterable[str]]) -> None:
    """Writes SOURCES.txt, the texts that a benchmark was built from.

    Args:
        folder: the folder.
        intro: lines on how much of them the benchmark holds.
        sources: a line for each text, by the kind of text.
    """
    lines = list(intro)
    for title, texts in sources.items():
        lines += ["", title, *(f"  {as_given(text)}" for text in texts)]
    with atomic_text(folder / "SOURCES.txt") as out:
        out.write("\n".join(lines) + "\n")
