"""BM25 with the evidence of passages nearby, against the same sums restated one by one."""

from __future__ import annotations

import math
import random
import statistics
from typing import Any

import numpy as np
import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.datasets.birco import MASK, MaskedQuery
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.retrievers import nearby
from irtoolkit.retrievers.lexical import BM25
from irtoolkit.retrievers.nearby import BM25Nearby, nearness
from irtoolkit.retrievers.task import Task, load_task
from tests.datasets import register, scores_of
from tests.tiny import WORDS

# Windows of eight words, four words further each: neighbours share four words, which are too few to
# overlap; those of w are two words further, and share six.
TEXT = random.Random(1).choices(WORDS, k=60)
DOCS = {f"v-{n}": " ".join(TEXT[4 * n : 4 * n + 8]) for n in range(12)}
DOCS |= {f"w-{n}": " ".join(TEXT[2 * n : 2 * n + 8]) for n in range(12)}
QUERIES = {"q1": " ".join(WORDS[:4]), "q2": " ".join(WORDS[9:14]), "q3": "nothing is there"}
POOLS = {"q1": list(DOCS), "q2": [doc for doc in DOCS if doc[-1] in "0235"], "q3": list(DOCS)}


def overlap(a: str, b: str) -> bool:
    words = [DOCS[doc].split() for doc in (a, b)]
    runs = [{tuple(text[i : i + 6]) for i in range(3)} for text in words]
    return bool(runs[0] & runs[1])


def standardised(scores: dict[str, float]) -> dict[str, float]:
    mean, deviation = statistics.fmean(scores.values()), statistics.pstdev(scores.values())
    return {doc: (score - mean) / deviation if deviation else 0.0 for doc, score in scores.items()}


def evidence(scores: dict[str, float], doc: str, span: float) -> float:
    text, place = doc.split("-")
    return sum(
        max(0.0, score) * math.exp(-abs(int(other.split("-")[1]) - int(place)) / span)
        for other, score in scores.items()
        if other.startswith(text) and other != doc and not overlap(doc, other)
    )


@pytest.mark.parametrize(("span", "weight"), [(20.0, 1.0), (3.0, 0.5), (40.0, 2.0)])
@pytest.mark.parametrize("pools", [POOLS, None])
def test_a_score_adds_what_matches_nearby(
    span: float, weight: float, pools: dict[str, list[str]] | None
) -> None:
    dataset = register(DOCS, QUERIES, pools)
    found = scores_of(dataset, BM25Nearby(span=span, weight=weight))
    for query, scores in scores_of(dataset, BM25()).items():
        own = standardised(scores)
        near = standardised({doc: evidence(own, doc, span) for doc in own})
        wanted = {doc: own[doc] + weight * near[doc] for doc in own}
        assert found[query] == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_sentences_count_less_the_further_they_are_from_the_mask() -> None:
    docs = {"w-1": "ash", "w-9": "elm", "w-20": "oak"}
    query = MaskedQuery("q", f"An ash. An elm. {MASK} An oak.")
    found = scores_of(register(docs, [query]), BM25Nearby(weight=0.0, fade=0.5))["q"]
    assert found["w-9"] == found["w-20"] > found["w-1"]
    found = scores_of(register(docs, [query]), BM25Nearby(weight=0.0))["q"]
    assert len(set(found.values())) == 1


def test_documents_are_compared_once_for_all_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    read, compare = nearby.places_and_words, nearby.nearness
    compared: list[int] = []

    def counted_reads(task: Task, docs: Ints) -> Any:
        calls.append(len(docs))
        return read(task, docs)

    def counted(places: Any, words: Any, span: float) -> Any:
        compared.append(len(places))
        return compare(places, words, span)

    monkeypatch.setattr(nearby, "places_and_words", counted_reads)
    monkeypatch.setattr(nearby, "nearness", counted)
    index = ir.index({"t-1": "the whale", "t-2": "a ship"}, "bm25-nearby", progress=False)
    assert [index.search(word)[0].doc_id for word in ("whale", "ship")] == ["t-1", "t-2"]
    assert calls == compared == [2]


@pytest.mark.parametrize(
    ("docs", "doubted"),
    [
        ({"doc1": "a red fox", "doc2": "a ship at sea", "doc12": "a storm"}, True),
        ({"910000001": "a red fox", "910900006": "a red fox"}, False),
        ({"a-1": " ".join(TEXT[:8]), "b-2": " ".join(TEXT[:8])}, True),
        (DOCS, False),
    ],
)
def test_a_note_says_once_that_documents_do_not_look_like_passages(
    docs: dict[str, str], doubted: bool, caplog: pytest.LogCaptureFixture
) -> None:
    nearby._doubt_positions.cache_clear()
    dataset = register(
        docs, {"q1": "fox", "q2": WORDS[0]}, {"q1": list(docs), "q2": list(docs)[:2]}
    )
    scores_of(dataset, BM25Nearby())
    assert len(caplog.messages) == doubted
    assert all(f"of {dataset} overlap; unless" in message for message in caplog.messages)


def test_passages_of_books_need_not_overlap(caplog: pytest.LogCaptureFixture) -> None:
    nearby._doubt_positions.cache_clear()
    ir.retrieve("relic/sample/val", "bm25-nearby", depth=5)
    assert caplog.messages == []


def test_ids_without_a_position_are_refused() -> None:
    dataset = register({"a-1": WORDS[0], "preface": WORDS[1]}, {"q": WORDS[0]})
    with pytest.raises(InputError, match=r"'preface' .* has no position") as error:
        scores_of(dataset, BM25Nearby())
    assert "or rank with bm25" in str(error.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"span": 0.0},
        {"span": math.inf},
        {"weight": -1.0},
        {"weight": math.nan},
        {"fade": 0.0},
        {"k1": -1.0},
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(InputError, match=f"setting {next(iter(settings))}="):
        BM25Nearby(**settings)


@pytest.mark.parametrize(
    "text",
    [
        "\u4ed6\u8d70\u8fdb\u4e86\u8001\u57ce\u7684\u56fe\u4e66\u9986\u627e\u5230\u4e00\u672c\u65e7\u4e66",
        "\u0e40\u0e02\u0e32\u0e40\u0e14\u0e34\u0e19\u0e40\u0e02\u0e49\u0e32\u0e44\u0e1b\u0e43\u0e19\u0e2b\u0e49\u0e2d\u0e07\u0e2a\u0e21\u0e38\u0e14\u0e40\u0e01\u0e48\u0e32",
    ],
    ids=["Chinese", "Thai"],
)
def test_windows_of_texts_without_spaces_overlap(text: str) -> None:
    """Windows of 15 letters, one further each: the first and the fifth share fewer than twelve."""
    letters = "".join(filter(str.isalnum, text))
    docs = {f"t-{n}": letters[n : n + 15] for n in range(5)}
    dataset = register(docs, {"q": letters[2:4]}, {"q": list(docs)})
    task = load_task(Dataset.load(dataset))
    near = nearness(*nearby.places_and_words(task, np.arange(5)), 20.0).toarray()
    first = near[task.doc_ids.tolist().index("t-0")]
    assert np.flatnonzero(first).tolist() == [task.doc_ids.tolist().index("t-4")]
