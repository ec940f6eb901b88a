"""Two ratings of each pair, from sheets or from TREC qrels of annotators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import local
from irtoolkit.base.paths import StrPath
from irtoolkit.base.plurals import number_of
from irtoolkit.building.csfcube.sheets import Labels, pool_problem
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
        return [
            pair for pair, (first, second) in self.grades.items() if first != second or first < 0
        ]

    @property
    def annotators(self) -> list[str]:
        """Returns all annotators by name."""
        return sorted({name for names in self.of_query.values() for name in names})


def read_labels(paths: Sequence[StrPath], pairs: Mapping[str, Sequence[Pair]]) -> Labels:
    """Returns the grades of files that are called after their annotators: sheets, or TREC qrels.

    Raises:
        InputError: two files of one name; a pair of another pool; or see `read_grades`.
    """
    labels: Labels = {}
    for path in paths:
        name = Path(path).name.removesuffix(".gz").partition(".")[0]
        if name in labels:
            raise InputError(
                f"two annotators are called {name}",
                file=path,
                remedy="a file is called after its annotator: rename one",
            )
        labels[name] = read_grades(local(path), partial(pool_problem, pairs))
    if len(labels) < 2:
        raise InputError(
            f"the labels of {len(labels)} annotator{'s' * (len(labels) != 1)}",
            remedy="each pair is graded by two: give a file of each annotator",
        )
    return labels


def ratings_of(labels: Labels, pairs: Mapping[str, Sequence[Pair]]) -> Ratings:
    """Returns the two ratings of each pair.

    Raises:
        InputError: a query that is not graded by two, or a pair that one of them has not graded.
    """
    of_query: dict[str, tuple[str, str]] = {}
    grades: dict[Pair, tuple[int, int]] = {}
    for query_id, query_pairs in pairs.items():
        names = [
            name
            for name in sorted(labels)
            if any(labels[name].get(pair) is not None for pair in query_pairs)
        ]
        if len(names) != 2:
            who = f": {', '.join(names)}" if names else ""
            raise InputError(
                f"query {query_id} is graded by {number_of(len(names), 'annotators')}{who}",
                remedy="it must be graded by two",
            )
        for pair in query_pairs:
            values = [labels[name].get(pair) for name in names]
            if None in values:
                name = names[values.index(None)]
                done = sum(labels[name].get(judged_pair) is not None for judged_pair in query_pairs)
                raise InputError(
                    f"{name} has graded {done} of {len(query_pairs)} candidates of query {query_id};"
                    f" {pair[1]} has no grade"
                )
            grades[pair] = (int(values[0] or 0), int(values[1] or 0))
        of_query[query_id] = (names[0], names[1])
    return Ratings(of_query, grades)


def progress_of(labels: Labels) -> dict[str, tuple[int, int]]:
    """Returns annotator to the numbers of pairs that are graded, and of all."""
    return {
        name: (sum(grade is not None for grade in grades.values()), len(grades))
        for name, grades in labels.items()
    }
