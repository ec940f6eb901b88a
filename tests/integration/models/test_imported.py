"""Weights for torch out of ONNX files: those that were put in, whatever their names there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.models import exporting
from irtoolkit.models.encoder import Encoder, EncoderSettings
from irtoolkit.models.exporting import export_onnx
from irtoolkit.models.importing import import_onnx
from tests import tiny
from tests.conftest import Answer
from tests.datasets import TEXTS

pytestmark = pytest.mark.nightly

onnx = pytest.importorskip("onnx", reason="the extra onnx is not installed")
Command = Callable[..., Answer]


def state(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return dict(load_file(str(folder / "model.safetensors")))


def made(folder: Path, make: str = "BertModel", **settings: Any) -> Path:
    """A tiny model of which no two biases or norms are the same, as after training."""
    import torch
    from safetensors.torch import save_file

    tiny.save(folder, make, **settings)
    draw = torch.Generator().manual_seed(1)
    weights = {
        name: value + 0.1 * torch.randn(value.shape, generator=draw) if value.ndim == 1 else value
        for name, value in state(folder).items()
    }
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "pt"})
    return folder


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of torch, `torch`, and what is exported of it, `onnx`."""
    folder = tmp_path_factory.mktemp("exported")
    export_onnx(str(made(folder / "torch")), folder / "onnx")
    return folder


