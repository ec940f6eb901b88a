"""Pages of measured and reported figures, from JSON alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.papers.page_rows import agreement
from irtoolkit.papers.pages import INDEX, STYLES, pages, read_result
from tests.conftest import Answer

Command = Callable[..., Answer]


def a_row(system: str = "ours", **more: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {
        key: {}
        for key in ("measured", "reported", "differences", "spread", "lacking", "absent", "p")
    }
    commands = {"all": {"prepare": [], "retrieve": f"irtoolkit retrieve toy {system}", "eval": ""}}
    return {
        "system": system, "status": "measured", "reason": None, "state": "measured", "with": "bm25",
        "note": None, "doubtful": [], "commands": commands, "reproduce": "", **empty, **more,
    }  # fmt: skip


def a_result(*rows: dict[str, Any], name: str = "toy", benchmark: str = "toy") -> dict[str, Any]:
    about = {"title": None, "citation": None, "url": None, "licence": None, "name": benchmark}
    data = {"dataset": "toy", "state": "release", "queries": 3, "differs": None, "absent": None}
    spec = {"measure": "RR", "scale": 100.0, "lower_is_better": False}
    return {
        "experiment": name, "title": "A toy, Table 1", "benchmark": about,
        "made": {"date": "2026-01-02", "irtoolkit": "0.1", "device": "a machine"},
        "sample": False, "groups": {"all": "toy"}, "data": {"all": data}, "incomparable": {},
        "columns": {"MRR": spec, "rank": {"measure": "Rank", "scale": 1.0, "lower_is_better": True}},
        "places": 2, "baseline": "base", "editions": {}, "sources": {}, "rows": list(rows),
        "test": {"column": "MRR", "test": "student", "correction": "holm"},
    }  # fmt: skip


def figures(mrr: float | None, rank: float | None) -> dict[str, Any]:
    return {"all": {"MRR": mrr, "rank": rank}}


class Cells(HTMLParser):
    """The rows of tables as texts, without what only a screen reader is told."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.scopes: list[str | None] = []
        self._unseen = self._inside = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")
            self._inside = True
            if tag == "th":
                self.scopes.append(dict(attrs).get("scope"))
        self._unseen = self._unseen or dict(attrs).get("class") == "unseen"

    def handle_endtag(self, tag: str) -> None:
        if tag in ("th", "td"):
            self._inside = False
        if tag == "span":
            self._unseen = False

    def handle_data(self, data: str) -> None:
        if self._inside and not self._unseen:
            self.rows[-1][-1] += data


# -- what came of a row ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gaps", "more", "said"),
    [
        (figures(0.0, 0.0), {}, "exact"),
        (figures(0.01, 0.0), {}, "within rounding"),
        (figures(-3.5, 0.02), {}, "0 of 2 exact, up to 3.50"),
        (figures(0.6, 0.1), {"spread": figures(0.5, 0.2)}, "0 of 2 exact, up to 0.60"),
        (figures(9.0, 0.0), {"doubtful": ["all.MRR"]}, "exact"),
        ({}, {"reported": {}}, "not in the paper"),
        ({}, {"measured": {}, "state": "weights"}, "needs weights"),
    ],
)
def test_a_verdict_says_how_near_a_row_is(
    gaps: dict[str, Any], more: dict[str, Any], said: str
) -> None:
    usual = {"measured": figures(1.0, 1.0), "reported": figures(1.0, 1.0), "differences": gaps}
    row = a_row(**{**usual, **more})
    assert agreement(a_result(row), row, "all") == said


# -- pages -------------------------------------------------------------------------------------------


def test_a_page_for_each_benchmark_and_one_that_lists_them() -> None:
    first = a_result(
        a_row(measured=figures(10.0, 5.0), reported=figures(20.0, 1.0)),
        a_row("best", measured=figures(30.0, 9.0)),
    )
    made = pages(
        [a_result(a_row(), name="toy-b"), first, a_result(a_row(), name="x", benchmark="other")]
    )
    assert list(made) == [INDEX, "other.md", "toy.md"]
    assert made["toy.md"].index("## toy\n") < made["toy.md"].index("## toy-b\n")
    assert "best: 30.00 MRR (all)" in made[INDEX]
    assert "ours: 20.00 MRR (all)" in made[INDEX]
    assert "2 of 2" in made[INDEX]
    lower = {**first, "test": {**first["test"], "column": "rank"}}
    assert "ours: 5.00 rank (all)" in pages([lower])[INDEX]
    with pytest.raises(InputError, match="two results of the table toy"):
        pages([first, first])


def test_figures_are_counted_only_where_they_are_compared() -> None:
    row = a_row(
        measured=figures(1.0, 2.0), reported=figures(1.0, 3.0), differences=figures(0.0, -1.0)
    )
    assert "| 1 of 2 |" in pages([a_result(row)])[INDEX]
    assert "| other data |" in pages([a_result({**row, "differences": {}})])[INDEX]


@pytest.mark.parametrize("text", ["", "[]", '{"rows": []}', "nonsense"])
def test_what_reproduce_has_not_printed_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError, match="reproduce EXPERIMENT --format json"):
        read_result(path)


def test_the_command_makes_the_pages_of_what_reproduce_prints(
    irtoolkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ("csfcube", "--sample", "--systems", "random", "fabs_bm25")
    printed = irtoolkit("reproduce", *asked, "--format", "json")
    Path("csfcube.json").write_text(printed.out)
    done = irtoolkit("results", "csfcube.json", "-o", "pages")
    assert (done.status, done.err) == (0, "")
    assert done.out.split() == ["pages/index.md", "pages/csfcube.md", f"pages/{STYLES.name}"]
    assert Path("pages", STYLES.name).read_bytes() == STYLES.read_bytes()
    found = json.loads(printed.out)
    rows = Cells(Path("pages/csfcube.md").read_text("utf-8")).rows
    for row in found["rows"]:
        for by_column in row["measured"].values():
            assert [row["system"], *(f"{value:.2f}" for value in by_column.values())] in rows
    assert "the invented sample" in Path("pages/csfcube.md").read_text("utf-8")
    assert irtoolkit("results", "csfcube.json", "none.json", "-o", "more").status == 2
    assert not Path("more").exists()
