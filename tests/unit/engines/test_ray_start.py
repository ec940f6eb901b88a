"""Addresses of Ray clusters."""

from __future__ import annotations

import socket

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.engines import ray_start


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("h", "h:6379"), ("h:1", "h:1"), ("ray://h", "ray://h:10001"), ("ray://h:2", "ray://h:2"),
        ("auto", "auto"), ("local", "local"),
    ],
)  # fmt: skip
def test_an_address_without_a_port_has_rays_own(given: str, taken: str) -> None:
    assert ray_start._with_port(given) == taken


def test_the_port_of_clients_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        monkeypatch.setattr(ray_start, "_CLIENT_PORT", one.getsockname()[1])
    with pytest.raises(
        InputError, match=rf"no Ray cluster answers at 127\.0\.0\.1:{ray_start._CLIENT_PORT} "
    ):
        ray_start.connect("ray://127.0.0.1", 1)
