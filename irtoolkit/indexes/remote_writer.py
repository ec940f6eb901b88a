"""Indexes made or changed in their copy on this machine, and uploaded: the shards first, the manifest last."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from irtoolkit.base import remote
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath
from irtoolkit.base.locks import locked
from irtoolkit.base.paths import on_disk, url_of
from irtoolkit.base.progress import tqdm
from irtoolkit.base.shared import offering, shared_place
from irtoolkit.indexes.manifest import LISTING, NAME, Manifest, check_shard
from irtoolkit.indexes.remote import CHANGING, is_index, local_index, manifest_at
from irtoolkit.indexes.shards import DELETED, SHARDS
from irtoolkit.indexes.writer import being_written, writing


@contextmanager
def changing(location: StrPath) -> Iterator[Path]:
    """A folder of this machine in which an index is changed by this process alone.

    That of a URL is its copy, which is uploaded when the block succeeds.

    Args:
        location: of the index: a folder, or a URL.
    """
    url = url_of(location)
    if url is None:
        with writing(on_disk(location)):
            yield on_disk(location)
        return
    before, folder = manifest_at(url), local_index(url)
    with writing(folder), uploaded(folder, url, before):
        yield folder


@contextmanager
def uploaded(folder: Path, url: str, before: str) -> Iterator[None]:
    """Uploads the index of a folder as the block leaves it.

    Readers of this machine do not put the manifest at the URL back into the folder until the block ends.

    Args:
        folder, url, before: see `put_index`.

    Raises:
        InputError: another process writes it; or see `put_index`.
    """
    with locked(folder.with_name(CHANGING), wait=False) as is_locked:
        if not is_locked:
            raise being_written(folder)
        yield
        text = _manifest_text(folder)
    _upload(folder, url, before, text)


def share_index(folder: Path) -> None:
    """Uploads an index of this machine's cache to the shared cache, unless it is there."""
    url = shared_place(folder)
    if url is not None:
        with offering():
            if not is_index(url):
                put_index(folder, url, "")


def put_index(folder: Path, url: str, before: str) -> None:
    """Uploads the index of a folder: its shards unless they are there, then the manifest.

    Shards that the new manifest replaces are removed.

    Args:
        folder: a complete index.
        url: where it goes.
        before: the text of the manifest that is there; "" if there is none.

    Raises:
        InputError: the manifest there is another one; or it cannot be written.
    """
    _upload(folder, url, before, _manifest_text(folder))


def _manifest_text(folder: Path) -> str:
    Manifest.read(folder)  # raises the error of a folder without one
    return (folder / NAME).read_text("utf-8")


def _upload(folder: Path, url: str, before: str, text: str) -> None:
    """Uploads an index whose manifest is a text: a reader may put the one before back meanwhile."""
    url = url.rstrip("/")
    manifest = Manifest.parse(text, folder / NAME)
    for entry in manifest.shards:
        check_shard(folder / SHARDS / entry.name, entry)
    sizes = {name: (folder / name).stat().st_size for name in _files(manifest, folder)}
    stored = remote.files_under(url)
    missing = [name for name in sizes if name not in stored or stored[name].bytes != sizes[name]]
    try:
        with tqdm(
            total=sum(sizes[name] for name in missing), desc="uploading", unit="B", unit_scale=True
        ) as bar:
            for name in missing:
                remote.put(folder / name, f"{url}/{name}")
                bar.update(sizes[name])
        now = manifest_at(url) if is_index(url) else ""
        if now not in (before, text):
            raise InputError(
                f"the index {url} was changed by another process in the meantime",
                remedy="run the command again: it begins with the index as it is now",
            )
        with TemporaryDirectory() as temporary:
            (Path(temporary) / NAME).write_text(text, "utf-8", newline="")
            remote.put(Path(temporary) / NAME, f"{url}/{NAME}")
    except InputError as error:
        remedy = error.remedy or "the same command continues"
        raise InputError(error.found, file=error.file, remedy=remedy) from None
    with suppress(InputError):  # what is left takes room, and no more
        for name in stored.keys() - set(sizes):
            if name.startswith(_replaced(before, url)):
                remote.remove(f"{url}/{name}")


def _files(manifest: Manifest, folder: Path) -> Iterator[str]:
    """Yields the files of an index but its manifest; of each shard the list of its files last."""
    for entry in manifest.shards:
        for name in sorted(os.listdir(folder / SHARDS / entry.name), key=LISTING.__eq__):
            yield f"{SHARDS}/{entry.name}/{name}"
        if entry.deleted is not None:
            yield f"{DELETED}/{entry.deleted}"


def _replaced(before: str, url: str) -> tuple[str, ...]:
    """Returns the beginnings of the names of an index's files.

    No others are removed: another writer, whose manifest is not there yet, may have put them.
    """
    if not before:
        return ()
    entries = Manifest.parse(before, f"{url}/{NAME}").shards
    lists = [f"{DELETED}/{entry.deleted}" for entry in entries if entry.deleted is not None]
    return (*(f"{SHARDS}/{entry.name}/" for entry in entries), *lists)
