"""The address of a server that is printed."""

from __future__ import annotations

import asyncio
import socket

import pytest

from irtoolkit.apps.web.guard import Access
from irtoolkit.apps.web.server import address, bound


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("127.0.0.1", "http://127.0.0.1:8801/"),
        ("localhost", "http://127.0.0.1:8801/"),
        ("::1", "http://[::1]:8801/"),
        ("books.example", "http://books.example:8801/"),
    ],
)
def test_the_address_is_where_the_server_listens(host: str, shown: str) -> None:
    assert address(host, 8801, Access()) == shown
    assert address(host, 8801, Access(token="a/b")) == f"{shown}#token=a%2Fb"


def test_localhost_is_127_0_0_1() -> None:
    with bound("localhost", 0) as place:
        assert place.getsockname()[0] == "127.0.0.1"


def test_an_answer_over_an_open_connection_is_sent_at_once() -> None:
    """Without TCP_NODELAY the second answer over a connection waits for an acknowledgement."""

    async def nodelay() -> int:
        accepted: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = writer.get_extra_info("socket")
            accepted.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listener = bound("127.0.0.1", 0)
        async with await asyncio.start_server(connected, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            option = await accepted
            writer.close()
        return option

    assert asyncio.run(nodelay())
