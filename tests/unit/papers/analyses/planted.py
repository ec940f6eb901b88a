"""Small datasets in memory for analyses, whose figures can be computed by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ir_datasets
from ir_datasets.formats import BaseQrels

from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.analyses.analyse import analyse
from irtoolkit.papers.analyses.base import Analysis
from irtoolkit.papers.analyses.result import AnalysisResult
from irtoolkit.runs import Run
from tests.datasets import Queries


class Judged(BaseQrels):  # type: ignore[misc]
    """Judgments as records of their own kind, which may hold more than a grade."""

    def __init__(self, rows: Iterable[Any]) -> None:
        self.rows = list(rows)

    def qrels_iter(self) -> Any:
        return iter(self.rows)

    def qrels_cls(self) -> type:
        return type(self.rows[0])

    def qrels_defs(self) -> dict[int, str]:
        return {}


def dataset(queries: Iterable[Any], qrels: Iterable[Any], *parts: Any) -> Dataset:
    """A dataset of records."""
    held = ir_datasets.Dataset(Queries(queries), Judged(qrels), *parts)
    return Dataset("planted", held, in_memory=True)


def figures(
    analysis: Analysis, data: Dataset, table: str, runs: dict[str, Run] | None = None
) -> dict[tuple[str, ...], tuple[Any, ...]]:
    """Names of a row to what was measured in it, of one table of an analysis."""
    return rows_of(analyse(analysis, [data], runs or {}), table)


def rows_of(result: AnalysisResult, table: str) -> dict[tuple[str, ...], tuple[Any, ...]]:
    (found,) = (one for one in result.findings.tables if one.name == table)
    return {row.names: row.values for row in found.rows}
