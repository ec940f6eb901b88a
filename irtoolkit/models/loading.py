"""Loading of weights by the libraries' own loaders, with checks of what they accept in silence."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.launch import launch
from irtoolkit.base.plurals import number_of
from irtoolkit.base.reasons import reason_of
from irtoolkit.engines.engine import workers_lack_gpus
from irtoolkit.models.limits import set_padding
from irtoolkit.models.places import check_unchanged
from irtoolkit.models.presets import SAVED_AS, Kind, read_model_json

Precision = Literal["auto", "fp32", "bf16", "fp16", "int8"]
# Where our modules of sentence-transformers are.
_OURS = "irtoolkit.models."

# Two loads at once would each see what the other's checkpoint lacks.
_LOADING = threading.Lock()


def torch_device(device: str | None, backend: str = "torch") -> str:
    """Returns the torch device: the one given, or else this process's GPU, or else the CPU.

    If workers have no GPU, none is used: texts are encoded on one kind of device. Exported models
    run on the CPU.
    """
    import torch

    if backend != "torch":
        if device not in (None, "cpu"):
            raise InputError(
                f"device={device}: with backend={backend} a model runs on the CPU",
                remedy="leave device out, or backend=torch",
            )
        return "cpu"
    if device is not None:
        try:
            torch.device(device)
        except RuntimeError as error:
            raise InputError(
                f"no device {device!r}: {reason_of(error)}", remedy="cpu, cuda, cuda:1, ..."
            ) from None
        return device
    if torch.cuda.is_available() and not workers_lack_gpus():
        # srun may show each process a GPU of its own, which is the first one there.
        own = torch.cuda.device_count() == 1 and launch().launcher not in ("", "torchrun")
        return f"cuda:{0 if own else launch().local_rank}"
    return "cpu"


def chosen_precision(precision: Precision, device: str, backend: str = "torch") -> str:
    """Returns the precision of computation: bf16 on a GPU that has it, else fp16; fp32 on a CPU."""
    import torch

    if precision not in get_args(Precision):
        raise InputError(f"no precision {precision!r}", remedy=", ".join(get_args(Precision)))
    if backend != "torch":
        if precision != "auto":
            raise InputError(
                f"precision={precision}: with backend={backend} a model has the precision that it"
                " was exported in",
                remedy="leave precision out",
            )
        return "exported"
    if precision != "auto":
        return precision
    if not device.startswith("cuda"):
        return "fp32"
    return "bf16" if torch.cuda.is_bf16_supported() else "fp16"


def load_model(
    location: str,
    make: Callable[[], Any],
    precision: str,
    device: str,
    pooled: bool = False,
    new_head: bool = False,
) -> Any:
    """Returns a model made by `make`, checked, in a precision and on a device.

    Args:
        location: folder or hub id, for the messages.
        make: calls the library's loader; returns a torch module with a `tokenizer`.
        precision: "fp32", "bf16", "fp16" or "int8", of the transformer alone; pooling and projections
            are computed in fp32. "published" leaves the weights as they are.
        device: a torch device.
        pooled: whether the transformer's own pooler is used.
        new_head: whether the head on the transformer may be new, because it is to be trained.

    Raises:
        InputError: weights are not those that training wrote; the loader fails, or needs to run code
            of the model's; weights of the architecture are missing from the checkpoint; there
            is no tokenizer, or another model's; a weight is not finite.
    """
    from huggingface_hub.utils import enable_progress_bars
    from transformers.utils import logging

    check_unchanged(location)
    logging.disable_progress_bar()
    if os.isatty(2):
        enable_progress_bars()  # of downloads, which take longer than reading weights
    verbosity = logging.get_verbosity()
    try:
        with _LOADING, _absent_weights(pooled, new_head) as absent:
            logging.set_verbosity_error()  # problems are reported below, in one line
            model = make()
    except InputError:
        raise
    except Exception as error:  # each library has its own for a damaged file
        raise _not_loaded(location, error) from None
    finally:
        logging.set_verbosity(verbosity)
    for architecture, keys in absent:
        raise InputError(
            f"the model {location} has no weights for {', '.join(sorted(keys)[:3])} of {architecture}",
            remedy="it is a model of another architecture, or its training left a part out",
        )
    _check(location, model)
    return _placed(model.eval(), precision, device)


def _not_loaded(location: str, error: Exception) -> InputError:
    """Returns the error for a library's."""
    if "trust_remote_code" not in str(error):
        return InputError(f"cannot load the model {location}: {reason_of(error)}")
    problem = f"the model {location} comes with code of its own, which irtoolkit does not run"
    remedy = "use a model whose architecture transformers or sentence-transformers has"
    return InputError(problem, remedy=remedy)


def open_model(kind: Kind, location: str, trusted: bool = False, **how: Any) -> Any:
    """Returns a model of sentence-transformers, which may have modules of ours.

    Of modules of other packages only ours run, unless all code that comes with the model may.

    Args:
        kind: "dense", "late", "sparse" or "cross".
        location: folder or hub id.
        trusted: whether code that comes with it may run.
        how: more for sentence-transformers' class.
    """
    import sentence_transformers

    made = getattr(sentence_transformers, SAVED_AS[kind])
    how = {"device": "cpu", **({"trust_remote_code": True} if trusted else {}), **how}
    if "backend" in how:
        from irtoolkit.models.runtimes import as_backends

        with as_backends():
            return made(location, **how)
    if not has_our_modules(location):
        return made(location, **how)
    if not hasattr(made, "_load_with_module_classes"):
        raise needs_extra("sentence-transformers>=6.2", "neural")
    from irtoolkit.models import modules

    ours = {f"{each.__module__}.{each.__name__}": each for each in modules.MODULES}
    # Models of earlier versions say so, wherever a module is now.
    ours |= {f"{modules.__name__}.{each.__name__}": each for each in modules.MODULES}
    return made._load_with_module_classes(location, ours, **how)


