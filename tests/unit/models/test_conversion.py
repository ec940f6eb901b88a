"""Checkpoints in the forms in which their authors publish them, converted, against plain torch."""

from __future__ import annotations

import argparse
import json
import pickle
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.models.conversion import LAYOUTS, convert
from irtoolkit.models.encoder import Encoder, EncoderSettings
from irtoolkit.models.foreign import read_paddle, read_tensorflow
from tests import tiny

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("sentence_transformers")

TEXTS = (
    "The ships had come.",
    "Nobody, in the harbour office (late), had lit the lamps!",
    "North " * 300,
)
VOCABULARY = list(TEXTS)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A tiny bert-base-uncased."""
    return tiny.save(tmp_path / "base", texts=VOCABULARY, longest=512)


def bert(folder: Path) -> Any:
    return transformers.BertModel.from_pretrained(folder).eval()


def coded(folder: Path, text: str, most: int, second: bool = False) -> dict[str, Any]:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    texts = ("", text) if second else (text,)
    found: dict[str, Any] = tokenizer(*texts, truncation=True, max_length=most, return_tensors="pt")
    return found


def vectors(folder: Path, side: Any, kind: Any = "dense", **how: Any) -> list[Any]:
    name = how.pop("model", "any/model")
    encoder = Encoder(EncoderSettings(name, kind, side, weights=str(folder), **how))
    rows = encoder.encode(TEXTS)
    if kind == "dense":
        return list(rows.vectors())
    return [rows[np.array([i])].ragged(0)[0] for i in range(len(TEXTS))]


# -- ColBERT ------------------------------------------------------------------------------------


def save_dnn(path: Path, model: Any, dimensions: int = 16, prefix: str = "") -> Any:
    """As ColBERT v1's training saves it."""
    linear = torch.randn(dimensions, tiny.DIMENSIONS)
    state = {f"{prefix}bert.{name}": value for name, value in model.state_dict().items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "epoch": 0, "batch": 300000, "optimizer_state_dict": {"state": {}, "param_groups": []},
        "model_state_dict": {**state, f"{prefix}linear.weight": linear},
        "arguments": argparse.Namespace(query_maxlen=32, doc_maxlen=180, similarity="l2"),
    }  # fmt: skip
    torch.save(content, path)
    return linear


@pytest.mark.parametrize("prefix", ["", "module."])
def test_colbert(prefix: str, base: Path, tmp_path: Path) -> None:
    linear = save_dnn(tmp_path / "psg" / "colbert-300000.dnn", bert(base), prefix=prefix)
    convert("colbert", tmp_path / "psg", tmp_path / "ColBERT", str(base))
    found = vectors(tmp_path / "ColBERT", "query", "late", model="ColBERT")
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    marker, mask = tokenizer.convert_tokens_to_ids(["[unused0]", "[MASK]"])
    for text, ours in zip(TEXTS, found, strict=True):
        ids = tokenizer(f". {text}", truncation=True, max_length=32, padding="max_length")
        row = torch.tensor([ids["input_ids"]])
        row[0, 1] = marker
        row[row == 0] = mask
        with torch.inference_mode():
            states = bert(base)(row, attention_mask=torch.tensor([ids["attention_mask"]]))[0]
            theirs = torch.nn.functional.normalize(states[0] @ linear.T, dim=1)
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-5)
    of_docs = vectors(tmp_path / "ColBERT", "document", "late", model="ColBERT")
    # Without punctuation.
    words = tokenizer(TEXTS[1])["input_ids"]
    assert len(of_docs[1]) == len(words) + 1 - sum(not c.isalnum() and c != " " for c in TEXTS[1])


# -- c-REALM ------------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def block(entries: list[tuple[bytes, bytes]]) -> bytes:
    """A block of a LevelDB table, with what keys share left out."""
    out, last = b"", b""
    for key, value in entries:
        shared = 0
        while shared < min(len(key), len(last)) and key[shared] == last[shared]:
            shared += 1
        out += (
            varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        )
        last = key
    return out + struct.pack("<II", 0, 1)