@pytest.fixture(scope="module")
def exported_cross(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of a cross-encoder, with one layer."""
    folder = tmp_path_factory.mktemp("exported-cross")
    how = {"num_labels": 1, "num_hidden_layers": 1}
    export_onnx(
        str(made(folder / "torch", "BertForSequenceClassification", **how)), folder / "onnx"
    )
    return folder


@pytest.fixture
def both(exported: Path, tmp_path: Path) -> Path:
    """A copy of it to change."""
    return Path(shutil.copytree(exported, tmp_path, dirs_exist_ok=True))


def vectors(folder: Path, **settings: Any) -> NDArray[Any]:
    how = EncoderSettings(str(folder), "dense", "document", device="cpu", **settings)
    return np.stack([output[0] for output in Encoder(how).once(TEXTS)])


@pytest.mark.parametrize("kind", ["dense", "cross"])
def test_what_was_exported_comes_back(
    kind: str, exported: Path, exported_cross: Path, tmp_path: Path
) -> None:
    folder = {"dense": exported, "cross": exported_cross}[kind]
    assert import_onnx(str(folder / "onnx"), tmp_path / "again") < 1e-5
    before, after = state(folder / "torch"), state(tmp_path / "again")
    named = {name for name in before if "pooler" not in name or kind == "cross"}
    assert named <= set(after)
    for name in named:
        assert np.array_equal(before[name], after[name]), name


def test_int8_comes_back_rounded(both: Path, tmp_path: Path) -> None:
    exporting._round(both / "onnx" / "model.onnx")  # as `export_onnx` does for int8
    import_onnx(str(both / "onnx"), tmp_path / "again")
    before, after = state(both / "torch"), state(tmp_path / "again")
    for name, value in before.items():
        if "pooler" not in name:
            step = float(value.max() - value.min()) / 255
            far = (value - after[name]).abs().max()
            assert far <= 1.01 * step, name
            assert far > 0 or value.ndim == 1 or not step, name


def older(folder: Path, *, columns: bool | None) -> Path:
    """A model as older exporters write it: products have transposed matrices without a name.

    Args:
        folder: of the model in single precision by today's exporter.
        columns: whether a matrix in int8 has a scale for each column; None leaves single precision.
    """
    path = folder / "model.onnx"
    graph = onnx.load(path)
    helper, number = onnx.numpy_helper, 0
    held = {one.name: one for one in graph.graph.initializer}
    for node in list(graph.graph.node):
        if node.op_type != "MatMul" or node.input[1] not in held:
            continue
        old, number = node.input[1], number + 1
        name, value = f"onnx::MatMul_{number}", helper.to_array(held[old])
        node.input[1] = name
        graph.graph.initializer.remove(held[old])
        if columns is None:
            graph.graph.initializer.append(helper.from_array(value, name))
            continue
        low, high = (value.min(0), value.max(0)) if columns else (value.min(), value.max())
        scale = ((np.maximum(high, 0) - np.minimum(low, 0)) / 255).astype(np.float32)
        zero = np.round(-np.minimum(low, 0) / scale).astype(np.uint8)
        rounded = np.clip(np.round(value / scale) + zero, 0, 255).astype(np.uint8)
        for end, part in (("_quantized", rounded), ("_scale", scale), ("_zero_point", zero)):
            graph.graph.initializer.append(helper.from_array(part, name + end))
        _in_integers(graph.graph, node, name, number)
    onnx.save(graph, path)
    return folder


def _in_integers(graph: Any, node: Any, name: str, number: int) -> None:
    """Puts what onnxruntime's quantisation makes in the place of a product."""
    own, made = f"quantised-{number}", onnx.helper.make_node
    read, out = node.input[0], node.output[0]
    place = list(graph.node).index(node)
    graph.node.remove(node)
    for step, one in enumerate((
        made("DynamicQuantizeLinear", [read], [own, f"{own}-scale", f"{own}-zero"]),
        made("MatMulInteger", [own, f"{name}_quantized", f"{own}-zero", f"{name}_zero_point"], [f"{own}-out"]),
        made("Cast", [f"{own}-out"], [f"{own}-cast"], to=1),
        made("Mul", [f"{own}-scale", f"{name}_scale"], [f"{own}-both"]),
        made("Mul", [f"{own}-cast", f"{own}-both"], [out]),
    )):  # fmt: skip
        graph.node.insert(place + step, one)


def renamed(file: Path, name: str) -> None:
    """Takes the name of a weight in an ONNX file away."""
    graph = onnx.load(file)
    for one in graph.graph.initializer:
        one.name = "b" if one.name == name else one.name
    for node in graph.graph.node:
        node.input[:] = ["b" if each == name else each for each in node.input]
    onnx.save(graph, file)


@pytest.mark.parametrize("columns", [None, False, True])
def test_matrices_without_a_name_have_that_of_their_bias(columns: bool | None, both: Path) -> None:
    older(both / "onnx", columns=columns)
    near = import_onnx(str(both / "onnx"), both / "again")
    assert columns is not None or near < 1e-5
    before, after = state(both / "torch"), state(both / "again")
    for name, value in before.items():
        if "pooler" not in name:
            far = float((value - after[name]).abs().max())
            assert far <= (0 if columns is None else 1.01 * float(value.max() - value.min()) / 255)


def test_the_vectors_are_those_of_the_file(
    exported: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    import_onnx(str(exported / "onnx"), tmp_path / "again")
    assert "MISSING" not in "".join(capfd.readouterr())
    ours = vectors(tmp_path / "again")
    theirs = vectors(exported / "onnx", pooling="mean")
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)
    import_onnx(str(exported / "onnx"), tmp_path / "twice")
    first, second = ((tmp_path / name / "model.safetensors") for name in ("again", "twice"))
    assert first.read_bytes() == second.read_bytes()
    assert "pooler.dense.weight" not in state(tmp_path / "again")


def test_what_stands_behind_the_transformer_is_kept(exported: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense

    model = SentenceTransformer(str(exported / "torch"), device="cpu")
    model.append(Dense(tiny.DIMENSIONS, 8))
    model.save_pretrained(str(tmp_path / "st"), create_model_card=False)
    (tmp_path / "st" / "model.safetensors").unlink()
    (tmp_path / "st" / "onnx").mkdir()
    shutil.copy(exported / "onnx" / "model.onnx", tmp_path / "st" / "onnx")
    # Of the weights that were exported, not of these.
    (tmp_path / "st" / "training.json").write_text('{"weights": {"model.safetensors": "0"}}')
    import_onnx(str(tmp_path / "st"), tmp_path / "again")
    vectors(tmp_path / "again")
    assert (tmp_path / "again" / "modules.json").read_bytes() == (
        tmp_path / "st" / "modules.json"
    ).read_bytes()
    again = SentenceTransformer(str(tmp_path / "again"), device="cpu")
    texts = [text for text in TEXTS if text]
    np.testing.assert_allclose(again.encode(texts), model.encode(texts), rtol=1e-4, atol=1e-5)
    assert not list((tmp_path / "again").rglob("*.onnx"))


def test_what_has_no_weights_to_take(both: Path, irtoolkit: Command) -> None:
    tmp_path, first = both, both / "torch"
    file = both / "onnx" / "model.onnx"
    whole = file.read_bytes()

    with pytest.raises(InputError, match=r"no model\.onnx"):
        import_onnx(str(first), tmp_path / "new")
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="no ONNX file that can be read"):
        import_onnx(str(tmp_path / "onnx"), tmp_path / "new")

    file.write_bytes(whole)
    renamed(file, "encoder.layer.0.output.dense.bias")
    with pytest.raises(InputError, match=r"layer\.0\.output\.dense"):
        import_onnx(str(tmp_path / "onnx"), tmp_path / "new")

    config = json.loads((tmp_path / "onnx" / "config.json").read_text())
    file.write_bytes(whole)
    (tmp_path / "onnx" / "config.json").write_text(json.dumps({**config, "hidden_act": "relu"}))
    with pytest.raises(InputError, match="outputs differ"):
        import_onnx(str(tmp_path / "onnx"), tmp_path / "new")
    assert not (tmp_path / "new").exists()

    (tmp_path / "new").mkdir()
    answer = irtoolkit("convert", "torch", tmp_path / "onnx", "-o", tmp_path / "new")
    assert answer.status == 2
    assert "it is there already" in answer.err


def test_a_cross_encoder_needs_its_pooler(exported_cross: Path, tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder

    both = Path(shutil.copytree(exported_cross, tmp_path, dirs_exist_ok=True))
    import_onnx(str(both / "onnx"), both / "again")
    pairs = [("a", text) for text in TEXTS if text]
    before, after = (CrossEncoder(str(both / one), device="cpu") for one in ("torch", "again"))
    np.testing.assert_allclose(after.predict(pairs), before.predict(pairs), rtol=1e-4, atol=1e-5)
    file = both / "onnx" / "model.onnx"
    renamed(file, "bert.pooler.dense.bias")
    with pytest.raises(InputError, match=r"bert\.pooler\.dense\.bias: none"):
        import_onnx(str(both / "onnx"), both / "new")


def test_weights_beside_the_file_and_outside_its_folder(both: Path) -> None:
    file = both / "onnx" / "model.onnx"
    graph = onnx.load(file)
    onnx.save(graph, file, save_as_external_data=True, location="model.onnx_data")
    import_onnx(str(both / "onnx"), both / "again")
    assert not list((both / "again").rglob("*onnx*"))
    (both / "onnx" / "model.onnx_data").rename(both / "model.onnx_data")
    graph = onnx.load(file, load_external_data=False)
    for one in graph.graph.initializer:
        for entry in one.external_data:
            entry.value = entry.value.replace("model.onnx_data", "../model.onnx_data")
    file.write_bytes(graph.SerializeToString())
    with pytest.raises(InputError, match="no ONNX file that can be read"):
        import_onnx(str(both / "onnx"), both / "new")
