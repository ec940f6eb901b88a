"""Connection to a Ray cluster, or to one started on this machine; failures are one clear line."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from irtoolkit.base.ending import Ended
from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.streams import unheard
from irtoolkit.engines.node import LATE, patient_start

# Seconds that a head may take to answer.
_PATIENCE = 10.0
# Ports that Ray takes by default: of a head, and of what serves ray:// addresses there.
_PORT, _CLIENT_PORT = 6379, 10001
# How a client of HTTP/2, on which Ray's gRPC runs, opens (RFC 9113, 3.4): a preface and empty settings.
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
# Exit status of commands on bad input.
_STATUS = 2
# Seconds between looks at the head; without an answer until the cluster is given up; and until the
# process ends, if it still waits for Ray then: Ray itself would end it, after a minute and without
# a word.
_LOOK, _LOST, _END = 5.0, 30.0, 50.0
# Ray says nothing that this package says in its own words: not that it retries a connection, nor
# that it leaves the GPUs of a task without one as they are.
_QUIET = {"RAY_BACKEND_LOG_LEVEL": "fatal", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
# How processes of a cluster know each other: by a token or not at all.
_AUTHENTICATION = "RAY_AUTH_MODE"


@dataclass
class Connection:
    """A connection to a cluster.

    Attributes:
        ray: the module.
        head: host and port of the head, if known.
        ours: whether `close` leaves the cluster, because it was joined here and not by the program,
            whose process no lost cluster ends.
        authentication: `$RAY_AUTH_MODE` as it was before.
        lost: whether the head has stopped answering.
    """

    ray: Any
    head: tuple[str, int] | None
    ours: bool
    authentication: str | None = None
    lost: bool = False
    _answered: float = field(default_factory=time.monotonic, repr=False)
    _left: threading.Event = field(default_factory=threading.Event, repr=False)

    def __post_init__(self) -> None:
        if self.head is not None:
            threading.Thread(target=self._watch, daemon=True).start()

    def check(self) -> None:
        """Looks whether the head has answered lately.

        Raises:
            InputError: it has not for a while.
        """
        if self._silence() > _LOST:
            self.lost = True
            raise self._gone()

    def close(self) -> None:
        """Leaves the cluster; a Ray that was started for this ends."""
        if self.ours:
            # With a lost cluster too: Python would crash at its end while Ray's threads run.
            self.ray.shutdown()
            _authenticate(self.authentication)
        self._left.set()

    def _silence(self) -> float:
        """Returns the seconds since the head has answered; 0 if it is not watched."""
        return time.monotonic() - self._answered if self.head is not None else 0.0

    def _watch(self) -> None:
        """Looks at the head every few seconds, in a thread: Ray's calls wait for a lost one."""
        assert self.head is not None
        while not self._left.wait(_LOOK):
            if _answers(*self.head, patience=_LOOK):
                self._answered = time.monotonic()
            elif self.ours and self._silence() > _END:
                print(f"irtoolkit: {self._gone()}", file=sys.stderr, flush=True)
                sys.stdout.flush()
                os._exit(_STATUS)  # the thread that waits for Ray hears nothing else

    def _gone(self) -> InputError:
        assert self.head is not None
        return InputError(
            f"the Ray cluster at {_shown(self.head)} was lost: its head no longer answers",
            remedy="when it is up again, rerun the same command: finished parts are kept",
        )


