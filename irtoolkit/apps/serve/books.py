"""Books that readers add, each in a separate folder."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text
from irtoolkit.base.jsons import load_json
from irtoolkit.datasets.novels import Novel, novel_of, slug

FOLDER = "books"
_TEXT, _ABOUT = "text.txt", "book.json"


@dataclass(frozen=True)
class KeptBook:
    """A book as it was kept.

    Attributes:
        name: the id of its collection.
        title: of its file, where its header has none.
        added: seconds since 1970.
        novel: what is in it; None where it is damaged.
        why_not: what is wrong with which file, and the remedy; else empty.
        file: the name of the file that was added; empty if unknown.
    """

    name: str
    title: str
    added: float
    novel: Novel | None
    why_not: str = ""
    file: str = ""


@dataclass(frozen=True)
class Origin:
    """The record stored beside the bytes of a book.

    Attributes:
        title: of its file, where its header has none.
        file: the name of its file, whose end tells Markdown from plain text.
        added: seconds since 1970.
    """

    title: str
    file: str
    added: float


class Books:
    """The books of a folder.

    Args:
        folder: of the server.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER

    def __iter__(self) -> Iterator[KeptBook]:
        """Yields the books; a book that cannot be read carries the reason."""
        places = sorted(self._folder.iterdir()) if self._folder.is_dir() else []
        for path in places:
            if path.is_dir() and not path.name.startswith("."):
                yield _read(path)

    def tidy(self) -> None:
        """Makes the folder, and removes what processes that were killed had begun."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for path in self._folder.glob(".*"):
            shutil.rmtree(path, ignore_errors=True)

    def keep(self, name: str, text: bytes, origin: Origin) -> None:
        """Keeps a book, in the place of a damaged one of its name."""
        begun = self._hidden(name)
        begun.mkdir(parents=True)
        (begun / _TEXT).write_bytes(text)
        with atomic_text(begun / _ABOUT) as out:
            json.dump(asdict(origin), out, ensure_ascii=False)
        self.remove(name)
        begun.rename(self._folder / name)

    def remove(self, name: str) -> None:
        """Removes a book; from one moment to the next, no reader of the folder sees it."""
        path, hidden = self._folder / name, self._hidden(name)
        if path.is_dir():
            path.rename(hidden)
            shutil.rmtree(hidden, ignore_errors=True)

    def _hidden(self, name: str) -> Path:
        return self._folder / f".{name}.{secrets.token_hex(6)}"


def _read(book_path: Path) -> KeptBook:
    title, added, path = book_path.name, 0.0, book_path / _ABOUT
    try:
        record = load_json(path.read_text("utf-8"))
        title, added = str(record["title"]), float(record["added"])
        path = book_path / _TEXT
        file = str(record.get("file", ""))
        novel = novel_of(path.read_bytes(), title, name=slug(title), file=file)
        return KeptBook(book_path.name, title, added, novel, file=file)
    except (OSError, ValueError, KeyError, TypeError, InputError) as error:
        reason = error.found if isinstance(error, InputError) else getattr(error, "strerror", None)
        why = reason or "not what was written"
        remedy = "delete its folder, or remove the book on the page and add it again"
        # Readers need not know where on the server the folder is.
        damaged = path.relative_to(book_path.parents[1])
        return KeptBook(book_path.name, title, added, None, f"{damaged}: {why}: {remedy}")
