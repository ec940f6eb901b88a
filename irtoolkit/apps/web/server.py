"""A server that runs an application until it is stopped."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import secrets
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import dataclass
from errno import EADDRNOTAVAIL
from typing import Any
from urllib.parse import quote

from irtoolkit.apps.web.guard import Access
from irtoolkit.base.errors import InputError

LOCAL = ("127.0.0.1", "localhost", "::1")
# Seconds that answers under way may take once the server is to end, and after which it ends in any case.
_GRACE, _LAST = 5, 20


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
    import uvicorn

    config = uvicorn.Config(
        # Its own configuration of logging would close the handlers of all others.
        app,
        log_config=None,
        log_level=logging.WARNING,
        access_log=False,
        http=_patient(patience.head_seconds, patience.answer_seconds),
        ws="none",
        server_header=False,
        date_header=False,
        lifespan="off",
        timeout_keep_alive=5,
        timeout_graceful_shutdown=_GRACE,
        limit_concurrency=patience.connections,
        h11_max_incomplete_event_size=16 << 10,
    )

    class Server(uvicorn.Server):  # type: ignore[misc]
        should_exit: bool
        force_exit: bool

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            self.living = AsyncExitStack()
            await self.living.enter_async_context(living())
            await super().startup(sockets)
            keep_for_good()
            ready()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            last.start()
            ending()
            await super().shutdown(sockets)
            await self.living.aclose()

        def handle_exit(self, sig: int, frame: Any) -> None:
            # uvicorn's own ends the process by the signal once all is done; this one ends well.
            if self.should_exit and sig == signal.SIGINT:
                self.force_exit = True
            self.should_exit = True

    # Threads that work on a request cannot be stopped, and Python waits for them.
    last = threading.Timer(_LAST, os._exit, (0,))
    last.daemon = True
    try:
        asyncio.run(Server(config).serve([place]))
    finally:
        last.cancel()


def keep_for_good() -> None:
    """Leaves everything that is in memory now out of garbage collection.

    With a model, a full collection looks through half a million objects, and requests cause many.
    """
    gc.collect()
    gc.freeze()


def _patient(head: float, answer: float) -> Any:
    """Returns uvicorn's protocol, which closes connections with slow requests or slow readers.

    It answers anything but HTTP with 400 at once.
    """
    from uvicorn.protocols.http import h11_impl

    class Protocol(h11_impl.H11Protocol):  # type: ignore[misc]
        _unread: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            # `pause_writing` is called for all that cannot be sent at once.
            transport.set_write_buffer_limits(high=0)
            self._waiting = self.loop.call_later(head, self._give_up)

        def on_response_complete(self) -> None:
            self._waiting.cancel()
            self._waiting = self.loop.call_later(head, self._give_up)
            super().on_response_complete()

        def send_400_response(self, said: str) -> None:
            """Answers anything but HTTP, unless another response has begun or is complete."""
            cycle = self.cycle
            if cycle is not None and not cycle.response_complete:
                # The application would answer a connection that is closed.
                cycle.disconnected = True
                cycle.message_event.set()
                if cycle.response_started:
                    self.transport.close()
                    return
            elif self.conn.our_state is not h11_impl.h11.IDLE:
                self.transport.close()
                return
            super().send_400_response(said)

        def _give_up(self) -> None:
            idle = self.cycle is None or self.cycle.response_complete
            if idle and not self.transport.is_closing():
                self.transport.close()

        def pause_writing(self) -> None:
            # Closing would wait until the rest is read.
            self._unread = self.loop.call_later(answer, self.transport.abort)
            super().pause_writing()

        def resume_writing(self) -> None:
            self._read()
            super().resume_writing()

        def connection_lost(self, error: Exception | None) -> None:
            self._waiting.cancel()
            self._read()
            super().connection_lost(error)

        def _read(self) -> None:
            if self._unread is not None:
                self._unread.cancel()
                self._unread = None

    return Protocol
