"""What a model may be trained to make small; the modules themselves are in `criteria`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from irtoolkit.base.errors import InputError
from irtoolkit.models.presets import Kind
from irtoolkit.training.recipes import Recipe, Stage

# How a batch is laid out; see `irtoolkit.training.collating`.
Layout = Literal["texts", "numbered", "margins", "scores", "pairs", "list"]

# Weights of SPLADE's regularisers, for queries and for documents: sentence-transformers' own.
QUERY_FLOPS, DOC_FLOPS = 5e-5, 3e-5


@dataclass(frozen=True)
class Case:
    """What a loss is made for: see `make_loss`."""

    model: Any
    stage: Stage
    kind: Kind
    documents: Any = None


@dataclass(frozen=True)
class Loss:
    """A loss and what it needs.

    Attributes:
        name: of the setting `loss`.
        about: what it is, in a line.
        source: where its equation stands.
        kinds: the models that it trains.
        layout: of a batch.
        make: makes the module.
        least, most: negatives of each row.
        apart: whether the documents of other rows are a row's negatives.
        cached: the kinds for which gradients may be cached (`chunk`).
        teacher: whether it learns a teacher's scores.
        matrix: whether it is given the vectors of all documents, which are frozen.
        outputs: those of the cross-encoder.
        scaled: whether it has a scale.
    """

    name: str
    about: str
    source: str
    kinds: tuple[Kind, ...]
    layout: Layout
    make: Callable[[Case], Any]
    least: int = 0
    most: int | None = None
    apart: bool = False
    cached: tuple[Kind, ...] = ()
    teacher: bool = False
    matrix: bool = False
    outputs: int | None = None
    scaled: bool = True


def make_loss(model: Any, stage: Stage, kind: Kind, documents: Any = None) -> Any:
    """The loss of a stage, as sentence-transformers' trainers want it.

    Where several processes share a batch, and all have equally many of its rows, the mean of their
    losses, and of their gradients, is that of one process with the whole batch.

    Args:
        model: to be trained.
        stage: names the loss, and has its settings.
        kind: of the model.
        documents: (m, d) the vectors of all documents, for a loss that has a `matrix`.

    Raises:
        InputError: there is no such loss, or none for the kind.
    """
    return _find(stage.loss, kind).make(Case(model, stage, kind, documents))


def check(recipe: Recipe, stage: Stage) -> None:
    """Sees to it that a stage has what its loss needs.

    Raises:
        InputError: it has not, or has what the loss would not look at.
    """
    loss = _find(stage.loss, recipe.kind)
    _check_negatives(loss, stage)
    if loss.teacher and stage.teacher is None:
        raise InputError(
            f"loss={loss.name} learns the scores of a teacher, and there is none",
            remedy="teacher=MODEL, a cross-encoder",
        )
    if stage.teacher is not None and not loss.teacher:
        raise InputError(
            f"loss={loss.name} does not look at a teacher's scores",
            remedy=f"leave teacher out, or loss={_or(_names(recipe.kind, 'teacher'))}",
        )
    if loss.matrix and stage.frozen != "documents":
        raise InputError(
            f"loss={loss.name} computes the documents' vectors once, so their encoder cannot change",
            remedy="frozen=documents",
        )
    if stage.frozen == "documents" and (recipe.kind != "dense" or recipe.encoders != 2):
        raise InputError(
            "frozen=documents: queries and documents share an encoder",
            remedy="encoders=2, of kind dense",
        )
    if loss.outputs is not None and recipe.labels != loss.outputs:
        raise InputError(
            f"loss={loss.name} is for a cross-encoder with labels={loss.outputs}, not {recipe.labels}",
            remedy=f"labels={loss.outputs}",
        )
    if not loss.scaled and stage.scale != 1:
        raise InputError(
            f"scale={stage.scale:g}: loss={loss.name} has no scale", remedy="leave scale out"
        )
    if stage.scale <= 0:
        raise InputError(f"scale={stage.scale:g} is not above 0")
    if loss.name == "triplet" and stage.margin <= 0:
        raise InputError(f"margin={stage.margin:g} is not above 0")
    _check_chunk(loss, recipe.kind, stage)


def _check_negatives(loss: Loss, stage: Stage) -> None:
    count = stage.count if stage.negatives != "none" else 0
    if stage.source == "triples":  # which have one each
        count = max(1, count)
    if count < loss.least:
        raise InputError(
            f"loss={loss.name} needs negatives of each row, {loss.least} at least, and there are {count}",
            remedy=f"negatives=random or mined, and count={loss.least} or more",
        )
    if loss.most is not None and count > loss.most:
        raise InputError(
            f"loss={loss.name} looks at {loss.most or 'no'} negative{'s' * (loss.most != 1)} of a row,"
            f" and there are {count}",
            remedy="negatives=none" if not loss.most else f"count={loss.most}",
        )
    if loss.apart and stage.negatives == "random":
        raise InputError(
            f"negatives=random of loss={loss.name}: what is drawn for one row may be the gold of another"
            " in its batch, of which it would be a negative",
            remedy="negatives=none or mined, or loss=sampled",
        )
    if loss.apart and count == 0 and stage.batch < 2:
        raise InputError(
            f"loss={loss.name} has no negative in a batch of one row", remedy="a batch of 2 or more"
        )


def _check_chunk(loss: Loss, kind: Kind, stage: Stage) -> None:
    if stage.chunk is None:
        return
    if stage.chunk < 1:
        raise InputError(f"chunk={stage.chunk} is not at least 1")
    if kind not in loss.cached:
        known = [each.name for each in LOSSES.values() if kind in each.cached]
        raise InputError(
            f"loss={loss.name} cannot be computed in chunks for models of kind {kind}",
            remedy=f"a smaller batch{', or loss=' + _or(known) if known else ''}",
        )


def _find(name: str, kind: Kind) -> Loss:
    if name not in LOSSES:
        raise InputError(f"no loss {name!r}", remedy=f"there are {', '.join(LOSSES)}")
    if kind not in LOSSES[name].kinds:
        raise InputError(
            f"loss={name} is not for models of kind {kind}",
            remedy=f"for these there are {', '.join(_names(kind))}",
        )
    return LOSSES[name]


def _names(kind: Kind, need: str | None = None) -> list[str]:
    return [
        loss.name
        for loss in LOSSES.values()
        if kind in loss.kinds and (need is None or getattr(loss, need))
    ]


def _or(names: list[str]) -> str:
    return " or ".join(names) or "another"


# -- makers -----------------------------------------------------------------------------------


def _in_batch(case: Case) -> Any:
    """loss = -1/|B| sum_i log( exp(s c_i.q_i) / sum_j exp(s c_i.q_j) ), s the scale.

    j runs over the documents of the whole batch: the golds of all rows and their negatives, as
    DPR has it (Karpukhin et al. 2020, §3.2). RELiC §3.2 prints the sum over the batch B, without
    its size and without a scale; so does EgRet (equation 1) after it.
    """
    from sentence_transformers.sentence_transformer import losses as dense

    from irtoolkit.training import loss_modules as criteria

    how: dict[str, Any] = {"scale": case.stage.scale, "gather_across_devices": criteria.spread()}
    if case.kind == "late":
        from sentence_transformers.multi_vector_encoder import losses as late

        how["similarity_fct"] = criteria.every_document(case.model)
        if case.stage.chunk is None:
            return late.MultiVectorMultipleNegativesRankingLoss(case.model, **how)
        return late.CachedMultiVectorMultipleNegativesRankingLoss(
            case.model, mini_batch_size=case.stage.chunk, **how
        )
    how["similarity_fct"] = criteria.all_pairs(case.model.similarity_fn_name)
    if case.kind == "sparse":
        from sentence_transformers.sparse_encoder import losses as sparse

        return _regularised(case, sparse.SparseMultipleNegativesRankingLoss(case.model, **how))
    if case.stage.chunk is None:
        return dense.MultipleNegativesRankingLoss(case.model, **how)
    return dense.CachedMultipleNegativesRankingLoss(
        case.model, mini_batch_size=case.stage.chunk, **how
    )


def _sampled(case: Case) -> Any:
    """loss = -log p*, p* = exp(s q.c) / ( exp(s q.c) + sum over N(q) of exp(s q*.c) ).

    N(q) are the row's own negatives alone (QuoteR §5.2, equation 5). With one negative it is the
    pairwise softmax cross-entropy that ColBERT is trained with (Khattab and Zaharia 2020, §3.3).
    """
    from irtoolkit.training import loss_modules as criteria

    if case.kind == "late":
        return criteria.sampled_tokens(case.model, case.stage.scale)
    loss = criteria.Sampled(
        case.model, criteria.row_by_row(case.model.similarity_fn_name, case.stage.scale)
    )
    return _of_vectors(case, loss)


def _all(case: Case) -> Any:
    """loss = -log softmax(s Q c) at the gold, over all documents Q (QuoteR §5.2, second stage)."""
    from irtoolkit.training import loss_modules as criteria

    if case.documents is None:
        raise InputError("loss=all needs the vectors of all documents")
    loss = criteria.AllDocuments(case.model, case.documents, case.stage.scale)
    return loss if case.stage.chunk is None else criteria.cached(loss, case.stage.chunk)


def _triplet(case: Case) -> Any:
    """loss = max( |q - p| - |q - n| + margin, 0 ), Euclidean (Cohan et al. 2020, eq. 1 and 2)."""
    from irtoolkit.training import loss_modules as criteria

    return _of_vectors(case, criteria.triplet(case.model, case.stage.margin))


def _margin_mse(case: Case) -> Any:
    """loss = mean of ( s (q.p - q.n) - (t_p - t_n) )^2, with a teacher's scores t.

    TAS-B's pairwise loss (Hofstätter et al. 2021), of which the teacher is a cross-encoder. Of
    several negatives it is the mean.
    """
    from sentence_transformers.sentence_transformer import losses as dense

    from irtoolkit.training import loss_modules as criteria

    if case.kind == "late":
        from sentence_transformers.multi_vector_encoder import losses as late

        compare = criteria.each_document(case.model, case.stage.scale)
        return late.MultiVectorMarginMSELoss(case.model, similarity_fct=compare)
    compare = criteria.row_by_row(case.model.similarity_fn_name, case.stage.scale)
    return _of_vectors(case, dense.MarginMSELoss(case.model, similarity_fct=compare))


def _kl(case: Case) -> Any:
    """loss = sum over p of softmax(t)_p log( softmax(t)_p / softmax(s q.p)_p ).

    p are a row's gold and negatives, and t a teacher's scores of them: ERNIE-Search's distillation
    from a cross-encoder into a dual one (Lu et al. 2022).
    """
    from sentence_transformers.sentence_transformer import losses as dense

    from irtoolkit.training import loss_modules as criteria

    # The scale is the similarity's: sentence-transformers' temperature also multiplies the loss.
    if case.kind == "late":
        from sentence_transformers.multi_vector_encoder import losses as late

        compare = criteria.own_documents(case.model, case.stage.scale)
        return late.MultiVectorDistillKLDivLoss(case.model, similarity_fct=compare)
    compare = criteria.row_by_row(case.model.similarity_fn_name, case.stage.scale)
    return _of_vectors(case, dense.DistillKLDivLoss(case.model, similarity_fct=compare))


def _pointwise(case: Case) -> Any:
    """loss = -y log sigmoid(z) - (1 - y) log(1 - sigmoid(z)), with one logit z."""
    from sentence_transformers.cross_encoder import losses

    return losses.BinaryCrossEntropyLoss(case.model)


def _classes(case: Case) -> Any:
    """loss = -log softmax(z)_y, with two logits z: BERT-Cls (QuoteR §6.1)."""
    from sentence_transformers.cross_encoder import losses

    return losses.CrossEntropyLoss(case.model)


def _pairwise(case: Case) -> Any:
    """loss = mean of log( 1 + exp(-s (z_p - z_n)) ): RankNet (Burges et al. 2005, equation 3)."""
    from sentence_transformers.cross_encoder import losses

    # All pairs at once; what is held is the same.
    return losses.RankNetLoss(
        case.model, sigma=case.stage.scale, reduction_log="natural", mini_batch_size=-1
    )  # fmt: skip


def _listwise(case: Case) -> Any:
    """loss = -log softmax(s z)_gold over the logits z of a query's gold and negatives."""
    from irtoolkit.training import loss_modules as criteria

    return criteria.Listwise(case.model, case.stage.scale)


