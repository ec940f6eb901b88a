"""The command of ir_datasets, which sees irtoolkit's collections too."""

from __future__ import annotations

import argparse
from typing import Any, TextIO

from irtoolkit.commands import pass_on

HELP = "ir_datasets' own command, with our collections"
EXAMPLES = (
    "irtoolkit ir_datasets export csfcube/sample/method queries --fields query_id facet",
    "irtoolkit ir_datasets lookup csfcube/sample 910000057 --fields doc_id title",
)


def configure(parser: argparse.ArgumentParser) -> None:
    pass_on(parser)


def execute(args: argparse.Namespace) -> None:
    import ir_datasets
    from ir_datasets.commands import export

    trec = export.QRELS_EXPORTERS["trec"]

    def relevance_alone(cls: Any, out: TextIO, fields: list[str] | None = None) -> Any:
        """Exports TREC qrels with relevance as the fourth and last field.

        Others have to be named.
        """
        plain = fields is None and "relevance" in cls._fields
        return trec(cls, out, ["relevance"] if plain else fields)

    export.QRELS_EXPORTERS["trec"] = relevance_alone
    try:
        ir_datasets.main(args.arguments)
    finally:
        export.QRELS_EXPORTERS["trec"] = trec
