"""Evaluation during training: what each query ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.training.recipes import Recipe, Stage, check_evaluation
from irtoolkit.training.validation import Validation, make_validation
from tests.datasets import register

DOCS = {f"d{i:02}": f"word{i}" for i in range(40)}
ASKED = {f"q{i}": f"word{i}" for i in range(30)}
GOLDS = [(f"q{i}", f"d{i:02}", 1) for i in range(30)] + [("q3", "d39", 1)]


def made(ways: int | None) -> Validation:
    dataset = register(DOCS, ASKED, qrels=GOLDS)
    found = make_validation(Stage(dataset="x", evaluate=dataset, measure="R@1", ways=ways), None)
    assert found is not None
    return found


def shown(validation: Validation) -> dict[str, list[str]]:
    task = validation.task
    return {
        str(task.query_ids[query]): task.doc_ids[group.docs].tolist()
        for group in task.groups
        for query in group.queries
    }


def test_each_query_ranks_its_golds_and_others_at_random() -> None:
    found = shown(made(5))
    assert found.keys() == ASKED.keys()
    for query, docs in found.items():
        golds = {doc for name, doc, _ in GOLDS if name == query}
        assert golds <= {*docs}
        assert len({*docs}) == len(docs) == 5
    # Others, and not the same ones.
    assert len({tuple(docs) for docs in found.values()}) == len(found)
    assert len({doc for docs in found.values() for doc in docs}) > 30
    # Each time the same, so that models and epochs can be compared.
    assert shown(made(5)) == found


def test_accuracy_among_a_few_is_that_of_the_measure() -> None:
    """A model that reads one word of 30 rightly, held against counting."""
    validation = made(4)

    class Model:
        similarity_fn_name, training = "dot", False
        device: Any = type("Device", (), {"type": "cpu"})()

        def encode_query(self, texts: list[str], **_: Any) -> Any:
            return np.eye(40, dtype=np.float32)[[min(11, int(text[4:])) for text in texts]]

        def encode_document(self, texts: list[str], **_: Any) -> Any:
            return np.eye(40, dtype=np.float32)[[int(text[4:]) for text in texts]]

        def eval(self) -> None: ...
        def train(self, mode: bool) -> None: ...

    figures = validation(Model(), "dense")
    assert figures.keys() == {"R@1"}
    # From query 12 on all documents tie at 0, unless document 11 is shown: the last id is first.
    expected = []
    for query, docs in shown(validation).items():
        number = min(11, int(query[1:]))
        best = max(docs, key=lambda doc: (int(doc[1:]) == number, doc))
        golds = {doc for name, doc, _ in GOLDS if name == query}
        expected.append((best in golds) / len(golds))
    assert figures["R@1"] == pytest.approx(np.mean(expected))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"ways": 1, "measure": "RR"}, "ways=1 is not at least 2"),
        ({"ways": 5}, "ways needs a measure"),
    ],
)
def test_ways_that_make_no_evaluation(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        check_evaluation(Recipe(stages=(Stage(**settings),)))
