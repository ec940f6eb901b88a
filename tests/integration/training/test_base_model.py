"""A saved model ranks as it did before it was saved, by every retriever."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding

from irtoolkit.models import loading, presets
from irtoolkit.models.cuts import Cut
from irtoolkit.models.opening import load_adapter
from irtoolkit.models.presets import SAVED_AS
from irtoolkit.models.settings import AdapterSettings
from irtoolkit.retrievers import cross, dense, late, sparse
from irtoolkit.training.base_model import build_model
from irtoolkit.training.recipes import Stage
from tests.datasets import paired, register, table
from tests.tiny import (
    DIMENSIONS,
    save,
    save_colbert,
    sentence_model,
    tokenizer,
)
from tests.unit.training.test_base_model import build, recipe, scores


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def starts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Folders of models to start from, by name."""
    root = tmp_path_factory.mktemp("starts")
    made = {
        "plain": str(save(root / "plain")),
        "other": str(save(root / "other", seed=1)),
        "masked": str(save(root / "masked", "BertForMaskedLM")),
        "one": str(save(root / "one", "BertForSequenceClassification", num_labels=1)),
        "colbert": str(save_colbert(root / "colbert")),
    }
    body = Transformer(made["plain"], max_seq_length=20)
    torch.manual_seed(5)
    folder = sentence_model(
        root / "whole", body, Pooling(DIMENSIONS), Dense(DIMENSIONS, 8), Normalize(),
        similarity_fn_name="dot", prompts={"query": "the ", "document": "a "},
    )  # fmt: skip
    made["whole"] = str(folder)
    made["static"] = str(
        sentence_model(root / "static", StaticEmbedding(tokenizer(), embedding_dim=4))
    )
    (root / "sememes.tsv").write_text("cat\tanimal pet\ndog\tanimal\nthe sea\twater\n")
    return {**made, "sememes": str(root / "sememes.tsv")}


SAVED: dict[str, tuple[str, dict[str, Any]]] = {
    "one encoder, one length": ("plain", {"pooling": "cls", "query_length": 6}),
    "whole": ("whole", {}),

    "QuoteR": (
        "plain",
        {"encoders": 2, "pooling": "cls", "query_pooling": "mask", "similarity": "dot",
         "sememes": "sememes", "alpha": 0.5, "doc_length": 9},
    ),

    "ColBERT": ("colbert", {"kind": "late", "query_length": 10}),
    "sparse": ("masked", {"kind": "sparse", "doc_length": 12}),
    "pairs, two outputs": ("plain", {"kind": "cross", "labels": 2}),
}  # fmt: skip


RETRIEVERS: dict[str, Any] = {
    "dense": dense.Dense, "late": lambda model, **how: late.Late(model, stored="fp32", **how),
    "sparse": sparse.Sparse, "cross": cross.CrossEncoder,
}  # fmt: skip


@pytest.mark.parametrize("name", SAVED)
def test_a_saved_model_ranks_as_it_did(name: str, starts: Any, tmp_path: Path) -> None:
    """Loaded by sentence-transformers and by our retrievers."""
    start, how = SAVED[name]
    how = {key: starts[value] if key == "sememes" else value for key, value in how.items()}
    model = build(starts[start], **how)
    kind = how.get("kind", "dense")
    expected = scores(model, kind)
    folder = str(tmp_path / "model")
    model.save_pretrained(folder)
    assert presets.said_kind(folder) == kind
    again = loading.open_model(kind, folder)
    assert type(again).__name__ == SAVED_AS[kind]
    assert scores(again, kind) == pytest.approx(expected, abs=1e-5)
    assert again.prompts == model.prompts
    for side, length in (("query", how.get("query_length")), ("document", how.get("doc_length"))):
        applied = load_adapter(folder, kind, side, AdapterSettings("cpu", "fp32"))  # type: ignore[arg-type]
        if length is not None:
            assert applied.limit == length
        if kind in ("dense", "sparse"):
            assert applied.similarity == model.similarity_fn_name
    found = table(register(), RETRIEVERS[kind](folder, device="cpu"))
    if kind == "sparse":  # which has no score for what has no term in common
        found = {pair: found.get(pair, 0.0) for pair in paired(expected)}
    assert found == pytest.approx(paired(expected), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(("kind", "encoders"), [("dense", 2), ("late", 1)])
def test_masked_queries_are_cut_in_training_as_in_retrieval(
    kind: str, encoders: int, starts: Any, tmp_path: Path
) -> None:
    how = {"pooling": "cls", "encoders": encoders} if kind == "dense" else {"kind": kind}
    made = replace(
        recipe(starts["plain"], query_length=12, **how),
        stages=(Stage(dataset="d", query="masked"),),
    )
    model = build_model(made, 1, "cpu")
    text = f"{' lamp' * 30} [MASK] {' ship' * 30}"
    read = model.preprocess([text], prompt=model.prompts.get("query"), task="query")["input_ids"]
    mask = model.tokenizer.mask_token_id
    assert mask in read[0].tolist()
    model.save_pretrained(str(tmp_path / "model"))
    settings = AdapterSettings("cpu", "fp32", cut=Cut("sides", "[MASK]"))
    adapter: Any = load_adapter(str(tmp_path / "model"), kind, "query", settings)  # type: ignore[arg-type]
    again = adapter._model.preprocess([text], prompt=adapter._asked, task="query")["input_ids"]
    assert again.tolist() == read.tolist()
    assert read.shape == (1, 12)
    # Once saved, it is like any other model: it is the view that says how queries are cut.
    plain = load_adapter(str(tmp_path / "model"), kind, "query", AdapterSettings("cpu", "fp32"))  # type: ignore[arg-type]
    end = plain._model.preprocess([text], prompt=adapter._asked, task="query")["input_ids"]  # type: ignore[attr-defined]
    assert mask not in end[0].tolist()
