"""Scores as trec_eval prints them."""

from __future__ import annotations

from collections.abc import Iterator

from irtoolkit.scoring.score import Scores

# Columns of a measure's name.
_NAME = 22
# Printed for all only: a geometric mean has no value for a single query.
_OF_ALL = ("gm_map", "gm_bpref")


def trec_eval_lines(scores: Scores) -> Iterator[str]:
    """Yields the lines of `trec_eval -q`: name, query or all, value; one run after the other.

    The values for all are the figures of the dataset's protocol.
    """
    for system, evaluation in scores.evaluations.items():
        for i, query_id in enumerate(evaluation.query_ids):
            for measure in (candidate for candidate in scores.measures if candidate not in _OF_ALL):
                value = float(evaluation.per_query(measure)[i])
                yield _line(measure, str(query_id), value, scores.counts(measure))
        yield f"{'runid':<{_NAME}}\tall\t{scores.runs[system].tag}"
        for measure, value in evaluation.figures().items():
            yield _line(measure, "all", value, scores.counts(measure))


def _line(measure: str, query_id: str, value: float, whole: bool) -> str:
    return f"{measure:<{_NAME}}\t{query_id}\t{value:.{0 if whole else 4}f}"
