"""Cross-encoders with tiny random models, against sentence-transformers' own predictions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from sentence_transformers import CrossEncoder as Theirs
from sentence_transformers import SentenceTransformer

from irtoolkit.base.errors import InputError
from irtoolkit.models import adapters as applied
from irtoolkit.retrievers.cross import CrossEncoder
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.task import load_task
from tests.datasets import ASKED, DOCS, POOLS, Scores, paired, register, table
from tests.tiny import save

# Queries that share a pool stand apart from each other, and one has none.
SHARED = {"q1": ["d2", "d5", "d1"], "q3": ["d4", "d7"], "q4": ["d2", "d5", "d1"]}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Sequence classifiers by their number of outputs, and what is none."""
    root = tmp_path_factory.mktemp("models")
    found = {
        name: str(save(root / name, "BertForSequenceClassification", num_labels=labels))
        for name, labels in (("one", 1), ("two", 2), ("three", 3))
    }
    found["saved"] = str(root / "saved")
    model = theirs(found["one"])
    # Neither an activation nor a prompt of its own is to be lost, or to be seen in a score.
    model.activation_fn = torch.nn.Sigmoid()
    model.save(found["saved"])
    found["bert"] = str(save(root / "bert"))
    found["masked"] = str(save(root / "masked", "BertForMaskedLM"))
    found["sentence"] = str(root / "sentence")
    SentenceTransformer(found["bert"], device="cpu").save(found["sentence"])
    return found


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The pairs that a model has read, from now on."""
    pairs: list[tuple[str, str]] = []
    original = applied.SentenceModel.__call__

    def noted(self: Any, items: Iterable[Any]) -> Any:
        pairs.extend(items)
        return original(self, items)  # type: ignore[arg-type]

    monkeypatch.setattr(applied.SentenceModel, "__call__", noted)
    return pairs


def theirs(folder: str, **options: Any) -> Any:
    return Theirs(folder, device="cpu", **options)


def predicted(folder: str, **options: Any) -> Any:
    """(queries, documents, outputs) logits of every pair of the texts."""
    pairs = [(query, doc) for query in ASKED.values() for doc in DOCS.values()]
    model = theirs(folder, **options)
    found = model.predict(pairs, activation_fn=torch.nn.Identity(), show_progress_bar=False)
    return np.asarray(found).reshape(len(ASKED), len(DOCS), -1)


def found(folder: str, pools: dict[str, list[str]] | None = None, **options: Any) -> Scores:
    return table(register(pools=pools), CrossEncoder(folder, device="cpu", **options))


# -- scores -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "pools"), [("one", POOLS), ("saved", None)])
def test_scores_are_sentence_transformers_logits(
    folders: dict[str, str], name: str, pools: dict[str, list[str]] | None
) -> None:
    expected = paired(predicted(folders[name])[..., 0], pools)
    assert found(folders[name], pools) == pytest.approx(expected, abs=1e-5)
    assert max(expected.values()) > 1, "a sigmoid would flatten these"


def test_of_two_classes_the_score_is_the_log_odds_of_the_second(folders: dict[str, str]) -> None:
    logits = predicted(folders["two"])
    scores = found(folders["two"], POOLS)
    assert scores == pytest.approx(paired(logits[..., 1] - logits[..., 0], POOLS), abs=1e-5)
    # That is, the order is the order of the second class's probability.
    likely = paired(torch.softmax(torch.tensor(logits), -1)[..., 1], POOLS)
    for (query, doc), score in scores.items():
        assert 1 / (1 + np.exp(-score)) == pytest.approx(likely[query, doc], abs=1e-6)


def test_three_classes_are_refused_at_once(
    folders: dict[str, str], read: list[tuple[str, str]]
) -> None:
    with pytest.raises(InputError, match="has 3 classes") as caught:
        found(folders["three"])
    assert folders["three"] in str(caught.value)
    assert len(read) == 1


def test_a_pair_is_cut_at_the_length_given(folders: dict[str, str]) -> None:
    plain = found(folders["one"])
    cut = found(folders["one"], length=5)
    expected = paired(predicted(folders["one"], max_length=5)[..., 0])
    assert cut == pytest.approx(expected, abs=1e-5)
    assert found(folders["one"]) == plain != cut


# -- candidates -------------------------------------------------------------------------------


def test_queries_that_share_candidates_keep_their_own_scores(folders: dict[str, str]) -> None:
    everything = found(folders["one"])
    scores = found(folders["one"], SHARED)
    assert scores.keys() == {(query, doc) for query, docs in SHARED.items() for doc in docs}
    assert scores == pytest.approx({pair: everything[pair] for pair in scores}, abs=1e-5)
    task = load_task(register(pools=SHARED))
    assert sorted(len(group.queries) for group in task.groups) == [1, 1, 2]
    run = rank(task, CrossEncoder(folders["one"], device="cpu"), progress=False)
    assert [len(run.ranking(query)) for query in ASKED] == [3, 0, 2, 3]
    for row in run:
        assert row.score == pytest.approx(scores[row.query_id, row.doc_id], abs=1e-6)


# -- kept scores ------------------------------------------------------------------------------


def test_every_pair_is_read_once_and_for_all(
    folders: dict[str, str], read: list[tuple[str, str]]
) -> None:
    few = found(folders["one"], POOLS)
    assert len(read) == len(set(read)) == len({(ASKED[q], DOCS[d]) for q, d in few})
    assert ("", "") in read
    read.clear()
    assert found(folders["one"], POOLS) == few
    assert read == []
    everything = found(folders["one"])
    assert set(read) == {(ASKED[q], DOCS[d]) for q, d in everything} - {
        (ASKED[q], DOCS[d]) for q, d in few
    }
    assert {pair: everything[pair] for pair in few} == few
    read.clear()
    found(folders["two"], POOLS)
    assert len(read) == len({(ASKED[q], DOCS[d]) for q, d in few}), "another model's scores"


def test_who_was_interrupted_goes_on_where_he_was(
    folders: dict[str, str], read: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("irtoolkit.models.encoder.SHARD", 8)
    forward = transformers.BertForSequenceClassification.forward

    def interrupted(self: Any, *args: Any, **options: Any) -> Any:
        if len(read) > 17:
            raise KeyboardInterrupt
        return forward(self, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(transformers.BertForSequenceClassification, "forward", interrupted)
        with pytest.raises(KeyboardInterrupt):
            found(folders["one"])
    read.clear()
    expected = paired(predicted(folders["one"])[..., 0])
    assert found(folders["one"]) == pytest.approx(expected, abs=1e-5)
    # Two shards of eight had been finished.
    assert len(read) == len({(ASKED[q], DOCS[d]) for q, d in expected}) - 16
