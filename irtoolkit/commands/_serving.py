"""The options of commands that serve a page: the address, and who may make requests."""

from __future__ import annotations

import argparse
import os
from functools import partial

from irtoolkit.base.errors import InputError
from irtoolkit.commands import argument


def add_address(parser: argparse.ArgumentParser, port: int) -> None:
    """Adds --host, --port, --token and --no-token."""
    add = partial(argument, parser)
    add(
        "--host HOST",
        "address to listen on; default: 127.0.0.1, this machine alone",
        default="127.0.0.1",
    )
    add("--port PORT", f"port to listen on, 0 for any; default: {port}", type=int, default=port)
    add(
        "--token T",
        "that requests have to bring; default: $IRTOOLKIT_TOKEN, else a new one at each start",
        default=os.environ.get("IRTOOLKIT_TOKEN"),
    )
    add("--no-token", "let everyone on this machine in without one")


def check_no_token(args: argparse.Namespace) -> None:
    """Checks that --no-token opens a server to this machine alone.

    Raises:
        InputError: there is a token, or another host.
    """
    from irtoolkit.apps.web.server import LOCAL

    if args.no_token and (args.token is not None or args.host not in LOCAL):
        raise InputError(
            "--no-token is for this machine alone, and goes with no --token or $IRTOOLKIT_TOKEN",
            remedy="leave out one of them",
        )
