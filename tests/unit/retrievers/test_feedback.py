"""Feedback by hand, its settings, and whose documents it takes."""

from __future__ import annotations

from math import log
from pathlib import Path
from typing import Any

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.retrievers._feedback import FeedbackDocument
from irtoolkit.retrievers.feedback import RM3, RM3QueryLikelihood, Rocchio
from irtoolkit.retrievers.registry import create_retriever
from irtoolkit.retrievers.task import load_task
from tests.datasets import register, scores_of

SEA = {
    "d1": "whale ship ship captain",
    "d2": "whale ship harpoon",
    "d3": "ship captain captain mutiny",
    "d4": "harpoon rope",
    "d5": "meadow sheep",
}


def found(query: str, retriever: Any, docs: dict[str, str] = SEA) -> dict[str, float]:
    return scores_of(register(docs, {"q": query}), retriever)["q"]


def test_a_relevance_model_by_hand() -> None:
    made = RM3(fb_docs=2, fb_terms=2, original_query_weight=0.5, doc_terms=3)
    one, two = made.weights({"ship": 2, "whale": 1, "sea": 1, "zone": 1}), {"ship": 1.0}
    # Of the three terms that occur once, the first two in order take part.
    assert one == {"sea": 0.25, "ship": 0.5, "whale": 0.25}
    query = made.expand({"whale": 2}, [FeedbackDocument(3.0, one), FeedbackDocument(1.0, two)])
    # P(w|R) ~ ship 3·½ + 1, sea ¾, whale ¾; the first two are kept, and sum to 1.
    ship, sea = 2.5 / 3.25, 0.75 / 3.25
    assert query == pytest.approx({"whale": 0.5 * 2, "ship": 0.5 * 2 * ship, "sea": 0.5 * 2 * sea})


def test_a_likely_document_counts_more() -> None:
    ranking = [FeedbackDocument(-2.0, {"one": 1.0}), FeedbackDocument(-2.0 - log(3), {"two": 1.0})]
    for likelihood, length, share in (("query", 2, 0.75), ("term", 1, 0.75), ("term", 2, 0.634)):
        made = RM3QueryLikelihood(original_query_weight=0.0, likelihood=likelihood)  # type: ignore[arg-type]
        query = made.expand({"x": length}, ranking)
        assert query == pytest.approx(
            {"one": share * length, "two": (1 - share) * length}, abs=1e-3
        )


def test_rocchio_by_hand() -> None:
    made = Rocchio(fb_docs=1, beta=0.5, gamma=0.25, bottom_fb_docs=1)
    assert (made.ranked, made.read(3), made.read(1)) == (1000, [0, 2], [0])
    near, far = made.weights({"ship": 3, "whale": 4}), made.weights({"meadow": 1})
    assert near == pytest.approx({"ship": 0.6, "whale": 0.8})
    query = made.expand(
        {"whale": 3, "meadow": 4}, [FeedbackDocument(2, near), FeedbackDocument(1, far)]
    )
    # The query is of length 5.
    assert query == pytest.approx({
        "whale": 3 + 5 * 0.5 * 0.8, "ship": 5 * 0.5 * 0.6, "meadow": 4 - 5 * 0.25,
    })  # fmt: skip
    # What would weigh less than nothing is left out.
    assert made.expand({"whale": 1}, [FeedbackDocument(2, {}), FeedbackDocument(1, far)]) == {
        "whale": 1.0
    }


def test_feedback_is_from_the_candidates_of_the_query() -> None:
    pools = {"q": ["d1", "d4", "d5"], "other": ["d2", "d3"]}
    task = load_task(register(SEA, {"q": "whale", "other": "whale"}, pools=pools))
    scores = scores_of(task, RM3())
    # Harpoon comes with d2 alone, which is no candidate of q; mutiny is with d3, which is not found.
    assert scores["q"]["d4"] == 0
    own = {"d1": SEA["d1"], "d4": SEA["d4"], "d5": SEA["d5"]}
    corpus = RM3(statistics="candidates")
    alone = scores_of(register(own, {"q": "whale"}), corpus)["q"]
    assert scores_of(task, corpus)["q"] == alone


