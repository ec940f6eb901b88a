"""The context-aware relevance model, against cosines taken one by one."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import count
from typing import Any

import pytest

from irtoolkit.base.analysis import analyzer
from irtoolkit.base.errors import InputError
from irtoolkit.retrievers.known_contexts import CRM, training_id
from tests import datasets
from tests.datasets import scores_of

NUMBERS = count()
Texts = dict[str, str]
Golds = dict[str, list[str]]

QUOTES = {name: f"words of {name}, which nobody compares" for name in "abcdef"}


def register(
    name: str,
    queries: Texts,
    golds: Golds | None = None,
    *,
    docs: Texts = QUOTES,
    pools: Golds | None = None,
    grades: dict[str, int] | None = None,
) -> str:
    """Makes a split a dataset; "x/train" beside "x/test"."""
    rows = None
    if golds is not None:
        rows = [
            (query, doc, (grades or {}).get(doc, 1)) for query, own in golds.items() for doc in own
        ]
    return datasets.register(docs, queries, pools, rows, name=name)


def pair(contexts: Texts, golds: Golds, asked: Texts, **options: Any) -> str:
    """A training and a test split; gives the id of the test split."""
    base = f"test-crm-{next(NUMBERS)}"
    register(f"{base}/train", contexts, golds)
    return register(f"{base}/test", asked, **options)


def restated(
    contexts: Texts, golds: Golds, query: str, docs: Any, pooling: str, smooth: bool = True
) -> dict[str, float]:
    """What each document makes of the cosines of its contexts and the query."""
    analyze = analyzer("word", "sklearn")
    tokens = {name: Counter(analyze(text)) for name, text in contexts.items()}
    extra = int(smooth)
    frequency = Counter(term for terms in tokens.values() for term in terms)
    idf = {t: math.log((len(tokens) + extra) / (n + extra)) + 1 for t, n in frequency.items()}

    def vector(terms: Counter[str]) -> dict[str, float]:
        weights = {term: n * idf[term] for term, n in terms.items() if term in idf}
        length = math.sqrt(sum(weight**2 for weight in weights.values()))
        return {term: weight / length for term, weight in weights.items()}

    asked = vector(Counter(analyze(query)))
    scores = {}
    for doc in docs:
        similar = [
            sum(weight * asked.get(term, 0.0) for term, weight in vector(tokens[context]).items())
            for context, own in golds.items()
            if doc in own
        ]
        pooled = {
            "max": max(similar, default=0.0),
            "mean": sum(similar) / max(1, len(similar)),
            "square": sum(value**2 for value in similar) / max(1, len(similar)),
        }
        scores[doc] = pooled[pooling]
    return scores


pooling = pytest.mark.parametrize("pooling", ["max", "mean", "square"])


CONTEXTS = {"c1": "cat dog", "c2": "fish", "c3": "cat cat newt", "c4": "bird fish dog"}
GOLDS = {"c1": ["a"], "c2": ["b"], "c3": ["b", "a"], "c4": ["e"]}


@pooling
def test_candidates_are_scored_in_any_order_and_number(pooling: Any) -> None:
    pools = {"q1": ["f", "b", "a"], "q2": ["c"], "q3": ["e", "d", "c", "b", "a"]}
    asked = {"q1": "cat fish", "q2": "cat", "q3": "dog fish bird"}
    found = scores_of(pair(CONTEXTS, GOLDS, asked, pools=pools), CRM(pooling=pooling))
    for query, text in asked.items():
        assert list(found[query]) == pools[query]
        expected = restated(CONTEXTS, GOLDS, text, pools[query], pooling)
        # What each term adds to a cosine is rounded to a multiple of 2^-40.
        assert found[query] == pytest.approx(expected, abs=8 * 2.0**-40)


def test_only_positive_grades_make_a_context_known() -> None:
    base = f"test-crm-{next(NUMBERS)}"
    register(f"{base}/train", CONTEXTS, GOLDS, grades={"a": 0, "b": 2, "e": -1})
    dataset_id = register(f"{base}/test", {"q": "cat dog"})
    found = scores_of(dataset_id, CRM(pooling="mean"))["q"]
    expected = restated(CONTEXTS, {"c2": ["b"], "c3": ["b"]}, "cat dog", QUOTES, "mean")
    assert found == pytest.approx(expected, abs=1e-12)


def test_a_context_judged_twice_counts_as_one_pair_each() -> None:
    """The statistics are those of the contexts, however many documents each belongs to."""
    golds = {"c1": list("abcdef"), "c2": ["b"], "c3": [], "c4": []}
    found = scores_of(pair(CONTEXTS, golds, {"q": "cat fish"}), CRM())["q"]
    assert found == pytest.approx(restated(CONTEXTS, golds, "cat fish", QUOTES, "max"), abs=1e-12)


def test_the_terms_are_those_of_the_analysis_asked_for() -> None:
    dataset_id = pair({"c1": "鲁迅先生", "c2": "周树人"}, {"c1": ["a"], "c2": ["b"]}, {"q": "鲁迅"})
    plain = scores_of(dataset_id, CRM(analyzer="words"))["q"]
    assert set(plain.values()) == {0.0}
    pairs = scores_of(dataset_id, CRM(tokenizer="cjk", stop="none"))["q"]
    assert pairs["a"] > 0 == pairs["b"]


# -- the training split -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dataset_id", "train", "expected"),
    [
        ("quoter/en/test", "train", "quoter/en/train"),
        ("quoter/en/lower/test", "train", "quoter/en/lower/train"),
        ("quoter/sample/lzh/val/right", "train", "quoter/sample/lzh/train/right"),
        ("test/of/dev/left", "train", "test/of/train/left"),
        ("csfcube", "csfcube/method", "csfcube/method"),
    ],
)
def test_the_training_set_is_told_from_the_id(dataset_id: str, train: str, expected: str) -> None:
    assert training_id(dataset_id, train) == expected


def test_a_dataset_without_a_split_needs_one_named() -> None:
    with pytest.raises(InputError, match="csfcube has no split"):
        training_id("csfcube", "train")


def test_passages_without_known_contexts_are_refused() -> None:
    with pytest.raises(InputError, match=r"no document of .* has a known context"):
        scores_of("relic/sample/val", CRM())


@pytest.mark.parametrize(
    ("train", "found"), [("nobody", "quoter/sample/en/nobody"), ("no/such", "no/such")]
)
def test_a_training_set_that_is_none_is_named(train: str, found: str) -> None:
    with pytest.raises(InputError, match=f"no dataset '{re.escape(found)}'"):
        scores_of("quoter/sample/en/test", CRM(train=train))


def test_a_training_set_without_judgments_is_refused() -> None:
    name = register(f"test-crm-{next(NUMBERS)}/train", {"c": "cat"})
    with pytest.raises(InputError, match="has no judged queries"):
        scores_of("quoter/sample/en/test", CRM(train=name))
