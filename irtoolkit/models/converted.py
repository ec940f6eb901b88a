"""Common parts of the converters of published checkpoints: finding files, writing folders."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from irtoolkit.base.durable import atomic_folder
from irtoolkit.base.errors import InputError
from irtoolkit.base.reasons import reason_of
from irtoolkit.models import presets
from irtoolkit.models.foreign import read_torch
from irtoolkit.models.loading import load_model
from irtoolkit.models.own_code import check_own_code
from irtoolkit.models.places import CONVERSION, WEIGHTS, weight_sums
from irtoolkit.version import __version__


@contextmanager
def new_folder(output: Path) -> Iterator[Path]:
    """Yields a folder to write a model into; it becomes `output` once complete.

    Raises:
        InputError: the output is there.
    """
    if output.exists():
        raise InputError("it is there already", file=output, remedy="name a new folder")
    with atomic_folder(output) as unfinished:
        yield unfinished


def write_record(folder: Path, layout: str, sums: Mapping[str, str] = {}, **details: str) -> None:
    """Writes how a model was converted, with the SHA-256 of its weights.

    Args:
        folder: the folder of the model.
        layout: the format of its weights, or that they were in.
        sums: the SHA-256 of weights whose names do not tell.
        **details: further facts.
    """
    weights = {**weight_sums(folder), **sums}
    record = {"layout": layout, **details, "version": __version__, WEIGHTS: weights}
    (folder / CONVERSION).write_text(json.dumps(record, indent=1) + "\n", "utf-8")


def only_file(source: Path, pattern: str) -> Path:
    """Returns the one file of a kind: the source itself, or in its folder or below."""
    if source.is_file():
        return source
    files = sorted(source.rglob(pattern))
    if not files:
        raise InputError(f"no file {pattern} in it", file=source, remedy="irtoolkit convert --help")
    if len(files) > 1:
        listed = ", ".join(str(path.relative_to(source)) for path in files[:3])
        raise InputError(
            f"{len(files)} files {pattern}: {listed}", file=source, remedy="name one of them"
        )
    return files[0]


def base_parts(name: str) -> tuple[Any, Any]:
    """Returns the configuration and the tokenizer of the model that a checkpoint started from."""
    import transformers

    folder = presets.model_folder(presets.Preset(name))
    check_own_code(folder, setting=False)
    try:
        return (
            transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False),
            transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False),
        )
    except (OSError, ValueError) as error:
        reason = reason_of(error)
        raise InputError(f"cannot load the tokenizer of {name}: {reason}") from None


def state_of(folder: Path) -> dict[str, Any]:
    """Returns the weights of a checkpoint of transformers, of any class."""
    saved = folder / "model.safetensors"
    if saved.is_file():
        from safetensors.torch import load_file

        return dict(load_file(str(saved)))
    return dict(read_torch(only_file(folder, "pytorch_model.bin")))


def check_shapes(kind: str, config: Any, weights: Mapping[str, Any], path: Path) -> None:
    """Raises InputError for weights that are not those of a model, its pooler left aside."""
    import torch
    import transformers

    with torch.device("meta"):
        expected = getattr(transformers, kind)(config).state_dict()
    expected_shapes = {
        name: value for name, value in expected.items() if ".pooler." not in f".{name}"
    }
    require_weights(expected_shapes, weights, path)


def require_weights(expected: Mapping[str, Any], weights: Mapping[str, Any], path: Path) -> None:
    """Raises InputError for weights that lack one of those that are expected, or have it in another shape."""
    for name, value in expected.items():
        if name.endswith("position_ids"):
            continue
        if name not in weights or weights[name].shape != value.shape:
            have = tuple(weights[name].shape) if name in weights else "none"
            raise InputError(f"{name}: {have}, and the model has {tuple(value.shape)}", file=path)


def save_folder(folder: Path, config: Any, tokenizer: Any, weights: Mapping[str, Any]) -> Path:
    """Writes a folder of transformers."""
    from safetensors.torch import save_file

    folder.mkdir(exist_ok=True)

    save_file(
        {name: value.contiguous() for name, value in weights.items()},
        str(folder / "model.safetensors"),
        metadata={"format": "pt"},
    )
    config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


class Side(NamedTuple):
    """The transformer of one side.

    Attributes:
        folder: its folder, until it is part of another folder.
        length: tokens after which a text is cut; None is as many as it has positions for.
    """

    folder: Path
    length: int | None


class Projection(NamedTuple):
    """A linear layer behind the pooling of a model.

    Attributes:
        weight: (out, in).
        bias: (out,).
        activation: applied to its output.
    """

    weight: Any
    bias: Any
    activation: Any


def save_projected(
    folder: Path, body: Side, projections: Sequence[Projection], norm: tuple[Any, Any]
) -> None:
    """Writes a sentence-transformers folder: the first token's vector, projected and normalised.

    Args:
        folder: the folder to write.
        body: the transformer, whose folder is removed.
        projections: the layers, in order.
        norm: weight and bias of the layer norm behind them.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense
    from sentence_transformers.sentence_transformer.modules import LayerNorm

    def make() -> Any:
        modules = _read_first(body)
        for weight, bias, activation in projections:
            out, into = weight.shape
            modules.append(
                Dense(
                    into,
                    out,
                    activation_function=activation,
                    init_weight=torch.nn.Parameter(weight.clone()),
                    init_bias=torch.nn.Parameter(bias.clone()),
                )
            )
        last = LayerNorm(len(norm[0]))
        last.norm.load_state_dict({"weight": norm[0], "bias": norm[1]})
        return SentenceTransformer(modules=[*modules, last], device="cpu", similarity_fn_name="dot")

    load_model(str(folder), make, "published", "cpu").save_pretrained(str(folder))
    shutil.rmtree(body.folder)


def save_two_encoders(folder: Path, query: Side, document: Side) -> None:
    """Writes a sentence-transformers folder with an encoder for each side: the first token's vector."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Router

    def make() -> Any:
        router = Router.for_query_document(_read_first(query), _read_first(document))
        return SentenceTransformer(modules=[router], device="cpu", similarity_fn_name="dot")

    load_model(str(folder), make, "published", "cpu").save_pretrained(str(folder))
    for side in (query, document):
        shutil.rmtree(side.folder)


def _read_first(side: Side) -> list[Any]:
    """Returns a transformer and the pooling of its first token."""
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    reader = Transformer(str(side.folder), max_seq_length=side.length)
    return [reader, Pooling(reader.get_embedding_dimension(), pooling_mode="cls")]
