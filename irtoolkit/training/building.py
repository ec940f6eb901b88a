"""The model that a recipe starts from."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.models import adapters as applied
from irtoolkit.models import loading, presets
from irtoolkit.models.presets import COMPARED_AS, Kind, Preset, Side
from irtoolkit.training.lstm import SCRATCH, encoder_maker
from irtoolkit.training.recipes import Recipe

SIDES: tuple[Side, Side] = ("query", "document")
# Tokens that a query is filled to (Khattab and Zaharia 2020, §4.1).
COLBERT_QUERY = 32

# What a model may be made from; a plain transformer may become anything but sparse.
_STARTS: dict[Kind, tuple[Kind, ...]] = {
    "dense": ("dense",), "late": ("late", "dense"), "sparse": ("sparse",), "cross": ("cross", "dense"),
}  # fmt: skip


def build_model(
    recipe: Recipe, seed: int, device: str | None = None, texts: Iterable[str] = ()
) -> Any:
    """The model that a recipe trains, before any training.

    Args:
        recipe: says what it is made of.
        seed: of what no checkpoint has: the head of a cross-encoder, ColBERT's projection, sememes.
        device: a torch device; by default a GPU when there is one.
        texts: whose words a start without a checkpoint knows.

    Returns:
        A SentenceTransformer, MultiVectorEncoder, SparseEncoder or CrossEncoder in fp32. Saved, it
        is a model for irtoolkit's retrievers, with its lengths, similarity and prompts.

    Raises:
        InputError: the start is not here, is damaged or of another kind; or the recipe asks of the
            model what its kind has not.
    """
    _check(recipe)
    with _seeded(seed):
        made = recipe.start in SCRATCH
        model = _from_scratch(recipe, texts, seed) if made else _BUILDERS[recipe.kind](recipe)
    _set_lengths(model, recipe)
    device = loading.device_of(device)
    return loading.load(recipe.start, lambda: model, "published", device)


def separator(recipe: Recipe) -> str:
    """What stands between the segments of a text for the recipe's start.

    Raises:
        InputError: it is the start's separator token, and the start is not here or has none.
    """
    if recipe.start in SCRATCH:
        return " " if recipe.join is None else recipe.join
    preset = presets.find(_named(recipe, "document")).side("document")
    join = preset.join if recipe.join is None else recipe.join
    if join != "sep":
        return join
    from transformers import AutoTokenizer

    token = AutoTokenizer.from_pretrained(presets.place(preset)).sep_token
    if token is None:
        raise InputError(f"{preset.id} has no separator token", remedy="join=' '")
    return str(token)


def freeze_documents(model: Any, frozen: bool = True) -> None:
    """Makes the document encoder one that is not trained.

    Its parameters get no gradients, and it computes without dropout, as it will when it is used.

    Args:
        model: with two encoders.
        frozen: False makes it one that is trained again.

    Raises:
        InputError: queries and documents share an encoder.
    """
    routes = getattr(model[0], "sub_modules", {})
    shared = "document" not in routes or "query" not in routes
    if not shared:
        asking = {id(parameter) for parameter in routes["query"].parameters()}
        shared = any(id(parameter) in asking for parameter in routes["document"].parameters())
    if shared:
        raise InputError(
            "frozen=documents: queries and documents share an encoder", remedy="encoders=2"
        )
    encoder = routes["document"]
    encoder.requires_grad_(not frozen)
    encoder.__dict__.pop("train", None)
    encoder.train(model.training and not frozen)
    if frozen:
        # Trainers call `train` on the whole model in every step.
        encoder.__dict__["train"] = _Unmoved(encoder)


class _Unmoved:
    """Stands for the `train` of a module that stays as it is."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __call__(self, mode: bool = True) -> Any:
        return self._module


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


# -- what a recipe may ask for ----------------------------------------------------------------


