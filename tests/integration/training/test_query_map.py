"""A linear map of queries: it learns, the encoder does not change, and retrieval uses both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irtoolkit.datasets.dataset import Dataset
from irtoolkit.ranking.produce import produce
from irtoolkit.ranking.systems import System
from irtoolkit.runs import Run
from irtoolkit.training.recipes import Recipe
from irtoolkit.training.trainer import train
from tests import planted, tiny
from tests.trained import interrupted, same


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def mapped(folder: Path, **settings: Any) -> Recipe:
    """A recipe of a map upon a model of random weights, and its test."""
    data, test = planted.task(topics=12)
    how = {
        "encoders": 1, "similarity": "cosine", "query_map": True, "scale": 20.0, "rate": 2e-2,
        "epochs": 12, **settings,
    }  # fmt: skip
    return planted.recipe(data, planted.start(folder / "start"), test, **how)


def figures(made: Any) -> list[float]:
    return [row["figures"]["R@1"] for row in made.record["stages"][0]["evaluations"]]


@pytest.mark.parametrize("loss", ["in-batch", "all"])
def test_a_map_learns_and_the_encoder_stays(loss: str, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    recipe = mapped(tmp_path, loss=loss)
    made = train(recipe, tmp_path / "model", device="cpu")
    found = figures(made)
    assert max(found) > 2 * found[0]
    test = Dataset.load(recipe.stages[0].evaluate)
    queries = [query.text for query in test.queries_iter()]
    docs = [doc.text for doc in test.docs_iter()]
    model = SentenceTransformer(str(made.folder), device="cpu")
    untrained = replace(recipe, stages=(replace(recipe.stages[0], rate=1e-12, epochs=0.1),))
    start = SentenceTransformer(
        str(train(untrained, tmp_path / "start-map", device="cpu").folder), device="cpu"
    )
    # With no learning to speak of the map is the identity.
    first = start.encode_query(queries)
    np.testing.assert_allclose(first, start.encode_document(queries), atol=1e-5)
    np.testing.assert_array_equal(model.encode_document(docs), start.encode_document(docs))
    change, *_ = np.linalg.lstsq(first, model.encode_query(queries), rcond=None)
    np.testing.assert_allclose(first @ change, model.encode_query(queries), atol=1e-3)
    assert np.abs(change - np.eye(len(change))).max() > 0.01


def test_retrieval_keeps_the_vectors_of_documents(tmp_path: Path, cache: Path) -> None:
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    recipe = mapped(tmp_path, pooling="own", epochs=3)
    start = tiny.sentence_model(
        tmp_path / "saved", Transformer(recipe.start),
        Pooling(tiny.DIMENSIONS, pooling_mode="mean"),
        prompts={"query": "find: ", "document": "text: "}, default_prompt_name="query",
    )  # fmt: skip
    made = train(replace(recipe, start=str(start)), tmp_path / "model", device="cpu")
    test = recipe.stages[0].evaluate

    def ranked(name: str, **settings: str) -> tuple[Run, set[str]]:
        before = {path.name for path in (cache / "vectors").iterdir()}
        produce(
            test, System.make(name, "dense", settings), tmp_path / f"{name}.run", progress=False
        )
        after = {path.name for path in (cache / "vectors").iterdir()}
        return Run.read(tmp_path / f"{name}.run"), after - before

    plain, nothing = ranked("plain", model=str(start))
    one, queries = ranked("one", model=str(start), query_weights=str(made.folder))
    other, both = ranked("other", model=str(made.folder))
    # Training has made the vectors of the untrained model, of queries and of documents.
    assert (len(nothing), len(queries), len(both)) == (0, 1, 1)
    assert [row[:2] for row in rows(one)] == [row[:2] for row in rows(other)]
    assert [row[:2] for row in rows(one)] != [row[:2] for row in rows(plain)]


def rows(run: Run) -> list[tuple[str, str, float]]:
    """The query, the document and the score of each row."""
    return [(row.query_id, row.doc_id, row.score) for row in run]


def test_a_training_that_was_killed_resumes(tmp_path: Path) -> None:
    recipe = mapped(tmp_path, epochs=4)
    whole = train(recipe, tmp_path / "whole", device="cpu", save_every=5)

    with interrupted(15):
        train(recipe, tmp_path / "again", device="cpu", save_every=5)
    again = train(recipe, tmp_path / "again", device="cpu", save_every=5)
    assert same(whole.folder, again.folder)
    assert figures(whole) == figures(again)