def connect(address: str | None, workers: int) -> Connection:
    """Joins the cluster at an address, or `$RAY_ADDRESS`, or starts a Ray here.

    A Ray that the program has already joined is used as it is.

    Args:
        address: host:port, ray://host:port, auto (a cluster that runs on this machine) or local.
        workers: CPUs of a Ray that is started here.

    Raises:
        InputError: Ray is not installed; no head answers; it has another version; or none starts.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise needs_extra("Ray", "ray") from None
    if ray.is_initialized():
        return Connection(ray, _head(ray), ours=False)
    target = _with_port(address or os.environ.get("RAY_ADDRESS") or "local")
    if target not in ("auto", "local"):
        _check_reachable(target)
    authentication = os.environ.get(_AUTHENTICATION)
    _authenticate(authentication)
    quiet: dict[str, Any] = {
        "log_to_driver": False,
        "logging_level": logging.ERROR,
        "include_dashboard": None,
    }
    if target == "local":
        quiet |= {"num_cpus": workers, "include_dashboard": False}
    try:
        with _unheard(), _own_signals(), patient_start():
            ray.init(address=target, **quiet)
    except BaseException as error:
        _authenticate(authentication)
        if not isinstance(error, Exception):
            raise
        raise _refused(target, error) from error
    head = None if target == "local" else _head(ray)
    return Connection(ray, head, ours=True, authentication=authentication)


def _authenticate(mode: str | None) -> None:
    """Makes this process authenticate in some mode: as `$RAY_AUTH_MODE` says, or Ray's default.

    Ray reads the variable once, when it is imported. A Ray that is started here sets it, and would
    leave it so: nodes of a cluster without tokens could not reach this process afterwards.
    """
    if mode is None:
        os.environ.pop(_AUTHENTICATION, None)
    else:
        os.environ[_AUTHENTICATION] = mode
    with suppress(ImportError, AttributeError):
        from ray import _raylet

        _raylet.Config.initialize("")  # type: ignore[attr-defined]
        # A token that was read once would be asked of other nodes in any mode.
        _raylet.AuthenticationTokenLoader.instance().reset_cache()  # type: ignore[attr-defined]


@contextmanager
def _unheard() -> Iterator[None]:
    """Hides from users what Ray prints when it starts: errors are raised in our words.

    Later it would print to standard output, among results, that workers have died, whose work is
    done again.
    """
    with suppress(ImportError, AttributeError):
        from ray._private import worker

        worker.listen_error_messages = lambda *arguments: None
    with unheard():
        yield


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keeps this process's own handling of signals that end it.

    Ray would exit with status 15 while it begins, and print a stack and abort later.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    except SystemExit as ended:
        if ended.code != signal.SIGTERM or not callable(handlers[signal.SIGTERM]):
            raise
        raise Ended(signal.SIGTERM) from None
    finally:
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, handler)


def _head(ray: Any) -> tuple[str, int] | None:
    host, _, port = str(ray.get_runtime_context().gcs_address).rpartition(":")
    return (host, int(port)) if host and port.isdecimal() else None


def _with_port(address: str) -> str:
    """Returns an address with a port, by default Ray's."""
    host = address.partition("://")[2] or address
    if address in ("auto", "local") or ":" in host:
        return address
    return f"{address}:{_CLIENT_PORT if address.startswith('ray://') else _PORT}"


def _check_reachable(address: str) -> None:
    """Raises InputError for an address without a Ray, for which Ray would wait a minute or more."""
    host, _, port = (address.partition("://")[2] or address).rpartition(":")
    if not port.isdecimal():
        raise InputError(f"--address {address} is not HOST:PORT", remedy="such as 10.0.0.1:6379")
    if not _answers(host, int(port)):
        raise InputError(
            f"no Ray cluster answers at {_shown((host, int(port)))}",
            remedy="ray start --head starts one; ray status tells whether it is up",
        )
    if not _speaks(host, int(port)):
        raise InputError(
            f"what answers at {_shown((host, int(port)))} is no Ray cluster",
            remedy="give the port of ray start --head, 6379 by default, or ray:// and 10001",
        )


def _answers(host: str, port: int, patience: float = _PATIENCE) -> bool:
    try:
        with socket.create_connection((host, port), timeout=patience):
            return True
    except OSError:
        return False


def _speaks(host: str, port: int) -> bool:
    """Returns whether a server speaks HTTP/2, as Ray does, by its greeting: a frame of type 4."""
    if os.environ.get("RAY_USE_TLS", "0") == "1":
        return True
    try:
        with socket.create_connection((host, port), timeout=_PATIENCE) as connected:
            connected.sendall(_HELLO)
            with connected.makefile("rb") as answer:
                return answer.read(4)[3:] == b"\x04"
    except OSError:
        return False


def _shown(head: tuple[str, int]) -> str:
    return f"{head[0]}:{head[1]}"


def _refused(address: str, error: Exception) -> InputError:
    reason = " ".join(str(error).split())
    if "Version mismatch" in reason:
        import ray

        theirs = reason.partition("The cluster was started with:")[2].partition("This process")[0]
        return InputError(
            f"the Ray cluster at {address} has another version ({theirs.strip()}) than this process"
            f" (Ray: {ray.__version__})",
            remedy="install the same Ray and Python on both",
        )
    if address == "auto":
        return InputError(
            "no Ray cluster runs on this machine",
            remedy="ray start --head starts one; --address HOST:PORT names another",
        )
    if LATE in reason:
        return InputError(
            "Ray did not start on this machine: its processes die, or take minutes",
            remedy="try again when the machine is less busy; --engine processes needs no Ray",
        )
    if "Failed to connect" in reason:
        return InputError(
            f"the Ray cluster at {address} answers, but this process cannot join it",
            remedy="are RAY_AUTH_MODE and the token in ~/.ray/auth_token the same on both?",
        )
    return InputError(f"Ray at {address}: {reason[:300]}", remedy="--debug shows more")
