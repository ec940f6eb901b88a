"""What a report says, before it is given a form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath
from irtoolkit.base.ids import Ids
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.reports.first_relevant import FirstRelevant, first_ranks, threshold
from irtoolkit.reports.pairs import MeasureColumn, letter, measure_column
from irtoolkit.reports.texts import TOP, ReportTexts, pick, read_texts
from irtoolkit.runs import Run, provenance
from irtoolkit.runs.exact_ranks import read_ranks
from irtoolkit.scoring.evaluation import Evaluation
from irtoolkit.scoring.significance import Correction, Test

# Queries whose texts a page holds, unless told otherwise.
TEXTS = 200
# What registered collections say where their maker has said nothing.
UNSTATED = "not stated"


@dataclass(frozen=True)
class ReportedSystem:
    """One run.

    Attributes:
        name: as shown; no two are the same.
        letter: what stands for it beside figures that are significantly better.
        file: its file's name, without folders.
        made: how it was made, as its ir_metadata record says; empty without one.
    """

    name: str
    letter: str
    file: str
    made: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class BreakdownPart:
    """One part of a breakdown.

    Attributes:
        name: of the part.
        queries: number of judged queries in it.
        figures: measure to the figure of each system over those queries.
    """

    name: str
    queries: int
    figures: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class ReportContent:
    """A comparison of runs.

    Attributes:
        dataset_id: what the runs are of.
        facts: (name, value) lines about the dataset.
        url: of the paper or dataset, or None.
        systems: in the order given.
        evaluations: of each system.
        columns: one for each measure.
        averaging: how the benchmark averages.
        test, correction: how pairs were tested.
        baseline: the one system that others were tested against; None for every pair.
        chart: the measure that charts show first.
        pair: the two systems that charts show first; the same place twice where there is one.
        first_relevant: ranks of first relevant documents.
        breakdowns: name to its parts.
        texts: what can be read.
        notes: warnings about the runs.
    """

    dataset_id: str
    facts: tuple[tuple[str, str], ...]
    url: str | None
    systems: tuple[ReportedSystem, ...]
    evaluations: tuple[Evaluation, ...]
    columns: tuple[MeasureColumn, ...]
    averaging: str
    test: Test
    correction: Correction
    baseline: int | None
    chart: str
    pair: tuple[int, int]
    first_relevant: FirstRelevant
    breakdowns: Mapping[str, tuple[BreakdownPart, ...]]
    texts: ReportTexts
    notes: tuple[str, ...]

    @property
    def query_ids(self) -> Ids:
        """(Q,) the judged queries."""
        return self.evaluations[0].query_ids

    def column(self, measure: str) -> MeasureColumn:
        """The column of a measure."""
        return next(column for column in self.columns if column.measure == measure)

    def gains(self, measure: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        """(Q,) by how much the first of the pair is better than the second; nan where unknown."""
        first, second = (self.evaluations[place].per_query(measure) for place in self.pair)
        with np.errstate(invalid="ignore"):
            gain = np.where(first == second, 0.0, first - second)
        gain = np.where(np.isfinite(first) & np.isfinite(second), gain, np.nan)
        return -gain if self.column(measure).lower else gain


def compose(
    dataset_id: str,
    evaluations: Mapping[str, Evaluation],
    *,
    averaging: str = "mean over queries",
    notes: Sequence[str] = (),
    names: Sequence[str] = (),
    chart: str | None = None,
    pair: Sequence[str] = (),
    baseline: str | None = None,
    test: Test = "student",
    correction: Correction = "holm",
    rel: int | None = None,
    texts: int = TEXTS,
) -> ReportContent:
    """Puts a report together from runs that have been scored.

    Args:
        dataset_id: any dataset, or a TREC qrels file, which has no texts to show.
        evaluations: by path of the run.
        averaging: how figures were averaged.
        notes: warnings about the runs.
        names: of the systems in order; by default their runs' tags, or file names where tags are
            not told apart.
        chart: the measure that charts show first; by default the first.
        pair: paths of the two runs that charts show first; by default the first two.
        baseline: path of the run that each other is tested against; by default every pair is.
        test, correction: see `irtoolkit.scoring.significance`.
        rel: lowest grade that counts as relevant; by default what the measures say.
        texts: at most so many queries get their texts.

    Raises:
        InputError: a name, run or measure that is not there; names that are not one for each run.
    """
    dataset = Dataset.of(dataset_id)
    qrels = dataset.qrels
    paths, scored = list(evaluations), list(evaluations.values())
    measures = scored[0].measures
    shown = next(iter(measures)) if chart is None else chart
    if shown not in measures:
        raise InputError(
            f"no measure {shown!r} in the report", remedy=f"it has {', '.join(measures)}"
        )
    places = [_place(path, paths) for path in pair] or [0, min(1, len(paths) - 1)]
    against = None if baseline is None else _place(baseline, paths)
    columns = tuple(
        measure_column(scored, name, test=test, correction=correction, baseline=against)
        for name in tqdm(measures, "testing", disable=None, leave=False)
    )
    grade = threshold(list(measures.values())) if rel is None else rel
    order = _order(scored, places, shown)
    can_read = dataset.has_queries() and dataset.has_docs()
    chosen = pick(order, texts) if can_read else []
    asked = {str(qrels.query_ids[place]) for place in chosen}
    tags, firsts, depths, exact, tops = [], [], [], [], []
    for path in tqdm(paths, "reading", disable=None, leave=False):
        run = Run.read(path)
        ranks = read_ranks(path)
        tags.append(run.tag)
        firsts.append(first_ranks(run, qrels, ranks, grade))
        depths.append(int(np.diff(run.offsets).max()))
        exact.append(ranks is not None)
        tops.append({q: [row.doc_id for row in run.ranking(q)[:TOP]] for q in asked})
    lacking = int(np.isnan(firsts[0]).sum())
    golds = FirstRelevant(grade, lacking, tuple(firsts), tuple(depths), tuple(exact))
    systems = tuple(
        ReportedSystem(name, letter(i), Path(path).name, _made(path))
        for i, (name, path) in enumerate(zip(_names(names, tags, paths), paths, strict=True))
    )
    read = _texts(dataset, qrels, chosen, tops, grade, len(order), systems, places, shown)
    return ReportContent(
        dataset_id, _facts(dataset, len(qrels.query_ids)), _url(dataset), systems, tuple(scored),
        columns, averaging, test, correction, against, shown, (places[0], places[1]), golds,
        _breakdowns(dataset, scored), read,
        tuple(_said(line, paths, systems) for line in notes),
    )  # fmt: skip


def _said(line: str, paths: Sequence[str], systems: Sequence[ReportedSystem]) -> str:
    """A warning that names a system, and not where its file lies on some machine."""
    line = line.removeprefix("note: ")
    # The longest first: one path may begin another.
    for path, system in sorted(zip(paths, systems, strict=True), key=lambda pair: -len(pair[0])):
        if line.startswith(path):
            return system.name + line.removeprefix(path)
    return line


def _place(path: StrPath, paths: list[str]) -> int:
    wanted = Path(path).resolve()
    for i, known in enumerate(paths):
        if Path(known).resolve() == wanted:
            return i
    raise InputError(f"{path} is not among the runs", remedy=f"they are {', '.join(paths)}")


def _names(names: Sequence[str], tags: list[str], paths: list[str]) -> list[str]:
    if names:
        if len(names) != len(paths):
            raise InputError(f"{len(names)} names for {len(paths)} runs", remedy="one for each")
        if len(set(names)) != len(names):
            raise InputError("two systems have the same name")
        return list(names)
    stems = [Path(path).name.removesuffix(".gz") for path in paths]
    stems = [stem.rpartition(".")[0] or stem for stem in stems]
    for found in (tags, stems):
        if len(set(found)) == len(found):
            return found
    # Files of one name in several folders are told apart by the folders.
    return paths


def _order(
    evaluations: list[Evaluation], pair: Sequence[int], measure: str
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """What queries are ordered by when some are picked: a difference, or one system's value."""
    first, second = (evaluations[place].per_query(measure) for place in pair)
    if pair[0] == pair[1]:
        return first
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(first - second, nan=0.0)


