"""Functions that make the torch module of each loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.models.presets import Kind
from irtoolkit.training.recipes import Stage

# Weights of SPLADE's regularisers of queries and of documents: sentence-transformers' defaults.
QUERY_FLOPS, DOC_FLOPS = 5e-5, 3e-5


@dataclass(frozen=True)
class LossCase:
    """The inputs of a loss.

    Attributes:
        model: the model to train.
        stage: gives the settings of the loss.
        kind: kind of the model.
        documents: (m, d) vectors of all documents; None unless the loss needs them.
        texts: (m,) texts of all documents; empty unless the loss needs them.
    """

    model: Any
    stage: Stage
    kind: Kind
    documents: Any = None
    texts: Sequence[str] = ()


def in_batch(case: LossCase) -> Any:
    """loss = -1/|B| sum_i log( exp(s c_i.q_i) / sum_j exp(s c_i.q_j) ), with the scale s.

    j runs over the documents of the whole batch: the relevant documents of all rows and their
    negatives, as in DPR (Karpukhin et al. 2020, §3.2). RELiC §3.2 prints the sum over the batch B,
    without division by its size and without a scale; so does EgRet (equation 1).
    """
    from sentence_transformers.sentence_transformer import losses as dense

    from irtoolkit.training import loss_modules

    options: dict[str, Any] = {
        "scale": case.stage.scale,
        "gather_across_devices": loss_modules.is_distributed(),
    }
    if case.kind == "late":
        from sentence_transformers.multi_vector_encoder import losses as late

        options["similarity_fct"] = loss_modules.every_document(case.model)
        if case.stage.chunk is None:
            return late.MultiVectorMultipleNegativesRankingLoss(case.model, **options)
        return late.CachedMultiVectorMultipleNegativesRankingLoss(
            case.model, mini_batch_size=case.stage.chunk, **options
        )
    options["similarity_fct"] = loss_modules.all_pairs(case.model.similarity_fn_name)
    if case.kind == "sparse":
        from sentence_transformers.sparse_encoder import losses as sparse

        return _regularised(case, sparse.SparseMultipleNegativesRankingLoss(case.model, **options))
    if case.stage.chunk is None:
        return dense.MultipleNegativesRankingLoss(case.model, **options)
    return dense.CachedMultipleNegativesRankingLoss(
        case.model, mini_batch_size=case.stage.chunk, **options
    )


def sampled(case: LossCase) -> Any:
    """loss = -log p*, p* = exp(s q.c) / ( exp(s q.c) + sum over N(q) of exp(s q*.c) ).

    N(q) are only the row's own negatives (QuoteR §5.2, equation 5). With one negative it is the
    pairwise softmax cross-entropy that ColBERT is trained with (Khattab and Zaharia 2020, §3.3).
    """
    from irtoolkit.training import loss_modules

    if case.kind == "late":
        return loss_modules.sampled_tokens(case.model, case.stage.scale)
    loss = loss_modules.Sampled(
        case.model, loss_modules.row_by_row(case.model.similarity_fn_name, case.stage.scale)
    )
    return _of_vectors(case, loss)


def all_documents(case: LossCase) -> Any:
    """loss = -log softmax(s Q c) at the relevant document, over all documents Q.

    This is QuoteR's second stage (§5.2).
    """
    from irtoolkit.training import loss_modules

    if case.documents is None:
        raise InputError("loss=all needs the vectors of all documents")
    loss = loss_modules.AllDocuments(case.model, case.documents, case.stage.scale)
    return loss if case.stage.chunk is None else loss_modules.cached(loss, case.stage.chunk)


def every_document(case: LossCase) -> Any:
    """loss = -log softmax(s Q c) at the relevant document, over all documents Q, plus m |c' - q'|^2.

    Both encoders are trained (QuoteR §5.2, of Tan et al. 2016). c' is the mapped query and q' its
    document in the same space, with the weight m, in models that map queries (Wang et al. 2021).
    """
    from irtoolkit.training.corpus_loss import EveryDocument

    return EveryDocument(case.model, case.texts, case.stage.scale, case.stage.mapping or 0.0)


def triplet(case: LossCase) -> Any:
    """loss = max( |q - p| - |q - n| + margin, 0 ), Euclidean (Cohan et al. 2020, eq. 1 and 2)."""
    from irtoolkit.training import loss_modules

    return _of_vectors(case, loss_modules.triplet_loss(case.model, case.stage.margin))


def margin_mse(case: LossCase) -> Any:
    """loss = mean of ( s (q.p - q.n) - (t_p - t_n) )^2, with a teacher's scores t.

    This is TAS-B's pairwise loss (Hofstätter et al. 2021) with a cross-encoder as the teacher, and
    its mean over several negatives.
    """
    from sentence_transformers.sentence_transformer import losses as dense

    from irtoolkit.training import loss_modules

    if case.kind == "late":
        from sentence_transformers.multi_vector_encoder import losses as late

        similarity = loss_modules.each_document(case.model, case.stage.scale)
        return late.MultiVectorMarginMSELoss(case.model, similarity_fct=similarity)
    similarity = loss_modules.row_by_row(case.model.similarity_fn_name, case.stage.scale)
    return _of_vectors(case, dense.MarginMSELoss(case.model, similarity_fct=similarity))


def kl_divergence(case: LossCase) -> Any:
    """loss = sum over p of softmax(t)_p log( softmax(t)_p / softmax(s q.p)_p ).

    p are a row's relevant document and negatives, and t a teacher's scores of them. This is
    ERNIE-Search's distillation of a cross-encoder into a dual encoder (Lu et al. 2022).
    """
    from sentence_transformers.sentence_transformer import losses as dense

    from irtoolkit.training import loss_modules

    # The similarity is scaled, because sentence-transformers' temperature also scales the loss.
    if case.kind == "late":
        from sentence_transformers.multi_vector_encoder import losses as late

        similarity = loss_modules.own_documents(case.model, case.stage.scale)
        return late.MultiVectorDistillKLDivLoss(case.model, similarity_fct=similarity)
    similarity = loss_modules.row_by_row(case.model.similarity_fn_name, case.stage.scale)
    return _of_vectors(case, dense.DistillKLDivLoss(case.model, similarity_fct=similarity))


def pointwise(case: LossCase) -> Any:
    """loss = -y log sigmoid(z) - (1 - y) log(1 - sigmoid(z)), with one logit z."""
    from sentence_transformers.cross_encoder import losses

    return losses.BinaryCrossEntropyLoss(case.model)


def two_classes(case: LossCase) -> Any:
    """loss = -log softmax(z)_y, with two logits z: BERT-Cls (QuoteR §6.1)."""
    from sentence_transformers.cross_encoder import losses

    return losses.CrossEntropyLoss(case.model)


def pairwise(case: LossCase) -> Any:
    """loss = mean of log( 1 + exp(-s (z_p - z_n)) ): RankNet (Burges et al. 2005, equation 3)."""
    from sentence_transformers.cross_encoder import losses

    # All pairs at once; smaller parts would not hold less memory.
    return losses.RankNetLoss(
        case.model, sigma=case.stage.scale, reduction_log="natural", mini_batch_size=-1
    )


def listwise(case: LossCase) -> Any:
    """loss = -log softmax(s z) at the relevant document, over the logits z of it and the negatives."""
    from irtoolkit.training import loss_modules

    return loss_modules.Listwise(case.model, case.stage.scale)


def _of_vectors(case: LossCase, loss: Any) -> Any:
    """Returns a loss over one vector for each text, regularised or in chunks as the stage says."""
    from irtoolkit.training import loss_modules

    if case.kind == "sparse":
        return _regularised(case, loss)
    return loss if case.stage.chunk is None else loss_modules.cached(loss, case.stage.chunk)


def _regularised(case: LossCase, loss: Any) -> Any:
    """Returns a loss with SPLADE's FLOPS regularisers (Formal et al. 2021)."""
    from sentence_transformers.sparse_encoder import losses

    from irtoolkit.training.loss_modules import Flops

    options = {
        "document_regularizer_weight": DOC_FLOPS,
        "query_regularizer_weight": QUERY_FLOPS,
        "document_regularizer": Flops(case.model),
        "query_regularizer": Flops(case.model),
    }
    if case.stage.chunk is None:
        return losses.SpladeLoss(case.model, loss, **options)
    return losses.CachedSpladeLoss(case.model, loss, mini_batch_size=case.stage.chunk, **options)
