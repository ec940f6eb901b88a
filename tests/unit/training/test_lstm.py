"""Encoders that start from no checkpoint: their words, their vectors, and what they learn."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from irtoolkit.base.errors import InputError
from irtoolkit.models.opening import load_adapter
from irtoolkit.models.settings import AdapterSettings
from irtoolkit.training.base_model import build_model, freeze_documents
from irtoolkit.training.lstm import vocabulary
from irtoolkit.training.recipes import Recipe, Stage

TEXTS = ["The cat sat, the cat!", "學而時習之", "A dog"]


def recipe(**how: Any) -> Recipe:
    return Recipe("tiny", "", (Stage(),), start="lstm", **{"width": 4, "encoders": 2, **how})


def build(**how: Any) -> Any:
    return build_model(recipe(**how), 1, "cpu", TEXTS)


def test_a_text_is_the_last_state_of_an_lstm_over_its_words() -> None:
    model = build()
    words, network = model[0].sub_modules["query"][:2]
    number = {word: i for i, word in enumerate(vocabulary(TEXTS), 2)}
    for text, ids in {
        "the DOG sat": [number["the"], number["dog"], number["sat"]],
        "the wombat": [number["the"], 1],
        "之": [number["之"]],
    }.items():
        states, (last, _) = network.encoder(words.emb_layer(torch.tensor([ids])))
        assert torch.equal(states[:, -1], last[0])
        # Beside a longer text, so that it is filled up.
        found = model.encode_query([text, "the cat sat on the dog !"])[0]
        np.testing.assert_allclose(found, last[0, 0].detach().numpy(), atol=1e-6)
    assert np.isfinite(model.encode_query(["", "the cat"])).all()


def test_encoders_are_two_and_one_can_be_frozen() -> None:
    model = build()
    sides = [model[0].sub_modules[side] for side in ("query", "document")]
    assert not torch.equal(*(side[0].emb_layer.weight for side in sides)) or not torch.equal(
        *(side[1].encoder.weight_ih_l0 for side in sides)
    )
    freeze_documents(model)
    assert not any(p.requires_grad for p in sides[1].parameters())
    assert all(p.requires_grad for p in sides[0].parameters())
    with pytest.raises(InputError, match="share an encoder"):
        freeze_documents(build(encoders=1))


def test_what_is_saved_is_a_model_for_everybody(tmp_path: Path) -> None:
    model = build(similarity="dot", query_length=5, doc_length=3)
    model.save_pretrained(str(tmp_path / "model"), create_model_card=False)
    read = SentenceTransformer(str(tmp_path / "model"), device="cpu", trust_remote_code=True)
    assert read.similarity_fn_name == "dot"
    asked, shown = ["the cat sat , the cat sat", "a dog"], ["學而時習之", "the cat"]
    np.testing.assert_array_equal(read.encode_query(asked), model.encode_query(asked))
    np.testing.assert_array_equal(read.encode_document(shown), model.encode_document(shown))
    for side, texts, limit in (("query", asked, 5), ("document", shown, 3)):
        ours = load_adapter(
            str(tmp_path / "model"),
            "dense",
            side,  # type: ignore[arg-type]
            AdapterSettings("cpu", "fp32"),
        )
        encode = getattr(read, f"encode_{side}")
        assert ours.limit == limit
        assert ours.lengths(texts).tolist() == [7 if side == "query" else 5, 2]
        np.testing.assert_allclose(
            np.stack([vector for (vector,) in ours(texts)]), encode(texts), atol=1e-6
        )
        # Cut there, and nowhere else.
        first = {"query": "the cat sat , the", "document": "學而時"}[side]
        np.testing.assert_allclose(encode([first])[0], encode(texts[:1])[0], atol=1e-6)


# -- word vectors ------------------------------------------------------------------------------


@pytest.fixture
def vectors(tmp_path: Path) -> Callable[..., Path]:
    def write(*lines: str, name: str = "vectors.txt") -> Path:
        path = tmp_path / name
        opened = gzip.open if name.endswith(".gz") else open
        with opened(path, "wt", encoding="utf-8") as out:
            out.writelines(f"{line}\n" for line in lines)
        return path

    return write


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.txt.gz"])
@pytest.mark.parametrize("head", [(), ("3 2",)])
def test_words_have_the_vectors_of_the_file(
    vectors: Callable[..., Path], head: tuple[str, ...], name: str
) -> None:
    path = vectors(*head, "cat 1 2", "at home 5 6", "之 3 -4e-1", "cat 9 9", "zebra 7 8", name=name)
    words = build(words=str(path), width=3)[0].sub_modules["query"][0]
    known = vocabulary(TEXTS)
    weights = words.emb_layer.weight.detach().numpy()
    assert weights.shape == (len(known) + 2, 2)
    assert weights[known.index("cat") + 2].tolist() == [1, 2]
    assert weights[known.index("之") + 2] == pytest.approx([3, -0.4])
    assert not weights[0].any()
    assert words.emb_layer.weight.requires_grad
    drawn = np.delete(weights, [0, *(known.index(w) + 2 for w in ("cat", "之"))], axis=0)
    assert 0 < np.abs(drawn).max() < 1


@pytest.mark.parametrize(
    ("lines", "line", "said"),
    [
        (["cat 1 2", "dog 1 2", "the 1"], 3, "1 numbers, and the first line has 2"),
        (["cat 1 2", "dog 1 nan"], 2, "the vector of 'dog' has a value that is not a number"),
        (["cat"], 1, "no vector"),
        ([], None, "has none of the 12 words of the training texts"),
    ],
)
def test_files_that_are_refused(
    lines: list[str], line: int | None, said: str, vectors: Callable[..., Path]
) -> None:
    path = vectors(*lines)
    with pytest.raises(InputError) as caught:
        build(words=str(path))
    assert said in caught.value.found
    assert (str(caught.value.file), caught.value.line) == (str(path), line)


# -- what cannot be -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"kind": "cross", "encoders": 1}, "kind=cross is not for start=lstm"),
        ({"query_pooling": "cls"}, "query_pooling=cls is not for start=lstm"),
        ({"query_start": "other"}, "query_start=other is not for start=lstm"),
        ({"join": "sep"}, "join=sep is not for start=lstm"),
        ({"encoders": 1, "query_pooling": "max"}, "query_pooling=max with one encoder"),
    ],
)
def test_what_only_others_can_do_is_refused(how: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        build(**how)


# -- training -----------------------------------------------------------------------------------
