"""The systems of the papers by the papers' names for them: the rows of the experiment tables."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import is_file, local
from irtoolkit.base.paths import joined
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.identity import DatasetId
from irtoolkit.experiments.catalogue import find_row, tables
from irtoolkit.experiments.tables import Row
from irtoolkit.ranking.systems import System, find_system, with_first


@dataclass(frozen=True)
class Training:
    """How a system's model is made, where irtoolkit trains it.

    Attributes:
        recipe: the name of the recipe.
        settings: settings of the recipe.
    """

    recipe: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Where the model goes unless another folder is named."""
        from irtoolkit.training.model_paths import trained_folder

        return trained_folder(self.recipe, self.settings)

    @property
    def command(self) -> str:
        """The command that makes it."""
        pairs = [shlex.quote(f"{key}={value}") for key, value in self.settings.items()]
        return " ".join(["irtoolkit train", self.recipe, *(["--set", *pairs] if pairs else [])])

    def missing(self) -> str | None:
        """What to do where it has not been made here, or None."""
        from irtoolkit.training.model_paths import is_trained, trained_by
        from irtoolkit.training.recipe_files import find_recipe

        if not is_trained(self.folder):
            return f"not trained here: run `{self.command}`"
        if not trained_by(self.folder, find_recipe(self.recipe, self.settings)):
            return (
                f"the model in {self.folder} was trained with other settings: run"
                f" `{self.command} --restart`"
            )
        return None


class Papers:
    """The source of the papers' systems; see `irtoolkit.ranking.systems.SystemSource`."""

    def names(self) -> Iterable[str]:
        """Every row's system, once."""
        return dict.fromkeys(row.system for table in tables().values() for row in table.rows)

    def find(
        self, name: str, settings: Mapping[str, Any], dataset: DatasetId, staged: bool
    ) -> System | None:
        """The system of a row, for a dataset.

        Raises:
            InputError: the row is shown another view of the query, or nothing runs it.
        """
        row = find_row(name, dataset)
        if row is None:
            return None
        if row.view and str(dataset) and not dataset.shows(row.view):
            raise InputError(
                f"system {name} is shown only {row.view} of a query",
                remedy=f"the dataset for it is {dataset.view(row.view)}",
            )
        own = _of_group(row.settings_for, dataset)
        return of_row(row if staged else replace(row, first=None), {**own, **settings}, dataset)


papers = Papers()


def of_row(row: Row, settings: Mapping[str, Any], dataset: DatasetId | str = "") -> System:
    """The system of a row of a table, with more settings, or others, than the row's own.

    Files of the row that are in the folder of the dataset's release take the place of settings.
    Where the row's model is trained by a recipe, its weights are those that training leaves, unless
    the settings name a model or weights.

    Raises:
        InputError: nothing runs the row.
    """
    if row.retriever is None:
        raise InputError(f"system {row.system} cannot be run: {row.why_not}")
    parts = dataset if isinstance(dataset, DatasetId) else DatasetId.parse(dataset)
    training = None if {"model", "weights"} & settings.keys() else _training(row, parts)
    weights = {} if training is None else {"weights": str(training.folder)}
    own = {**row.settings, **_files(row, parts), **weights}
    made = System.make(row.system, row.retriever, {**own, **settings})
    system = replace(made, training=training)
    first = None if row.first is None else find_system(row.first, {}, parts)
    return with_first(system, first, row.rerank_depth)


def _files(row: Row, dataset: DatasetId) -> dict[str, str]:
    """Setting to file, of the files of a row that are in the folder of the dataset's release."""
    about = Dataset.load(str(dataset)).about if row.files and str(dataset) else None
    folder = None if about is None else about.where()
    if folder is None:
        return {}
    found = {setting: joined(folder, name) for setting, name in row.files.items()}
    return {setting: str(local(path)) for setting, path in found.items() if is_file(path)}


def _training(row: Row, dataset: DatasetId) -> Training | None:
    if row.train is None:
        return None
    own = _of_group(row.train_set_for, dataset)
    return Training(row.train, {**row.train_set, **own})


def _of_group(by_group: Mapping[str, dict[str, Any]], dataset: DatasetId) -> dict[str, Any]:
    """What a row has for the group that a dataset is of."""
    return next((found for group, found in by_group.items() if dataset.has(group)), {})
