"""The 11-point average and precision at multiples of R, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.scoring.score import score

# Relevant: ranks 1, 4 and 5, and one that is not listed. R = 4.
RUN = {"q": {name: -float(place) for place, name in enumerate("abcdefg")}}
QRELS = {"q": {"a": 1, "b": 0, "d": 1, "e": 2, "z": 1}}


def value(name: str, run: Any = RUN, qrels: Any = QRELS) -> float:
    return float(score(qrels, run, name, names=["x"]).values("x", name)[0])


def test_11_points_by_hand() -> None:
    """Of 4 documents, 1 reaches 0.0 to 0.2 (⌊0.8 + 0.9⌋ = 1), 2 reach 0.3 to 0.5, 3 0.6 and 0.7.

    Precisions are 1, 2/4 and 3/5, of which the last is above that before it.
    """
    assert value("IPrecAvg") == pytest.approx((3 * 1 + 3 * 3 / 5 + 2 * 3 / 5) / 11)


def test_a_recall_is_not_rounded() -> None:
    """Of 9 documents, 2 reach 0.123 (⌊1.107 + 0.9⌋) and 1 reaches 0.12 (⌊1.08 + 0.9⌋)."""
    qrels = {"q": dict.fromkeys("acghijklm", 1)}
    assert (
        value("IPrec@0.123", qrels=qrels)
        == value("IPrecAvg(recalls='0.123')", qrels=qrels)
        == 2 / 3
    )
    assert value("IPrec@0.12", qrels=qrels) == 1


@pytest.mark.parametrize(
    ("recalls", "said"),
    [
        ("0.5,x", "recalls has no numbers"),
        ("", "has no numbers"),
        ("0.5,1.1", "not between 0 and 1"),
    ],
)
def test_other_levels_are_refused(recalls: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        value(f"IPrecAvg(recalls='{recalls}')")


def test_multiples_of_r_by_hand() -> None:
    """Ranks 1 (⌊0.8 + 0.9⌋), 4, 5 (⌊4.8 + 0.9⌋) and 12, where the list has ended."""
    names = "RprecMult@0.2 RprecMult@1 RprecMult@1.2 RprecMult@3.0 Rprec"
    found = score(QRELS, RUN, names, names=["x"]).figures()["x"]
    assert list(found.values()) == [1, 2 / 4, 3 / 5, 3 / 12, 2 / 4]
    assert value("RprecMult(rel=2)@5") == 1 / 5


@pytest.mark.parametrize("multiple", ["0", "0.0", "1e999"])
def test_a_multiple_is_above_0(multiple: str) -> None:
    with pytest.raises(InputError, match=r"its multiple is (not above 0|inf)"):
        value(f"RprecMult@{multiple}")


@pytest.mark.parametrize("name", ["IPrecAvg", "RprecMult@1.0"])
def test_a_query_without_a_relevant_document_scores_0(name: str) -> None:
    assert value(name, qrels={"q": {"a": 0, "b": -1}}) == 0
    assert value(name, qrels={"other": {"a": 1}, "q": {"a": 1}}) == 0
    with pytest.raises(InputError, match="rel=1 or more"):
        value(name.replace("@", "(rel=0)@") if "@" in name else f"{name}(rel=0)")
