"""Disturbs a command, runs it again, and compares what is there with what there should be."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path

from tests.faults.cases import CASES
from tests.faults.moment import Fault
from tests.faults.zygote import ROOT, Zygote

NOBODY = 65534
# Signals that a process cannot outlive; what it leaves then is nobody's to remove.
KILLS = {"kill": -signal.SIGKILL, "torn": -signal.SIGXFSZ}
# Not in the process but where it works.
_OF_THE_PLACE = ("read-only", "full-disk")
# A library, or the C library itself with 127, may abort where it gets no memory.
_ENDS = {"interrupt": {130}, "term": {143}, "memory": {2, -signal.SIGABRT, 127}}
# Seconds in which the processes of a command that has ended are to end.
_FOLLOW = 300.0
_COUNTED = {"kill", "interrupt", "term", "no-space", "io-error", "read-only-disk", "memory"}
# What of a record differs from run to run: times, speeds and memory.
_VARIES = re.compile(
    rb"(?m)^\s*(seconds|peak memory MiB): .*$|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"
    rb'|^ *"(seconds|[a-z ]*per second|[a-z ]*MiB)": .*$'
    rb"|[\d.]+ seconds, [\d.]+ rows per second, at most \d+ MiB"
)
_RECORDS = (".ir-metadata.yml", "training.json", "README.md", ".html")


@dataclass
class Found:
    """What one disturbance of a command has shown.

    Attributes:
        case: name of the command.
        kind: what was done to it.
        at: the moment; see `Fault.at`.
        status: exit status of the disturbed command.
        happened: whether the command came to that moment.
        problems: what was not as it should be.
        left: files that stay although nobody needs them.
        lock: the empty lock that stays because its very removal was disturbed, or nothing.
        running: numbers and names of processes that it had started and that were there after it.
    """

    case: str
    kind: str
    at: int
    status: int
    happened: bool = True
    problems: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    lock: str = ""
    running: dict[int, str] = field(default_factory=dict)


def contents(folder: Path) -> dict[str, str]:
    """Path to a hash of every file in a folder, without what varies from run to run."""
    found = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            found[str(path.relative_to(folder))] = digest(path)
    return found


def digest(path: Path) -> str:
    """Hash of a file without what varies from run to run."""
    data = path.read_bytes()
    return sha256(_VARIES.sub(b"", data) if path.name.endswith(_RECORDS) else data).hexdigest()


def processes_of(folder: Path) -> dict[int, str]:
    """Numbers and names of the processes that a command in a folder has started, by their cache."""
    own, found = os.fsencode(f"IRTOOLKIT_CACHE={folder}/cache"), {}
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is another user's
            if own in (place / "environ").read_bytes().split(b"\0"):
                found[int(place.name)] = (place / "comm").read_text().strip()
    return found


class Bench:
    """A case with its undisturbed result, ready to be disturbed.

    Args:
        name: of a case.
        place: an empty folder to work in.
    """

    def __init__(self, name: str, place: Path, zygote: Zygote) -> None:
        self.name, self.case, self._zygote = name, CASES[name], zygote
        self._start, self.folder = place / "start", place / "work"
        self._said = place / "said"
        self._said.mkdir()
        place.chmod(0o755)
        self.folder.mkdir()
        self._home = place / "home"
        for write in self.case.files:
            write(self.folder)
        for argv in self.case.before:
            assert self._run(argv) == 0, self.errors()
        shutil.copytree(self.folder, self._start, symlinks=True)
        loaded = place / "loaded"
        assert self._run(self.case.argv, loaded=loaded) == 0, self.errors()
        zygote.warm(loaded)
        self.fresh()
        self._log = place / "log"
        fault = Fault("count", None, f"{self.folder}/", reads=self.case.reads, log=str(self._log))
        self.before = self.files()
        assert self._run(self.case.argv, fault) == 0, self.errors()
        # How many changes the command makes.
        self.changes = len(self._log.read_text().splitlines()) if self._log.exists() else 0
        self.whole, self.printed = self.files(), self._output()
        self.largest = max((path.stat().st_size for path in self._new()), default=0)

    def _new(self) -> Iterator[Path]:
        for name, digest in self.whole.items():
            if self.before.get(name) != digest:
                yield self.folder / name

    def fresh(self) -> None:
        """Puts the folder back as it was before the command."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self._start, self.folder, symlinks=True)

    def _run(
        self, argv: tuple[str, ...], fault: Fault | None = None, user: int | None = None,
        loaded: Path | None = None,
    ) -> int:  # fmt: skip
        env = {
            name: value.format(self.folder, beside=self.folder.parent)
            for name, value in self.case.env.items()
        }
        env["IRTOOLKIT_CACHE"] = str(self.folder / "cache")
        env["IR_DATASETS_HOME"] = str(self._home)
        said = self._said / f"user{user}"
        if user is not None:
            self._said.chmod(0o777)
        status = self._zygote.run(
            argv, self.folder, env, fault, user=user, said=said, loaded=loaded
        )
        self._last = said
        return status

    def errors(self) -> str:
        """Standard error of the last command."""
        return Path(f"{self._last}.err").read_text("utf-8", "replace")

    def _output(self) -> bytes:
        return self._last.read_bytes()

    def files(self) -> dict[str, str]:
        """What `contents` says of the folder."""
        return contents(self.folder)

    def disturb(
        self, kind: str, at: int, *, user: int | None = None, extra: int = 0, workers: bool = False
    ) -> Found:  # fmt: skip
        """Runs the command with a fault, then again without, and compares."""
        mark = self._said / "mark"
        fault = Fault(
            kind, at, f"{self.folder}/", reads=self.case.reads, extra=extra, workers=workers,
            mark=str(mark),
        )  # fmt: skip
        mark.unlink(missing_ok=True)
        status = self._run(self.case.argv, None if kind in _OF_THE_PLACE else fault, user)
        name = f"{kind}-worker" if workers else kind
        happened = mark.exists() or kind not in _COUNTED
        found = Found(self.name, name, at, status, happened)
        self._judge_message(found)
        if self.case.workers:
            found.running = processes_of(self.folder)
        between = self.files()
        self._judge_between(found, between)
        if kind == "read-only":
            return found
        if kind == "full-disk":
            subprocess.run(["mount", "-o", "remount,size=64m", str(self.folder)], check=True)
        again = self._run(self.case.argv)
        after = self.files()
        if again and after != self.whole:
            found.problems.append(f"again: status {again}: {self.errors().strip()[-300:]}")
        elif not again and self.case.reads and self._output() != self.printed:
            found.problems.append("again: other output")
        for each, digest in self.whole.items():
            # Work that was done is not done again for the sake of the cache.
            if each not in after and each.startswith("cache/") and self.case.continues:
                continue
            if after.get(each) != digest:
                found.problems.append(f"again: {'other' if each in after else 'no'} {each}")
        # A file is hashed again, and the hash kept, once it is old enough for that.
        found.left = sorted(
            name for name in after.keys() - self.whole.keys() if not name.startswith("cache/hashes")
        )
        found.lock = next(filter(partial(self._disturbed_lock, mark), found.left), "")
        found.left = [name for name in found.left if name != found.lock]
        if found.left and kind not in KILLS:
            found.problems.append(f"left: {found.left[:3]}")
        return found

    def _disturbed_lock(self, mark: Path, name: str) -> bool:
        """Whether a file is an empty lock whose removal was the moment of the fault."""
        path = self.folder / name
        removal = f"os.remove {path}"
        is_it = name.endswith("lock") and mark.exists() and mark.read_text() == removal
        return is_it and not path.stat().st_size

    def follow(self, found: Found) -> None:
        """What a command had started, and what was there when it had ended, ends too."""
        until = time.monotonic() + _FOLLOW
        while alive := processes_of(self.folder).keys() & found.running.keys():
            if time.monotonic() > until:
                names = sorted(found.running[process] for process in alive)
                found.problems.append(f"still running: {names}")
                return
            time.sleep(0.1)

    def _judge_message(self, found: Found) -> None:
        """One line of the command itself says what was wrong, and no traceback."""
        kind, status, errors = found.kind, found.status, self.errors()
        said = [line for line in errors.splitlines() if line.startswith("irtoolkit: ")]
        if "Traceback" in errors:
            found.problems.append(f"traceback: {errors.strip()[-400:]}")
        if not status:
            return  # the moment did not come, or it did no harm
        allowed = {KILLS[kind]} if kind in KILLS else _ENDS.get(kind, {2})
        if kind == "torn" and self.case.workers:
            allowed.add(2)  # in a worker the write fails: Python ignores the signal where it begins
        if status not in allowed:
            found.problems.append(f"status {status}: {errors.strip()[-300:]}")
        elif status > 0 and len(said) != 1:
            found.problems.append(f"{len(said)} lines of its own: {errors.strip()[-300:]}")

    def _judge_between(self, found: Found, between: dict[str, str]) -> None:
        """No file is half-written, unless the same command continues it."""
        for name, digest in between.items():
            if name.startswith(("cache/", *(f"{c}/" for c in self.case.continues))):
                continue
            if name in self.case.continues or Path(name).name.startswith("."):
                continue
            if digest not in (self.before.get(name), self.whole.get(name)):
                found.problems.append(f"half-written: {name}")
        if not found.status and any(
            between.get(name) != digest and not name.startswith("cache/")
            for name, digest in self.whole.items()
        ):
            found.problems.append("status 0 without the whole result")


def zygote(home: Path) -> Zygote:
    """A process that runs the commands of a case; ir_datasets' folder is `home`."""
    plugin = ROOT / "tests" / "faults" / "plugin"
    env = {
        **os.environ, "PYTHONPATH": f"{plugin}{os.pathsep}{ROOT}", "IR_DATASETS_HOME": str(home),
        "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false",
        "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "100",
    }  # fmt: skip
    return Zygote(env)
