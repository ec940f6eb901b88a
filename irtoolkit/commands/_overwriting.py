"""Files that a command reads are not written by it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import same_place
from irtoolkit.commands import OutputFile


def refuse_overwriting(args: argparse.Namespace) -> None:
    """Raises InputError where a file that is to be written is read too, or written twice.

    The output of a command that is `in_place` may take the place of what it was made from.
    """
    outputs: dict[str, str] = {}
    for name, value in _words(vars(args)):
        if isinstance(value, OutputFile) and os.path.isfile(value):
            if same_place(value) in outputs:
                raise InputError("is written twice", file=value, remedy="name two files")
            if name != "output" or not args.in_place:
                outputs[same_place(value)] = value
    if not outputs:
        return
    for _, value in _words(vars(args)):
        if isinstance(value, OutputFile):
            continue
        for word in (value, value.partition("=")[2]):
            if os.path.isfile(word) and same_place(word) in outputs:
                raise InputError(
                    "is read and would be overwritten", file=value, remedy="name another file"
                )


def _words(given: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Names of arguments with each text that is given for them."""
    for name, value in given.items():
        if isinstance(value, str):
            yield name, value
        elif isinstance(value, list | tuple):
            yield from ((name, each) for each in value if isinstance(each, str))
