"""Tries inputs on one target, in a process of its own: `python -m tests.fuzz.one TARGET ...`.

atheris, where it is installed, changes what reached new lines of the package again; without it, seeds
are changed at random. Either way the numbers are in a JSON file that is always complete.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import logging
import mmap
import os
import signal
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# Seconds after which an input hangs.
SLOWEST = 20
# Seconds between two writings of the numbers.
_OFTEN = 5.0


class Counter:
    """Counts what becomes of inputs.

    Args:
        name: of the target.
        out: the file of the numbers.
        seconds, runs: how long, and how many inputs at most.
        seed: of the inputs, for messages and for the mutator.
    """

    def __init__(self, name: str, out: Path, seconds: float, runs: int, seed: int) -> None:
        from tests.fuzz.mutate import Mutator
        from tests.fuzz.target import FailureError, attempt, keep
        from tests.fuzz.targets import TARGETS

        self.target = TARGETS[name]
        self.mutator = Mutator(self.target, seed)
        self._attempt, self._keep, self._failed = attempt, keep, FailureError
        self._out, self._seconds, self._runs, self._seed = out, seconds, runs, seed
        self._began = self._written = time.monotonic()
        self._refused = self._accepted = 0
        self._failures: dict[str, Any] = {}
        # What is tried now, where it can be read when this process is gone.
        out.with_suffix(".input").write_bytes(b"\0" * (1 << 20))
        with open(out.with_suffix(".input"), "r+b") as file:
            self._now = mmap.mmap(file.fileno(), 0)

    def input(self, data: bytes) -> None:
        """Tries one input; ends the process when there have been enough."""
        self._now[:4] = len(data).to_bytes(4, "little")
        self._now[4 : 4 + len(data)] = data
        signal.setitimer(signal.ITIMER_REAL, SLOWEST)
        try:
            if self._attempt(self.target, data):
                self._accepted += 1
            else:
                self._refused += 1
        except self._failed as error:
            self._failure(error.key, str(error), data)
        signal.setitimer(signal.ITIMER_REAL, 0)
        now = time.monotonic()
        if self.done(now) or now - self._written > _OFTEN:
            self.write(now)

    def done(self, now: float | None = None) -> bool:
        """Whether the time is over, or there have been so many."""
        over = (now or time.monotonic()) - self._began >= self._seconds
        return over or self._tried >= self._runs

    @property
    def _tried(self) -> int:
        return self._refused + self._accepted + sum(one["count"] for one in self._failures.values())

    def _failure(self, key: str, said: str, data: bytes) -> None:
        known = self._failures.setdefault(key, {"count": 0, "said": said, "bytes": 1 << 30})
        known["count"] += 1
        if len(data) < known["bytes"] // 2:  # a much shorter one is worth keeping
            if "file" in known:
                Path(known["file"]).unlink(missing_ok=True)
            known |= {"file": str(self._keep(self.target, data)), "bytes": len(data), "said": said}

    def write(self, now: float) -> None:
        """Writes the numbers."""
        import resource

        self._written = now
        content = {
            "target": self.target.name, "seed": self._seed, "executions": self._tried,
            "seconds": round(now - self._began, 1), "refused": self._refused, "accepted": self._accepted,
            "failures": self._failures,
            "peak memory MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
        }  # fmt: skip
        half = self._out.with_suffix(".half")
        half.write_text(json.dumps(content), "utf-8")
        half.replace(self._out)


class _HangError(Exception):
    """An input takes longer than it may."""


def _hang(*_: Any) -> None:
    raise _HangError(f"no answer within {SLOWEST} seconds")


def _by_seeds(counter: Counter) -> None:
    for seed in counter.target.seeds:
        counter.input(seed)
    while not counter.done():
        counter.input(counter.mutator.made())


def _by_coverage(name: str, out: Path, seconds: float, runs: int, seed: int) -> None:
    """Fuzzes with atheris, which never returns."""
    import atheris

    with atheris.instrument_imports(include=["irtoolkit"]):
        counter = Counter(name, out, seconds, runs, seed)
    corpus = out.with_suffix(".corpus")
    corpus.mkdir(exist_ok=True)
    for number, data in enumerate(counter.target.seeds):
        (corpus / f"seed-{number}").write_bytes(data)

    def one(data: bytes) -> None:
        counter.input(data)
        if counter.done():
            sys.stderr.flush()
            os._exit(0)

    def mutated(data: bytes, most: int, seed: int) -> bytes:
        # Blind changes now and then: they reach what no structure knows of.
        if seed % 4 == 0 or not data:
            return bytes(atheris.Mutate(data, most))
        counter.mutator.reseed(seed)
        for _ in range(1 + seed % 3):
            data = counter.mutator.changed(data)
        return data[:most]

    # Signals are ours: a hang is counted, and the next input tried.
    flags = ["-timeout=60", "-max_len=4096", "-rss_limit_mb=4000", "-len_control=0"]
    atheris.Setup([name, *flags, f"-seed={seed}", str(corpus)], one, custom_mutator=mutated)
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--runs", type=int, default=10**6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="without atheris")
    given = parser.parse_args()
    faulthandler.enable()
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGALRM, _hang)
    what = (given.target, given.out, given.seconds, given.runs, given.seed)
    if given.plain or find_spec("atheris") is None:
        _by_seeds(Counter(*what))
    else:
        _by_coverage(*what)


if __name__ == "__main__":
    main()
