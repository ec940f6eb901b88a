"""PyTerrier itself, or the error that says how to install it."""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import Any

from irtoolkit.base.errors import InputError, needs_extra

try:
    import pandas as pd
    import pyterrier as pt
except ModuleNotFoundError as error:
    raise needs_extra(error.name or "pyterrier", "pyterrier") from None

Frame = pd.DataFrame

__all__ = ["Frame", "Named", "Tunable", "pd", "pt"]


# What PyTerrier takes in no name of a file.
_NOT_IN_FILES = re.compile(r'[:"%/\\<>^|?]')


class Named:
    """A transformer whose text is its name in pt.Experiment, and in files of `save_dir`."""

    def __str__(self) -> str:
        return _NOT_IN_FILES.sub(".", repr(self))


class Tunable(Named, pt.Transformer):
    """A transformer whose settings are parameters, as its attributes are; those that decide alike are equal.

    Attributes:
        settings: of what ranks, by name.
    """

    settings: dict[str, Any]
    _ranker: Any

    @abstractmethod
    def _find(self) -> Any:
        """Returns what ranks, with the settings; raises InputError for one that does not fit."""

    @abstractmethod
    def _decides(self) -> tuple[Any, ...]:
        """Returns everything that decides the output."""

    def get_parameter(self, name: str) -> Any:
        """Returns an attribute, as `num_results`; or a setting of what ranks."""
        settings = self._ranker.settings()
        own = name in vars(self) or name not in settings
        return super().get_parameter(name) if own else settings[name]

    def set_parameter(self, name: str, value: Any) -> None:
        """Changes an attribute, or a setting of what ranks, as pt.GridScan does.

        Raises:
            InputError: no such setting or value; everything is then as before.
        """
        before = dict(vars(self))
        if name in before:
            setattr(self, name, value)
        else:
            self.settings = {**self.settings, name: value}
        try:
            self._ranker = self._find()
        except InputError:
            vars(self).update(before)
            raise

    def __eq__(self, other: object) -> bool:
        # Pipelines that begin alike share the work in pt.Experiment(plan="tree").
        return isinstance(other, type(self)) and self._decides() == other._decides()

    def __hash__(self) -> int:
        return hash(self._decides())
