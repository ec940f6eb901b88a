"""Several annotators: figures worked out by hand, pairs that differ, and merging."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.runs import Run
from irtoolkit.scoring.agreement import kappa
from irtoolkit.scoring.annotators import Annotators

Write = Callable[[str, str], Path]


def annotators(**grades: str) -> Annotators:
    """Annotators by name, their grades of d0, d1, ... as digits, - for a pair that is not judged."""
    return Annotators(
        tuple(grades),
        tuple(
            {("q", f"d{i}"): int(g) for i, g in enumerate(given) if g != "-"}
            for given in grades.values()
        ),
    )


def test_agreement_of_two_is_as_worked_out_by_hand() -> None:
    (row,) = annotators(ann="00112", ben="01112").agreement()
    assert (row.annotators, row.pairs, row.percent) == ("ann, ben", 5, 80.0)
    # Expected equal grades: 0.4 * 0.2 + 0.4 * 0.6 + 0.2 * 0.2 = 0.36.
    assert row.kappa == pytest.approx((0.8 - 0.36) / (1 - 0.36))
    # Squared differences: 1 of 5 pairs by 1; expected 1.0.
    assert row.kappa_weighted == pytest.approx(1 - 0.2 / 1.0)
    # Ten grades, 3 5 2 of them 0 1 2; two of ten coincidences differ, 62 of 90 are expected to.
    assert row.alpha_nominal == pytest.approx(1 - (2 / 10) / (62 / 90))
    # Ranks 1.5 1.5 3.5 3.5 5 and 1 3 3 3 5.
    first, second = (-1.5, -1.5, 0.5, 0.5, 2.0), (-2.0, 0.0, 0.0, 0.0, 2.0)
    by_hand = sum(a * b for a, b in zip(first, second, strict=True))
    by_hand /= math.sqrt(sum(a * a for a in first) * sum(b * b for b in second))
    assert row.rho == pytest.approx(by_hand)


def test_a_grade_that_nobody_gave_separates_its_neighbours() -> None:
    # Between 1 and 3 is 2: the difference counts 4. Expected are 4, observed 4/3.
    assert kappa([0, 1, 3], [0, 3, 3], weights="quadratic") == pytest.approx(1 - (4 / 3) / 4)


def test_of_three_each_two_have_a_row_on_what_both_judged_and_all_have_one() -> None:
    rows = annotators(a="0011-", b="01112", c="0-111").agreement()
    assert [(row.annotators, row.pairs) for row in rows] == [
        ("a, b", 4), ("a, c", 3), ("b, c", 4), ("all", 5),
    ]  # fmt: skip
    assert rows[-1].kappa is None
    # Coincidences of d0 to d4 by hand: 13 grades; d1 has 0 1, d4 has 2 1, the others are equal.
    counts = {0: 4, 1: 8, 2: 1}
    expected = 1 - sum(n * (n - 1) for n in counts.values()) / (13 * 12)
    assert rows[-1].alpha_nominal == pytest.approx(1 - (4 / 13) / expected)


def test_one_grade_throughout_has_no_correlation() -> None:
    (row,) = annotators(a="111", b="111").agreement()
    assert row.percent == 100
    assert math.isnan(row.kappa or 0)
    assert math.isnan(row.alpha_ordinal)


@pytest.mark.parametrize(
    ("rule", "grades", "merged"),
    [
        ("majority", ("012", "012", "110"), [0, 1, 2]),
        ("mean", ("013", "022", "030"), [0, 2, 2]),
        ("mean", ("01", "12"), [1, 2]),  # .5 goes upwards
    ],
)
def test_merging_by_rule(rule: str, grades: tuple[str, ...], merged: list[int]) -> None:
    names = dict(zip("abc", grades, strict=False))
    found = annotators(**names).merge(rule)  # type: ignore[arg-type]
    assert [row.relevance for row in found] == merged


def test_pairs_that_are_missing_or_tied_are_refused_unless_it_is_said_what_becomes_of_them() -> (
    None
):
    two = annotators(a="01-", b="021")
    with pytest.raises(InputError, match=r"1 pair \(it is q d2\) is not judged by all of a, b"):
        two.merge()
    with pytest.raises(InputError, match=r"1 pair \(it is q d1\) is without a majority"):
        two.merge(missing="drop")
    dropped = two.merge(missing="drop", adjudicated={("q", "d1"): 3})
    assert dropped.as_dict() == {"q": {"d0": 0, "d1": 3}}
    kept = two.merge("mean", "keep")
    assert kept.as_dict() == {"q": {"d0": 0, "d1": 2, "d2": 1}}
    # What was adjudicated is not missing, and overrules both.
    decided = two.merge(adjudicated={("q", "d0"): 1, ("q", "d1"): 1, ("q", "d2"): 0})
    assert decided.as_dict() == {"q": {"d0": 1, "d1": 1, "d2": 0}}
    with pytest.raises(
        InputError, match=r"1 pair \(it is q x\) is adjudicated, and judged by nobody"
    ):
        two.merge(adjudicated={("q", "x"): 1})


def test_pairs_that_differ_are_a_run_for_an_adjudicator() -> None:
    two = annotators(a="0123-", b="0213-")
    assert two.differing() == [("q", "d1"), ("q", "d2")]
    run = two.to_judge_again()
    assert isinstance(run, Run)
    assert [(row.query_id, row.doc_id) for row in run] == [("q", "d1"), ("q", "d2")]
    with pytest.raises(InputError, match="no pairs differ"):
        annotators(a="01", b="01").to_judge_again()


def test_files_are_named_by_their_stems_and_those_of_other_pools_are_refused(write: Write) -> None:
    ann, ben = write("ann.qrels", "q 0 d 1\n"), write("ben.qrels", "q 0 d 2\n")
    assert Annotators.read([ann, ben]).names == ("ann", "ben")
    other = write("cho.qrels", "q 0 e 2\n")
    with pytest.raises(InputError, match="ann and cho have judged no pair in common"):
        Annotators.read([ann, other])
    with pytest.raises(InputError, match="two qrels files"):
        Annotators.read([ann])
    with pytest.raises(InputError, match="named twice"):
        Annotators.read([ann, ann])
    bad = write("bad.qrels", "q 0 d x\n")
    with pytest.raises(InputError, match="grade 'x'"):
        Annotators.read([ann, bad])
