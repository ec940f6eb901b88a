"""Judged collections on which nothing was chosen, and their registration as datasets."""

from __future__ import annotations

import json
import os
import re
import tarfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text, read_lines, sha256
from irtoolkit.base.home import cache_home
from irtoolkit.datasets.downloads import download_files
from irtoolkit.datasets.local.registering import register_collection
from irtoolkit.datasets.source import DATA_VARIABLE

PREFIX = "outside/"
# A line of CACM's citations: the numbers of two documents, and between them the kind of citation.
_CITATION = re.compile(r"\d+\t\d+\t\d+")
_TOPIC = re.compile(r"<DOC>\s*<DOCNO>\s*(\S+)\s*</DOCNO>(.*?)</DOC>", re.DOTALL)


@dataclass(frozen=True)
class File:
    """A file of a public repository: its path there, and the SHA-256 that it has to have."""

    path: str
    sha256: str


@dataclass(frozen=True)
class Collection:
    """Documents, topics and judgments that a public repository holds.

    Attributes:
        repository: owner/name on GitHub.
        commit: the full commit id.
        files: what a file is called here, and what it is there.
        roles: the files of docs, topics and qrels.
        read: makes the files of `roles` from a folder of `files`, where they are others.
    """

    repository: str
    commit: str
    files: Mapping[str, File]
    roles: Mapping[str, str]
    read: Callable[[Path, Path], None] | None = None

    def folder(self, name: str) -> Path:
        """The folder of the files: $IRTOOLKIT_DATA/NAME, else one of the cache, once they are there.

        Raises:
            InputError: a file cannot be downloaded, or is not what it has to be.
        """
        given = Path(os.environ.get(DATA_VARIABLE, "")) / name
        kept = cache_home() / "quality" / "collections" / f"{name}-{self.commit[:12]}"
        folder = given if all((given / file).is_file() for file in self.files) else kept
        if folder is kept:
            address = f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/"
            files = {name: (address + file.path, file.sha256) for name, file in self.files.items()}
            try:
                download_files(files, kept)
            except OSError as error:
                paths = ", ".join(f"{file.path} as {name}" for name, file in self.files.items())
                raise InputError(
                    f"{self.repository} at {self.commit} cannot be downloaded: {error}",
                    file=kept,
                    remedy=f"put these files of it there: {paths}",
                ) from None
        for name, file in self.files.items():
            if (found := sha256(folder / name)) != file.sha256:
                raise InputError(
                    f"the SHA-256 is {found} instead of {file.sha256}",
                    file=folder / name,
                    remedy="delete it, and run this again",
                )
        return folder


def register(name: str) -> str:
    """Registers a collection, once its files are found or downloaded and checked; gives its id.

    Raises:
        InputError: there is no such collection, or its files are missing or others.
    """
    if name not in COLLECTIONS:
        raise InputError(f"no collection {name}: there are {', '.join(COLLECTIONS)}")
    collection = COLLECTIONS[name]
    folder = collection.folder(name)
    if collection.read is not None:
        made = cache_home() / "quality" / "collections" / name
        made.mkdir(parents=True, exist_ok=True)
        collection.read(folder, made)
        folder = made
    roles = {role: [file] for role, file in collection.roles.items()}
    register_collection(PREFIX + name, folder, roles, lang="en", replace=True)  # type: ignore[arg-type]
    return PREFIX + name


def read_cacm(folder: Path, made: Path) -> None:
    """CACM as JSON lines: of a document all but its citations, of a topic all.

    Some judgments lack the zeros of a document's number, CACM-0756 for example.
    """
    with tarfile.open(folder / "cacm.tar.gz") as packed:
        docs = sorted(
            (Path(member.name).stem, _record(data.read()))
            for member in packed
            if (data := packed.extractfile(member)) is not None
        )
    _write(made / "docs.jsonl", docs)
    topics = "\n".join(line for _, line in read_lines(folder / "topics.cacm.txt"))
    _write(made / "topics.jsonl", ((name, _plain(text)) for name, text in _TOPIC.findall(topics)))
    with atomic_text(made / "qrels") as file:
        for _, line in read_lines(folder / "qrels.cacm.txt"):
            file.write(re.sub(r"CACM-(\d+)", lambda found: f"CACM-{found[1]:0>4}", line) + "\n")


def _record(data: bytes) -> str:
    """The text of a document's page, without the lines of citations that end it."""
    inside = data.decode("ascii", "replace").partition("<pre>")[2].partition("</pre>")[0]
    lines = (line for line in inside.splitlines() if not _CITATION.fullmatch(line.strip()))
    return _plain("\n".join(lines))


def _plain(text: str) -> str:
    """A text in one line, without control characters."""
    return " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", text).split())


def _write(path: Path, rows: Iterable[tuple[str, str]]) -> None:
    with atomic_text(path) as file:
        for name, text in rows:
            json.dump({"id": name, "text": text}, file)
            file.write("\n")


COLLECTIONS = {
    "vaswani": Collection(
        "terrier-org/pyterrier",
        "9230fe5dc85358027ecda53d330a542e41a270cd",
        {
            "doc-text.trec": File(
                "tests/fixtures/vaswani_npl/corpus/doc-text.trec",
                "117ae7491647cb9725621bad52969a78307de19b1757852a0a2383659a856d36",
            ),
            "query-text.trec": File(
                "tests/fixtures/vaswani_npl/query-text.trec",
                "fef998db14818f74a22b2fb2be06425d5fb0dbd83ed9841fa0440e0a5477da7b",
            ),
            "qrels": File(
                "tests/fixtures/vaswani_npl/qrels",
                "1b3ed6a43752c7a7becb0dbd1614d662791bb7825b60182fd36be24d480ea447",
            ),
        },
        {"docs": "doc-text.trec", "topics": "query-text.trec", "qrels": "qrels"},
    ),
    "cacm": Collection(
        "castorini/anserini-data",
        "1f371c251e3dce2036bf88b1f30e6fbf00ab9381",
        {
            "cacm.tar.gz": File(
                "CACM/corpus/raw/cacm.tar.gz",
                "4e318d8920a384dfe11f81410abdc19d96a0e23e5fb7832c385be75c7cb75bf9",
            ),
            "topics.cacm.txt": File(
                "CACM/topics.cacm.txt",
                "1dc7b94fbf4adeb0c49be44fc6d7802ddc7bc4ad1b869013af10d09b44019799",
            ),
            "qrels.cacm.txt": File(
                "CACM/qrels.cacm.txt",
                "359f77ee6aab89333745a7f25f56370268a493abe1baff76979ad37a4d5428ef",
            ),
        },
        {"docs": "docs.jsonl", "topics": "topics.jsonl", "qrels": "qrels"},
        read_cacm,
    ),
}