def _texts(
    dataset: Any,
    qrels: Any,
    chosen: list[int],
    tops: list[dict[str, list[str]]],
    rel: int,
    count: int,
    systems: Sequence[ReportedSystem],
    pair: Sequence[int],
    measure: str,
) -> ReportTexts:
    if dataset.in_memory and not dataset.has_queries():
        return ReportTexts(why="The judgments come without texts.")
    if not (dataset.has_queries() and dataset.has_docs()):
        return ReportTexts(why="The dataset has no texts of queries and documents.")
    if not chosen:
        return ReportTexts(why="No texts were asked for.")
    read = read_texts(dataset, qrels, chosen, tops, rel)
    if len(chosen) == count:
        return read
    one, two = systems[pair[0]].name, systems[pair[1]].name
    what = f"{measure} of {one}" if pair[0] == pair[1] else f"{measure} of {one} minus {two}"
    return ReportTexts(
        read.entries, read.query_lang, read.doc_lang,
        f"This page holds the texts of {len(chosen):,} of the {count:,} queries, spread evenly"
        f" over all queries in the order of {what}, with both ends. Figures and charts are of all"
        " queries.",
    )  # fmt: skip


def _breakdowns(
    dataset: Dataset, evaluations: list[Evaluation]
) -> dict[str, tuple[BreakdownPart, ...]]:
    ours = dataset.about
    found = {}
    for name in {} if ours is None else ours.breakdowns:
        parts = []
        for part, queries in dataset.breakdown(name).items():
            figures = [evaluation.over(queries) for evaluation in evaluations]
            by_measure = {measure: tuple(f[measure] for f in figures) for measure in figures[0]}
            parts.append(BreakdownPart(part, len(queries), by_measure))
        found[name] = tuple(parts)
    return found


