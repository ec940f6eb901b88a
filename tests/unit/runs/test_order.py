"""The one order: its functions, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import id_array
from irtoolkit.runs import order
from irtoolkit.runs.order import TopDocuments, best_first, merge, separate
from irtoolkit.runs.top_k import TieOrder, before, top_k


def test_of_equal_scores_the_later_id_comes_first() -> None:
    ids = id_array(["b", "a", "c", "é", "Z"])
    assert ids[best_first(np.zeros(5), order.keys(ids))].tolist() == ["é", "c", "b", "a", "Z"]
    assert best_first(np.array([1, 2, 2, 1, 3]), order.keys(ids)).tolist() == [4, 2, 1, 3, 0]
    assert best_first(np.zeros(5), order.keys(ids, "pool")).tolist() == [0, 1, 2, 3, 4]


def test_parts_are_merged_and_cut_at_k() -> None:
    parts = [
        TopDocuments(np.array([0, 2, 2]), np.array([0, 1]), np.array([2.0, 1.0])),
        TopDocuments(np.array([0, 2, 3]), np.array([4, 5, 4]), np.array([2.0, 1.0, 7.0])),
    ]
    best = merge(parts, 3, lambda documents: documents)
    assert best.offsets.tolist() == [0, 3, 4]
    assert best.documents.tolist() == [4, 0, 5, 4]
    assert best.scores.tolist() == [2, 2, 1, 7]
    assert merge(parts, 3, lambda documents: -documents).documents.tolist() == [0, 4, 1, 4]


def test_sets_of_queries_are_joined_one_after_the_other() -> None:
    first = TopDocuments(np.array([0, 2, 2]), np.array([0, 1]), np.array([2.0, 1.0]))
    other = TopDocuments(np.array([0, 1]), np.array([4]), np.array([7.0]))
    joined = TopDocuments.joined([first, other])
    assert joined.offsets.tolist() == [0, 2, 2, 3]
    assert joined.documents.tolist() == [0, 1, 4]
    assert joined.scores.tolist() == [2, 1, 7]
    assert TopDocuments.joined([]).offsets.tolist() == [0]


@pytest.mark.parametrize("later_first", [True, False])
def test_documents_are_listed_by_their_ids(
    later_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order, "LATER_FIRST", later_first)
    ids = id_array(["b", "d", "a", "c"])
    ascending = order.by_id(order.keys(ids))
    assert ids[ascending].tolist() == ["a", "b", "c", "d"]
    assert order.tie_order(ascending).tolist() == order.key_order(order.keys(ids)).tolist()


def test_ranks_count_what_is_before() -> None:
    scores = np.array([[1.0, 2.0, 2.0, 3.0, 2.0]])
    tied = TieOrder(np.array([0, 4, 1, 2, 3]), "trec")
    ranks, greater = before(scores, tied, np.zeros(5, int), np.arange(5))
    assert ranks.tolist() == [4, 1, 3, 0, 2]
    assert greater.tolist() == [4, 1, 1, 0, 1]
    assert top_k(scores, tied)[0].tolist() == [[3, 1, 4, 2, 0]]


@pytest.mark.parametrize("compiled", [False, True])
def test_scores_are_lowered_by_the_fewest_steps(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order, "is_worth_loading", lambda _: compiled)
    one, below = np.float32(1), np.nextafter(np.float32(1), np.float32(0))
    assert separate([1.0, 1.0], np.array([1, 0])).tolist() == [one, one]
    assert separate([1.0, 1.0], np.array([0, 1])).tolist() == [one, below]
    assert separate([1.0, 1.0]).tolist() == [one, below]
    assert separate([1.0, 1.0], queries=np.array([0, 1])).tolist() == [one, one]
    assert separate([]).tolist() == []
    # What is lowered may reach what follows; a zero stays the zero that it was.
    lowest = np.nextafter(below, np.float32(0))
    assert separate([1.0, 1.0, below]).tolist() == [one, below, lowest]
    assert separate([1.0, 1.0, below], np.array([0, 1, 1])).tolist() == [one, below, below]
    assert np.signbit(separate([1.0, 1.0, -0.0])[2])
    with pytest.raises(InputError, match="no room"):
        separate(np.full(2, np.finfo(np.float32).min))