def _check(recipe: Recipe) -> None:
    dense = recipe.kind == "dense"
    two = recipe.encoders == 2
    asked = {
        "encoders=2": two and not dense,
        f"pooling={recipe.pooling}": recipe.pooling != "own" and not dense,
        f"query_pooling={recipe.query_pooling}": recipe.query_pooling is not None and not dense,
        f"sememes={recipe.sememes}": recipe.sememes is not None and not dense,
        f"labels={recipe.labels}": recipe.labels != 1 and recipe.kind != "cross",
        f"query_length={recipe.query_length}": recipe.query_length is not None
        and recipe.kind == "cross",
        f"similarity={recipe.similarity}": recipe.similarity
        not in {"dense": (None, *COMPARED_AS), "sparse": (None, "dot")}.get(recipe.kind, (None,)),
    }
    remedies = {
        "query_length": "give the length of both texts together as doc_length",
        "similarity": "leave similarity out",
    }
    for setting, wrong in asked.items():
        if wrong:
            raise InputError(
                f"{setting} is not for models of kind {recipe.kind}",
                remedy=remedies.get(setting.partition("=")[0]),
            )
    if recipe.query_start is not None and not two:
        raise InputError(f"query_start={recipe.query_start} with one encoder", remedy="encoders=2")
    if recipe.sememes is not None and not two:
        raise InputError(
            "sememes are added to the tokens of documents, and queries share their encoder",
            remedy="encoders=2",
        )
    if recipe.start in SCRATCH:
        _check_scratch(recipe)
    for key in ("words", "width"):
        value = getattr(recipe, key)
        if value is not None and recipe.start not in SCRATCH:
            raise InputError(
                f"{key}={value}: {recipe.start} has words and a width of its own",
                remedy=f"leave {key} out, or start={' or '.join(SCRATCH)}",
            )
    if not recipe.start.strip():
        raise InputError("the recipe starts from no model", remedy="start=PRESET, folder or hub id")


def _check_scratch(recipe: Recipe) -> None:
    """Refuses what only a transformer can do."""
    asked = {
        f"kind={recipe.kind}": recipe.kind != "dense",
        f"query_start={recipe.query_start}": recipe.query_start is not None,
        f"sememes={recipe.sememes}": recipe.sememes is not None,
        "checkpointing=true": recipe.checkpointing,
        "join=sep": recipe.join == "sep",
    }
    for side in ("pooling", "query_pooling"):
        pooling = getattr(recipe, side)
        asked[f"{side}={pooling}"] = pooling not in (None, "own", "mean", "max")
    for setting, wrong in asked.items():
        if wrong:
            raise InputError(f"{setting} is not for start={recipe.start}")
    if recipe.encoders == 1 and recipe.query_pooling not in (None, recipe.pooling):
        raise InputError(
            f"query_pooling={recipe.query_pooling} with one encoder", remedy="encoders=2"
        )
    if recipe.width is not None and recipe.width < 1:
        raise InputError(f"width={recipe.width} is not at least 1")


def _start(recipe: Recipe, side: Side) -> tuple[Preset, str]:
    """What is known of the model that a side starts from, and its folder."""
    name = recipe.start
    if side == "query" and recipe.query_start is not None:
        name = recipe.query_start
    # With one encoder, a preset's own query encoder has no place.
    preset = presets.find(name).side(side if recipe.encoders == 2 else "document")
    lacking = presets.missing(preset)
    if lacking is not None:
        raise InputError(lacking)
    place = presets.place(preset)
    said = presets.said_kind(place)
    saved = bool(presets.read_json(place, "config_sentence_transformers.json"))
    plain = said is None or (said in ("sparse", "cross") and not saved)
    fits = said in _STARTS[recipe.kind] or (plain and recipe.kind != "sparse")
    if preset.kind not in presets.SAVED_AS or not fits:
        found = preset.kind if preset.kind not in presets.SAVED_AS else said
        raise InputError(
            f"a model of kind {recipe.kind} cannot start from {name}"
            + (f", which is of kind {found}" if found else ""),
            remedy="a masked language model" if recipe.kind == "sparse" else "a plain transformer",
        )
    if presets.read_json(place, "config.json").get("model_type") == "dpr":
        raise InputError(
            f"{name} is in DPR's own form, which is not trained here",
            remedy="start from BERT, or from a sentence-transformers folder of DPR",
        )
    return preset, place


def _opened(recipe: Recipe, place: str, new_head: bool = False, **how: Any) -> Any:
    return loading.load(
        place, lambda: loading.open_model(recipe.kind, place, **how), "fp32", "cpu",
        pooled=recipe.kind == "cross" and not new_head, new_head=new_head,
    )  # fmt: skip


# -- dense ------------------------------------------------------------------------------------


