"""Pipes among the files that a command reads: `<(...)`, /dev/stdin, -, and pipes with names."""

from __future__ import annotations

import argparse
import os

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import on_disk
from irtoolkit.base.streams import stream_of
from irtoolkit.commands._overwriting import words

# What is given to a command in place of a file, to mean standard input.
DASH, STDIN = "-", "/dev/stdin"
# The ends of the names of files that are known by them alone.
_ENDINGS = {"recipe": ".toml"}


def copy_pipes(args: argparse.Namespace) -> None:
    """Puts copies in place of the pipes that a command reads, so that it may open them again.

    Args:
        args: of a command, with its `irtoolkit.commands._overwriting.files_read`.

    Raises:
        InputError: a pipe cannot be read, or is named twice.
    """
    _check_distinct(args)
    for name in args.files_read:
        value, ending = getattr(args, name, None), _ENDINGS.get(name)
        if isinstance(value, str):
            setattr(args, name, _copied(value, ending))
        elif isinstance(value, list):
            setattr(args, name, [_copied(word, ending) for word in value])


def _check_distinct(args: argparse.Namespace) -> None:
    """Raises InputError if a stream or a pipe is named in two places: its content is of one of them."""
    identities: set[object] = set()
    for word in words(getattr(args, name, None) for name in args.files_read):
        file = word if word == DASH else word.partition("=")[2] or word
        key = _identity(STDIN if file == DASH else file)
        if key in identities:
            raise InputError(
                f"{file} is named twice, and can be read once",
                remedy="write one of the two to a file, and name that",
            )
        if key is not None:
            identities.add(key)


def _identity(path: str) -> object:
    """Returns the identity of a stream or a pipe; None for a file that can be read again."""
    from irtoolkit.base.pipes import is_pipe

    number = stream_of(path)
    if number is not None or not is_pipe(path):
        return number
    status = os.stat(on_disk(path))
    return status.st_dev, status.st_ino


def _copied(word: str, ending: str | None) -> str:
    """Returns a word of a command with the copy of the pipe that it names, as KEY=PIPE too."""
    from irtoolkit.base.pipes import copy_of_pipe, is_pipe

    whole = STDIN if word == DASH else word
    if is_pipe(whole):
        return str(copy_of_pipe(whole, ending))
    key, equals, value = word.partition("=")
    return f"{key}={copy_of_pipe(value)}" if equals and is_pipe(value) else word
