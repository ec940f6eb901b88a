"""Grid search evaluated on queries that do not choose among its points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irtoolkit.datasets.dataset import Dataset
from irtoolkit.measures.traits import traits
from irtoolkit.papers.tune import Point
from irtoolkit.scoring.evaluation import Evaluation, parse_measures, places_of
from irtoolkit.scoring.folds import Fold


@dataclass(frozen=True)
class HeldOut:
    """The figure of a grid search by cross-validation.

    Attributes:
        measure: the first measure of the search.
        figure: the benchmark's figure over all queries, each ranked with the choice for its fold.
        chosen: for each fold, the settings that are best on the other folds, the first of equals.
    """

    measure: str
    figure: float
    chosen: tuple[dict[str, Any], ...]


def held_out(dataset: Dataset, points: Sequence[Point], folds: Sequence[Fold]) -> HeldOut:
    """Returns the figure of a grid whose settings are chosen for each fold on the other folds.

    The figure of the best point of a grid is of the queries that chose it: the more points, the
    more that is too high (Stone 1974; Cawley and Talbot 2010). This figure is not.

    Args:
        dataset: the one that the points were measured on.
        points: one or more, from `tune`.
        folds: two or more, from `folds_of`.
    """
    name = next(iter(points[0].figures))
    measures, query_ids = parse_measures([name]), dataset.qrels.query_ids
    averaged = places_of(query_ids, dataset.protocol.folds)
    # In the order of the grid: what a point is worth on a fold decides no tie there.
    tried = sorted(points, key=lambda point: point.place)
    worth = [Evaluation(measures, query_ids, np.array([p.values]), averaged) for p in tried]
    sign = -1 if traits(measures[name]).lower_is_better else 1
    merged, chosen = np.zeros((1, len(query_ids))), []
    for fold, places in zip(folds, places_of(query_ids, folds), strict=True):
        others = {query for fold_ids in folds if fold_ids is not fold for query in fold_ids}
        best = int(np.argmax([sign * evaluation.over(others)[name] for evaluation in worth]))
        merged[:, places] = worth[best].values[:, places]
        chosen.append(tried[best].settings)
    figure = Evaluation(measures, query_ids, merged, averaged).figures()[name]
    return HeldOut(name, figure, tuple(chosen))
