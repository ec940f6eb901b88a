"""What models make of texts, against sentence-transformers and transformers themselves."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import (
    Dense,
    Normalize,
    Pooling,
    Router,
    StaticEmbedding,
    Transformer,
)

from irtoolkit.base import threads
from irtoolkit.base.cores import THREADS
from irtoolkit.base.errors import InputError
from irtoolkit.models import batches, presets
from irtoolkit.models.batches import Batches
from irtoolkit.models.encoder import Encoder, EncoderSettings
from irtoolkit.models.presets import Preset, Side
from irtoolkit.models.shards import Output
from tests.tiny import DIMENSIONS, LONGEST, WORDS, config, save, sentence_model, tokenizer

DRAW = np.random.default_rng(2)
# Short and long ones, none longer than a model takes, and what says nothing.
TEXTS = [" ".join(DRAW.choice(WORDS, size)) for size in [1, 2, 3, 5, 9, 14, 20, 22]]
TEXTS += ["", " ", "\n\t ", "[MASK]", "a [MASK] b [MASK]", "[SEP]", "日本", "The CAT, unheard-of"]
LONG = " ".join(DRAW.choice(WORDS, 60))
SIDES: tuple[Side, Side] = ("query", "document")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def plain(root: Path) -> Path:
    return save(root / "plain")


@pytest.fixture(scope="module")
def mean(root: Path, plain: Path) -> Path:
    return sentence_model(root / "mean", Transformer(str(plain)), Pooling(DIMENSIONS))


@pytest.fixture
def declare(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Makes a preset, and gives its name."""

    def make(id: Path, **fields: Any) -> str:
        made = {"tiny": Preset(str(id), **fields)}
        monkeypatch.setattr(presets, "presets", lambda: made)
        return "tiny"

    return make


def encoder(model: Path | str, side: Side = "document", **how: Any) -> Encoder:
    return Encoder(EncoderSettings(str(model), "dense", side, device="cpu", **how))


def vectors(model: Path | str, texts: Sequence[str] = TEXTS, side: Side = "document", **how: Any) -> Any:  # fmt: skip
    return encoder(model, side, **how).encode(texts).vectors()


def near(expected: Any) -> Any:
    return pytest.approx(np.asarray(expected), abs=1e-5)


# -- sentence-transformers --------------------------------------------------------------------


def modules(name: str, plain: Path) -> tuple[list[Any], dict[str, Any]]:
    """What a model of sentence-transformers is made of."""
    body = Transformer(str(plain))
    first: list[Any] = [body, Pooling(DIMENSIONS, pooling_mode="mean")]
    torch.manual_seed(4)
    if name in ("cls", "mean", "lasttoken", "weightedmean"):
        return [body, Pooling(DIMENSIONS, pooling_mode=name)], {}  # type: ignore[arg-type]
    if name == "projected":
        return [*first, Dense(DIMENSIONS, 8), Normalize()], {}
    if name == "short":
        body.max_seq_length = 7
        return first, {}
    if name == "prompts":
        return first, {"prompts": {"query": "query: ", "document": "passage: "}}
    if name == "passage":
        return first, {"prompts": {"query": "query: ", "passage": "passage: "}}
    if name == "default":
        return first, {"prompts": {"all": "cat: "}, "default_prompt_name": "all"}
    if name == "outside":  # the prompt is read, and takes no part in the mean
        pooling = Pooling(DIMENSIONS, include_prompt=False)
        return [body, pooling], {"prompts": {"query": "query: ", "document": "a passage: "}}
    if name == "narrow":
        return first, {"truncate_dim": 5}
    assert name == "static"
    return [StaticEmbedding(tokenizer(), embedding_dim=8)], {}


@pytest.mark.parametrize(
    "name",
    [
        "lasttoken", "weightedmean", "projected", "short", "prompts", "passage", "default",
        "outside", "narrow", "static",
    ],
)  # fmt: skip
def test_vectors_are_those_of_sentence_transformers(name: str, plain: Path, tmp_path: Path) -> None:
    made, how = modules(name, plain)
    folder = sentence_model(tmp_path / "model", *made, **how)
    own = SentenceTransformer(str(folder), device="cpu")
    texts = [*TEXTS, LONG]
    assert vectors(folder, texts, "query") == near(own.encode_query(texts))
    assert vectors(folder, texts, "document") == near(own.encode_document(texts))
    if name not in ("prompts", "passage", "default", "outside"):
        assert vectors(folder, texts) == near(own.encode(texts))


