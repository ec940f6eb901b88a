"""QuoteR's modules against restatements of their equations."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling, Router

from irtoolkit.base.errors import InputError
from irtoolkit.models import loading
from irtoolkit.models.modules import (
    MaskPooling,
    SememeTransformer,
    read_lexicon,
)
from irtoolkit.models.opening import load_adapter
from irtoolkit.models.settings import AdapterSettings
from tests.tiny import DIMENSIONS, WORDS, config, save, sentence_model, tokenizer

MASK = 4
LINES = "cat\tanimal pet\nsat on\tposture\nDog\tanimal\ncats\tanimal many\nunheard\tsilent\nthe sea\twater\n"
TEXTS = ["The CAT sat on the mat.", "a dog, unheard in the sea", "mats", "", "cats sat on [MASK]"]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("models") / "plain")


@pytest.fixture(scope="module")
def lexicon(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("words") / "sememes.tsv"
    path.write_text(LINES, "utf-8")
    return read_lexicon(path)


@pytest.mark.parametrize(
    ("lookup", "text", "found"),
    [
        # NLTK keeps hyphens and parts contractions; a full stop inside a text stays at its word.
        ("nltk", "cats sat on the-sea. cat's dog.", {"cats": "cats", "cat": "cat", "dog": "dog"}),
        (
            "nltk",
            '"Dog" is "cats" in a cat. sat',
            {"dog": "dog", "cats": "cats", "cat": "cat"},
        ),
        # Only what is one token of the vocabulary.
        ("tokens", "cat sat on dogs dog", {"cat": "cat", "dog": "dog"}),
        (
            "longest",
            "cat sat on dog",
            {"cat": "cat", "sat": "sat on", "on": "sat on", "dog": "dog"},
        ),
    ],
)
def test_what_has_sememes(
    plain: Path, lexicon: Any, lookup: Any, text: str, found: dict[str, str]
) -> None:
    made = SememeTransformer(str(plain), lexicon=lexicon, lookup=lookup)
    features = made.preprocess([text])
    tokens = made.tokenizer.convert_ids_to_tokens(features["input_ids"][0])
    names = {number: word for word, number in lexicon.number().items()}
    words = features["sememe_words"][0].tolist()
    told = {t: names[w] for t, w in zip(tokens, words, strict=True) if w}
    whole = {t.lower(): w for t, w in told.items() if not t.startswith("##") and t in found}
    assert whole == found
    assert {*told.values()} == {*found.values()}


@pytest.fixture(scope="module")
def encoder(plain: Path, lexicon: Any) -> Any:
    torch.manual_seed(3)
    made = SememeTransformer(str(plain), lexicon=lexicon, alpha=0.7).eval()
    # As drawn, they are too small to be seen in what comes out.
    torch.nn.init.normal_(made.sememes.weight)
    return made


# -- MaskPooling ------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=7), min_size=1, max_size=4), st.booleans())  # fmt: skip
def test_the_vector_at_the_first_mask_or_else_the_first(rows: list[list[int]], left: bool) -> None:
    width = max(map(len, rows))
    gaps = [[0] * (width - len(row)) for row in rows]
    ids = torch.tensor([gap + row if left else row + gap for row, gap in zip(rows, gaps, strict=True)])  # fmt: skip
    vectors = torch.randn(*ids.shape, 3)
    features = {
        "input_ids": ids,
        "attention_mask": (ids > 0).long(),
        "token_embeddings": vectors,
    }
    found = MaskPooling(3, MASK)(features)["sentence_embedding"]
    for i, row in enumerate(rows):
        place = row.index(MASK) if MASK in row else 0
        assert torch.equal(found[i], vectors[i, place + (len(gaps[i]) if left else 0)])


def test_a_mask_that_is_cut_off(plain: Path) -> None:
    body = Transformer(str(plain), max_seq_length=4)
    model = SentenceTransformer(modules=[body, MaskPooling(DIMENSIONS, MASK)], device="cpu")
    first = SentenceTransformer(modules=[body, Pooling(DIMENSIONS, "cls")], device="cpu")
    texts = ["a cat on [MASK]", "[MASK] sat"]
    found, expected = model.encode(texts), first.encode(texts)
    assert np.allclose(found[0], expected[0])
    assert not np.allclose(found[1], expected[1])


# -- lexicons ---------------------------------------------------------------------------------


# -- sememes ----------------------------------------------------------------------------------


def spans(text: str, lexicon: Any) -> list[tuple[int, int, str]]:
    """Words of a lexicon in a text: the longest first, from left to right."""
    words = [match.span() for match in re.finditer(r"[a-zA-Z0-9]+|[^\sa-zA-Z0-9]", text)]
    found, i = [], 0
    while i < len(words):
        for j in range(len(words), i, -1):
            begin, end = words[i][0], words[j - 1][1]
            if text[begin:end].lower() in lexicon.words:
                found.append((begin, end, text[begin:end].lower()))
                i = j
                break
        else:
            i += 1
    return found


def embedded(encoder: Any, text: str) -> Any:
    """(1, t, d) what equation 6 makes of the embeddings of a text's tokens."""
    coded = encoder.tokenizer(
        text, truncation=True, return_offsets_mapping=True, return_tensors="pt"
    )
    x = encoder.model.get_input_embeddings()(coded["input_ids"])[0].detach().clone()
    for begin, end, word in spans(text, encoder.lexicon):
        members = encoder.lexicon.words[word]
        total = sum(encoder.sememes.weight[s].detach() for s in members)
        for i, (low, high) in enumerate(coded["offset_mapping"][0].tolist()):
            if begin <= low < high <= end:
                x[i] += encoder.alpha / len(members) * total
    return x[None]


