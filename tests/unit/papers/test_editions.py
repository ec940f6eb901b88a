"""Figures by the edition of the data that they are of, their spread, and rows of another table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets import relic
from irtoolkit.datasets.benchmark import RELEASE
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.nway import read_nway
from irtoolkit.papers.catalogue import find_table
from irtoolkit.papers.data import pick_candidates
from irtoolkit.papers.rendering import as_tables
from irtoolkit.papers.result_json import as_json
from irtoolkit.papers.results import GroupResult, RowResult, TableResult
from irtoolkit.papers.summary import as_summary
from irtoolkit.papers.tables import load_table
from irtoolkit.runs import Run
from irtoolkit.runs.exact_ranks import read_ranks

SAMPLE = Path(relic.__file__).parent / "samples" / "relic" / "val.json"


# -- editions ---------------------------------------------------------------------------------


def test_an_edition_is_known_by_its_number_of_queries() -> None:
    about = Dataset.load("relic/val").about
    assert about is not None
    assert about.difference(7833) is None
    assert about.difference(7833, RELEASE) is None
    assert about.difference(9036) is None
    assert about.difference(9036, RELEASE) == (
        "9036 queries, those of the submission, not the 7833 of the published release"
    )
    assert about.difference(5) == (
        "5 queries, not the 9036 of the submission or the 7833 of the published release"
    )
    assert about.difference(5, RELEASE) == "5 queries, not the 7833 of the published release"
    one = Dataset.load("egret/dev").about
    assert one is not None
    assert one.difference(1185) is None
    assert one.difference(5) == "5 queries, not the 1185 of the published release"
    sample = Dataset.load("relic/sample/val")
    assert sample.difference() is None
    assert sample.difference(RELEASE) is None


def test_statistics_stand_beside_the_figures_of_their_edition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release = relic.read_relic(SAMPLE, False)
    rows = {row.name: row for row in relic._statistics(release, "val")}
    assert (rows["Windows"].reported, rows["Windows"].edition) == (9036, "submission")
    assert rows["Average query length, words"].reported == 154.1
    assert rows["Average sentences of context"].edition is None
    monkeypatch.setitem(relic.EDITIONS["val"], RELEASE, len(list(release.queries(4, 4))))
    rows = {row.name: row for row in relic._statistics(release, "val")}
    assert (rows["Windows"].reported, rows["Windows"].edition) == (75, RELEASE)
    pools = rows["Average number of candidates per query"]
    assert (pools.reported, pools.edition) == (10199.8, RELEASE)
    assert rows["Average query length, words"].reported is None


def measured(values: list[float], **more: Any) -> TableResult:
    """What came of two rows of RELiC's table on the validation split; the test split is hidden."""
    table = find_table("relic")
    figures = dict(zip(table.columns, values, strict=True))
    rows = [
        RowResult(
            table.find_row(system),
            (
                GroupResult("test", "no data", "it is hidden"),
                GroupResult("val", "measured", figures=figures, **more),
            ),
        )
        for system in ("BM25-4-4", "dense-RELiC-4-4")
    ]
    scores: Any = {"val": {}}
    return TableResult(table, tuple(rows), False, table.baseline, scores)


def test_only_the_figures_of_the_readme_are_compared_with_the_validation_split() -> None:
    found = measured([6.7, 14.1, 18.4, 25.8, 45.0, 53.6, 704.62])
    shown = as_summary(found)
    assert shown.headers[-3:] == ["paper", "diff", "same"]
    assert [row[-3:] for row in shown.rows] == [["", "", ""], ["25.8", "+0.0", "7/7"]]
    notes = " ".join(" ".join(shown.notes).split())
    assert (
        "val: the reported figures are those of the README of the released code, on the data of"
        " the published release." in notes
    )
    # Other data than the release's have nothing beside them.
    other = as_summary(
        measured([6.7, 14.1, 18.4, 25.8, 45.0, 53.6, 704.62], foreign="9036 queries")
    )
    assert other.headers[-1] == "mean rank"


# -- standard deviations ----------------------------------------------------------------------


def test_deviations_are_printed_below_the_figures_and_stay_out_of_the_differences() -> None:
    table = find_table("csfcube")
    row = table.find_row("SPECTER-ID")
    cells = tuple(
        GroupResult(
            group, "measured", figures=dict(zip(table.columns, row.reported[group], strict=True))
        )
        for group in table.groups
    )
    found = TableResult(table, (RowResult(row, cells),), False, table.baseline)
    lines = {line[1]: line[2:-1] for line in as_tables(found)[0].rows}
    assert lines["±"] == ["0.79", "0.22", "1.54", "0.06", "0.70"]
    assert set(lines["difference"]) == {"+0.00"}
    # Table 4, as far as Table 3 has it too.
    [printed] = as_json(found)["rows"]
    assert printed["spread"]["method"] == {
        "RP": 0.3, "P@20": 1.21, "R@20": 3.6, "nDCGp(p=100)": 0.4, "nDCGp(p=20)": 0.78
    }  # fmt: skip
    assert printed["spread"].keys() == row.reported.keys()


