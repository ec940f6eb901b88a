"""Adjudication: the pairs to which two annotators gave different grades (§4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import local
from irtoolkit.base.paths import StrPath
from irtoolkit.base.sheets import write_sheet
from irtoolkit.building.csfcube.labels import Ratings
from irtoolkit.building.csfcube.sheets import COLUMNS, row_of
from irtoolkit.building.csfcube.tsv import GRADE, KEYS, Pair, read_grades, read_sheet
from irtoolkit.datasets.csfcube_records import CSFCubeDoc, CSFCubeQuery

FILE = "adjudication.tsv"
_RATINGS = "ratings"


def adjudicated(
    path: Path,
    ratings: Ratings,
    queries: Sequence[CSFCubeQuery],
    docs: Mapping[str, CSFCubeDoc],
) -> dict[Pair, int | None]:
    """Returns the grades of the sheet, which is written if it is missing; None is undecided.

    A sheet without a grade is written again if ratings have changed.

    Raises:
        InputError: see `read_grades`; a pair that is missing, or whose ratings have changed since.
    """
    disputed = {pair: _listed(ratings, pair) for pair in ratings.disputed()}
    if path.exists():
        rows = {(row[KEYS[0]], row[KEYS[1]]): row for _, row in read_sheet(path, (_RATINGS,))}
        if {pair: row[_RATINGS] for pair, row in rows.items()} == disputed or any(
            row[GRADE].strip() for row in rows.values()
        ):
            return _read(path, ratings, disputed)
    if not disputed:
        path.unlink(missing_ok=True)
        return {}
    by_id = {query.query_id: query for query in queries}
    write_sheet(
        path,
        (*COLUMNS[:3], _RATINGS, *COLUMNS[3:]),
        [
            {**row_of(by_id[query_id], docs[doc_id]), _RATINGS: disputed[query_id, doc_id]}
            for query_id, doc_id in disputed
        ],
    )
    return dict.fromkeys(disputed)


def _listed(ratings: Ratings, pair: Pair) -> str:
    names = ratings.of_query[pair[0]]
    return ", ".join(
        f"{name} {grade}" for name, grade in zip(names, ratings.grades[pair], strict=True)
    )


def _read(path: Path, ratings: Ratings, disputed: Mapping[Pair, str]) -> dict[Pair, int | None]:
    grades = read_grades(path, lambda pair: _problem(pair, ratings, disputed), least=0)
    for line, row in read_sheet(path, (_RATINGS,)):
        pair = (row[KEYS[0]].strip(), row[KEYS[1]].strip())
        if row[_RATINGS].strip() != disputed[pair]:
            raise InputError(
                f"the ratings of {pair[1]} for {pair[0]} are {disputed[pair]} now",
                file=path,
                line=line,
                remedy="labels have changed since this was written: rename it, and a new"
                f" {FILE} is written",
            )
    _check_complete(grades, disputed, path)
    return {pair: grades[pair] for pair in disputed}


def _problem(pair: Pair, ratings: Ratings, disputed: Mapping[Pair, str]) -> str:
    if pair in disputed:
        return ""
    if pair in ratings.grades:
        return f"the annotators agree on {pair[1]} for {pair[0]}: their grade stays"
    return f"{pair[1]!r} for {pair[0]!r} is no pair of this benchmark"


def _check_complete(
    grades: Mapping[Pair, int | None], disputed: Mapping[Pair, str], path: StrPath
) -> None:
    for query_id, doc_id in disputed:
        if (query_id, doc_id) not in grades:
            raise InputError(
                f"no row of document {doc_id} for query {query_id}, on which annotators differ",
                file=path,
                remedy=f"restore the row, or rename the file: then a new {FILE} is written",
            )


def read_adjudicated(path: StrPath, ratings: Ratings) -> dict[Pair, int | None]:
    """Returns the adjudicator's grades from another file: a sheet, or TREC qrels.

    Pairs on which the annotators agree may be there with the grade that they gave.

    Raises:
        InputError: see `read_grades`; another grade of a pair on which they agree; a missing pair.
    """
    disputed = dict.fromkeys(ratings.disputed(), "")
    grades = read_grades(
        local(path),
        lambda pair: "" if pair in ratings.grades else _problem(pair, ratings, disputed),
        least=0,
    )
    for pair, grade in grades.items():
        if pair not in disputed and grade != ratings.grades[pair][0]:
            raise InputError(
                f"the annotators agree on grade {ratings.grades[pair][0]} of {pair[1]} for"
                f" {pair[0]}, and here it is {grade}",
                file=path,
                remedy="their grade stays",
            )
    _check_complete(grades, disputed, path)
    return {pair: grades[pair] for pair in disputed}
