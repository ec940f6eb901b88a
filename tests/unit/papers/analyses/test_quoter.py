"""QuoteR's analyses on a few contexts whose figures are computed by hand."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.analyses.analyse import analyse
from irtoolkit.papers.analyses.quoter_cases import QuoterCases
from irtoolkit.papers.analyses.quoter_contexts import QuoterContexts
from irtoolkit.papers.analyses.quoter_frequency import QuoterFrequency
from irtoolkit.runs import Run
from tests.conftest import Answer
from tests.unit.papers.analyses.planted import rows_of

VAL = "quoter/en/val"


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """English contexts: quote a in 121 of them, b in 51, c in 20, d in 8."""
    lines = [
        f"left {i}\t{quote}\tright {i}"
        for quote, count in (("a", 121), ("b", 51), ("c", 20), ("d", 8))
        for i in range(count)
    ]
    folder = tmp_path / "data" / "quoter"
    folder.mkdir(parents=True)
    (folder / "english.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.setenv("IRTOOLKIT_DATA", str(tmp_path / "data"))
    return folder


def test_quotes_by_the_number_of_their_contexts(release: Path) -> None:
    names = [f"quoter/en/{split}" for split in ("train", "val", "test")]
    found = rows_of(analyse(QuoterContexts(), names), "quotes")
    assert found == {("quoter/en",): (4, 1, 1, 0, 1, 1)}


def test_results_by_how_often_train_has_the_quote(release: Path) -> None:
    """Of 200 lines, train has 160, so all of a and 39 of b; val is 12 of b and 8 of c."""
    data = Dataset.load(VAL)
    golds = data.relevant()
    # b is found at once, c at the second rank.
    rows = {
        query: {gold: 2.0 if gold == "en-q2" else 0.5, "en-q4": 1.0}
        for query, (gold,) in golds.items()
    }
    result = analyse(QuoterFrequency(), [data], {"mine": Run.of(rows)})
    counts, found = rows_of(result, "quotes"), rows_of(result, "frequency")
    assert counts == {("0 in train",): (8, 1), ("20-49 in train",): (12, 1)}
    assert found["mine", "20-49 in train"] == (1.0, 1.0)
    rr, ndcg = found["mine", "0 in train"]
    assert rr == 0.5
    assert ndcg == pytest.approx(1 / math.log2(3))


def test_single_cases_show_the_quote_that_was_there(release: Path) -> None:
    data = Dataset.load(VAL)
    rows = {query: {"en-q1": 2.0, "en-q2": 1.0} for query in data.query_ids()}
    run = {"mine": Run.of(rows)}
    (table,) = analyse(QuoterCases(query="en-161"), [data], run).findings.tables
    assert "[Quote]" in table.title
    assert [row.values for row in table.rows] == [(2.0, "", "a"), (1.0, "*", "b")]
    assert len(analyse(QuoterCases(cases=2), [data], run).findings.tables) == 2
    with pytest.raises(InputError, match="no context 'en-1' in quoter/en/val"):
        analyse(QuoterCases(query="en-1"), [data], run)
    with pytest.raises(InputError, match="hits is 0"):
        analyse(QuoterCases(hits=0), [data], run)


def test_people_say_what_suits(irtoolkit: Callable[..., Answer], tmp_path: Path) -> None:
    command = (
        "analyse",
        "quoter-suitability",
        "quoter/sample/en/val",
        "--queries",
        "2",
        "--hits",
        "3",
    )
    sheet = tmp_path / "sheet.csv"
    assert irtoolkit(*command, "--sheet", sheet).status == 0
    lines = sheet.read_text("utf-8-sig").splitlines()
    assert len(lines) == 7
    # Of the first context the second and third quotes suit, of the second none.
    words = ("no", "yes", "yes", "no", "no", "no")
    filled = [lines[0], *(line + word for line, word in zip(lines[1:], words, strict=True))]
    done = tmp_path / "done.csv"
    done.write_text("\n".join(filled) + "\n", encoding="utf-8")
    said = irtoolkit(*command, "--sheets", done, "--format", "json")
    assert said.status == 0, said.err
    (table,) = json.loads(said.out)["tables"]
    suits = {row["relevant"]: row["measured"] for row in table["rows"]}["any that suits"]
    assert suits == pytest.approx(
        {"nDCG@5": 1 / math.log2(3) / 2, "R@1": 0.0, "R@3": 0.5, "suitable quotes": 1.0}
    )
    assert [row[0] for row in csv.reader(lines)][1] == [row[0] for row in csv.reader(lines)][3]
    other = irtoolkit(*command[:-4], "--seed", "5", "--queries", "1", "--sheets", done)
    assert "is not in the sample" in other.err
