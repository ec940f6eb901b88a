"""A cache that machines share, behind the cache of this one: $IRTOOLKIT_CACHE as a URL.

Only files and folders go there that never change under their names, after they are complete. A shared
cache that cannot be read is an error; one that cannot be written is read, with a warning.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from irtoolkit.base import remote
from irtoolkit.base.errors import InputError
from irtoolkit.base.home import cache_home, shared_cache
from irtoolkit.base.locks import locked
from irtoolkit.base.paths import without_credentials

_log = logging.getLogger(__name__)
# What has been said of a cache that cannot be written.
_warned: set[str] = set()


def shared_place(path: Path) -> str | None:
    """Returns the shared cache's URL of a file or folder in this machine's cache, if any."""
    shared = shared_cache()
    if shared is None or not path.is_relative_to(cache_home()):
        return None
    return f"{shared.rstrip('/')}/{path.relative_to(cache_home()).as_posix()}"


def fetch(folder: Path, end: str) -> None:
    """Copies here the files of a folder of the cache that the shared cache has and this machine lacks.

    Args:
        folder: of this machine's cache.
        end: of the names of the files.

    Raises:
        InputError: the shared cache cannot be read.
    """
    url = shared_place(folder)
    if url is None:
        return
    urls = {
        name: file
        for name, file in remote.files_under(url).items()
        if name.endswith(end) and "/" not in name
    }
    if all((folder / name).is_file() for name in urls):
        return
    with locked(folder / "shared.lock", remove=True):
        for name, file in urls.items():
            if not (folder / name).is_file():
                half = folder / f".{name}.part"
                remote.download(f"{url}/{name}", half, file)
                half.replace(folder / name)


def share(path: Path) -> None:
    """Uploads a finished file to the shared cache, unless it is there."""
    url = shared_place(path)
    if url is not None:
        with offering():
            if not remote.is_file(url):
                remote.put(path, url)


@contextmanager
def offering() -> Iterator[None]:
    """Warns, once for each reason, if the shared cache refuses an upload."""
    try:
        yield
    except InputError as error:
        if error.found not in _warned:
            _warned.add(error.found)
            _log.warning(
                "%s: %s: this machine keeps what it makes",
                without_credentials(shared_cache() or ""),
                error.found,
            )
