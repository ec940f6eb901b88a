"""Conversion of ONNX files into weights for torch, the reverse of `exporting`.

Some encoders are published as ONNX alone, which runs but cannot be trained.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError, check_installed
from irtoolkit.base.reasons import reason_of
from irtoolkit.models.converted import (
    base_parts,
    new_folder,
    require_weights,
    save_folder,
    write_record,
)
from irtoolkit.models.exported import exported_file
from irtoolkit.models.exporting import (
    CLOSE,
    MAKERS,
    copy_around,
    difference,
    example,
    one_transformer,
)
from irtoolkit.models.loading import load_model
from irtoolkit.models.presets import COMPARED_AS, Preset
from irtoolkit.models.prompts import preset_prompt

# Int8 files round what flows between layers as they run, which torch does not do with their weights.
_CLOSE_INT8 = 0.5
_QUANTISED, _SCALE, _ZERO = "_quantized", "_scale", "_zero_point"
_PRODUCTS = ("MatMul", "MatMulInteger", "Gemm")
# Between a product in int8 and its bias stand these.
_PASSED = ("Cast", "Mul")
Array = NDArray[Any]


def import_onnx(model: str, output: Path) -> float:
    """Writes the folder of a dense encoder or cross-encoder with weights that torch trains.

    Args:
        model: a preset, a folder, or a hub id, whose weights are an ONNX file.
        output: the folder, which must not exist yet.

    Returns:
        The difference of the transformer's outputs from those of the ONNX file, as a share of the
        largest. It is larger for an int8 file, which also rounds activations.

    Raises:
        InputError: onnx or the model is missing; it has no ONNX file, or one whose weights are not
            those of its configuration; or the output exists.
    """
    for library in ("onnx", "onnxruntime"):
        check_installed(library, "onnx")
    preset, location, kind = one_transformer(model)
    file = _file_of(model, location)
    with _refusing("no ONNX file that can be read", file):
        weights, rounded = _weights(file)
    with _refusing("no model in its config.json", file):
        config, tokenizer = base_parts(location)
    config.dtype = "float32"  # of the weights that are written, whatever they were published in
    with new_folder(output) as folder:
        copy_around(location, folder)
        with _refusing("no weights of the model in its config.json", file):
            model_object = _filled(kind, config, weights, file)
        save_folder(folder, config, tokenizer, model_object.state_dict())
        if kind == "dense" and not (folder / "modules.json").is_file():
            _write_modules(folder, preset)
        with _refusing("the ONNX file does not run", file):
            far = difference(model_object, example(model_object, tokenizer, (3, 5)), Path(location))
        if not far <= (_CLOSE_INT8 if rounded else CLOSE):
            raise InputError(
                f"torch's outputs differ by {far:.1e} from those of the file",
                file=file,
                remedy="its config.json may be another model's",
            )
        write_record(folder, "torch", of=model)
    return far


def _file_of(model: str, location: str) -> Path:
    try:
        return exported_file(location, "onnx")
    except InputError:
        raise InputError(
            f"{model} has no model.onnx or onnx/model.onnx",
            file=location,
            remedy="a model with weights for torch is used as it is",
        ) from None


@contextmanager
def _refusing(what: str, file: Path) -> Iterator[None]:
    """Turns any exception of a library within the block into an InputError."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        reason = reason_of(error)
        raise InputError(
            f"{what}: {reason}", file=file, remedy="fetch or export the model again"
        ) from None


