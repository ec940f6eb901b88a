"""Open a page in the browser that searches novels, with an HTTP API behind it.

WHAT is a plain-text novel, a folder of such files, or a dataset of books;
readers add more on the page. Books that are added and what readers say of
passages are kept in the folder named by --folder, which one server at a time
uses. The server answers this machine alone unless --host says otherwise, and
those who have the token of the address that it prints, because others may work
on the same machine. --no-token lets everyone on this machine in. --public needs
no token, and lets nobody add, remove or judge.

With --measure, the server is not started: the known quotations of the datasets
are looked for, and what share of them each system finds among its first 20
passages is kept for the page. --measure, --prepare and --mcp change no book and
no judgment, and may be used beside a running server.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from irtoolkit.base.errors import InputError, check_installed
from irtoolkit.base.plurals import number_of
from irtoolkit.base.targets import check_target_name
from irtoolkit.commands import argument, note
from irtoolkit.commands._serving import add_address, check_no_token

if TYPE_CHECKING:
    import socket

    from irtoolkit.apps.serve.library import Library
    from irtoolkit.apps.web.guard import Access

HELP = "open a page that searches novels, with an HTTP API"
EXAMPLES = (
    "irtoolkit serve",
    "irtoolkit serve emma.txt novels/ --port 8800",
    "irtoolkit serve relic/val --measure",
    "irtoolkit serve --host 0.0.0.0 --token SECRET",
    "irtoolkit serve emma.txt --mcp",
)
PORT = 8801
MODEL = "all-MiniLM-L6-v2"
FOLDER = "irtoolkit-library"
# Seconds after which a start that takes long says why.
_SLOW = 3
# Held by the server that uses a folder.
LOCK = ".server.lock"


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("[WHAT...]", "books, folders of books, or datasets")
    add("--folder FOLDER", "where books and judgments are kept", default=FOLDER)
    add_address(parser, PORT)
    add("--public", "no token; nothing can be added, removed or judged")
    add(
        "--model MODEL",
        "compares meaning, such as all-mpnet-base-v2; none: words alone are compared",
        default=MODEL,
    )
    one_of = partial(argument, parser.add_mutually_exclusive_group())
    one_of("--measure", "measure what is found of known quotations, and end")
    one_of("--prepare", "index the books, and end; the next start finds them")
    one_of("--mcp", "MCP tools on standard input and output, not a page")


def execute(args: argparse.Namespace) -> None:
    with _quiet():
        _execute(args)


@contextmanager
def _quiet() -> Iterator[None]:
    """Progress is on the page; that a model cuts a sentence of some hundred words is in the docs."""
    import logging

    log, bars = logging.getLogger("irtoolkit.models.encoder"), "TQDM_DISABLE"
    level, is_set = log.level, bars in os.environ
    os.environ.setdefault(bars, "1")
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)
        if not is_set:
            del os.environ[bars]


def _execute(args: argparse.Namespace) -> None:
    check_installed("fastapi", "serve")
    if args.mcp:
        check_installed("mcp", "mcp")
    _check_access(args)
    check_target_name(args.folder, folder=True)
    from irtoolkit.apps.serve.library import Library

    serves = not (args.measure or args.prepare or args.mcp)
    model = None if args.model == "none" else args.model
    library = Library(Path(args.folder), model, writes=serves)
    if args.model not in ("none", MODEL) and library.meaning and library.meaning.why_not:
        raise InputError(
            f"--model {args.model}: {library.meaning.why_not.partition(' (')[0]}",
            remedy="irtoolkit models lists them; --model none compares words alone",
        )
    if args.measure:
        _measure(library, args.what)
        return
    _fill(library, args.what)
    if args.prepare:
        _prepare(library)
        return
    if args.mcp:
        from irtoolkit.apps.serve.mcp_tools import run

        run(library)
        return
    _serve(library, args)


def _check_access(args: argparse.Namespace) -> None:
    if args.public and args.token is not None:
        raise InputError(
            "--public lets everyone read, so a token (--token or $IRTOOLKIT_TOKEN) would guard nothing",
            remedy="leave out one of the two",
        )
    check_no_token(args)


def _fill(library: Library, names: list[str]) -> None:
    from irtoolkit.datasets.editions.reading import SUFFIXES

    for name in names:
        named = Path(name)
        if named.is_dir():
            _add_folder(library, named)
        elif named.is_file():
            library.shelf.add_file(named)
        elif named.suffix.lower() in SUFFIXES:
            raise InputError("no such file", file=name)
        else:
            library.shelf.add_dataset(name)


def _add_folder(library: Library, folder: Path) -> None:
    """Puts the books of a folder on the shelf, and says which files of it are no books.

    Raises:
        InputError: none of them is.
    """
    from irtoolkit.apps.serve.shelf import paths_in
    from irtoolkit.datasets.editions.reading import SUFFIXES

    books = 0
    for path in paths_in([folder]):
        try:
            library.shelf.add_file(path)
            books += 1
        except InputError as error:
            note(f"left out: {error}")
    if not books:
        raise InputError(
            f"the folder {folder} has no book",
            remedy=f"books are files that end in {', '.join(SUFFIXES)}",
        )


def _serve(library: Library, args: argparse.Namespace) -> None:
    from irtoolkit.apps.web.server import access_for, address, bound
    from irtoolkit.base.locks import locked

    listener = bound(args.host, args.port)
    remedy = "make it writable, or name another with --folder"
    with listener, locked(library.folder / LOCK, wait=False, remedy=remedy) as acquired:
        if not acquired:
            raise InputError(
                f"another irtoolkit serve uses the folder {library.folder}",
                remedy="end that one, or name another with --folder",
            )
        if library.meaning is None:
            note("note: passages are compared by their words alone, as --model none asks for")
        elif library.meaning.why_not:
            note(f"note: passages are compared by their words alone: {library.meaning.why_not}")
        port = listener.getsockname()[1]
        access = access_for(args.host, port, args.token, args.public, trusts_machine=args.no_token)
        _until_told(library, listener, access, address(args.host, port, access))


def _until_told(library: Library, listener: socket.socket, access: Access, url: str) -> None:
    import threading

    from irtoolkit.apps.serve.app import serve

    message = "the search is being loaded"
    slow = threading.Timer(_SLOW, note, (message,))
    slow.daemon = True

    def ready() -> None:
        slow.cancel()
        for line in library.shelf.damaged():
            note(f"left out: {library.folder}{os.sep}{line}")
        print(url, flush=True)
        note(f"books and judgments are kept in {library.folder.resolve()}; Ctrl-C ends")

    def ending() -> None:
        note("ending; what is prepared of books is kept")

    slow.start()
    try:
        serve(library, listener, access, ready, ending)
    finally:
        slow.cancel()
    for entry in library.shelf.entries():
        now = entry.progress
        if now.stage == "meaning" and now.done:
            message = f"{now.done:,} of {now.total:,} sentences are prepared"
            note(f"{entry.collection.title}: {message}; the next start continues")
    # All is on the disk. To load a model cannot be stopped, and to take it apart takes seconds.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _prepare(library: Library) -> None:
    for entry in library.shelf.entries():
        library.shelf.preparing.prepare(entry)
        collection = entry.collection
        systems = " and ".join(collection.systems()[:2])
        print(
            f"{collection.title}: {number_of(len(collection.sentences), 'sentences', ',')}, by {systems}"
        )


def _measure(library: Library, names: list[str]) -> None:
    from irtoolkit.apps.serve import quality
    from irtoolkit.apps.serve.library import system_label
    from irtoolkit.datasets.dataset import Dataset

    if not names:
        raise InputError("nothing to measure", remedy="name a dataset, such as relic/val")
    files = [name for name in names if Path(name).is_file()]
    if files:
        raise InputError(
            f"{files[0]} has no judged queries, which --measure needs",
            remedy="name a dataset that has, such as relic/val",
        )
    for name in names:
        entry = library.shelf.add_dataset(name)
        collection = entry.collection

        def tell(done: int, total: int, unit: str = "sentences") -> None:
            if sys.stderr.isatty():
                print(f"\r{unit}: {done:,} of {total:,} ", end="", file=sys.stderr, flush=True)

        if library.meaning is not None and not library.meaning.why_not:
            library.meaning.prepare(collection.key, collection.sentences, tell)
            collection.has_vectors = True
        record = quality.measure(
            collection, Dataset.of(name), lambda a, b: tell(a, b, "quotations")
        )
        if sys.stderr.isatty():
            print(file=sys.stderr)
        path = quality.keep(library.folder, record)
        print(f"{name}: known quotations found among the first {record['depth']} passages")
        for system, hits in record["found"].items():
            share = hits / record["of"]
            print(f"  {system_label(system):14} {hits:,} of {record['of']:,} ({share:.0%})")
        note(f"kept in {path}")
