"""Make a folder's documents, topics and judgments a dataset of that name.

Documents are TREC SGML (<DOC>), JSON lines (id and text, contents or body, and title where there is
one) or TSV (id, tab, text); topics TREC SGML (<top>), JSON lines or TSV; judgments TREC qrels or
BEIR's TSV; all of them plain or .gz, in UTF-8. Which file is which is found by name and content, and
told; where there is a choice, --docs, --topics and --qrels make it (FILE is looked for in FOLDER,
then in the current folder; "none" leaves a role empty). Everything is checked: ids, texts, grades,
and that topics and documents of judgments are there.

NAME is then an ir_datasets id for every command and in Python after `import irtoolkit`, until
--remove. The files stay where they are, and must stay as they are. Alone, the command lists what is
registered.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from irtoolkit.commands import add_format, note, print_json

HELP = "make a folder of documents, topics and qrels a dataset"
EXAMPLES = (
    "irtoolkit register npl data/npl --topics query-text.trec --lang en",
    "irtoolkit register scifact/test data/scifact --qrels qrels/test.tsv",
    "irtoolkit register mine data/mine --docs part1.jsonl.gz part2.jsonl.gz --qrels none",
    "irtoolkit register",
    "irtoolkit register --remove npl",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="the id it is to have")
    parser.add_argument("folder", nargs="?", metavar="FOLDER")
    parser.add_argument("--docs", nargs="+", metavar="FILE", help="files, or folders of them")
    parser.add_argument("--topics", metavar="FILE")
    parser.add_argument("--qrels", metavar="FILE")
    parser.add_argument("--lang", metavar="CODE", help="language of documents and topics, as en")
    parser.add_argument(
        "--lenient", action="store_true", help="allow judgments of documents that are not there"
    )
    parser.add_argument("--remove", metavar="NAME", help="forget a collection; its files stay")
    add_format(parser)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.base.errors import InputError

    told = [
        f"--{name}"
        for name in ("docs", "topics", "qrels", "lang", "lenient")
        if getattr(args, name)
    ]
    if args.remove is not None:
        if args.name is not None or told:
            raise InputError("--remove goes alone", remedy="irtoolkit register --remove NAME")
        _remove(args.remove)
    elif args.name is None:
        if told:
            raise InputError(f"{told[0]} without NAME and FOLDER")
        _list(args.format)
    elif args.folder is None:
        raise InputError(
            f"no folder for {args.name}", remedy="irtoolkit register NAME FOLDER; --help says more"
        )
    else:
        _register(args)


def _register(args: argparse.Namespace) -> None:
    from irtoolkit.datasets.local.registering import register_collection

    report = register_collection(
        args.name,
        Path(args.folder),
        {
            "docs": args.docs,
            "topics": None if args.topics is None else [args.topics],
            "qrels": None if args.qrels is None else [args.qrels],
        },
        lang=args.lang,
        lenient=args.lenient,
    )
    for line in report.notes:
        note(line)
    counts = ", ".join(f"{part.count} {role}" for role, part in report.entry.parts().items())
    state = "registered" if report.new else "was registered already, and is the same"
    note(f"{args.name} {state}: {counts}")


def _remove(name: str) -> None:
    from irtoolkit.datasets.local.registering import remove_collection

    remove_collection(name)
    note(f"{name} is no longer registered")


def _list(form: str) -> None:
    from irtoolkit.base.errors import InputError
    from irtoolkit.base.tables import TextTable
    from irtoolkit.datasets.local.registered import LocalCollection
    from irtoolkit.datasets.local.registry import read_registry

    records: list[dict[str, Any]] = []
    for name, entry in read_registry().items():
        parts = entry.parts()
        try:
            LocalCollection(name, entry).where()
            problem = None
        except InputError as error:
            problem = str(error)
        records.append(
            {
                "id": name,
                **{role: parts[role].count if role in parts else None for role in _COUNTED},
                "lang": entry.lang,
                "folder": str(entry.folder),
                "problem": problem,
            }
        )
    if form == "json":
        print_json(records)
        return
    headers = ["id", *_COUNTED, "lang", "folder", "problem"]
    rows = [[record[key] for key in headers] for record in records]
    print(TextTable(headers, rows).render(form))


_COUNTED = ("docs", "topics", "qrels")
