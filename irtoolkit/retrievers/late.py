"""Late interaction: a vector for each token, compared token by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ids, Ints, Segments, Singles
from irtoolkit.indexes.comparison import VectorComparison
from irtoolkit.indexes.index_format import IndexFormat
from irtoolkit.indexes.vectors import runs_of_texts
from irtoolkit.models.batches import in_halves
from irtoolkit.models.encoder import Encoder
from irtoolkit.models.loading import chosen_precision, torch_device
from irtoolkit.models.presets import Kind, Side, place_of, said_kind
from irtoolkit.models.settings import EncoderSettings
from irtoolkit.models.shards import Encodings
from irtoolkit.retrievers.compared import (
    DOCS,
    Compare,
    CountedVectors,
    ModelBiEncoder,
    Read,
    starts_of,
)
from irtoolkit.retrievers.gpu_search import GpuTokens, fits
from irtoolkit.retrievers.vectors import VectorIndex

# Tokens of queries compared at once.
_ASKED = 1 << 11
# Products made at once on a GPU.
_CELLS_ON_GPU = 1 << 28


@dataclass(frozen=True)
class Late(ModelBiEncoder):
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
    # 2: sums of products are exact.
    format: ClassVar[int] = 2
    kind: ClassVar[Kind] = "late"
    applies: ClassVar[Kind | None] = "late"

    model: str = "ColBERTv2"
    expansion: bool | None = None
    skiplist: bool | None = None
    stored: Literal["fp32", "fp16", "int8"] = "fp16"

    def encoding(self, side: Side) -> dict[str, Any]:
        options = {"expansion": self.expansion, "skiplist": self.skiplist}
        settings: tuple[tuple[str, Any], ...] = tuple(
            (key, value) for key, value in options.items() if value is not None
        )
        if self.is_plain():
            if self.expansion:
                raise InputError(f"expansion=true: {self.model} is no late-interaction model")
            skips = side == "document" and bool(self.skiplist)
            settings = (("unit", "tokens"), *((("skiplist", True),) if skips else ()))
        # A query's few vectors are not worth compressing.
        stored = self.stored if side == "document" else "fp32"
        return {**super().encoding(side), "stored": stored, "options": settings}

    def how(self, side: Side) -> EncoderSettings:
        settings = super().how(side)
        return replace(settings, kind="dense") if self.is_plain() else settings

    def is_plain(self) -> bool:
        """Whether the model is a dense one, whose token vectors are taken as they are."""
        preset = self.preset()
        if preset.name:
            return preset.kind == "dense"
        folder = place_of(preset.side("document"))
        return folder is not None and said_kind(folder) == "dense"

    def index_format(self) -> IndexFormat | None:
        if not self.scores_as(Late):
            return None
        return VectorIndex(self.sides(), self.stored, self.index_settings())

    def read(self, encoder: Encoder, texts: Sequence[Segments], what: str) -> Read:
        encodings = encoder.encode(map(encoder.text, texts), what=what, count=len(texts))

        def chosen(documents: Ints) -> CountedVectors:
            vectors, starts = tokens(encodings[documents])
            return vectors, np.diff(starts)

        return chosen

    def comparison(self, encoder: Encoder) -> VectorComparison:
        return VectorComparison(
            "dot", total=True, average=encoder.similarity_of_model == "meanmaxsim"
        )

    def compared(
        self, read: Read, doc: Ints, doc_ids: Ids, comparison: VectorComparison
    ) -> Compare:
        device = torch_device(self.device)
        if device == "cpu":
            return super().compared(read, doc, doc_ids, comparison)
        half = chosen_precision(self.precision, device) != "fp32"
        return TokensOnGpu(read, doc, comparison, device, half).scores


def tokens(rows: Encodings) -> tuple[Singles, Ints]:
    """The token vectors of texts end to end, (t, dimensions), and (n+1,) where each text's begin."""
    vectors, starts = rows.ragged(0)
    if vectors.dtype == np.int8:
        scales, _ = rows.ragged(1)
        return vectors.astype(np.float32) * scales[:, None], starts
    return vectors.astype(np.float32, copy=False), starts


class TokensOnGpu:
    """The token vectors of a candidate set, which a GPU compares with those of queries.

    Args:
        read, doc, comparison: see `ModelBiEncoder.compared`.
        device: the GPU.
        half: whether they are compared in half precision; then they stay there if there is room.
    """

    def __init__(
        self, read: Read, doc: Ints, comparison: VectorComparison, device: str, half: bool
    ) -> None:
        self._read, self._how, self._device, self._half = read, comparison, device, half
        self._parts = [doc[first : first + DOCS] for first in range(0, len(doc), DOCS)]
        self._size = len(doc)
        self._there: dict[int, GpuTokens] = {}
        # What is one part is held for all queries.
        self._whole = read(doc) if len(self._parts) == 1 and not half else None

    def scores(self, queries: Singles, counts: Ints) -> Singles:
        """(q, c) scores of queries given by their token vectors."""
        if not (counts > 0).all():
            raise InputError("a query without a token cannot be compared")
        starts = starts_of(counts)
        scores = np.empty((len(counts), self._size), np.float32)
        for number, part in enumerate(self._parts):
            block = scores[:, number * DOCS : number * DOCS + len(part)]
            if self._half:
                block[:] = self._on_gpu(number).maxsim(queries, starts)
                continue
            vectors, sizes = self._whole or self._read(part)
            for low, high in runs_of_texts(starts, _ASKED):
                begins = starts[low : high + 1]
                query_vectors = queries[begins[0] : begins[-1]]
                maxsim_on_gpu(
                    vectors,
                    starts_of(sizes),
                    query_vectors,
                    begins - begins[0],
                    self._device,
                    block[low:high],
                )
        if self._how.average:
            scores /= counts[:, None]
        return scores

    def _on_gpu(self, number: int) -> GpuTokens:
        """Some documents on the GPU, where they stay if there is room."""
        if number in self._there:
            return self._there[number]
        vectors, counts = self._read(self._parts[number])
        stays = fits(len(vectors), vectors.shape[-1], self._device)
        tokens = GpuTokens(vectors, starts_of(counts), self._device)
        if stays:
            self._there[number] = tokens
        return tokens


def maxsim_on_gpu(
    docs: Singles,
    doc_starts: Ints,
    queries: Singles,
    query_starts: Ints,
    device: str,
    scores: Singles,
) -> None:
    """Fills in (q, c) MaxSim scores.

    Args:
        docs, queries: (t, dimensions) token vectors of all texts end to end.
        doc_starts, query_starts: (n+1,) where each text's begin.
        device: where products are computed.
        scores: (q, c) to be filled.
    """
    import torch

    query_vectors = torch.from_numpy(queries).to(device).T
    lengths = torch.from_numpy(np.diff(query_starts)).to(device)

    def part(first: int, last: int) -> None:
        begins = doc_starts[first : last + 1]
        document_vectors = torch.from_numpy(np.ascontiguousarray(docs[begins[0] : begins[-1]])).to(
            device
        )
        counts = torch.from_numpy(np.diff(begins)).to(device)
        best = torch.segment_reduce(document_vectors @ query_vectors, "max", lengths=counts)
        best[counts == 0] = -1
        total = torch.segment_reduce(best.T.contiguous(), "sum", lengths=lengths)
        scores[:, first:last] = total.cpu().numpy()

    for first, last in runs_of_texts(doc_starts, max(1, _CELLS_ON_GPU // len(queries))):
        in_halves(part, first, last, "the documents of MaxSim")
