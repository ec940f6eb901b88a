"""Conversion of a model's output for a batch into arrays for each text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Ints
from irtoolkit.models.presets import Kind
from irtoolkit.models.settings import Stored
from irtoolkit.models.shards import Output

# Texts whose outputs are checked at once.
_CHECKED = 256


def shortened(features: dict[str, Any], model: Any) -> dict[str, Any]:
    """Returns a model's output with the dimensions or terms that it is configured to keep."""
    from sentence_transformers.util import select_max_active_dims

    if (width := getattr(model, "truncate_dim", None)) is not None:
        features["sentence_embedding"] = features["sentence_embedding"][:, :width]
    if (terms := getattr(model, "max_active_dims", None)) is not None:
        features["sentence_embedding"] = select_max_active_dims(
            features["sentence_embedding"], terms
        )
    return features


def dense_rows(matrix: Any) -> list[Output]:
    return [(row,) for row in arriving(matrix.float())]


def on_device(values: NDArray[Any], device: Any) -> Any:
    """Returns an array as a tensor on a device; what is copied to a GPU is not waited for."""
    import torch

    tensor = torch.from_numpy(values)
    if torch.device(device).type == "cuda":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def arriving(tensor: Any) -> NDArray[Any]:
    """Returns a tensor as an array on the CPU, whose values are ready after `mark`."""
    import torch

    if not tensor.is_cuda:
        return np.asarray(tensor.cpu().numpy())
    pinned = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    pinned.copy_(tensor, non_blocking=True)
    return np.asarray(pinned.numpy())


def mark(device: str) -> Callable[[], object]:
    """Returns a function that waits for all work begun on a device so far."""
    import torch

    if not device.startswith("cuda"):
        return lambda: None
    event: Any = torch.cuda.current_stream(torch.device(device)).record_event()
    return lambda: event.synchronize()


def token_rows(features: dict[str, Any]) -> list[Output]:
    masks = features["attention_mask"].bool()
    counts = masks.sum(1).cpu().numpy()
    # One copy from the GPU, without padding.
    rows = features["token_embeddings"][masks].float().cpu().numpy()
    return [(vectors,) for vectors in np.split(rows, np.cumsum(counts)[:-1])]


def sparse_rows(features: dict[str, Any]) -> list[Output]:
    matrix = features["sentence_embedding"]
    matrix = matrix.to_dense() if matrix.is_sparse else matrix
    rows, terms = matrix.nonzero(as_tuple=True)
    begins = np.cumsum(rows.bincount(minlength=len(matrix)).cpu().numpy())[:-1]
    parts = (np.split(part, begins) for part in sparse_row(terms, matrix[rows, terms]))
    return list(zip(*parts, strict=True))


def sparse_row(terms: Any, weights: Any) -> Output:
    return terms.int().cpu().numpy(), weights.float().cpu().numpy()


def counted(ids: list[int]) -> Output:
    terms, counts = np.unique(np.array(ids, np.int32), return_counts=True)
    return terms, counts.astype(np.float32)


OUTPUTS: dict[Kind, Callable[[dict[str, Any]], list[Output]]] = {
    "dense": lambda features: dense_rows(features["sentence_embedding"]),
    "late": token_rows,
    "sparse": sparse_rows,
    "cross": lambda features: dense_rows(features["scores"]),
}


def static_lengths(tokenizer: Any, texts: list[str]) -> Ints:
    if hasattr(tokenizer, "encode_batch"):
        encoded = [coded.ids for coded in tokenizer.encode_batch(texts, add_special_tokens=False)]
    else:
        encoded = [tokenizer.tokenize(text) for text in texts]
    return np.fromiter(map(len, encoded), np.int64, len(texts))


def are_finite(outputs: Sequence[Output]) -> bool:
    """Returns whether all numbers of some texts' outputs are finite."""
    return all(
        bool(np.isfinite(np.concatenate([part.ravel() for part in column])).all())
        for first in range(0, len(outputs), _CHECKED)
        for column in zip(*outputs[first : first + _CHECKED], strict=True)
    )


def pack(output: Output, stored: Stored) -> Output:
    """Returns floating point arrays as they are stored; int8 vectors come with a scale each."""
    if stored == "fp32":
        return output
    with np.errstate(all="ignore"):  # what is not finite is found afterwards
        if stored == "fp16":
            return tuple(p.astype(np.float16) if p.dtype == np.float32 else p for p in output)
        (vectors,) = output
        scales = np.abs(vectors).max(axis=-1, keepdims=True) / 127
        codes = np.rint(vectors / np.where(scales > 0, scales, 1)).astype(np.int8)
        return codes, scales[..., 0].astype(np.float32)
