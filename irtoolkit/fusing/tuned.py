"""Tuning of a fusion of runs on a dataset's judgments, and its result."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike, fspath
from typing import Any

from irtoolkit.base.arguments import checked
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath
from irtoolkit.base.paths import same_place, shown, without_credentials
from irtoolkit.base.progress import tqdm
from irtoolkit.base.search_logs import alone
from irtoolkit.base.stamps import unchanged
from irtoolkit.base.tables import TableCell, TextTable
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.engines.engine import current
from irtoolkit.fusing.configurations import Configuration
from irtoolkit.fusing.log import LearnedFusion, about, learned_record, read_tried, write_log
from irtoolkit.fusing.search import HELD_OUT, FusionBench, FusionSearch, TriedFusion
from irtoolkit.ranking.fusion import fuse
from irtoolkit.ranking.fusion_files import run_input
from irtoolkit.ranking.fusion_methods import Method
from irtoolkit.runs import Run
from irtoolkit.runs.exact_ranks import read_ranks
from irtoolkit.runs.publish import publish
from irtoolkit.runs.storage import RunForm, check_run_name
from irtoolkit.scoring.check import read_run
from irtoolkit.scoring.compare import Comparison, compare
from irtoolkit.scoring.evaluation import parse_measures
from irtoolkit.scoring.folds import folds_of
from irtoolkit.scoring.score import Scores, score
from irtoolkit.scoring.significance import Correction, PairedTest
from irtoolkit.version import __version__


@dataclass(frozen=True)
class TunedFusion:
    """A fusion that was chosen by cross-validation.

    Attributes:
        bench: the dataset, the runs, the measure and the folds.
        tried: every configuration with its figures, in the order in which equals are preferred.
        chosen: for each fold, the configuration that is best on the other queries.
        learned: the configuration that is best on all queries, for other runs.
        method: the learned method, trained on all queries if it has to be.
        run: the held-out run: each fold's queries fused by its choice.
        scores: of the held-out run and of each single run, by the measure.
    """

    bench: FusionBench
    tried: tuple[TriedFusion, ...]
    chosen: tuple[Configuration, ...]
    learned: Configuration
    method: Method
    run: Run
    scores: Scores

    @property
    def figure(self) -> float:
        """The measure of the held-out run."""
        return self.scores[HELD_OUT].figures()[self.bench.name]

    @checked
    def fuse(self, *runs: Any, depth: int | None = None, tag: str | None = None) -> Run:
        """Returns other runs, fused by the configuration learned on all queries.

        Args:
            runs: as many as were tuned, of the same systems in the same order.
            depth: rows for each query; None is all.
            tag: run tag; by default the method's.

        Raises:
            InputError: another number of runs, or another order of their tags.
        """
        listed = [Run.of(run) for run in runs]
        tags = tuple(run.tag for run in self.bench.runs)
        LearnedFusion(self.method, tags, frozenset(self.bench.queries)).check(listed)
        return fuse(
            listed, self.method, depth=depth, tag=tag, progress=False, related=True
        ).untied()

    def comparison(
        self, test: PairedTest | None = None, correction: Correction = "holm"
    ) -> Comparison:
        """Returns each single run tested against the held-out run.

        By default as the measure allows.
        """
        title = f"{self.bench.dataset.id}: {self.scores.averaging}"
        return compare(
            self.scores.evaluations,
            self.bench.name,
            baseline=HELD_OUT,
            test=test,
            correction=correction,
            title=title,
        )

    def table(self, *, every: bool = False) -> TextTable:
        """Returns the chosen configurations, and the best of each method and normalisation.

        Or all.
        """
        name, places = self.bench.name, range(len(self.chosen))
        uses = {
            fusion.configuration.key: [
                str(n + 1) for n in places if self.chosen[n] == fusion.configuration
            ]
            + ["all"] * (fusion.configuration == self.learned)
            for fusion in self.tried
        }
        shown_rows = self.tried if every else self._leading(uses)
        rows: list[list[TableCell]] = []
        for fusion in shown_rows:
            settings = dict(fusion.configuration.settings)
            normalise, weights = settings.pop("normalise", None), settings.pop("weights", None)
            numbers = [f"{key}={value}" for key, value in settings.items()]
            numbers += [" ".join(f"{weight:g}" for weight in weights)] if weights else []
            chosen = " ".join(uses[fusion.configuration.key])
            rows.append(
                [
                    fusion.configuration.method,
                    normalise,
                    " ".join(numbers) or None,
                    fusion.figure,
                    chosen or None,
                ]
            )
        title = f"{self.bench.dataset.id}: {len(self.tried)} fusions of {len(self.bench.runs)} runs"
        notes = (
            []
            if every
            else ["chosen: the folds whose queries it fuses, and all: learned on all queries"]
        )
        return TextTable(
            ["method", "normalise", "settings", name, "chosen for"], rows, title, notes
        )

    def _leading(self, uses: Mapping[str, Sequence[str]]) -> list[TriedFusion]:
        """Returns the chosen results, and the best of each method and normalisation."""
        groups: dict[Any, list[TriedFusion]] = {}
        for fusion in self.tried:
            key = fusion.configuration.method, fusion.configuration.settings.get("normalise")
            groups.setdefault(key, []).append(fusion)
        best = [
            group[self.bench.best([fusion.figure for fusion in group])] for group in groups.values()
        ]
        keys = {fusion.configuration.key for fusion in best}
        return [
            fusion
            for fusion in self.tried
            if fusion.configuration.key in keys or uses[fusion.configuration.key]
        ]

    def __str__(self) -> str:
        return f"{self.table()}\n\n{self.comparison()}"


def tune_fusion(
    data: Any,
    runs: Sequence[Any],
    search: FusionSearch | None = None,
    *,
    measure: Any = None,
    log: StrPath | None = None,
    progress: bool = True,
) -> TunedFusion:
    """Chooses method, normalisation and weights of a fusion by cross-validation over queries.

    Args:
        data: a dataset with judgments, or its id.
        runs: two or more files, or anything that `Run.of` takes.
        search: the configurations to try, and the cross-validation.
        measure: the measure that decides; by default the one that the dataset's systems are ranked by.
        log: a JSON file to which results are written as they come; logged ones are not tried again.
        progress: whether to show a progress bar on a terminal.

    Raises:
        InputError: one run; a run twice; a run without a judged query; too few queries for the
            folds; an unknown dataset, measure, method or setting; or the log of another search.
    """
    search = search or FusionSearch()
    dataset = Dataset.of(data)
    named = _runs(runs, dataset)
    tried = search.configurations(len(named))
    name, parsed_measure = _measure(dataset, measure)
    folds = folds_of(dataset, search.folds, search.seed)
    bench = FusionBench(dataset, tuple(named.values()), name, parsed_measure, folds, search)
    _check_judged(bench, named)
    # A measure that the single runs are too shallow for is refused before the search.
    evaluations = score(dataset, named, {name: parsed_measure}).evaluations
    measured = compare(evaluations, name, baseline=next(iter(named)))
    assert len(measured) == len(named)
    record = about(bench)
    with alone(log):
        by_key = read_tried(log, record)
        pending = [configuration for configuration in tried if configuration.key not in by_key]
        with tqdm(
            total=len(tried), desc="fusions", disable=None if progress else True, unit="fusion"
        ) as bar:
            bar.update(len(tried) - len(pending))
            for fusion in current().map(bench.tried, pending):
                by_key[fusion.configuration.key] = fusion
                write_log(log, record, list(by_key.values()))
                bar.update()
        listed = tuple(by_key[configuration.key] for configuration in tried)
        result = _chosen(bench, listed, named)
        keys = {configuration.key for configuration in tried}
        rest = [fusion for key, fusion in by_key.items() if key not in keys]
        write_log(log, record, [*listed, *rest], _outcome(result))
    return result


def tune_files(
    data: Any,
    paths: Sequence[StrPath],
    output: StrPath | None,
    search: FusionSearch,
    *,
    measure: Any = None,
    log: StrPath | None = None,
    form: RunForm = "trec",
) -> TunedFusion:
    """Tunes a fusion of run files; writes the held-out run, and a record beside it.

    Args:
        data, search, measure, log: see `tune_fusion`.
        paths: runs in TREC text, .gz or Parquet.
        output: the file of the held-out run; None writes none.
        form: of the file, see `Run.write`.

    Raises:
        InputError: see `tune_fusion`; or the file cannot be written.
    """
    started = time.monotonic()
    if output is not None:
        check_run_name(output, form)
    result = tune_fusion(data, paths, search, measure=measure, log=log)
    if output is None:
        return result
    inputs = [run_input(path, run) for path, run in zip(paths, result.bench.runs, strict=True)]
    record = {
        "dataset": result.bench.dataset.id,
        "system": result.run.tag,
        "retriever": HELD_OUT,
        "settings": {**asdict(search), "measure": result.bench.name},
        "chosen": [asdict(configuration) for configuration in result.chosen],
        "runs": [{**item, "file": without_credentials(item["file"])} for item in inputs],
        "depth": search.depth,
        "version": __version__,
    }
    publish(result.run, output, record, time.monotonic() - started, form=form)
    return result


def _chosen(
    bench: FusionBench, tried: tuple[TriedFusion, ...], named: Mapping[str, Run]
) -> TunedFusion:
    """Returns the choices for the folds and for all queries, with their figures."""
    chosen = tuple(
        tried[bench.best([fusion.others[fold_index] for fusion in tried])].configuration
        for fold_index in range(len(bench.folds))
    )
    learned = tried[bench.best([fusion.figure for fusion in tried])].configuration
    method = bench.made(learned, bench.queries)
    run = bench.held_out(chosen, method)
    measures = {bench.name: bench.measure}
    scores = score(bench.dataset, {HELD_OUT: run, **named}, measures)
    return TunedFusion(bench, tried, chosen, learned, method, run, scores)


def _outcome(result: TunedFusion) -> dict[str, Any]:
    """Returns the log's record of a finished search."""
    name = result.bench.name
    return {
        "searched": asdict(result.bench.search),
        "figures": {system: row[name] for system, row in result.scores.figures().items()},
        "chosen": [asdict(configuration) for configuration in result.chosen],
        "learned": learned_record(result.method, result.learned, result.bench.runs),
    }