def _dense(recipe: Recipe) -> Any:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Router

    starts = {side: _start(recipe, side) for side in SIDES}
    shown = _opened(recipe, starts["document"][1])
    # Loaded again, so that the two have no weight in common.
    asking = _opened(recipe, starts["query"][1]) if recipe.encoders == 2 else shown
    opened = {"query": asking, "document": shown}
    if recipe.encoders == 1 and "query" in getattr(shown[0], "sub_modules", {}):
        raise InputError(f"{recipe.start} has two encoders", remedy="encoders=2")
    pooling = {
        "document": recipe.pooling,
        "query": recipe.query_pooling or recipe.pooling,
    }
    routes = {
        side: _pooled(_route(opened[side], side), pooling[side], *starts[side]) for side in SIDES
    }
    if recipe.sememes is not None:
        _add_sememes(routes["document"], recipe.sememes, recipe.alpha)
    known = starts["document"][0]
    similarity = (
        COMPARED_AS.get(recipe.similarity or known.similarity or "") or shown.similarity_fn_name
    )
    apart = recipe.encoders == 2 or pooling["query"] != pooling["document"]
    made = (
        [Router.for_query_document(routes["query"], routes["document"])]
        if apart
        else routes["document"]
    )
    return SentenceTransformer(
        modules=made, device="cpu", similarity_fn_name=similarity,
        prompts=_prompts(opened, starts), truncate_dim=shown.truncate_dim,
        default_prompt_name=None if apart else shown.default_prompt_name,
    )  # fmt: skip


def _from_scratch(recipe: Recipe, texts: Iterable[str], seed: int) -> Any:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Router

    make = encoder_maker(recipe, texts, seed)
    made = make(recipe.pooling)
    if recipe.encoders == 2:
        asking = make(recipe.query_pooling or recipe.pooling)
        made = [Router.for_query_document(asking, made)]
    return SentenceTransformer(
        modules=made, device="cpu", similarity_fn_name=COMPARED_AS[recipe.similarity or "dot"]
    )


def _route(model: Any, side: Side) -> list[Any]:
    """The modules that a text of a side passes."""
    first, *rest = model
    routes = getattr(first, "sub_modules", {})
    return [*routes[side], *rest] if side in routes else [first, *rest]


def _pooled(modules: list[Any], pooling: str, known: Preset, place: str) -> list[Any]:
    """Modules with a pooling in the place of their own."""
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    plain = not presets.read_json(place, "modules.json")
    if pooling == "own" and plain and known.pooling is not None:
        pooling = known.pooling
    if pooling == "own":
        return modules
    if pooling not in ("cls", "mean", "max", "mask"):
        raise InputError(
            f"{known.name} is pooled by {pooling}, which is not trained here",
            remedy="pooling=cls, mean, max or mask",
        )
    reader = modules[0]
    if not isinstance(reader, Transformer):
        # Whatever stands between its tokens and their pooling would be lost.
        raise InputError(
            f"pooling={pooling} is of a transformer's tokens, and {known.id} is none",
            remedy="leave pooling out",
        )
    width = reader.get_embedding_dimension()
    if pooling != "mask":
        return [reader, Pooling(width, pooling_mode=pooling)]
    from irtoolkit.models.modules import MaskPooling

    mask = getattr(reader.tokenizer, "mask_token_id", None)
    if mask is None:
        raise InputError("pooling=mask needs a model with a mask token")
    return [reader, MaskPooling(width, mask)]


def _add_sememes(modules: list[Any], path: str, alpha: float) -> None:
    from sentence_transformers.base.modules import Transformer

    from irtoolkit.models.modules import SememeTransformer, read_lexicon

    if type(modules[0]) is not Transformer:
        raise InputError(
            "sememes are added to the tokens of a transformer, and to one that has none",
            remedy="leave sememes out, or start from a plain transformer",
        )
    modules[0] = SememeTransformer.of(modules[0], read_lexicon(path), alpha)


def _prompts(opened: dict[str, Any], starts: dict[Side, tuple[Preset, str]]) -> dict[str, str]:
    """What is put before the texts: the preset's, else the model's own."""
    query, document = starts["query"][0].query_prompt, starts["document"][0].doc_prompt
    if query is None and document is None and opened["query"] is opened["document"]:
        return dict(opened["document"].prompts)
    if query is None:
        query = applied.own_prompt(opened["query"], "query")
    if document is None:
        document = applied.own_prompt(opened["document"], "document")
    return {"query": query or "", "document": document or ""}


# -- the other kinds --------------------------------------------------------------------------


