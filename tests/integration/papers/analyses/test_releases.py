"""Analyses of data in the form of the releases, beside plain counts of their files."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from irtoolkit.papers.analyses.analyse import analyse
from irtoolkit.papers.analyses.quoter_contexts import QuoterContexts
from irtoolkit.papers.analyses.relic_quotations import RelicQuotations
from irtoolkit.papers.analyses.result import AnalysisResult


def needed(real_data: Path, name: str) -> Path:
    path = real_data / name
    if not path.exists():
        pytest.skip(f"{real_data} has no {name}")
    return path


def rows_of(result: AnalysisResult, name: str) -> dict[str, tuple[object, ...]]:
    (table,) = (one for one in result.findings.tables if one.name == name)
    return {row.names[0]: row.values for row in table.rows}


def test_quotations_are_those_of_the_file(real_data: Path) -> None:
    windows = json.loads(needed(real_data, "relic/val.json").read_text("utf-8"))
    found = rows_of(analyse(RelicQuotations(), "relic/val"), "books")
    assert {book: len(one["quotes"]) for book, one in windows.items()} == {
        book: values[0] for book, values in found.items() if book in windows
    }


def test_quotes_are_counted_as_in_the_lines_of_the_file(real_data: Path) -> None:
    lines = needed(real_data, "quoter/ancient_chinese.txt").read_text("utf-8").splitlines()
    counts = Counter(line.split("\t")[1].strip() for line in lines)
    names = [f"quoter/lzh/{split}" for split in ("train", "val", "test")]
    found = rows_of(analyse(QuoterContexts(), names), "quotes")["quoter/lzh"]
    assert found[0] == len(counts)
    assert found[1] == sum(n <= 10 for n in counts.values())
    assert found[3] == sum(20 < n <= 50 for n in counts.values())
    assert sum(int(str(n)) for n in found[1:]) == found[0]
