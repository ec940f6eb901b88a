"""The moments at which a case is disturbed, for each kind of disturbance."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.faults.harness import NOBODY, Bench, Found

# MiB of memory beyond what the process has when it makes its first change.
_EXTRA = (1, 8, 24, 64, 160)
# Sizes of the largest file that can be written, in parts of the largest one of the result.
_PARTS = (0.02, 0.3, 0.97)


def spread(count: int, most: int) -> list[int]:
    """Numbers below `count`, at most so many; of several, the first and the last are among them."""
    if count <= most:
        return list(range(count))
    if most == 1:
        return [count // 2]
    return sorted({round(i * (count - 1) / (most - 1)) for i in range(most)})


def disturbances(bench: Bench, kinds: set[str]) -> Iterator[Found]:
    """Disturbs a case in every way, or in some."""
    case, most = bench.case, bench.case.moments

    def wanted(*names: str) -> bool:
        return not kinds or bool(kinds & set(names))

    shares = case.shares or {
        "kill": most, "interrupt": most, "term": most // 2, "no-space": most,
        "io-error": most // 2, "read-only-disk": most // 2,
    }  # fmt: skip
    for kind, share in shares.items():
        if wanted(kind) and not (case.reads and kind not in ("kill", "interrupt", "term")):
            for at in spread(bench.changes, share):
                bench.fresh()
                yield bench.disturb(kind, at)
    if case.workers and wanted("worker", "kill"):
        for at in spread(max(2, bench.changes // 2), case.shares.get("kill", most)):
            bench.fresh()
            yield bench.disturb("kill", at, workers=True)
    if not case.shares:
        yield from _in_the_way(bench, wanted)


def _in_the_way(bench: Bench, wanted: Callable[..., bool]) -> Iterator[Found]:
    """Little memory, small files, and what an administrator can do."""
    case, most = bench.case, bench.case.moments
    if wanted("memory"):
        for extra in _EXTRA[: max(2, most // 2)]:
            bench.fresh()
            yield bench.disturb("memory", 0, extra=extra)
    if case.reads:
        return
    for kind in ("torn", "file-size"):
        if wanted(kind) and bench.largest:  # else its only file would be that of its errors
            for part in _PARTS:
                bench.fresh()
                yield bench.disturb(kind, int(bench.largest * part))
    if os.getuid() == 0:
        yield from _as_administrator(bench, wanted)


def _as_administrator(bench: Bench, wanted: Callable[..., bool]) -> Iterator[Found]:
    """What only root can do: a small disk, and a user who may not write."""
    if wanted("full-disk"):
        for room in (4, 32, 128):
            with small_disk(bench, room) as mounted:
                if mounted:
                    yield bench.disturb("full-disk", room)
    if wanted("read-only"):
        bench.fresh()
        yield bench.disturb("read-only", 0, user=NOBODY)


@contextmanager
def small_disk(bench: Bench, room: int) -> Iterator[bool]:
    """The folder of a case on a disk with so many KiB left; False where none can be mounted."""
    import shutil

    bench.fresh()
    shutil.rmtree(bench.folder)
    bench.folder.mkdir()
    start = bench.folder.with_name("start")
    pages = sum((p.stat().st_size // 4096 + 1) * 4 for p in start.rglob("*") if p.is_file())
    options = f"size={pages + room + 8}k,mode=755"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "faults", str(bench.folder)],
        capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode:
        yield False
        return
    try:
        shutil.copytree(start, bench.folder, symlinks=True, dirs_exist_ok=True)
        yield True
    finally:
        subprocess.run(["umount", "-l", str(bench.folder)], check=True)
