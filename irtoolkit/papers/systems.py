"""The systems of the papers, which are the rows of the experiment tables."""

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
from irtoolkit.models.downloads import only_here
from irtoolkit.papers.catalogue import find_row, tables
from irtoolkit.papers.tables import Row, Table
from irtoolkit.ranking.systems import System, find_system, with_first
from irtoolkit.retrievers import retrievers


@dataclass(frozen=True)
class Training:
    """The training of a system's model by irtoolkit.

    Attributes:
        recipe: the name of the recipe.
        settings: settings of the recipe.
    """

    recipe: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The default folder of the model."""
        from irtoolkit.training.model_paths import trained_folder

        return trained_folder(self.recipe, self.settings)

    @property
    def command(self) -> str:
        """The command that makes it."""
        pairs = [shlex.quote(f"{key}={value}") for key, value in self.settings.items()]
        return " ".join(["irtoolkit train", self.recipe, *(["--set", *pairs] if pairs else [])])

    def missing(self) -> str | None:
        """Returns what to do if the model has not been trained here, or None."""
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
        """Returns every row's system once, then each with its table."""
        rows = [(table, row.system) for table in tables().values() for row in table.rows]
        return dict.fromkeys(
            [*(system for _, system in rows), *(row_id(table, system) for table, system in rows)]
        )

    def find(
        self, name: str, settings: Mapping[str, Any], dataset: DatasetId, staged: bool
    ) -> System | None:
        """Returns the system of a row, for a dataset.

        Raises:
            InputError: the row sees another view of the query, or no retriever runs it.
        """
        match = find_row(name, dataset)
        if match is None:
            return None
        table, row = match
        if row.view and str(dataset) and not dataset.shows(row.view):
            fits = dataset.benchmark == table.benchmark
            raise InputError(
                f"system {name} is shown only {row.view} of a query",
                remedy=f"the dataset for it is {dataset.view(row.view)}"
                if fits
                else f"it is a row of the table {table.name}, whose datasets have this view",
            )
        group_settings = _of_group(row.settings_for, dataset)
        row = row if staged else replace(row, first=None)
        return of_row(table, row, {**group_settings, **settings}, dataset)


papers = Papers()


def row_id(table: Table, system: str) -> str:
    """Returns the name of a row wherever a system is named."""
    return f"{table.name}:{system}"


def find_in(table: Table, system: str, dataset: DatasetId | str) -> System:
    """Returns the system that a table names: one of its rows, or else any system.

    Raises:
        InputError: see `find_system`.
    """
    parts = dataset if isinstance(dataset, DatasetId) else DatasetId.parse(dataset)
    row = next((row for row in table.rows if row.system == system), None)
    if row is None:
        return find_system(system, {}, parts)
    return of_row(table, row, _of_group(row.settings_for, parts), parts)


def of_row(
    table: Table, row: Row, settings: Mapping[str, Any], dataset: DatasetId | str = ""
) -> System:
    """Returns the system of a row of a table; settings may be added or replaced.

    Files of the row that are in the folder of the dataset's release replace settings. If the row's
    model is trained by a recipe, its weights are the trained ones, unless the settings name a model
    or weights.

    Raises:
        InputError: no retriever runs the row.
    """
    if row.retriever is None:
        raise InputError(f"system {row.system} cannot be run: {row.why_not}")
    parts = dataset if isinstance(dataset, DatasetId) else DatasetId.parse(dataset)
    training = None if {"model", "weights"} & settings.keys() else _training(row, parts)
    weights = {} if training is None else {"weights": str(training.folder)}
    row_settings = {**row.settings, **_files(row, parts), **weights}
    bare = System.make(row.system, row.retriever, {**row_settings, **settings})
    system = replace(bare, training=training, row=row_id(table, row.system))
    first = None if row.first is None else find_in(table, row.first, parts)
    return with_first(system, first, row.rerank_depth)


def model_of(row: Row) -> str | None:
    """Returns the model of a row that is not trained by irtoolkit; None if it has none."""
    if row.retriever is None or row.train is not None:
        return None
    default = getattr(retrievers().get(row.retriever), "model", None)
    return row.settings.get("model") or default or None


def with_weights(table: Table, weights: Mapping[str, str]) -> Table:
    """Returns a table with other weights for some models of its rows.

    Args:
        table: an experiment table.
        weights: model to a folder or hub id.

    Raises:
        InputError: no row of the table has such a model.
    """
    models = {row.system: model_of(row) for row in table.rows}
    for name in weights:
        if name not in models.values():
            model_names = dict.fromkeys(filter(None, models.values()))
            raise InputError(
                f"no row of {table.name} has the model {name}",
                remedy=f"its models are {', '.join(model_names)}"
                if model_names
                else "leave --weights out",
            )
    rows = []
    for row in table.rows:
        folder = weights.get(models[row.system] or "")
        override = {} if folder is None else {"weights": folder}
        rows.append(replace(row, settings={**row.settings, **override}))
    return replace(table, rows=tuple(rows))


def lacking_of(system: System) -> str | None:
    """Returns what a row's system lacks, or None.

    `reproduce` takes weights by the name of the model.
    """
    with only_here():  # a table has many models
        remedy = system.missing()
        if remedy is None:
            return None
        first_ready = system.first is None or system.retriever.missing()
    stage = system if first_ready or system.first is None else system.first
    model = stage.retriever.settings().get("model")
    return remedy.replace("weights=PATH", f"--weights {model}=PATH")


def _files(row: Row, dataset: DatasetId) -> dict[str, str]:
    """Returns setting to file, for files of a row in the folder of the dataset's release."""
    benchmark = Dataset.load(str(dataset)).about if row.files and str(dataset) else None
    folder = None if benchmark is None else benchmark.where()
    if folder is None:
        return {}
    paths = {setting: joined(folder, name) for setting, name in row.files.items()}
    return {setting: str(local(path)) for setting, path in paths.items() if is_file(path)}


def _training(row: Row, dataset: DatasetId) -> Training | None:
    if row.train is None:
        return None
    group_settings = _of_group(row.train_set_for, dataset)
    return Training(row.train, {**row.train_set, **group_settings})


def _of_group(by_group: Mapping[str, dict[str, Any]], dataset: DatasetId) -> dict[str, Any]:
    """Returns the part of a row for a dataset's group; {} if there is none."""
    return next((part for group, part in by_group.items() if dataset.has(group)), {})
