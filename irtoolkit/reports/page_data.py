"""Data that a report's page holds for its script: values of every query, ranks, texts."""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Sequence
from typing import Any

from irtoolkit.reports.content import ReportContent
from irtoolkit.reports.palette import MARKS
from irtoolkit.reports.texts import QueryTexts, Text

# Decimals of per-query values in the page.
PLACES = 6


def packed(content: Any) -> str:
    """JSON as gzip in base64, a third of its size, and safe inside a script element."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def packed_size(entries: Sequence[QueryTexts]) -> int:
    """The number of bytes that texts take in a page."""
    return len(packed([_entry(entry) for entry in entries]))


def data_of(report: ReportContent) -> dict[str, Any]:
    """The data of the page's script: per-query values of every measure, ranks, texts."""
    measures = [column.measure for column in report.columns]
    grades = {grade for entry in report.texts.entries for grade in entry.grades.values()}
    return {
        "measures": [{"name": c.measure, "lower": c.lower} for c in report.columns],
        "systems": [{"name": s.name, "letter": s.letter} for s in report.systems],
        "kinds": len(MARKS),
        "queries": [str(query_id) for query_id in report.query_ids],
        "values": [
            [_numbers(evaluation.per_query(name).tolist()) for evaluation in report.evaluations]
            for name in measures
        ],
        "ranks": [_numbers(row.tolist()) for row in report.first_relevant.ranks],
        "rel": report.first_relevant.rel,
        "graded": bool(grades - {0, 1}),
        "chart": measures.index(report.chart),
        "pair": list(report.pair),
        "queryLang": report.texts.query_lang,
        "docLang": report.texts.doc_lang,
        "entries": [_entry(entry) for entry in report.texts.entries],
    }


def _numbers(values: Sequence[float]) -> list[float | int | None]:
    """Values for JSON: whole numbers without a point, null for values that are not finite."""
    rounded = (round(v, PLACES) if math.isfinite(v) else None for v in values)
    return [int(v) if v is not None and v == int(v) else v for v in rounded]


def _entry(entry: QueryTexts) -> dict[str, Any]:
    return {
        "q": entry.query,
        "text": _text(entry.text),
        "docs": {doc_id: _text(doc) for doc_id, doc in entry.docs.items()},
        "grades": dict(entry.grades),
        "gold": list(entry.gold),
        "relevant": entry.relevant,
        "tops": [list(top) for top in entry.tops],
    }


def _text(text: Text | None) -> dict[str, Any] | None:
    if text is None:
        return None
    return {
        "title": text.title,
        "pieces": text.pieces,
        "held": text.held,
        "length": text.length,
        "facts": [[fact.name, fact.value] for fact in text.facts],
        "shares": text.shares,
    }
