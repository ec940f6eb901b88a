"""The files of a benchmark in the form of CSFCube's release."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from irtoolkit.base.files import atomic_text
from irtoolkit.base.jsons import write_json
from irtoolkit.building.csfcube.documents import write_documents
from irtoolkit.building.csfcube.labels import Ratings
from irtoolkit.building.csfcube.pools import Pool
from irtoolkit.building.csfcube.queries import FacetQuery, write_queries
from irtoolkit.building.csfcube.tsv import Pair
from irtoolkit.datasets.csfcube_records import FACETS, CSFCubeDoc, CSFCubeQuery
from irtoolkit.datasets.csfcube_release import ABSTRACTS, ANNOTATIONS, QUERIES, SPLITS

RATINGS = "ratings.tsv"


def write_release(
    folder: Path,
    docs: Mapping[str, CSFCubeDoc],
    selected: Sequence[FacetQuery],
    pools: Mapping[str, Pool],
    ratings: Ratings,
    grades: Mapping[Pair, int],
    seed: int,
) -> None:
    """Writes documents of pools and queries, queries, judgments with both ratings, and folds."""
    used = {*pools, *(doc for pool in pools.values() for doc in pool)}
    write_documents(folder / ABSTRACTS, (docs[doc] for doc in docs if doc in used))
    write_queries(folder / QUERIES, selected)
    queries = [entry.query for entry in selected]
    for facet in FACETS:
        facet_queries = [query for query in queries if query.facet == facet]
        write_json(
            folder / ANNOTATIONS.format(facet), _judged(facet_queries, pools, ratings, grades, seed)
        )
    write_json(folder / SPLITS, folds(queries, seed), indent=1)
    with atomic_text(folder / RATINGS) as out:
        out.write("query_id\tdoc_id\tgrade\tratings\n")
        for pair, values in ratings.grades.items():
            names = ratings.of_query[pair[0]]
            sizes = ", ".join(f"{name} {value}" for name, value in zip(names, values, strict=True))
            out.write(f"{pair[0]}\t{pair[1]}\t{grades[pair]}\t{sizes}\n")


def _judged(
    queries: Sequence[CSFCubeQuery],
    pools: Mapping[str, Pool],
    ratings: Ratings,
    grades: Mapping[Pair, int],
    seed: int,
) -> dict[str, dict[str, list[Any]]]:
    """Returns paper to its candidates, in an order independent of systems, and their grades."""
    names = ratings.annotators
    # Readers sort the names of the lists.
    numbers = {name: f"{n:0{len(str(len(names)))}}" for n, name in enumerate(names, 1)}
    judged: dict[str, dict[str, list[Any]]] = {}
    for query in queries:
        cands = list(pools[query.doc_id])
        random.Random(f"candidates {seed} {query.query_id}").shuffle(cands)
        both = [ratings.grades[query.query_id, doc] for doc in cands]
        first, second = ratings.of_query[query.query_id]
        judged[query.doc_id] = {
            "cands": cands,
            "relevance_max": [max(ratings_of_doc) for ratings_of_doc in both],
            "relevance_min": [min(ratings_of_doc) for ratings_of_doc in both],
            f"relevance_ann{numbers[first]}": [ratings_of_doc[0] for ratings_of_doc in both],
            f"relevance_ann{numbers[second]}": [ratings_of_doc[1] for ratings_of_doc in both],
            "relevance_adju": [grades[query.query_id, doc] for doc in cands],
        }
    return judged


def folds(queries: Sequence[CSFCubeQuery], seed: int) -> dict[str, dict[str, list[str]]]:
    """Returns two random folds of each facet, the first no smaller, and their unions over facets.

    Each fold develops on the queries that the other tests on, as in the release.
    """
    draw = random.Random(f"folds {seed}")
    tests: dict[str, tuple[list[str], list[str]]] = {}
    for facet in FACETS:
        facet_queries = [query.query_id for query in queries if query.facet == facet]
        draw.shuffle(facet_queries)
        half = (len(facet_queries) + 1) // 2
        tests[facet] = facet_queries[:half], facet_queries[half:]
    tests["all"] = (
        [query for facet in FACETS for query in tests[facet][0]],
        [query for facet in FACETS for query in tests[facet][1]],
    )
    return {
        name: {"fold1_dev": second, "fold2_dev": first, "fold1_test": first, "fold2_test": second}
        for name, (first, second) in tests.items()
    }