@pytest.mark.parametrize("prompt", ["", "dog: "])
def test_a_prompt_takes_the_place_of_the_models(prompt: str, plain: Path, tmp_path: Path) -> None:
    made, how = modules("prompts", plain)
    folder = sentence_model(tmp_path / "model", *made, **how)
    own = SentenceTransformer(str(folder), device="cpu")
    for side in SIDES:
        assert vectors(folder, side=side, prompt=prompt) == near(own.encode(TEXTS, prompt=prompt))


def test_two_encoders_in_one_model(root: Path, plain: Path, caplog: Any) -> None:
    """Each with its own words, and its own length: neither is told by the other's."""
    narrow = save(root / "narrow", seed=1, max_position_embeddings=12)
    words = tokenizer(["unheard"], 12)
    made = transformers.BertModel(config(words, max_position_embeddings=12))
    made.save_pretrained(narrow)
    words.save_pretrained(narrow)
    folder = sentence_model(
        root / "router",
        Router.for_query_document(
            [Transformer(str(narrow)), Pooling(DIMENSIONS, pooling_mode="cls")],
            [Transformer(str(plain)), Pooling(DIMENSIONS)],
        ),
        Normalize(),
    )  # fmt: skip
    own = SentenceTransformer(str(folder), device="cpu")
    texts = [*TEXTS, LONG]
    with caplog.at_level(logging.WARNING):
        asked = encoder(folder, "query").encode(texts)
        shown = encoder(folder, "document").encode(texts)
    assert asked.vectors() == near(own.encode_query(texts))
    assert shown.vectors() == near(own.encode_document(texts))
    lengths = {
        side: [len(ids) for ids in own_words(texts)["input_ids"]]
        for side, own_words in (("query", words), ("document", tokenizer()))
    }
    assert asked.lengths.tolist() == lengths["query"]
    assert shown.lengths.tolist() == lengths["document"]
    cut = sum(length > 12 for length in lengths["query"])
    assert f"{cut} of {len(texts)} texts cut after 12 tokens" in caplog.text
    assert f"1 of {len(texts)} texts cut after {LONGEST} tokens" in caplog.text
    shorter = encoder(folder, "query", length=6).encode(texts).vectors()
    own[0].max_seq_length = 6
    assert shorter == near(own.encode_query(texts))


@pytest.mark.parametrize(("function", "name"), [("cosine", "cosine"), ("dot", "dot"), ("euclidean", "l2"), (None, "cosine")])  # fmt: skip
def test_a_model_says_how_it_is_compared(plain: Path, tmp_path: Path, function: Any, name: str) -> None:  # fmt: skip
    made = modules("mean", plain)[0]
    folder = sentence_model(tmp_path / "model", *made, similarity_fn_name=function)
    assert encoder(folder).similarity == name


def test_a_similarity_that_there_is_not(plain: Path, tmp_path: Path) -> None:
    made = modules("mean", plain)[0]
    folder = sentence_model(tmp_path / "model", *made, similarity_fn_name="manhattan")
    with pytest.raises(InputError, match=r"is compared by manhattan \(give similarity=cosine"):
        _ = encoder(folder).similarity


# -- plain transformers -----------------------------------------------------------------------


def pooled(folder: Path, texts: Sequence[str], pooling: str, longest: int = LONGEST) -> Any:
    """transformers' own states, one text at a time, pooled by hand."""
    words = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    rows = []
    for text in texts:
        tokens = words(text, return_tensors="pt", truncation=True, max_length=longest)
        with torch.no_grad():
            output = model(**tokens)
        states = output.last_hidden_state[0]
        ids = tokens["input_ids"][0].tolist()
        masks = [at for at, number in enumerate(ids) if number == words.mask_token_id]
        rows.append({
            "cls": lambda s: s[0], "mean": lambda s: s.mean(0), "max": lambda s: s.amax(0),
            "mask": lambda s, at=masks: s[at[0] if at else 0],
            "pooler": lambda s, own=output: own.pooler_output[0],
        }[pooling](states).numpy())  # fmt: skip
    return np.array(rows)


@pytest.mark.parametrize("pooling", ["cls", "mean", "max", "mask", "pooler"])
def test_a_plain_transformer_is_pooled_as_asked(plain: Path, pooling: str) -> None:
    found = vectors(plain, [*TEXTS, LONG], pooling=pooling, batch_tokens=100)
    assert found.dtype == np.float32
    assert found == near(pooled(plain, [*TEXTS, LONG], pooling))


