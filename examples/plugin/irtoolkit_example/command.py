"""Show the longest document of a dataset."""

from __future__ import annotations

import argparse

HELP = "show the longest document of a dataset"
EXAMPLES = ("irtoolkit longest csfcube/sample",)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET")


def execute(args: argparse.Namespace) -> None:
    import irtoolkit as ir

    longest = max(ir.load(args.dataset).docs_iter(), key=lambda doc: len(doc.default_text()))
    print(f"{longest.doc_id}\t{longest.default_text()}")
