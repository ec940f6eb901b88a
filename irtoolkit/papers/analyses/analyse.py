"""Doing an analysis: finding its data and rankings, and putting the paper's figures beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from irtoolkit.base.arguments import checked, shown_value
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath
from irtoolkit.base.paths import shown
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.identity import DatasetId
from irtoolkit.papers.analyses.base import Analysis, Findings, Given
from irtoolkit.papers.analyses.catalogue import find_analysis
from irtoolkit.papers.analyses.result import AnalysisResult
from irtoolkit.papers.rendering import SAMPLE_NOTE
from irtoolkit.runs import Run


@checked
def analyse(
    analysis: Analysis | str,
    datasets: Dataset | str | Sequence[Dataset | str] = (),
    runs: Sequence[StrPath] | Mapping[str, Run] = (),
    *,
    sample: bool = False,
    system: str | None = None,
    sheets: Sequence[StrPath] = (),
    sheet: StrPath | None = None,
    **settings: Any,
) -> AnalysisResult:
    """Repeats an analysis of one of the papers.

    Args:
        analysis: its name, for example "csfcube-agreement"; `irtoolkit analyse --list` lists them.
        datasets: one dataset or several to analyse; by default the paper's data.
        runs: files of rankings of the first dataset, or name to ranking. If an analysis needs
            one and none is given, it ranks with `system`.
        sample: whether to take the invented sample in place of the paper's data.
        system: the system to rank with; by default the analysis' own.
        sheets: files that people have filled in.
        sheet: a file to write for people to fill in.
        settings: the analysis' own, for example missing="drop".

    Returns:
        The figures, which a notebook shows as tables; if the data are the paper's, with its
        figures.

    Raises:
        InputError: no such analysis, setting, dataset, run or system; or the data lack what the
            analysis needs.
    """
    analysis = _named(analysis, settings)
    loaded = _datasets(analysis, datasets, sample)
    if not analysis.people and (sheets or sheet is not None):
        raise InputError(
            f"the analysis {analysis.name} has no sheet", remedy="leave --sheet and --sheets out"
        )
    inputs = Given(
        loaded,
        _runs(analysis, loaded[0], runs, system),
        tuple(Path(path) for path in sheets),
        None if sheet is None else Path(sheet),
        system or analysis.system,
    )
    findings, difference = analysis.find(inputs), _difference(analysis, loaded)
    if difference is None:
        findings = _beside(analysis, findings)
    ids = tuple(path.id for path in loaded)
    return AnalysisResult(analysis, ids, findings, tuple(inputs.runs), difference)


def _named(analysis: Analysis | str, settings: Mapping[str, Any]) -> Analysis:
    """Returns an analysis with its settings."""
    if isinstance(analysis, str):
        return find_analysis(analysis).with_settings(settings)
    if not isinstance(analysis, Analysis):
        raise InputError(
            f"{shown_value(analysis)} is no analysis", remedy="irtoolkit analyse --list lists them"
        )
    if settings:
        raise InputError("settings for an analysis that is made already", remedy="name it instead")
    return analysis


def _beside(analysis: Analysis, findings: Findings) -> Findings:
    """Returns the findings with the paper's figures and remarks on them."""
    tables = tuple(
        table.with_reported(analysis.reported.get(table.name, {})) for table in findings.tables
    )
    return Findings(tables, findings.charts, (*findings.notes, *analysis.remarks))


def _datasets(
    analysis: Analysis, datasets: Dataset | str | Sequence[Dataset | str], sample: bool
) -> tuple[Dataset, ...]:
    if isinstance(datasets, Dataset | str):
        datasets = [datasets]
    if sample and datasets:
        raise InputError(
            "--sample beside a dataset", remedy="leave one out; a sample's id has /sample in it"
        )
    if len(datasets) > 1 and not analysis.several:
        raise InputError(
            f"{len(datasets)} datasets for the analysis {analysis.name}",
            remedy="it takes one at a time; a file of a ranking that is not there reads as a dataset",
        )
    ids: Sequence[Dataset | str] = list(dict.fromkeys(datasets)) or [
        str(DatasetId.parse(name).in_sample()) if sample else name for name in analysis.datasets
    ]
    return tuple(
        dataset if isinstance(dataset, Dataset) else Dataset.load(dataset) for dataset in ids
    )


def _runs(
    analysis: Analysis,
    dataset: Dataset,
    runs: Sequence[StrPath] | Mapping[str, Run],
    system: str | None,
) -> Mapping[str, Run]:
    from irtoolkit.runs.exact_ranks import read_ranks
    from irtoolkit.scoring.check import read_run

    if not analysis.system or analysis.prompted:
        if runs or (system is not None and not analysis.prompted):
            source = "the run" if runs else "--system"
            raise InputError(
                f"the analysis {analysis.name} takes no ranking", remedy=f"leave {source} out"
            )
        return {}
    if runs and system is not None:
        raise InputError(
            "--system beside a run", remedy="give the runs, or the system to rank with"
        )
    if isinstance(runs, Mapping) and runs:
        named = dict(runs)
    elif runs:
        named = {
            Path(shown(path)).name: replace(run, exact_ranks=read_ranks(path, run))
            for path in runs
            for run in [read_run(path, dataset)]
        }
        if len(named) < len(runs):
            raise InputError("two runs have one name", remedy="rename one of the files")
    else:
        named = {system or analysis.system: _ranked(analysis, dataset, system)}
    return named


def _ranked(analysis: Analysis, dataset: Dataset, system: str | None) -> Run:
    from irtoolkit.ranking.candidates import usual_depth
    from irtoolkit.ranking.produce import rank_dataset, ranks_wanted
    from irtoolkit.ranking.systems import find_system

    system_found = find_system(system or analysis.system, {}, dataset.parts).filled()
    depth = usual_depth(dataset, analysis.depth)
    relevant = ranks_wanted(dataset, system_found, depth)
    return rank_dataset(dataset, system_found, depth=depth, relevant=relevant)


def _difference(analysis: Analysis, datasets: Sequence[Dataset]) -> str | None:
    """Returns how the data differ from those that the paper analysed; None if they do not."""
    for dataset in datasets:
        if dataset.parts.sample:
            return SAMPLE_NOTE
        if not analysis.reported:
            continue
        rows = {name for table in analysis.reported.values() for names in table for name in names}
        if dataset.id not in {*analysis.datasets, *rows}:
            return f"{dataset.id} is not what the paper analysed: its figures are not shown."
        differs = dataset.difference()
        if differs is None and analysis.judgments not in (None, _judgments(dataset)):
            differs = f"{_judgments(dataset):,} judgments, not {analysis.judgments:,}"
        if differs is not None:
            return f"{dataset.id}: the data here have {differs}: the paper's figures are not shown."
    return None


def _judgments(dataset: Dataset) -> int:
    return len(dataset.qrels)