def _filled(kind: str, config: Any, weights: dict[str, Array], file: Path) -> Any:
    """Returns the transformer of a configuration with weights."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    model_object = _empty(kind, config, transformers)
    tensors = {name: torch.tensor(np.ascontiguousarray(value)) for name, value in weights.items()}
    expected = model_object.state_dict()
    loaded = {name: tensors[name] for name in expected if name in tensors}
    require_weights(expected, loaded, file)
    model_object.load_state_dict(loaded, strict=False)
    return model_object.float().eval()


def _empty(kind: str, config: Any, transformers: Any) -> Any:
    """Returns a transformer without weights; an encoder without its unused pooler."""
    maker = getattr(transformers, MAKERS[kind])
    if kind == "dense":
        try:
            return maker.from_config(config, add_pooling_layer=False, trust_remote_code=False)
        except TypeError:  # an architecture that has none
            pass
    return maker.from_config(config, trust_remote_code=False)


def _write_modules(folder: Path, preset: Preset) -> None:
    """Writes a preset's pooling and sentence-transformers' other modules around a transformer."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling

    def make() -> Any:
        reader = Transformer(str(folder))
        pooling = Pooling(reader.get_embedding_dimension(), pooling_mode=preset.pooling or "mean")
        last = [Normalize()] if preset.similarity == "cosine" else []
        query, document = preset_prompt(preset, "query"), preset_prompt(preset, "document")
        prompts = {"query": query or "", "document": document or ""}
        return SentenceTransformer(
            modules=[reader, pooling, *last],
            device="cpu",
            prompts=prompts,
            similarity_fn_name=COMPARED_AS.get(preset.similarity or ""),
        )

    weights, kept_folder = folder / "model.safetensors", folder / "kept"
    model = load_model(str(folder), make, "published", "cpu")
    # It would be saved with a pooler of random weights.
    weights.rename(kept_folder)
    model.save_pretrained(str(folder), create_model_card=False)
    kept_folder.replace(weights)


# -- the graph ----------------------------------------------------------------------------------


def _weights(file: Path) -> tuple[dict[str, Array], bool]:
    """Returns the parameters in an ONNX file by torch's names, and whether they were in int8.

    Biases, norms and embeddings keep their names. A matrix of a product is transposed and may have
    lost its name: it has that of the bias which is added to the product.
    """
    import onnx

    graph = onnx.load(str(file)).graph  # refuses data in files outside its folder
    arrays = {
        initializer.name: onnx.numpy_helper.to_array(initializer)
        for initializer in graph.initializer
    }
    for node in graph.node:  # equal weights are kept once
        if node.op_type == "Identity" and node.input[0] in arrays:
            arrays[node.output[0]] = arrays[node.input[0]]
    rounded = any(name.endswith(_QUANTISED) for name in arrays)
    weights = {
        name.removesuffix(_QUANTISED): _single(name, arrays)
        for name in arrays
        if not name.endswith((_SCALE, _ZERO))
    }
    readers = _readers(graph)
    for node in graph.node:
        name = node.input[1].removesuffix(_QUANTISED) if node.op_type in _PRODUCTS else ""
        if name in weights:
            bias = _bias_of(node, readers, arrays)
            target = name if name.endswith(".weight") or bias is None else bias[:-4] + "weight"
            weights[target] = weights[name] if _as_torch(node) else weights[name].T
    return weights, rounded


def _single(name: str, arrays: dict[str, Array]) -> Array:
    """Returns an initializer in single precision, if it was in int8 and has a scale."""
    value, base = arrays[name], name.removesuffix(_QUANTISED)
    if base == name or base + _SCALE not in arrays:
        return value
    zero = arrays.get(base + _ZERO, np.zeros((), value.dtype))
    single: Array = (value.astype(np.float32) - zero.astype(np.float32)) * arrays[base + _SCALE]
    return single


def _readers(graph: Any) -> dict[str, list[Any]]:
    """Returns the nodes that read each value."""
    readers: dict[str, list[Any]] = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    return readers


def _bias_of(node: Any, readers: dict[str, list[Any]], arrays: dict[str, Array]) -> str | None:
    """Returns the name of the bias that is added to a product."""
    if node.op_type == "Gemm":
        return next((name for name in node.input[2:] if name.endswith(".bias")), None)
    return next(
        (
            name
            for added in _sums(node, readers)
            for name in added.input
            if name in arrays and name.endswith(".bias")
        ),
        None,
    )


def _sums(node: Any, readers: dict[str, list[Any]]) -> Iterator[Any]:
    """Yields the additions to a product, past the scaling of one in int8."""
    for reader in (reader_node for name in node.output for reader_node in readers.get(name, ())):
        if reader.op_type == "Add":
            yield reader
        elif reader.op_type in _PASSED:
            yield from _sums(reader, readers)


def _as_torch(node: Any) -> bool:
    """Returns whether a product has its matrix as torch has it: output by input."""
    return any(attribute.name == "transB" and attribute.i for attribute in node.attribute)