@pytest.mark.parametrize(
    ("make", "shape", "longest"),
    [
        ("RobertaModel", {}, LONGEST - 1),  # positions begin after the padding's
        ("MPNetModel", {}, LONGEST - 2),
        ("ElectraModel", {"embedding_size": 16}, LONGEST),
    ],
)
def test_texts_are_cut_where_positions_end(
    make: str, shape: Any, longest: int, tmp_path: Path
) -> None:
    """Where the tokenizer does not say: its files leave it out."""
    folder = save(tmp_path / "model", make, **shape)
    tokenizer(longest=10**30, model_input_names=["input_ids", "attention_mask"]).save_pretrained(folder)  # fmt: skip
    texts = [*TEXTS, LONG]
    assert vectors(folder, texts) == near(pooled(folder, texts, "mean", longest))


def test_a_half_precision_checkpoint_is_computed_in_single(root: Path, plain: Path) -> None:
    """transformers gives it back as it was saved."""
    folder, whole = root / "half", root / "whole"
    model = transformers.AutoModel.from_pretrained(plain).half()
    model.save_pretrained(folder)
    transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).save_pretrained(whole)
    for path in (folder, whole):
        tokenizer().save_pretrained(path)
    assert transformers.AutoModel.from_pretrained(whole).dtype == torch.float32
    assert transformers.AutoModel.from_pretrained(folder).dtype == torch.float16
    for pooling in ("cls", None):
        found = vectors(folder, pooling=pooling)
        assert found == near(pooled(whole, TEXTS, pooling or "mean"))
    projected = sentence_model(
        root / "projected half", Transformer(str(folder)), Pooling(DIMENSIONS), Dense(DIMENSIONS, 8)
    )
    assert vectors(projected, precision="bf16").dtype == np.float32


# -- DPR --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dpr(root: Path) -> dict[str, Path]:
    made = {"context": "DPRContextEncoder", "question": "DPRQuestionEncoder"}
    return {
        name: save(root / name, make, seed=seed, projection_dim=6)
        for seed, (name, make) in enumerate(made.items())
    }


def own_dpr(folder: Path, make: Any, texts: Sequence[str]) -> Any:
    model, info = make.from_pretrained(folder, output_loading_info=True)
    assert not info["missing_keys"]
    words = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        return np.array([model.eval()(**words(t, return_tensors="pt")).pooler_output[0] for t in texts])  # fmt: skip


def test_dprs_two_encoders_are_a_preset(dpr: dict[str, Path], declare: Any) -> None:
    name = declare(dpr["context"], query=str(dpr["question"]), pooling="pooler", similarity="dot")
    asked, shown = encoder(name, "query"), encoder(name, "document")
    assert asked.similarity == shown.similarity == "dot"
    assert asked.encode(TEXTS).vectors() == near(
        own_dpr(dpr["question"], transformers.DPRQuestionEncoder, TEXTS)
    )
    assert shown.encode(TEXTS).vectors() == near(
        own_dpr(dpr["context"], transformers.DPRContextEncoder, TEXTS)
    )


# -- presets and settings ---------------------------------------------------------------------


def test_a_preset_has_prompts_and_lengths_for_each_side(plain: Path, declare: Any, caplog: Any) -> None:  # fmt: skip
    name = declare(
        plain, pooling="cls", query_prompt="query: ", document_prompt="passage: ", query_length=6,
        doc_length=12,
    )  # fmt: skip
    texts = [*TEXTS, LONG]
    with caplog.at_level(logging.WARNING):
        asked = vectors(name, texts, "query")
        shown = vectors(name, texts, "document")
    assert asked == near(pooled(plain, ["query: " + text for text in texts], "cls", 6))
    assert shown == near(pooled(plain, ["passage: " + text for text in texts], "cls", 12))
    assert "cut after 6 tokens" in caplog.text
    assert "cut after 12 tokens" in caplog.text


def test_settings_take_the_place_of_the_presets(plain: Path, declare: Any) -> None:
    name = declare(plain, pooling="cls", query_prompt="query: ", query_length=6, similarity="dot")
    assert encoder(name).similarity == "dot"
    found = vectors(name, [LONG], "query", pooling="max", prompt="a ", length=9)
    assert found == near(pooled(plain, ["a " + LONG], "max", 9))
    assert vectors(name, [LONG], "query", prompt="") == near(pooled(plain, [LONG], "cls", 6))


@pytest.mark.parametrize(
    ("join", "expected"), [("sep", "a[SEP]b c[SEP]d"), (" ", "a b c d"), (" | ", "a | b c | d")]
)
def test_segments_are_joined_as_the_preset_says(
    plain: Path, declare: Any, join: str, expected: str
) -> None:
    made = encoder(declare(plain, pooling="cls", join=join))
    texts = [("a", "b c", "d"), ("e",), ()]
    assert [made.text(text) for text in texts] == [expected, "e", ""]


