"""PlotRetrieval's analyses: word overlap, kinds of association, people beside a system."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.analyses.analyse import analyse
from irtoolkit.papers.analyses.plotretrieval_overlap import PlotOverlap
from tests.conftest import Answer
from tests.datasets import register
from tests.unit.papers.analyses.planted import rows_of

VAL = "plotretrieval/sample/val"


def test_overlap_is_that_of_the_query_with_its_relevant_documents() -> None:
    name = register(
        {"d1": "an old boat", "d2": "gulls", "d3": "boat"},
        {"q1": "boat gulls"},
        qrels=[("q1", "d1", 1), ("q1", "d2", 1), ("q1", "d3", 0)],
    )
    found = rows_of(analyse(PlotOverlap("sklearn"), [name]), "overlap")
    assert found[name,] == pytest.approx((50.0, 50.0))


def test_other_tokens_are_not_compared_with_the_papers() -> None:
    assert PlotOverlap("nltk").differs() is None
    assert "scikit-learn's" in (PlotOverlap("sklearn").differs() or "")


@pytest.fixture
def twenty(
    irtoolkit: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """A dataset of four candidates for each query."""
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    name = f"{VAL}/4-way"
    assert irtoolkit("nway", name, "--queries", "5", "--seed", "1").status == 0
    return name


def test_people_choose_among_a_few(
    twenty: str, irtoolkit: Callable[..., Answer], tmp_path: Path
) -> None:
    sheet, done = tmp_path / "sheet.csv", tmp_path / "anna.csv"
    assert irtoolkit("analyse", "plotretrieval-people", twenty, "--sheet", sheet).status == 0
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 20
    relevant = Dataset.load(twenty).relevant()
    queries = sorted({row["query"] for row in rows})
    # Right in the first three, wrong in the fourth; the fifth is left out.
    for query in queries[:4]:
        right = query != queries[3]
        own = (row for row in rows if row["query"] == query)
        next(row for row in own if (row["candidate"] in relevant[query]) == right)["chosen"] = "yes"
    with done.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    said = irtoolkit(
        "analyse", "plotretrieval-people", twenty, "--sheets", done, "--format", "json"
    )
    assert said.status == 0, said.err
    (table,) = json.loads(said.out)["tables"]
    by = {row["who"]: row["measured"] for row in table["rows"]}
    assert by["anna.csv"] == {"queries": 4, "accuracy, %": 75.0}
    assert by["people, mean"]["accuracy, %"] == 75.0
    assert by["bm25"]["queries"] == 4
    again = done.read_text("utf-8").splitlines()
    free = next(line for line in again[1:] if line.startswith(queries[0]) and line.endswith(","))
    done.write_text("\n".join([*again, ""]).replace(free, free + "yes"), encoding="utf-8")
    twice = irtoolkit("analyse", "plotretrieval-people", twenty, "--sheets", done)
    assert "has two candidates that are chosen" in twice.err


def test_a_whole_book_is_too_many_candidates(irtoolkit: Callable[..., Answer]) -> None:
    said = irtoolkit("analyse", "plotretrieval-people", VAL, "--sheet", "none.csv")
    assert "too many to read" in said.err
    assert not Path("none.csv").exists()


def test_associations_are_asked_of_plots_only(
    irtoolkit: Callable[..., Answer], tmp_path: Path
) -> None:
    sheet = tmp_path / "sheet.csv"
    said = irtoolkit(
        "analyse", "plotretrieval-associations", VAL, "--queries", "3", "--sheet", sheet
    )
    assert said.status == 0, said.err
    assert len(sheet.read_text("utf-8").splitlines()) == 4
    other = irtoolkit("analyse", "plotretrieval-associations", "csfcube/sample", "--sheet", sheet)
    assert "has no readers' texts on plots" in other.err
