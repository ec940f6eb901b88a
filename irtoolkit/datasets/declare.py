"""What all datasets of one benchmark have in common, said once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irtoolkit.datasets.handlers import Benchmark, Breakdown, Protocol, Statistic
from irtoolkit.datasets.source import DATA_VARIABLE, Source, sample_source


@dataclass(frozen=True)
class Paper:
    """A published benchmark.

    Attributes:
        name: its id's first part, and its folder's name under $IRTOOLKIT_DATA.
        title: the name in print.
        citation: authors, year, venue.
        url: where the release is.
        licence: the release's.
        bibtex: the paper's entry.
        description: one sentence on the task.
    """

    name: str
    title: str
    citation: str
    url: str
    licence: str
    bibtex: str
    description: str

    def variants(self) -> Iterator[tuple[str, bool]]:
        """The id that datasets begin with, and whether they are the invented sample."""
        yield self.name, False
        yield f"{self.name}/sample", True

    def source(
        self,
        files: Sequence[str],
        *,
        sample: bool,
        howto: str,
        download: Callable[[Path], None] | None = None,
    ) -> Source:
        """Where the files of a dataset are; `howto` ends "and put ... into" their folder."""
        if sample:
            return sample_source(self.name, tuple(files))
        told = f"{howto} ${DATA_VARIABLE}/{self.name}/"
        return Source(self.name, tuple(files), told, download=download)

    def about(
        self,
        source: Source,
        *,
        measures: Sequence[str],
        statistics: Callable[[], list[Statistic]],
        protocol: Callable[[], Protocol] | None = None,
        breakdowns: Mapping[str, Breakdown] | None = None,
        gold_of: Callable[[Any], str] | None = None,
        published: int | None = None,
        listed: bool = True,
    ) -> Benchmark:
        """The record of one dataset. The paper's own figures never stand beside the sample's."""
        sample = source.sample

        def table() -> list[Statistic]:
            found = statistics()
            return [row.unreported() for row in found] if sample else found

        return Benchmark(
            name=self.name,
            title=self.title + (" (invented sample)" if sample else ""),
            paper=self.citation,
            url=self.url,
            licence="Apache-2.0" if sample else self.licence,
            bibtex=self.bibtex,
            where=source.where,
            howto=source.howto,
            description=self.description,
            protocol_of=protocol or (lambda: Protocol(tuple(measures))),
            statistics_of=table,
            breakdowns=dict(breakdowns or {}),
            gold_of=gold_of,
            published=None if sample else published,
            listed=listed,
        )
