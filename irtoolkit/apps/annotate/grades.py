"""The grades that an annotator can give."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from irtoolkit.base.errors import InputError


@dataclass(frozen=True)
class Grades:
    """Whole numbers from a lowest to a highest, each one key of the keyboard.

    Attributes:
        lowest: 0 or more.
        highest: 9 or less.
        labels: the meaning of a grade, if known.
    """

    lowest: int = 0
    highest: int = 3
    labels: Mapping[int, str] = field(default_factory=dict, compare=False)

    @classmethod
    def parse(cls, text: str) -> Grades:
        """Grades written as 0-3.

        Raises:
            InputError: another form, or fewer than two grades.
        """
        match = re.fullmatch(r"([0-9])-([0-9])", text.strip())
        if match is None or int(match[1]) >= int(match[2]):
            raise InputError(
                f"grades {text!r} are not two digits, the lower first", remedy="such as 0-3 or 0-1"
            )
        return cls(int(match[1]), int(match[2]))

    def named(self, meanings: Mapping[int, str]) -> Grades:
        """Returns the same grades with a dataset's meanings, if these are of just these grades."""
        whole = set(meanings) == set(self.values())
        return Grades(self.lowest, self.highest, dict(meanings)) if whole else self

    def values(self) -> range:
        """Returns the grades in ascending order."""
        return range(self.lowest, self.highest + 1)

    def __str__(self) -> str:
        return f"{self.lowest}-{self.highest}"
