"""The padding token of a model's tokenizer."""

from __future__ import annotations

from typing import Any

from irtoolkit.base.errors import InputError


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