def _late(recipe: Recipe) -> Any:
    known, place = _start(recipe, "document")
    model = _opened(recipe, place)
    if presets.said_kind(place) != "late":
        _as_colbert(model)
    return _with_prompts(model, known)


def _as_colbert(model: Any) -> None:
    """ColBERT's markers of queries and documents, filled queries, and documents without
    punctuation (Khattab and Zaharia 2020, §3.2)."""
    from tokenizers import AddedToken

    reader, tokenizer = model[0], model.tokenizer
    if not any(model.prompts.get(side) for side in SIDES):
        markers = ("[unused0]", "[unused1]")
        if not all(marker in tokenizer.get_vocab() for marker in markers):
            markers = ("[Q]", "[D]")
        tokenizer.add_tokens(
            [AddedToken(marker, normalized=False, special=True) for marker in markers],
            special_tokens=True,
        )
        if len(tokenizer) > reader.model.get_input_embeddings().weight.shape[0]:
            reader.model.resize_token_embeddings(len(tokenizer))
        model.prompts = {side: f"{m} " for side, m in zip(SIDES, markers, strict=True)}
    if tokenizer.mask_token_id is not None:
        length = min(COLBERT_QUERY, applied.positions(reader.model), reader.max_seq_length)
        reader.query_expansion = {"strategy": "fixed", "attend": False, "length": length}
    for module in model:
        if hasattr(module, "skiplist_words"):
            vocabulary = tokenizer.get_vocab()
            module.skiplist_words = [mark for mark in string.punctuation if mark in vocabulary]
            module.resolve_with_tokenizer(tokenizer)


def _sparse(recipe: Recipe) -> Any:
    known, place = _start(recipe, "document")
    return _with_prompts(_opened(recipe, place), known)


def _cross(recipe: Recipe) -> Any:
    known, place = _start(recipe, "document")
    if presets.said_kind(place) != "cross":
        model = _opened(recipe, place, new_head=True, num_labels=recipe.labels)
    else:
        model = _opened(recipe, place)
        if model.num_labels != recipe.labels:
            raise InputError(
                f"{recipe.start} has {model.num_labels} outputs, and the recipe labels={recipe.labels}",
                remedy=f"labels={model.num_labels}, or start from a plain transformer",
            )
    return _with_prompts(model, known)


def _with_prompts(model: Any, known: Preset) -> Any:
    given = {"query": known.query_prompt, "document": known.doc_prompt}
    model.prompts.update({side: prompt for side, prompt in given.items() if prompt is not None})
    return model


_BUILDERS = {"dense": _dense, "late": _late, "sparse": _sparse, "cross": _cross}


# -- lengths ----------------------------------------------------------------------------------


def _set_lengths(model: Any, recipe: Recipe) -> None:
    """Lengths as they are saved with a model: the recipe's, else the preset's, else its own."""
    known = {side: presets.find(_named(recipe, side)) for side in SIDES}
    lengths: dict[Side, int | None] = {
        "query": recipe.query_length or known["query"].query_length,
        "document": recipe.doc_length or known["document"].doc_length,
    }
    readers = {side: applied.reader_of(model, recipe.kind, side) for side in SIDES}
    one = readers["query"] is readers["document"]
    if recipe.kind == "cross":
        lengths["query"] = None
    for side, length in lengths.items():
        if length is None:
            continue
        if length < 1:
            raise InputError(f"a length of {length} tokens is not at least 1")
        reader = readers[side]
        parts = loading.transformers_in(reader)
        longest = min((applied.positions(part) for part, _ in parts), default=None)
        applied.refuse_longer(length, longest)
        alike = lengths["query"] == lengths["document"]
        if one and not alike and recipe.kind in ("dense", "sparse"):
            name = "query_length" if side == "query" else "document_length"
            if not hasattr(reader, name):
                said, remedy = "the model cuts no text", None
                if isinstance(getattr(reader, "max_seq_length", None), int):
                    said = "the one encoder has one length"
                    remedy = "encoders=2, or query_length and doc_length alike"
                raise InputError(f"{side} texts of {length} tokens: {said}", remedy=remedy)
            setattr(reader, name, length)
        else:
            applied.set_limit(reader, recipe.kind, side, length)


def _named(recipe: Recipe, side: Side) -> str:
    return recipe.query_start or recipe.start if side == "query" else recipe.start
