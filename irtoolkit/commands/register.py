"""Register a folder of documents, topics and judgments as a dataset.

Documents are TREC SGML (<DOC>), JSON lines, CSV or Parquet (id, and text, contents or body; title if
there is one), TSV (id, tab, text), or books: .txt, .md, .epub or .html files, which are divided
into passages of 3 sentences, or of --sentences N. One file of documents may stand in place of FOLDER.
Topics are TREC SGML (<top>) or XML (<topic>), JSON lines, CSV, Parquet or TSV; judgments are TREC qrels, BEIR's TSV, or CSV or Parquet
(query_id, doc_id, relevance). Candidates of each topic are top_ranked (JSON lines or Parquet with
query-id and corpus-ids), or a run: a file whose name has top_ranked, candidates or pool, or --pools FILE.
All files but books are UTF-8, plain or packed (.gz and others). The names and first lines of the files show which
file is which, and the command prints what it found. If several files fit, choose with --docs,
--topics, --qrels and --pools: FILE is relative to FOLDER or to the current folder, and "none" leaves a part
out. The command checks all ids, texts and grades, and that judged topics and documents exist.

NAME is then an ir_datasets id, for every command and for ir.load, until you
remove it with --remove. The files stay in their place and must not change. Where they have, NAME
--replace registers the same files again, and NAME FOLDER --replace those of FOLDER; what was
registered stays until the new files are checked. Without arguments, the command lists the
registered collections.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from irtoolkit.base.errors import InputError
from irtoolkit.base.plurals import number_of
from irtoolkit.base.tables import TableCell, TextTable
from irtoolkit.commands import add_format, argument, note, print_table

if TYPE_CHECKING:
    from irtoolkit.datasets.local.registering import Registration

HELP = "register a folder of documents, topics and qrels as a dataset"
EXAMPLES = (
    "irtoolkit register npl data/npl --topics query-text.trec --lang en",
    "irtoolkit register scifact/test data/scifact --qrels qrels/test.tsv",
    "irtoolkit register mine data/mine --docs part1.jsonl.gz part2.jsonl.gz --qrels none",
    "irtoolkit register emma emma.txt",
    "irtoolkit register npl --replace",
    "irtoolkit register",
    "irtoolkit register --remove npl",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("[NAME]", "id of the dataset")
    add("[FOLDER]", "folder of the collection, or one file of documents")
    add("--docs FILE...", "files of documents, or folders of such files")
    add("--topics FILE", "file of topics, or none")
    add("--qrels FILE", "file of judgments, or none")
    add("--pools FILE", "file of each topic's candidates: top_ranked, a run, or none")
    add("--lang CODE", "language of documents and topics, such as en")
    add("--sentences N", "sentences of a passage of a book; default: 3", least=1)
    add("--lenient", "accept judgments of documents that are not in the collection")
    add("--replace", "register the changed files of NAME again, or those of FOLDER in their place")
    add("--remove NAME", "unregister a collection; its files stay")
    add_format(parser)


def execute(args: argparse.Namespace) -> None:
    options = [
        f"--{name}"
        for name in ("docs", "topics", "qrels", "pools", "lang", "sentences", "lenient", "replace")
        if getattr(args, name)
    ]
    if args.remove is not None:
        if args.name is not None or options:
            raise InputError(
                "--remove takes no other argument", remedy="irtoolkit register --remove NAME"
            )
        _remove(args.remove)
    elif args.name is None:
        if options:
            raise InputError(f"{options[0]} without NAME and FOLDER")
        _list(args.format)
    elif args.folder is None and args.replace:
        others = [option for option in options if option not in ("--replace", "--lenient")]
        if others:
            raise InputError(f"{others[0]} without FOLDER", remedy="name the folder")
        _replace(args)
    elif args.folder is None:
        raise _without_folder(args.name)
    else:
        _register(args)


def _without_folder(name: str) -> InputError:
    from irtoolkit.datasets.local.registry import read_registry

    record = read_registry().get(name)
    if record is None:
        remedy = "irtoolkit register NAME FOLDER; see irtoolkit register --help"
        return InputError(f"no folder for {name}", remedy=remedy)
    return InputError(
        f"{name} is registered already, with the files of {record.folder}",
        remedy=f"irtoolkit register {name} --replace registers them again after a change",
    )


def _register(args: argparse.Namespace) -> None:
    from irtoolkit.datasets.local.registering import register_collection

    registration = register_collection(
        args.name,
        args.folder,
        {
            "docs": args.docs or None,
            "topics": None if args.topics is None else [args.topics],
            "qrels": None if args.qrels is None else [args.qrels],
            "pools": None if args.pools is None else [args.pools],
        },
        lang=args.lang,
        lenient=args.lenient,
        replace=args.replace,
        sentences=args.sentences,
    )
    _tell(args.name, registration)


def _replace(args: argparse.Namespace) -> None:
    from irtoolkit.datasets.local.registering import replace_collection

    _tell(args.name, replace_collection(args.name, lenient=args.lenient))


def _tell(name: str, registration: Registration) -> None:
    for line in registration.notes:
        note(line)
    counts = ", ".join(
        number_of(part.count, role) for role, part in registration.entry.parts().items()
    )
    note(f"{name} {_STATES[registration.change]}: {counts}")


def _remove(name: str) -> None:
    from irtoolkit.datasets.local.registering import remove_collection

    remove_collection(name)
    note(f"{name} is no longer registered")


def _list(form: str) -> None:
    from irtoolkit.datasets.local.collection import LocalCollection
    from irtoolkit.datasets.local.registry import read_registry

    rows: list[list[TableCell]] = []
    for name, entry in read_registry().items():
        parts = entry.parts()
        try:
            LocalCollection(name, entry).where()
            problem = None
        except InputError as error:
            problem = str(error)
        counts = [parts[role].count if role in parts else None for role in _COUNTED]
        rows.append([name, *counts, entry.lang, str(entry.folder), problem])
    print_table(form, TextTable(_HEADERS, rows))


_STATES = {
    "new": "registered",
    "replaced": "registered in place of what had the name",
    "unchanged": "was already registered and is unchanged",
}
_COUNTED = ("docs", "topics", "qrels", "pools")
_HEADERS = ("id", *_COUNTED, "lang", "folder", "problem")
