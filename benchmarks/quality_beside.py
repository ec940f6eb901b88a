"""What quality.py measures beside a table: queries apart by what was seen, other judgments, and some rows again.

The first two are tables of one measure: a row for each system, with a figure for each column and what
the column counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from quality_choice import best_of
from quality_collections import COLLECTIONS
from quality_rows import Table, runs_of

import irtoolkit as ir
from irtoolkit.scoring.score import score

# Rows of QuoteR's table whose test queries are told apart.
_QUOTER = (
    "BM25",
    "CRM",
    "MiniLM",
    "known contexts, MiniLM, trained",
    "BM25 + CRM + known contexts of four",
    "BM25 + CRM + known contexts of four, tuned",
)
# Systems that are ranked by other judgments, too, with their settings.
_CACM = {
    "BM25": ("bm25", {}),
    "BM25 + RM3": ("rm3", {}),
    "`best` with MiniLM alone": ("best", {"models": "all-MiniLM-L6-v2"}),
    "`best`": ("best", {}),
}


def quotations(table: Table) -> dict[str, Any]:
    """The main measure of test queries whose quotation has a training context, and of the others."""
    known = {row.doc_id for row in ir.load(table.report.replace("/test", "/train")).qrels_iter()}
    data = ir.load(table.report)
    seen = {row.query_id for row in data.qrels_iter() if row.doc_id in known}
    rows = [row for row in table.rows if row.name in _QUOTER]
    values = _by_query(data, runs_of(table, table.report, rows), table.main)
    parts = {
        "seen in training": seen,
        "not seen": {query for each in values.values() for query in each} - seen,
    }
    return {
        "measure": table.main,
        "columns": [f"{name} ({len(queries)} queries)" for name, queries in parts.items()],
        "rows": {
            name: [_mean(values[name], queries) for queries in parts.values()] for name in _QUOTER
        },
    }


def judgments(table: Table) -> dict[str, Any]:
    """The main measure by the mended judgments, and by those that are distributed, with intervals."""
    data = ir.load(table.report)
    distributed = COLLECTIONS[table.collection].folder(table.collection) / "qrels.cacm.txt"
    runs = {
        name: ir.retrieve(data, system, depth=1000, **settings)
        for name, (system, settings) in _CACM.items()
    }
    rows: dict[str, list[float]] = {name: [] for name in runs}
    for judged in (data, str(distributed)):
        for one in ir.compare(judged, runs, measure=table.main, baseline="BM25"):
            rows[one.system] += [one.figure, one.low, one.high]
    mended, as_they_are = "judgments of the table", "as distributed"
    ends = ["{}", "95 % from", "to"]
    columns = [end.format(name) for name in (mended, as_they_are) for end in ends]
    return {"measure": table.main, "columns": columns, "rows": rows}


# What is measured beside a table, by benchmark.
BESIDE: Mapping[str, Callable[[Table], dict[str, Any]]] = {"quoter": quotations, "cacm": judgments}


def again(table: Table, group: str) -> dict[str, Any]:
    """The choice among the rows of one group, and its figures, where the other rows cannot be made.

    Raises:
        SystemExit: the table has no such alternatives, or chooses nowhere or by folds.
    """
    rows = [row for row in table.rows if row.group == group and row.alternative and row.tried]
    if not rows or not table.chooses or table.by_folds:
        raise SystemExit(f"{table.title}: no alternatives of {group} that are chosen on other data")
    held_out = score(table.choose, runs_of(table, table.choose, rows), table.measures)
    (chosen,) = best_of(group, rows, held_out, table).rows
    report = [row for row in rows if row.name == chosen]
    found = score(table.report, runs_of(table, table.report, report), table.measures)
    return {
        "group": group,
        "chosen": chosen,
        "figures": found[chosen].figures(),
        "tried": {row.name: held_out[row.name].figures()[table.main] for row in rows},
    }


def _by_query(data: Any, runs: Mapping[str, Any], measure: str) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for system, query, _, value in ir.evaluate(data, runs, measures=[measure]).per_query():
        found.setdefault(system, {})[query] = value
    return found


def _mean(values: Mapping[str, float], queries: Iterable[str]) -> float:
    return float(np.mean([values[query] for query in sorted(queries)]))