def _facts(dataset: Any, queries: int) -> tuple[tuple[str, str], ...]:
    facts = [("Queries", f"{queries:,} judged")]
    ours = dataset.about
    if ours is not None:
        facts = [
            ("Task", ours.description or ours.title), ("Benchmark", ours.title),
            ("Paper", ours.citation), ("Licence of the data", ours.licence), *facts,
        ]  # fmt: skip
        count = dataset.queries_count() if dataset.has_queries() else queries
        if ours.published is not None and count != ours.published:
            facts.append(
                ("Data", f"not the published release, which has {ours.published:,} queries")
            )
    return tuple(
        (name, " ".join(value.split())) for name, value in facts if value not in ("", UNSTATED)
    )


def _url(dataset: Any) -> str | None:
    ours = dataset.about
    return None if ours is None or not ours.url.startswith(("https://", "http://")) else ours.url


def _made(path: StrPath) -> tuple[tuple[str, str], ...]:
    """What a reader wants of a run's record: nothing of the machine it was made on."""
    record = provenance.read(path) or {}
    made = record.get("irtoolkit")
    if not isinstance(made, dict):
        return ()
    settings = made.get("settings")
    lines = {
        "system": made.get("system"),
        "retriever": made.get("retriever"),
        "settings": " ".join(f"{k}={v}" for k, v in settings.items())
        if isinstance(settings, dict)
        else None,
        "made for": made.get("dataset"),
        "irtoolkit": made.get("version"),
        "date": record.get("date"),
    }
    return tuple((name, str(value)) for name, value in lines.items() if value not in (None, ""))