def _of_vectors(case: Case, loss: Any) -> Any:
    """A loss over one vector for a text as it is used: regularised, or in chunks."""
    from irtoolkit.training import loss_modules as criteria

    if case.kind == "sparse":
        return _regularised(case, loss)
    return loss if case.stage.chunk is None else criteria.cached(loss, case.stage.chunk)


def _regularised(case: Case, loss: Any) -> Any:
    """A loss with SPLADE's FLOPS regularisers (Formal et al. 2021)."""
    from sentence_transformers.sparse_encoder import losses

    from irtoolkit.training import loss_modules as criteria

    how = {
        "document_regularizer_weight": DOC_FLOPS, "query_regularizer_weight": QUERY_FLOPS,
        "document_regularizer": criteria.Flops(case.model), "query_regularizer": criteria.Flops(case.model),
    }  # fmt: skip
    if case.stage.chunk is None:
        return losses.SpladeLoss(case.model, loss, **how)
    return losses.CachedSpladeLoss(case.model, loss, mini_batch_size=case.stage.chunk, **how)


_VECTORS: tuple[Kind, ...] = ("dense", "late", "sparse")
_CROSS: tuple[Kind, ...] = ("cross",)
_ONE_VECTOR: tuple[Kind, ...] = ("dense", "sparse")

LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss(
            "in-batch", "softmax over the documents of the batch",
            "RELiC §3.2; EgRet equation 1", _VECTORS, "texts", _in_batch, apart=True,
            cached=_VECTORS,
        ),
        Loss(
            "sampled", "softmax over a row's gold and its own negatives", "QuoteR equation 5",
            _VECTORS, "texts", _sampled, least=1, cached=_ONE_VECTOR,
        ),
        Loss(
            "all", "softmax over all documents, whose encoder is frozen", "QuoteR §5.2",
            ("dense",), "numbered", _all, most=0, cached=("dense",), matrix=True,
        ),
        Loss(
            "triplet", "a margin between the distances of gold and negative",
            "Cohan et al. 2020, equations 1 and 2", ("dense",), "texts", _triplet, least=1, most=1,
            cached=("dense",), scaled=False,
        ),
        Loss(
            "margin-mse", "a teacher's margin between gold and negative", "Hofstätter et al. 2021",
            _VECTORS, "margins", _margin_mse, least=1, cached=_ONE_VECTOR, teacher=True,
        ),
        Loss(
            "kl", "a teacher's distribution over gold and negatives", "Lu et al. 2022",
            _VECTORS, "scores", _kl, least=1, cached=_ONE_VECTOR, teacher=True,
        ),
        Loss(
            "pointwise", "whether a document is the gold, by one logit", "Nogueira and Cho 2019",
            _CROSS, "pairs", _pointwise, least=1, outputs=1, scaled=False,
        ),
        Loss(
            "classes", "whether a document is the gold, by two logits", "QuoteR §6.1",
            _CROSS, "pairs", _classes, least=1, outputs=2, scaled=False,
        ),
        Loss(
            "pairwise", "gold before each negative", "Burges et al. 2005, equation 3",
            _CROSS, "list", _pairwise, least=1, outputs=1,
        ),
        Loss(
            "listwise", "softmax of a row's gold and negatives", "Cao et al. 2007",
            _CROSS, "list", _listwise, least=1, outputs=1,
        ),
    )
}  # fmt: skip
