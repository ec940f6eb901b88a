"""Models that cannot be used as they are: each is refused with one InputError that says why."""

from __future__ import annotations

import json
import re
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding, Transformer

from irtoolkit.base.errors import InputError
from irtoolkit.engines.engine import LocalEngine, using
from irtoolkit.models import presets
from irtoolkit.models.downloads import only_here
from irtoolkit.models.encoder import Encoder, EncoderSettings
from irtoolkit.models.loading import chosen_precision, torch_device
from irtoolkit.models.presets import Preset, find_preset, kind_of, require_kind
from tests.tiny import DIMENSIONS, LONGEST, WORDS, config, save, sentence_model, tokenizer


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))


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
def copy(tmp_path: Path, plain: Path, mean: Path) -> Callable[..., Path]:
    """A folder free to be damaged."""

    def make(source: Path) -> Path:
        folder = tmp_path / "model"
        shutil.copytree(source, folder)
        return folder

    return make


def encoder(model: Path | str, **how: Any) -> Encoder:
    return Encoder(EncoderSettings(**{"model": str(model), "kind": "dense", "side": "document", "device": "cpu", **how}))  # fmt: skip


def refused(model: Path | str, **how: Any) -> str:
    """What is said of a model, in one line."""
    with pytest.raises(InputError) as caught:
        encoder(model, **how).encode(["the cat"])
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    said = str(caught.value)
    assert "\n" not in said
    return said


# -- files ------------------------------------------------------------------------------------


def halve(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def other_size(path: Path) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), "hidden_size": 48}))


DAMAGED = [
    ("config.json", halve, "cannot load the model|not JSON"),
    ("config.json", empty, "cannot load the model|not JSON"),
    ("config.json", Path.unlink, "cannot load the model|there is no model in"),
    ("config.json", other_size, "cannot load the model"),
    ("model.safetensors", halve, "cannot load the model"),
    ("model.safetensors", empty, "cannot load the model"),
    ("model.safetensors", Path.unlink, "cannot load the model"),
    ("tokenizer.json", halve, "cannot load the model"),
    ("tokenizer.json", Path.unlink, "has no tokenizer .put its tokenizer.json beside it"),
    ("modules.json", halve, "cannot load the model|not JSON"),
    ("1_Pooling/config.json", halve, "not JSON"),
    ("1_Pooling/config.json", Path.unlink, "cannot load the model"),
]


@pytest.mark.parametrize(
    ("file", "damage", "expected", "pooling"),
    # A plain transformer has but the first nine.
    [(*case, None) for case in DAMAGED] + [(*case, "cls") for case in DAMAGED[:9]],
)
def test_a_damaged_folder(
    file: str, damage: Callable[[Path], None], expected: str, pooling: str | None, copy: Any,
    plain: Path, mean: Path,
) -> None:  # fmt: skip
    source = mean if pooling is None else plain
    folder = copy(source)
    damage(folder / file)
    said = refused(folder, pooling=pooling)
    assert re.search(expected, said)
    assert str(folder) in said


@pytest.mark.parametrize("pooling", [None, "cls"])
@pytest.mark.parametrize("names", [["tokenizer.json"], ["tokenizer.json", "tokenizer_config.json"]])
def test_without_a_tokenizer(copy: Any, plain: Path, pooling: str | None, names: list[str]) -> None:
    """transformers makes one up that knows no word."""
    folder = copy(plain)
    for name in names:
        (folder / name).unlink()
    assert "tokenizer" in refused(folder, pooling=pooling)


@pytest.mark.parametrize("pooling", [None, "cls"])
def test_another_models_tokenizer(copy: Any, plain: Path, pooling: str | None) -> None:
    folder = copy(plain)
    known = len(tokenizer())
    tokenizer([*WORDS, "unheard", "of"]).save_pretrained(folder)
    said = refused(folder, pooling=pooling)
    assert f"has {known + 2} tokens, and the model vectors for {known}" in said


