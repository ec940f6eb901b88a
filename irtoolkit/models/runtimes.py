"""Exported ONNX (or OpenVINO) models, run by onnxruntime or OpenVINO.

sentence-transformers has a backend for each, which needs Optimum; Optimum's releases require older
versions of transformers than this package. So the files are opened here, as torch modules that
sentence-transformers and our own adapters call like any transformer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig
from transformers.modeling_outputs import BaseModelOutputWithPooling, SequenceClassifierOutput

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.models.exported import exported_file

# Of these operators the result for one text depends on all texts of a batch: int8 with ranges that
# are measured as the model runs.
_DYNAMIC = b"DynamicQuantizeLinear"
_STATES = ("last_hidden_state", "token_embeddings")
Run = Callable[[dict[str, Any]], Mapping[str, Any]]


class Exported(torch.nn.Module):
    """An exported transformer.

    If its int8 ranges are measured as it runs, texts are given to it one by one: the output for a
    text is then the same whatever else is in its batch.

    Attributes:
        config: its configuration, a `PretrainedConfig`.
    """

    def __init__(self, file: Path, run: Run, inputs: frozenset[str], config: Any) -> None:
        super().__init__()
        self.config = config
        self._run, self._inputs = run, inputs
        self._alone = _is_dynamic(file)

    def forward(
        self,
        input_ids: Any,
        attention_mask: Any = None,
        token_type_ids: Any = None,
        return_dict: bool | None = None,
    ) -> Any:
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        batch = {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "token_type_ids": token_type_ids,
        }
        if absent := self._inputs - set(batch):
            raise InputError(f"the exported model wants {', '.join(sorted(absent))}")
        inputs = {name: batch[name].numpy().astype(np.int64) for name in self._inputs}
        outputs = (
            self._one_by_one(inputs, attention_mask.numpy()) if self._alone else self._run(inputs)
        )
        tensors = {name: torch.from_numpy(value) for name, value in outputs.items()}
        if "logits" in tensors:
            return SequenceClassifierOutput(logits=tensors["logits"].float())
        states = next((tensors[name] for name in _STATES if name in tensors), None)
        if states is None:
            raise InputError(
                f"the exported model makes {', '.join(tensors)} and no last_hidden_state"
            )
        pooled = tensors.get("pooler_output")
        return BaseModelOutputWithPooling(
            states.float(), None if pooled is None else pooled.float()
        )

    def _one_by_one(self, inputs: dict[str, Any], mask: Any) -> dict[str, Any]:
        """Returns the outputs of a batch whose texts are read one by one without padding."""
        rows, width = mask.shape
        collected: dict[str, Any] = {}
        for row in range(rows):
            mask_row = mask[row].astype(bool)
            output = self._run(
                {name: value[row : row + 1, mask_row] for name, value in inputs.items()}
            )
            for name, value in output.items():
                of_tokens = value.ndim == 3
                if name not in collected:
                    shape = (rows, width, value.shape[2]) if of_tokens else (rows, *value.shape[1:])
                    collected[name] = np.zeros(shape, value.dtype)
                collected[name][(row, mask_row) if of_tokens else row] = value[0]
        return collected


def load_exported(backend: str, model_name_or_path: str, config: Any = None, **_: Any) -> Exported:
    """Returns the exported model of a folder.

    Args:
        backend: "onnx" or "openvino".
        model_name_or_path: the folder; the name is sentence-transformers'.
        config: its configuration, if it has been read.

    Raises:
        InputError: the library is not installed, or there is no exported model.
    """
    file = exported_file(model_name_or_path, backend)
    config = config or AutoConfig.from_pretrained(model_name_or_path, trust_remote_code=False)
    opened = _on_onnxruntime if backend == "onnx" else _on_openvino
    return Exported(file, *opened(file), config)


@contextmanager
def as_backends() -> Iterator[None]:
    """Makes sentence-transformers' backends open exported models by `load_exported`."""
    from sentence_transformers.base.modules import transformer

    names = {"load_onnx_model": "onnx", "load_openvino_model": "openvino"}
    originals = {name: getattr(transformer, name) for name in names}
    for name, backend in names.items():
        setattr(transformer, name, partial(load_exported, backend))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(transformer, name, original)


def _on_onnxruntime(file: Path) -> tuple[Run, frozenset[str]]:
    try:
        import onnxruntime
    except ImportError:
        raise needs_extra("onnxruntime", "onnx") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]

    def run(inputs: dict[str, Any]) -> Mapping[str, Any]:
        return dict(zip(names, session.run(names, inputs), strict=True))

    return run, frozenset(item.name for item in session.get_inputs())


def _on_openvino(file: Path) -> tuple[Run, frozenset[str]]:
    try:
        import openvino
    except ImportError:
        raise needs_extra("openvino", "openvino") from None
    # Its binding to numpy is made at the first array. Two threads that make it at once, each with a
    # lock that the other waits for, never end.
    openvino.Tensor(np.zeros(1, np.int64))
    # Some CPUs would compute in bfloat16.
    options = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": torch.get_num_threads()}
    compiled = openvino.Core().compile_model(str(file), "CPU", options)

    requests = threading.local()  # each does one thing at a time

    def run(inputs: dict[str, Any]) -> Mapping[str, Any]:
        if not hasattr(requests, "one"):
            requests.one = compiled.create_infer_request()
        results = requests.one.infer(inputs)
        return {output.get_any_name(): results[output].copy() for output in compiled.outputs}

    return run, frozenset(item.get_any_name() for item in compiled.inputs)


def _is_dynamic(file: Path) -> bool:
    """Returns whether a file has the operator that measures int8 ranges as the model runs."""
    tail = b""
    with open(file, "rb") as stream:
        while piece := stream.read(1 << 20):
            if _DYNAMIC in tail + piece:
                return True
            tail = piece[-len(_DYNAMIC) :]
    return False
