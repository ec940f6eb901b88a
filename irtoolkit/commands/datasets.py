"""List the datasets, or show one.

The list says what is present here and where, and how to get what is not. With an ID: its counts,
licence and protocol, and the statistics table of its paper computed from the data, beside the
figures that the paper prints.
"""

from __future__ import annotations

import argparse
from typing import Any

from irtoolkit.commands import add_format, print_json

HELP = "list datasets, or show one with its statistics"
EXAMPLES = ("irtoolkit datasets", "irtoolkit datasets csfcube/sample")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID")
    add_format(parser)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.base.tables import TextTable

    if args.id is None:
        records = _list()
        if args.format == "json":
            print_json(records)
            return
        headers = ["id", "queries", "docs", "licence", "where", "how to get it"]
        rows = [[record[key] for key in headers] for record in records]
        print(TextTable(headers, rows).render(args.format))
        return
    shown = _show(args.id)
    if args.format == "json":
        print_json(shown)
        return
    if not shown["statistics"]:
        print("\n".join(f"{key}: {value}" for key, value in shown.items() if key != "statistics"))
        return
    rows = [[s["name"], s["value"], s["reported"]] for s in shown["statistics"]]
    title = "\n".join(f"{key}: {value}" for key, value in shown.items() if key != "statistics")
    headers = ["statistic", "computed", "paper"]
    print(
        TextTable(headers, rows, title if args.format == "text" else shown["id"], places=2).render(
            args.format
        )
    )


def _list() -> list[dict[str, Any]]:
    from irtoolkit.base.errors import InputError
    from irtoolkit.datasets import dataset_ids
    from irtoolkit.datasets.dataset import Dataset

    records = []
    for dataset_id in dataset_ids():
        dataset = Dataset.load(dataset_id)
        about = dataset.about
        if about is None or not about.listed:
            continue
        record: dict[str, Any] = {"id": dataset_id, "queries": None, "docs": None}
        try:
            where = about.where()
            if where is not None:
                queries = dataset.queries_count() if dataset.has_queries() else None
                record |= {"queries": queries, "docs": dataset.docs_count()}
            problem = None
        except InputError as error:
            where, problem = None, str(error)
        record |= {
            "licence": about.licence,
            "where": where,
            "how to get it": None if where else problem or about.howto,
        }
        records.append(record)
    return records


def _show(dataset_id: str) -> dict[str, Any]:
    from dataclasses import asdict

    from irtoolkit.datasets.benchmark import Statistic
    from irtoolkit.datasets.dataset import Dataset

    dataset = Dataset.load(dataset_id)
    about = dataset.about
    shown: dict[str, Any] = {"id": dataset_id}
    if about is not None:
        shown |= {
            "title": about.title, "paper": about.citation, "url": about.url,
            "licence": about.licence, "where": about.where() or f"not here: {about.howto}",
        }  # fmt: skip
        if about.where() is None:  # asking for more would start a download
            return {**shown, "statistics": []}
        statistics = about.statistics_of()
    else:
        statistics = [
            Statistic(kind, getattr(dataset, f"{kind}_count")())
            for kind in ("docs", "queries", "qrels", "scoreddocs")
            if dataset.has(kind) and hasattr(dataset, f"{kind}_count")
        ]
    plan = dataset.protocol
    shown["documents"] = dataset.docs_count() if dataset.has_docs() else None
    shown |= {"measures": " ".join(plan.measures), "averaging": plan.note}
    shown["statistics"] = [asdict(statistic) for statistic in statistics]
    return shown
