"""Write a dataset for other tools: one file of it, or a folder in the form of another tool.

Files: docs (JSON lines, one record per line), topics (query id, tab, text), qrels (TREC format), pools
(query id, space, document id, in the order of the pool). The text is the dataset's default text.

Folders: beir (corpus.jsonl, queries.jsonl, qrels/test.tsv), mteb and hf (Parquet, as MTEB and Hugging
Face datasets load it; hf has all fields of the records), pyserini (JSON collection, topics, qrels and
the YAML of a regression) and tira. beir, mteb and hf have the candidates of each query as top_ranked.
README.md states licence and citation. --query and --doc choose other texts: with --query masked, a
context shows where its quotation was. A folder whose licence allows it can be published with --push.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text
from irtoolkit.base.plurals import number_of
from irtoolkit.base.targets import check_ending
from irtoolkit.commands import add_output, argument, check_not_dash, note, output_file

HELP = "write a dataset for BEIR, MTEB, the Hub, Pyserini or TIRA"
EXAMPLES = (
    "irtoolkit export csfcube/sample qrels",
    "irtoolkit export csfcube/sample topics -o topics.tsv",
    "irtoolkit export csfcube/sample docs -o docs.jsonl.gz",
    "irtoolkit export relic/sample/val beir relic-beir",
    "irtoolkit export csfcube/sample mteb csfcube-mteb",
    "irtoolkit export csfcube/sample hf csfcube-hf --push hf://datasets/USER/NAME",
)
# `irtoolkit.integrations.exports.export.FORMS`, whose modules help does not load.
FOLDERS = ("beir", "mteb", "hf", "pyserini", "tira")


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("DATASET", "a dataset; irtoolkit datasets lists them")
    add("WHAT", ", ".join((*LINES, *FOLDERS)), choices=(*LINES, *FOLDERS))
    add("[FOLDER]", "where beir, mteb, hf, pyserini or tira goes")
    add_output(
        parser,
        "for docs, topics, qrels and pools; default: standard output",
        required=False,
        check=output_file,
    )
    add("--query VIEW", "the text of queries; default: the dataset's own", default="default")
    add("--doc VIEW", "the text of documents; default: the dataset's own", default="default")
    add("--split NAME", "in the files", default="test")
    add("--licence ID", "where the dataset states none: cc-by-4.0")
    add("--push HF", "publish the folder: hf://datasets/USER/NAME")
    add("--private", "with --push: a private repository")


def execute(args: argparse.Namespace) -> None:
    if args.what in FOLDERS:
        _write_folder(args)
    else:
        _write_lines(args)


def _write_folder(args: argparse.Namespace) -> None:
    from irtoolkit.base.durable import empty_folder
    from irtoolkit.datasets.dataset import Dataset
    from irtoolkit.integrations.exports.card import is_export, restate
    from irtoolkit.integrations.exports.export import check_same, export_folder
    from irtoolkit.integrations.exports.licences import licence_of
    from irtoolkit.integrations.exports.push import check_licence, push, repository
    from irtoolkit.integrations.exports.source import Source, shared_id

    folder = args.folder
    if folder is None or args.output is not None:
        name = f"{shared_id(args.dataset).split('/')[0]}-{args.what}"
        raise InputError(
            "FOLDER is missing, after the form" if folder is None else "two outputs",
            remedy=f"irtoolkit export {args.dataset} {args.what} {folder or name}",
        )
    check_not_dash(folder, "folder")
    source = Source(Dataset.load(args.dataset), args.query, args.doc, args.split)
    if args.push is not None:
        repository(args.push)
        if is_export(
            folder, args.dataset, args.what, query=args.query, doc=args.doc, split=args.split
        ):
            check_same(source, args.what, folder)
            if args.licence is not None:
                restate(folder, licence_of(None, args.licence))
            note(f"{folder}: was exported before, and is published as it is")
            note(f"published: {push(folder, args.push, private=args.private)}")
            return
    empty_folder(folder)
    if args.push is not None:
        check_licence(licence_of(source.about, args.licence).id, args.dataset)
    licence = export_folder(source, args.what, folder, args.licence)
    counted = ", ".join(number_of(number, name, ",") for name, number in source.counts.items())
    note(f"{folder}: {counted}")
    note(licence.line)
    if args.push is not None:
        note(f"published: {push(folder, args.push, private=args.private)}")


def _write_lines(args: argparse.Namespace) -> None:
    from irtoolkit.datasets.dataset import Dataset

    if args.folder is not None:
        raise InputError(
            f"{args.what} is a file, not a folder", remedy=f"-o {args.folder} names the file"
        )
    kind, lines, form, endings = LINES[args.what]
    if args.output is not None:
        check_ending(args.output, form, *endings)
    dataset = Dataset.load(args.dataset)
    if not dataset.has(kind):
        raise InputError(f"dataset {args.dataset} has no {args.what}")
    if args.output is None:
        for line in lines(dataset):
            sys.stdout.write(line + "\n")
        return
    with atomic_text(args.output) as out:
        for line in lines(dataset):
            out.write(line + "\n")


def _docs(dataset: Any) -> Iterator[str]:
    return (
        json.dumps(doc._asdict(), ensure_ascii=False, default=str) for doc in dataset.docs_iter()
    )


def _topics(dataset: Any) -> Iterator[str]:
    # A tab or line break inside a text would split it into two fields or lines.
    return (f"{q.query_id}\t{' '.join(q.default_text().split())}" for q in dataset.queries_iter())


def _qrels(dataset: Any) -> Iterator[str]:
    from irtoolkit.integrations.exports.trec import check_whole_grades

    check_whole_grades(dataset)
    return (f"{_word(q.query_id)} 0 {_word(q.doc_id)} {q.relevance}" for q in dataset.qrels_iter())


def _pools(dataset: Any) -> Iterator[str]:
    return (f"{_word(r.query_id)} {_word(r.doc_id)}" for r in dataset.scoreddocs_iter())


def _word(name: str) -> str:
    from irtoolkit.base.ids import is_word

    if not is_word(name):
        raise InputError(f"the id {name!r} cannot be written as one field of TREC text")
    return name


# Each file: what the dataset has to have, its lines, its form, and the ends of its name.
LINES: dict[str, tuple[str, Callable[[Any], Iterator[str]], str, tuple[str, ...]]] = {
    "docs": ("docs", _docs, "JSON lines", (".jsonl", ".ndjson")),
    "topics": ("queries", _topics, "tab-separated text", (".tsv",)),
    "qrels": ("qrels", _qrels, "TREC qrels", (".qrels", ".tsv")),
    "pools": ("scoreddocs", _pools, "plain text", (".txt", ".tsv")),
}
