"""BM25's forms: weights that do not depend on the order in which terms were counted."""

from __future__ import annotations

import numpy as np

from irtoolkit.retrievers.bm25_forms import FORMS


def test_a_negative_idf_is_the_same_whatever_the_order_of_the_terms() -> None:
    """The mean over the vocabulary: workers count other candidates before, and so in other orders."""
    size = 7001
    random = np.random.default_rng(5)
    found = np.append(random.integers(1, size // 2, 3_000), [size - 5, size - 1]).astype(float)
    idf = FORMS["okapi"].idf
    usual = idf(size, found, 0.25)
    plain = np.log(size - found + 0.5) - np.log(found + 0.5)
    assert len({plain[random.permutation(len(plain))].mean() for _ in range(20)}) > 1
    for _ in range(20):
        order = random.permutation(len(found))
        assert np.array_equal(idf(size, found[order], 0.25), usual[order])