def save_bundle(prefix: Path, variables: dict[str, Any]) -> None:
    """A TensorFlow checkpoint of one shard, as TensorFlow writes it."""
    data, entries = b"", [(b"", field(1, 1))]
    for name in sorted(variables):
        array = np.ascontiguousarray(variables[name])
        shape = b"".join(field(2, field(1, n)) for n in array.shape)
        kind = {"float32": 1, "int64": 9}[str(array.dtype)]
        value = field(1, kind) + field(2, shape)
        value += (field(4, len(data)) if data else b"") + field(5, array.nbytes)
        entries.append((name.encode(), value))
        data += array.tobytes()
    table, handles = b"", []
    for start in range(0, len(entries), 5):
        part = block(entries[start : start + 5])
        handles.append(
            (entries[min(start + 4, len(entries) - 1)][0], varint(len(table)) + varint(len(part)))
        )
        table += part + b"\0" + b"crc!"
    index = block(handles)
    footer = varint(0) + varint(0) + varint(len(table)) + varint(len(index))
    table += index + b"\0" + b"crc!" + footer.ljust(40, b"\0")
    prefix.parent.mkdir(parents=True)
    prefix.with_name("variables.index").write_bytes(table + struct.pack("<Q", 0xDB4775248B80FB57))
    prefix.with_name("variables.data-00000-of-00001").write_bytes(data)


def realm_variables(model: Any, scope: str) -> Iterator[tuple[str, Any]]:
    """The variables of BERT under TensorFlow's names."""
    for name, value in model.state_dict().items():
        if name.endswith("position_ids"):
            continue
        array = value.numpy()
        parts = name.replace("layer.", "layer_").split(".")
        if (
            "embeddings.weight" in name.replace("_embeddings.weight", "embeddings.weight")
            and "LayerNorm" not in name
        ):
            parts = parts[:-1]
        elif "LayerNorm" in name:
            parts[-1] = {"weight": "gamma", "bias": "beta"}[parts[-1]]
        elif parts[-1] == "weight":
            parts[-1], array = "kernel", array.T
        yield f"{scope}bert/{'/'.join(parts)}", array