def _runs(runs: Sequence[Any], dataset: Dataset) -> dict[str, Run]:
    """Returns name to run; a file is called by its path, and another run by its tag.

    Raises:
        InputError: fewer than two, or a file twice.
    """
    if isinstance(runs, Run | Mapping | str | PathLike) or len(runs) < 2:
        raise InputError("one run to fuse, not several", remedy="give at least two")
    paths = [fspath(run) for run in runs if isinstance(run, str | PathLike)]
    if len({*map(same_place, paths)}) != len(paths):
        raise InputError("a run is given twice")
    by_name: dict[str, Run] = {}
    with unchanged(paths):
        for number, source in enumerate(runs, 1):
            if isinstance(source, str | PathLike):
                run = read_run(source, None if dataset.in_memory else dataset)
                name, run = shown(source), replace(run, exact_ranks=read_ranks(source, run))
            else:
                run = Run.of(source)
                name = run.tag
            by_name[f"{name}-{number}" if name in by_name or name == HELD_OUT else name] = run
    return by_name


def _measure(dataset: Dataset, measure: Any) -> tuple[str, Any]:
    """Returns the one measure that decides."""
    protocol = dataset.protocol
    requested = (protocol.main,) if measure is None else measure
    parsed = parse_measures(requested if isinstance(requested, str | Sequence) else [requested])
    if len(parsed) != 1:
        raise InputError(
            f"a fusion is tuned by one measure, not {len(parsed)}",
            remedy="name the one that decides",
        )
    ((name, parsed_measure),) = parsed.items()
    return name, parsed_measure


def _check_judged(bench: FusionBench, named: Mapping[str, Run]) -> None:
    """Raises InputError for a run without a judged query: it would count as ranked last of all."""
    for name, run in named.items():
        has = {*run.query_ids.tolist()}
        missing = [query_id for query_id in bench.queries if query_id not in has]
        if missing:
            raise InputError(
                f"run {name} lacks {len(missing)} of {len(bench.queries)} judged queries, for example"
                f" {missing[0]}",
                remedy=f"is it a run of {bench.dataset.id}? rank all queries",
            )
