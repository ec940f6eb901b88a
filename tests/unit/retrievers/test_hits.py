"""What a search finds: texts are read when a hit is looked at."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import irtoolkit as ir
from irtoolkit.retrievers.hits import Hit, MatchedPlaces, SearchResult

TEXTS = {"b": ("a whale", ((2, 7),)), "a": ("whales", ()), "c": ("the sea", ())}


class Reads:
    """Reads texts, and remembers of which documents."""

    def __init__(self) -> None:
        self.done: list[Sequence[str]] = []

    def __call__(self, doc_ids: Sequence[str]) -> list[tuple[str, MatchedPlaces]]:
        self.done.append(doc_ids)
        return [TEXTS[doc_id] for doc_id in doc_ids]


def test_texts_are_read_once_and_not_before_a_hit_is_looked_at() -> None:
    read = Reads()
    found = SearchResult("whale", ["b", "a", "c"], [3.0, 2.0, 1.0], read)
    assert (len(found), found.doc_ids, found.scores) == (3, ["b", "a", "c"], [3.0, 2.0, 1.0])
    assert bool(found)
    assert read.done == []
    assert found[0] == Hit(1, "b", 3.0, "a whale", ((2, 7),))
    assert [hit.rank for hit in found] == [1, 2, 3]
    assert found[1:] == tuple(found)[1:]
    assert read.done == [("b", "a", "c")]


def test_a_result_is_sent_with_its_texts_and_without_the_index() -> None:
    found = ir.index(["a whale", "whales at sea", "ships"], progress=False).search("whale sea")
    again = pickle.loads(pickle.dumps(found))
    assert list(again) == list(found)
    assert (again.query, again.why_none, repr(again)) == (found.query, "", repr(found))
