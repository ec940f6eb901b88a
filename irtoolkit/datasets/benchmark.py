"""The record of a benchmark that each of its datasets carries, and how it is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from irtoolkit.base.plurals import number_of
from irtoolkit.datasets.source import DATA_VARIABLE, ReleaseSource, sample_source

# The measures of a dataset that names none.
DEFAULT_MEASURES = ("nDCG@10", "AP", "RR", "P@10", "R@100")

# The usual name of an edition of a benchmark's data.
RELEASE = "published release"

# The text of a field that is unknown.
NOT_STATED = "not stated"

# Returns {part: query ids}, in the order in which tables list the parts.
Breakdown = Callable[[], Mapping[str, Sequence[str]]]
# Sets of query ids.
Folds = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Statistic:
    """A figure of a benchmark's statistics table.

    Attributes:
        name: the quantity that is counted or averaged.
        value: the figure computed from the data.
        reported: the figure that the benchmark's paper prints, if it prints one.
        edition: the edition of the data that the printed figure is of, if there are several.
    """

    name: str
    value: float
    reported: float | None = None
    edition: str | None = None

    def unreported(self) -> Statistic:
        """Returns the same figure without the paper's, for data that are not the paper's."""
        return replace(self, reported=None, edition=None)

    def of_edition(self, edition: str) -> Statistic:
        """Returns the same figure with the edition of the printed one, if there is one."""
        return self if self.reported is None else replace(self, edition=edition)


@dataclass(frozen=True)
class EvaluationProtocol:
    """The evaluation protocol of a benchmark.

    Attributes:
        measures: the benchmark's own measures as ir_measures names, in the order of its tables.
        folds: sets of query ids. A measure's figure is the mean of its means over each set. Empty
            means one set with every judged query.
        note: how values are averaged, in words for tables.
        main: the measure that systems are ranked by; by default the first.
    """

    measures: tuple[str, ...] = DEFAULT_MEASURES
    folds: Folds = ()
    note: str = "mean over queries"
    main: str = ""

    def __post_init__(self) -> None:
        if not self.main and self.measures:
            object.__setattr__(self, "main", self.measures[0])


def _nowhere() -> str | None:
    return None


def _no_statistics() -> list[Statistic]:
    return []


@dataclass(frozen=True)
class Benchmark:
    """A published benchmark, with the facts of one of its datasets.

    A benchmark's module states the benchmark once. Each dataset is that record with its own facts
    (`dataclasses.replace`) and the location of its files (`at`), and carries it as one of
    ir_datasets' constituents, so that `dataset.irtoolkit()` returns it.

    Attributes:
        name: the first part of the benchmark's ids and the name of its folder in $IRTOOLKIT_DATA.
        title: the benchmark's name in print.
        citation: authors, year and venue of the paper.
        url: the web page of the release.
        licence: the licence of the release.
        bibtex: the paper's BibTeX entry.
        description: the task in one sentence.
        overview: all tasks in one sentence, for a benchmark whose datasets have different ones.
        instruction: what the queries are for, as the benchmark tells a model; empty if it does not.
        measures: the benchmark's own measures as ir_measures names, in the order of its tables.
        main: the measure that systems are ranked by; by default the first.
        averaging: how values are averaged, in words for tables.
        folds: returns the sets of query ids that are averaged separately; none by default.
        statistics_of: computes the statistics table of the dataset.
        breakdowns: named ways to divide the queries into parts.
        gold_of: returns the id of the gold document of a query with several relevant ones.
        editions: edition of the published data to its number of queries, to tell it from other
            data; most have one, "published release".
        view_of: the id of the dataset that has the same queries with more of their texts, the same
            candidates and the same judgments; empty for a dataset that is not a view.
        listed: whether `irtoolkit datasets` has a line for the dataset.
        where: returns the folder of the files, or None while they are not on this machine.
        howto: what to get and where to put it.
        revision: the commit of data on the hub; empty for other data.
        fetch: returns the folder of the files, after downloading them if need be; None for data that
            irtoolkit does not download.
    """

    name: str
    title: str
    citation: str = NOT_STATED
    url: str = NOT_STATED
    licence: str = NOT_STATED
    bibtex: str = ""
    description: str = ""
    overview: str = ""
    instruction: str = ""
    measures: tuple[str, ...] = DEFAULT_MEASURES
    main: str = ""
    averaging: str = "mean over queries"
    folds: Callable[[], Folds] = tuple
    statistics_of: Callable[[], list[Statistic]] = _no_statistics
    breakdowns: Mapping[str, Breakdown] = field(default_factory=dict)
    gold_of: Callable[[Any], str] | None = None
    editions: Mapping[str, int] = field(default_factory=dict)
    view_of: str = ""
    listed: bool = True
    where: Callable[[], str | None] = _nowhere
    howto: str = ""
    revision: str = ""
    fetch: Callable[[], Path] | None = None

    def protocol_of(self) -> EvaluationProtocol:
        """Returns the evaluation protocol; opens the files of a dataset that has folds."""
        return EvaluationProtocol(self.measures, self.folds(), self.averaging, self.main)

    def difference(self, queries: int, edition: str | None = None) -> str | None:
        """Returns how data with a number of queries differ from the published data, or None.

        Args:
            queries: the number of queries in the data.
            edition: the required edition; None accepts any.
        """
        same = [name for name, count in self.editions.items() if count == queries]
        if not self.editions or (same and edition in (None, *same)):
            return None
        if set(self.editions.values()) == {-1}:
            return f"{number_of(queries, 'queries')} of texts of one's own, not those of the paper"
        names = [name for name in self.editions if edition in (None, name)] or self.editions
        expected = " or ".join(f"the {self.editions[name]} of the {name}" for name in names)
        whose = f", those of the {same[0]}" if same else ""
        return f"{number_of(queries, 'queries')}{whose}, not {expected}"

    def variants(self) -> Iterator[tuple[str, bool]]:
        """Yields the first part of the ids, and whether they name the invented sample."""
        yield self.name, False
        yield f"{self.name}/sample", True

    def source(
        self,
        files: Sequence[str],
        *,
        sample: bool,
        howto: str,
        download: Callable[[Path], None] | None = None,
    ) -> ReleaseSource:
        """Returns the location of a dataset's files; `howto` gets the folder's name appended."""
        if sample:
            return sample_source(self.name, tuple(files))
        remedy = f"{howto} ${DATA_VARIABLE}/{self.name}/"
        return ReleaseSource(self.name, tuple(files), remedy, download=download)

    def of_documents(self, noun: str, documents: Callable[[], Sized]) -> Benchmark:
        """Returns the record of a dataset that has the documents of others, without queries."""
        return replace(
            self, statistics_of=lambda: [Statistic(noun, len(documents()))], listed=False
        )

    def at(self, source: ReleaseSource) -> Benchmark:
        """Returns the record of a dataset whose files are at a source.

        The sample's record has none of the paper's figures: they describe other data. Users' own
        data keep them for comparison, and are never taken for the published data.
        """
        placed = replace(self, where=source.where, howto=source.howto)
        if source.download is not None:
            placed = replace(placed, fetch=source.folder)
        if source.built:
            return replace(
                placed,
                title=f"{self.title} (built from other texts)",
                licence="that of its texts; see SOURCES.txt",
                editions=dict.fromkeys(self.editions, -1) or {RELEASE: -1},
                listed=False,
            )
        if not source.sample:
            return placed
        return replace(
            placed,
            title=f"{self.title} (invented sample)",
            licence="Apache-2.0",
            statistics_of=lambda: [row.unreported() for row in self.statistics_of()],
            editions={},
        )

    def irtoolkit(self) -> Benchmark:
        """Returns the record itself; ir_datasets' Dataset forwards this call to its constituent."""
        return self

    def documentation(self) -> dict[str, Any]:
        """Returns ir_datasets' documentation record."""
        return {"pretty_name": self.title, "desc": self.description, "bibtex": self.bibtex}
