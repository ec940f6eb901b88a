"""Opening a model's files as an adapter, the function that encodes a batch of texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.plurals import number_of
from irtoolkit.models import loading
from irtoolkit.models.adapters import Adapter, Averaged, Plain, SentenceModel
from irtoolkit.models.limits import set_options
from irtoolkit.models.monot5 import MonoT5, is_t5, open_t5
from irtoolkit.models.own_code import check_code_ran, check_own_code
from irtoolkit.models.packed import pack
from irtoolkit.models.part_vectors import PartVectors
from irtoolkit.models.places import check_unchanged
from irtoolkit.models.presets import (
    SAVED_AS,
    TWO_ENCODERS,
    Kind,
    Preset,
    Side,
    read_model_json,
    said_kind,
    weights_hash,
)
from irtoolkit.models.settings import AdapterSettings
from irtoolkit.models.sparta import Sparta

_MADE = {"late": "a vector of each token", "sparse": "weights of terms"}
_RETRIEVERS = {"late": "late", "sparse": "sparse", "cross": "cross-encoder"}


def load_adapter(location: str, kind: Kind, side: Side, settings: AdapterSettings) -> Adapter:
    """Loads a model.

    Args:
        location: folder or hub id.
        kind: "dense", "late", "sparse" or "cross".
        side: whether the model is to encode queries or documents.
        settings: how it encodes them.

    Raises:
        InputError: see `irtoolkit.models.loading.load_model`.
    """
    limit, pooling, device = settings.limit, settings.pooling, settings.device
    options = dict(settings.options)
    if kind == "dense" and "unit" in options:
        return _of_parts(location, side, settings, options)
    if settings.backend != "torch":
        _check_exportable(location, settings)
    sim = kind == "dense" and (Path(location) / "sim.pt").is_file()
    if settings.prompt and (sim or pooling == "sparta"):
        raise InputError(
            f"the model {location} takes no prompt: {settings.prompt!r}", remedy="leave it out"
        )
    if sim:
        return _averaged(location, limit)
    t5 = kind == "cross" and is_t5(location)
    plain = pooling is not None and not read_model_json(location, "modules.json")
    if settings.base is not None and not plain:
        raise InputError(
            f"{location} is a bottleneck adapter, which does not say how token vectors become one",
            remedy="the retriever dense with pooling=cls",
        )
    shared = _of_model(settings, None if plain or t5 else limit)
    loader: Kind | None = None if plain else "writer" if t5 else kind
    pooled = kind == "cross" or pooling == "pooler"
    weights = weights_hash(Preset(location, base=settings.base))
    model = _opened(_Source(location, weights, loader, pooled, shared))
    if t5:
        return MonoT5(model, device, settings.prompt, limit)
    if plain and pooling == "sparta":
        return Sparta(model, side, device, limit, settings.cut)
    if plain:
        return Plain(model, str(pooling), device, settings.prompt, limit, settings.cut)
    return SentenceModel(model, kind, side, settings)


def _of_model(settings: AdapterSettings, limit: int | None) -> AdapterSettings:
    """Returns the settings of a model itself, without how one adapter uses it."""
    return replace(settings, pooling=None, prompt=None, limit=limit, cut=None, task=None)


def _averaged(location: str, limit: int | None) -> Adapter:
    """Returns SIM, which averages the vectors of all subwords."""
    if limit is not None:
        raise InputError(f"a length of {number_of(limit, 'tokens')}: SIM does not truncate texts")
    check_unchanged(location)
    return Averaged(location)


def _of_parts(
    location: str, side: Side, settings: AdapterSettings, options: dict[str, Any]
) -> Adapter:
    """Returns a dense model that makes vectors of parts of a text."""
    model = load_adapter(location, "dense", side, replace(settings, options=()))
    if not isinstance(model, SentenceModel | Plain):
        raise InputError(
            f"the model {location} makes no vectors of tokens", remedy="a model with a transformer"
        )
    return PartVectors(model, options["unit"], side, not options.get("skiplist"))


def _check_exportable(location: str, settings: AdapterSettings) -> None:
    """Raises InputError for models of which a part is ours, which no export has."""
    sim = (Path(location) / "sim.pt").is_file()
    ours = settings.pooling == "sparta" or loading.has_our_modules(location)
    if sim or ours or settings.base is not None or is_t5(location):
        raise InputError(
            f"backend={settings.backend}: the model {location} has parts that only torch runs",
            remedy="leave backend out",
        )


@dataclass(frozen=True)
class _Source:
    """The key of a model in memory.

    Attributes:
        location: folder or hub id.
        files: hash of its files, as a folder may be written again, for example by training.
        kind: kind of a sentence-transformers model, or None for a plain transformer.
        pooled: whether the transformer's own pooler is used.
        settings: those that are set on the model itself; models with different limits are different.
    """

    location: str
    files: str | None
    kind: Kind | None
    pooled: bool
    settings: AdapterSettings


# The two encoders of a task, and no more: weights are large.
@lru_cache(maxsize=2)
def _opened(source: _Source) -> Any:
    """Returns a model of sentence-transformers, or a plain transformer."""
    location, kind, settings = source.location, source.kind, source.settings
    coded, backend, trusted = settings.base or location, settings.backend, settings.trusted
    # An exported model has no code of its own to run.
    check_own_code(coded, trusted and backend == "torch", backend == "torch")
    if kind is None:
        make = partial(_transformer, coded, backend, trusted)
    elif kind == "writer":
        make = partial(open_t5, location)
    else:
        make = partial(_sentence_model, location, kind, backend, trusted)
    if settings.base is not None:
        from irtoolkit.models.bottleneck import with_bottlenecks

        make = partial(with_bottlenecks, make, location)
    model = loading.load_model(location, make, settings.precision, settings.device, source.pooled)
    check_code_ran(coded, model, trusted)
    if kind == "late":
        set_options(model, dict(settings.options))
    if settings.device.startswith("cuda") and settings.precision in ("bf16", "fp16"):
        _pack(model, kind)
    return model


def _pack(model: Any, kind: Kind | None) -> None:
    """Lets a model compute without padding, unless padding has vectors, as in ColBERT's queries."""
    expansion = getattr(model[0], "query_expansion", None) if kind == "late" else None
    if not expansion or expansion.get("attend"):
        pack(model)


