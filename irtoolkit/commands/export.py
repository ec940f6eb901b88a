"""Write a dataset's documents, topics, qrels or candidate pools for other tools.

docs: JSON lines, one record per line. topics: query id, tab, text. qrels: TREC format. pools: query
id, space, document id, in the order of the pool. The text is the dataset's default text.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from irtoolkit.commands import add_output

HELP = "write the docs, topics, qrels or pools of a dataset"
EXAMPLES = (
    "irtoolkit export csfcube/sample qrels",
    "irtoolkit export csfcube/sample topics -o topics.tsv",
    "irtoolkit export csfcube/sample docs -o docs.jsonl.gz",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("what", choices=tuple(LINES), help="what to write")
    add_output(parser, "default: standard output", required=False)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.base.errors import InputError
    from irtoolkit.base.files import atomic_text
    from irtoolkit.datasets.dataset import Dataset

    dataset = Dataset.load(args.dataset)
    kind, lines = LINES[args.what]
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
    return (f"{_word(q.query_id)} 0 {_word(q.doc_id)} {q.relevance}" for q in dataset.qrels_iter())


def _pools(dataset: Any) -> Iterator[str]:
    return (f"{_word(r.query_id)} {_word(r.doc_id)}" for r in dataset.scoreddocs_iter())


def _word(name: str) -> str:
    from irtoolkit.base.errors import InputError
    from irtoolkit.base.ids import is_word

    if not is_word(name):
        raise InputError(f"the id {name!r} cannot be written as one field of TREC text")
    return name


LINES: dict[str, tuple[str, Callable[[Any], Iterator[str]]]] = {
    "docs": ("docs", _docs),
    "topics": ("queries", _topics),
    "qrels": ("qrels", _qrels),
    "pools": ("scoreddocs", _pools),
}
