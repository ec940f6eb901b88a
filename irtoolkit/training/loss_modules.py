"""Torch modules of losses that sentence-transformers lacks, and similarities for its own losses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import torch
from sentence_transformers.sentence_transformer.losses import (
    MultipleNegativesRankingLoss,
    TripletLoss,
)
from sentence_transformers.sparse_encoder.losses import FlopsLoss
from sentence_transformers.util import SimilarityFunction, all_gather_with_grad
from torch import Tensor, nn
from torch.nn import functional

TensorSimilarity = Callable[..., Tensor]
Features = Iterable[dict[str, Any]]


def is_distributed() -> bool:
    """Returns whether several processes share a batch."""
    distributed = torch.distributed
    if not (distributed.is_available() and distributed.is_initialized()):
        return False
    return distributed.get_world_size() > 1


# -- similarities -----------------------------------------------------------------------------


def all_pairs(name: str, scale: float = 1.0) -> TensorSimilarity:
    """Returns a function of (n, d) and (m, d) vectors to (n, m) similarities.

    Args:
        name: sentence-transformers' name: "dot", "cosine" or "euclidean", a negated distance.
        scale: factor of the similarities.
    """
    return _in_single(SimilarityFunction.to_similarity_fn(name), scale)


def row_by_row(name: str, scale: float = 1.0) -> TensorSimilarity:
    """Returns a function of two (n, d) vectors to (n,) similarities by row; see `all_pairs`."""
    if name == "euclidean":
        return _in_single(lambda a, b: -distance(a, b), scale)
    return _in_single(SimilarityFunction.to_similarity_pairwise_fn(name), scale)


def distance(a: Tensor, b: Tensor) -> Tensor:
    """Returns (n,) Euclidean distances, with gradient 0 if two vectors are equal."""
    length: Tensor = torch.linalg.vector_norm(a - b, dim=-1)
    return length


def _in_single(compare: TensorSimilarity, scale: float) -> TensorSimilarity:
    """Computes a similarity in single precision, because bf16 rounds 200.5 to 200."""

    @wraps(compare)
    def in_single(a: Tensor, b: Tensor, **options: Any) -> Tensor:
        with torch.autocast(a.device.type, enabled=False):
            scores: Tensor = scale * compare(_wide(a), _wide(b), **options)
        return scores

    return in_single


def _wide(a: Tensor) -> Tensor:
    return a.float() if a.dtype in (torch.float16, torch.bfloat16) else a


# -- one vector for a text --------------------------------------------------------------------


class Sampled(MultipleNegativesRankingLoss):  # type: ignore[misc]
    """Softmax cross-entropy over a row's own documents (QuoteR eq. 5).

    The columns are queries, relevant documents, and one column for each negative.
    """

    def __init__(self, model: nn.Module, compare: TensorSimilarity) -> None:
        super().__init__(model, scale=1.0, similarity_fct=compare)

    def compute_loss_from_embeddings(self, embeddings: list[Tensor], labels: Any = None) -> Tensor:
        query, *docs = embeddings
        scores = torch.stack([self.similarity_fct(query, doc) for doc in docs], dim=1)
        return functional.cross_entropy(scores, _firsts(scores))


class AllDocuments(nn.Module):
    """Softmax cross-entropy over all documents, whose vectors are given (QuoteR §5.2).

    Only queries are encoded, and only their encoder gets gradients.

    Args:
        model: the model that encodes queries.
        matrix: (m, d) vectors of the documents.
        scale: factor of the similarities.
        similarity: sentence-transformers' name of the similarity; by default the model's.
    """

    matrix: Tensor

    def __init__(
        self, model: Any, matrix: Tensor, scale: float = 1.0, similarity: str | None = None
    ) -> None:
        super().__init__()
        self.model, self.scale = model, scale
        self.similarity = similarity or model.similarity_fn_name
        self._compare = all_pairs(self.similarity, scale)
        self.register_buffer("matrix", matrix.detach().clone(), persistent=False)

    def forward(self, sentence_features: Features, labels: Tensor) -> Tensor:
        """Returns the loss of a batch of queries.

        The labels are (n,) numbers of their documents.
        """
        (features,) = sentence_features
        vectors = self.model(features)["sentence_embedding"]
        return self.compute_loss_from_embeddings([vectors], labels)

    def compute_loss_from_embeddings(self, embeddings: list[Tensor], labels: Tensor) -> Tensor:
        return functional.cross_entropy(self._compare(embeddings[0], self.matrix), labels)

    def get_config_dict(self) -> dict[str, Any]:
        return {"scale": self.scale, "similarity": self.similarity, "documents": len(self.matrix)}


def triplet_loss(model: Any, margin: float) -> Any:
    """SPECTER's triplet loss."""
    return TripletLoss(model, distance_metric=_in_single(distance, 1.0), triplet_margin=margin)


