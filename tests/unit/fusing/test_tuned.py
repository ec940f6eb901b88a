"""Choosing a fusion by cross-validation: what decides, what is held out, what is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.fusing.log import learned_fusion
from irtoolkit.runs import Run
from irtoolkit.runs.parts import restricted
from irtoolkit.scoring.folds import dealt

QUERIES = [f"q{number}" for number in range(12)]
# Documents r are relevant: those of "good" are ranked first, those of "bad" last.
GOOD, BAD = {"r": 3.0, "x": 2.0, "y": 1.0}, {"y": 3.0, "x": 2.0, "r": 1.0}
QRELS = {query: {"r": 1, "x": 0, "y": 0} for query in QUERIES}


def runs_of(right: dict[str, str]) -> tuple[Run, Run]:
    """Two runs; for each query the named one is right and the other wrong."""
    return (
        Run.of({q: GOOD if right[q] == "one" else BAD for q in QUERIES}, tag="one"),
        Run.of({q: GOOD if right[q] == "two" else BAD for q in QUERIES}, tag="two"),
    )


def tuned(runs: tuple[Run, ...], **options: Any) -> Any:
    asked = {"methods": ["weighted"], "normalise": ["minmax"], "measure": "RR", "progress": False}
    return ir.tune_fusion(QRELS, *runs, **{**asked, **options})


# -- folds ----------------------------------------------------------------------------------------


def test_folds_depend_on_the_set_of_queries_and_the_seed() -> None:
    assert dealt(QUERIES, 3, (1,)) == dealt(QUERIES[::-1], 3, (1,))
    assert dealt(QUERIES, 3, (1,)) != dealt(QUERIES, 3, (2,))


def test_the_queries_of_a_book_are_in_one_fold() -> None:
    books = {query: f"book {place % 4}" for place, query in enumerate(QUERIES)}
    for seed in range(5):
        folds = dealt(QUERIES, 3, (seed,), books)
        assert sorted(q for fold in folds for q in fold) == sorted(QUERIES)
        assert sum(len({books[query] for query in fold}) for fold in folds) == 4
    assert dealt(QUERIES, 4, (1,), books) == dealt(QUERIES[::-1], 4, (1,), books)
    with pytest.raises(ir.InputError, match="5 folds of 4 books"):
        dealt(QUERIES, 5, (1,), books)


# -- what decides ---------------------------------------------------------------------------------


def test_a_choice_is_made_on_other_queries_only() -> None:
    """In each fold another run is right: the best on a fold is the worst on the other one.

    Whoever chose on the queries that are reported on would have a figure of 1.
    """
    folds = dealt(QUERIES, 2, (0, 0))
    right = dict.fromkeys(folds[0], "one") | dict.fromkeys(folds[1], "two")
    found = tuned(runs_of(right), folds=2, step=0.5, methods=["weighted"])
    assert found.bench.folds == folds
    first, second = (one.settings["weights"] for one in found.chosen)
    assert (first, second) == ([0, 1], [1, 0])
    assert found.figure == pytest.approx(1 / 3)
    for place, one in enumerate(found.chosen):
        (mine,) = (tried for tried in found.tried if tried.configuration == one)
        assert (mine.others[place], mine.held_out[place]) == (1, pytest.approx(1 / 3))


@pytest.mark.parametrize("method", ["weighted", "lambdamart"])
def test_judgments_of_a_fold_decide_nothing_there(method: str) -> None:
    """With other judgments of a fold's queries, they are fused as before."""
    right = {q: "one" if place % 3 else "two" for place, q in enumerate(QUERIES)}
    runs, options = runs_of(right), {"folds": 3, "methods": [method], "step": 0.25}
    if method == "lambdamart":
        options["grid"] = {"trees": [3], "leaves": [2, 3]}
    before = tuned(runs, **options)
    fold = before.bench.folds[1]
    changed = {q: {"r": 0, "x": 0, "y": 1} if q in fold else QRELS[q] for q in QUERIES}
    asked = {"normalise": ["minmax"], "measure": "RR", "progress": False, **options}
    after = ir.tune_fusion(changed, *runs, **asked)
    assert after.chosen[1] == before.chosen[1]
    assert restricted(after.run, fold) == restricted(before.run, fold)


