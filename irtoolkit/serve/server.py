"""Running the application until somebody ends it."""

from __future__ import annotations

import asyncio
import logging
import secrets
import signal
import socket
from collections.abc import Callable
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.serve.app import application
from irtoolkit.serve.guard import Access
from irtoolkit.serve.library import Library

LOCAL = ("127.0.0.1", "localhost", "::1")
# Seconds that answers under way may take once the server is to end.
_GRACE = 5


def bound(host: str, port: int) -> socket.socket:
    """A socket at an address.

    Raises:
        InputError: another program has it, or there is no such address.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(1024)
    except OSError as error:
        made.close()
        raise InputError(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            remedy="name another port with --port, 0 for any that is free",
        ) from None
    return made


def access_for(host: str, port: int, token: str | None, public: bool) -> Access:
    """Who may ask a server at an address; elsewhere than on this machine a token is made."""
    if public:
        return Access(public=True)
    if token is None and host in LOCAL:
        return Access.local(port)
    return Access(token=token or secrets.token_urlsafe(24))


def serve(
    library: Library, place: socket.socket, access: Access, ready: Callable[[], object]
) -> None:
    """Serves until SIGTERM or Ctrl-C; answers under way are finished.

    Args:
        library: what is served.
        place: where.
        access: to whom.
        ready: called when requests are answered.
    """
    import uvicorn

    limits = library.limits
    config = uvicorn.Config(
        application(library, access), log_level=logging.WARNING, access_log=False,
        http=_patient(limits.head_seconds), ws="none", server_header=False, date_header=False,
        timeout_keep_alive=5, timeout_graceful_shutdown=_GRACE,
        limit_concurrency=limits.connections, h11_max_incomplete_event_size=16 << 10,
    )  # fmt: skip

    class Server(uvicorn.Server):  # type: ignore[misc]
        should_exit: bool
        force_exit: bool

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

        def handle_exit(self, sig: int, frame: Any) -> None:
            # uvicorn's own ends the process by the signal once all is done; this one ends well.
            if self.should_exit and sig == signal.SIGINT:
                self.force_exit = True
            self.should_exit = True

    asyncio.run(Server(config).serve([place]))


def _patient(seconds: float) -> Any:
    """uvicorn's protocol, which closes a connection whose request does not arrive in time."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Protocol(H11Protocol):  # type: ignore[misc]
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._waiting = self.loop.call_later(seconds, self._give_up)

        def _give_up(self) -> None:
            if self.cycle is None and not self.transport.is_closing():
                self.transport.close()

        def connection_lost(self, error: Exception | None) -> None:
            self._waiting.cancel()
            super().connection_lost(error)

    return Protocol
