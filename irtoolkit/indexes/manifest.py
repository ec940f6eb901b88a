"""The manifest of an index: what it holds, and which files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import UnionType
from typing import Any, get_origin, get_type_hints

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, atomic_text, sha256
from irtoolkit.base.jsons import load_json
from irtoolkit.indexes.bounds import DamagedIndexError

# Raised by hand when the files of an index mean something else.
FORMAT = 3
NAME = "manifest.json"
# The manifest of an index that is built in place of one that is there until it is complete.
REPLACEMENT = "replacement.json"
# The list of the files of a shard.
LISTING = "shard.json"


@dataclass(frozen=True)
class DocumentSource:
    """Documents that were put into an index.

    Attributes:
        name: where they come from: a dataset's id, a file.
        content: a hash that changes with the documents, or None where it is not known.
        documents: how many are in.
        complete: whether all are.
    """

    name: str
    content: str | None = None
    documents: int = 0
    complete: bool = False

    def is_same(self, other: DocumentSource) -> bool:
        """Whether these are known to be the same documents."""
        is_identified = self.content is not None
        return is_identified and (self.name, self.content) == (other.name, other.content)


@dataclass(frozen=True)
class ShardEntry:
    """A shard as the manifest lists it.

    Attributes:
        name: of its folder under shards/.
        documents: how many it holds.
        sha256: the hash of its list of files.
        deleted: the file under deleted/ that lists deleted documents, or None.
    """

    name: str
    documents: int
    sha256: str
    deleted: str | None = None


@dataclass(frozen=True)
class Manifest:
    """The manifest of an index: what it holds.

    Attributes:
        kind: of shards: "postings", "impacts", "vectors", "faiss" or "plaid".
        retriever: the name of the retriever that it was made for.
        parameters: all settings of that retriever, which searches take by default.
        given: those that are not its defaults. With other settings of a search, these stay.
        view: the fields of documents that are indexed.
        settings: what was done to the documents: tokenizer, model, lengths.
        sources: where the documents come from.
        shards: their shards, in order.
        retriever_format: the format number of that retriever; 0 for postings, which do not depend on
            it, and in indexes that were built before it was written.
    """

    kind: str
    retriever: str
    parameters: Mapping[str, Any]
    view: str
    settings: Mapping[str, Any]
    sources: tuple[DocumentSource, ...] = ()
    shards: tuple[ShardEntry, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    retriever_format: int = 0
    format: int = field(default_factory=lambda: FORMAT)

    @classmethod
    def read(cls, folder: Path, name: str = NAME) -> Manifest:
        """The manifest of an index.

        Raises:
            InputError: there is none.
            DamagedIndexError: it is damaged, or of another format.
        """
        path = folder / name
        if not path.is_file():
            raise InputError(
                f"{folder} is not an index", remedy="make one with irtoolkit index DATASET bm25"
            )
        try:
            return cls.parse(path.read_text("utf-8"), path)
        except (OSError, ValueError) as error:
            raise DamagedIndexError(f"damaged: {error}", file=path) from None

    @classmethod
    def parse(cls, text: str, path: StrPath) -> Manifest:
        """The manifest of a text, which is that of a file.

        Raises:
            DamagedIndexError: it is damaged, or of another format.
        """
        try:
            content = load_json(text)
            number = content["format"]
            if number == FORMAT:
                digest = content.pop("sha256", None)
                if digest not in (None, _digest(content)):
                    raise ValueError("its bytes are not what was written")
                shards = tuple(ShardEntry(**entry) for entry in content.pop("shards"))
                sources = tuple(DocumentSource(**entry) for entry in content.pop("sources"))
                manifest = cls(**content, shards=shards, sources=sources)
                records: list[DocumentSource | ShardEntry | Manifest] = [
                    manifest,
                    *shards,
                    *sources,
                ]
                for record in records:
                    _check_types(record)
                return manifest
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            message = " ".join(str(error).split())[:200]
            raise DamagedIndexError(f"damaged: {message}", file=path) from None
        quoted = repr(number)[:40]
        raise DamagedIndexError(
            f"format {quoted} is not {FORMAT}, which this version reads", file=path
        )

    def write(self, folder: Path, name: str = NAME) -> None:
        """Writes the manifest, whole or not at all."""
        content = json.loads(json.dumps(asdict(self)))
        content["sha256"] = _digest(content)
        with atomic_text(folder / name) as out:
            json.dump(content, out, indent=1)
            out.write("\n")

    def with_source(self, source: DocumentSource) -> Manifest:
        """The same with another last source."""
        return replace(self, sources=(*self.sources[:-1], source))

    @property
    def is_complete(self) -> bool:
        """Whether all documents of all sources are in."""
        return all(source.complete for source in self.sources)

    def settled(self) -> Manifest:
        """The same without the documents of a source of which only a part is in."""
        if self.is_complete:
            return self
        shards, remaining = list(self.shards), self.sources[-1].documents
        while remaining > 0:
            remaining -= shards.pop().documents
        return replace(self, sources=self.sources[:-1], shards=tuple(shards))


def _kinds(record: type) -> list[tuple[str, Any]]:
    """The fields of a dataclass, and the types that isinstance takes for theirs."""
    hints = get_type_hints(record)
    return [(n, h if isinstance(h, UnionType) else get_origin(h) or h) for n, h in hints.items()]


_FIELDS = {record: _kinds(record) for record in (DocumentSource, ShardEntry, Manifest)}


def _check_types(record: DocumentSource | ShardEntry | Manifest) -> None:
    """Raises TypeError for a field that holds something of another type."""
    for name, kind in _FIELDS[type(record)]:
        value = getattr(record, name)
        # Python takes true for a whole number.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise TypeError(f"{name} is {value!r}")


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def seal(folder: Path, documents: int) -> str:
    """Lists the files of a finished shard with their sizes and hashes; the hash of the list."""
    files = {
        path.name: {"bytes": path.stat().st_size, "sha256": sha256(path)}
        for path in sorted(folder.iterdir())
        if path.name != LISTING
    }
    with atomic_text(folder / LISTING) as out:
        json.dump({"documents": documents, "files": files}, out, indent=1)
    return sha256(folder / LISTING)


# Gives the SHA-256 of a file.
FileHash = Callable[[Path], str]


def check_shard(folder: Path, entry: ShardEntry, *, read: FileHash | None = None) -> None:
    """Raises InputError for a shard whose files are not those that were written.

    Args:
        folder: of the shard.
        entry: what the manifest says of it.
        read: `sha256`; or `content_hash`, which reads only files whose time stamps have changed. Without
            it no file is read, and only their sizes are looked at.

    Raises:
        DamagedIndexError: names the file.
    """
    listing = folder / LISTING
    if not listing.is_file() or sha256(listing) != entry.sha256:
        raise DamagedIndexError("missing or damaged", file=listing)
    for name, recorded in json.loads(listing.read_text("utf-8"))["files"].items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != recorded["bytes"]:
            raise DamagedIndexError("missing or truncated", file=path)
        if read is not None and read(path) != recorded["sha256"]:
            raise DamagedIndexError("damaged: its bytes are not what was written", file=path)