@pytest.mark.parametrize("pooling", [None, "cls"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite(root: Path, tmp_path: Path, pooling: str | None, bad: float) -> None:  # fmt: skip
    folder = save(tmp_path / "model")
    model = transformers.BertModel.from_pretrained(folder)
    with torch.no_grad():
        model.encoder.layer[1].output.dense.bias[0] = bad
    model.save_pretrained(folder)
    said = refused(folder, pooling=pooling)
    assert f"the model {folder} is damaged" in said
    assert "encoder.layer.1.output.dense.bias holds numbers that are not finite" in said


# -- architectures ----------------------------------------------------------------------------


@pytest.mark.parametrize("pooling", [None, "cls"])
def test_a_checkpoint_without_its_layers(root: Path, pooling: str | None, tmp_path: Path) -> None:
    """transformers would draw them at random."""
    folder = save(tmp_path / "model")
    model = transformers.BertModel.from_pretrained(folder)
    kept = {name: value for name, value in model.state_dict().items() if "layer.1." not in name}
    model.save_pretrained(folder, state_dict=kept)
    said = refused(folder, pooling=pooling)
    assert f"the model {folder} has no weights for encoder.layer.1." in said
    assert "of BertModel" in said


def test_a_plain_transformer_is_no_cross_encoder(plain: Path) -> None:
    said = refused(plain, kind="cross")
    assert "has no weights for classifier.bias, classifier.weight of BertForSequence" in said


def test_a_cross_encoder_without_its_pooler(tmp_path: Path) -> None:
    """Its classifier would read random numbers."""
    folder = save(tmp_path / "model", "BertForSequenceClassification", num_labels=1)
    model = transformers.BertForSequenceClassification.from_pretrained(folder)
    kept = {name: value for name, value in model.state_dict().items() if "pooler" not in name}
    model.save_pretrained(folder, state_dict=kept)
    assert "has no weights for bert.pooler.dense.bias" in refused(folder, kind="cross")


def test_a_pooler_that_is_not_there(tmp_path: Path) -> None:
    """Many encoders are published without, and only pooling=pooler reads it."""
    folder = tmp_path / "model"
    model = transformers.BertModel(config(tokenizer()), add_pooling_layer=False)
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    assert len(encoder(folder, pooling="cls").encode(["a cat"])) == 1
    assert len(encoder(folder).encode(["a cat"])) == 1
    assert "has no weights for pooler.dense.bias" in refused(folder, pooling="pooler")
    distil = save(tmp_path / "distil", "DistilBertModel", dim=32, n_heads=2, n_layers=1)
    assert "the model has no pooled output (cls or mean)" in refused(distil, pooling="pooler")


def test_loading_leaves_the_library_as_it_was(plain: Path) -> None:
    before = transformers.PreTrainedModel.__dict__["from_pretrained"]
    encoder(plain, pooling="cls")
    refused(plain, kind="cross")
    assert transformers.PreTrainedModel.__dict__["from_pretrained"] is before
    assert SentenceTransformer(str(plain), device="cpu").encode("a cat").shape == (DIMENSIONS,)


# -- settings ---------------------------------------------------------------------------------


@pytest.mark.parametrize("pooling", [None, "cls"])
def test_a_length_beyond_the_positions(plain: Path, pooling: str | None) -> None:
    assert encoder(plain, pooling=pooling, length=LONGEST)
    said = refused(plain, pooling=pooling, length=LONGEST + 1)
    assert f"a length of {LONGEST + 1} tokens is more than the model's {LONGEST}" in said


def test_a_length_for_a_model_that_cuts_nothing(root: Path) -> None:
    folder = sentence_model(root / "static", StaticEmbedding(tokenizer(), embedding_dim=4))
    assert encoder(folder).encode(["a cat " * 99]).lengths.tolist() == [198]
    assert "a length of 5 tokens: the model does not truncate texts" in refused(folder, length=5)


def test_a_model_that_pools_itself_takes_no_pooling(mean: Path) -> None:
    said = refused(mean, pooling="cls")
    assert f"pooling=cls: the model {mean} says itself how it pools (leave pooling out)" in said


def test_mask_pooling_needs_a_mask(copy: Any, plain: Path) -> None:
    folder = copy(plain)
    path = folder / "tokenizer_config.json"
    said = {k: v for k, v in json.loads(path.read_text()).items() if k != "mask_token"}
    path.write_text(json.dumps({**said, "mask_token": None}))
    assert "pooling=mask needs a model with a mask token" in refused(folder, pooling="mask")


@pytest.mark.parametrize("device", ["nonsense", "cuda:x", ""])
def test_a_device_that_there_is_not(plain: Path, device: str) -> None:
    said = refused(plain, device=device)
    assert f"no device {device!r}" in said
    assert "(cpu, cuda, cuda:1, ...)" in said


@pytest.mark.parametrize("device", ["cuda", "cuda:7", "xpu", "mps", "hpu"])
@pytest.mark.parametrize("precision", ["auto", "fp32"])
def test_a_device_that_is_not_here(plain: Path, device: str, precision: str) -> None:
    if device.startswith("cuda") and torch.cuda.device_count() > int(device[5:] or 0):
        pytest.skip("it is here")
    said = refused(plain, device=device, precision=precision)
    assert f"cannot use the device {device}: " in said


class Cluster(LocalEngine):
    """An engine whose workers have no GPU."""

    gpus = 0


def test_the_device_and_its_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert torch_device(None) == "cpu"
    assert torch_device("cuda:1") == "cuda:1"
    assert [chosen_precision("auto", "cpu"), chosen_precision("bf16", "cpu")] == ["fp32", "bf16"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    assert torch_device(None) == "cuda:0"
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert torch_device(None) == "cuda:3"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    with using(Cluster()):
        assert torch_device(None) == "cpu"  # as the workers, which compute the rest
        assert torch_device("cuda:1") == "cuda:1"
    for has, expected in ((True, "bf16"), (False, "fp16")):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda has=has: has)
        assert chosen_precision("auto", "cuda:3") == expected
        assert chosen_precision("fp32", "cuda:3") == "fp32"


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
    monkeypatch.setenv("IRTOOLKIT_DOWNLOAD", "0")
    return tmp_path / "hub"


def in_cache(cache: Path, hub_id: str, source: Path, commit: str = "abc123", names: Any = None) -> None:  # fmt: skip
    """Lays files out as huggingface_hub's cache does."""
    folder = cache / f"models--{hub_id.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(commit)
    for path in source.rglob("*"):
        if path.is_file() and (names is None or path.name in names):
            there = folder / "snapshots" / commit / path.relative_to(source)
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, there)


def missing(name: str) -> str | None:
    return presets.missing_weights(find_preset(name))


def fingerprint(name: str) -> str | None:
    return presets.weights_hash(find_preset(name))


@pytest.mark.parametrize("kind", ["dense", "late", "sparse", "cross"])
def test_weights_that_are_not_here(offline: Path, kind: str) -> None:
    said = refused("no/such", kind=kind)
    assert said == missing("no/such")
    for part in ("the weights of no/such are not here", "`hf download no/such`",
                 "IRTOOLKIT_DOWNLOAD=1", "model=PATH"):  # fmt: skip
        assert part in said


def test_a_model_that_is_named_is_fetched_unless_that_is_forbidden(
    offline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for allowed in ("1", ""):
        monkeypatch.setenv("IRTOOLKIT_DOWNLOAD", allowed)
        assert missing("no/such") is None
    with only_here():
        assert "the weights of no/such are not here: run" in str(missing("no/such"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert missing("no/such") is not None


def test_a_cached_model_is_here(offline: Path, plain: Path) -> None:
    in_cache(offline, "me/tiny", plain)
    assert missing("me/tiny") is None
    assert fingerprint("me/tiny") == "abc123"
    assert kind_of("me/tiny", "late") == "late"


def test_a_folder_of_a_presets_name_does_not_stand_for_it(
    offline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "SPECTER").mkdir()
    monkeypatch.chdir(tmp_path)
    assert f"the weights of {presets.presets()['SPECTER'].id} are not here" in str(missing("SPECTER"))  # fmt: skip


@pytest.fixture
def declare(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Makes a preset, and gives its name."""

    def make(id: Path | str, **fields: Any) -> str:
        made = {"tiny": Preset(str(id), **fields), "late one": Preset("a/b", kind="late")}
        monkeypatch.setattr(presets, "presets", lambda: made)
        return "tiny"

    return make


def test_a_preset_of_another_kind(plain: Path, declare: Any) -> None:
    name = declare(plain)
    assert refused(name, kind="late") == (
        "tiny is a model of kind dense, not late (models of kind late: late one)"
    )
    require_kind(find_preset(name), "dense")
    with pytest.raises(InputError, match="of kind dense, not cross"):
        require_kind(find_preset(name), "cross")


def test_a_presets_query_encoder_may_be_what_is_missing(offline: Path, plain: Path, declare: Any) -> None:  # fmt: skip
    name = declare(plain, query="no/such")
    for side in ("query", "document"):
        assert "the weights of no/such are not here" in refused(name, side=side)
    assert fingerprint(name) is None


def test_a_package_that_carries_the_weights(offline: Path, plain: Path, declare: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    (tmp_path / "tiny_weights.py").write_text(f"def where():\n    return {str(plain)!r}\n")
    name = declare("me/tiny", package="tiny_weights:where", pooling="cls")
    assert "`hf download me/tiny`" in str(missing(name))
    monkeypatch.syspath_prepend(tmp_path)
    assert missing(name) is None
    assert fingerprint(name) == fingerprint(str(plain))
    assert encoder(name).encode(["a cat"]).vectors().shape == (1, DIMENSIONS)
    # The package has the documents' encoder; another one of queries is still another.
    other = save(tmp_path / "other", seed=7)
    asked = presets.find_preset(name, query_weights=str(other)).side("query")
    assert presets.model_folder(asked) == str(other)
    assert presets.model_folder(
        presets.find_preset(name, query_weights=str(other)).side("document")
    ) == str(plain)
    two = Encoder(EncoderSettings(name, "dense", "query", query_weights=str(other), device="cpu"))
    found = two.encode(["a cat"]).vectors()
    alone = encoder(name).encode(["a cat"]).vectors()
    assert not np.allclose(found, alone, atol=1e-3)


def test_a_fingerprint_is_of_every_file(copy: Any, plain: Path, declare: Any) -> None:
    folder = copy(plain)
    before = fingerprint(str(folder))
    assert before == fingerprint(str(plain))
    (folder / "tokenizer.json").write_text((folder / "tokenizer.json").read_text() + "\n")
    assert fingerprint(str(folder)) != before
    two = declare(plain, query=str(folder))
    assert fingerprint(two) not in (before, fingerprint(str(folder)), None)


def test_kinds_are_read_from_files(root: Path, plain: Path, mean: Path, tmp_path: Path) -> None:
    pair = save(tmp_path / "pair", "BertForSequenceClassification", num_labels=1)
    masked = save(tmp_path / "masked", "BertForMaskedLM")
    saved = tmp_path / "saved"
    CrossEncoder(str(pair), device="cpu").save(str(saved))
    found = {path.name: kind_of(str(path), "late") for path in (plain, mean, pair, masked, saved)}
    assert found == {"plain": "late", "mean": "dense", "pair": "cross", "masked": "late", "saved": "cross"}  # fmt: skip
    assert kind_of("no/such", "dense") == "dense"
