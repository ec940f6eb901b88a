"""PlotRetrieval, §5.3 and Figure 3: people and a system choose among a few candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.analyses._sheets import Filled, Sheet
from irtoolkit.papers.analyses.base import (
    Analysis,
    Bars,
    Column,
    FigureRow,
    FigureTable,
    Findings,
    Given,
)

CHOSEN, YES = "chosen", "yes"
SHEET = Sheet(("query", "candidate"), ("text", "passage"), {CHOSEN: (YES,)})
# More candidates than this nobody reads.
MOST = 100


@dataclass(frozen=True)
class PlotPeople(Analysis):
    """Accuracy of each person, of all on average, and of a system on the same queries.

    The datasets are those of `irtoolkit nway`, for example plotretrieval/val/20-way.
    """

    name: ClassVar[str] = "plotretrieval-people"
    title: ClassVar[str] = "PlotRetrieval, Figure 3: people and a system among a few candidates"
    datasets: ClassVar[tuple[str, ...]] = ("plotretrieval/test/20-way",)
    system: ClassVar[str] = "bm25"
    people: ClassVar[bool] = True

    def find(self, inputs: Given) -> Findings:
        dataset = inputs.datasets[0]
        pools, golds = _few(dataset), dataset.relevant()
        if inputs.sheet is not None:
            _write(inputs, pools)
            return Findings((), notes=(f"{CHOSEN}: {YES} for one candidate of each query.",))
        filled = SHEET.read(inputs.sheets)
        chosen = {name: _choices(name, choices, pools) for name, choices in filled.items()}
        queries = sorted({query for choices in chosen.values() for query in choices})
        inputs.check_complete(queries)
        rows = [
            FigureRow((name,), (len(choices), 100 * _accuracy(choices, golds)))
            for name, choices in chosen.items()
        ]
        shares = [100 * _accuracy(choices, golds) for choices in chosen.values()]
        rows.append(FigureRow(("people, mean",), (len(queries), sum(shares) / len(shares))))
        for name, run in inputs.runs.items():
            first = {query: run.ranking(query)[0].doc_id for query in queries}
            rows.append(FigureRow((name,), (len(queries), 100 * _accuracy(first, golds))))
        columns = (Column("queries", 0), Column("accuracy, %"))
        table = FigureTable("accuracy", "Choosing the passage", ("who",), columns, tuple(rows))
        drawn = rows[len(chosen) :]
        bars = {"accuracy": [float(str(row.values[1])) for row in drawn]}
        chart = Bars("accuracy", "", "accuracy, %", [row.names[0] for row in drawn], bars)
        return Findings((table,), (chart,))


def _few(dataset: Dataset) -> dict[str, Sequence[str]]:
    """Returns the candidates of each query, which must be few."""
    pools = dataset.pools()
    largest = max(map(len, pools.values()), default=0)
    if not 1 < largest <= MOST:
        raise InputError(
            f"a query of {dataset.id} has {largest:,} candidates, too many to read",
            remedy="irtoolkit nway picks a few, for a dataset such as plotretrieval/val/20-way",
        )
    return pools


def _write(inputs: Given, pools: Mapping[str, Sequence[str]]) -> None:
    dataset = inputs.datasets[0]
    docs = dataset.docs_store()
    texts = {query.query_id: query.default_text() for query in dataset.queries}
    assert inputs.sheet is not None
    # In order of id, which says nothing about relevance.
    rows = [
        {
            "query": query,
            "candidate": doc,
            "text": texts[query],
            "passage": docs.get(doc).default_text(),
        }
        for query, pool in pools.items()
        for doc in sorted(pool)
    ]
    SHEET.write(inputs.sheet, rows)


def _choices(
    name: str, filled: Mapping[tuple[str, ...], Filled], pools: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Returns query id to the candidate that one person chose."""
    choices: dict[str, str] = {}
    for query, doc in filled:
        if doc not in pools.get(query, ()):
            raise InputError(
                f"{doc} is no candidate of query {query}",
                file=name,
                remedy="name the dataset that the sheet was made for",
            )
        if query in choices:
            raise InputError(f"query {query} has two candidates that are chosen", file=name)
        choices[query] = doc
    return choices


def _accuracy(chosen: Mapping[str, str], golds: Mapping[str, Sequence[str]]) -> float:
    """Returns the share of queries whose chosen candidate is relevant."""
    return sum(doc in golds.get(query, ()) for query, doc in chosen.items()) / len(chosen)
