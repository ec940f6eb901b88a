"""The check that a training set has negatives, without which training changes nothing."""

from __future__ import annotations

from irtoolkit.base.errors import InputError
from irtoolkit.base.plurals import number_of
from irtoolkit.training.losses import LOSSES
from irtoolkit.training.recipes import Stage
from irtoolkit.training.sampling import BatchSampler, differ
from irtoolkit.training.training_set import TrainingSet


def check_contrast(stage: Stage, rows: TrainingSet, batches: BatchSampler) -> None:
    """Checks that a loss over several documents has two different ones to tell apart.

    Raises:
        InputError: no batch has two documents, or a loss over all documents has only one.
    """
    loss = LOSSES[stage.loss]
    if loss.shared and rows.negatives is None and not batches.have_two_documents(rows):
        raise InputError(
            f"there is no negative in any batch of the {number_of(len(rows), 'rows', ',')} of"
            f" {rows.what}: loss={loss.name} needs two different documents in a batch",
            remedy="train on more judged documents, or set loss=sampled, negatives=random and count",
        )
    if (loss.matrix or loss.corpus) and not differ(rows.docs):
        raise InputError(
            f"{rows.what} has no negative: all its documents are the same",
            remedy=f"loss={loss.name} needs two different documents",
        )
