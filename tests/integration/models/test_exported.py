"""Exported models give what torch gives, by onnxruntime and OpenVINO, alone and in batches."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.models.encoder import Encoder, EncoderSettings
from irtoolkit.models.exporting import export_onnx
from irtoolkit.retrievers.cross import CrossEncoder
from irtoolkit.retrievers.dense import Dense
from irtoolkit.retrievers.sent import pinned
from tests import tiny
from tests.conftest import ROOT, Answer
from tests.datasets import TEXTS

pytestmark = pytest.mark.nightly

# Single precision, of a model whose first weights are large.
CLOSE = {"rtol": 1e-4, "atol": 1e-4}
BACKENDS = ("onnx", "openvino")


def exported(folder: Path, make: str, **settings: Any) -> Path:
    """A tiny model of one layer with its weights, and the same as an ONNX file."""
    import torch
    import transformers

    tiny.save(folder, make, num_hidden_layers=1, **settings)
    loader = getattr(transformers, make)
    model = loader.from_pretrained(folder, attn_implementation="eager").eval()
    model.config.return_dict = False
    names = ("input_ids", "attention_mask", "token_type_ids")
    example = torch.tensor([[[7, 8, 9, 10, 11], [8, 9, 9, 0, 0]], [[1] * 5, [1, 1, 1, 0, 0]],
                            [[0, 0, 0, 1, 1], [0, 1, 1, 0, 0]]])  # fmt: skip
    free = {0: torch.export.Dim("batch"), 1: torch.export.Dim("tokens", max=tiny.LONGEST)}
    torch.onnx.export(
        model, kwargs={name: one.clone() for name, one in zip(names, example, strict=True)}, f=folder / "model.onnx", dynamo=True,
        dynamic_shapes=dict.fromkeys(names, free), input_names=list(names),
        output_names=["logits"] if "Classification" in make else ["last_hidden_state"],
        external_data=False, verbose=False,
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(tmp_path_factory.mktemp("models") / "bert", "BertModel")


@pytest.fixture(scope="module")
def reranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "cross"
    return exported(folder, "BertForSequenceClassification", num_labels=1)


@pytest.fixture(scope="module")
def int8(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model without weights for torch, in int8 with ranges that are measured as it runs."""
    import shutil

    from onnxruntime.quantization import quantize_dynamic

    folder = tmp_path_factory.mktemp("models") / "int8"
    shutil.copytree(bert, folder, ignore=shutil.ignore_patterns("*.safetensors", "*.onnx"))
    quantize_dynamic(bert / "model.onnx", folder / "model.onnx")
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))


def encoder(folder: Path, backend: str, **more: Any) -> Encoder:
    how: dict[str, Any] = {"kind": "dense", "side": "document", "device": "cpu", **more}
    if how["kind"] == "dense":
        how.setdefault("pooling", "mean")
    return Encoder(EncoderSettings(str(folder), backend=backend, **how))  # type: ignore[arg-type]


def vectors(one: Encoder, items: Any) -> Any:
    return np.stack([output[0] for output in one.once(items)])


@pytest.mark.parametrize("backend", BACKENDS)
def test_vectors_of_a_plain_transformer(bert: Path, backend: str) -> None:
    ours = vectors(encoder(bert, backend, pooling="cls"), TEXTS)
    theirs = vectors(encoder(bert, "torch", pooling="cls"), TEXTS)
    np.testing.assert_allclose(ours, theirs, **CLOSE)
    assert not np.allclose(theirs[0], theirs[1], **CLOSE)


@pytest.mark.parametrize("backend", BACKENDS)
def test_vectors_of_a_sentence_transformers_folder(
    bert: Path, tmp_path: Path, backend: str
) -> None:
    import shutil

    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    reader = Transformer(str(bert))
    folder = tiny.sentence_model(tmp_path / "st", reader, Pooling(tiny.DIMENSIONS), Normalize())
    (folder / "onnx").mkdir()
    shutil.copy(bert / "model.onnx", folder / "onnx" / "model.onnx")
    found = [vectors(encoder(folder, one, pooling=None), TEXTS) for one in (backend, "torch")]
    np.testing.assert_allclose(*found, **CLOSE)


@pytest.mark.parametrize("backend", BACKENDS)
def test_logits_of_a_cross_encoder(reranker: Path, backend: str) -> None:
    pairs = [(TEXTS[0], text) for text in TEXTS]
    found = [vectors(encoder(reranker, one, kind="cross"), pairs) for one in (backend, "torch")]
    np.testing.assert_allclose(*found, **CLOSE)
    assert len(np.unique(found[0])) > 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_int8_does_not_depend_on_the_batch(int8: Path, bert: Path, backend: str) -> None:
    one = encoder(int8, backend)
    together = vectors(one, TEXTS)
    alone = np.concatenate([vectors(one, [text]) for text in TEXTS])
    np.testing.assert_array_equal(together, alone)
    whole = vectors(encoder(bert, "torch"), TEXTS)
    cosines = (together * whole).sum(1) / np.linalg.norm(together, axis=1)
    cosines /= np.linalg.norm(whole, axis=1)
    assert cosines.min() > 0.97
    assert not np.array_equal(together, whole)


