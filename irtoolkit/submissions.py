"""Runs in the forms that leaderboards take."""

from __future__ import annotations

from irtoolkit.checking import read_run
from irtoolkit.datasets import candidates, load_dataset
from irtoolkit.errors import InputError
from irtoolkit.files import StrPath
from irtoolkit.spans import Span

RELIC_DEPTH = 100


def relic(dataset_id: str, path: StrPath) -> dict[str, list[int]]:
    """RELiC's leaderboard form: quote id to the first sentences of its best candidates.

    Args:
        dataset_id: the test split, real or sample.
        path: a run of it.

    Raises:
        InputError: the run does not fit the dataset, or lists too few candidates for a quote.
    """
    dataset = load_dataset(dataset_id)
    run = read_run(path, dataset_id)
    answers: dict[str, list[int]] = {}
    for queries, pool in candidates(dataset):
        wanted = min(RELIC_DEPTH, len(pool))
        for query_id in queries:
            best = run.ranking(query_id)[:wanted]
            if len(best) < wanted:
                raise InputError(
                    f"quote {query_id} has {len(best)} candidates instead of {wanted}",
                    file=path,
                    remedy=f"retrieve {dataset_id} with --depth {RELIC_DEPTH}",
                )
            answers[query_id] = [Span.parse(row.doc_id).start for row in best]
    return answers
