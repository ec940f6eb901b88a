"""Choosing settings of a system by a grid, on a split or on held-out folds."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from hashlib import sha256
from typing import Any

import numpy as np
from ir_measures import Measure

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath
from irtoolkit.base.progress import tqdm
from irtoolkit.base.search_logs import LogKind, alone, write_log
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.engines.engine import current
from irtoolkit.measures.traits import traits
from irtoolkit.ranking.decided import SentSystem, fingerprint, made_of
from irtoolkit.ranking.systems import System, TaskSettings, find_system
from irtoolkit.retrievers.engine import rank
from irtoolkit.scoring.evaluation import Evaluation, parse_measures, places_of
from irtoolkit.scoring.folds import Fold
from irtoolkit.scoring.score import score

# No grid has more values of one setting than this.
_MOST = 10_000
_LOG = LogKind("a grid search", "points", "the points of another grid search")


@dataclass(frozen=True)
class Point:
    """A choice of settings with its figures.

    Attributes:
        settings: setting to value.
        figures: measure to figure.
        values: value of the first measure for each judged query, in the order of the qrels.
        place: its position in the grid.
    """

    settings: dict[str, Any]
    figures: dict[str, float]
    values: tuple[float, ...]
    place: int


def parse_grid(pairs: Mapping[str, str]) -> dict[str, list[str]]:
    """Returns the values of each setting: "0.5,0.9,1.2" lists them, "0.1:2.0:0.1" is a range.

    Raises:
        InputError: an invalid range.
    """
    return {key: list(_values(key, text)) for key, text in pairs.items()}


def _values(key: str, text: str) -> Iterator[str]:
    for part in text.split(","):
        if ":" not in part:
            yield part
            continue
        try:
            # Decimal, so that 0.1 added up ten times is 1.0.
            first, last, step = (Decimal(number) for number in part.split(":"))
            if not (first.is_finite() and last.is_finite() and step.is_finite()):
                raise ValueError(part)
            rises = step > 0 and last >= first and (last - first) / step <= _MOST
        except (ValueError, InvalidOperation):
            raise InputError(f"grid {key}={part} is not FIRST:LAST:STEP") from None
        if not rises:
            raise InputError(f"grid {key}={part} does not count up from the first to the last")
        for i in range(int((last - first) / step) + 1):
            yield str(first + i * step)


def tune(
    dataset_id: str,
    system: str,
    grid: Mapping[str, Sequence[str]],
    *,
    fixed: Mapping[str, Any] | None = None,
    measures: str | Sequence[str] | None = None,
    depth: int = 1000,
    log: StrPath | None = None,
) -> list[Point]:
    """Evaluates a system at every point of a grid.

    Args:
        dataset_id: a dataset with qrels; not the one to be reported on.
        system: as for `find_system`.
        grid: setting to values.
        fixed: further settings.
        measures: by default the dataset's own.
        depth: rows of each ranking that measures see; the ranks of relevant documents are exact.
        log: a JSON file to which points are written as they come; logged points are not measured again.

    Returns:
        The points, best first by the first measure.

    Raises:
        InputError: an unknown dataset, system, setting or measure, or a value of the wrong type.
    """
    points = _points(grid, fixed or {})
    dataset = Dataset.load(dataset_id)
    parsed = parse_measures(dataset.protocol.measures if measures is None else measures)
    systems = _systems(system, [{**(fixed or {}), **point} for point in points], dataset_id)
    search = {
        "dataset": dataset_id,
        "system": system,
        "fixed": dict(fixed or {}),
        "depth": depth,
        "measures": list(parsed),
        "values": "of the first measure",
    }
    bench = _Bench(dataset, parsed, depth, systems)
    keys = [bench.key(*point) for point in zip(points, systems, strict=True)]
    with alone(log):
        measured_points = _measured(bench, dict(zip(keys, systems, strict=True)), log, search)
    results = [
        Point(point, measured_points[key]["figures"], tuple(measured_points[key]["values"]), i)
        for i, (point, key) in enumerate(zip(points, keys, strict=True))
    ]
    return _best_first(results, parsed)


def _best_first(points: Sequence[Point], measures: Mapping[str, Measure]) -> list[Point]:
    """Returns points by the first measure."""
    name = next(iter(measures))
    sign = 1 if traits(measures[name]).lower_is_better else -1
    return sorted(points, key=lambda point: sign * point.figures[name])


def _points(grid: Mapping[str, Sequence[str]], fixed: Mapping[str, Any]) -> list[dict[str, str]]:
    """Returns the points of a grid; raises InputError for a setting that is fixed, too."""
    for key in grid:
        if key in fixed:
            raise InputError(f"setting {key} is both fixed and in the grid")
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def _systems(system: str, settings: Sequence[Mapping[str, Any]], dataset_id: str) -> list[System]:
    """Returns the system at each point: a value of the wrong type is refused now, not after hours."""
    systems = [find_system(system, point, dataset_id) for point in settings]
    if systems and systems[0].first is not None:
        raise InputError(
            f"system {system} ranks again what {systems[0].first.name} has found",
            remedy="tune one of the two retrievers",
        )
    return systems


def _measured(
    bench: _Bench, systems: Mapping[str, System], log: StrPath | None, search: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the figures of points by key, from the log or measured and logged."""
    points: dict[str, Any] = _LOG.read_of(log, search).get("points", {})
    pending = {key: system for key, system in systems.items() if key not in points}
    with tqdm(total=len(systems), desc="grid", disable=None, unit="point") as bar:
        bar.update(len(systems) - len(pending))
        for key, worth in zip(pending, bench.measured(list(pending.values())), strict=True):
            points[key] = worth
            write_log(log, search, {"points": points})
            bar.update()
    return points


