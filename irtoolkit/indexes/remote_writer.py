"""Indexes made or changed on this machine and put at a URL, the manifest last.

Shards that are there already are not put again, so an upload that was interrupted continues. One process
at a time writes an index; a change by another machine in the meantime is found before the manifest is
replaced.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from irtoolkit.base import remote
from irtoolkit.base.copies import copies_of
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, atomic_text
from irtoolkit.base.locks import locked
from irtoolkit.base.paths import call, on_disk, url_of
from irtoolkit.base.progress import tqdm
from irtoolkit.base.shared import offering, shared_place
from irtoolkit.indexes.manifest import LISTING, NAME, Manifest, check_shard
from irtoolkit.indexes.remote import copy_of, is_index, local_index, manifest_at
from irtoolkit.indexes.shards import DELETED, SHARDS
from irtoolkit.indexes.writer import writing

_AGAIN = "the same command continues"


@contextmanager
def changing(location: StrPath, purpose: str) -> Iterator[Path]:
    """A folder of this machine in which an index is changed by this process alone; see `remade`.

    Args:
        location: of the index: a folder, or a URL, where it is put when the block succeeds.
        purpose: what is done.
    """
    url = url_of(location)
    if url is not None:
        with remade(url, purpose) as folder, writing(folder):
            yield folder
    else:
        with writing(on_disk(location)):
            yield on_disk(location)


def share_index(folder: Path) -> None:
    """Puts an index of this machine's cache into the shared cache, where it is not there yet."""
    url = shared_place(folder)
    if url is not None:
        with offering():
            if not is_index(url):
                put_index(folder, url, "")


@contextmanager
def remade(url: str, purpose: str, *, empty: bool = False) -> Iterator[Path]:
    """A folder in which an index is made or changed; it is put at its URL when the block succeeds.

    Where the block or the upload is interrupted, the folder stays, and the next call for the same
    purpose finds it, unless the index at the URL has changed since.

    Args:
        url: of the index.
        purpose: what is done; a folder that was left for another purpose is not used.
        empty: whether the folder begins empty; else with the index that is there.

    Raises:
        InputError: another process of this machine writes it; it was changed there in the meantime;
            it cannot be read or written; or the disk refuses.
    """
    url = url.rstrip("/")
    home = copies_of(url)
    folder, mark = home / "changed", home / "changed.of"
    call(folder, url)
    with locked(home / "writer.lock", wait=False) as is_locked:
        if not is_locked:
            raise InputError(
                f"another process is writing to the index {url}",
                remedy="wait until it has finished",
            )
        before = manifest_at(url) if is_index(url) else ""
        token = hashlib.sha256(f"{purpose}\n{before}".encode()).hexdigest()
        if not mark.is_file() or mark.read_text() != token:
            shutil.rmtree(folder, ignore_errors=True)
            if before and not empty:
                _linked(local_index(url), folder)
            with atomic_text(mark) as out:
                out.write(token)
        yield folder
        put_index(folder, url, before)
        _adopt(folder, copy_of(url))
        mark.unlink()


def _linked(source: Path, target: Path) -> None:
    """The index of a folder in another one; its files, which never change, take no room."""
    for path in sorted(source.rglob("*")):
        if path.is_file() and not path.name.endswith(".part"):
            link = target / path.relative_to(source)
            link.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(path, link)
            except OSError:
                shutil.copyfile(path, link)


def _adopt(folder: Path, copy: Path) -> None:
    """Makes shards that were put at a URL the copies of what is there."""
    manifest = Manifest.read(folder)
    for kind, names in _parts(manifest):
        for name in names:
            if not (copy / kind / name).exists():
                (copy / kind).mkdir(parents=True, exist_ok=True)
                with suppress(OSError):  # Windows moves no file that is mapped
                    (folder / kind / name).rename(copy / kind / name)
    shutil.rmtree(folder, ignore_errors=True)


def _parts(manifest: Manifest) -> Sequence[tuple[str, list[str]]]:
    """The folders of an index, and what each holds."""
    entries = manifest.shards
    lists = [entry.deleted for entry in entries if entry.deleted is not None]
    return ((SHARDS, [entry.name for entry in entries]), (DELETED, lists))


def put_index(folder: Path, url: str, before: str) -> None:
    """Puts the index of a folder at a URL: its shards as far as they are not there, the manifest last.

    Args:
        folder: a complete index.
        url: where it goes.
        before: the text of the manifest that is there; "" where there is none.

    Raises:
        InputError: the manifest there is another one; or it cannot be written.
    """
    manifest, stored = Manifest.read(folder), remote.files_under(url)
    files: list[str] = []
    for entry in manifest.shards:
        check_shard(folder / SHARDS / entry.name, entry)
        # The list of its files goes last: where it is, the others are.
        names = sorted(os.listdir(folder / SHARDS / entry.name), key=LISTING.__eq__)
        files += [f"{SHARDS}/{entry.name}/{name}" for name in names]
        files += [f"{DELETED}/{entry.deleted}"] if entry.deleted is not None else []
    sizes = {name: (folder / name).stat().st_size for name in files}
    missing = [name for name in files if name not in stored or stored[name].bytes != sizes[name]]
    try:
        with tqdm(
            total=sum(sizes[name] for name in missing), desc="uploading", unit="B", unit_scale=True
        ) as bar:
            for name in missing:
                remote.put(folder / name, f"{url}/{name}")
                bar.update(sizes[name])
        after = remote.files_under(url)
        for name in files:  # another writer may have removed what it does not know
            if name not in after or after[name].bytes != sizes[name]:
                raise InputError(
                    f"{name} of the index {url} was removed by another process in the meantime",
                    remedy=_AGAIN,
                )
        now = manifest_at(url) if is_index(url) else ""
        if now not in (before, (folder / NAME).read_text("utf-8")):
            raise InputError(
                f"the index {url} was changed by another process in the meantime",
                remedy="run the command again: it begins with the index as it is now",
            )
        remote.put(folder / NAME, f"{url}/{NAME}")
    except InputError as error:
        raise InputError(error.found, file=error.file, remedy=error.remedy or _AGAIN) from None
    with suppress(InputError):  # what is left takes room, and no more
        for name in stored.keys() - set(files):
            if name.startswith(tuple(_replaced(before, url))):
                remote.remove(f"{url}/{name}")


def _replaced(before: str, url: str) -> list[str]:
    """The beginnings of the names of files of an index.

    No others are removed: another writer, whose manifest is not there yet, may have put them.
    """
    if not before:
        return []
    parts = _parts(Manifest.parse(before, f"{url}/{NAME}"))
    shards, lists = ([f"{kind}/{name}" for name in names] for kind, names in parts)
    return [*(f"{name}/" for name in shards), *lists]
