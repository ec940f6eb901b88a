"""Failures of systems on a few invented queries, counted by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from ir_datasets.formats import GenericDoc, GenericQuery, TrecQrel

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.analyses.analyse import analyse
from irtoolkit.papers.analyses.failures import Failures
from irtoolkit.runs import Run
from tests.datasets import Docs
from tests.unit.papers.analyses.planted import dataset, rows_of

QUERIES = [
    GenericQuery("1", "a storm at sea"),
    GenericQuery("2", "grief"),
    GenericQuery("3", "joy"),
]
DOCS = [
    GenericDoc("a", "the storm broke the mast"),
    GenericDoc("b", "she wept all night"),
    GenericDoc("c", "he danced with joy"),
]
RELEVANT = {"1": "a", "2": "b", "3": "c"}
# The first finds query 1 alone; the second finds 2; neither finds 3.
RUNS = {
    "words": Run.of({"1": {"a": 3, "b": 2}, "2": {"a": 3, "b": 2}, "3": {"a": 3, "b": 2}}),
    "meaning": Run.of(
        {"1": {"b": 3, "a": 2}, "2": {"b": 3, "a": 2}, "3": {"a": 3, "b": 2, "c": 1}}
    ),
}


@pytest.fixture
def data() -> Dataset:
    return dataset(QUERIES, [TrecQrel(q, d, 1, "0") for q, d in RELEVANT.items()], Docs(DOCS))


def test_what_each_system_finds(data: Dataset) -> None:
    result = analyse(Failures(cutoff=1), [data], RUNS)
    found = rows_of(result, "found")
    assert found["words",] == (1, 1, 0)
    assert found["meaning",] == (1, 1, 1)
    assert found["any of them",][0] == 2


def test_terms_that_queries_share_with_what_is_found_and_missed(data: Dataset) -> None:
    """storm is in query 1 and its document, joy in query 3 and its own, nothing in query 2."""
    shared = rows_of(analyse(Failures(cutoff=1), [data], RUNS), "shared")
    assert shared == {("found",): (1, 1.0, 0.0), ("missed",): (2, 0.5, 50.0)}


def test_the_sheet_has_what_the_first_system_misses_and_reasons_are_counted(
    data: Dataset, tmp_path: Path
) -> None:
    sheet = tmp_path / "sheet.csv"
    analyse(Failures(cutoff=1), [data], RUNS, sheet=sheet)
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["query"]: row["ranks"] for row in rows} == {
        "2": "words 2, meaning 1",
        "3": "words -, meaning 3",
    }
    told = {row["query"]: (row["relevant"], row["first"], row["shared"]) for row in rows}
    assert told["3"] == (DOCS[2].text, DOCS[0].text, "joi")
    for row in rows:
        row["reason"] = "inference" if row["query"] == "2" else "words"
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    reasons = rows_of(analyse(Failures(cutoff=1), [data], RUNS, sheets=[sheet]), "reasons")
    assert reasons["inference",] == (1, 1)
    assert reasons["words",] == (1, 0)
    assert reasons["general",] == (0, 0)


def test_a_sheet_of_nothing_is_refused(data: Dataset, tmp_path: Path) -> None:
    run = Run.of({q: {d: 1.0} for q, d in RELEVANT.items()})
    with pytest.raises(InputError, match="words finds every query at rank 3"):
        analyse(Failures(cutoff=3), [data], {"words": run}, sheet=tmp_path / "sheet.csv")
    assert not (tmp_path / "sheet.csv").exists()


def test_a_query_of_another_dataset_is_refused(data: Dataset, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("query,reason\n9,general\n", encoding="utf-8")
    with pytest.raises(InputError, match="9 is not in "):
        analyse(Failures(cutoff=1), [data], RUNS, sheets=[sheet])