# -- what is cut ------------------------------------------------------------------------------


def test_vectors_of_another_prompt_of_a_preset_are_not_reused(plain: Path, declare: Any) -> None:
    for prompt in ("query: ", "cat "):
        name = declare(plain, pooling="cls", query_prompt=prompt)
        expected = pooled(plain, [prompt + text for text in TEXTS], "cls")
        assert vectors(name, TEXTS, "query") == near(expected)


def test_what_was_cut_is_reported_also_from_disk(plain: Path, caplog: Any) -> None:
    texts = [LONG, "a cat", LONG + " a", "the dog"]
    with caplog.at_level(logging.WARNING, "irtoolkit"):
        for _ in range(2):
            caplog.clear()
            rows = encoder(plain, pooling="mean").encode(texts, what="documents")
            assert [record.getMessage() for record in caplog.records] == [
                f"{plain}: 2 of 4 documents cut after {LONGEST} tokens"
            ]
            assert rows.lengths.tolist() == [62, 4, 63, 4]
        caplog.clear()
        encoder(plain, pooling="mean").encode(texts[1::2])
        assert not caplog.records


def test_lengths_of_the_same_model_keep_apart(mean: Path, plain: Path) -> None:
    """Encoders stand beside each other, and a later one changes nothing for an earlier."""
    made = {length: encoder(mean, length=length) for length in (None, 6, 9)}
    for length, one in [*made.items(), (None, encoder(mean))]:
        expected = pooled(plain, [LONG], "mean", length or LONGEST)
        assert one.encode([LONG]).vectors() == near(expected)


def test_a_folder_written_again_is_another_model(tmp_path: Path) -> None:
    """By training, say, in this very process."""
    folder = save(tmp_path / "model", seed=5)
    before = vectors(folder, pooling="cls")
    save(folder, seed=6)
    assert np.abs(vectors(folder, pooling="cls") - before).max() > 0.1


# -- precision --------------------------------------------------------------------------------


def far(found: Any, exact: Any) -> float:
    """The greatest distance of two vectors, as a part of their length."""
    gap = np.linalg.norm(found - exact, axis=1) / np.linalg.norm(exact, axis=1)
    return float(gap.max())


@pytest.fixture(scope="module")
def calm(root: Path) -> Path:
    """Weights of the size that training gives them, so that errors do not build up."""
    return save(root / "calm", seed=8, initializer_range=0.02, num_hidden_layers=2)


@pytest.fixture(scope="module")
def calm_sentences(root: Path, calm: Path) -> Path:
    torch.manual_seed(9)
    body = [Transformer(str(calm)), Pooling(DIMENSIONS), Dense(DIMENSIONS, 8)]
    return sentence_model(root / "calm sentences", *body)


@pytest.mark.parametrize("pooling", ["pooler", None])
def test_bf16_on_a_cpu(calm: Path, calm_sentences: Path, pooling: str | None) -> None:
    model = calm if pooling else calm_sentences
    exact = vectors(model, precision="fp32", pooling=pooling)
    found = vectors(model, precision="bf16", pooling=pooling)
    assert found.dtype == np.float32
    assert 0 < far(found, exact) < 1e-2


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("precision", ["auto", "bf16", "fp16", "fp32"])
@pytest.mark.parametrize("pooling", ["cls", None])
def test_a_gpu(calm: Path, calm_sentences: Path, precision: Any, pooling: str | None) -> None:
    model = str(calm if pooling else calm_sentences)
    exact = vectors(model, precision="fp32", pooling=pooling)
    how = EncoderSettings(
        model, "dense", "document", pooling=pooling, precision=precision, device="cuda"
    )
    made = Encoder(replace(how, length=LONGEST, prompt=""))
    assert far(made.encode(TEXTS).vectors(), exact) < (1e-5 if precision == "fp32" else 1e-2)


# -- batches ----------------------------------------------------------------------------------


@pytest.fixture(autouse=True, scope="module")
def no_gpu_waits() -> Iterator[None]:
    """A model that says it is on a GPU may be on a machine that has none."""
    mark = batches.mark if torch.cuda.is_available() else lambda device: lambda: None
    with mock.patch.object(batches, "mark", mark):
        yield


