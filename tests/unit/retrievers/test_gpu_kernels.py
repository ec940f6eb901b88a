"""Triton's kernels in its interpreter, beside what plain torch computes."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from irtoolkit.retrievers import _gpu_plain, gpu_pass, gpu_vectors
from irtoolkit.retrievers.gpu_search import GpuSearch
from irtoolkit.retrievers.gpu_vectors import GpuVectors
from irtoolkit.runs.top_k import TieOrder

COUNT, DEPTH = 700, 5


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("triton")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    return importlib.import_module("irtoolkit.retrievers._gpu_kernels")


@pytest.mark.parametrize("count", [3, 130])
def test_search_by_kernels_is_that_of_plain_torch(
    count: int, kernels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(4)
    docs = draw.standard_normal((COUNT, 70)).astype(np.float32)
    queries = draw.standard_normal((count, 70)).astype(np.float32)
    docs[100:140] = docs[3]
    queries[1] = docs[3]
    tied = TieOrder(draw.permutation(COUNT), "trec")
    rows = np.array([0, 1, 1, 2])
    places = np.array([5, 120, 600, 3])

    def found(module: Any) -> Any:
        monkeypatch.setattr(gpu_vectors, "kernels", lambda device: module)
        monkeypatch.setattr(gpu_pass, "kernels", lambda device: module)
        there = GpuVectors(docs, "cpu")
        return GpuSearch(lambda: there, queries, lambda: docs).best(tied, DEPTH, rows, places)

    for one, other in zip(found(kernels), found(_gpu_plain), strict=True):
        np.testing.assert_array_equal(one, other)
