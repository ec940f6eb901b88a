"""Fusion of runs, against ranx."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from irtoolkit.ranking.fusion import fuse
from irtoolkit.ranking.fusion_methods import (
    CombMNZ,
    CombSUM,
    Method,
    ReciprocalRank,
    Weighted,
)
from irtoolkit.runs import Run
from tests.property.ranking.test_fusion import Rows

WEIGHTS = (0.2, 1.5, -0.4)


# Ours and ranx's: method, norm, params.
RANX: dict[str, tuple[Method, tuple[str | None, str, dict[str, Any] | None]]] = {
    "rrf": (ReciprocalRank(10), (None, "rrf", {"k": 10})),
    "minmax": (Weighted(WEIGHTS, "minmax"), ("min-max", "wsum", {"weights": list(WEIGHTS)})),
    "sum": (Weighted(WEIGHTS, "sum"), ("sum", "wsum", {"weights": list(WEIGHTS)})),
    "combsum": (CombSUM("zscore"), ("zmuv", "sum", None)),
    "combmnz": (CombMNZ("minmax"), ("min-max", "mnz", None)),
}


@pytest.fixture(scope="module")
def ranx() -> Iterator[ModuleType]:
    """ranx, with numba's number of threads put back afterwards: ranx changes it for good."""
    module = pytest.importorskip("ranx")
    import numba

    threads = numba.get_num_threads()
    yield module
    numba.set_num_threads(threads)


@pytest.fixture(scope="module")
def three() -> list[Run]:
    """Three runs of the same queries: ranx takes no others, and knows no rule for ties."""
    draw = np.random.default_rng(5)
    runs = []
    for size in (40, 25, 30):
        rows: Rows = [("alone", "d1", 3.0)]
        for query in range(6):
            docs = draw.choice(60, size, replace=False)
            scores = draw.permutation(200)[:size] / 8 - 9
            rows += [
                (f"q{query}", f"d{doc}", score)
                for doc, score in zip(docs, scores.tolist(), strict=True)
            ]
        runs.append(Run.from_rows(rows))
    return runs


@pytest.mark.parametrize("name", RANX)
def test_ours_is_ranxs(ranx: ModuleType, three: list[Run], name: str) -> None:
    ours, (norm, method, params) = RANX[name]
    theirs = ranx.fuse(
        [ranx.Run(run.as_dict(), name=str(place)) for place, run in enumerate(three)],
        norm, method, params,
    )  # fmt: skip
    fused = fuse(three, ours, progress=False)
    found, expected = fused.as_dict(), theirs.to_dict()
    assert found.keys() == expected.keys()
    for query, scores in found.items():
        assert scores == pytest.approx(expected[query], abs=1e-6, rel=1e-6)
        in_our_order = [expected[query][doc] for doc in scores]
        assert all(b <= a + 1e-12 for a, b in pairwise(in_our_order))
