"""The engine of a command: --engine, --workers and --address."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from irtoolkit.commands import argument


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of commands whose work can be spread over processes or machines."""
    group = parser.add_argument_group(
        "where the work is done", "The result is the same to the byte wherever that is."
    )
    add = partial(argument, group)
    add(
        "--engine ENGINE",
        "local (this process), processes (of this machine) or ray (a cluster); default:"
        " $IRTOOLKIT_ENGINE, else ray where $RAY_ADDRESS is set, else local",
    )
    add(
        "--workers N",
        "pieces worked on at once; default: $IRTOOLKIT_WORKERS, else all cores or CPUs of the"
        " cluster; alone it means --engine processes",
        least=1,
    )
    add(
        "--address HOST:PORT",
        "a Ray cluster; default: $RAY_ADDRESS, else Ray is started on this machine",
    )


def engine_of(args: argparse.Namespace) -> AbstractContextManager[Any]:
    """Returns the engine of a command, for the length of the command."""
    if not hasattr(args, "address"):  # compare has an --engine of another kind
        return nullcontext()
    from irtoolkit.engines.choose import engine

    return engine(args.engine, workers=args.workers, address=args.address)