FIRST_USE = """
import sys, threading, torch
from irtoolkit.models.runtimes import load_exported
sys.setswitchinterval(1e-6)
model, gate = load_exported("openvino", sys.argv[1]), threading.Barrier(4)
def use():
    given = torch.ones((1, 3), dtype=torch.int64)
    gate.wait()
    model(given)
threads = [threading.Thread(target=use) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_openvino_is_first_used_by_several_threads_at_once(bert: Path) -> None:
    subprocess.run([sys.executable, "-c", FIRST_USE, str(bert)], cwd=ROOT, check=True, timeout=300)


def test_an_encoder_that_was_exported_here(
    tmp_path: Path, irtoolkit: Callable[..., Answer]
) -> None:
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    plain = tiny.save(tmp_path / "plain")
    parts = Transformer(str(plain)), Pooling(tiny.DIMENSIONS), Normalize()
    folder = tiny.sentence_model(tmp_path / "st", *parts)
    out = tmp_path / "out"
    said = irtoolkit("convert", "onnx", folder, "-o", out)
    assert said.status == 0
    assert "of torch's" in said.out
    assert not list(out.glob("*.safetensors"))
    theirs = vectors(encoder(folder, "torch", pooling=None), TEXTS)
    for backend in BACKENDS:
        ours = vectors(encoder(out, backend, pooling=None), TEXTS)
        np.testing.assert_allclose(ours, theirs, **CLOSE)
    assert Dense(model=str(out), device="cpu").computed()["backend"] == "onnx"
    (out / "model.onnx").write_bytes((out / "model.onnx").read_bytes()[:-1] + b"!")
    for backend in BACKENDS:
        with pytest.raises(InputError, match="not the weights that convert wrote"):
            encoder(out, backend, pooling=None)
    assert "it is there already" in irtoolkit("convert", "onnx", folder, "-o", out).err


def test_a_cross_encoder_that_was_exported_in_int8(tmp_path: Path) -> None:
    how = {"num_labels": 1, "num_hidden_layers": 1}
    folder = tiny.save(tmp_path / "cross", "BertForSequenceClassification", **how)
    exported, rounded = export_onnx(str(folder), tmp_path / "out", "int8")
    assert exported < 1e-5
    assert rounded is not None
    assert 1e-5 < rounded < 0.2
    pairs = [(TEXTS[0], text) for text in TEXTS]
    one = encoder(tmp_path / "out", "onnx", kind="cross")
    together = vectors(one, pairs)
    np.testing.assert_array_equal(
        together, np.concatenate([vectors(one, [pair]) for pair in pairs])
    )
    whole = vectors(encoder(folder, "torch", kind="cross"), pairs)
    np.testing.assert_allclose(together, whole, atol=0.2 * np.abs(whole).max())
    assert not np.array_equal(together, whole)


def test_what_is_not_exported(tmp_path: Path, int8: Path) -> None:
    late = tiny.save(tmp_path / "mlm", "BertForMaskedLM")
    for model, said in ((late, "sparse representations"), (int8, "no weights for torch")):
        with pytest.raises(InputError, match=said):
            export_onnx(str(model), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_backend_is_chosen_by_the_files(bert: Path, int8: Path) -> None:
    retrievers = [Dense(model=str(folder), device="cpu") for folder in (bert, int8)]
    assert [one.computed() for one in retrievers] == [
        {"device": "cpu", "precision": "fp32", "pooling": "mean"},
        {"device": "cpu", "precision": "exported", "backend": "onnx", "pooling": "mean"},
    ]
    assert pinned(retrievers[1]).settings()["backend"] == "onnx"


def test_the_backend_decides_what_is_kept(bert: Path) -> None:
    stores = {one: encoder(bert, one)._store.folder.name for one in ("auto", "torch", *BACKENDS)}
    assert stores["auto"] == stores["torch"]
    assert len(set(stores.values())) == 3
    kept = [Dense(model=str(bert), backend=one).index_settings() for one in ("auto", "onnx")]  # type: ignore[arg-type]
    assert "backend" not in kept[0]  # indexes of earlier versions are read
    assert kept[1]["backend"] == "onnx"
    assert CrossEncoder(model=str(bert), backend="openvino").computed()["backend"] == "openvino"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"precision": "bf16"}, "precision=bf16: with backend=onnx"),
        ({"device": "cuda"}, "device=cuda: with backend=onnx a model runs on the CPU"),
        ({"pooling": "sparta", "kind": "sparse"}, "parts that only torch runs"),
    ],
)
def test_what_an_exported_model_cannot(bert: Path, settings: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        encoder(bert, "onnx", **settings)


def test_weights_of_another_backend(int8: Path, tmp_path: Path) -> None:
    folder = tiny.save(tmp_path / "plain")
    with pytest.raises(InputError, match=r"backend=onnx: no model\.onnx or onnx/model\.onnx in"):
        encoder(folder, "onnx")
    with pytest.raises(InputError, match=r"backend=torch: no weights for torch in .*model\.onnx"):
        encoder(int8, "torch")


def test_a_damaged_file(int8: Path, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "cut"
    shutil.copytree(int8, folder)
    data = (folder / "model.onnx").read_bytes()
    (folder / "model.onnx").write_bytes(data[: len(data) // 2])
    for backend in BACKENDS:
        with pytest.raises(InputError, match="cannot load the model"):
            encoder(folder, backend)
