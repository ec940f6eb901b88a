"""The system for a collection of one's own, beside the fusion of its parts' runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtoolkit as ir
from irtoolkit.models.presets import announce_downloads, find_preset
from irtoolkit.retrievers.best import UntunedFusion, _ranks
from irtoolkit.retrievers.dense import Dense
from irtoolkit.retrievers.lexical import BM25
from tests.datasets import register, scores_of
from tests.tiny import WORDS, save

DOCS = {f"d{n}": " ".join((WORDS * 3)[n : n + 1 + n % 4]) for n in range(30)}
DOCS["twin"] = DOCS["d4"]
QUERIES = {"q1": " ".join(WORDS[2:5]), "q2": WORDS[9], "q3": "nothing of this is there"}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    root = tmp_path_factory.mktemp("models")
    return [str(save(root / name)) for name in ("one", "two")]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("k", [60.0, 1.0])
def test_a_score_is_the_sum_of_the_reciprocal_ranks(models: list[str], k: float) -> None:
    dataset = register(DOCS, QUERIES)
    found = scores_of(dataset, UntunedFusion(models="+".join(models), k=k))
    wanted: dict[str, dict[str, float]] = {q: dict.fromkeys(DOCS, 0.0) for q in QUERIES}
    for part in (BM25(), *(Dense(model=model) for model in models)):
        for query, scores in scores_of(dataset, part).items():
            for doc, score in scores.items():
                rank = 1 + sum(other > score for other in scores.values())
                wanted[query][doc] += 1 / (k + rank)
    for query in QUERIES:
        assert found[query] == pytest.approx(wanted[query], rel=1e-6)
        assert found[query]["twin"] == found[query]["d4"]


def test_downloads_are_announced_with_their_size_before_the_first(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("irtoolkit.models.presets.place_of", lambda _: None)
    monkeypatch.setattr("irtoolkit.models.presets.files_of", lambda _: {"model.safetensors": 3e8})
    presets = [find_preset(name) for name in ("gte-small", "all-mpnet-base-v2")]
    announce_downloads(presets, "bm25")
    (line,) = caplog.messages
    assert "thenlper/gte-small and sentence-transformers/all-mpnet-base-v2, 600 MB in all; " in line
    assert "IRTOOLKIT_DOWNLOAD=0 downloads nothing, and bm25 needs none" in line
    caplog.clear()
    monkeypatch.setenv("IRTOOLKIT_DOWNLOAD", "0")
    announce_downloads(presets, "bm25")
    assert caplog.messages == []


def test_equal_scores_share_the_best_of_their_ranks() -> None:
    assert _ranks(np.array([0.5, 2.0, 0.5, -1.0, 2.0])).tolist() == [3, 1, 3, 5, 1]


def test_passages_of_books_need_no_model() -> None:
    data = "relic/sample/val"
    own = ir.retrieve(data, "best", models="nobody-has-this", depth=20)
    assert own.as_dict() == ir.retrieve(data, "bm25-surroundings", depth=20).as_dict()


def test_a_record_of_passages_of_books_fetches_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("irtoolkit.models.presets.place_of", lambda _: None)
    monkeypatch.setattr("irtoolkit.models.presets.files_of", None)  # it would fail
    books, others = ir.load("relic/sample/val"), ir.load(DOCS, queries=QUERIES)
    best = UntunedFusion().fitted(books)
    assert (best.fingerprint(), best.computed()) == (None, {})
    assert UntunedFusion().fitted(others) == UntunedFusion()


def test_a_model_that_is_not_here_is_named(models: list[str]) -> None:
    with pytest.raises(ir.InputError, match="nobody"):
        scores_of(register(DOCS, QUERIES), UntunedFusion(models=f"{models[0]}+./nobody"))


def test_one_error_names_all_models_that_are_not_here_and_what_runs_without_them(
    models: list[str],
) -> None:
    with pytest.raises(ir.InputError) as raised:
        scores_of(
            register(DOCS, QUERIES), UntunedFusion(models=f"nobody/one+{models[0]}+nobody/two")
        )
    error = raised.value
    assert "the weights of nobody/one and nobody/two are not here" in error.found
    assert error.remedy == (
        f"--set models={models[0]}: those that are here; --set models=none: BM25 alone; or"
        " `irtoolkit models --fetch nobody/one nobody/two` where there is a network"
    )


def test_without_a_network_the_error_says_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(hub_id: str) -> None:
        raise ir.InputError(f"cannot download {hub_id}: no network", remedy="try again later")

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("irtoolkit.models.presets.files_of", unreachable)
    with pytest.raises(ir.InputError) as raised:
        scores_of(register(DOCS, QUERIES), UntunedFusion(models="nobody/one+nobody/two"))
    assert str(raised.value) == (
        "cannot download nobody/one: no network (--set models=none: BM25 alone; or `irtoolkit models"
        " --fetch nobody/one nobody/two` where there is a network)"
    )


def test_without_the_library_of_models_there_is_one_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("retrievers.best", "models.presets"):
        monkeypatch.setattr(f"irtoolkit.{module}.find_spec", lambda _: None)
    with pytest.raises(ir.InputError) as raised:
        scores_of(register(DOCS, QUERIES), UntunedFusion())
    assert str(raised.value) == (
        "sentence-transformers is not installed (pip install '.[neural]' in the folder of irtoolkit;"
        " or --set models=none: BM25 alone)"
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"models": "one++two"}, "empty name"), ({"models": ""}, "empty"), ({"k": -1}, "k=-1")],
)
def test_settings_that_cannot_be(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ir.InputError, match=message):
        UntunedFusion(**settings)