def cached(loss: Any, rows: int) -> Any:
    """Returns a loss with cached gradients, which holds the activations of a few rows.

    Its value and its gradients are those of the given loss (Gao et al. 2021).

    Args:
        loss: a loss over vectors.
        rows: number of rows whose activations are held at once.
    """
    from sentence_transformers.base.losses.gradcache import CachedLossMixin

    class Cached(CachedLossMixin, nn.Module):  # type: ignore[misc]
        forward_cached: Any

        def __init__(self) -> None:
            super().__init__()
            self.model, self.loss, self.mini_batch_size = loss.model, loss, rows

        def calculate_loss(
            self,
            reps: list[list[Tensor]],
            labels: Tensor | None = None,
            *,
            with_backward: bool = False,
        ) -> Tensor:
            value: Tensor = self.loss.compute_loss_from_embeddings(
                [torch.cat(parts) for parts in reps], labels
            )
            if with_backward:
                value.backward()  # type: ignore[no-untyped-call]
                value = value.detach()
            return value

        def forward(self, sentence_features: Features, labels: Tensor) -> Any:
            return self.forward_cached(sentence_features, labels)

    return Cached()


# -- sparse vectors ---------------------------------------------------------------------------


class Flops(FlopsLoss):  # type: ignore[misc]
    """The FLOPS regulariser over the rows of all processes (Paria et al. 2020)."""

    def compute_loss_from_embeddings(self, embeddings: Tensor) -> Tensor:
        whole = all_gather_with_grad(embeddings) if is_distributed() else embeddings
        return _wide(whole).mean(dim=0).square().sum()


# -- token vectors ----------------------------------------------------------------------------


def sampled_tokens(model: Any, scale: float) -> nn.Module:
    """Returns `Sampled` for late interaction; with one negative it is ColBERT's own loss."""
    from sentence_transformers.base.losses.merged_forward import embed_columns_padded
    from sentence_transformers.util import stack_padded_token_embeddings

    compare = own_documents(model, scale)

    class SampledTokens(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, sentence_features: Features, labels: Any = None) -> Tensor:
            query, *docs = [dict(features) for features in sentence_features]
            encoded = self.model(query, task=query.get("task", "query"))
            columns = embed_columns_padded(self.model, docs, task_default="document")
            vectors, masks = stack_padded_token_embeddings(*columns)
            scores = compare(
                encoded["token_embeddings"],
                vectors,
                queries_mask=encoded["attention_mask"].bool(),
                documents_mask=masks,
            )
            return functional.cross_entropy(scores, _firsts(scores))

    return SampledTokens()


def own_documents(model: Any, scale: float) -> TensorSimilarity:
    """Returns a function for the (n, documents) MaxSim of each query with its own documents."""
    return _scoring(model, "kd_scores", scale)


def each_document(model: Any, scale: float) -> TensorSimilarity:
    """Returns a function for the (n,) MaxSim of each query with one document."""
    return _scoring(model, "scores_pairwise", scale)


def every_document(model: Any) -> TensorSimilarity:
    """Returns a function for the (n, documents) MaxSim with every document of the batch."""
    return _scoring(model, "scores", 1.0)


def _scoring(model: Any, form: str, scale: float) -> TensorSimilarity:
    """Returns one of sentence-transformers' MaxSim functions, averaged if the model averages."""
    from sentence_transformers.multi_vector_encoder import scoring

    average = model.similarity_fn_name == "meanmaxsim"
    score = getattr(scoring, f"{'mean_' if average else ''}colbert_{form}")

    @wraps(score)
    def scaled(*args: Any, **options: Any) -> Tensor:
        scores: Tensor = scale * score(*args, **options)
        return scores

    return scaled


# -- cross-encoders -----------------------------------------------------------------------


class Listwise(nn.Module):
    """Softmax cross-entropy of a cross-encoder over the documents of each query.

    Args:
        model: a CrossEncoder with one output.
        scale: factor of its logits.
    """

    def __init__(self, model: Any, scale: float = 1.0) -> None:
        super().__init__()
        self.model, self.scale = model, scale

    def forward(
        self,
        inputs: tuple[Sequence[str], Sequence[Sequence[str]]],
        labels: Sequence[Tensor],
        prompt: str | None = None,
        task: str | None = None,
    ) -> Tensor:
        """Returns the mean over the queries of -log softmax at the document with label 1.

        Args:
            inputs: the queries, and the documents of each.
            labels: (documents,) for each query: 1 for the relevant document, else 0.
            prompt, task: see sentence-transformers.
        """
        from sentence_transformers.util import batch_to_device

        queries, lists = inputs
        pairs = [(query, doc) for query, docs in zip(queries, lists, strict=True) for doc in docs]
        features = self.model.preprocess(pairs, prompt=prompt, task=task)
        device = self.model.device
        logits = self.model(batch_to_device(features, device))["scores"].view(-1).float()
        rows = (self.scale * logits).split([len(docs) for docs in lists])
        # Queries may have fewer documents than others.
        scores = nn.utils.rnn.pad_sequence(list(rows), True, float("-inf"))
        return functional.cross_entropy(
            scores, torch.stack([row.argmax() for row in labels]).to(device)
        )

    def get_config_dict(self) -> dict[str, Any]:
        return {"scale": self.scale}


def _firsts(scores: Tensor) -> Tensor:
    """Returns the label of each row: the relevant document is the first."""
    return torch.zeros(len(scores), dtype=torch.long, device=scores.device)
