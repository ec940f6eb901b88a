"""Documents by their text and their known contexts, against cosines taken one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.retrievers import create_retriever
from tests import tiny
from tests.datasets import scores_of
from tests.unit.retrievers.test_crm import QUOTES, pair

CONTEXTS = {"1": "words of grief", "2": "the sea at night", "3": "which nobody", "4": "grief"}
# e and f have no known context.
KNOWN = {"1": ["a"], "2": ["a", "b"], "3": ["c"], "4": ["d"]}
ASKED = {"q": "grief at night", "r": "words of the sea"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = [*CONTEXTS.values(), *ASKED.values(), *QUOTES.values()]
    return tiny.save(tmp_path_factory.mktemp("model"), texts=texts)


def cosines(model: Path, queries: list[str], docs: list[str]) -> np.ndarray:
    """Cosines as the plain retriever takes them, of the mean of token vectors."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    encoder = transformers.AutoModel.from_pretrained(model).eval()

    def vector(text: str) -> np.ndarray:
        with torch.inference_mode():
            states = encoder(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        made = states.mean(dim=0).numpy()
        return made / np.linalg.norm(made)

    return np.array([[vector(query) @ vector(doc) for doc in docs] for query in queries])


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_scores_are_the_mixed_cosines(model: Path, weight: float) -> None:
    name = pair(CONTEXTS, KNOWN, ASKED)
    settings = {"model": str(model), "pooling": "mean", "weight": weight}
    found = scores_of(name, create_retriever("known-contexts", settings))
    own = cosines(model, list(ASKED.values()), list(QUOTES.values()))
    near = cosines(model, list(ASKED.values()), list(CONTEXTS.values()))
    contexts = list(CONTEXTS)
    for row, query in enumerate(ASKED):
        for column, doc in enumerate(QUOTES):
            known = [near[row, contexts.index(c)] for c, docs in KNOWN.items() if doc in docs]
            best = max(known, default=own[row, column])
            expected = (1 - weight) * own[row, column] + weight * best
            assert found[query][doc] == pytest.approx(expected, abs=1e-5)


def test_a_weight_beyond_its_bounds_is_refused() -> None:
    with pytest.raises(InputError, match=r"weight=1\.5 is not between 0 and 1"):
        create_retriever("known-contexts", {"weight": 1.5})


def test_a_query_that_is_known_is_refused(model: Path) -> None:
    name = pair(CONTEXTS, KNOWN, {**ASKED, "1": "words of grief"})
    retriever = create_retriever("known-contexts", {"model": str(model), "pooling": "mean"})
    with pytest.raises(InputError, match=r"query 1 .* is in the training set"):
        scores_of(name, retriever)
