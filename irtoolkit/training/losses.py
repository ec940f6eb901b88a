"""The losses of training, with their requirements and the settings that fit them.

Their modules are in `irtoolkit.training.loss_modules`, and `irtoolkit.training.loss_makers` makes
them for a stage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean
from irtoolkit.models.presets import Kind
from irtoolkit.training import loss_makers as makers
from irtoolkit.training.loss_makers import LossCase
from irtoolkit.training.recipes import Recipe, Stage

# Layouts of a batch; see `irtoolkit.training.collating`.
Layout = Literal["texts", "numbered", "margins", "scores", "pairs", "list"]


@dataclass(frozen=True)
class Loss:
    """A loss with its requirements.

    Attributes:
        name: value of the setting `loss`.
        about: description in one line.
        source: paper with its equation.
        kinds: kinds of models that it trains.
        layout: layout of a batch.
        make: makes the torch module.
        least: smallest number of negatives of a row.
        most: largest number of negatives of a row; None if there is no limit.
        shared: whether the documents of other rows of a batch are negatives of a row.
        cached: kinds of models for which gradients may be cached (setting `chunk`).
        teacher: whether it learns the scores of a teacher.
        matrix: whether it needs the vectors of all documents, whose encoder is frozen.
        corpus: whether it encodes all documents in every step.
        outputs: number of outputs of the cross-encoder; None for other models.
        scaled: whether the setting `scale` applies.
    """

    name: str
    about: str
    source: str
    kinds: tuple[Kind, ...]
    layout: Layout
    make: Callable[[LossCase], Any]
    least: int = 0
    most: int | None = None
    shared: bool = False
    cached: tuple[Kind, ...] = ()
    teacher: bool = False
    matrix: bool = False
    corpus: bool = False
    outputs: int | None = None
    scaled: bool = True


def make_loss(
    model: Any, stage: Stage, kind: Kind, documents: Any = None, texts: Sequence[str] = ()
) -> Any:
    """Returns the torch module of a stage's loss, for sentence-transformers' trainers.

    If several processes share a batch equally, the mean of their losses, and of their gradients, is
    that of one process with the whole batch.

    Args:
        model: the model to train.
        stage: gives the loss and its settings.
        kind: kind of the model.
        documents: (m, d) vectors of all documents, for a loss with `matrix`.
        texts: (m,) texts of all documents, for a loss with `corpus`.

    Raises:
        InputError: there is no such loss, or none for this kind.
    """
    return _find(stage.loss, kind).make(LossCase(model, stage, kind, documents, texts))


def check_stage(recipe: Recipe, stage: Stage) -> None:
    """Raises InputError for the first setting that the loss of a stage lacks or ignores."""
    loss = _find(stage.loss, recipe.kind)
    _check_negatives(loss, stage)
    _check_model(loss, recipe, stage)
    if not loss.scaled and stage.scale != 1:
        raise InputError(
            f"scale={stage.scale:g}: loss={loss.name} has no scale", remedy="leave scale out"
        )
    if stage.mapping is not None and (loss.name != "every" or recipe.start != "transform"):
        raise InputError(
            f"mapping={stage.mapping:g}: queries are mapped with start=transform and loss=every only",
            remedy="leave mapping out",
        )
    if loss.name == "triplet" and stage.margin <= 0:
        raise InputError(f"margin={stage.margin:g} is not above 0")
    _check_chunk(loss, recipe.kind, stage)


def _check_model(loss: Loss, recipe: Recipe, stage: Stage) -> None:
    """Checks the teacher, the frozen encoder and the outputs."""
    if loss.teacher and stage.teacher is None:
        raise InputError(
            f"loss={loss.name} learns the scores of a teacher, and there is none",
            remedy="teacher=MODEL, a cross-encoder",
        )
    if stage.teacher is not None and not loss.teacher:
        raise InputError(
            f"loss={loss.name} does not use a teacher's scores",
            remedy=f"leave teacher out, or loss={_or(_names(recipe.kind, 'teacher'))}",
        )
    if loss.matrix and stage.frozen != "documents" and not recipe.query_map:
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


def _check_negatives(loss: Loss, stage: Stage) -> None:
    count = stage.count if stage.negatives != "none" else 0
    if stage.source == "triples":  # each row has one negative
        count = max(1, count)
    if count < loss.least:
        raise InputError(
            f"loss={loss.name} needs at least {loss.least} negative{'s' * (loss.least != 1)} of each"
            f" row, and there are {count}",
            remedy=f"negatives=random or mined, and count={loss.least} or more",
        )
    if loss.most is not None and count > loss.most:
        raise InputError(
            f"loss={loss.name} uses {loss.most or 'no'} negative{'s' * (loss.most != 1)} of a row,"
            f" and there are {count}",
            remedy="negatives=none" if not loss.most else f"count={loss.most}",
        )
    if loss.shared and stage.negatives == "random":
        raise InputError(
            f"negatives=random with loss={loss.name}: a document drawn for one row may be relevant"
            " to another row of its batch, for which it would be a negative",
            remedy="negatives=none or mined, or loss=sampled",
        )
    if loss.shared and count == 0 and stage.batch < 2:
        raise InputError(
            f"loss={loss.name} has no negative in a batch of one row", remedy="a batch of 2 or more"
        )


def _check_chunk(loss: Loss, kind: Kind, stage: Stage) -> None:
    if stage.chunk is None:
        return
    if kind not in loss.cached:
        names = [candidate.name for candidate in LOSSES.values() if kind in candidate.cached]
        raise InputError(
            f"loss={loss.name} cannot be computed in chunks for models of kind {kind}",
            remedy=f"a smaller batch{', or loss=' + _or(names) if names else ''}",
        )


def _find(name: str, kind: Kind) -> Loss:
    if name not in LOSSES:
        raise InputError(
            f"no loss {name!r}",
            remedy=f"{did_you_mean(name, LOSSES)}there are {', '.join(LOSSES)}",
        )
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


_VECTORS: tuple[Kind, ...] = ("dense", "late", "sparse")
_CROSS: tuple[Kind, ...] = ("cross",)
_ONE_VECTOR: tuple[Kind, ...] = ("dense", "sparse")

LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss(
            "in-batch",
            "softmax over the documents of the batch",
            "RELiC §3.2; EgRet equation 1",
            _VECTORS,
            "texts",
            makers.in_batch,
            shared=True,
            cached=_VECTORS,
        ),
        Loss(
            "sampled",
            "softmax over a row's relevant document and its own negatives",
            "QuoteR equation 5",
            _VECTORS,
            "texts",
            makers.sampled,
            least=1,
            cached=_ONE_VECTOR,
        ),
        Loss(
            "all",
            "softmax over all documents, whose encoder is frozen",
            "QuoteR §5.2",
            ("dense",),
            "numbered",
            makers.all_documents,
            most=0,
            cached=("dense",),
            matrix=True,
        ),
        Loss(
            "every",
            "softmax over all documents, which are encoded in every step",
            "QuoteR §5.2; Tan et al. 2016; Wang et al. 2021",
            ("dense",),
            "numbered",
            makers.every_document,
            most=0,
            corpus=True,
        ),
        Loss(
            "triplet",
            "a margin between the distances of relevant document and negative",
            "Cohan et al. 2020, equations 1 and 2",
            ("dense",),
            "texts",
            makers.triplet,
            least=1,
            most=1,
            cached=("dense",),
            scaled=False,
        ),
        Loss(
            "margin-mse",
            "a teacher's margin between relevant document and negative",
            "Hofstätter et al. 2021",
            _VECTORS,
            "margins",
            makers.margin_mse,
            least=1,
            cached=_ONE_VECTOR,
            teacher=True,
        ),
        Loss(
            "kl",
            "a teacher's distribution over relevant document and negatives",
            "Lu et al. 2022",
            _VECTORS,
            "scores",
            makers.kl_divergence,
            least=1,
            cached=_ONE_VECTOR,
            teacher=True,
        ),
        Loss(
            "pointwise",
            "whether a document is relevant, by one logit",
            "Nogueira and Cho 2019",
            _CROSS,
            "pairs",
            makers.pointwise,
            least=1,
            outputs=1,
            scaled=False,
        ),
        Loss(
            "classes",
            "whether a document is relevant, by two logits",
            "QuoteR §6.1",
            _CROSS,
            "pairs",
            makers.two_classes,
            least=1,
            outputs=2,
            scaled=False,
        ),
        Loss(
            "pairwise",
            "the relevant document before each negative",
            "Burges et al. 2005, equation 3",
            _CROSS,
            "list",
            makers.pairwise,
            least=1,
            outputs=1,
        ),
        Loss(
            "listwise",
            "softmax over a row's relevant document and negatives",
            "Cao et al. 2007",
            _CROSS,
            "list",
            makers.listwise,
            least=1,
            outputs=1,
        ),
    )
}
