"""Documents as a model rewrites them, searched with BM25: docT5query and DeepCT."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Segments
from irtoolkit.base.progress import announced
from irtoolkit.models import loading, presets
from irtoolkit.models.limits import position_limit
from irtoolkit.models.llm.cache import Answers
from irtoolkit.models.own_code import check_own_code
from irtoolkit.models.presets import Kind
from irtoolkit.retrievers.base import Stores
from irtoolkit.retrievers.lexical import BM25
from irtoolkit.runs.order import best_first

# What a piece of a word begins with that is not its first.
_INSIDE = "##"


@dataclass(frozen=True)
class Rewritten(BM25, ABC):
    """BM25 over documents that a model has rewritten, each once; see `irtoolkit.models.llm.cache`.

    Attributes:
        model: a preset (`irtoolkit models`), a folder, or a hub id.
        weights: a folder or hub id to take in place of the preset's weights.
        batch_size: texts that the model reads at once.
        device: a torch device; by default a GPU when there is one.
    """

    applies: ClassVar[Kind | None] = None
    stores: ClassVar[Stores] = "answers"

    model: str = ""
    weights: str | None = None
    batch_size: int = 8
    device: str | None = None

    def preset(self) -> presets.Preset:
        """Returns the preset of the model, with the weights to use."""
        return presets.find_preset(self.model, self.weights)

    def missing(self) -> str | None:
        return super().missing() or presets.missing_weights(self.preset())

    def fingerprint(self) -> str | None:
        return presets.weights_hash(self.preset())

    def rewritten(self, texts: Iterable[Segments]) -> Iterator[Segments]:
        reason = self.missing()
        if reason is not None:
            raise InputError(reason)
        joined = [" ".join(segments) for segments in texts]
        answers = Answers(self.name, {**self.parameters(), "model": self.fingerprint()})
        answers.fill(joined, self.ask, self.batch_size)
        return (self.apply(text, answers[text]) for text in joined)

    def rewriting(self) -> dict[str, Any]:
        return {"by": self.name, **self.parameters(), "model": self.fingerprint()}

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Every setting that the model's answers depend on."""

    @abstractmethod
    def ask(self, texts: list[str]) -> list[Any]:
        """The model's answer on each text."""

    @abstractmethod
    def apply(self, text: str, answer: Any) -> Segments:
        """The document that an answer makes of a text."""


@dataclass(frozen=True)
class DocT5Query(Rewritten):
    """docT5query: the queries that a T5 writes for a document are appended to it.

    Nogueira and Lin 2019 sample 40 queries with k = 10. With `keep` it is docT5query-- (Gospodinov
    et al. 2023).

    Attributes:
        queries: written for each document.
        sampling: "topk" draws them; "greedy" takes the likeliest, of several by beam search.
        top_k: tokens that are drawn from.
        max_length: of a query, in tokens.
        seed: of what is drawn.
        keep: share of a document's queries that is kept, those most relevant to it; by default all.
        judge: the cross-encoder that says how relevant.
    """

    name: ClassVar[str] = "doct5query"
    applies: ClassVar[Kind | None] = "writer"
    read_with: ClassVar = {
        "top_k": ("sampling=topk",),
        "seed": ("sampling=topk",),
        "judge": ("keep",),
    }

    model: str = "docT5query"
    queries: int = 40
    sampling: Literal["topk", "greedy"] = "topk"
    top_k: int = 10
    max_length: int = 64
    seed: int = 0
    keep: float | None = None
    judge: str = "cross-encoder-MiniLM"

    def missing(self) -> str | None:
        return super().missing() or (
            None
            if self.keep is None
            else presets.missing_weights(presets.find_preset(self.judge), "judge")
        )

    def fingerprint(self) -> str | None:
        judge = None if self.keep is None else presets.weights_hash(presets.find_preset(self.judge))
        return f"{super().fingerprint()} {judge}"

    def parameters(self) -> dict[str, Any]:
        names = ("queries", "sampling", "top_k", "max_length", "seed", "keep", "batch_size")
        return {name: getattr(self, name) for name in names}

    def ask(self, texts: list[str]) -> list[list[str]]:
        """The queries that the model writes for each text."""
        import torch

        if self.queries < 1 or (self.keep is not None and not 0 < self.keep <= 1):
            raise InputError(f"queries={self.queries} keep={self.keep}: keep some of at least one")
        tokenizer, model = _load(self.preset(), "AutoModelForSeq2SeqLM", self.device)
        batch = tokenizer(texts, return_tensors="pt", padding=True, truncation=True, max_length=512)
        # The batch decides the draw: answers that are here already are never drawn again.
        seed = int(hashlib.sha256(f"{self.seed} {texts}".encode()).hexdigest()[:15], 16)
        settings = (
            {"do_sample": True, "top_k": self.top_k}
            if self.sampling == "topk"
            else {"do_sample": False, "num_beams": self.queries}
        )
        with torch.random.fork_rng(), torch.inference_mode():
            torch.manual_seed(seed)
            written = model.generate(
                **batch.to(model.device),
                max_length=self.max_length,
                num_return_sequences=self.queries,
                **settings,
            )
        flat = tokenizer.batch_decode(written, skip_special_tokens=True)
        groups = [flat[i : i + self.queries] for i in range(0, len(flat), self.queries)]
        if self.keep is None:
            return groups
        return [self._best(text, group) for text, group in zip(texts, groups, strict=True)]

    def _best(self, text: str, queries: list[str]) -> list[str]:
        judge = _load_judge(self.judge, self.device)
        scores = judge.predict([(query, text) for query in queries], show_progress_bar=False)
        count = max(1, round((self.keep or 1) * len(queries)))
        best = best_first(np.asarray(scores), k=count).tolist()
        return [queries[i] for i in sorted(best)]

    def apply(self, text: str, answer: Any) -> Segments:
        return (text, *answer)


