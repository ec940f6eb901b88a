"""Text files that a benchmark is built from: finding them, naming them, recording their source."""

from __future__ import annotations

import hashlib
import io
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import StrPath, on_disk
from irtoolkit.datasets.editions.edition import as_plain_text
from irtoolkit.datasets.editions.reading import SUFFIXES, form_of, read_edition
from irtoolkit.datasets.novels import slug

_log = logging.getLogger(__name__)
# Bytes that are read at once.
PIECE = 1 << 20
# Bytes at the beginning and end of a file that tell its form.
_TELLING = 1 << 16
# Of a hash, in hexadecimal.
_DIGITS = 32


@dataclass(frozen=True)
class TextFile:
    """A file and the name it has in the benchmark, without white space."""

    path: Path
    name: str

    def read(self) -> bytes:
        """Returns its bytes.

        Raises:
            InputError: it cannot be read, or has none.
        """
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise InputError(f"cannot read: {error.strerror or error}", file=self.path) from None
        if not data.strip():
            raise InputError("an empty file", file=self.path, remedy="remove it, or fill it")
        return data

    def opened(self) -> BinaryIO:
        """Returns the file as plain text, open for reading; EPUB, HTML and TEI as their text."""
        with open(self.path, "rb") as raw:
            is_text = form_of(_start_and_end(raw), self.path.name) == "text"
        if is_text:
            return open(self.path, "rb")
        edition = read_edition(self.path.read_bytes(), self.path.name)
        return io.BytesIO(as_plain_text(edition).encode(errors="surrogatepass"))

    def pieces(self) -> Iterator[bytes]:
        """Yields its bytes, about `PIECE` at a time.

        Raises:
            InputError: it cannot be read.
        """
        try:
            with self.opened() as raw:
                while piece := raw.read(PIECE):
                    yield piece
        except OSError as error:
            raise InputError(f"cannot read: {error.strerror or error}", file=self.path) from None

    def digest(self, *before: bytes | str) -> str:
        """Returns the `digest` of some texts and its bytes.

        Raises:
            InputError: it cannot be read, or has no bytes but white space.
        """
        hasher, empty = _hash(before), True
        hasher.update(b"%d:" % sum(map(len, self.pieces())))
        for piece in self.pieces():
            empty = empty and not piece.strip()
            hasher.update(piece)
        if empty:
            raise InputError("an empty file", file=self.path, remedy="remove it, or fill it")
        return hasher.hexdigest()[:_DIGITS]


def files_of(paths: Sequence[StrPath], accepts: Callable[[Path], bool], problem: str) -> list[Path]:
    """Returns the files of some paths, each once; those in folders sorted by name.

    Args:
        paths: files, which are all taken, and folders, of which hidden files and folders are not.
        accepts: whether a file of a folder is taken.
        problem: the error for a folder without such a file.

    Raises:
        InputError: no such file or folder, or a folder without a suitable file.
    """
    files: list[Path] = []
    for path in paths:
        local_path = on_disk(path)
        if local_path.is_dir():
            inside = _inside(local_path)
            accepted = [p for p in inside if accepts(p)]
            if not accepted:
                raise InputError(problem, file=path)
            _tell_others(local_path, [p for p in inside if not accepts(p)])
            files += accepted
        elif local_path.is_file():
            files.append(local_path)
        else:
            raise InputError("no such file or folder", file=path)
    return list(dict.fromkeys(files))


def _inside(folder: Path) -> list[Path]:
    """Returns the files in a folder and its subfolders, also those that links lead to, in order.

    Hidden ones, such as macOS puts beside each file of an archive, are left out.
    """
    files: list[Path] = []
    visited: set[str] = set()
    for root, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(root)
        # In order, so that a folder that two paths lead to is always read by the same one.
        folders[:] = sorted(name for name in folders if name[0] != "." and real not in visited)
        if real not in visited:
            files += [Path(root, name) for name in names if name[0] != "."]
        visited.add(real)
    return sorted(path for path in files if path.is_file())


def _tell_others(folder: Path, files: Sequence[Path]) -> None:
    """Logs how many files of a folder are not read, by their endings."""
    endings = Counter(p.suffix.lower() or "no ending" for p in files)
    if endings:
        counts = ", ".join(f"{count} with {ending}" for ending, count in endings.most_common())
        _log.warning("%s: files that are not read: %s", folder, counts)


def text_files(
    paths: Sequence[StrPath], noun: str, suffixes: Sequence[str] = SUFFIXES
) -> list[TextFile]:
    """Returns the text files of some paths; those in folders and subfolders sorted by name.

    Args:
        paths: files and folders.
        noun: their kind, for messages.
        suffixes: the endings of files in folders.

    Raises:
        InputError: no such file, no text file, or two files of one name.
    """
    files = files_of(
        paths,
        lambda path: path.suffix.lower() in suffixes,
        f"no {noun} in it: no {' or '.join(suffixes)} file",
    )
    names = Counter(slug(path.stem) for path in files)
    for path in files:
        if names[slug(path.stem)] > 1:
            twin = next(p for p in files if p != path and slug(p.stem) == slug(path.stem))
            raise InputError(
                f"{noun} of one name: {slug(path.stem)} is the name of {twin}, too",
                file=path,
                remedy="rename one of the two files",
            )
    return [TextFile(path, slug(path.stem)) for path in files]


def _start_and_end(raw: BinaryIO) -> bytes:
    """Returns the bytes of a file that tell its form; it is at its beginning again."""
    start = raw.read(_TELLING)
    raw.seek(max(len(start), raw.seek(0, io.SEEK_END) - _TELLING))
    end = raw.read()
    raw.seek(0)
    return start + end


def digest(*parts: bytes | str) -> str:
    """Returns a hash of some texts."""
    return _hash(parts).hexdigest()[:_DIGITS]


def _hash(parts: Sequence[bytes | str]) -> hashlib._Hash:
    hasher = hashlib.sha256()
    for part in parts:
        data = part.encode(errors="surrogatepass") if isinstance(part, str) else part
        hasher.update(b"%d:" % len(data) + data)
    return hasher
