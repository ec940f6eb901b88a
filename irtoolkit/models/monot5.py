"""monoT5: a T5 that writes whether a document is relevant to a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.models.adapters import READING, Item, Tokenized
from irtoolkit.models.limits import check_length, position_limit
from irtoolkit.models.outputs import dense_rows
from irtoolkit.models.presets import read_model_json
from irtoolkit.models.shards import Output

# The words of an answer, no and yes: of monoT5 and of its multilingual versions.
_ANSWERS = (("▁false", "▁true"), ("▁no", "▁yes"))
_LAST = "Relevant:"


def is_t5(folder: str) -> bool:
    """Returns whether a model is a T5 with its decoder."""
    names = read_model_json(folder, "config.json").get("architectures") or [""]
    return str(names[0]) in ("T5ForConditionalGeneration", "MT5ForConditionalGeneration")


def open_t5(location: str) -> Any:
    """Returns a T5 with its decoder and its tokenizer."""
    import transformers

    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(location, trust_remote_code=False)
    model.tokenizer = transformers.AutoTokenizer.from_pretrained(location, trust_remote_code=False)
    return model


class MonoT5(Tokenized):
    """monoT5 (Nogueira et al. 2020, §3): "Query: q Document: d Relevant:", and its first word.

    The two outputs are the logits of false and of true. A pair that is too long loses the end of
    its document, never the words after it.
    """

    similarity: str | None = None

    def __init__(self, model: Any, device: str, prompt: str | None, limit: int | None) -> None:
        longest = position_limit(model)
        check_length(limit, longest)
        super().__init__(model, model.tokenizer, device, prompt, limit or min(512, longest))
        words = self.tokenizer.get_vocab()
        answers = [pair for pair in _ANSWERS if all(word in words for word in pair)]
        if not answers:
            raise InputError(
                "this T5 has neither true and false nor yes and no among its tokens",
                remedy="a monoT5, such as model=MonoT5",
            )
        self._answers = [words[word] for word in answers[0]]

    def lengths(self, items: Sequence[Item]) -> Ints:
        with READING:
            coded = self.tokenizer(self._texts(items), truncation=False, verbose=False)
        return np.fromiter(map(len, coded["input_ids"]), np.int64, len(items))

    def __call__(self, items: Sequence[Item]) -> list[Output]:
        import torch

        limit = int(self.limit or 0)
        with READING:
            coded = self.tokenizer(self._texts(items), truncation=False, verbose=False)["input_ids"]
            last = self.tokenizer(_LAST)["input_ids"]
            cut = [ids if len(ids) <= limit else ids[: limit - len(last)] + last for ids in coded]
            batch = self.tokenizer.pad({"input_ids": cut}, return_tensors="pt").to(self.device)
        first = self._model.config.decoder_start_token_id
        begins = torch.full((len(items), 1), first, device=batch["input_ids"].device)
        with torch.inference_mode():
            logits = self._model(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
                decoder_input_ids=begins,
                return_dict=True,
            ).logits
        return dense_rows(logits[:, 0, self._answers])

    def _texts(self, items: Sequence[Item]) -> list[str]:
        pairs = [item if isinstance(item, tuple) else (item, "") for item in items]
        return [f"Query: {self.prompt}{query} Document: {text} {_LAST}" for query, text in pairs]
