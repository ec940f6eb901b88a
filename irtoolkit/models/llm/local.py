"""Language models of transformers that run in this process."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.plurals import number_of
from irtoolkit.base.progress import announced
from irtoolkit.base.reasons import reason_of
from irtoolkit.models import loading, presets
from irtoolkit.models.llm.alternatives import THINK, answer_place, summed
from irtoolkit.models.llm.generator import (
    LENGTH,
    STOP,
    Completion,
    PromptTooLongError,
    TextGenerator,
)
from irtoolkit.models.own_code import check_code_ran, check_own_code


@dataclass(frozen=True)
class LocalGenerator(TextGenerator):
    """A transformers model that is loaded here, by preset, folder or hub id.

    Prompts go through the tokenizer's chat template if it has one, otherwise they follow the system
    message unchanged. `temperature` 0 is greedy, a higher one samples from the whole vocabulary,
    and None follows the model's generation config. A prompt's sample depends on the prompts of its
    batch.

    Attributes:
        device: a torch device; by default a GPU when there is one.
        trusted: whether code that comes with the model may run.
        chat: whether prompts go through the chat template.
    """

    device: str | None = None
    trusted: bool = False
    chat: bool = True

    def missing(self) -> str | None:
        lacking = super().missing()
        if lacking is None and self.max_tokens is None:
            lacking = "a local language model needs max_tokens"
        if lacking is None:
            lacking = presets.missing_weights(presets.find_preset(self.model), "llm")
        return lacking

    def identity(self) -> dict[str, Any]:
        # The weights decide, wherever they are; and the batch, as padding moves last digits.
        found = {
            "model": presets.weights_hash(presets.find_preset(self.model)) or self.model,
            "parallel": self.parallel,
        }
        return {**super().identity(), **found, **({} if self.chat else {"chat": False})}

    def generate(self, prompts: Sequence[str]) -> Iterator[list[tuple[str, Completion]]]:
        lacking = self.missing()
        if lacking is not None:
            raise InputError(lacking)
        loaded = _load(self.model, self.device, self.trusted)
        for start in range(0, len(prompts), self.parallel):
            batch = list(prompts[start : start + self.parallel])
            yield list(zip(batch, self._complete(*loaded, batch), strict=True))

    def _complete(self, tokenizer: Any, model: Any, prompts: list[str]) -> list[Completion]:
        import torch

        chat = self.chat and tokenizer.chat_template is not None
        batch = tokenizer(
            [self._whole(tokenizer, prompt) for prompt in prompts],
            return_tensors="pt",
            padding=True,
            add_special_tokens=not chat,
        ).to(model.device)
        encoder_decoder = model.config.is_encoder_decoder
        width, limit = batch["input_ids"].shape[1], _positions(model)
        needed = width if encoder_decoder else width + (self.max_tokens or 0)
        if limit is not None and needed > limit:
            also = "" if encoder_decoder else f" and max_tokens={self.max_tokens}"
            raise PromptTooLongError(
                f"a prompt of {number_of(width, 'tokens')}{also} exceeds the {limit} positions of {self.model}"
            )
        # The batch decides the draw: answers that are here already are never drawn again.
        seed = int(hashlib.sha256(f"{self.seed} {prompts}".encode()).hexdigest()[:15], 16)
        with torch.random.fork_rng(), torch.inference_mode():
            torch.manual_seed(seed)
            written = model.generate(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
                pad_token_id=tokenizer.pad_token_id,
                return_dict_in_generate=True,
                output_logits=bool(self.alternatives),
                **self._how(),
            )
        # A decoder of its own begins with a token that is nobody's.
        new = written.sequences[:, 1 if encoder_decoder else width :]
        texts = tokenizer.batch_decode(new, skip_special_tokens=True)
        ends = _ends(model)
        others: Sequence[dict[str, float] | None] = (
            _alternatives(
                tokenizer,
                written.logits,
                new,
                self.alternatives,
                self.choices,
                [prompt.rstrip().endswith(THINK) for prompt in prompts],
            )
            if self.alternatives
            else [None] * len(texts)
        )
        return [
            Completion(text, STOP if not ends.isdisjoint(row) else LENGTH, None, listed)
            for text, row, listed in zip(texts, new.tolist(), others, strict=True)
        ]

    def _whole(self, tokenizer: Any, prompt: str) -> str:
        """Returns all that the model reads."""
        if not self.chat or tokenizer.chat_template is None:
            return prompt if self.system is None else f"{self.system}\n\n{prompt}"
        messages = [] if self.system is None else [("system", self.system)]
        try:
            return str(
                tokenizer.apply_chat_template(
                    [
                        {"role": role, "content": text}
                        for role, text in [*messages, ("user", prompt)]
                    ],
                    tokenize=False,
                    add_generation_prompt=True,
                )
            )
        except Exception as error:  # the template's own
            raise InputError(
                f"the chat template of {self.model} fails: {reason_of(error)}",
                remedy="some take no system message: put it into the prompt",
            ) from None

    def _how(self) -> dict[str, Any]:
        length = {"max_new_tokens": self.max_tokens, "max_length": None}
        if self.temperature is None:
            return length
        if self.temperature == 0:
            return {**length, "do_sample": False, "num_beams": 1}
        return {
            **length,
            "do_sample": True,
            "num_beams": 1,
            "temperature": self.temperature,
            "top_k": 0,
            "top_p": 1.0,
        }


def _alternatives(
    tokenizer: Any, logits: Any, new: Any, count: int, choices: tuple[str, ...], reasons: list[bool]
) -> list[dict[str, float]]:
    """Returns tokens with their log-probabilities at the position of each answer's first word.

    A completion without an answer has none.

    Args:
        tokenizer: of the model.
        logits: for each position, (prompts, vocabulary) logits.
        new: (prompts, positions) ids of the tokens that were written.
        count: number of likeliest tokens to list; more if choices are not among them.
        choices: words that are listed in any case.
        reasons: (prompts,) whether the prompt has begun the reasoning that precedes the answer.
    """
    forms = {
        f"{space}{form}"
        for word in choices
        for space in ("", " ")
        for form in (word, word.capitalize(), word.upper())
    }
    coded = (tokenizer(form, add_special_tokens=False).input_ids for form in sorted(forms))
    chosen = {ids[0] for ids in coded if len(ids) == 1 and ids[0] != tokenizer.unk_token_id}
    found: list[dict[str, float]] = []
    for row, tokens in enumerate(new.tolist()):
        at = answer_place([tokenizer.decode([token]) for token in tokens], reasons[row])
        if at is None:
            found.append({})
            continue
        values = logits[at][row].float().log_softmax(-1)
        # A token that can never be written has no finite logarithm.
        likeliest = values.topk(min(count, len(values))).indices.tolist()
        listed: dict[str, list[float]] = {}
        for token in sorted({*likeliest, *chosen}):
            if values[token].isfinite():
                listed.setdefault(tokenizer.decode([token]), []).append(float(values[token]))
        found.append({token: summed(logs) for token, logs in listed.items()})
    return found


def _positions(model: Any) -> int | None:
    """Returns the number of positions that the model distinguishes, or None without a limit."""
    found = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return found if isinstance(found, int) else None


def _ends(model: Any) -> set[int]:
    """Returns the tokens that end a text."""
    found = model.generation_config.eos_token_id
    return set() if found is None else {found} if isinstance(found, int) else set(found)


def _load(name: str, device: str | None, trusted: bool) -> tuple[Any, Any]:
    import transformers

    place = presets.model_folder(presets.find_preset(name))
    check_own_code(place, trusted)

    def make() -> Any:
        config = transformers.AutoConfig.from_pretrained(place, trust_remote_code=trusted)
        kind = "Seq2SeqLM" if config.is_encoder_decoder else "CausalLM"
        # A decoder writes on where the prompt ends: padding has to stand before it.
        side = "right" if config.is_encoder_decoder else "left"
        model = getattr(transformers, f"AutoModelFor{kind}").from_pretrained(
            place, dtype="auto", trust_remote_code=trusted
        )
        model.tokenizer = transformers.AutoTokenizer.from_pretrained(
            place, padding_side=side, trust_remote_code=trusted
        )
        check_code_ran(place, model, trusted)
        return model

    # Weights stay in the precision that they were published in.
    with announced(f"loading {name}"):
        model = loading.load_model(place, make, "published", loading.torch_device(device))
    return model.tokenizer, model