@pytest.mark.parametrize("name", ["rm3", "rm3-ql", "rocchio"])
@pytest.mark.parametrize("kept", [False, True])
def test_documents_that_do_not_match_give_no_feedback(
    name: str, kept: bool, tmp_path: Path
) -> None:
    """Two documents match; the eight others, which feedback has room for, share a term of their own."""
    docs = {"a": "whale harpoon", "b": "whale ship"}
    docs |= {f"m{n}": f"meadow grass{n}" for n in range(8)} | {"h": "harpoon"}
    index = ir.index(docs, name, tmp_path / "index" if kept else None, max_df=1.0, progress=False)
    hits = {hit.doc_id for hit in index.search("whale")}
    assert hits == {"a", "b", "h"}


@pytest.mark.parametrize(
    ("chosen", "taken"),
    [("auto", "ab3"), ("latin", "ab3"), ("length", "ab3 mér x-ray"), ("none", "ab3 mér x-ray y")],
)
def test_the_form_of_terms(chosen: Any, taken: str) -> None:
    docs = {
        "d1": f"whale ab3 mér x-ray y {'z' * 21}",
        "d2": "ab3",
        "d3": "mér",
        "d4": "x-ray",
        "d5": "y",
    }
    docs["d6"] = "z" * 21
    made = RM3(tokenizer="whitespace", filter_terms=chosen, fb_terms=20)
    scores = found("whale", made, docs)
    wanted = {name for name in docs if name != "d1" and docs[name] in taken.split()}
    wanted |= {"d6"} if chosen == "none" else set()
    assert {name for name, score in scores.items() if score > 0} == wanted | {"d1"}
    # Rocchio, as Anserini has it, looks at the length alone.
    if chosen == "auto":
        made = Rocchio(tokenizer="whitespace", fb_terms=20)
        scores = found("whale", made, docs)
        assert {name for name in docs if scores[name] > 0} == {"d1", "d2", "d3", "d4"}


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("rm3", {"fb_docs": 0}), ("rm3", {"original_query_weight": 1.5}), ("rm3", {"k1": -1}),
        ("rm3-ql", {"mu": 0}), ("rm3-ql", {"doc_terms": 0}), ("rocchio", {"alpha": -1}),
        ("rocchio", {"hits": 0}), ("rocchio", {"max_df": 2}), ("dense-prf", {"fb_docs": 0}),
        ("dense-prf", {"alpha": -0.5}), ("dense-prf", {"alpha": 0, "beta": 0}),
        ("rm3", {"filter_terms": "some"}), ("rm3", {"mu": 5}),
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused(name: str, settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(settings))):
        create_retriever(name, settings)


def test_indexes_are_those_of_the_first_search(tmp_path: Path) -> None:
    ir.index(SEA, "bm25", tmp_path / "index")
    opened = ir.open_index(tmp_path / "index", "rm3", fb_terms=3)
    hits = opened.search("whale")
    assert [hit.doc_id for hit in hits] == ["d2", "d1", "d3", "d4"]
    assert hits[0].matches == ((0, 5),)
    # An index that was built for feedback searches with feedback, here and where it is opened again.
    built = ir.index(SEA, "rm3", tmp_path / "own")
    again = ir.open_index(tmp_path / "own")
    assert again.searched_by == "rm3"
    assert [hit.score for hit in again.search("whale")] == [
        hit.score for hit in built.search("whale")
    ]
    assert {hit.doc_id for hit in again.search("whale")} == {"d1", "d2", "d3", "d4"}
    plain = ir.open_index(tmp_path / "own", "bm25")
    assert {hit.doc_id for hit in plain.search("whale")} == {"d1", "d2"}
    off = again.with_settings(original_query_weight=1.0)
    assert [hit.score for hit in off.search("whale")] == [h.score for h in plain.search("whale")]