# -- rows of another table --------------------------------------------------------------------

BASE = """title = "t"
scale = 1.0
baseline = "a"
tested = "RR"
[columns]
RR = "RR"
[groups]
val = "relic/val"
"""
FIRST = """[[row]]
system = "a"
retriever = "bm25"
view = "1-1"
note = "as printed"
set = { k1 = 0.5 }
reported.val = [0.1]
[[row]]
system = "b"
unavailable = "it was lost"
"""


def write(folder: Path, name: str, *parts: str) -> Path:
    (folder / f"{name}.toml").write_text("".join(parts), "utf-8")
    return folder / f"{name}.toml"


def test_a_row_is_run_as_that_of_the_other_table(tmp_path: Path) -> None:
    write(tmp_path, "first", BASE, FIRST)
    rows = (
        '[[row]]\nsystem = "a"\nreported.val = [0.2]\n[[row]]\nsystem = "b"\nretriever = "tfidf"\n'
    )
    table = load_table(write(tmp_path, "second", 'rows_of = "first"\n', BASE, rows))
    row, own = table.rows
    assert (row.retriever, row.view, row.settings, row.note) == (
        "bm25",
        "1-1",
        {"k1": 0.5},
        "as printed",
    )
    assert row.reported == {"val": [0.2]}, "figures are each table's own"
    assert (own.retriever, own.unavailable) == ("tfidf", None)


@pytest.mark.parametrize(
    ("rows_of", "row", "found"),
    [
        ("first", "c", "row c: it has no retriever"),
        ("second", "a", "rows_of names the table itself"),
        ("third", "a", "not a table in TOML"),
    ],
)
def test_rows_that_no_other_table_has(tmp_path: Path, rows_of: str, row: str, found: str) -> None:
    write(tmp_path, "first", BASE, FIRST)
    text = f'[[row]]\nsystem = "a"\n[[row]]\nsystem = "{row}"\n'
    path = write(tmp_path, "second", f'rows_of = "{rows_of}"\n', BASE, text)
    with pytest.raises(InputError, match=found):
        load_table(path)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("[candidates.val]\nbelow = 5\n", "the candidates of val need a system"),
        ('[candidates.val]\nsystem = "a"\nabove = 5\n', "the candidates of val need a system"),
        ('[candidates.no]\nsystem = "a"\n', "candidates has 'no', which is not a group"),
        ('[editions]\nno = "first"\n', "editions has 'no', which is not a group"),
    ],
)
def test_what_a_table_says_of_a_group_that_it_lacks(tmp_path: Path, line: str, found: str) -> None:
    with pytest.raises(InputError, match=found):
        load_table(write(tmp_path, "first", BASE, line, FIRST))


# -- candidates of N-way tasks ----------------------------------------------------------------


def test_the_second_kind_of_distractors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELiC §4: the best of a model, for the windows whose quotation it ranks below a rank."""
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    rule = {"val-errors": {"system": "BM25-4-4", "below": 20}}
    table = replace(find_table("relic-proxy"), candidates=rule)
    said: list[str] = []
    pick_candidates(table, "val", True, tmp_path, said.append)
    assert not said, "a group without a rule"
    pick_candidates(table, "val-errors", True, tmp_path, said.append)
    [path] = tmp_path.glob("*.run")
    ranks = read_ranks(path, Run.read(path)) or {}
    expected = [query for query, docs in ranks.items() if min(docs.values()) > 20]
    picked = read_nway("relic/sample/val/proxy-errors")
    assert 0 < len(picked) < len(ranks)
    assert sorted(choice.query_id for choice in picked) == sorted(expected)
    first = Run.read(path)
    for choice in picked:
        best = [row.doc_id for row in first.ranking(choice.query_id)][:2]
        assert set(choice.doc_ids) == {*best, *ranks[choice.query_id]}
    pick_candidates(table, "val-errors", True, tmp_path, said.append)
    assert ["candidates picked from" in line for line in said] == [True, False]


def test_a_model_that_is_not_there_picks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("irtoolkit.training.model_paths.cache_home", lambda: tmp_path / "cache")
    with pytest.raises(InputError, match="best documents of dense-RELiC-4-4: not trained here"):
        pick_candidates(find_table("relic-proxy"), "val-errors", True, tmp_path, print)
    monkeypatch.setenv("IRTOOLKIT_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="relic release is not on this machine"):
        pick_candidates(find_table("relic-proxy"), "val-errors", False, tmp_path, print)
