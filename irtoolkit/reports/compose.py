"""Composing a report from scored runs, in its order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from irtoolkit.base.arguments import check_fields
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath
from irtoolkit.base.near import did_you_mean
from irtoolkit.base.plurals import number_of
from irtoolkit.base.progress import tqdm
from irtoolkit.measures.traits import traits
from irtoolkit.reports.content import BreakdownPart, ReportContent, ReportedSystem
from irtoolkit.reports.facts import dataset_facts, dataset_url, run_command, run_facts
from irtoolkit.reports.first_relevant import FirstRelevant, first_ranks, threshold
from irtoolkit.reports.pairs import MeasureColumn, best_first, letter, measure_column
from irtoolkit.reports.text_choice import QueryOrder, chosen_texts
from irtoolkit.runs.exact_ranks import Ranks, read_ranks
from irtoolkit.scoring.named_runs import check_names
from irtoolkit.scoring.pairs import check_test
from irtoolkit.scoring.score import Scores
from irtoolkit.scoring.significance import Correction, PairedTest


@dataclass(frozen=True)
class ReportOptions:
    """Options of a report.

    Attributes:
        names: names of the systems in order; by default the tags of runs that were read from
            files, or the file names where two tags are the same.
        chart: the measure that the report opens with; by default the benchmark's main measure.
        pair: the two systems that charts show first, by name or file; by default the best one on that
            measure and the baseline, or the runner-up where there is no baseline.
        baseline: the system that the others are tested against, by name or file; by default every
            pair of systems is tested.
        test: the paired test, see `irtoolkit.scoring.significance`; a measure whose figure it does not
            compare is not tested.
        correction: the correction for the number of tests.
        rel: the lowest grade that counts as relevant; by default that of the measures.
        texts: the most queries that are shown with their texts; by default as many as a page of 1 MB
            holds, and at most 200.
        order: "best" lists the systems from the best to the worst on that measure, "given" as they are
            given.

    Raises:
        InputError: an option of another type, no such test, correction or order, an empty name, not two
            systems in a pair, a grade below 1, or texts below 0.
    """

    names: Sequence[str] = ()
    chart: str | None = None
    pair: Sequence[StrPath] = ()
    baseline: StrPath | None = None
    test: PairedTest = "student"
    correction: Correction = "holm"
    rel: int | None = None
    texts: int | None = None
    order: Order = "best"

    def __post_init__(self) -> None:
        check_fields(self)
        check_order(self.order)
        check_test(self.test, self.correction)
        check_names(self.names)
        if len(self.pair) not in (0, 2):
            raise InputError(f"{number_of(len(self.pair), 'systems')} in a pair", remedy="name two")
        if self.rel is not None and self.rel < 1:  # documents that are judged irrelevant have 0
            raise InputError(f"rel {self.rel} is not at least 1")
        if self.texts is not None and self.texts < 0:
            raise InputError(f"texts {self.texts} is below 0")


def compose(scores: Scores, options: ReportOptions | None = None) -> ReportContent:
    """Composes a report from scored runs.

    Args:
        scores: what `irtoolkit.scoring.score.score` returns.
        options: see `ReportOptions`.

    Raises:
        InputError: an option names a measure or system that does not exist; the number of names
            differs from the number of runs, or two names are the same.
    """
    options = options or ReportOptions()
    chart = _chart(scores, options)
    names = _names(scores, options.names)
    scores = ordered(scores, chart, options.order)
    names = {system: names[system] for system in scores.systems}
    dataset, evaluations = scores.dataset, list(scores.evaluations.values())
    baseline = None if options.baseline is None else _place(options.baseline, scores)
    pair = _pair(scores, options, chart, baseline)
    rel = threshold(list(scores.measures.values())) if options.rel is None else options.rel
    return ReportContent(
        dataset_id=dataset.id,
        facts=dataset_facts(dataset),
        url=dataset_url(dataset),
        systems=_systems(scores, names),
        evaluations=tuple(evaluations),
        columns=_columns(scores, options, baseline),
        averaging=scores.averaging,
        test=options.test,
        correction=options.correction,
        baseline=baseline,
        chart=chart,
        pair=pair,
        first_relevant=_first_relevant(scores, rel),
        breakdowns={name: _parts(scores, name) for name in dataset.breakdowns()},
        texts=chosen_texts(
            scores, options.texts, rel, QueryOrder.of(evaluations, names, pair, chart)
        ),
        notes=tuple(
            replace(note, system=names.get(note.system, "")).about for note in scores.notes
        ),
    )


def _columns(
    scores: Scores, options: ReportOptions, baseline: int | None
) -> tuple[MeasureColumn, ...]:
    """Returns the figures of every measure, with tests."""
    evaluations = list(scores.evaluations.values())
    return tuple(
        measure_column(
            evaluations,
            measure,
            test=options.test,
            correction=options.correction,
            baseline=baseline,
        )
        for measure in tqdm(scores.measures, "testing", disable=None, leave=False)
    )


# -- systems -----------------------------------------------------------------------------------------


def _names(scores: Scores, names: Sequence[str]) -> dict[str, str]:
    """Returns the label of each system in the scores."""
    keys = list(scores.evaluations)
    if names:
        if len(names) != len(keys):
            raise InputError(
                f"{number_of(len(names), 'names')} for {number_of(len(keys), 'runs')}",
                remedy="give one for each run",
            )
        if len(set(names)) != len(names):
            raise InputError("two systems have the same name")
        return dict(zip(keys, names, strict=True))
    # The path of a file is no good name: it differs between machines.
    tags = [scores.runs[key].tag if key == scores.files.get(key) else key for key in keys]
    stems = [_stem(key) if key == scores.files.get(key) else key for key in keys]
    chosen = next((labels for labels in (tags, stems) if len(set(labels)) == len(labels)), keys)
    return dict(zip(keys, chosen, strict=True))


def _stem(path: str) -> str:
    name = Path(path).name.removesuffix(".gz")
    return name.rpartition(".")[0] or name


def _systems(scores: Scores, names: Mapping[str, str]) -> tuple[ReportedSystem, ...]:
    systems = []
    for i, (key, name) in enumerate(names.items()):
        file = scores.files.get(key)
        base = "" if file is None else Path(file).name
        systems.append(ReportedSystem(name, letter(i), base, run_facts(file), run_command(file)))
    return tuple(systems)


def _chart(scores: Scores, options: ReportOptions) -> str:
    chart = options.chart
    if chart is None:
        return scores.main_measure
    if chart not in scores.measures:
        raise InputError(
            f"no measure {chart!r} in the report",
            remedy=f"{did_you_mean(chart, scores.measures)}it has {', '.join(scores.measures)}",
        )
    return chart


def _pair(
    scores: Scores, options: ReportOptions, chart: str, baseline: int | None
) -> tuple[int, int]:
    if not options.pair:
        return default_pair(scores, chart, baseline)
    first, second = (_place(system, scores) for system in options.pair)
    return first, second


def _place(system: StrPath, scores: Scores) -> int:
    """The position of a system, by its name or by the file of its run."""
    keys = list(scores.evaluations)
    if system in keys:
        return keys.index(str(system))
    target = Path(system).resolve()
    for i, key in enumerate(keys):
        if key in scores.files and Path(scores.files[key]).resolve() == target:
            return i
    raise InputError(f"{system} is not among the runs", remedy=f"they are {', '.join(keys)}")


# -- ranks and breakdowns -------------------------------------------------------------------


def _first_relevant(scores: Scores, rel: int) -> FirstRelevant:
    exact = [_exact_ranks(scores, key) for key in scores.evaluations]
    runs = list(scores.runs.values())
    ranks = tuple(
        first_ranks(run, scores.dataset.qrels, run_ranks, rel)
        for run, run_ranks in zip(runs, exact, strict=True)
    )
    depths = tuple(int(np.diff(run.offsets).max(initial=0)) for run in runs)
    unranked = int(np.isnan(ranks[0]).sum())
    return FirstRelevant(
        rel, unranked, ranks, depths, tuple(run_ranks is not None for run_ranks in exact)
    )


def _exact_ranks(scores: Scores, key: str) -> Ranks | None:
    """Exact ranks that a run carries, or that are beside its file."""
    run = scores.runs[key]
    if run.exact_ranks is not None or key not in scores.files:
        return run.exact_ranks
    return read_ranks(scores.files[key], run)


def _parts(scores: Scores, breakdown: str) -> tuple[BreakdownPart, ...]:
    parts = []
    for name, queries in scores.dataset.breakdown(breakdown).items():
        figures = [evaluation.over(queries) for evaluation in scores.evaluations.values()]
        by_measure = {measure: tuple(f[measure] for f in figures) for measure in figures[0]}
        parts.append(BreakdownPart(name, len(queries), by_measure))
    return tuple(parts)


Order = Literal["best", "given"]


def check_order(order: object) -> None:
    """Raises InputError for an order that there is not."""
    if order not in get_args(Order):
        raise InputError(f"{order!r} is none of {', '.join(get_args(Order))}")


def ordered(scores: Scores, main: str, order: Order) -> Scores:
    """Returns the scores with the main measure first and, with "best", the systems by their figures on it.

    Systems with equal figures, and those without one, stay in the order given.
    """
    measures = {main: scores.measures[main], **scores.measures}
    systems = scores.systems
    if order == "best":
        ranked = [systems[i] for i in ranking(scores, main)]
        systems = [*ranked, *(system for system in systems if system not in ranked)]
    return replace(
        scores,
        measures=measures,
        evaluations={system: scores.evaluations[system] for system in systems},
        runs={system: scores.runs[system] for system in systems},
    )


def ranking(scores: Scores, measure: str) -> list[int]:
    """Returns the positions of the systems from the best figure to the worst, without infinite ones."""
    figures = [evaluation.figures()[measure] for evaluation in scores.evaluations.values()]
    return best_first(figures, lower=traits(scores.measures[measure]).lower_is_better)


def default_pair(scores: Scores, measure: str, baseline: int | None) -> tuple[int, int]:
    """Returns the best system and the baseline; without one, or if it is the best, the runner-up."""
    ranked = ranking(scores, measure)
    ranked += [i for i in range(len(scores)) if i not in ranked]
    best, second = ranked[0], ranked[min(1, len(ranked) - 1)]
    return best, second if baseline in (None, best) else baseline
