"""Two ratings of each pair, from sheets or from TREC qrels of annotators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import local
from irtoolkit.base.paths import StrPath
from irtoolkit.building.csfcube.sheets import Given, strange
from irtoolkit.building.csfcube.tsv import Pair, read_grades


@dataclass(frozen=True)
class Ratings:
    """The grades that two annotators gave to each pair.

    Attributes:
        of_query: query id to its two annotators, in the order of their names.
        grades: pair to their grades, in that order; -1 for one that could not be judged.
    """

    of_query: Mapping[str, tuple[str, str]]
    grades: Mapping[Pair, tuple[int, int]]

    def disputed(self) -> list[Pair]:
        """Returns the pairs for an adjudicator: with two grades, or that nobody could judge.

        So it is in the release: no pair with two equal grades has a third one.
        """
        return [pair for pair, (one, two) in self.grades.items() if one != two or one < 0]

    @property
    def annotators(self) -> list[str]:
        """Returns all annotators by name."""
        return sorted({name for names in self.of_query.values() for name in names})


def read_labels(paths: Sequence[StrPath], pairs: Mapping[str, Sequence[Pair]]) -> Given:
    """Grades of files that are called after their annotators: sheets, or TREC qrels.

    Raises:
        InputError: two files of one name; a pair of another pool; or see `read_grades`.
    """
    found: Given = {}
    for path in paths:
        name = Path(path).name.removesuffix(".gz").partition(".")[0]
        if name in found:
            raise InputError(
                f"two annotators are called {name}",
                file=path,
                remedy="a file is called after its annotator: rename one",
            )
        found[name] = read_grades(local(path), lambda pair: strange(pair, pairs))
    if len(found) < 2:
        raise InputError(
            f"the labels of {len(found)} annotator{'s' * (len(found) != 1)}",
            remedy="each pair is graded by two: give a file of each annotator",
        )
    return found


def ratings_of(given: Given, pairs: Mapping[str, Sequence[Pair]]) -> Ratings:
    """Returns the two ratings of each pair.

    Raises:
        InputError: a query that is not graded by two, or a pair that one of them has not graded.
    """
    of_query: dict[str, tuple[str, str]] = {}
    grades: dict[Pair, tuple[int, int]] = {}
    for query_id, own in pairs.items():
        names = [
            name for name in sorted(given) if any(given[name].get(pair) is not None for pair in own)
        ]
        if len(names) != 2:
            said = f": {', '.join(names)}" if names else ""
            raise InputError(
                f"query {query_id} is graded by {len(names)} annotators{said}",
                remedy="it must be graded by two",
            )
        for pair in own:
            values = [given[name].get(pair) for name in names]
            if None in values:
                name = names[values.index(None)]
                done = sum(given[name].get(each) is not None for each in own)
                raise InputError(
                    f"{name} has graded {done} of {len(own)} candidates of query {query_id};"
                    f" {pair[1]} has no grade"
                )
            grades[pair] = (int(values[0] or 0), int(values[1] or 0))
        of_query[query_id] = (names[0], names[1])
    return Ratings(of_query, grades)


def progress_of(given: Given) -> dict[str, tuple[int, int]]:
    """Returns annotator to the numbers of pairs that are graded, and of all."""
    return {
        name: (sum(grade is not None for grade in own.values()), len(own))
        for name, own in given.items()
    }
