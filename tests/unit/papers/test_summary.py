"""The last screen of `irtoolkit reproduce`: what ran, what the others need; cells and rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.rendering import as_tables
from irtoolkit.papers.result_json import as_json
from irtoolkit.papers.results import GroupResult, RowResult, TableResult
from irtoolkit.papers.summary import (
    as_summary,
    closing_lines,
    folded,
    missing_lines,
    missing_table,
    most_telling,
)
from irtoolkit.papers.tables import Row, Table
from irtoolkit.runs import Run
from irtoolkit.scoring.score import score

NAN = float("nan")
TABLE = Table(
    name="toy", title="A toy table", columns={"RR": "RR", "rank": "Rank"},
    groups={"all": "csfcube/sample", "method": "csfcube/sample/method"}, scale=100.0,
    baseline="base", tested="RR", rows=(), scales={"rank": 1.0},
)  # fmt: skip
BASE = Row("base", "bm25", reported={"all": [50.0, 3.0], "method": [40.0, NAN]})
BEST = Row("best", "dense", reported={"all": [61.0, 2.0]}, doubtful=("all.RR",))
OURS = Row("ours", "dense", note="Not in the paper.")


def measured(group: str, rr: float, rank: float, **more: Any) -> GroupResult:
    return GroupResult(group, "measured", figures={"RR": rr, "rank": rank}, **more)


def result(*rows: RowResult, **more: Any) -> TableResult:
    """What came of the toy table; a group is measured where a row is."""
    groups = {c.group: {} for row in rows for c in row.of_status("measured")}
    scores: Any = {group: groups[group] for group in TABLE.groups if group in groups}
    return TableResult(TABLE, rows, more.pop("sample", False), "base", scores, **more)


MEASURED = (
    RowResult(BASE, (measured("all", 50.001, 3.0), measured("method", 41.0, 5.0))),
    RowResult(
        BEST, (measured("all", 60.5, 2.0, p_value=0.01), measured("method", 70.0, 1.0, p_value=0.2))
    ),
    RowResult(OURS, (measured("all", 55.0, 2.5), measured("method", 40.0, 2.0))),
)


def test_one_table_has_what_ran_with_the_papers_figure_and_the_difference() -> None:
    table = as_summary(result(*MEASURED))
    assert table.headers == ["system", "RR", "rank", "paper", "diff", "same"]
    assert table.rows == [
        ["all", "", "", "", "", ""],
        [" base", 50.001, 3.0, "50.00", "+0.00", "2/2"],
        [" best", "60.50*", 2.0, "61.00?", "-0.50", "1/2"],
        [" ours", 55.0, 2.5, "", "", ""],
        ["method", "", "", "", "", ""],
        [" base", 41.0, 5.0, "40.00", "+1.00", "0/1"],
        [" best", 70.0, 1.0, "", "", ""],
        [" ours", 40.0, 2.0, "", "", ""],
    ]
    notes = " ".join(table.notes)
    assert (
        "In the column RR, * marks a figure that differs significantly from that of base" in notes
    )
    assert "paper, diff: the paper's RR" in notes


def test_a_mark_is_explained_only_where_there_is_one() -> None:
    alike = RowResult(BEST, (measured("all", 60.5, 2.0, p_value=0.4),))
    table = as_summary(result(RowResult(BASE, (measured("all", 50.0, 3.0),)), alike))
    assert "*" not in f"{table.rows} {table.notes}"
    assert any(
        note.startswith("No RR differs significantly from that of base") for note in table.notes
    )
    alone = as_summary(result(RowResult(BASE, (measured("all", 50.0, 3.0),))))
    assert "differs" not in " ".join(alone.notes)


def test_one_group_needs_no_heading_and_its_dataset_is_in_the_title() -> None:
    no_data = GroupResult("method", "no data", "it is not here")
    rows = [RowResult(row.row, (row["all"], no_data)) for row in MEASURED]
    table = as_summary(result(*rows))
    assert table.title == "A toy table (csfcube/sample)"
    assert [row[0] for row in table.rows] == ["base", "best", "ours"]
    assert "method: no data: it is not here" in table.notes


@pytest.mark.parametrize(
    ("made", "note"),
    [
        (result(*MEASURED, sample=True), "Measured on the invented sample"),
        (
            result(*(RowResult(r.row, tuple(replace(c, foreign="1 query") for c in r.cells)) for r in MEASURED)),
            "all: the data here have 1 query: compare rows with each other",
        ),
        (
            replace(result(*MEASURED), table=replace(TABLE, other_data=dict.fromkeys(TABLE.groups, "they are of another split"))),
            "all: no differences, since they are of another split; --all prints those figures.",
        ),
    ],
    ids=["sample", "foreign", "another split"],
)  # fmt: skip
def test_no_difference_is_shown_where_the_data_are_not_the_papers(
    made: TableResult, note: str
) -> None:
    table = as_summary(made)
    assert table.headers == ["system", "RR", "rank"]
    assert note in " ".join(table.notes)


def test_settings_are_named_only_where_they_leave_out_the_querys_own_document() -> None:
    dropped = replace(MEASURED[1], settings={"self": "drop"})
    kept = replace(MEASURED[0], settings={"self": "keep"})
    notes = " ".join(as_summary(result(kept, dropped)).notes)
    assert "best: without the query's own document (self=drop)." in notes
    assert "keep" not in notes


def lacking(system: str, *cells: GroupResult) -> RowResult:
    return RowResult(Row(system, "dense"), cells)


def missing(group: str, reason: str, need: Any = "weights", status: Any = "missing") -> GroupResult:
    return GroupResult(group, status, reason, need)


def test_published_rankings_lack_nothing() -> None:
    published = RowResult(
        Row("e", ranking="runs/"), (missing("all", "scored", None, "unavailable"),)
    )
    lines = closing_lines(result(*MEASURED, published))
    assert lines == ["1 row is a published ranking: --all prints the figures"]
    assert missing_lines(result(*MEASURED, published)) == lines
    assert missing_table(result(*MEASURED, published)).rows == []


def test_a_library_that_all_rows_lack_is_named_at_once() -> None:
    reason = "sentence-transformers is not installed (pip install '.[neural]' in the folder of irtoolkit)"
    rows = [lacking(name, missing("all", reason)) for name in "ab"]
    train = lacking("c", missing("all", "train", "training"))
    assert closing_lines(result(*rows, train)) == [
        *folded(f"2 rows did not run: {reason}"),
        "1 row needs training: see irtoolkit reproduce toy --missing",
    ]


def test_rows_that_failed_are_told_one_by_one() -> None:
    failed = lacking("a", missing("all", "its file is damaged", None, "failed"))
    assert closing_lines(result(failed)) == ["failed a: its file is damaged"]
    assert (failed.status, failed.reason) == ("failed", "its file is damaged")


def test_missing_rows_are_listed_once_or_for_each_group() -> None:
    rows = [
        lacking("a", missing("all", "get a"), missing("method", "get a")),
        lacking("b", GroupResult("all", "ready"), missing("method", "train it", "training")),
        lacking("c", GroupResult("all", "ready"), GroupResult("method", "ready")),
    ]
    found = result(*rows)
    assert missing_lines(found) == ["a: get a", "b method: train it"]
    assert missing_table(found).rows == [
        ["a", "all", "weights", "get a"],
        ["a", "method", "weights", "get a"],
        ["b", "method", "training", "train it"],
    ]


def test_the_most_telling_pair_is_the_best_and_the_baseline() -> None:
    dataset = Dataset.load("csfcube/sample")
    rng = np.random.default_rng(3)
    pools = dataset.pools()
    judged = dataset.qrels.as_dict()
    runs = {
        "base": {q: {d: float(rng.random()) for d in pool} for q, pool in pools.items()},
        "ideal": {q: {d: float(judged[q].get(d, 0)) for d in pool} for q, pool in pools.items()},
        "worst": {q: {d: -float(judged[q].get(d, 0)) for d in pool} for q, pool in pools.items()},
    }
    scores = score(dataset, {name: Run.of(run) for name, run in runs.items()}, "RR Rank")
    found = replace(result(*MEASURED), scores={"all": scores})
    assert most_telling(found, "all") == ("ideal", "base")
    by_rank = replace(found, table=replace(TABLE, tested="rank"))
    assert most_telling(by_rank, "all") == ("ideal", "base")
    assert most_telling(replace(found, baseline="ours"), "all") == ()


# -- cells and rows ----------------------------------------------------------------------------------


def test_json_tells_groups_without_data_from_rows_that_lack_something() -> None:
    rows = (
        RowResult(BASE, (measured("all", 50.0, 3.0, foreign="1 query", trained="models/a"),
                         GroupResult("method", "no data", "not here"))),
        lacking("a", missing("all", "get a"), GroupResult("method", "no data", "not here")),
        lacking("b", missing("all", "lost", "recipe", "unavailable"),
                GroupResult("method", "no data", "not here")),
    )  # fmt: skip
    base, a, b = as_json(result(*rows))["rows"]
    assert base["measured"] == {"all": {"RR": 50.0, "rank": 3.0}}
    assert (base["foreign"], base["trained"]) == ({"all": "1 query"}, {"all": "models/a"})
    assert base["lacking"] == a["lacking"] == b["lacking"] == {"method": "not here"}
    assert (a["status"], a["reason"], a["absent"]) == ("missing", "get a", {"all": "get a"})
    assert (b["status"], b["reason"], b["absent"]) == ("missing", "lost", {})
    notes = as_tables(result(*rows))[-1].notes
    assert notes.count("missing method: not here") == 1
    assert "missing a: get a" in notes
    assert "missing b: lost" in notes
    assert "trained base: models/a" in notes
