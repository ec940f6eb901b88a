"""Judgments of several annotators side by side: agreement, differences, and one merged file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Literal

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath
from irtoolkit.base.plurals import be, number_of
from irtoolkit.runs import Qrels, Run
from irtoolkit.scoring import agreement

Pair = tuple[str, str]
Rule = Literal["majority", "mean"]
# What becomes of pairs that not everybody has judged.
Missing = Literal["refuse", "drop", "keep"]
MISSING: tuple[Missing, ...] = ("refuse", "drop", "keep")
EVERYBODY = "all"


@dataclass(frozen=True)
class AgreementRow:
    """The agreement of two annotators, or of all, on the pairs that both judged.

    Figures are NaN if they are not defined: one annotator, or both, gave one grade only.

    Attributes:
        annotators: their names, or "all".
        pairs: number of pairs that at least two of them judged.
        percent: percentage of equal grades; None for more than two annotators, as are κ and ρ.
        kappa: Cohen's κ.
        kappa_weighted: Cohen's κ with quadratic weights.
        alpha_nominal: Krippendorff's α in which all different grades differ equally.
        alpha_ordinal: Krippendorff's α of ordered grades.
        rho: Spearman's ρ.
    """

    annotators: str
    pairs: int
    percent: float | None
    kappa: float | None
    kappa_weighted: float | None
    alpha_nominal: float
    alpha_ordinal: float
    rho: float | None


@dataclass(frozen=True)
class Annotators:
    """The judgments of several annotators.

    Attributes:
        names: of the annotators.
        grades: of each, query and document to a grade.
    """

    names: tuple[str, ...]
    grades: tuple[Mapping[Pair, int], ...]

    @classmethod
    def read(cls, paths: Sequence[StrPath]) -> Annotators:
        """Returns the annotators of qrels files, named by the names of these.

        Raises:
            InputError: fewer than two files, a file that is not qrels, or no pair in common.
        """
        if len(paths) < 2:
            raise InputError(
                "one annotator agrees with nobody", remedy="name two qrels files or more"
            )
        stems = [Path(path).name.removesuffix(".gz").removesuffix(".qrels") for path in paths]
        twice = [name for name, count in Counter(stems).items() if count > 1]
        names = [
            str(path) if stem in twice else stem for path, stem in zip(paths, stems, strict=True)
        ]
        if len(set(names)) < len(names):
            raise InputError(f"{next(n for n in names if names.count(n) > 1)} is named twice")
        annotators = cls(tuple(names), tuple(read_grades(path) for path in paths))
        if not annotators.shared():
            raise InputError(
                f"{' and '.join(names[:2])} have judged no pair in common"
                if len(names) == 2
                else "no pair was judged by two annotators",
                remedy="were the files made for the same pool?",
            )
        return annotators

    def pairs(self) -> list[Pair]:
        """Returns all pairs that anybody judged, in the order of the files."""
        return list(dict.fromkeys(pair for judged in self.grades for pair in judged))

    def grades_of(self, pair: Pair) -> list[int | None]:
        """Returns the grades of a pair, None of who has not judged it."""
        return [judged.get(pair) for judged in self.grades]

    def shared(self) -> list[Pair]:
        """Returns the pairs that two or more have judged."""
        return [
            pair for pair in self.pairs() if sum(g is not None for g in self.grades_of(pair)) > 1
        ]

    def missing(self) -> list[Pair]:
        """Returns the pairs that not everybody has judged."""
        return [pair for pair in self.pairs() if None in self.grades_of(pair)]

    def differing(self) -> list[Pair]:
        """Returns the pairs with two different grades."""
        return [pair for pair in self.shared() if len({*self.grades_of(pair)} - {None}) > 1]

    def agreement(self) -> list[AgreementRow]:
        """Returns a row for each two annotators, and one for all if there are more.

        Raises:
            InputError: krippendorff is not installed.
        """
        rows = []
        for (first_name, first), (two, second) in combinations(
            zip(self.names, self.grades, strict=True), 2
        ):
            both = [pair for pair in first if pair in second]
            if both:
                grades = ([first[pair] for pair in both], [second[pair] for pair in both])
                rows.append(_of_two(f"{first_name}, {two}", *grades))
        if len(self.names) > 2:
            shared = self.shared()
            table = [[judged.get(pair, math.nan) for pair in shared] for judged in self.grades]
            nominal, ordinal = (agreement.alpha(table, level) for level in ("nominal", "ordinal"))
            rows.append(
                AgreementRow(EVERYBODY, len(shared), None, None, None, nominal, ordinal, None)
            )
        return rows

    def merge(
        self,
        rule: Rule = "majority",
        missing: Missing = "refuse",
        adjudicated: Mapping[Pair, int] | None = None,
    ) -> Qrels:
        """Merges the judgments into one file.

        Args:
            rule: "majority", the grade that more than half of a pair's annotators gave it, or
                "mean", their mean grade, rounded, and .5 upwards.
            missing: pairs that some annotator has not judged are refused, left out ("drop"), or taken from
                those who judged them ("keep"). Adjudicated pairs are not missing.
            adjudicated: grades that override the annotators'.

        Raises:
            InputError: pairs are missing; a pair has no majority; no annotator judged an adjudicated pair.
        """
        decided = adjudicated or {}
        judged_pairs = self.pairs()
        strange = [pair for pair in decided if pair not in set(judged_pairs)]
        if strange:
            raise InputError(f"{_named(strange)} adjudicated, and judged by nobody")
        unresolved = {pair for pair in self.missing() if pair not in decided}
        if unresolved and missing == "refuse":
            raise InputError(
                f"{_named([pair for pair in judged_pairs if pair in unresolved])} not judged by all of {', '.join(self.names)}",
                remedy="--missing drop leaves such pairs out, --missing keep takes who has judged them",
            )
        merged = [pair for pair in judged_pairs if missing != "drop" or pair not in unresolved]
        grades = {pair: decided.get(pair, self._by_rule(pair, rule)) for pair in merged}
        tied = [pair for pair in merged if grades[pair] is None]
        if tied:
            raise InputError(
                f"{_named(tied)} without a majority",
                remedy="--adjudicator FILE decides them, or --rule mean; --differ FILE makes a pool of them",
            )
        number_of = {
            query: number for number, query in enumerate(dict.fromkeys(q for q, _ in merged))
        }
        ordered = sorted(merged, key=lambda pair: (number_of[pair[0]], pair[1]))
        return Qrels.from_rows((query, doc, grades[query, doc] or 0) for query, doc in ordered)

    def to_judge_again(self) -> Run:
        """Returns the pairs that differ as a run, in an arbitrary order, for `irtoolkit annotate`.

        Raises:
            InputError: there are none.
        """
        differing = sorted(self.differing())
        if not differing:
            raise InputError("no pairs differ, so there is nothing to judge again")
        rows = ((query, doc, -float(number)) for number, (query, doc) in enumerate(differing))
        return Run.from_rows(rows, tag="differ")

    def _by_rule(self, pair: Pair, rule: Rule) -> int | None:
        """Returns the grade of a pair; None without a majority."""
        values = [grade for grade in self.grades_of(pair) if grade is not None]
        if rule == "mean":
            return math.floor(sum(values) / len(values) + 0.5)
        grade, count = Counter(values).most_common(1)[0]
        return grade if 2 * count > len(values) else None


def read_grades(path: StrPath) -> dict[Pair, int]:
    """Returns query and document to grade, of a qrels file.

    Raises:
        InputError: the file is not qrels.
    """
    return {(row.query_id, row.doc_id): row.relevance for row in Qrels.read(path)}


def _of_two(names: str, first: Sequence[int], second: Sequence[int]) -> AgreementRow:
    both = np.array([first, second], dtype=np.float64).tolist()
    return AgreementRow(
        names,
        len(first),
        agreement.percent_equal(first, second),
        agreement.kappa(first, second),
        agreement.kappa(first, second, weights="quadratic"),
        agreement.alpha(both, "nominal"),
        agreement.alpha(both, "ordinal"),
        agreement.spearman(first, second),
    )


def _named(pairs: Sequence[Pair]) -> str:
    """Returns the number of pairs, and the first one, in words."""
    query, doc = pairs[0]
    first = "it is" if len(pairs) == 1 else "the first is"
    return f"{number_of(len(pairs), 'pairs', ',')} ({first} {query} {doc}) {be(len(pairs))}"