def outputs(encoder: Any, texts: list[str], **how: Any) -> list[Any]:
    """(t, d) vectors of each text's tokens."""
    with torch.no_grad():
        made = encoder(encoder.preprocess(texts, **how))
    return [row[mask.bool()] for row, mask in zip(made["token_embeddings"], made["attention_mask"], strict=True)]  # fmt: skip


def restated(encoder: Any, text: str) -> Any:
    with torch.no_grad():
        return encoder.model(inputs_embeds=embedded(encoder, text)).last_hidden_state[0]


KNOWN = ["cat", "cats", "CAT", "Dog", "sat on", "the sea", "unheard", "sat", "the", "mat", ".", "heard", "[MASK]"]  # fmt: skip


@settings(max_examples=20)
@given(st.lists(st.lists(st.sampled_from(KNOWN), max_size=6).map(" ".join), min_size=1, max_size=3))
def test_equation_6(encoder: Any, texts: list[str]) -> None:
    for text, found in zip(texts, outputs(encoder, texts), strict=True):
        torch.testing.assert_close(found, restated(encoder, text), rtol=1e-3, atol=1e-4)


def test_sememes_are_added_to_words_of_the_lexicon_alone(encoder: Any, plain: Path) -> None:
    own = Transformer(str(plain)).eval()
    with_words, without = outputs(encoder, TEXTS), outputs(own, TEXTS)
    same = [torch.allclose(a, b, atol=1e-5) for a, b in zip(with_words, without, strict=True)]
    assert same == [False, False, True, True, False]


def numbers(encoder: Any, text: str, **how: Any) -> list[str | None]:
    """The word of each token of a text."""
    names = [None, *encoder.lexicon.words]
    return [names[i] for i in encoder.preprocess([text], **how)["sememe_words"][0].tolist()]


def test_chinese_words_are_found_by_longest_match(tmp_path: Path) -> None:
    words = tokenizer([*WORDS, *"春天气好不"])
    made = save(tmp_path / "zh")
    import transformers

    transformers.BertModel(config(words)).save_pretrained(made)
    words.save_pretrained(made)
    (tmp_path / "zh.tsv").write_text("春\t季节\n春天\t季节 时间\n天气\t气象\n好\t好\n", "utf-8")
    encoder = SememeTransformer(str(made), lexicon=read_lexicon(tmp_path / "zh.tsv"))
    assert numbers(encoder, "春天天气不好。") == [
        None, "春天", "春天", "天气", "天气", None, "好", None, None,
    ]  # fmt: skip
    assert numbers(encoder, "春气") == [None, "春", None, None]


