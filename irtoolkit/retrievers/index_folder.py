"""Checks of the folder of an index: what it holds, and whether it may be used."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import sha256
from irtoolkit.base.locks import locked
from irtoolkit.base.remote import files_under
from irtoolkit.indexes import manifest as manifests
from irtoolkit.indexes.bounds import DamagedIndexError
from irtoolkit.indexes.index_format import IndexFormat
from irtoolkit.indexes.manifest import DocumentSource, Manifest
from irtoolkit.indexes.shards import DELETED, SHARDS, OpenShard, deleted, opened

if TYPE_CHECKING:
    from irtoolkit.retrievers.base import Retriever

# Settings that say how texts become terms.
_TERMS = ("analyzer", "tokenizer", "stop", "stem")
# Where irtoolkit's cache keeps indexes.
KEPT = "indexes"
# What a folder may hold before there is an index in it.
_OWN = {"lock", SHARDS, DELETED, manifests.NAME, manifests.REPLACEMENT}


def damage_of(folder: Path) -> DamagedIndexError | None:
    """Why the index of a folder cannot be used, as far as opening it tells; None if it can."""
    if (folder / manifests.NAME).is_file():
        try:
            opened(folder, Manifest.read(folder).shards)
        except DamagedIndexError as error:
            return error
    return None


def searchable(folder: Path, manifest: Manifest | None = None) -> Manifest:
    """Returns the manifest of an index, without documents of which only a part is in."""
    manifest = manifest or Manifest.read(folder)
    settled = manifest.settled()
    if not settled.sources:
        reason = "holds no documents yet"
        if manifest.sources:
            last = manifest.sources[-1]
            reason = f"is not complete: {last.documents:,} documents of {last.name} are in"
        raise InputError(
            f"the index {folder} {reason}",
            remedy="the command that builds it continues when it is run again",
        )
    return settled


def opened_index(
    folder: Path, manifest: Manifest | None = None
) -> tuple[Manifest, list[OpenShard]]:
    """Returns the manifest and the shards of an index; the manifest may have been read before."""
    manifest = searchable(folder, manifest)
    while True:
        try:
            return manifest, opened(folder, manifest.shards)
        except (InputError, OSError):
            # Another process may have merged them since the manifest was read.
            before, manifest = manifest, searchable(folder)
            if before == manifest:
                raise


def live(shards: Sequence[OpenShard]) -> int:
    """The number of documents that were not deleted."""
    return sum(len(shard.documents.ids) - len(shard.deleted) for shard in shards)


def check_same(manifest: Manifest, form: IndexFormat, folder: Path) -> None:
    """Raises InputError for an index of other settings of documents, or of another format of its retriever."""
    from irtoolkit.retrievers.registry import retrievers

    builder = retrievers().get(manifest.retriever) if manifest.retriever_format else None
    if builder is not None and builder.format != manifest.retriever_format:
        raise InputError(
            f"the index {folder} was built by format {manifest.retriever_format} of {manifest.retriever},"
            f" which is now {builder.format}",
            remedy="build it again with --replace",
        )
    expected = json.loads(json.dumps(dict(form.settings)))
    actual = dict(manifest.settings)
    if manifest.kind != form.kind or actual != expected:
        names = [key for key in {**actual, **expected} if actual.get(key) != expected.get(key)]
        differences = (
            ", ".join(f"{name}={actual.get(name)}" for name in names) or f"kind={manifest.kind}"
        )
        raise other_documents(folder, differences)


def check_retriever(manifest: Manifest, retriever: Retriever, folder: Path) -> None:
    """Raises InputError for an index whose documents are of another kind than a retriever searches."""
    if retriever.needed_format().kind != manifest.kind:
        raise InputError(
            f"the index {folder} is for {manifest.retriever}, not {retriever.name}",
            remedy=f"index the documents with {retriever.name}",
        )


def retriever_of(manifest: Manifest, name: str, settings: Mapping[str, Any]) -> Retriever:
    """Returns the retriever of a name for an index: its builder, or one that reads the same terms.

    Args:
        manifest: of the index.
        name: of the retriever.
        settings: in place of those that the index was built with.
    """
    from irtoolkit.retrievers.registry import create_retriever, retrievers

    usual = dict(manifest.given)
    if name != manifest.retriever:
        cls, parameters = retrievers().get(name), manifest.parameters
        usual = {key: parameters[key] for key in _TERMS if key in parameters and hasattr(cls, key)}
    return create_retriever(name, {**usual, **settings})


def other_documents(folder: Path, settings: str) -> InputError:
    """Returns the error for an index that was built with other settings of documents."""
    return InputError(
        f"the index {folder} was built with {settings}, which concerns the documents",
        remedy="build another index with -o FOLDER, or this one again with --replace",
    )


def check_not_cached(manifest: Manifest, folder: Path) -> None:
    """Raises InputError rather than change an index in irtoolkit's cache, which is found again by its documents."""
    from irtoolkit.datasets.cache import cache_home

    if folder.resolve().parent == (cache_home() / KEPT).resolve():
        name = manifest.sources[0].name
        raise InputError(
            f"the index of {name} in irtoolkit's cache holds the documents of {name}, no others",
            remedy=f"give the index a folder: irtoolkit index {name} {manifest.retriever} -o FOLDER",
        )


