"""Late interaction: a vector for each token, compared token by token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from irtoolkit.base.cores import cores
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, Singles
from irtoolkit.base.threads import pool
from irtoolkit.indexes.form import KeptForm
from irtoolkit.indexes.vectors import Comparison
from irtoolkit.models.halving import in_halves
from irtoolkit.models.loading import chosen_precision, torch_device
from irtoolkit.models.presets import Kind, Side, place_of, said_kind
from irtoolkit.models.settings import EncoderSettings
from irtoolkit.models.shards import Encodings
from irtoolkit.retrievers.base import Ask, Block, ScoreMatrix, Scorer, keep_last
from irtoolkit.retrievers.gpu_maxsim import GpuTokens, fits
from irtoolkit.retrievers.kept_vectors import Encode, Sides, VectorIndex
from irtoolkit.retrievers.neural import TwoSided, encoder_of
from irtoolkit.retrievers.runs_of_texts import runs_of_texts
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.texts import Segments

# Products of document and query tokens made at once by one core; they stay in its cache.
_CELLS = 1 << 17
# Tokens of queries compared at once.
_ASKED = 1 << 11
# Tokens of a candidate set whose vectors are held in fp32 for all its queries: 2 GiB at 128
# dimensions.
_HELD = 1 << 22
# Products made at once on a GPU.
_CELLS_ON_GPU = 1 << 28


@dataclass(frozen=True)
class Late(TwoSided):
    """MaxSim (Khattab and Zaharia 2020, §3.2) over candidate sets, exact.

    The score is the sum over the query's tokens of the greatest similarity with any token of the
    document. A document without tokens has -1, the least cosine, for each of the query's.

    Of a dense model, the vectors of its transformer's tokens are taken, scaled to length 1, without
    those of special tokens.

    ColBERT's markers [Q] and [D] are its own prompts, which `query_prompt` and `document_prompt` replace:
    write them too if they are to stay.

    Attributes:
        model: ColBERT in the layout of its authors, any MultiVectorEncoder, or a dense model; see
            `Neural`.
        expansion: whether queries are filled with mask tokens to `query_length`, as in ColBERT;
            by default as the model says. A dense model has no expansion.
        skiplist: whether punctuation of documents is left out; by default as the model says, and
            with a dense model false.
        stored: precision of the token vectors kept on disk; "int8" has a scale for each vector.
    """

    name: ClassVar[str] = "late"
    kind: ClassVar[Kind] = "late"
    applies: ClassVar[Kind | None] = "late"

    model: str = "ColBERTv2"
    expansion: bool | None = None
    skiplist: bool | None = None
    stored: Literal["fp32", "fp16", "int8"] = "fp16"

    def encoding(self, side: Side) -> dict[str, Any]:
        options = {"expansion": self.expansion, "skiplist": self.skiplist}
        given: tuple[tuple[str, Any], ...] = tuple(
            (key, value) for key, value in options.items() if value is not None
        )
        if self.is_plain():
            if self.expansion:
                raise InputError(f"expansion=true: {self.model} is no late-interaction model")
            skips = side == "document" and bool(self.skiplist)
            given = (("unit", "tokens"), *((("skiplist", True),) if skips else ()))
        # A query's few vectors are not worth compressing.
        stored = self.stored if side == "document" else "fp32"
        return {**super().encoding(side), "stored": stored, "options": given}

    def how(self, side: Side) -> EncoderSettings:
        how = super().how(side)
        return replace(how, kind="dense") if self.is_plain() else how

    def is_plain(self) -> bool:
        """Whether the model is a dense one, whose token vectors are taken as they are."""
        known = self.preset()
        if known.name:
            return known.kind == "dense"
        place = place_of(known.side("document"))
        return place is not None and said_kind(place) == "dense"

    def kept(self) -> KeptForm | None:
        if not self.scores_as(Late):
            return None
        return VectorIndex(self.sides(), self.stored, self.kept_settings())

    def sides(self) -> Sides:
        """What an index has to know of the token vectors."""

        def side(name: Side) -> Encode:
            def encode(texts: Sequence[Segments]) -> tuple[Singles, Ints]:
                encoder = encoder_of(self, name)
                made = encoder.encode(map(encoder.text, texts), what="texts", count=len(texts))
                vectors, starts = tokens(made)
                return vectors, np.diff(starts)

            return encode

        def compared() -> Comparison:
            average = encoder_of(self, "query").similarity_of_model == "meanmaxsim"
            return Comparison("dot", total=True, average=average)

        return Sides(side("query"), side("document"), compared)

    def scorer(self, task: Task) -> Scorer:
        return self.prepare(task)(task)

    def prepare(self, task: Task) -> Ask:
        asking, shown = self.encoder("query"), self.encoder("document")
        docs = shown.encode(map(shown.text, task.docs), what="documents", count=len(task.docs))
        average = asking.similarity_of_model == "meanmaxsim"
        device = torch_device(self.device)
        half = device != "cpu" and chosen_precision(self.precision, device) != "fp32"

        @keep_last
        def held(doc: Ints) -> tuple[_Tokens, Ints, bool]:
            distinct, which = docs[doc].distinct()
            return _Tokens(distinct, half), which, len(distinct) < len(which)

        def ask(other: Task) -> Scorer:
            asked = self.asked(other)
            queries = asking.encode(map(asking.text, asked), what="queries", count=len(asked))

            def candidates(doc: Ints) -> Block:
                shown, which, repeated = held(doc)

                def score(query: Ints) -> ScoreMatrix:
                    vectors, starts = tokens(queries[query])
                    scores = shown.maxsim(vectors, starts, device)
                    if average:
                        scores /= np.maximum(1, np.diff(starts))[:, None]
                    return scores[:, which] if repeated else scores

                return score

            return candidates

        return ask


def tokens(rows: Encodings) -> tuple[Singles, Ints]:
    """The token vectors of texts end to end, (t, dimensions), and (n+1,) where each text's begin."""
    vectors, starts = rows.ragged(0)
    if vectors.dtype == np.int8:
        scales, _ = rows.ragged(1)
        return vectors.astype(np.float32) * scales[:, None], starts
    return vectors.astype(np.float32, copy=False), starts


