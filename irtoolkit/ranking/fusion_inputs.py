"""Whether runs belong together: fusing runs of two datasets gives a run that is of neither."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import encode, translate
from irtoolkit.runs import Run

# Shares below which the runs are probably not of one dataset.
_FEW_QUERIES, _FEW_DOCS = 0.5, 0.01


def check_together(runs: Sequence[Run], names: Sequence[str]) -> list[str]:
    """Returns warnings about runs that have little in common.

    Args:
        runs: two or more.
        names: what each is called in messages.

    Raises:
        InputError: a run shares no query with any other.
    """
    counts = query_counts(runs, names)
    notes = []
    everywhere = sum(count == len(runs) for count in counts.values())
    if everywhere < _FEW_QUERIES * len(counts):
        notes.append(
            f"only {everywhere:,} of {len(counts):,} queries are in all runs; the others are ranked"
            " by fewer runs"
        )
    shared, pairs = _shared_pairs(runs)
    if shared < _FEW_DOCS * pairs:
        notes.append(
            f"only {shared:,} of {pairs:,} documents of the queries that runs share are in more than"
            " one run: are the runs of one collection?"
        )
    return notes


def query_counts(runs: Sequence[Run], names: Sequence[str]) -> Mapping[str, int]:
    """Each query with the number of runs that list documents for it.

    Raises:
        InputError: a run shares no query with any other.
    """
    filled = [set(run.query_ids[np.diff(run.offsets) > 0].tolist()) for run in runs]
    counts = Counter(query for queries in filled for query in queries)
    for name, queries in zip(names, filled, strict=True):
        alone = bool(queries) and all(counts[query] == 1 for query in queries)
        others = [i for i, ids in enumerate(filled) if ids and ids is not queries]
        if alone and others:
            raise InputError(
                "it shares no query with the other runs: it has for example"
                f" {min(queries)}; {names[others[0]]} has {min(filled[others[0]])}",
                file=name,
                remedy="fuse runs of one dataset",
            )
    return counts


def _shared_pairs(runs: Sequence[Run]) -> tuple[int, int]:
    """Pairs of query and document that more than one run lists, and all pairs of shared queries."""
    query_ids, _ = encode(query for run in runs for query in run.query_ids)
    doc_ids, _ = encode(doc for run in runs for doc in run.doc_ids)
    # One number for the query and the document of each row.
    keys = [
        translate(run.query_ids, query_ids)[run.queries] * len(doc_ids)
        + translate(run.doc_ids, doc_ids)[run.docs]
        for run in runs
    ]
    queries = np.concatenate([np.unique(key // max(1, len(doc_ids))) for key in keys])
    in_several = np.bincount(queries, minlength=len(query_ids)) > 1
    listed = np.concatenate([key[in_several[key // max(1, len(doc_ids))]] for key in keys])
    _, times = np.unique(listed, return_counts=True)
    return int((times > 1).sum()), len(times)


def datasets_named(named: Mapping[str, str | None]) -> str | None:
    """A note where the records of runs name more than one dataset; None where they do not.

    Args:
        named: name of each run to the dataset that its record names, if there is one.
    """
    first: dict[str, str] = {}
    for name, dataset in named.items():
        if dataset is not None:
            first.setdefault(dataset, name)
    if len(first) < 2:
        return None
    return "the runs are of different datasets: " + ", ".join(
        f"{name} of {dataset}" for dataset, name in first.items()
    )
