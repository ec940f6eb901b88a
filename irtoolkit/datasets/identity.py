"""The parts of a dataset id, and ids of its relatives: other splits, its sample, its views."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import ir_datasets

from irtoolkit.datasets.built import built_folder

SAMPLE = "sample"
SPLITS = ("train", "val", "dev", "test")
_CHOICE = re.compile(r"(?:proxy|[0-9]+-way)(?:-[a-z][a-z0-9]*)?")


def is_registered(text: str) -> bool:
    """Returns whether an id is registered with ir_datasets, by itself or by irtoolkit."""
    return text in ir_datasets.registry


@dataclass(frozen=True)
class DatasetId:
    """An ir_datasets id in its parts, for example quoter/sample/en/test/left.

    Attributes:
        parts: the words between the slashes; in place of a folder that was built, the
            benchmark whose format it has.
        folder: that folder as in the id; empty for other ids. See `irtoolkit.datasets.built`.
        lang: the language of that folder, if the published ids name theirs; empty for other ids.
    """

    parts: tuple[str, ...]
    folder: str = ""
    lang: str = ""

    @classmethod
    def parse(cls, text: str) -> DatasetId:
        """Returns the id in a text; any text is one, whether or not a dataset has it."""
        folder = None if is_registered(text) else built_folder(text)
        if folder is not None:
            return cls((folder.benchmark, *folder.parts), folder.name, folder.lang)
        return cls(tuple(text.split("/")))

    def __str__(self) -> str:
        return "/".join((self.folder, *self.parts[1:]) if self.folder else self.parts)

    def _with(self, *parts: str) -> DatasetId:
        return replace(self, parts=parts)

    @property
    def benchmark(self) -> str:
        """The first part: the benchmark, or the collection."""
        return self.parts[0]

    @property
    def sample(self) -> bool:
        """Whether it is the invented sample of a benchmark, or a part of it."""
        return self.parts[1:2] == (SAMPLE,)

    @property
    def split(self) -> str | None:
        """The last part that names a split: train, val, dev or test."""
        index = self._split_at()
        return None if index is None else self.parts[index]

    def _split_at(self) -> int | None:
        places = [i for i, part in enumerate(self.parts) if part in SPLITS]
        return places[-1] if places else None

    def with_split(self, split: str) -> DatasetId | None:
        """Returns the dataset in another split, without an N-way task; None if it has no split."""
        base = self.without_choice()
        index = base._split_at()
        return (
            None
            if index is None
            else base._with(*base.parts[:index], split, *base.parts[index + 1 :])
        )

    def without_choice(self) -> DatasetId:
        """Returns the dataset that an N-way choice or proxy task is derived from.

        Itself otherwise.
        """
        return self._with(*self.parts[:-1]) if _CHOICE.fullmatch(self.parts[-1]) else self

    def in_sample(self) -> DatasetId:
        """Returns the counterpart in the invented sample: csfcube/method, csfcube/sample/method."""
        return self if self.sample else DatasetId((self.parts[0], SAMPLE, *self.parts[1:]))

    def choice(self) -> tuple[str, ...]:
        """Returns the last part if it names an N-way choice or proxy task, otherwise empty."""
        return self.parts[len(self.without_choice().parts) :]

    def view(self, name: str) -> DatasetId:
        """Returns a view of the dataset, for example relic/val/1-1; its N-way task stays."""
        return self._with(*self.without_choice().parts, name, *self.choice())

    def shows(self, view: str) -> bool:
        """Returns whether the last part, apart from a choice, is this view."""
        return self.without_choice().parts[-1] == view

    def has(self, part: str) -> bool:
        """Returns whether a word is one of the parts, or the language of a built folder."""
        return part in self.parts or part == self.lang

    def ancestors(self) -> Iterator[DatasetId]:
        """Yields the id itself, and the ids that remain as the last parts are removed one by one."""
        for end in range(len(self.parts), 0, -1):
            yield self._with(*self.parts[:end])
