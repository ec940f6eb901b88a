"""A process that has imported what commands need, and forks itself for each command.

A command then takes a part of a second, and its audit hooks are in it alone. Run as a script: the
numbers of two pipes. Orders are lines of JSON; each answer is the exit status, negative for a signal.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.faults.moment import Fault, arm

# Seconds in which any command ends, and the status of one that did not.
PATIENCE, HUNG = 300.0, -1000
ROOT = Path(__file__).resolve().parents[2]
# Modules whose format numbers say what is in the cache and in an index.
FORMATS = (
    "irtoolkit.base.analysis", "irtoolkit.datasets.cache", "irtoolkit.indexes.manifest",
    "irtoolkit.models.keytable", "irtoolkit.runs.order",
)  # fmt: skip


class Zygote:
    """Runs commands of irtoolkit, each in a fork of one process.

    Args:
        env: environment variables of all commands.
    """

    def __init__(self, env: dict[str, str]) -> None:
        self._orders, orders = os.pipe()[::-1]
        answers, self._answers_end = os.pipe()
        words = [sys.executable, "-m", "tests.faults.zygote"]
        self._process = subprocess.Popen(
            [*words, str(orders), str(self._answers_end)], cwd=ROOT, env=env,
            pass_fds=(orders, self._answers_end), stdin=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(orders)
        os.close(self._answers_end)
        self._answers = open(answers)  # noqa: SIM115

    def run(
        self, argv: Sequence[str], folder: Path, env: dict[str, str], fault: Fault | None = None,
        *, user: int | None = None, said: Path, loaded: Path | None = None, version: int = 0,
    ) -> int:  # fmt: skip
        """Exit status of a command, negative for the signal that ended it.

        Args:
            argv: its words after "irtoolkit".
            folder: where it is run.
            env: environment variables beyond those of all.
            fault: what happens to it.
            user: number of the user that it becomes.
            said: its standard output is written here, and its errors beside, to `.err`.
            loaded: the names of the modules that it has loaded are written here.
            version: what is added to the format numbers, as a later version has them.
        """
        order = {
            "argv": list(argv), "folder": str(folder), "env": env, "user": user, "said": str(said),
            "fault": None if fault is None else asdict(fault),
            "loaded": None if loaded is None else str(loaded), "version": version,
        }  # fmt: skip
        os.write(self._orders, (json.dumps(order) + "\n").encode())
        answer = self._answers.readline()
        assert answer, "the process that runs commands has died"
        return int(answer)

    def warm(self, loaded: Path) -> None:
        """Imports the modules that a command has loaded, for those that come."""
        os.write(
            self._orders, (json.dumps({"modules": loaded.read_text().split()}) + "\n").encode()
        )
        assert self._answers.readline()

    def close(self) -> None:
        """Ends the process."""
        os.close(self._orders)
        self._process.wait()
        self._answers.close()

    def __enter__(self) -> Zygote:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()


def serve(orders: int, answers: int) -> dict[str, Any] | None:
    """Forks for each order; the order in a fork, None at the end."""
    rest = b""
    while True:
        while b"\n" not in rest:
            select.select([orders], [], [])
            piece = os.read(orders, 1 << 16)
            if not piece:
                return None
            rest += piece
        line, _, rest = rest.partition(b"\n")
        order: dict[str, Any] = json.loads(line)
        if "modules" in order:
            # Ray has threads as soon as it is imported, which forks would lack.
            for name in (n for n in order["modules"] if n.partition(".")[0] not in ("ray", "grpc")):
                with suppress(Exception):
                    importlib.import_module(name)
            gc.freeze()
            os.write(answers, b"0\n")
            continue
        child = os.fork()
        if not child:
            os.close(orders)
            os.close(answers)
            return order
        with suppress(BrokenPipeError):  # at the next turn there are no orders either
            os.write(answers, f"{_ended(child)}\n".encode())


def _ended(child: int) -> int:
    """The exit status of a process that ends; one that does not is ended."""
    begun, pause = time.monotonic(), 0.001
    while time.monotonic() - begun < PATIENCE:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return HUNG


def become(order: dict[str, Any]) -> int:
    """Makes this process the command of an order, and runs it."""
    for name, number in (("", 1), (".err", 2)):
        opened = os.open(order["said"] + name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(order["folder"])
    os.environ.update(order["env"])
    sys.argv = ["irtoolkit", *order["argv"]]
    if order["user"] is not None:
        os.setgroups([])
        os.setgid(order["user"])
        os.setuid(order["user"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    from irtoolkit.__main__ import run

    if "FAULTS_STOP" in order["env"]:
        _stop_when_ready(order)
    # However slow the machine is, files of the folder are too young for their hashes to be kept.
    importlib.import_module("irtoolkit.base.stamps")._SETTLED_SECONDS = 3600.0
    for name in FORMATS if order["version"] else ():
        importlib.import_module(name).FORMAT += order["version"]
    if order["fault"] is not None:
        fault = Fault(**order["fault"])
        if fault.workers:
            os.environ.update({"IRTK_FAULT": fault.to_json(), "IRTK_FAULT_STARTED": "1"})
        else:
            arm(fault)
    try:
        return run()
    finally:
        _tell_loaded(order)


def _tell_loaded(order: dict[str, Any]) -> None:
    if order["loaded"]:
        Path(order["loaded"]).write_text("\n".join(list(sys.modules)))


def _stop_when_ready(order: dict[str, Any]) -> None:
    """Lets a server of this process be sent SIGTERM once it answers, which ends it at once."""
    import uvicorn

    startup = uvicorn.Server.startup

    async def started(self: Any, sockets: Any = None) -> None:
        await startup(self, sockets)
        _tell_loaded(order)
        os.kill(os.getpid(), signal.SIGTERM)

    uvicorn.Server.startup = started


def main() -> int:
    """What this script does, in the first process and in its forks."""
    orders, answers = sys.argv[1:]
    order = serve(int(orders), int(answers))
    return 0 if order is None else become(order)


if __name__ == "__main__":
    sys.exit(main())
