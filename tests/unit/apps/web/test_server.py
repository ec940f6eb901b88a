"""The address of a server that is printed."""

from __future__ import annotations

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
