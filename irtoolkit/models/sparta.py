"""SPARTA: the weights of a document's terms, from a plain transformer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from irtoolkit.models.adapters import READING, Item, Tokenized
from irtoolkit.models.cuts import Cut, cutting_tokenizer
from irtoolkit.models.limits import check_length, position_limit
from irtoolkit.models.outputs import counted, sparse_row
from irtoolkit.models.presets import Side
from irtoolkit.models.shards import Output


class Sparta(Tokenized):
    """SPARTA (Zhao et al. 2021, equations 2 to 4), as BEIR runs it.

    The weight of a term in a document is log(1 + max(0, the greatest dot product of the term's
    input embedding with a token's output)); the `kept` heaviest terms stay, special tokens never. A
    query is its tokens, each as often as it occurs. Padding takes no part, so that a document has
    one representation whatever its batch; in BEIR's code it does.
    """

    similarity: str | None = "dot"

    def __init__(
        self,
        model: Any,
        side: Side,
        device: str,
        limit: int | None,
        cut: Cut | None = None,
        kept: int = 2000,
    ) -> None:
        longest = position_limit(model)
        check_length(limit, longest)
        tokenizer = model.tokenizer if cut is None else cutting_tokenizer(model.tokenizer, cut)
        # BEIR cuts at 500 tokens.
        super().__init__(model, tokenizer, device, None, limit or min(500, longest))
        self._side, self._kept = side, kept

    @cached_property
    def _terms(self) -> Any:
        weights = self._model.get_input_embeddings().weight.detach().float().clone()
        weights[self.tokenizer.all_special_ids] = 0
        return weights

    def __call__(self, items: Sequence[Item]) -> list[Output]:
        import torch

        texts = [str(item) for item in items]
        if self._side == "query":
            with READING:
                coded = self.tokenizer(
                    texts, add_special_tokens=False, truncation=True, max_length=self.limit
                )
            return [counted(ids) for ids in coded["input_ids"]]
        with READING:
            batch = self.tokenizer(
                texts, padding=True, truncation=True, max_length=self.limit, return_tensors="pt"
            )
        batch = batch.to(self.device)
        with torch.inference_mode():
            states = self._model(**batch).last_hidden_state
            rows = []
            for state, mask in zip(states, batch["attention_mask"].bool(), strict=True):
                greatest = (self._terms @ state[mask].T).amax(dim=1)
                weights, terms = torch.log1p(torch.relu(greatest)).topk(
                    min(self._kept, len(greatest))
                )
                positive = weights > 0
                order = terms[positive].argsort()
                rows.append(sparse_row(terms[positive][order], weights[positive][order]))
            return rows
