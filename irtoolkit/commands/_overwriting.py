"""Files that a command reads are not written by it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import is_url, on_disk, same_place
from irtoolkit.base.streams import is_special
from irtoolkit.commands import OutputFile

# What help calls arguments that name files to read. Others, such as a tag, may have a file's name.
FILES = {
    "DATASET",
    "DATASET|RUN",
    "FILE",
    "INDEX",
    "KEY=VALUE",
    "LIST",
    "MODEL=PATH",
    "PATH",
    "QRELS",
    "RECIPE",
    "RUN",
    "SOURCE",
    "WHAT",
}


def files_read(parser: argparse.ArgumentParser) -> tuple[str, ...]:
    """Returns the names of a command's arguments that may be files which it reads, each once, in order."""
    names = dict.fromkeys(
        action.dest
        for action in parser._actions
        if action.metavar in FILES and action.type is None and action.choices is None
    )
    return tuple(names)


def check_overwriting(args: argparse.Namespace) -> None:
    """Raises InputError if an output file is also an input, or is written twice.

    A file is the same however it is spelt: through links, as a URL, or in another case if the file
    system ignores case. Files of a registered collection are read by its name.

    Args:
        args: of a command, with its `files_read`.
    """
    outputs: dict[str, str] = {}
    for word in words(vars(args).values()):
        if isinstance(word, OutputFile) and not is_special(word):
            if same_place(word) in outputs:
                raise InputError("is written twice", file=word, remedy="name two files")
            outputs[same_place(word)] = word
    existing = [word for word in outputs.values() if is_url(word) or os.path.isfile(on_disk(word))]
    inputs = words(getattr(args, name, None) for name in args.files_read)
    for word in inputs if existing else ():
        for file in (word, word.partition("=")[2], *_registered(word)):
            if file and any(_same(file, output) for output in existing):
                raise InputError(
                    "is read and would be overwritten", file=file, remedy="name another file"
                )


def _registered(name: str) -> Iterator[str]:
    """Yields the files on this machine of a collection that is registered by a name."""
    if is_url(name) or os.path.exists(on_disk(name)):
        return
    from irtoolkit.datasets.local.registry import read_registry

    entry = read_registry(lambda _: None).get(name)
    if entry is not None and not is_url(entry.folder):
        for part in entry.parts().values():
            yield from map(str, part.paths(entry.folder))


def words(values: Iterable[object]) -> Iterator[str]:
    """Yields each text among values of arguments."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list | tuple):
            yield from (word for word in value if isinstance(word, str))


def _same(read: str, written: str) -> bool:
    """Returns whether two names are of one file, or of one URL."""
    if is_url(read) or is_url(written):
        return same_place(read) == same_place(written)
    try:
        read_stat, written_stat = os.stat(on_disk(read)), os.stat(on_disk(written))
    except (OSError, ValueError):
        return False  # one of them is no file yet
    # A file that has several names keeps the others when one is replaced.
    alone = read_stat.st_nlink == 1 and os.path.samestat(read_stat, written_stat)
    return os.path.isfile(on_disk(read)) and (alone or same_place(read) == same_place(written))