@dataclass(frozen=True)
class DeepCT(Rewritten):
    """DeepCT: a model's weight of each term in its context takes the place of its frequency.

    The model is a token classifier with one output, the term's weight (Dai and Callan 2020, §3.1). As
    in the authors' code, a term is a word of BERT's own, whose weight is that of its first piece, and
    of a term that occurs several times the greatest weight counts, once. Its frequency becomes the
    weight times `scale`, rounded, and no less than zero (§3.2). A text that is longer than the model
    reads is read in parts.

    Attributes:
        scale: frequency of a term whose weight is 1.
    """

    name: ClassVar[str] = "deepct"
    # 3: as bm25's 2.
    format: ClassVar[int] = 3
    applies: ClassVar[Kind | None] = "weigher"

    model: str = "DeepCT"
    scale: int = 100

    def parameters(self) -> dict[str, Any]:
        return {"scale": self.scale, "form": self.format}

    def ask(self, texts: list[str]) -> list[list[tuple[str, int]]]:
        """(term, frequency) of the distinct terms of each text that have any."""
        results = []
        for pieces, weights in self._weights(texts):
            terms: list[str] = []
            greatest: dict[str, int] = {}
            counts: list[int] = []
            for piece, weight in zip(pieces, weights, strict=True):
                if piece.startswith(_INSIDE) and terms:
                    terms[-1] += piece.removeprefix(_INSIDE)
                else:
                    terms.append(piece)
                    counts.append(round(self.scale * weight))
            for term, count in zip(terms, counts, strict=True):
                greatest[term] = max(count, greatest.get(term, 0))
            results.append([(term, count) for term, count in greatest.items() if count > 0])
        return results

    def _weights(self, texts: list[str]) -> list[tuple[list[str], list[float]]]:
        """The pieces of each text, and the weight of each."""
        import torch

        if not texts:
            return []
        tokenizer, model = _load(self.preset(), "AutoModelForTokenClassification", self.device)
        coded = tokenizer(
            texts,
            truncation=True,
            max_length=position_limit(model),
            stride=0,
            return_overflowing_tokens=True,
            return_special_tokens_mask=True,
        )
        owners, special = coded.pop("overflow_to_sample_mapping"), coded.pop("special_tokens_mask")
        results: list[tuple[list[str], list[float]]] = [([], []) for _ in texts]
        for start in range(0, len(owners), self.batch_size):
            part = range(start, min(start + self.batch_size, len(owners)))
            rows = {key: [values[row] for row in part] for key, values in coded.items()}
            batch = tokenizer.pad(rows, return_tensors="pt").to(model.device)
            with torch.inference_mode():
                scores = model(**batch).logits[..., 0].float().cpu().numpy()
            for number, row in enumerate(part):
                pieces, weights = results[owners[row]]
                for piece, weight, ends in zip(
                    tokenizer.convert_ids_to_tokens(coded["input_ids"][row]),
                    scores[number],
                    special[row],
                    strict=False,
                ):
                    if not ends:
                        pieces.append(piece)
                        weights.append(float(weight))
        return results

    def apply(self, text: str, answer: Any) -> Segments:
        return (" ".join(term for term, count in answer for _ in range(count)),)


@cache
def _load(preset: presets.Preset, kind: str, device: str | None) -> tuple[Any, Any]:
    import transformers

    folder = presets.model_folder(preset)
    check_own_code(folder, setting=False)

    def make() -> Any:
        model = getattr(transformers, kind).from_pretrained(folder, trust_remote_code=False)
        model.tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder, trust_remote_code=False
        )
        return model

    with announced(f"loading {preset.name or preset.id}"):
        model = loading.load_model(folder, make, "fp32", loading.torch_device(device))
    return model.tokenizer, model


@cache
def _load_judge(name: str, device: str | None) -> Any:
    from sentence_transformers import CrossEncoder

    folder, where = presets.model_folder(presets.find_preset(name)), loading.torch_device(device)
    check_own_code(folder, setting=False)
    with announced(f"loading {name}"):
        return loading.load_model(folder, lambda: CrossEncoder(folder, device="cpu"), "fp32", where)
