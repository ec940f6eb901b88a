"""The data of one stage in training, which the trainer and its callback share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.training.checkpoints import StageFolder
from irtoolkit.training.recipes import Recipe, Stage
from irtoolkit.training.training_set import TrainingSet
from irtoolkit.training.validation import Validation


class DivergedError(InputError):
    """The error for a training whose loss or measure is not a finite number."""


@dataclass(frozen=True)
class TrainOptions:
    """Options of a training that do not change the weights.

    Attributes:
        device: torch device of this process.
        save_every: number of steps between checkpoints, which are also made at each evaluation.
        restart: whether to delete the checkpoints and the model that exist.
        workers: number of processes that prepare batches; 0 prepares them in this process.
        tensorboard: folder for TensorBoard's event files; None writes none.
    """

    device: str
    save_every: int
    restart: bool
    workers: int
    tensorboard: str | None


@dataclass(frozen=True)
class StageData:
    """A stage with its data.

    Attributes:
        stage: the stage.
        rows: the rows to train on.
        validation: the data for evaluation during training; None if the model is not evaluated.
    """

    stage: Stage
    rows: TrainingSet
    validation: Validation | None


@dataclass(frozen=True)
class StageJob:
    """A stage to train.

    Attributes:
        recipe: the recipe that the stage belongs to.
        data: the stage with its data.
        folder: the folder for its checkpoints and its model.
        previous: folder of the model that the stage starts from; None for the first stage.
        options: options that do not change the weights.
        label: name of the stage, for messages.
        texts: the texts of all stages, for a model that starts from their words.
    """

    recipe: Recipe
    data: StageData
    folder: StageFolder
    previous: Path | None
    options: TrainOptions
    label: str
    texts: Iterable[str]

    @property
    def stage(self) -> Stage:
        """The stage."""
        return self.data.stage

    @property
    def rows(self) -> TrainingSet:
        """The rows to train on."""
        return self.data.rows

    def doc_texts(self) -> list[str]:
        """Returns the texts of the documents of the rows, in memory."""
        return [self.rows.docs[i] for i in range(len(self.rows.docs))]

    @property
    def validation(self) -> Validation | None:
        """The data for evaluation during training."""
        return self.data.validation
