"""The quality report of a benchmark in CSFCube's form."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

from irtoolkit.building.csfcube.documents import facet_sentences
from irtoolkit.building.csfcube.labels import Ratings
from irtoolkit.building.csfcube.pools import Pool
from irtoolkit.building.csfcube.tsv import Pair
from irtoolkit.building.near import near_duplicates
from irtoolkit.building.quality import Quality, Sample, histogram, sampled
from irtoolkit.datasets.benchmark import Statistic
from irtoolkit.datasets.csfcube_records import GRADES, CSFCubeDoc, CSFCubeQuery

# What counts as relevant in the benchmark's measures.
_RELEVANT = 2
# Documents of a step of the sizes of pools, and pairs of systems that are shown.
_STEP, _PAIRS = 25, 10


def quality(
    statistics: Sequence[Statistic],
    queries: Sequence[CSFCubeQuery],
    docs: Mapping[str, CSFCubeDoc],
    pools: Mapping[str, Pool],
    ratings: Ratings,
    grades: Mapping[Pair, int],
) -> Quality:
    """Returns the figures of a benchmark.

    Args:
        statistics: the paper's Table 1, computed and as printed.
        queries, docs, pools, ratings, grades: of the benchmark.
    """
    papers = {query.query_id: query.doc_id for query in queries}
    proposed = [names for pool in pools.values() for names in pool.values()]
    relevant = [pools[papers[q]][doc] for (q, doc), g in grades.items() if g >= _RELEVANT]
    overruled = sum(grade not in ratings.grades[pair] for pair, grade in grades.items())
    counts = Counter(grades.values())
    return Quality(
        counts={row.name: round(row.value, 2) for row in statistics},
        paper={row.name: row.reported for row in statistics if row.reported is not None},
        tables={
            "grades": {
                f"{grade}, {meaning.partition(':')[0].lower()}": counts[grade]
                for grade, meaning in GRADES.items()
            },
            "pools by their size": histogram([len(pool) for pool in pools.values()], _STEP),
            "candidates of each system": _by_system(proposed),
            "candidates of one system alone": _alone(proposed),
            "relevant pairs (grade 2 or 3) of each system": _by_system(relevant),
            "relevant pairs of one system alone": _alone(relevant),
            "candidates by how many systems propose them": histogram(
                [len(names) for names in proposed], 1
            ),
            "candidates that two systems share, the most": _shared(proposed),
            "queries of each annotator": dict(
                Counter(name for names in ratings.of_query.values() for name in names)
            ),
        },
        findings={
            "pairs that were adjudicated": len(ratings.disputed()),
            "of these, with a grade that neither annotator gave": overruled,
            "ratings missing (-1)": sum(r < 0 for both in ratings.grades.values() for r in both),
            "queries without a relevant candidate": _without(papers, grades),
            "near duplicates among documents": _duplicates(docs, pools),
        },
        sample=_sample(queries, docs, pools, ratings, grades),
    )


def _by_system(proposed: Sequence[Sequence[str]]) -> dict[str, int]:
    return dict(Counter(name for names in proposed for name in names).most_common())


def _alone(proposed: Sequence[Sequence[str]]) -> dict[str, int]:
    """Returns the number of documents that each system alone proposes, also if it is 0."""
    alone = Counter(names[0] for names in proposed if len(names) == 1)
    return {name: alone[name] for name in _by_system(proposed)}


def _shared(proposed: Sequence[Sequence[str]]) -> dict[str, int]:
    shared = Counter(pair for names in proposed for pair in combinations(sorted(names), 2))
    return {" and ".join(pair): count for pair, count in shared.most_common(_PAIRS)}


def _without(papers: Mapping[str, str], grades: Mapping[Pair, int]) -> list[str]:
    answered = {query for (query, _), grade in grades.items() if grade >= _RELEVANT}
    return [query for query in papers if query not in answered]


def _duplicates(docs: Mapping[str, CSFCubeDoc], pools: Mapping[str, Pool]) -> list[list[str]]:
    """Returns pairs of documents of pools and queries that share most of their runs of words."""
    used = [*pools, *(doc for pool in pools.values() for doc in pool)]
    texts = {doc: re.findall(r"\w+", docs[doc].abstract.lower()) for doc in dict.fromkeys(used)}
    return near_duplicates(texts, {doc: doc for doc in texts})


def _sample(
    queries: Sequence[CSFCubeQuery],
    docs: Mapping[str, CSFCubeDoc],
    pools: Mapping[str, Pool],
    ratings: Ratings,
    grades: Mapping[Pair, int],
) -> list[Sample]:
    """Returns pairs to read: the query's facet, and the candidate's, which is marked."""
    by_id = {query.query_id: query for query in queries}
    samples = []
    for pair in sampled(list(grades)):
        query, doc = by_id[pair[0]], docs[pair[1]]
        details = {
            "candidate": doc.doc_id,
            "grade": grades[pair],
            "ratings": "/".join(map(str, ratings.grades[pair])),
            "proposed by": ", ".join(pools[query.doc_id][doc.doc_id]),
        }
        text = " ".join(facet_sentences(doc, query.facet)) or doc.abstract
        query_text = f"{query.title}. {' '.join(query.facet_sentences)}"
        samples.append(Sample(query.query_id, details, query_text, f"{doc.title}. {text}"))
    return samples