def test_queries_without_judgments_are_fused_by_what_is_learned() -> None:
    one, two = runs_of(dict.fromkeys(QUERIES, "one"))
    more = [Run.of({**run.as_dict(), "new": BAD}, tag=run.tag) for run in (one, two)]
    found = tuned(tuple(more), folds=2, step=0.5)
    assert found.run.ranking("new") == found.fuse(*more).ranking("new")


def test_the_datasets_own_folds_are_used() -> None:
    data = ir.load("csfcube/sample")
    runs = ir.retrieve(data, "bm25", progress=False), ir.retrieve(data, "tfidf", progress=False)
    own = ir.tune_fusion(data, *runs, methods=["rrf"], progress=False)
    assert own.bench.folds == data.protocol.folds
    assert own.bench.name == "nDCGp(p=20)"
    other = ir.tune_fusion(data, *runs, methods=["rrf"], folds=3, progress=False)
    assert [len(fold) for fold in other.bench.folds] == [2, 2, 2]


# -- the log --------------------------------------------------------------------------------------


def test_a_log_has_everything_that_was_tried(tmp_path: Path) -> None:
    runs, log = runs_of(dict.fromkeys(QUERIES, "one")), tmp_path / "log.json"
    tuned(runs, methods=["rrf"], folds=2, log=log)
    found = tuned(runs, folds=2, step=0.5, log=log)
    data = json.loads(log.read_text())
    assert [row["method"] for row in data["tried"]] == ["weighted"] * 3 + ["rrf"] * 4
    assert [row["others"] for row in data["tried"][:3]] == [list(one.others) for one in found.tried]
    assert data["about"]["folds"] == [list(fold) for fold in found.bench.folds]
    assert data["chosen"] == [{"method": "weighted", "settings": one.settings} for one in found.chosen]  # fmt: skip
    assert data["figures"]["tuned-fusion"] == found.figure


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"about": {"dataset": "x"}, "points": {}}', '{"about": {"search": "fusion"}, "tried": 1}'])  # fmt: skip
def test_what_is_no_log_is_refused(tmp_path: Path, content: str) -> None:
    log = tmp_path / "log.json"
    log.write_text(content)
    for action in (
        lambda: learned_fusion(log),
        lambda: tuned(runs_of(dict.fromkeys(QUERIES, "one")), log=log),
    ):
        with pytest.raises(InputError, match=r"log\.json"):
            action()
    assert log.read_text() == content


@pytest.mark.parametrize("methods", [["weighted"], ["lambdamart"]])
def test_what_is_learned_fuses_other_runs(tmp_path: Path, methods: list[str]) -> None:
    runs = runs_of({q: "one" if place % 4 else "two" for place, q in enumerate(QUERIES)})
    log = tmp_path / "log.json"
    found = tuned(runs, methods=methods, grid={"trees": [5]} if methods == ["lambdamart"] else {}, folds=2, log=log)  # fmt: skip
    learned = learned_fusion(log)
    assert ir.fuse(*runs, learned=log) == found.fuse(*runs)
    with pytest.raises(InputError, match="leave them out"):
        ir.fuse(*runs, learned=log, k=3)
    for wrong, said in (((runs[0],) * 3, "3 runs"), (runs[::-1], "in the order two, one")):
        with pytest.raises(InputError, match=said):
            learned.check(wrong)
        with pytest.raises(InputError, match=said):
            found.fuse(*wrong)


# -- bad input ------------------------------------------------------------------------------------

ONE, TWO = runs_of(dict.fromkeys(QUERIES, "one"))
WRONG: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "one run": ((ONE,), {}, "one run"),
    "more folds than queries": ((ONE, TWO), {"folds": 13}, "13 folds of 12 queries"),
    "one inner fold": ((ONE, TWO), {"inner": 1}, "inner"),
    "another method": ((ONE, TWO), {"methods": ["rff"]}, "did you mean rrf"),
    "two measures": ((ONE, TWO), {"measure": "AP RR"}, "one measure, not 2"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_tuned_is_refused(name: str) -> None:
    runs, options, said = WRONG[name]
    with pytest.raises(InputError, match=said):
        tuned(runs, **options)


def test_too_few_queries_to_train_on_are_refused() -> None:
    data = ir.load("csfcube/sample/method")
    runs = ir.retrieve(data, "bm25", progress=False), ir.retrieve(data, "tfidf", progress=False)
    assert ir.tune_fusion(data, *runs, methods="rrf", progress=False).chosen
    with pytest.raises(InputError, match="1 other query"):
        ir.tune_fusion(data, *runs, methods="lambdamart", progress=False)
