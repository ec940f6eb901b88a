"""Settings that models carry or accept: prompts, lengths, options, the padding token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.plurals import number_of
from irtoolkit.models.presets import Kind, Side

# A reader's own length for one side; its others' is `max_seq_length`.
_LENGTHS: dict[Side, str] = {"query": "query_length", "document": "document_length"}


def own_prompt(model: Any, side: Side) -> str | None:
    """Returns the prompt that sentence-transformers' encode_query or encode_document uses."""
    prompts = dict(getattr(model, "prompts", None) or {})
    return saved_prompt(prompts, getattr(model, "default_prompt_name", None), side)


def saved_prompt(prompts: Mapping[str, Any], default: str | None, side: Side) -> str | None:
    """Returns the prompt of one side among those that a model is saved with.

    Args:
        prompts: by name.
        default: name of the prompt for texts of any side.
        side: the side.
    """
    names = ("query",) if side == "query" else ("document", "passage", "corpus")
    for name in (*names, *([default] if default else [])):
        if name in prompts:
            return str(prompts[name])
    return None


def reader_of(model: Any, kind: Kind, side: Side) -> Any:
    """Returns the module that reads texts of a side; a model may have one for each."""
    first = model if kind == "cross" else model[0]
    routes = getattr(first, "sub_modules", {})
    return routes[side][0] if side in routes else first


def own_limit(reader: Any, kind: Kind, side: Side) -> int | None:
    if kind == "late":
        expansion = getattr(reader, "query_expansion", None)
        if side == "query" and expansion:
            return int(expansion["length"])
    if kind != "cross":  # which has no sides
        own = getattr(reader, _LENGTHS[side], None)
        if own is not None:
            return int(own)
    limit = getattr(reader, "max_seq_length", None)
    return None if limit is None or limit > 1 << 30 else int(limit)


def check_length(limit: int | None, longest: int | None) -> None:
    if limit is not None and longest is not None and limit > longest:
        raise InputError(
            f"a length of {number_of(limit, 'tokens')} is more than the model's {longest}"
        )


def set_limit(reader: Any, kind: Kind, side: Side, limit: int) -> None:
    """Makes a model cut the texts of a side after so many tokens."""
    if kind not in ("late", "cross") and getattr(reader, _LENGTHS[side], None) is not None:
        setattr(reader, _LENGTHS[side], limit)
    elif kind != "late":
        try:
            reader.max_seq_length = limit
        except AttributeError:
            raise InputError(
                f"a length of {number_of(limit, 'tokens')}: the model does not truncate texts"
            ) from None
    elif side == "query" and reader.query_expansion:
        reader.query_expansion = {**reader.query_expansion, "length": limit}
    elif side == "query":
        reader.query_length = limit
    else:
        reader.document_length = limit


def set_options(model: Any, options: dict[str, Any]) -> None:
    first = model[0]
    masks = [module for module in model if hasattr(module, "skiplist_words")]
    if options.get("expansion") is True and not first.query_expansion:
        raise InputError("expansion=true: this model's queries are not expanded")
    if options.get("skiplist") is True and not any(mask.skiplist_words for mask in masks):
        raise InputError("skiplist=true: this model leaves no token out")
    if options.get("expansion") is False:
        if first.query_expansion:
            first.query_length = int(first.query_expansion["length"])
        first.query_expansion = None
    if options.get("skiplist") is False:
        for mask in masks:
            mask.skiplist_words = []
            mask.resolve_with_tokenizer(model.tokenizer)


def position_limit(model: Any) -> int:
    """Returns the number of tokens that a transformer has positions for."""
    most = int(getattr(model.config, "max_position_embeddings", None) or 1 << 30)
    for module in model.modules():
        # RoBERTa's positions begin after its padding token's.
        padding = getattr(getattr(module, "position_embeddings", None), "padding_idx", None)
        if padding is not None:
            most -= padding + 1
    tokenizer = getattr(model, "tokenizer", None)
    return most if tokenizer is None else min(most, int(tokenizer.model_max_length))


def set_padding(location: str, model: Any, tokenizer: Any) -> None:
    """Pads with the end token if there is no padding token, as in GPT-2 and Llama.

    Padding is masked, so it may be any token; sentence-transformers takes the same one.

    Raises:
        InputError: there is neither.
    """
    if getattr(tokenizer, "pad_token", "") is None:
        if tokenizer.eos_token is None:
            raise InputError(
                f"the tokenizer of {location} has no padding token and no end token",
                remedy='name one of its tokens in its tokenizer_config.json: "pad_token": "..."',
            )
        tokenizer.pad_token = tokenizer.eos_token
    if tokenizer is not None and getattr(model.config, "pad_token_id", 0) is None:
        model.config.pad_token_id = tokenizer.pad_token_id
