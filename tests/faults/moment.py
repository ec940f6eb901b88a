"""What happens to a process at the n-th change that it makes; imported before anything else."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

VARIABLE = "IRTK_FAULT"
_SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "interrupt": signal.SIGINT}
_ERRORS = {"no-space": errno.ENOSPC, "read-only-disk": errno.EROFS, "io-error": errno.EIO}
# Audit events that change files, beside "open"; the first argument is the path.
_CHANGES = frozenset(
    [
        "os.rename",
        "os.remove",
        "os.rmdir",
        "os.mkdir",
        "os.truncate",
        "os.link",
        "os.symlink",
        "os.chmod",
    ]
)
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


@dataclass(frozen=True)
class Fault:
    """A fault and its moment.

    Attributes:
        kind: "count" (nothing happens), a signal, an error of the disk, "torn" or "memory".
        at: number of the change before which it happens, from 0; for "torn" and "file-size" the
            number of bytes that a file may have; None for never.
        under: changes below this folder count.
        reads: whether files that are opened to be read count too, wherever they are.
        log: file to which a line is added for each change.
        extra: MiB of memory beyond what the process has at that moment, for "memory".
        workers: whether it happens in a process that this one starts, and not in this one.
        mark: file that says that it has happened, and before which change; it does once, in one
            process.
    """

    kind: str
    at: int | None
    under: str
    reads: bool = False
    log: str = ""
    extra: int = 0
    workers: bool = False
    mark: str = ""

    def to_json(self) -> str:
        """The fault as a value of `VARIABLE`."""
        return json.dumps(asdict(self))


def arm_from_environment() -> None:
    """Arms this process, which was started as any program is."""
    fault = Fault(**json.loads(os.environ[VARIABLE]))
    is_worker = bool(os.environ.get(f"{VARIABLE}_STARTED"))
    os.environ[f"{VARIABLE}_STARTED"] = "1"
    if is_worker == fault.workers:
        arm(fault)


def arm(fault: Fault) -> None:
    """Lets a fault happen in this process."""
    if fault.kind in ("torn", "file-size"):
        assert fault.at is not None
        # The signal ends the process in the midst of a write; Python ignores it otherwise.
        how = signal.SIG_DFL if fault.kind == "torn" else signal.SIG_IGN
        signal.signal(signal.SIGXFSZ, how)
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault.at, fault.at))
        return
    seen = 0
    busy = False

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal seen, busy
        if busy or not _counts(fault, event, args):
            return
        busy = True
        try:
            _log(fault, event, args)
            seen += 1
            if fault.at is not None and seen == fault.at + 1 and _first(fault, event, args):
                happen(fault)
        finally:
            busy = False

    sys.addaudithook(hook)


def _counts(fault: Fault, event: str, args: tuple[Any, ...]) -> bool:
    if event == "open":
        path, _, flags = args
        if not isinstance(path, str | bytes | os.PathLike):
            return False  # a number of a file that is open
        if not (fault.reads or (isinstance(flags, int) and flags & _WRITES)):
            return False
    elif event in _CHANGES:
        path = args[0]
    else:
        return False
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    full = os.path.abspath(os.fsdecode(path))
    return fault.reads or full.startswith(fault.under)


def _log(fault: Fault, event: str, args: tuple[Any, ...]) -> None:
    if fault.log:
        with open(fault.log, "a") as out:
            print(os.getpid(), event, os.fsdecode(args[0]), file=out)


def _first(fault: Fault, event: str, args: tuple[Any, ...]) -> bool:
    """Whether it has not happened yet, in any process."""
    if not fault.mark:
        return True
    try:
        mark = os.open(fault.mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return False
    os.write(mark, os.fsencode(f"{event} {os.path.abspath(os.fsdecode(args[0]))}"))
    os.close(mark)
    return True


def happen(fault: Fault) -> None:
    """What a fault does; an OSError, where it is one of the disk."""
    if fault.kind in _SIGNALS:
        os.kill(os.getpid(), _SIGNALS[fault.kind])
    elif fault.kind in _ERRORS:
        number = _ERRORS[fault.kind]
        raise OSError(number, os.strerror(number))
    elif fault.kind == "memory":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + fault.extra * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
