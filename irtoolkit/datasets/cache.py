"""A cache of parsed releases: columns on disk, mapped into memory.

A release is parsed once, in a stream, into Arrow tables; later uses map their files. The folder's
name is a hash of the contents of the release's files, the columns, and two format numbers, so an
edited release or a changed loader never gets stale columns. The folder names the hash of each table;
columns that were damaged, or cut by a crash, are parsed again.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from irtoolkit.base import arrow
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import sha256
from irtoolkit.base.home import CACHE_VARIABLE as CACHE_VARIABLE
from irtoolkit.base.home import cache_home as cache_home
from irtoolkit.base.jsons import load_json
from irtoolkit.base.locks import locked, remove_left
from irtoolkit.base.stamps import check_unchanged, stamps
from irtoolkit.base.stamps import content_hash as content_hash

# Raise this when the layout of the cached tables changes, or code that all loaders share makes
# other rows of the same files. If only one loader changes, raise the `version` of its kind.
FORMAT = 1
_SUMS = "sums.json"
# Ends the names of folders that are not complete.
_HALF = ".part"
_BATCH_ROWS = 1 << 13
# Windows neither moves nor removes files that are mapped.
_MAPPED_STAY = sys.platform == "win32"
_BATCH_CHARACTERS = 1 << 24

Schemas = Mapping[str, Mapping[str, pa.DataType]]


class Tables(dict[str, pa.Table]):
    """Tables by name.

    Attributes:
        key: a name that changes with the files, the columns and the format numbers: equal keys
            mean equal tables.
    """

    key: str = ""


class CacheWriter:
    """A writer of the rows of some tables as they are parsed, in bounded memory."""

    def __init__(self, folder: Path, schemas: Schemas) -> None:
        self._tables = {
            name: _TableWriter(_table(folder, name), pa.schema(list(fields.items())))
            for name, fields in schemas.items()
        }

    def add(self, table: str, *row: Any) -> None:
        """Appends one row to a table."""
        self._tables[table].add(row)

    def close(self) -> None:
        for table in self._tables.values():
            table.close()


class _TableWriter:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = schema
        self._file = pa.ipc.new_file(str(path), schema)
        self._rows: list[tuple[Any, ...]] = []
        self._characters = 0

    def add(self, row: tuple[Any, ...]) -> None:
        self._rows.append(row)
        self._characters += sum(map(_characters, row))
        if len(self._rows) >= _BATCH_ROWS or self._characters >= _BATCH_CHARACTERS:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            columns = zip(*self._rows, strict=True)
            arrays = [
                arrow.column(values, field.type)
                for values, field in zip(columns, self._schema, strict=True)
            ]
            self._file.write_batch(pa.record_batch(arrays, schema=self._schema))
            self._rows, self._characters = [], 0

    def close(self) -> None:
        self._flush()
        self._file.close()


def _characters(value: Any) -> int:
    """Returns the length of a text, or of all texts of a list together."""
    if isinstance(value, str):
        return len(value)
    return sum(map(len, value)) if isinstance(value, list) else 0


def parsed(
    kind: str,
    files: Sequence[Path],
    schemas: Schemas,
    parse: Callable[[CacheWriter], None],
    *,
    version: int = 1,
) -> Tables:
    """Returns the tables of a release, mapped from the cache after it has been parsed once.

    Args:
        kind: the name of the release, for example "quoter-en"; the folder's name begins with it.
        files: all files that `parse` reads.
        schemas: for each table, column names to types.
        parse: reads the files and adds rows to the writer. If it raises, nothing is stored.
        version: the version of this kind; raise it when `parse` makes other rows of the same files.

    Raises:
        InputError: the columns cannot be written, for example because the disk is full.
    """
    before = stamps(files)
    folder = cache_home() / f"{kind}-{_key(files, schemas, version)}"
    tables = _open(folder, schemas)
    if tables is None:
        with _scratch(folder) as scratch:
            _fill(scratch, schemas, parse)
            check_unchanged(before)  # the key is that of the files as they were
            if _MAPPED_STAY:
                _keep(scratch, folder)
                tables = _open(folder, schemas)
            if tables is None:
                # Map before moving: another process may replace the folder with its own.
                tables = _open(scratch, schemas)
            if tables is None:
                raise OSError(f"cannot read back the columns written to {scratch}")
            if not _MAPPED_STAY:
                _keep(scratch, folder)
    tables.key = folder.name
    return tables


def _fill(scratch: Path, schemas: Schemas, parse: Callable[[CacheWriter], None]) -> None:
    try:
        writer = CacheWriter(scratch, schemas)
        try:
            parse(writer)
        finally:
            writer.close()
        _seal(scratch, schemas)
    except OSError as error:
        raise InputError(
            f"cannot write to the cache: {error}",
            file=scratch.parent,
            remedy=f"free some space there, or set ${CACHE_VARIABLE} to another folder",
        ) from error


def _seal(folder: Path, schemas: Schemas) -> None:
    """Writes the hashes of the tables, after all of them are on the disk."""
    for name in schemas:
        with open(_table(folder, name), "rb+") as file:
            os.fsync(file.fileno())
    sums = {name: sha256(_table(folder, name)) for name in schemas}
    with open(folder / _SUMS, "w", encoding="utf-8") as out:
        json.dump(sums, out)
        out.flush()
        os.fsync(out.fileno())


def _table(folder: Path, name: str) -> Path:
    return folder / f"{name}.arrow"


def _key(files: Sequence[Path], schemas: Schemas, version: int) -> str:
    columns = {
        table: {name: str(kind) for name, kind in columns.items()}
        for table, columns in schemas.items()
    }
    digest = hashlib.sha256(f"{FORMAT} {version} {columns}".encode())
    for path in files:
        digest.update(f"\n{path.name} {content_hash(path)}".encode())
    return digest.hexdigest()[:40]


def files_key(kind: str, files: Sequence[Path], version: int = 1) -> str:
    """Returns a key of a release that changes with its files and `version`."""
    return f"{kind}-{_key(files, {}, version)}"


def _open(folder: Path, schemas: Schemas) -> Tables | None:
    try:
        sums = load_json((folder / _SUMS).read_text("utf-8"))
        if sums != {name: content_hash(_table(folder, name)) for name in schemas}:
            return None
        return Tables(
            (name, pa.ipc.open_file(pa.memory_map(str(_table(folder, name)))).read_all())
            for name in schemas
        )
    except (OSError, ValueError):  # missing, or damaged
        return None


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """Yields a temporary folder to build in, removed unless it was renamed into the cache.

    It is in the system's temporary folder if the cache cannot be written; mapped files stay
    readable after they are removed. Folders of killed processes are removed.
    """
    scratch = folder.with_name(f".{folder.name[:24]}.{secrets.token_hex(8)}{_HALF}")
    with ExitStack() as stack:
        try:
            # Locked before it is created: a folder without a lock is abandoned.
            stack.enter_context(locked(scratch.with_suffix(".lock"), remove=True))
            _remove_abandoned(folder)
            scratch.mkdir()
        except (InputError, OSError):
            scratch = Path(tempfile.mkdtemp(prefix="irtoolkit-"))
        stack.callback(shutil.rmtree, scratch, ignore_errors=True)
        yield scratch


def _remove_abandoned(folder: Path) -> None:
    begun = f".{glob.escape(folder.name[:24])}.*"
    for abandoned in folder.parent.glob(f"{begun}{_HALF}"):
        with locked(abandoned.with_suffix(".lock"), wait=False, remove=True) as acquired:
            if acquired:
                shutil.rmtree(abandoned, ignore_errors=True)
    for lock in folder.parent.glob(f"{begun}.lock"):
        remove_left(lock)


def _keep(scratch: Path, folder: Path) -> None:
    """Moves finished columns to their place in the cache, if that is possible."""
    if scratch.parent == folder.parent:
        # The folder may hold damaged columns, or those that another process has just written.
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            scratch.rename(folder)
