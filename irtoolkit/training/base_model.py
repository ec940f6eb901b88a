"""The model that training starts from."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.models import limits, loading, presets
from irtoolkit.models.cuts import Cut, cutting_tokenizer
from irtoolkit.models.own_code import check_own_code
from irtoolkit.models.presets import Preset, Side
from irtoolkit.models.prompts import preset_prompt
from irtoolkit.retrievers.texts import mask_of
from irtoolkit.training.base_checkpoint import SIDES, find_checkpoint, open_checkpoint, start_of
from irtoolkit.training.dense_model import dense_model, scratch_model
from irtoolkit.training.lstm import FROM_SCRATCH
from irtoolkit.training.model_checks import check_model
from irtoolkit.training.recipes import Recipe

# Number of tokens that a query is filled up to (Khattab and Zaharia 2020, §4.1).
COLBERT_QUERY = 32


def build_model(
    recipe: Recipe,
    seed: int,
    device: str | None = None,
    texts: Iterable[str] = (),
    docs: Sequence[str] = (),
) -> Any:
    """Returns the model that a recipe trains, before training.

    Args:
        recipe: the definition of the model.
        seed: seed of the parts that are not in a checkpoint: the head of a cross-encoder, ColBERT's
            projection, sememes.
        device: torch device; by default a GPU if there is one.
        texts: texts with the vocabulary of a model without a checkpoint.
        docs: texts of the documents, for a model with a vector for each of them.

    Returns:
        A SentenceTransformer, MultiVectorEncoder, SparseEncoder or CrossEncoder in fp32. Once saved,
        irtoolkit's retrievers load it with its lengths, similarity and prompts.

    Raises:
        InputError: the base model is missing, damaged or of another kind; or a setting of the recipe
            is not for models of its kind.
    """
    check_model(recipe)
    with _seeded(seed):
        model = (
            scratch_model(recipe, texts, docs, seed)
            if recipe.start in FROM_SCRATCH
            else _BUILDERS[recipe.kind](recipe)
        )
    _set_lengths(model, recipe)
    _cut_around_mask(model, recipe)
    device = loading.torch_device(device)
    return loading.load_model(recipe.start, lambda: model, "published", device)


def segment_separator(recipe: Recipe) -> str:
    """Returns the separator of the segments of a text for a recipe's base model.

    Raises:
        InputError: it is the separator token of the base model, and this is missing or has none.
    """
    if recipe.start in FROM_SCRATCH:
        return " " if recipe.join is None else recipe.join
    preset = presets.find_preset(start_of(recipe, "document")).side("document")
    join = preset.join if recipe.join is None else recipe.join
    if join != "sep":
        return join
    from transformers import AutoTokenizer

    folder = presets.model_folder(preset)
    trusted = bool(recipe.trust_remote_code)
    check_own_code(folder, trusted)
    token = AutoTokenizer.from_pretrained(folder, trust_remote_code=trusted).sep_token
    if token is None:
        raise InputError(f"{preset.id} has no separator token", remedy="join=' '")
    return str(token)


def freeze_documents(model: Any, frozen: bool = True) -> None:
    """Freezes the document encoder of a model.

    Its parameters get no gradients, and it computes without dropout, as in retrieval.

    Args:
        model: a model with two encoders.
        frozen: False unfreezes it.

    Raises:
        InputError: queries and documents share an encoder.
    """
    routes = getattr(model[0], "sub_modules", {})
    shared = "document" not in routes or "query" not in routes
    if not shared:
        of_queries = {id(parameter) for parameter in routes["query"].parameters()}
        shared = any(id(parameter) in of_queries for parameter in routes["document"].parameters())
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
        encoder.__dict__["train"] = _Unchanged(encoder)


class _Unchanged:
    """A replacement of the `train` method of a module whose mode must not change."""

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


# -- late interaction, sparse vectors and cross-encoders --------------------------------------


def _late_or_sparse(recipe: Recipe) -> Any:
    preset, folder = find_checkpoint(recipe, "document")
    model = open_checkpoint(recipe, folder)
    if recipe.kind == "late" and presets.said_kind(folder) != "late":
        _as_colbert(model)
    return _with_prompts(model, preset)


def _as_colbert(model: Any) -> None:
    """Adds ColBERT's markers of queries and documents, fills up queries, and ignores punctuation
    in documents (Khattab and Zaharia 2020, §3.2)."""
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
        length = min(COLBERT_QUERY, limits.position_limit(reader.model), reader.max_seq_length)
        reader.query_expansion = {"strategy": "fixed", "attend": False, "length": length}
    for module in model:
        if hasattr(module, "skiplist_words"):
            vocabulary = tokenizer.get_vocab()
            module.skiplist_words = [mark for mark in string.punctuation if mark in vocabulary]
            module.resolve_with_tokenizer(tokenizer)


def _cross(recipe: Recipe) -> Any:
    preset, folder = find_checkpoint(recipe, "document")
    if presets.said_kind(folder) != "cross":
        model = open_checkpoint(recipe, folder, new_head=True, num_labels=recipe.labels)
    else:
        model = open_checkpoint(recipe, folder)
        if model.num_labels != recipe.labels:
            raise InputError(
                f"{recipe.start} has {model.num_labels} outputs, and the recipe labels={recipe.labels}",
                remedy=f"labels={model.num_labels}, or start from a plain transformer",
            )
    return _with_prompts(model, preset)


def _with_prompts(model: Any, preset: Preset) -> Any:
    prompts = {side: preset_prompt(preset, side) for side in SIDES}
    model.prompts.update({side: prompt for side, prompt in prompts.items() if prompt is not None})
    return model


_BUILDERS: dict[str, Callable[[Recipe], Any]] = {
    "dense": dense_model,
    "late": _late_or_sparse,
    "sparse": _late_or_sparse,
    "cross": _cross,
}


# -- lengths ----------------------------------------------------------------------------------


def _set_lengths(model: Any, recipe: Recipe) -> None:
    """Sets the lengths that are saved with a model: the recipe's, or else the preset's.

    If neither gives a length, the model keeps its own.
    """
    presets_of = {side: presets.find_preset(start_of(recipe, side)) for side in SIDES}
    lengths: dict[Side, int | None] = {
        "query": recipe.query_length or presets_of["query"].query_length,
        "document": recipe.doc_length or presets_of["document"].doc_length,
    }
    readers = {side: limits.reader_of(model, recipe.kind, side) for side in SIDES}
    one_length = (
        readers["query"] is readers["document"]
        and lengths["query"] != lengths["document"]
        and recipe.kind in ("dense", "sparse")
    )
    if recipe.kind == "cross":
        lengths["query"] = None
    for side, length in lengths.items():
        if length is None:
            continue
        reader = readers[side]
        parts = loading.transformers_in(reader)
        longest = min((limits.position_limit(part) for part, _ in parts), default=None)
        limits.check_length(length, longest)
        if one_length:
            _set_side_length(reader, side, length)
        else:
            limits.set_limit(reader, recipe.kind, side, length)


def _cut_around_mask(model: Any, recipe: Recipe) -> None:
    """Makes a model truncate masked queries as retrieval does: on both sides of the mask.

    A cross-encoder reads pairs, which are cut at their ends.
    """
    tokens = {mask_of(stage.query) for stage in recipe.stages}
    if recipe.kind == "cross" or tokens == {None}:
        return
    token = next(iter(sorted(tokens - {None}, key=str)))
    reader = limits.reader_of(model, recipe.kind, "query")
    tokenizer = getattr(reader, "processor", None)
    if getattr(tokenizer, "is_fast", False):
        prompt = limits.own_prompt(model, "query") or ""
        reader.processor = cutting_tokenizer(tokenizer, Cut("sides", token), prompt)


def _set_side_length(reader: Any, side: Side, length: int) -> None:
    """Sets the length of one side of an encoder that both sides share."""
    name = "query_length" if side == "query" else "document_length"
    if not hasattr(reader, name):
        problem, remedy = "the model does not truncate texts", None
        if isinstance(getattr(reader, "max_seq_length", None), int):
            problem = "the one encoder has one length"
            remedy = "encoders=2, or the same query_length and doc_length"
        raise InputError(f"{side} texts of {length} tokens: {problem}", remedy=remedy)
    setattr(reader, name, length)
