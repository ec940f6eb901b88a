"""Models as functions from a batch of texts to what they make of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.ids import Ints
from irtoolkit.models import loading
from irtoolkit.models.presets import (
    SAVED_AS,
    Kind,
    Preset,
    Side,
    read_model_json,
    said_kind,
    weights_hash,
)
from irtoolkit.models.shards import Output

# A text, or a query with a document for a cross-encoder.
Item = str | tuple[str, str]


class Adapter(Protocol):
    """A loaded model.

    Attributes:
        device: where it computes.
        limit: tokens after which an item is cut; None cuts none.
        similarity: what its authors compare its vectors by, where the model says so.
        separator: its separator token, where it has one.
    """

    device: str
    limit: int | None
    separator: str | None

    @property
    def similarity(self) -> str | None: ...

    def lengths(self, items: Sequence[Item]) -> Ints:
        """(n,) tokens of each item before anything is cut."""

    def __call__(self, items: Sequence[Item]) -> list[Output]:
        """What the model makes of each item of one batch."""


class _Tokenized:
    """What models with a tokenizer share."""

    def __init__(
        self, model: Any, tokenizer: Any, device: str, prompt: str | None, limit: int | None
    ) -> None:
        self._model, self.device, self._prompt = model, device, prompt or ""
        self._tokenizer = tokenizer
        self.limit = limit
        self.separator: str | None = getattr(self._tokenizer, "sep_token", None)

    def lengths(self, items: Sequence[Item]) -> Ints:
        pairs = [item if isinstance(item, tuple) else (item, None) for item in items]
        first = [self._prompt + a for a, _ in pairs]
        second = [b for _, b in pairs if b is not None]
        if not callable(self._tokenizer):  # that of static vectors
            return _static_lengths(self._tokenizer, first)
        # Only counted here: how the model is to cut must not be changed.
        coded = self._tokenizer(
            first, second or None, truncation=False, padding=False, verbose=False,
            return_attention_mask=False, return_token_type_ids=False,
        )  # fmt: skip
        return np.fromiter(map(len, coded["input_ids"]), np.int64, len(items))


class SentenceModel(_Tokenized):
    """A model of sentence-transformers: dense, late, sparse or cross by its kind."""

    def __init__(
        self, model: Any, kind: Kind, side: Side, device: str, prompt: str | None,
        limit: int | None,
    ) -> None:  # fmt: skip
        self._kind = kind
        # A cross-encoder reads both sides at once.
        self._task = {} if kind == "cross" else {"task": side}
        if prompt is None:
            prompt = own_prompt(model, side)
        reader = reader_of(model, kind, side)
        longest = min(
            (position_limit(part) for part, _ in loading.transformers_in(reader)), default=None
        )
        if limit is not None:
            refuse_longer(limit, longest)
            set_limit(reader, kind, side, limit)
        else:
            limit = _own_limit(reader, kind, side)
            if limit is not None and longest is not None and limit > longest:
                limit = longest
                set_limit(reader, kind, side, limit)
        super().__init__(model, reader.tokenizer, device, prompt, limit)
        self._asked = prompt

    @property
    def similarity(self) -> str | None:
        return getattr(self._model, "similarity_fn_name", None)

    def __call__(self, items: Sequence[Item]) -> list[Output]:
        import torch
        from sentence_transformers.util import batch_to_device

        with torch.inference_mode():
            features = self._model.preprocess(list(items), prompt=self._asked, **self._task)
            features = self._model(batch_to_device(features, self.device), **self._task)
            return _OUTPUTS[self._kind](_shortened(features, self._model))


class Plain(_Tokenized):
    """A plain transformer, whose token vectors are pooled here.

    DPR's encoders (Karpukhin et al. 2020) are loaded by the class that their configuration names:
    the automatic one takes every DPR for a question encoder.
    """

    similarity: str | None = None

    def __init__(
        self, model: Any, pooling: str, device: str, prompt: str | None, limit: int | None
    ) -> None:
        if pooling not in POOLINGS:
            raise InputError(f"no pooling {pooling!r}", remedy=f"there are {', '.join(POOLINGS)}")
        longest = position_limit(model)
        refuse_longer(limit, longest)
        super().__init__(model, model.tokenizer, device, prompt, limit or longest)
        self._pool = POOLINGS[pooling]
        if pooling == "mask" and self._tokenizer.mask_token_id is None:
            raise InputError("pooling=mask needs a model with a mask token")

    def __call__(self, items: Sequence[Item]) -> list[Output]:
        import torch

        texts = [self._prompt + str(item) for item in items]
        batch = self._tokenizer(
            texts, padding=True, truncation=True, max_length=self.limit, return_tensors="pt"
        ).to(self.device)
        with torch.inference_mode():
            output = self._model(**batch, return_dict=True)  # DPR's gives a tuple unless asked
            return _rows(self._pool(output, batch, self._tokenizer.mask_token_id))


class Sparta(_Tokenized):
    """SPARTA (Zhao et al. 2021, equations 2 to 4), as BEIR runs it.

    The weight of a term in a document is log(1 + max(0, the greatest dot product of the term's
    input embedding with a token's output)); the `kept` heaviest terms stay, special tokens never.
    A query is its tokens, each as often as it occurs. Padding takes no part, so that a document
    has one representation whatever it is encoded with; in BEIR's code it does.
    """

    similarity: str | None = "dot"

    def __init__(
        self, model: Any, side: Side, device: str, limit: int | None, kept: int = 2000
    ) -> None:
        longest = position_limit(model)
        refuse_longer(limit, longest)
        # BEIR cuts at 500 tokens.
        super().__init__(model, model.tokenizer, device, None, limit or min(500, longest))
        self._side, self._kept = side, kept

    @cached_property
    def _terms(self) -> Any:
        weights = self._model.get_input_embeddings().weight.detach().float().clone()
        weights[self._tokenizer.all_special_ids] = 0
        return weights

    def __call__(self, items: Sequence[Item]) -> list[Output]:
        import torch

        texts = [str(item) for item in items]
        if self._side == "query":
            coded = self._tokenizer(
                texts, add_special_tokens=False, truncation=True, max_length=self.limit
            )
            return [_counted(ids) for ids in coded["input_ids"]]
        batch = self._tokenizer(
            texts, padding=True, truncation=True, max_length=self.limit, return_tensors="pt"
        ).to(self.device)
        with torch.inference_mode():
            states = self._model(**batch).last_hidden_state
            rows = []
            for state, mask in zip(states, batch["attention_mask"].bool(), strict=True):
                greatest = (self._terms @ state[mask].T).amax(dim=1)
                weights, terms = torch.log1p(torch.relu(greatest)).topk(
                    min(self._kept, len(greatest))
                )
                kept = weights > 0
                order = terms[kept].argsort()
                rows.append(_sparse_row(terms[kept][order], weights[kept][order]))
            return rows


class Averaged:
    """SIM: the mean of a text's subword vectors; see `irtoolkit.models.sim`."""

    device: str = "cpu"
    limit: int | None = None
    similarity: str | None = "cosine"
    separator: str | None = None

    def __init__(self, folder: str) -> None:
        from irtoolkit.models import sim

        self._sim = sim.load_sim(folder)

    def lengths(self, items: Sequence[Item]) -> Ints:
        return np.array([len(ids) for ids in self._sim.tokenize([str(i) for i in items])], np.int64)

    def __call__(self, items: Sequence[Item]) -> list[Output]:
        return [(vector,) for vector in self._sim.encode([str(item) for item in items])]


# -- loading one ------------------------------------------------------------------------------


def load_adapter(
    location: str, kind: Kind, side: Side, *, pooling: str | None = None, device: str,
    precision: str, prompt: str | None = None, limit: int | None = None,
    options: tuple[tuple[str, Any], ...] = (),
) -> Adapter:  # fmt: skip
    """Loads a model.

    Args:
        location: folder or hub id.
        kind: "dense", "late", "sparse" or "cross".
        side: which of a query and a document it is to encode.
        pooling: of a plain transformer's token vectors; "sparta" for that form of sparse vectors.
        device, precision: see `irtoolkit.models.loading`.
        prompt: put before each text; by default the model's own.
        limit: tokens after which a text is cut; by default the model's own.
        options: of a late model, ("expansion", bool) and ("skiplist", bool).

    Raises:
        InputError: see `irtoolkit.models.loading.load_model`.
    """
    if kind == "dense" and (Path(location) / "sim.pt").is_file():
        if limit is not None:
            raise InputError(f"a length of {limit} tokens: SIM cuts no text")
        return Averaged(location)
    plain = pooling is not None and not read_model_json(location, "modules.json")
    # A limit is set on the model itself, so models with different limits are different ones.
    model = _loaded(
        location, weights_hash(Preset(location)), None if plain else kind, precision, device,
        None if plain else limit, options, kind == "cross" or pooling == "pooler",
    )  # fmt: skip
    if plain and pooling == "sparta":
        return Sparta(model, side, device, limit)
    if plain:
        return Plain(model, str(pooling), device, prompt, limit)
    return SentenceModel(model, kind, side, device, prompt, limit)


# The two encoders of a task, and no more: weights are large.
@lru_cache(maxsize=2)
def _loaded(
    location: str, files: str | None, kind: Kind | None, precision: str, device: str,
    limit: int | None, options: tuple[tuple[str, Any], ...], pooled: bool,
) -> Any:  # fmt: skip
    """A model of sentence-transformers, of a kind, or a plain transformer.

    `files` is their hash: a folder may be written again, by training say.
    """
    make = (
        partial(_transformer, location)
        if kind is None
        else partial(_sentence_model, location, kind)
    )
    model = loading.load_model(location, make, precision, device, pooled)
    if kind == "late":
        _set_options(model, dict(options))
    return model


def _transformer(location: str) -> Any:
    import transformers

    names = read_model_json(location, "config.json").get("architectures") or [""]
    dpr = {"DPRContextEncoder": "ctx_encoder", "DPRQuestionEncoder": "question_encoder"}
    if names[0] in dpr:
        model = getattr(transformers, names[0]).from_pretrained(location)
        model = getattr(model, dpr[names[0]])
    else:
        model = transformers.AutoModel.from_pretrained(location)
    model.tokenizer = transformers.AutoTokenizer.from_pretrained(location)
    return model


def _sentence_model(location: str, kind: Kind) -> Any:
    import sentence_transformers

    if not hasattr(sentence_transformers, SAVED_AS[kind]):
        raise needs_extra("sentence-transformers>=6.2", "neural")
    said = said_kind(location)
    # sentence-transformers makes any model into any other, with projections of random numbers.
    if said != kind and kind in ("late", "sparse"):
        raise InputError(
            f"the model {location} does not make {_MADE[kind]} of a text",
            remedy=f"it is for {said} retrieval" if said else "train it for that",
        )
    return loading.open_model(kind, location)


_MADE = {"late": "a vector of each token", "sparse": "weights of terms"}


# -- pooling ----------------------------------------------------------------------------------


def _mean(output: Any, batch: Any, mask_id: int | None) -> Any:
    mask = batch["attention_mask"].unsqueeze(-1).float()
    return (output.last_hidden_state.float() * mask).sum(1) / mask.sum(1).clamp(min=1e-9)


def _greatest(output: Any, batch: Any, mask_id: int | None) -> Any:
    mask = batch["attention_mask"].unsqueeze(-1).bool()
    return output.last_hidden_state.masked_fill(~mask, float("-inf")).amax(1)


def _at_mask(output: Any, batch: Any, mask_id: int | None) -> Any:
    """The vector of the first mask token; of the first token where a text has none (QuoteR §5.1)."""
    import torch

    places = (batch["input_ids"] == mask_id).int().argmax(dim=1)
    return output.last_hidden_state[torch.arange(len(places)), places]


def _pooler(output: Any, batch: Any, mask_id: int | None) -> Any:
    found = output.get("pooler_output")
    if found is None:
        raise InputError("pooling=pooler: the model has no pooled output", remedy="cls or mean")
    return found


POOLINGS: dict[str, Callable[[Any, Any, int | None], Any]] = {
    "cls": lambda output, batch, mask_id: output.last_hidden_state[:, 0],
    "mean": _mean,
    "max": _greatest,
    "mask": _at_mask,
    "pooler": _pooler,
}


# -- outputs ----------------------------------------------------------------------------------


def _shortened(features: dict[str, Any], model: Any) -> dict[str, Any]:
    """What a model made, with the dimensions or terms that it is configured to keep."""
    from sentence_transformers.util import select_max_active_dims

    if (width := getattr(model, "truncate_dim", None)) is not None:
        features["sentence_embedding"] = features["sentence_embedding"][:, :width]
    if (terms := getattr(model, "max_active_dims", None)) is not None:
        features["sentence_embedding"] = select_max_active_dims(
            features["sentence_embedding"], terms
        )
    return features


def _rows(matrix: Any) -> list[Output]:
    return [(row,) for row in matrix.float().cpu().numpy()]


def _token_rows(features: dict[str, Any]) -> list[Output]:
    masks = features["attention_mask"].bool().cpu().numpy()
    tokens = features["token_embeddings"].float().cpu().numpy()
    return [(vectors[mask],) for vectors, mask in zip(tokens, masks, strict=True)]


def _sparse_rows(features: dict[str, Any]) -> list[Output]:
    found = []
    for row in features["sentence_embedding"]:
        row = row.to_dense() if row.is_sparse else row
        terms = row.nonzero().squeeze(1)
        found.append(_sparse_row(terms, row[terms]))
    return found


def _sparse_row(terms: Any, weights: Any) -> Output:
    return terms.int().cpu().numpy(), weights.float().cpu().numpy()


def _counted(ids: list[int]) -> Output:
    terms, counts = np.unique(np.array(ids, np.int32), return_counts=True)
    return terms, counts.astype(np.float32)


_OUTPUTS: dict[Kind, Callable[[dict[str, Any]], list[Output]]] = {
    "dense": lambda features: _rows(features["sentence_embedding"]),
    "late": _token_rows,
    "sparse": _sparse_rows,
    "cross": lambda features: _rows(features["scores"]),
}


def _static_lengths(tokenizer: Any, texts: list[str]) -> Ints:
    if hasattr(tokenizer, "encode_batch"):
        found = [coded.ids for coded in tokenizer.encode_batch(texts, add_special_tokens=False)]
    else:
        found = [tokenizer.tokenize(text) for text in texts]
    return np.fromiter(map(len, found), np.int64, len(texts))


# -- what a model says of itself --------------------------------------------------------------

# A reader's own length for one side; its others' is `max_seq_length`.
_LENGTHS: dict[Side, str] = {"query": "query_length", "document": "document_length"}


def own_prompt(model: Any, side: Side) -> str | None:
    """The prompt that sentence-transformers' encode_query and encode_document would use."""
    prompts = dict(getattr(model, "prompts", None) or {})
    names = ("query",) if side == "query" else ("document", "passage", "corpus")
    default = getattr(model, "default_prompt_name", None)
    for name in (*names, *([default] if default else [])):
        if name in prompts:
            return str(prompts[name])
    return None


def reader_of(model: Any, kind: Kind, side: Side) -> Any:
    """The module that reads texts of a side: a model with two encoders has one for each."""
    first = model if kind == "cross" else model[0]
    routes = getattr(first, "sub_modules", {})
    return routes[side][0] if side in routes else first


def _own_limit(reader: Any, kind: Kind, side: Side) -> int | None:
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


def refuse_longer(limit: int | None, longest: int | None) -> None:
    if limit is not None and longest is not None and limit > longest:
        raise InputError(f"a length of {limit} tokens is more than the model's {longest}")


def set_limit(reader: Any, kind: Kind, side: Side, limit: int) -> None:
    """Makes a model cut the texts of a side after so many tokens."""
    if kind not in ("late", "cross") and getattr(reader, _LENGTHS[side], None) is not None:
        setattr(reader, _LENGTHS[side], limit)
    elif kind != "late":
        try:
            reader.max_seq_length = limit
        except AttributeError:
            raise InputError(f"a length of {limit} tokens: the model cuts no text") from None
    elif side == "query" and reader.query_expansion:
        reader.query_expansion = {**reader.query_expansion, "length": limit}
    elif side == "query":
        reader.query_length = limit
    else:
        reader.document_length = limit


def _set_options(model: Any, options: dict[str, Any]) -> None:
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
    """Tokens that a transformer has positions for."""
    most = int(getattr(model.config, "max_position_embeddings", None) or 1 << 30)
    for module in model.modules():
        # RoBERTa's positions begin after its padding token's.
        padding = getattr(getattr(module, "position_embeddings", None), "padding_idx", None)
        if padding is not None:
            most -= padding + 1
    tokenizer = getattr(model, "tokenizer", None)
    return most if tokenizer is None else min(most, int(tokenizer.model_max_length))
