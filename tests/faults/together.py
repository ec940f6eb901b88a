"""Many processes at once on the same files: each result is that of one alone.

python -m tests.faults.together        250 commands, some 5 minutes on two cores
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults import cases
from tests.faults.harness import contents, digest, zygote
from tests.faults.zygote import Zygote

# Processes at once: all start together, and each that ends makes room for the next.
AT_ONCE = 6
_INDEX = ("index", "docs.jsonl", "bm25")
_SEARCH = ("retrieve", "docs.jsonl", "bm25", "--topics", "topics.tsv", "-o")


@dataclass(frozen=True)
class Work:
    """What one process does.

    Attributes:
        out: the file or folder that it writes.
        commands: words after "irtoolkit", of one command after the other.
        version: see `Zygote.run`.
    """

    out: str
    commands: tuple[tuple[str, ...], ...]
    version: int = 0


@dataclass(frozen=True)
class Kind:
    """Commands that are run at once.

    Attributes:
        shared: what they share.
        work: what process number n does.
        files: what they read.
        env: environment variables; `{}` stands for the folder.
    """

    shared: str
    work: Callable[[int], Work]
    files: tuple[cases.Files, ...] = ()
    env: dict[str, str] = field(default_factory=dict)


def _cache(number: int) -> Work:
    out = f"run{number}.run"
    return Work(out, (("retrieve", "relic/val", "bm25", "-o", out),))


def _output(number: int) -> Work:
    return Work("one.run", (("retrieve", "csfcube/sample", "bm25", "-o", "one.run"),))


def _index(number: int) -> Work:
    """Half of them build it in a folder, half in the cache to search it."""
    if number % 2:
        return Work("idx", ((*_INDEX, "-o", "idx"),))
    out = f"found{number}.run"
    return Work(out, (_INDEX, (*_SEARCH, out)))


def _vectors(number: int) -> Work:
    out = f"dense{number}.run"
    return Work(out, (("retrieve", "csfcube/sample", "./tiny", "-o", out),))


def _versions(number: int) -> Work:
    """Each takes what the others keep for something else: releases, terms, indexes, vectors."""
    version, what = number % 3, number // 3 % 3
    out = f"version{version}{'abc'[what]}-{number}.run"
    commands = (
        (("retrieve", "relic/val", "bm25", "-o", out),),
        (_INDEX, (*_SEARCH, out)),
        (("retrieve", "csfcube/sample", "./tiny", "-o", out),),
    )[what]  # fmt: skip
    return Work(out, commands, version)


_DATA = {"IRTOOLKIT_DATA": "{}/data"}
KINDS: dict[str, Kind] = {
    "cache": Kind("one cache", _cache, (cases.release,), _DATA),
    "output": Kind("one output path", _output),
    "index": Kind("one index", _index, (cases.docs,)),
    "model": Kind("one model and its store of vectors", _vectors, (cases.model,)),
    "versions": Kind(
        "one cache of three versions", _versions, (cases.release, cases.docs, cases.model), _DATA
    ),
}


class Crew:
    """Processes that run commands at once.

    Args:
        place: an empty folder.
        count: how many at once.
    """

    def __init__(self, place: Path, count: int = AT_ONCE) -> None:
        self._place, self._stack = place, ExitStack()
        made = [self._stack.enter_context(zygote(place / "home")) for _ in range(count)]
        self.zygotes: Sequence[Zygote] = made

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def together(self, name: str, count: int) -> dict[str, Any]:
        """Runs the commands of a kind; how many left what one alone leaves."""
        kind, folder = KINDS[name], self._place / name
        alone, crowd = folder / "alone", folder / "crowd"
        for each in (alone, crowd):
            each.mkdir(parents=True)
            for write in kind.files:
                write(each)
        wanted: dict[str, Any] = {}
        for number in range(min(count, 9)):
            work = kind.work(number)
            if _like(work.out) not in wanted:
                loaded = folder / "loaded"
                problem = _done(self.zygotes[0], kind, work, alone, loaded)
                assert not problem, problem
                wanted[_like(work.out)] = _content(alone / work.out)
                for each in self.zygotes if len(wanted) == 1 or work.version == 0 else ():
                    each.warm(loaded)
        problems = self._crowd(kind, count, crowd, wanted)
        left = [p.name for p in crowd.rglob(".*") if p.name.endswith((".tmp", ".part"))]
        return {
            "kind": name, "shared": kind.shared, "processes": count, "at once": len(self.zygotes),
            "identical": count - len(problems), "problems": problems, "left": left,
        }  # fmt: skip

    def _crowd(self, kind: Kind, count: int, folder: Path, wanted: dict[str, Any]) -> list[str]:
        free = list(self.zygotes)

        def one(number: int) -> str:
            runs = free.pop()
            try:
                return _done(runs, kind, kind.work(number), folder)
            finally:
                free.append(runs)

        with ThreadPoolExecutor(len(self.zygotes)) as pool:
            said = list(pool.map(one, range(count)))
        problems = []
        for number, problem in enumerate(said):
            out = kind.work(number).out
            if problem:
                problems.append(f"{number}: {problem}")
            elif _content(folder / out) != wanted[_like(out)]:
                problems.append(f"{number}: other bytes in {out}")
        return problems


def _done(runs: Zygote, kind: Kind, work: Work, folder: Path, loaded: Path | None = None) -> str:
    """What went wrong where a process did its work, or nothing."""
    env = {key: value.format(folder) for key, value in kind.env.items()}
    env |= {"IRTOOLKIT_CACHE": str(folder / "cache"), "IR_DATASETS_HOME": str(folder / "home")}
    said = folder.parent / f"said-{id(runs)}"
    for argv in work.commands:
        status = runs.run(argv, folder, env, said=said, loaded=loaded, version=work.version)
        errors = Path(f"{said}.err").read_text("utf-8", "replace")
        if status or "Traceback" in errors:
            return f"status {status}: {errors.strip()[-300:]}"
    return ""


def _like(out: str) -> str:
    """A name of outputs that are alike: those of all processes, or of one version."""
    return re.sub(r"-?\d*\.run$", "", out)


def _content(path: Path) -> Any:
    """What is in a file, or in the files of a folder but its lock."""
    if path.is_dir():
        return {k: v for k, v in contents(path).items() if not k.endswith("lock")}
    return digest(path) if path.exists() else None


def main() -> int:
    """What this script does; 1 where anything was not as it should be."""
    from tests.faults.__main__ import keep

    parser = argparse.ArgumentParser(prog="python -m tests.faults.together", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--count", type=int, default=50, help="processes of each; default: 50")
    args = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="together-"))
    try:
        with Crew(place) as crew:
            made = []
            for name in args.kinds or KINDS:
                made.append(crew.together(name, args.count))
                print(made[-1], flush=True)
    finally:
        shutil.rmtree(place)
    if not args.kinds:
        keep("together", made)
    return int(any(row["problems"] for row in made))


if __name__ == "__main__":
    sys.exit(main())
