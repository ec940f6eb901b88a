"""The grid of configurations."""

from __future__ import annotations

import math
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.fusing.configurations import configurations, weights_grid


@pytest.mark.parametrize(("count", "step"), [(2, 0.05), (2, 0.1), (3, 0.1), (3, 0.25), (5, 0.2)])
def test_weights_are_all_multiples_of_the_step_that_add_up_to_one(count: int, step: float) -> None:
    parts = round(1 / step)
    found = list(weights_grid(count, step))
    assert len({*found}) == len(found) == math.comb(parts + count - 1, count - 1)
    for weights in found:
        assert len(weights) == count
        assert sum(weights) == pytest.approx(1, abs=1e-12)
        assert all(weight >= 0 and round(weight * parts) / parts == weight for weight in weights)


def test_every_method_gets_what_it_takes() -> None:
    found = configurations(
        2, ["rrf", "weighted", "combsum", "lambdamart"], ["minmax", "sum"], 0.5, {"k": ["1", "60"]}
    )
    by_method: dict[str, list[dict[str, Any]]] = {}
    for one in found:
        by_method.setdefault(one.method, []).append(one.settings)
    assert by_method["rrf"] == [{"k": 1}, {"k": 60}]
    assert by_method["combsum"] == [{"normalise": "minmax"}, {"normalise": "sum"}]
    assert [(s["normalise"], s["weights"]) for s in by_method["weighted"]] == [
        (how, weights) for how in ("minmax", "sum") for weights in ([0.5, 0.5], [1, 0], [0, 1])
    ]
    assert [set(s) for s in by_method["lambdamart"]] == [{"normalise", "leaves", "trees", "rate"}] * 8  # fmt: skip
    assert len({one.key for one in found}) == len(found)


def test_methods_of_ranx() -> None:
    found = configurations(2, ["wsum", "ranx:rrf", "rbc"], ["minmax", "max"], 0.5, {"phi": ["0.8"]})
    assert [one.method for one in found] == ["wsum"] * 6 + ["ranx:rrf"] * 4 + ["rbc"]
    assert found[-1].settings == {"phi": 0.8}


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no methods": ({"methods": []}, "no methods"),
    "one that ranx trains": ({"methods": ["bayesfuse"]}, "fuse --method bayesfuse"),
    "one that no method takes": ({"normalise": ["minmax", "borda"]}, "borda is ranx's"),
    "a step that divides nothing": ({"step": 0.3}, "does not divide 1"),
    "a step too small": ({"step": 1e-5}, "100,001 weights"),
    "a number that is none": ({"methods": ["rrf"], "grid": {"k": ["x"]}}, "k=x"),
    "a tree without leaves": ({"methods": ["lambdamart"], "grid": {"leaves": ["1"]}}, "leaves=1"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_tried_is_refused(name: str) -> None:
    given, said = WRONG[name]
    asked = {"methods": ["weighted"], "normalise": ["minmax"], "step": None, "grid": None, **given}
    with pytest.raises(InputError, match=said):
        configurations(2, **asked)