class _Bench:
    """A bench for systems on one dataset; their common data are read once."""

    def __init__(
        self, dataset: Dataset, measures: dict[str, Measure], depth: int, systems: list[System]
    ) -> None:
        self._dataset, self._measures, self._depth = dataset, measures, depth
        # A view that the records do not have is refused before anything is ranked.
        self._tasks = {system.task: system.load(dataset) for system in systems}
        self._data: dict[tuple[TaskSettings, bool], str] = {}
        self._relevant = dataset.relevant()
        self._judged = str(sorted((r.query_id, r.doc_id, r.relevance) for r in dataset.qrels))

    def key(self, point: Mapping[str, str], system: System) -> str:
        """Returns a point, and a hash of everything that decides the figures of its system."""
        task, corpus = self._tasks[system.task], system.retriever.reads_corpus()
        # Points mostly share their texts, which are hashed once.
        if (system.task, corpus) not in self._data:
            self._data[system.task, corpus] = fingerprint(task, corpus=corpus)
        decided = made_of(system, task, self._data[system.task, corpus])
        decides = json.dumps([decided, self._judged], sort_keys=True, default=str)
        return f"{json.dumps(point, sort_keys=True)} {sha256(decides.encode()).hexdigest()}"

    def measured(self, systems: Sequence[System]) -> Iterator[dict[str, Any]]:
        """Returns the figures of systems, in order.

        If they are few, each is spread over the workers.
        """
        engine = current()
        if len(systems) < engine.workers:
            return map(self.worth, systems)
        devices = {system.retriever.computed().get("device", "cpu") for system in systems}
        sent = [SentSystem.of(system) for system in systems]
        return engine.map(self._there, sent, gpus=float(bool(devices - {"cpu"})))

    def _there(self, sent: SentSystem) -> dict[str, Any]:
        return self.worth(sent.here())

    def worth(self, system: System) -> dict[str, Any]:
        """Returns the figures of a system, and the values of the first measure."""
        run = rank(
            self._tasks[system.task],
            system.retriever,
            self._relevant,
            depth=self._depth,
            ties=system.task.ties,
            progress=False,
        )
        scored = score(self._dataset, run, self._measures, names=["run"])["run"]
        return {"figures": scored.figures(), "values": scored.values[0].tolist()}


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
