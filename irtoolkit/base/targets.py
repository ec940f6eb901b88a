"""Checks of output files and folders before the work."""

from __future__ import annotations

import os
import re

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import StrPath, on_disk, split_query, url_of
from irtoolkit.base.streams import check_open, is_special, stream_of

# Ends of names that no file written here has, with what it would be: plain text.
_NOT_WRITTEN = re.compile(
    r"\.(?:7z|br|bz2?|lz4|lzma|rar|t[bgx]z|tar|xz|z|zip|zstd?|gzip|gz|parquet)$", re.IGNORECASE
)
# Ends of names that say what is in a file.
_TELLING = re.compile(
    r"\.(?:csv|docx?|html?|json|jsonl|md|ndjson|parquet|pdf|qrels|run|svg|tex|toml|tsv|xlsx?|xml|ya?ml)$",
    re.IGNORECASE,
)


def check_writable(path: StrPath, *, folder: bool = False) -> None:
    """Raises InputError if a target cannot be written, before the work whose result goes there.

    Missing permission to write to a URL shows only when it is written.

    Args:
        path: a file or URL; neither it nor its folder need exist.
        folder: whether the target is a folder rather than a file.

    Raises:
        InputError: the target is a folder instead of a file or the reverse, a folder on the way is a
            file, permission is missing, no file can have the name, or `check_packing` refuses it.
    """
    check_target_name(path, folder=folder)
    try:
        _check_writable(path, folder)
        if not folder:
            check_packing(path)
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror or error}", file=path) from None


def check_target_name(path: StrPath, *, folder: bool = False) -> None:
    """Raises InputError for a target without a name, which blanks are not, or with a zero byte in it."""
    name = os.fspath(path)
    if not name.strip() or "\0" in (name if url_of(path) else os.fspath(on_disk(path))):
        kind = "folder" if folder else "file"
        raise InputError(f"cannot write: {name!r} is no name of a {kind}")


def check_packing(path: StrPath) -> None:
    """Raises InputError if a file's name ends in that of a packing that cannot be written.

    A pipe or device may have any name.
    """
    url = url_of(path)
    name = os.fspath(path) if url is None else split_query(url)[0]
    ending = _not_written(name)
    if ending is None or (url is None and is_special(path)):
        return
    remedy = "end the name in .gz for packed text, in .parquet where Parquet is written, or in neither for plain text"
    raise InputError(f"cannot write: no {ending} is written here", file=path, remedy=remedy)


def _not_written(name: str) -> str | None:
    """Returns the end of a file's name that says what is not written; None if there is none."""
    if name.endswith(".gz"):  # packed text, but for .tar.gz and .parquet.gz
        packed = _NOT_WRITTEN.search(name.removesuffix(".gz"))
        return None if packed is None else f"{packed[0]}.gz"
    ending = _NOT_WRITTEN.search(name)
    return None if ending is None or name.endswith(".parquet") else ending[0]


def check_ending(path: StrPath, content: str, *endings: str) -> None:
    """Raises InputError if a file's name ends as that of another kind of file than is written.

    Names with no telling end, such as .txt, are taken; a pipe or device may have any name.

    Args:
        path: a file or URL.
        content: what is written, for example "a run".
        endings: the telling ends that its name may have, the usual one first.
    """
    url = url_of(path)
    name = os.fspath(path) if url is None else split_query(url)[0]
    ending = _TELLING.search(name.removesuffix(".gz"))
    if ending is None or ending[0].lower() in endings or (url is None and is_special(path)):
        return
    raise InputError(
        f"cannot write: the name ends in {ending[0]}, and the file is {content}",
        file=path,
        remedy=f"end the name in {' or '.join(endings)}",
    )


def _check_writable(path: StrPath, folder: bool) -> None:
    url = url_of(path)
    if url is not None:
        from irtoolkit.base import remote

        remote.check_writable_url(url, folder=folder)
        return
    if not folder and (number := stream_of(path)) is not None:
        check_open(number)
        return
    target, name = on_disk(path), os.fspath(path)
    if os.path.islink(real := os.path.realpath(target)):
        raise InputError(f"cannot write: {real} is a link that leads to itself", file=name)
    if not folder and (name.endswith(("/", os.sep)) or target.is_dir()):
        raise InputError(
            "cannot write: a folder, not a file",
            file=name,
            remedy=f"name a file in it, such as {os.path.join(name, 'name')}",
        )
    if folder and target.exists() and not target.is_dir():
        raise InputError("cannot write: a file, not a folder", file=name)
    checked = target if folder or (target.exists() and not target.is_file()) else target.parent
    while not checked.exists():
        checked = checked.parent
    if checked.is_file():
        raise InputError(f"cannot write: {checked} is a file, not a folder", file=name)
    if not os.access(checked, os.W_OK):
        raise InputError(f"cannot write: no permission to write to {checked}", file=name)
