"""Kills processes that write an index, each before its n-th change of the folder.

Run as a script: the folder to work in, a seed, and kinds of work with how often each is killed, such as
add:3. Each attempt is a fork of this process, which has compiled everything already where the first kind
of work needs something beforehand. Prints what went wrong, one a line.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import irtoolkit as ir
from irtoolkit.ranking import build_index
from irtoolkit.retrievers import index_sources, sparse
from irtoolkit.retrievers.stored_index import StoredIndex

# Shards of one small block each.
MEMORY = 1
WORDS = ["whale", "ship", "sea", "captain", "letter", "storm", "harbour", "lamp", "coat", "sister"]
_CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree"}


def texts(first: int, count: int) -> dict[str, str]:
    """Documents made of a few words, the same for the same numbers."""
    return {
        f"d{number}": " ".join(
            random.Random(number).choices(WORDS, weights=range(1, 11), k=number % 9)
        )
        for number in range(first, first + count)
    }


class Words:
    """A sparse model that weighs each word by how often it occurs."""

    similarity_of_model = "dot"

    def text(self, segments: Any) -> str:
        return " ".join(segments)

    def encode(self, items: Any, **_: Any) -> Any:
        rows = [sorted(Counter(map(WORDS.index, text.split())).items()) for text in items]
        starts = np.cumsum([0, *map(len, rows)])
        columns = [
            np.array([row[at] for own in rows for row in own], kind)
            for at, kind in enumerate((np.int32, np.float32))
        ]
        return SimpleNamespace(ragged=lambda at: (columns[at], starts))


def build(folder: Path, system: str = "bm25") -> None:
    from irtoolkit.ranking.systems import find_system

    data = ir.load(texts(0, 2000), name="first")
    build_index.build(
        data, find_system(system, {}, data.parts), folder, memory=MEMORY, progress=False
    )


def weigh(folder: Path) -> None:
    build(folder, "sparse")


def add(folder: Path) -> None:
    data = ir.load(texts(5000, 1500), name="second")
    if "second" not in {source.name for source in StoredIndex(folder).manifest.sources}:
        StoredIndex(folder).add(data, memory=MEMORY, progress=False)


def delete(folder: Path) -> None:
    StoredIndex(folder).delete([f"d{number}" for number in range(0, 2000, 7)])


def merge(folder: Path) -> None:
    StoredIndex(folder).merge()


def replace(folder: Path) -> None:
    ir.index(ir.load(texts(300, 900), name="third"), "bm25", folder, replace=True, progress=False)


def nothing(folder: Path) -> None:
    pass


# What is done before the work that is interrupted.
WORK: dict[str, tuple[list[Callable[[Path], None]], Callable[[Path], None]]] = {
    "build": ([], build),
    "add": ([build], add),
    "delete": ([build], delete),
    "merge": ([build, add, delete], merge),
    "replace": ([build, delete], replace),
    "merge-weights": ([weigh, add, delete], merge),
}


def begun(place: Path, steps: list[Callable[[Path], None]]) -> Path:
    """A folder with what some steps leave, which are done once."""
    folder = place / "-".join(["start", *(step.__name__ for step in steps)])
    if not steps:
        folder.mkdir(exist_ok=True)
    elif not folder.exists():
        shutil.copytree(begun(place, steps[:-1]), folder)
        steps[-1](folder)
    return folder


def main(place: Path, name: str, times: int, seed: int) -> None:
    before, work = WORK[name]
    start, whole = begun(place, before), place / f"{name}-whole"
    shutil.copytree(start, whole)
    changes = int(in_fork(lambda: counted(work, whole)))
    wanted = content(whole)
    print(f"{name}: {changes} changes", file=sys.stderr)
    draw = random.Random(seed)
    for number in sorted(draw.sample(range(changes), min(times, changes))):
        folder = place / f"{name}-killed-{number}"
        shutil.copytree(start, folder)
        in_fork(lambda folder=folder, number=number: counted(work, folder, number))
        if before:
            in_fork(lambda folder=folder: searched(folder))
        # Killed once more while it continues.
        in_fork(lambda folder=folder, number=number: counted(work, folder, number // 3))
        problem = in_fork(lambda folder=folder: work(folder))
        if problem:
            print(f"{name} killed at {number}: {problem}")
        elif content(folder) != wanted:
            names = set(content(folder).items()) ^ set(wanted.items())
            print(f"{name} killed at {number}: other files: {sorted(n for n, _ in names)}")
        shutil.rmtree(folder)


def searched(folder: Path) -> None:
    """An index whose work was interrupted answers, as it was or as it will be."""
    found = ir.open_index(folder)
    assert len(found) in (2000, 3500, 1714, 3214, 900), len(found)
    assert len(found.search("captain of the whale ship")) == 10


def counted(work: Callable[[Path], None], folder: Path, last: int | None = None) -> str:
    """Does some work; the number of changes of the folder, or death before the last of them."""
    seen = 0

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal seen
        if event == "open":
            path, _, flags = args
            if not isinstance(path, str) or not flags & (os.O_WRONLY | os.O_RDWR):
                return
        elif event not in _CHANGES:
            return
        else:
            path = args[0]
        if not str(path).startswith(str(folder)) or str(path).endswith("lock"):
            return
        if seen == last:
            os.kill(os.getpid(), signal.SIGKILL)
        seen += 1

    sys.addaudithook(hook)
    work(folder)
    return str(seen)


def in_fork(work: Callable[[], Any]) -> str:
    """What some work returns in a fork of this process; an error's text if it raises."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            said = work() or ""
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return str(said)


def content(folder: Path) -> dict[str, str]:
    """Path to the hash of every file but the lock."""
    return {
        str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


if __name__ == "__main__":
    index_sources._READ_DOCS, index_sources.BLOCK_DOCS = 64, 512
    # No model is loaded in hundreds of processes.
    learned: Any = sparse
    learned.encoder_of = lambda *_: Words()
    learned.Sparse.missing = lambda self: None
    learned.Sparse.index_settings = lambda self: {}
    for given in sys.argv[3:]:
        kind, _, often = given.partition(":")
        main(Path(sys.argv[1]), kind, int(often), int(sys.argv[2]))