def _transformer(location: str, backend: str, trusted: bool) -> Any:
    import transformers

    if backend != "torch":
        from irtoolkit.models.runtimes import load_exported

        model = load_exported(backend, location)
        model.tokenizer = transformers.AutoTokenizer.from_pretrained(
            location, trust_remote_code=False
        )
        return model
    names = read_model_json(location, "config.json").get("architectures") or [""]
    dpr = {"DPRContextEncoder": "ctx_encoder", "DPRQuestionEncoder": "question_encoder"}
    if names[0] in dpr:
        model = getattr(transformers, names[0]).from_pretrained(location, trust_remote_code=False)
        model = getattr(model, dpr[names[0]])
    else:
        model = transformers.AutoModel.from_pretrained(location, trust_remote_code=trusted)
    path = Path(location)
    # The two encoders of one folder have a tokenizer in common, which is beside them.
    shared = path.name in TWO_ENCODERS and not any(path.glob("*token*"))
    words = str(path.parent) if shared else location
    model.tokenizer = transformers.AutoTokenizer.from_pretrained(words, trust_remote_code=trusted)
    return model


def _check_dense(location: str, kind: Kind | None) -> None:
    """Checks that a model makes vectors of texts, and is not just used for its transformer.

    Raises:
        InputError: it is a cross-encoder, or makes term weights or vectors of tokens.
    """
    # A masked language model may be for anything, unless it was saved as a sparse encoder.
    plain = not read_model_json(location, "config_sentence_transformers.json")
    if kind in (None, "dense") or (kind == "sparse" and plain):
        return
    output = {"cross": "scores of pairs of texts", **_MADE}[kind]
    remedy = f"the retriever {_RETRIEVERS[kind]}"
    raise InputError(
        f"the model {location} makes {output}, and no vector of a text",
        remedy=f"{remedy}, or pooling=mean to take its transformer alone" if plain else remedy,
    )


def _check_cross(location: str) -> None:
    """Raises InputError for a model that writes text and does not say how it scores.

    sentence-transformers would take yes and no for its answers, and any chat template for its prompt.

    Raises:
        InputError: it has no files of sentence-transformers.
    """
    names = read_model_json(location, "config.json").get("architectures") or [""]
    if names[0].endswith("ForCausalLM") and not read_model_json(location, "modules.json"):
        raise InputError(
            f"the model {location} writes text, and no modules.json says how it scores a pair",
            remedy="fetch its newest revision, or take it as llm=MODEL with llm-pointwise",
        )


def _sentence_model(location: str, kind: Kind, backend: str, trusted: bool) -> Any:
    import sentence_transformers

    if not hasattr(sentence_transformers, SAVED_AS[kind]):
        raise needs_extra("sentence-transformers>=6.2", "neural")
    said_kind_name = said_kind(location)
    if kind == "dense":
        _check_dense(location, said_kind_name)
    if kind == "cross":
        _check_cross(location)
    # sentence-transformers makes any model into any other, with projections of random numbers.
    if said_kind_name != kind and kind in ("late", "sparse"):
        raise InputError(
            f"the model {location} does not make {_MADE[kind]} of a text",
            remedy=f"it is for {said_kind_name} retrieval"
            if said_kind_name
            else "train it for that",
        )
    more = {} if backend == "torch" else {"backend": backend}
    return loading.open_model(kind, location, trusted, **more)
