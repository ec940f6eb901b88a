"""Judge documents in the browser: a local page shows a query and the documents of its pool, one by one.

The pool of a query is the dataset's candidates, or, where runs are named, the first --depth documents
of any of them. Its documents are shown in an order of each annotator that no system made; which
system found a document, and what others say of it, is never shown. Keys 0 to 3 judge and move on;
the page lists the others.

Judgments are in FOLDER/NAME.qrels, a TREC qrels file, and notes in FOLDER/NAME.notes.tsv. A judgment
is on the disk before the page shows it as kept. The same command continues. Several annotators judge
one pool at once, each with --annotator and --port of their own and the same folder; irtoolkit agree
compares and merges their files.

The server answers this machine alone unless --host says otherwise, and those who have the token of the
address that it prints, because others may work on the same machine. --no-token lets everyone on this
machine in.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from irtoolkit.base.errors import InputError, check_installed
from irtoolkit.base.plurals import number_of
from irtoolkit.commands import argument, local_folder, note
from irtoolkit.commands._serving import add_address, check_no_token

if TYPE_CHECKING:
    import socket

    from irtoolkit.apps.annotate.pool import Pool
    from irtoolkit.apps.annotate.session import Session
    from irtoolkit.apps.web.guard import Access
    from irtoolkit.datasets.dataset import Dataset

HELP = "judge documents in the browser"
EXAMPLES = (
    "irtoolkit annotate csfcube/sample -o judged --annotator ann",
    "irtoolkit annotate csfcube/sample runs/bm25.run runs/tfidf.run --depth 10 -o pooled",
    "irtoolkit annotate relic/sample/val -o drawn --queries 5 --seed 1 --grades 0-1",
    "irtoolkit annotate docs.jsonl bm25.run --topics topics.tsv -o own --annotator ben --port 0",
)
PORT = 8802
DEPTH = 20


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("DATASET", "a dataset, or a file or folder of documents")
    add("[RUN...]", "runs whose first documents are judged; default: the candidates", dest="runs")
    add("-o, --output FOLDER", "where judgments are kept", required=True, type=local_folder)
    add("--annotator NAME", "whose; default: the login name")
    add("--depth K", f"documents of each run; default: {DEPTH}", least=1)
    add("--queries N", "draw N; default: all", least=1)
    add("--seed S", "of the queries drawn and the order of documents", type=int, default=0)
    add("--grades 0-3", "range of grades", default="0-3")
    add(
        "--topics FILE",
        "queries in place of the dataset's: id, tab, text; TREC topics; or JSON lines",
    )
    add_address(parser, PORT)
    parser.set_defaults(qrels=None, candidates=None)


def execute(args: argparse.Namespace) -> None:
    check_installed("fastapi", "serve")
    from irtoolkit.apps.annotate.session import Session
    from irtoolkit.apps.annotate.sheet import check_name
    from irtoolkit.apps.web.server import access_for, bound
    from irtoolkit.base.locks import locked

    check_no_token(args)
    folder, annotator = Path(args.output), args.annotator or _login()
    check_name(annotator)
    dataset, pool = _pooled(args)
    listener = bound(args.host, args.port)
    # Of the annotator's file, and so never the lock of the pool, whatever the annotator is called.
    with listener, locked(folder / f".{annotator}.qrels.lock", wait=False) as acquired:
        if not acquired:
            raise InputError(
                f"another irtoolkit annotate keeps judgments of {annotator} in {args.output}",
                remedy="use its page, end it, or name another --annotator",
            )
        pool.keep(folder)
        session = Session(dataset, pool, folder, annotator)
        port = listener.getsockname()[1]
        access = access_for(args.host, port, args.token, False, trusts_machine=args.no_token)
        _serve(session, listener, access, args)


def _login() -> str:
    from getpass import getuser

    try:
        return getuser()
    except (OSError, KeyError, ImportError):
        raise InputError("this login has no name", remedy="name one with --annotator") from None


def _pooled(args: argparse.Namespace) -> tuple[Dataset, Pool]:
    from irtoolkit.apps.annotate.grades import Grades
    from irtoolkit.apps.annotate.pool import Source, pooled
    from irtoolkit.commands._datasets import ranked_dataset

    if args.depth is not None and not args.runs:
        raise InputError(
            "--depth goes with runs, and none is named", remedy="leave it out, or name some"
        )
    grades = Grades.parse(args.grades)
    dataset = ranked_dataset(args)
    if dataset.has("qrels"):
        grades = grades.named(dataset.qrels_defs() or {})
    source = Source(tuple(args.runs), args.depth or DEPTH, args.queries, args.seed)
    return dataset, pooled(dataset, source, grades, lambda line: note(f"note: {line}"))


def _serve(
    session: Session, listener: socket.socket, access: Access, args: argparse.Namespace
) -> None:
    from irtoolkit.apps.annotate.app import application
    from irtoolkit.apps.web.server import Patience, address, run

    sheet, pool = session.sheet, session.pool

    def said() -> str:
        return f"{len(sheet):,} of {number_of(len(pool), 'pairs', ',')} judged"

    def ready() -> None:
        print(address(args.host, listener.getsockname()[1], access), flush=True)
        note(
            f"{number_of(len(pool.documents), 'queries')}, {said()}; judgments of {sheet.annotator}"
            f" are kept in {sheet.path}; Ctrl-C ends"
        )

    run(application(session, access), listener, Patience(), ready)
    note(f"{said()}; the same command continues")