def check_own_folder(folder: Path) -> None:
    """Raises InputError for a folder with something else in it, and a file."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file", remedy="name a folder for the index")
    if folder.is_dir() and not (folder / manifests.NAME).is_file():
        others = sorted(path.name for path in folder.iterdir() if not _is_own(path.name))
        if others:
            raise InputError(
                f"the folder {folder} holds {others[0]}, which is no part of an index",
                remedy="name an empty folder or a new one",
            )


def check_own_url(url: str) -> None:
    """Raises InputError for a URL with something else under it."""
    others = [name for name in files_under(url) if not _is_own(name.partition("/")[0])]
    if others:
        raise InputError(
            f"{url} holds {others[0]}, which is no part of an index",
            remedy="name a folder of its own for the index",
        )


@contextmanager
def nothing_begun(folder: Path) -> Iterator[None]:
    """Removes what was not there before, where making an index fails before its first shard."""
    before = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        yield
    except Exception:
        if manifests.NAME not in before and folder.is_dir():
            _remove_begun(folder, before)
            for path in new:
                with suppress(OSError):
                    path.rmdir()
        raise


def _remove_begun(folder: Path, before: set[str]) -> None:
    with locked(folder / "lock", wait=False, remove="lock" not in before) as is_locked:
        if not is_locked:
            return
        if (folder / manifests.NAME).is_file() and Manifest.read(folder).shards:
            return
        for name in _OWN - before - {"lock"}:
            if (folder / name).is_dir():
                shutil.rmtree(folder / name, ignore_errors=True)
            else:
                (folder / name).unlink(missing_ok=True)


def _is_own(name: str) -> bool:
    # A process that is killed leaves what it was writing.
    return name in _OWN or (name.startswith(f".{manifests.NAME}.") and name.endswith(".tmp"))


def check_unchanged(manifest: Manifest, source: DocumentSource, folder: Path) -> None:
    """Raises InputError for an index of other documents than those of a source."""
    if not manifest.sources or any(recorded.is_same(source) for recorded in manifest.sources):
        return
    if any(recorded.name == source.name for recorded in manifest.sources):
        # To add them is refused, too: most are in it already.
        raise InputError(
            f"the documents of {source.name} have changed since the index {folder} was built",
            remedy="--replace builds it again",
        )
    raise InputError(
        f"the index {folder} holds other documents: {manifest.sources[0].name}",
        remedy="--replace builds it again, --add adds to it",
    )


def verify_folder(folder: Path) -> int:
    """Reads every byte of the index of a folder; returns the number of files.

    Raises:
        InputError: names the first file that is not what was written.
    """
    count = 1
    for entry in searchable(folder).shards:
        path = folder / SHARDS / entry.name
        manifests.check_shard(path, entry, read=sha256)
        count += sum(1 for _ in path.iterdir())
        if entry.deleted is not None:
            deleted(folder, entry)
            count += 1
    return count