def has_our_modules(location: str) -> bool:
    """Returns whether a model has modules that sentence-transformers does not know by itself."""
    return any(name.startswith(_OURS) for name in _module_names(location))


def _module_names(location: str) -> list[str]:
    """Returns the classes of a model's modules, those of its routes too."""
    listed = read_model_json(location, "modules.json").get("", [])
    names = [str(each.get("type")) for each in listed if isinstance(each, dict)]
    for path in Path(location).rglob("router_config.json"):
        types = read_model_json(str(path.parent), path.name).get("types")
        names += map(str, types.values()) if isinstance(types, dict) else []
    return names


@contextmanager
def _absent_weights(pooled: bool, new_head: bool) -> Iterator[list[tuple[str, set[str]]]]:
    """Yields the weights that transformers would initialise at random: (architecture, weights)."""
    from transformers import PreTrainedModel

    absent: list[tuple[str, set[str]]] = []
    original = PreTrainedModel.__dict__["from_pretrained"]

    def watched(cls: Any, *args: Any, **kwargs: Any) -> Any:
        wants_info = kwargs.pop("output_loading_info", False)
        model, info = original.__func__(cls, *args, output_loading_info=True, **kwargs)
        # A pooler that nothing reads is absent from many published encoders.
        keys = {key for key in info["missing_keys"] if pooled or ".pooler." not in f".{key}"}
        if new_head:
            keys = {key for key in keys if key.startswith(f"{cls.base_model_prefix}.")}
        keys |= {str(key[0]) for key in info["mismatched_keys"]}
        if keys:
            absent.append((cls.__name__, keys))
        return (model, info) if wants_info else model

    PreTrainedModel.from_pretrained = classmethod(watched)
    try:
        yield absent
    finally:
        PreTrainedModel.from_pretrained = original


def _check(location: str, model: Any) -> None:
    import torch

    for name, weights in model.named_parameters():
        if weights.is_floating_point() and not bool(torch.isfinite(weights).all()):
            raise InputError(
                f"the model {location} is damaged: {name} holds numbers that are not finite",
                remedy="fetch or train it again",
            )
    for inner, tokenizer in transformers_in(model):
        if getattr(inner.config, "vocab_size", None) is not None:
            _check_tokenizer(location, inner, tokenizer)
        set_padding(location, inner, tokenizer)


def _check_tokenizer(location: str, model: Any, tokenizer: Any) -> None:
    words = 0 if tokenizer is None else len(tokenizer)
    # Without its files transformers makes a tokenizer of special tokens alone.
    if words <= len(getattr(tokenizer, "all_special_tokens", ())):
        raise InputError(
            f"the model {location} has no tokenizer", remedy="put its tokenizer.json beside it"
        )
    embeddings = getattr(model, "get_input_embeddings", None)
    vectors = model.config.vocab_size if embeddings is None else embeddings().weight.shape[0]
    if words > vectors:
        raise InputError(
            f"the tokenizer of {location} has {number_of(words, 'tokens')}, and the model vectors for {vectors}",
            remedy="it is another model's tokenizer",
        )


def _placed(model: Any, precision: str, device: str) -> Any:
    import torch

    types = {"bf16": torch.bfloat16, "fp16": torch.float16}
    if precision != "published":
        model = model.float()  # checkpoints are loaded in the precision that they were saved in
    if precision in types:
        for inner, _ in list(transformers_in(model)):
            inner.to(types[precision])
            # sentence-transformers calls what is inside its module without its hooks.
            holders = (m for m in model.modules() if any(child is inner for child in m.children()))
            next(holders, inner).register_forward_hook(_in_single)
    try:
        model = model.to(device)
    # torch's words for a device that is not there
    except (RuntimeError, AssertionError, ImportError) as error:
        raise InputError(f"cannot use the device {device}: {reason_of(error)}") from None
    if precision == "int8":
        from irtoolkit.models.int8 import to_int8

        for inner, _ in list(transformers_in(model)):
            to_int8(inner.base_model)  # not what makes scores of its vectors
    return model


def _in_single(module: Any, args: Any, output: Any) -> Any:
    """Returns a transformer's output in fp32."""
    import torch

    def single(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.float() if value.is_floating_point() else value
        if isinstance(value, tuple):
            return tuple(single(part) for part in value)
        return value

    for key in list(output.keys()):
        output[key] = single(output[key])
    return output


def transformers_in(model: Any, tokenizer: Any = None) -> Iterator[tuple[Any, Any]]:
    """Yields the outermost transformers models in a module, each with the tokenizer nearest to it.

    Exported ones are among them, which have a configuration but no weights.
    """
    from transformers import PreTrainedModel

    from irtoolkit.models.runtimes import Exported

    tokenizer = getattr(model, "tokenizer", None) or tokenizer
    if isinstance(model, PreTrainedModel | Exported):
        yield model, tokenizer
        return
    for child in model.children():
        yield from transformers_in(child, tokenizer)
