"""The selection of examples for the benchmark, and their division into splits.

Examples stay on disk; in memory are a few numbers of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.plurals import number_of
from irtoolkit.building.egret.passages import Seen
from irtoolkit.building.egret.pieces import Finder
from irtoolkit.building.egret.sources import BOOKS, Source
from irtoolkit.building.pipeline import encoding_notes
from irtoolkit.building.shelves import digest
from irtoolkit.building.splits import fitting

TRAIN, DEV = SPLITS = ("train", "dev")
AGAIN = "an example that is there already"
ALONE = "an example with nothing before or after it"
OF_DEV = "its question or passage is in dev"
_REASONS = ("", AGAIN, ALONE)
# Examples are the same with the same text after the same words.
_BEFORE = 20
# Two books are the same with so many common examples, and such a share of the shorter one's.
_FEWEST, _SAME = 3, 0.5


@dataclass
class Gathered:
    """The examples of a benchmark and their files.

    Attributes:
        sources: the files.
        seen: an account of each file, by its name.
        examples: number of those in each split.
        left_out: examples and questions that are not in the benchmark, by the reason.
        continued: pieces that an earlier build had done, and `pieces`: all.
    """

    sources: Sequence[Source]
    seen: dict[str, Seen] = field(default_factory=dict)
    examples: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    continued: int = 0
    pieces: int = 0

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that have an example."""
        return tuple(split for split in SPLITS if self.examples[split])

    def notes(self) -> Iterator[str]:
        """Yields notes for the user: other encodings than UTF-8, and a missing training set."""
        yield from encoding_notes((s.path, self.seen[s.name].encoding) for s in self.sources)
        if not self.examples[TRAIN]:
            noun = "book" if self.sources[0].kind == BOOKS else "question"
            yield f"all examples are of one {noun}: there is dev, and no train"


class Groups:
    """Sets of texts that no two splits may share, joined if an example has several of them."""

    def __init__(self) -> None:
        self._over: dict[int, int] = {}

    def root(self, group: int) -> int:
        """Returns the member of a group's set that represents the set."""
        top = group
        while (over := self._over.setdefault(top, top)) != top:
            top = over
        while group != top:
            self._over[group], group = top, self._over[group]
        return top

    def join(self, groups: Sequence[int]) -> None:
        """Makes the sets of some groups one."""
        roots = [self.root(group) for group in groups]
        for root in roots:
            self._over[root] = min(roots)


class Plan:
    """The division of examples into splits.

    Args:
        finder: the finder with the pieces.
        sources: the files, in order.
        share: the share of the examples in dev.
        dev: names of files for dev, in place of a share.

    Raises:
        InputError: no example, or a question or book that is repeated.
    """

    def __init__(
        self, finder: Finder, sources: Sequence[Source], share: float, dev: Sequence[str] = ()
    ) -> None:
        self._finder, self._sources = finder, sources
        self._named = frozenset(dev)
        self._groups = Groups()
        # Why each example is left out, as a place in _REASONS.
        self._reasons = bytearray()
        counts, chosen = self._read()
        if not counts.total():
            raise InputError(
                f"no example in {number_of(len(sources), 'files')}",
                remedy='an example has "for example" or "e.g." in it',
            )
        if dev:
            self._dev = frozenset(self._groups.root(group) for group in chosen)
        else:
            self._dev = frozenset(_about(counts, share))

    def _read(self) -> tuple[Counter[int], set[int]]:
        """Returns the examples of each set of groups, and the groups of files for dev."""
        totals: dict[int, int] = {}
        counts: Counter[int] = Counter()
        chosen: set[int] = set()
        twice = Twice(self._sources)
        for i, source in enumerate(self._sources):
            for unit in self._finder.units(source):
                twice.check_question(i, unit)
                groups = _groups(unit)
                self._groups.join(groups)
                before = len(totals)
                twice.note(totals.setdefault(_content(unit), i), i)
                again, alone = len(totals) == before, not unit["left"] and not unit["right"]
                self._reasons.append(2 if alone else int(again))
                counts[groups[0]] += not (again or alone)
                if source.name in self._named:
                    chosen.add(groups[0])
        twice.check_books()
        merged: Counter[int] = Counter()
        for group, count in counts.items():
            merged[self._groups.root(group)] += count
        return +merged, chosen

    def units(self) -> Iterator[tuple[str, Source, dict[str, Any]]]:
        """Yields (split, or why it has none; file; example) of all examples in order."""
        reasons = iter(self._reasons)
        for source in self._sources:
            for unit in self._finder.units(source):
                yield _REASONS[next(reasons)] or self._split(source, unit), source, unit

    def _split(self, source: Source, unit: Mapping[str, Any]) -> str:
        if self._groups.root(_groups(unit)[0]) not in self._dev:
            return TRAIN
        return OF_DEV if self._named and source.name not in self._named else DEV


class Twice:
    """The check for questions and books that are repeated."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._questions: dict[int, tuple[int, int]] = {}
        self._examples: Counter[int] = Counter()
        self._shared: Counter[tuple[int, int]] = Counter()

    def check_question(self, source_number: int, unit: Mapping[str, Any]) -> None:
        """Raises InputError for an id that another line has already."""
        source = self._sources[source_number]
        if source.kind == BOOKS:
            return
        question = str(unit["id"]).rsplit(".", 2)[0]
        location = (source_number, unit["line"])
        first = self._questions.setdefault(_number(digest(question)), location)
        if first != location:
            raise InputError(
                f"question {question} is there already: {self._sources[first[0]].path}:{first[1]}",
                file=source.path,
                line=unit["line"],
                remedy="leave one of the two out",
            )

    def note(self, first: int, source_number: int) -> None:
        """Counts an example, of the file `source_number`, that is in the file `first` for the first time."""
        self._examples[source_number] += 1
        if first != source_number:
            self._shared[first, source_number] += 1

    def check_books(self) -> None:
        """Raises InputError for books that have most of their examples in common."""
        for (first, second), shared in self._shared.items():
            least = min(self._examples[first], self._examples[second])
            if self._sources[second].kind == BOOKS and shared >= max(_FEWEST, _SAME * least):
                raise InputError(
                    f"the same book as {self._sources[first].path}: {shared} of {least} examples of"
                    " the shorter one are in both",
                    file=self._sources[second].path,
                    remedy="leave one of the two out",
                )


def _about(counts: Mapping[int, int], share: float) -> list[int]:
    """Returns sets of groups with about a share of all examples, in an order that their texts decide."""
    target = share * sum(counts.values())
    smallest = min(counts, key=lambda group: (counts[group], group))
    return fitting(sorted(counts), counts, target) or [smallest]


def _groups(unit: Mapping[str, Any]) -> list[int]:
    return [_number(group) for group in unit["groups"]]


def _content(unit: Mapping[str, Any]) -> int:
    """Returns a number for an example with the words before it, ignoring capitals and spaces."""
    before = " ".join(str(unit["left"]).casefold().split()[-_BEFORE:])
    return _number(digest(" ".join(str(unit["text"]).casefold().split()), before))


def _number(name: str) -> int:
    return int(name[:15], 16)