class _Tokens:
    """The token vectors of a candidate set, in parts that are held or, of a large set, read again.

    Args:
        docs: the documents.
        half: whether a GPU compares them in half precision; there they stay while there is room.
    """

    def __init__(self, docs: Encodings, half: bool = False) -> None:
        self._docs, self._half = docs, half
        self._there: dict[int, GpuTokens] = {}
        sizes = np.concatenate([[0], np.cumsum(docs.counts)])
        self._size = int(sizes[-1])
        self._parts = runs_of_texts(sizes, _HELD)
        self._held = tokens(docs) if len(self._parts) == 1 and not half else None

    def maxsim(self, queries: Singles, starts: Ints, device: str) -> Singles:
        """(q, c) scores of queries given by their token vectors."""
        if not len(queries) or not (np.diff(starts) > 0).all():
            raise InputError("a query without a token cannot be compared")
        scores = np.empty((len(starts) - 1, len(self._docs)), np.float32)
        for first, last in self._parts:
            if self._half:
                scores[:, first:last] = self._on_gpu(first, last, device).maxsim(queries, starts)
                continue
            vectors, begins = self._held or tokens(self._docs[np.arange(first, last)])
            for low, high in runs_of_texts(starts, _ASKED):
                own = starts[low : high + 1]
                maxsim(
                    vectors, begins, queries[own[0] : own[-1]], own - own[0], device,
                    scores[low:high, first:last],
                )  # fmt: skip
        return scores

    def _on_gpu(self, first: int, last: int, device: str) -> GpuTokens:
        """Some documents on the GPU, which stay there while there is room."""
        if first not in self._there:
            vectors, begins = tokens(self._docs[np.arange(first, last)])
            stays = fits(len(vectors), vectors.shape[-1], device)
            made = GpuTokens(vectors, begins, device)
            if not stays:
                return made
            self._there[first] = made
        return self._there[first]


def maxsim(
    docs: Singles, doc_starts: Ints, queries: Singles, query_starts: Ints, device: str,
    scores: Singles,
) -> None:  # fmt: skip
    """Fills in (q, c) MaxSim scores.

    Args:
        docs, queries: (t, dimensions) token vectors of all texts end to end.
        doc_starts, query_starts: (n+1,) where each text's begin.
        device: "cpu", or where products are computed.
        scores: (q, c) to be filled.
    """
    if device != "cpu":
        _maxsim_on_gpu(docs, doc_starts, queries, query_starts, device, scores)
        return
    parts = runs_of_texts(doc_starts, max(1, _CELLS // len(queries)))
    asked = np.ascontiguousarray(queries.T)
    fold = _kernel()

    def part(bounds: tuple[int, int]) -> None:
        first, last = bounds
        begins = doc_starts[first : last + 1]
        products = docs[begins[0] : begins[-1]] @ asked
        fold(products, begins - begins[0], query_starts, scores[:, first:last])

    with _libraries().limit(limits=1, user_api="blas"), pool(cores()) as workers:
        for _ in workers.map(part, parts):
            pass


def _maxsim_on_gpu(
    docs: Singles, doc_starts: Ints, queries: Singles, query_starts: Ints, device: str,
    scores: Singles,
) -> None:  # fmt: skip
    import torch

    asked = torch.from_numpy(queries).to(device).T
    lengths = torch.from_numpy(np.diff(query_starts)).to(device)

    def part(first: int, last: int) -> None:
        begins = doc_starts[first : last + 1]
        shown = torch.from_numpy(np.ascontiguousarray(docs[begins[0] : begins[-1]])).to(device)
        counts = torch.from_numpy(np.diff(begins)).to(device)
        best = torch.segment_reduce(shown @ asked, "max", lengths=counts)
        best[counts == 0] = -1
        total = torch.segment_reduce(best.T.contiguous(), "sum", lengths=lengths)
        scores[:, first:last] = total.cpu().numpy()

    for first, last in runs_of_texts(doc_starts, max(1, _CELLS_ON_GPU // len(queries))):
        in_halves(part, first, last, "the documents of MaxSim")


@cache
def _libraries() -> Any:
    """What is asked to use one thread; finding it takes longer than comparing a hundred texts."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@cache
def _kernel() -> Callable[..., None]:
    import numba

    @numba.njit(nogil=True, cache=True, fastmath={"nnan"})  # type: ignore[untyped-decorator]
    def fold(products: Any, doc_starts: Any, query_starts: Any, scores: Any) -> None:
        """The greatest product over each document's rows, summed over each query's columns."""
        width = products.shape[1]
        best = np.empty(width, np.float32)
        for doc in range(len(doc_starts) - 1):
            best[:] = np.float32(-1)
            if doc_starts[doc] < doc_starts[doc + 1]:
                best[:] = products[doc_starts[doc]]
            for row in range(doc_starts[doc] + 1, doc_starts[doc + 1]):
                for column in range(width):
                    value = products[row, column]
                    best[column] = value if value > best[column] else best[column]
            for query in range(len(query_starts) - 1):
                total = np.float32(0)
                for column in range(query_starts[query], query_starts[query + 1]):
                    total += best[column]
                scores[query, doc] = total

    made: Callable[..., None] = fold
    return made
