"""A server that runs an application until it is stopped."""

from __future__ import annotations

import asyncio
import gc
import os
import secrets
import socket
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from errno import EADDRNOTAVAIL
from typing import Any
from urllib.parse import quote

from irtoolkit.apps.web.guard import Access
from irtoolkit.base.errors import InputError

LOCAL = ("127.0.0.1", "localhost", "::1")
# Seconds after which a server that is to end ends in any case.
_LAST = 20


def bound(host: str, port: int) -> socket.socket:
    """Returns a socket at an address.

    Raises:
        InputError: another program has it, or there is no such address.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With a protocol that is named, asyncio sends small packets at once (TCP_NODELAY); without, the
    # second answer over one connection waits for 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1024)
    except (OSError, OverflowError) as error:
        listener.close()
        unknown = isinstance(error, socket.gaierror) or getattr(error, "errno", 0) == EADDRNOTAVAIL
        raise InputError(
            f"cannot listen on {host}:{port}: {getattr(error, 'strerror', None) or error}",
            remedy="name an address of this machine with --host"
            if unknown
            else "name another port with --port, 0 for any that is free",
        ) from None
    return listener


def access_for(
    host: str, port: int, token: str | None, public: bool, *, trusts_machine: bool = False
) -> Access:
    """Returns the access rules of a server's address; a token is made if none is given.

    Host is checked where no token is required and the address is this machine's own.

    Args:
        host, port: the address.
        token: required in requests.
        public: whether everyone may make requests.
        trusts_machine: whether requests from this machine need no token, if the address is
            this machine's own.
    """
    local = Access.local(port)
    if public:
        return Access(public=True, hosts=local.hosts if host in LOCAL else frozenset())
    if token is None and host in LOCAL and trusts_machine:
        return local
    return Access(token=token or secrets.token_urlsafe(24))


def address(host: str, port: int, access: Access) -> str:
    """Returns the address for a browser, with the token in a part that is never sent."""
    name = "127.0.0.1" if host == "localhost" else host
    host_text = f"[{name}]" if ":" in name else name
    secret = "" if access.token is None else f"#token={quote(access.token, safe='')}"
    return f"http://{host_text}:{port}/{secret}"


@dataclass(frozen=True)
class Patience:
    """The timeouts and the connection limit of a server.

    Attributes:
        head_seconds: time in which the head of a request has to arrive.
        answer_seconds: time in which the rest of a response has to be read.
        connections: connections at once.
    """

    head_seconds: float = 10
    answer_seconds: float = 120
    connections: int = 1000


def run(
    app: Any,
    place: socket.socket,
    patience: Patience,
    ready: Callable[[], object],
    ending: Callable[[], object] = lambda: None,
    living: Callable[[], AbstractAsyncContextManager[object]] = nullcontext,
) -> None:
    """Serves until SIGTERM or Ctrl-C; responses in progress are finished, if they do not take long.

    Anything confirmed to a client is already on disk, so that the process may end at any moment.

    Args:
        app: the ASGI application, behind its guard.
        place: the socket.
        patience: the timeouts.
        ready: called when requests are answered.
        ending: called when the server begins to end, before it waits for responses in progress.
        living: entered before the server answers, left when it has ended. The application's own is not
            used: uvicorn would log its errors, and leave the process.
    """
    from irtoolkit.apps.web.uvicorn_server import Server, configuration

    # Threads that work on a request cannot be stopped, and Python waits for them.
    last = threading.Timer(_LAST, os._exit, (0,))
    last.daemon = True

    def began() -> None:
        keep_for_good()
        ready()

    def ends() -> None:
        last.start()
        ending()

    config = configuration(
        app, patience.head_seconds, patience.answer_seconds, patience.connections
    )
    server = Server(config, began, ends, living)
    try:
        asyncio.run(server.serve([place]))
    finally:
        last.cancel()


def keep_for_good() -> None:
    """Leaves everything that is in memory now out of garbage collection.

    With a model, a full collection looks through half a million objects, and requests cause many.
    """
    gc.collect()
    gc.freeze()
