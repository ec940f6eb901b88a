"""The options of commands that serve a page: the address, and who may make requests."""

from __future__ import annotations

import argparse
import os

from irtoolkit.base.errors import InputError


def add_address(parser: argparse.ArgumentParser, port: int) -> None:
    """Adds --host, --port, --token and --no-token."""
    parser.add_argument(
        "--host", default="127.0.0.1", help="default: 127.0.0.1, this machine alone"
    )
    parser.add_argument("--port", type=int, default=port, help=f"default: {port}; 0 for any")
    parser.add_argument(
        "--token",
        metavar="T",
        default=os.environ.get("IRTOOLKIT_TOKEN"),
        help="that requests have to bring; default: $IRTOOLKIT_TOKEN, else a new one at each start",
    )
    parser.add_argument(
        "--no-token", action="store_true", help="let everyone on this machine in without one"
    )


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
