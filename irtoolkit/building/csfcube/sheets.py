"""The sheets of annotators: the assignment of queries, and the texts to read."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import is_word
from irtoolkit.base.near import did_you_mean
from irtoolkit.base.sheets import write_sheet
from irtoolkit.building.csfcube.documents import facet_sentences
from irtoolkit.building.csfcube.pools import Pool
from irtoolkit.building.csfcube.tsv import GRADE, KEYS, Pair, read_grades
from irtoolkit.datasets.csfcube_records import CSFCubeDoc, CSFCubeQuery

# The texts of the query and of a candidate are there to read: as in the paper, no names or years.
TEXTS = ("facet", "query_title", "query_facet", "query_abstract", "title", "text", "abstract")
COLUMNS = (*KEYS, GRADE, *TEXTS)
SUFFIX = ".tsv"
# Annotator to pair to grade; None is not graded yet.
Labels = dict[str, dict[Pair, int | None]]


def check_annotators(names: Sequence[str]) -> None:
    """Raises InputError for fewer than two annotators, two of one name, or a name that is no word."""
    for name in names:
        if not is_word(name) or "/" in name or name.startswith("."):
            raise InputError(f"{name!r} is no name of an annotator", remedy="give one word")
        if [annotator.lower() for annotator in names].count(name.lower()) > 1:
            raise InputError(f"two annotators are called {name}", remedy="give each one a name")
    if len(names) < 2:
        raise InputError(f"{len(names)} annotators", remedy="each pair is graded by two")


def assigned(
    queries: Sequence[CSFCubeQuery], annotators: Sequence[str], seed: int
) -> dict[str, tuple[str, str]]:
    """Returns the two annotators of each query; all pairs of annotators get about equally many.

    The names of the annotators change nothing: a pair of positions in their list is drawn.
    """
    draw = random.Random(f"annotators {seed}")
    couples = list(combinations(annotators, 2))
    assigned_to: dict[str, tuple[str, str]] = {}
    for i, query in enumerate(queries):
        if i % len(couples) == 0:
            draw.shuffle(couples)
        assigned_to[query.query_id] = couples[i % len(couples)]
    return assigned_to


def write_sheets(
    folder: Path,
    of_query: Mapping[str, Sequence[str]],
    queries: Sequence[CSFCubeQuery],
    pools: Mapping[str, Pool],
    docs: Mapping[str, CSFCubeDoc],
    seed: int,
) -> None:
    """Writes the missing sheets of annotators, to be graded.

    Queries are in a random order for each annotator, and so are the candidates of each.
    """
    for name in sorted({name for names in of_query.values() for name in names}):
        path = folder / f"{name}{SUFFIX}"
        if path.exists():
            continue
        draw = random.Random(f"sheet {seed} {name}")
        assigned_queries = [query for query in queries if name in of_query[query.query_id]]
        draw.shuffle(assigned_queries)
        rows: list[dict[str, str]] = []
        for query in assigned_queries:
            candidates = list(pools[query.doc_id])
            draw.shuffle(candidates)
            rows += [row_of(query, docs[doc]) for doc in candidates]
        write_sheet(path, COLUMNS, rows)


def row_of(query: CSFCubeQuery, doc: CSFCubeDoc) -> dict[str, str]:
    """Returns the texts of a pair to read."""
    return {
        "query_id": query.query_id,
        "doc_id": doc.doc_id,
        "facet": query.facet,
        "query_title": query.title,
        "query_facet": " ".join(query.facet_sentences),
        "query_abstract": query.abstract,
        "title": doc.title,
        "text": " ".join(facet_sentences(doc, query.facet)),
        "abstract": doc.abstract,
    }


def pairs_of(queries: Sequence[CSFCubeQuery], pools: Mapping[str, Pool]) -> dict[str, list[Pair]]:
    """Returns query id to the pairs that are judged, in the order of the pool."""
    return {q.query_id: [(q.query_id, doc) for doc in pools[q.doc_id]] for q in queries}


def read_sheets(
    folder: Path, of_query: Mapping[str, Sequence[str]], pairs: Mapping[str, Sequence[Pair]]
) -> Labels:
    """Returns the grades in the sheets.

    Raises:
        InputError: a sheet of an unknown annotator; a row of another pool, or of another annotator; a
            missing row; or see `read_grades`.
    """
    names = sorted({name for of in of_query.values() for name in of})
    for path in sorted(folder.glob(f"[!.]*{SUFFIX}")):
        if path.stem not in names:
            near = did_you_mean(path.stem, names)
            raise InputError(
                f"there is no annotator {path.stem}",
                file=path,
                remedy=f"{near}remove the file, or rename it; annotators are {', '.join(names)}",
            )
    labels: Labels = {}
    for name in names:
        path = folder / f"{name}{SUFFIX}"
        assigned_pairs = {
            pair for query, of in of_query.items() if name in of for pair in pairs[query]
        }
        labels[name] = read_grades(path, partial(_problem, assigned_pairs, pairs))
        missing = next(
            (
                pair
                for query in pairs
                for pair in pairs[query]
                if pair in assigned_pairs and pair not in labels[name]
            ),
            None,
        )
        if missing is not None:
            raise InputError(
                f"no row of document {missing[1]} for query {missing[0]}",
                file=path,
                remedy="restore the row; a grade may be empty, a row may not be missing",
            )
    return labels


def _problem(assigned_pairs: set[Pair], pairs: Mapping[str, Sequence[Pair]], pair: Pair) -> str:
    """Returns what is wrong with a pair of a sheet, or ""."""
    if pair in assigned_pairs:
        return ""
    if pair in pairs.get(pair[0], ()):
        return f"query {pair[0]} is given to other annotators"
    return pool_problem(pairs, pair)


def pool_problem(pairs: Mapping[str, Sequence[Pair]], pair: Pair) -> str:
    """Returns what is wrong with a pair that is not in the pools, or ""."""
    query_id, doc_id = pair
    if query_id not in pairs:
        return f"{query_id!r} is no query of this benchmark: another one's file, or an edited id"
    if pair not in pairs[query_id]:
        return (
            f"document {doc_id!r} is not in the pool of {query_id}: another pool, or an edited id"
        )
    return ""