@pytest.mark.parametrize("scope", ["module/module/", "module/module/module/"])
def test_crealm(scope: str, base: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    kernel, bias, gamma, beta = (
        rng.normal(size=size).astype(np.float32) for size in ((tiny.DIMENSIONS, 8), 8, 8, 8)
    )
    inner = scope.removesuffix("module/")
    variables = dict(realm_variables(bert(base), scope))
    variables |= {
        f"{inner}dense/kernel": kernel, f"{inner}dense/bias": bias,
        f"{inner}LayerNorm/gamma": gamma, f"{inner}LayerNorm/beta": beta,
        f"{scope}cls/predictions/transform/dense/kernel": kernel, "global_step": np.int64([7]),
        f"{scope}cls/predictions/transform/LayerNorm/gamma": bias,
    }  # fmt: skip
    save_bundle(tmp_path / "retriever" / "variables" / "variables", variables)
    convert("c-realm", tmp_path / "retriever", tmp_path / "c-REALM", str(base))
    for side in ("query", "document"):
        found = vectors(tmp_path / "c-REALM", side, model="c-REALM")
        for text, ours in zip(TEXTS, found, strict=True):
            with torch.inference_mode():
                pooled = bert(base)(**coded(base, text, 288)).pooler_output
                projected = pooled @ torch.tensor(kernel) + torch.tensor(bias)
                theirs = torch.nn.functional.layer_norm(
                    projected, (8,), torch.tensor(gamma), torch.tensor(beta)
                )
            np.testing.assert_allclose(ours, theirs[0].numpy(), atol=1e-4)


def test_a_table_of_variables(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    variables = {
        f"scope/{i % 3}/name_{i}": rng.normal(size=(i, 3)).astype(np.float32) for i in range(1, 40)
    }
    variables["step"] = np.array(5, np.int64)
    prefix = tmp_path / "saved" / "variables"
    save_bundle(prefix, variables)
    found = read_tensorflow(prefix)
    assert found.keys() == variables.keys()
    for name, array in variables.items():
        np.testing.assert_array_equal(found[name], array)
    index = prefix.with_name("variables.index")
    whole = index.read_bytes()
    for damaged in (b"", whole[:-9], whole[: len(whole) // 2] + whole[-8:], whole[:-1] + b"x"):
        index.write_bytes(damaged)
        with pytest.raises(InputError, match="checkpoint that can be read safely"):
            read_tensorflow(prefix)
    index.unlink()
    with pytest.raises(InputError, match="no such file"):
        read_tensorflow(prefix)


# -- BERM, ERNIE-Search, DPR ----------------------------------------------------------------------


def test_berm(tmp_path: Path) -> None:
    source = tiny.save(
        tmp_path / "out", "RobertaForSequenceClassification", VOCABULARY, longest=514, num_labels=2,
        type_vocab_size=1,
    )  # fmt: skip
    own = transformers.RobertaForSequenceClassification.from_pretrained(source).eval()
    torch.manual_seed(3)
    head, norm = (
        torch.nn.Linear(tiny.DIMENSIONS, tiny.DIMENSIONS),
        torch.nn.LayerNorm(tiny.DIMENSIONS),
    )
    torch.nn.init.normal_(norm.weight)
    state = own.state_dict() | {f"embeddingHead.{k}": v for k, v in head.state_dict().items()}
    state |= {f"norm.{k}": v for k, v in norm.state_dict().items()}
    (source / "model.safetensors").unlink()
    torch.save(state, source / "pytorch_model.bin")
    tokenizer = transformers.AutoTokenizer.from_pretrained(source)
    tokenizer.model_max_length = 512
    tokenizer.save_pretrained(source)
    convert("berm", source, tmp_path / "BERM")
    for side in ("query", "document"):
        for text, ours in zip(TEXTS, vectors(tmp_path / "BERM", side, model="BERM"), strict=True):
            ids = coded(source, text, 512)
            ids.pop("token_type_ids", None)
            with torch.inference_mode():
                theirs = norm(head(own.roberta(**ids)[0][:, 0]))[0]
            np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-4)


PADDLE = {
    "embeddings.LayerNorm": "embeddings.layer_norm", "attention.self.query": "self_attn.q_proj",
    "attention.self.key": "self_attn.k_proj", "attention.self.value": "self_attn.v_proj",
    "attention.output.dense": "self_attn.out_proj", "attention.output.LayerNorm": "norm1",
    "intermediate.dense": "linear1", "output.dense": "linear2", "output.LayerNorm": "norm2",
    "encoder.layer.": "encoder.layers.",
}  # fmt: skip


def save_paddle(folder: Path, model: Any, base: Path, prefix: str = "ernie.") -> Path:
    """A folder as PaddleNLP has it, of a model of transformers."""
    folder.mkdir()
    found: dict[str, Any] = {"StructuredToParameterName@@": {"a": "b"}}
    for name, value in model.state_dict().items():
        if name.endswith("position_ids"):
            continue
        own = name.removeprefix("ernie.")
        for ours, theirs in PADDLE.items():
            own = own.replace(ours, theirs)
        turned = value.ndim == 2 and "_embeddings" not in name
        array = value.T.contiguous().numpy() if turned else value.numpy()
        # Some versions save tensors with names.
        found[own if name.startswith("classifier") else prefix + own] = (own, array)
    (folder / "model_state.pdparams").write_bytes(pickle.dumps(found, protocol=2))
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    words = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().__getitem__)
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", "utf-8")
    (folder / "config.json").write_text(
        json.dumps({"num_attention_heads": 2, "hidden_act": "gelu"})
    )
    return folder


def ernie(make: str, base: Path, **more: Any) -> Any:
    torch.manual_seed(4)
    kind = getattr(transformers, make)
    words = transformers.AutoTokenizer.from_pretrained(base)
    settings = {"max_position_embeddings": 512, "type_vocab_size": 4, "use_task_id": False, **more}
    return kind(tiny.config(words, transformers.ErnieConfig, **settings)).eval()


@pytest.mark.parametrize("prefix", ["ernie.", ""])
def test_ernie_search(prefix: str, base: Path, tmp_path: Path) -> None:
    own = ernie("ErnieModel", base)
    source = save_paddle(tmp_path / "paddle", own, base, prefix)
    convert("ernie-search", source, tmp_path / "ERNIE-Search")
    for side in ("query", "document"):
        found = vectors(tmp_path / "ERNIE-Search", side, model="ERNIE-Search")
        for text, ours in zip(TEXTS, found, strict=True):
            with torch.inference_mode():
                theirs = own(**coded(base, text, 128, second=True))[0][0, 0]
            np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-4)


@pytest.mark.parametrize("shared", [False, True])
def test_dpr_on_msmarco(shared: bool, base: Path, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    source = tmp_path / "dpr-msmarco"
    source.mkdir()
    models = {"encoder_q": bert(base)}
    if not shared:
        models["encoder_p"] = bert(
            tiny.save(tmp_path / "other", texts=VOCABULARY, longest=512, seed=9)
        )
    state = {
        f"{name}.bert_model.{key}": value.clone()
        for name, model in models.items()
        for key, value in model.state_dict().items()
        if not key.startswith("pooler")
    }
    save_file(state, str(source / "model.safetensors"))
    about = {"encoder_q": {"max_len": 40, "type": "dpr"}, "encoder_p": {"max_len": 60}}
    (source / "config.json").write_text(json.dumps({**about, "shared_encoder": shared}))
    convert("dpr-msmarco", source, tmp_path / "DPR-MSMARCO", str(base))
    for side, name, most in (("query", "encoder_q", 40), ("document", "encoder_p", 60)):
        model = models.get(name, models["encoder_q"])
        found = vectors(tmp_path / "DPR-MSMARCO", side, model="DPR-MSMARCO")
        for text, ours in zip(TEXTS, found, strict=True):
            with torch.inference_mode():
                theirs = model(**coded(base, text, most))[0][0, 0]
            np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-4)


# -- what is refused ------------------------------------------------------------------------------


class Harm:
    def __reduce__(self) -> Any:
        return (Path.touch, (Path("harm"),))


def test_nothing_in_a_file_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model_state.pdparams"
    path.write_bytes(pickle.dumps({"a": Harm()}))
    with pytest.raises(InputError, match="which is no array"):
        read_paddle(path)
    assert not (tmp_path / "harm").exists()
    path.write_bytes(pickle.dumps({"a": {}}))
    with pytest.raises(InputError, match="no parameters"):
        read_paddle(path)
    torch.save({"model_state_dict": Harm()}, tmp_path / "x.dnn")
    with pytest.raises(InputError, match="read safely"):
        convert("colbert", tmp_path / "x.dnn", tmp_path / "out")
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_other_models_are_refused_and_leave_nothing(
    layout: str, base: Path, tmp_path: Path
) -> None:
    save_bundle(tmp_path / "s" / "variables", {"bert/none": np.zeros(3, np.float32)})
    torch.save({"model_state_dict": {"bert.none": torch.zeros(3)}}, tmp_path / "s" / "x.dnn")
    (tmp_path / "s" / "m.pdparams").write_bytes(pickle.dumps({"a": np.zeros(3)}))
    torch.save({"a": torch.zeros(3)}, tmp_path / "s" / "pytorch_model.bin")
    with pytest.raises(InputError, match="it has no"):
        convert(layout, tmp_path / "s", tmp_path / "out", str(base))
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".out*"))
    with pytest.raises(InputError, match="it is there already"):
        convert(layout, tmp_path / "s", tmp_path / "s", str(base))
    with pytest.raises(InputError, match="no such file or folder"):
        convert(layout, tmp_path / "nowhere", tmp_path / "out", str(base))
