"""uvicorn, which closes slow connections, and whose beginning and end are told."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from typing import Any

import uvicorn
from uvicorn.protocols.http import h11_impl

# Seconds that responses in progress may take once the server is to end.
_GRACE = 5


def configuration(app: Any, head: float, answer: float, connections: int) -> Any:
    """Returns uvicorn's configuration for an ASGI application.

    Args:
        app: the application.
        head, answer, connections: see `irtoolkit.apps.web.server.Patience`.
    """
    return uvicorn.Config(
        # Its own configuration of logging would close the handlers of all others.
        app,
        log_config=None,
        log_level=logging.WARNING,
        access_log=False,
        http=partial(PatientProtocol, head, answer),
        ws="none",
        server_header=False,
        date_header=False,
        lifespan="off",
        timeout_keep_alive=5,
        timeout_graceful_shutdown=_GRACE,
        limit_concurrency=connections,
        h11_max_incomplete_event_size=16 << 10,
    )


class Server(uvicorn.Server):  # type: ignore[misc]
    """A server whose beginning and end are told.

    Args:
        config: what `configuration` returns.
        ready, ending, living: see `irtoolkit.apps.web.server.run`.
    """

    should_exit: bool
    force_exit: bool

    def __init__(
        self,
        config: Any,
        ready: Callable[[], object],
        ending: Callable[[], object],
        living: Callable[[], AbstractAsyncContextManager[object]],
    ) -> None:
        super().__init__(config)
        self._ready, self._ending, self._living = ready, ending, living
        self._lives = AsyncExitStack()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self._lives.enter_async_context(self._living())
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._ending()
        await super().shutdown(sockets)
        await self._lives.aclose()

    def handle_exit(self, sig: int, frame: Any) -> None:
        # uvicorn's own ends the process by the signal once all is done; this one ends well.
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True


class PatientProtocol(h11_impl.H11Protocol):  # type: ignore[misc]
    """HTTP of uvicorn; connections with slow requests or slow readers are closed.

    Anything but HTTP is answered with 400 at once.
    """

    _unread: asyncio.TimerHandle | None = None

    def __init__(self, head: float, answer: float, **options: Any) -> None:
        super().__init__(**options)
        self._head, self._answer = head, answer

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        # `pause_writing` is called for all that cannot be sent at once.
        transport.set_write_buffer_limits(high=0)
        self._wait_for_head()

    def on_response_complete(self) -> None:
        self._waiting.cancel()
        self._wait_for_head()
        super().on_response_complete()

    def _wait_for_head(self) -> None:
        self._waiting = self.loop.call_later(self._head, self._give_up)

    def send_400_response(self, msg: str) -> None:
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
        super().send_400_response(msg)

    def _give_up(self) -> None:
        idle = self.cycle is None or self.cycle.response_complete
        if idle and not self.transport.is_closing():
            self.transport.close()

    def pause_writing(self) -> None:
        # Closing would wait until the rest is read.
        self._unread = self.loop.call_later(self._answer, self.transport.abort)
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
