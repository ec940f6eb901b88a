"""Batches of a million training rows."""

from __future__ import annotations

import numpy as np
import pytest

from irtoolkit.training.exclusions import Exclusions
from irtoolkit.training.ragged import Ragged
from irtoolkit.training.sampling import BatchSampler
from irtoolkit.training.training_set import TrainingSet


@pytest.mark.nightly
def test_millions_of_rows_are_planned() -> None:
    random = np.random.default_rng(0)
    golds = np.concatenate([np.arange(900_000), random.integers(0, 100_000, 100_000)])
    count = len(golds)
    exclusions = Exclusions(np.arange(900_000), 900_000, Ragged(np.arange(count + 1), golds))
    rows = TrainingSet(
        queries=range(count), golds=golds, groups=random.integers(0, 20, count),  # type: ignore[arg-type]
        docs=range(900_000), query_of=np.arange(count), query_names=range(count),  # type: ignore[arg-type]
        doc_names=range(900_000), exclusions=exclusions, pool_of=np.zeros(count, np.int64),  # type: ignore[arg-type]
        pools=Ragged.of([range(1)]), fingerprint="", what="test",
    )  # fmt: skip
    batches = BatchSampler(rows, 100, grouped=True, apart=True, seed=0)
    plan = list(batches)
    flat = np.concatenate([np.array(batch) for batch in plan])
    assert len(flat) == count
    assert (np.bincount(flat) == 1).all()
    owner = np.repeat(np.arange(len(plan)), [len(batch) for batch in plan])
    assert len(np.unique(owner * 900_000 + golds[flat])) == count
    assert len(np.unique(owner * 20 + rows.groups[flat])) == len(plan) == len(batches)