class Recording:
    """A model that keeps what it is given, and bears so many tokens at once."""

    similarity = separator = None

    def __init__(self, device: str, limit: int | None, most: int) -> None:
        self.device, self.limit, self._most = device, limit, most
        self.batches: list[list[str]] = []
        self.threads: set[int] = set()
        self.refused: list[int] = []

    def lengths(self, items: Sequence[Any]) -> Any:
        return np.array([len(item) for item in items], int)

    def _padded(self, items: Sequence[Any]) -> int:
        longest = max(map(len, items))
        return len(items) * (longest if self.limit is None else min(longest, self.limit))

    def __call__(self, items: Sequence[Any]) -> list[Output]:
        self.threads.add(torch.get_num_threads())
        if self._padded(items) > self._most:
            self.refused.append(self._padded(items))
            raise torch.OutOfMemoryError("not so many")
        self.batches.append([str(item) for item in items])
        return [(np.array([len(item), sum(map(ord, item))]),) for item in items]


@settings(max_examples=60)
@given(
    st.lists(st.text("abc", max_size=30), max_size=40), st.sampled_from(["cpu", "cuda"]),
    st.integers(1, 100), st.none() | st.integers(1, 20), st.integers(30, 100),
)  # fmt: skip
def test_every_item_is_in_one_batch_within_the_budget(
    items: list[str], device: str, tokens: int, limit: int | None, most: int
) -> None:
    model = Recording(device, limit, most)
    done: list[int] = []
    before = torch.get_num_threads()
    found = Batches(model, tokens)(items, model.lengths(items), done.append)
    assert [output[0].tolist() for output in found] == [[len(i), sum(map(ord, i))] for i in items]
    assert Counter(item for batch in model.batches for item in batch) == Counter(items)
    assert sum(done) == len(items)
    for batch in model.batches:
        longest = max(min(len(item), limit or 99) for item in batch)
        assert len(batch) == 1 or longest * len(batch) <= min(tokens, most)
    assert torch.get_num_threads() == before
    assert model.threads <= ({1} if device == "cpu" else {before})


def test_the_longest_come_first_on_a_gpu() -> None:
    """What does not fit shows at once, and what was borne is remembered."""
    model = Recording("cuda", None, 230)
    items = ["a" * size for size in range(1, 41)]
    made = Batches(model, 800)
    made(items, model.lengths(items), lambda n: None)
    assert [len(batch) for batch in model.batches[:5]] == [5, 5, 5, 5, 200 // 20]
    assert [item for batch in model.batches for item in batch] == items[::-1]
    assert made.tokens == 200
    assert model.refused == [800, 400, 300], "halves of the first batch, and no other"


def test_one_item_that_does_not_fit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Recording("cuda", None, 2)
    before = torch.get_num_threads()
    for device in ("cuda", "cpu"):
        model.device = device
        with pytest.raises(InputError, match="one text of 3 characters does not fit into the memory of") as caught:  # fmt: skip
            Batches(model)(["a", "cat"], model.lengths(["a", "cat"]), lambda n: None)
        assert "doc_length" in str(caught.value)
        assert torch.get_num_threads() == before


def test_memory_that_does_not_suffice_changes_no_vector(
    mean: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [*TEXTS, *WORDS]
    exact = vectors(mean, texts)
    original = SentenceTransformer.forward
    refused = []

    def forward(self: Any, features: Any, **how: Any) -> Any:
        if len(features["input_ids"]) > 3:
            refused.append(len(features["input_ids"]))
            raise torch.OutOfMemoryError("CUDA out of memory")
        return original(self, features, **how)

    monkeypatch.setattr(SentenceTransformer, "forward", forward)
    assert vectors(mean, texts, prompt="", stored="fp32", batch_tokens=500) == near(exact)
    assert refused


def test_batches_side_by_side_change_nothing(
    mean: Path, plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many threads on one model and one tokenizer."""
    monkeypatch.setattr(batches, "cores", lambda: 8)
    texts = [*TEXTS, LONG, *(f"{a} {b}" for a in WORDS for b in WORDS)]
    expected = SentenceTransformer(str(mean), device="cpu").encode(texts)
    before = torch.get_num_threads()
    torch.set_num_threads(8)
    try:
        for folder, pooling in ((plain, "mean"), (mean, None)):
            found = vectors(folder, texts, pooling=pooling, batch_tokens=60)
            assert found == near(expected)
    finally:
        torch.set_num_threads(before)


def test_workers_that_share_a_machine_start_their_share_of_threads(
    plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(THREADS, "1")
    before = torch.get_num_threads()
    torch.set_num_threads(8)
    started: list[int | None] = []

    class Watched(ThreadPoolExecutor):
        def __init__(self, count: int | None = None, **how: Any) -> None:
            started.append(count)
            super().__init__(count, **how)

    monkeypatch.setattr(threads, "ThreadPoolExecutor", Watched)
    try:
        vectors(plain, TEXTS, pooling="mean", batch_tokens=60)
    finally:
        torch.set_num_threads(before)
    assert set(started) == {1}