def test_sememes_are_trained(plain: Path, lexicon: Any) -> None:
    encoder = SememeTransformer(str(plain), lexicon=lexicon)
    # Of one dimension: the layer's normalization makes the sum of all of them constant.
    encoder(encoder.preprocess(["a cat"]))["token_embeddings"][..., 0].sum().backward()
    moved = encoder.sememes.weight.grad.abs().sum(dim=1) > 0
    names = [name for name, m in zip(lexicon.sememes, moved.tolist(), strict=True) if m]
    assert names == ["animal", "pet"]
    assert "sememes.weight" in dict(encoder.named_parameters())


# -- files ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(encoder: Any, plain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """QuoteR's two encoders as one model."""
    return sentence_model(
        tmp_path_factory.mktemp("saved") / "model",
        Router.for_query_document(
            [Transformer(str(plain)), MaskPooling(DIMENSIONS, MASK)],
            [encoder, Pooling(DIMENSIONS, "cls")],
        ),
        similarity_fn_name="dot",
    )  # fmt: skip


def test_a_saved_model_is_loaded_by_sentence_transformers(saved: Path, encoder: Any) -> None:
    """Which wants to be told that it may load modules of other packages."""
    with pytest.raises(ValueError, match="trust_remote_code"):
        SentenceTransformer(str(saved), device="cpu")
    plainly = SentenceTransformer(str(saved), device="cpu", trust_remote_code=True)
    ours = loading.open_model("dense", str(saved))
    for model in (plainly, ours):
        found = model.encode_document(TEXTS, convert_to_tensor=True)
        expected = torch.stack([tokens[0] for tokens in outputs(encoder, TEXTS)])
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)
        assert model.similarity_fn_name == "dot"
        assert model[0].sub_modules["document"][0].alpha == 0.7
    assert np.allclose(plainly.encode_query(TEXTS), ours.encode_query(TEXTS), atol=1e-5)


def test_irtoolkit_applies_a_saved_model(saved: Path, encoder: Any) -> None:
    own = loading.open_model("dense", str(saved))
    for side, encode in (("query", own.encode_query), ("document", own.encode_document)):
        model = load_adapter(str(saved), "dense", side, AdapterSettings("cpu", "fp32"))  # type: ignore[arg-type]
        found = np.stack([vector for (vector,) in model(TEXTS)])
        assert np.allclose(found, encode(TEXTS), atol=1e-4)
        assert model.similarity == "dot"
        half = load_adapter(str(saved), "dense", side, AdapterSettings("cpu", "bf16"))  # type: ignore[arg-type]
        near = np.stack([vector for (vector,) in half(TEXTS)])
        assert near.dtype == np.float32
        cosine = (
            (near * found).sum(1) / np.linalg.norm(near, axis=1) / np.linalg.norm(found, axis=1)
        )
        assert cosine.min() > 0.98


def test_columns_of_a_batch_are_cut_and_joined(encoder: Any) -> None:
    """As sentence-transformers does for chunks of a batch and for several columns at once."""
    from sentence_transformers.base.losses.gradcache import _create_minibatch
    from sentence_transformers.base.losses.merged_forward import merge_feature_batches

    whole = outputs(encoder, TEXTS)
    features = encoder.preprocess(TEXTS)
    joined = merge_feature_batches([_create_minibatch(dict(features), i, i + 1) for i in range(5)])
    assert joined is not None
    with torch.no_grad():
        made = encoder(joined)["token_embeddings"]
    for row, expected in zip(made, whole, strict=True):
        torch.testing.assert_close(row[: len(expected)], expected, rtol=1e-3, atol=1e-4)


def test_no_other_packages_modules_are_loaded(saved: Path, tmp_path: Path) -> None:
    """A folder does not say what code is run."""
    import shutil

    folder = tmp_path / "model"
    shutil.copytree(saved, folder)
    path = folder / "router_config.json"
    path.write_text(path.read_text().replace("irtoolkit.models.modules.MaskPooling", "os.path"))
    with pytest.raises(InputError, match="comes with code of its own"):
        loading.load_model(
            str(folder), lambda: loading.open_model("dense", str(folder)), "fp32", "cpu"
        )
