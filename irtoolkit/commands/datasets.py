"""List the datasets, show one, or download one.

The list says which datasets are on this machine and how to get the others. With ID, it shows the
dataset's task, paper, licence and evaluation protocol, and the statistics table of its paper
computed from the data beside the figures that the paper prints.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.plurals import number_of
from irtoolkit.base.tables import TextTable
from irtoolkit.commands import add_format, argument, note, print_json, print_lines, print_table

if TYPE_CHECKING:
    from irtoolkit.base.tables import TableCell
    from irtoolkit.datasets.benchmark import Benchmark

HELP = "list datasets, show one with its statistics, or download one"
EXAMPLES = (
    "irtoolkit datasets",
    "irtoolkit datasets csfcube/sample",
    "irtoolkit datasets csfcube --download",
)
_FIELDS = ("id", "queries", "docs", "licence", "where", "how to get it")
# Names of fields in text that differ from those in JSON.
_LABELS = {"where": "files"}


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("[ID]", "a dataset, or the beginning of ids, such as birco; default: list all datasets")
    add("--download", "download the release of ID if it is not here yet")
    add_format(parser)


def execute(args: argparse.Namespace) -> None:
    if args.download:
        if args.id is None:
            raise InputError("--download without ID")
        _download(args.id)
    if args.id is not None and _is_beginning(args.id):
        rows = (row for row in _rows(f"{args.id}/") if row.listed)
        _print_list(rows, args.format)
    elif args.id is not None:
        _print_one(_describe(args.id), args.format)
    else:
        _print_list(_rows(), args.format)


def _download(dataset_id: str) -> None:
    from irtoolkit.datasets.dataset import Dataset

    benchmark = Dataset.load(dataset_id).about
    if benchmark is None:
        raise InputError(
            f"irtoolkit does not download {dataset_id}",
            remedy="ir_datasets downloads its own datasets when they are first used",
        )
    where = benchmark.where()
    if where is None:
        if benchmark.fetch is None:
            raise InputError(f"irtoolkit cannot download {dataset_id}", remedy=benchmark.howto)
        where = str(benchmark.fetch())
    note(f"{dataset_id}: files in {where}")


@dataclass(frozen=True)
class _Row:
    """A dataset in the list.

    Attributes:
        id: the dataset's id.
        about: the record of its benchmark; None for datasets of other packages without one.
        queries: the number of queries; None if unknown.
        docs: the number of documents; None if unknown.
        where: the folder of its files; None while they are not on this machine.
        problem: what is wrong with existing files.
    """

    id: str
    about: Benchmark | None
    queries: int | None = None
    docs: int | None = None
    where: str | None = None
    problem: str | None = None

    @property
    def listed(self) -> bool:
        return self.about is None or self.about.listed

    @property
    def benchmark(self) -> str:
        return "" if self.about is None else self.about.name

    def cells(self) -> list[TableCell]:
        """Returns the values of `_FIELDS`."""
        licence = None if self.about is None else self.about.licence
        howto = None if self.about is None else self.about.howto
        needed = None if self.where else self.problem or howto
        return [self.id, self.queries, self.docs, licence, self.where, needed]

    def counts(self) -> str:
        queries = "" if self.queries is None else f"{self.queries:>8,} queries"
        docs = "" if self.docs is None else f"{self.docs:>11,} documents"
        return f"{queries:>16}{docs}"

    def status(self) -> str:
        """Returns the location of the files, or how to get them."""
        from irtoolkit.datasets.benchmark import NOT_STATED
        from irtoolkit.datasets.identity import DatasetId

        if self.about is None:
            return "from another package"
        if self.problem is not None:
            return f"cannot be used: {self.problem}"
        if self.where is None:
            first = "" if self.about.fetch is None else "downloaded when first used; or "
            return f"not on this machine: {first}{self.about.howto}"
        if DatasetId.parse(self.id).sample:
            return f"small invented sample that ships with irtoolkit ({self.about.licence})"
        licence = self.about.licence
        licence_note = "" if licence == NOT_STATED else f" (licence: {licence})"
        return f"on this machine in {self.where}{licence_note}"


def _is_beginning(name: str) -> bool:
    """Returns whether a name is not a dataset but the beginning of several, as birco is."""
    import ir_datasets

    from irtoolkit.datasets import dataset_ids

    return name not in {*dataset_ids(), *ir_datasets.registry} and any(
        dataset_id.startswith(f"{name}/") for dataset_id in dataset_ids()
    )


def _rows(beginning: str = "") -> Iterator[_Row]:
    """Yields the datasets whose ids have a prefix."""
    from irtoolkit.datasets import dataset_ids
    from irtoolkit.datasets.dataset import Dataset

    for dataset_id in dataset_ids():
        if not dataset_id.startswith(beginning):
            continue
        dataset = Dataset.load(dataset_id)
        benchmark = dataset.about
        if benchmark is None or not benchmark.listed:
            yield _Row(dataset_id, benchmark)
            continue
        try:
            where = benchmark.where()
            if where is None:  # counting would start a download
                yield _Row(dataset_id, benchmark)
                continue
            queries = dataset.queries_count() if dataset.has("queries") else None
            yield _Row(dataset_id, benchmark, queries, dataset.docs_count(), where)
        except InputError as error:
            yield _Row(dataset_id, benchmark, problem=str(error))


def _print_list(rows: Iterable[_Row], form: str) -> None:
    if form == "text":
        _print_groups(rows)
    else:
        print_table(form, TextTable(_FIELDS, [row.cells() for row in rows if row.listed]))


def _print_groups(rows: Iterable[_Row]) -> None:
    """Prints the list for a terminal, benchmark by benchmark as their files are read."""
    for _, members in groupby(rows, key=lambda row: row.benchmark):
        group = list(members)
        listed = [row for row in group if row.listed]
        benchmark = group[0].about
        print_lines("Datasets of other packages" if benchmark is None else _heading(benchmark))
        statuses: dict[str, list[_Row]] = {}
        for row in listed:
            statuses.setdefault(row.status(), []).append(row)
        width = max((len(row.id) for row in listed), default=0)
        for status, alike in statuses.items():
            print_lines(status, 2)
            for row in alike:
                print(f"    {row.id:<{width}}{row.counts()}".rstrip())
        variants = [row.id for row in group if not row.listed]
        if variants:
            bases = tuple(f"{row.id}/" for row in listed)
            example = next((name for name in variants if name.startswith(bases)), variants[0])
            print_lines(
                f"and {number_of(len(variants), 'variants')} of these, such as {example}", 2
            )
        print(flush=True)
    print("irtoolkit datasets ID shows one of them, with its protocol and statistics.")


def _heading(benchmark: Benchmark) -> str:
    task = benchmark.overview or benchmark.description
    return f"{benchmark.title}: {task}" if task else benchmark.title


def _describe(dataset_id: str) -> dict[str, Any]:
    from dataclasses import asdict

    from irtoolkit.datasets.benchmark import Statistic
    from irtoolkit.datasets.dataset import Dataset

    dataset = Dataset.load(dataset_id)
    benchmark = dataset.about
    record: dict[str, Any] = {"id": dataset_id}
    if benchmark is not None:
        where = benchmark.where()
        record |= {
            "title": benchmark.title,
            "task": benchmark.description,
            **({"instruction": benchmark.instruction} if benchmark.instruction else {}),
            "paper": benchmark.citation,
            "url": benchmark.url,
            "licence": benchmark.licence,
            "where": where or f"not on this machine: {benchmark.howto}",
        }
        if where is None:  # reading more would start a download
            return {**record, "statistics": []}
        statistics = benchmark.statistics_of()
    else:
        statistics = [
            Statistic(kind, getattr(dataset, f"{kind}_count")())
            for kind in ("docs", "queries", "qrels", "scoreddocs")
            if dataset.has(kind) and hasattr(dataset, f"{kind}_count")
        ]
    record["documents"] = dataset.docs_count() if dataset.has("docs") else None
    plan = dataset.protocol
    record |= {"measures": " ".join(plan.measures), "averaging": plan.note}
    record["statistics"] = [
        {key: value for key, value in asdict(row).items() if key != "edition" or value}
        for row in statistics
    ]
    return record


def _print_one(record: dict[str, Any], form: str) -> None:
    if form == "json":
        print_json(record)
        return
    if form == "text":
        for field, value in record.items():
            if field != "statistics" and value not in (None, ""):
                print_lines(f"{_LABELS.get(field, field)}: {value}")
        if not record["statistics"]:
            return
        print()
    statistics = record["statistics"]
    rows = [[s["name"], s["value"], s["reported"], s.get("edition")] for s in statistics]
    headers = ["statistic", "computed", "paper", "edition"]
    for number, last in ((3, "edition"), (2, "reported")):
        unused = all(s.get(last) is None for s in statistics)
        if unused and (form == "text" or last == "edition"):
            headers, rows = headers[:number], [row[:number] for row in rows]
    title = None if form == "text" else record["id"]
    print(TextTable(headers, rows, title, places=2).render(form))
