"""RELiC, Table A9: retrieval of quotations by their length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.papers.analyses._queries import windows_of
from irtoolkit.papers.analyses.base import Analysis, Bars, Column, FigureTable, Findings, Given

DEPTHS = (1, 3, 5, 10, 50, 100)


@dataclass(frozen=True)
class RelicLengths(Analysis):
    """Recall and mean rank by the length of the quotation in sentences.

    The paper's figures are of the hidden test split: `irtoolkit reproduce relic-length --all` shows
    them.
    """

    name: ClassVar[str] = "relic-lengths"
    title: ClassVar[str] = "RELiC, Table A9: how well quotations of each length are found"
    datasets: ClassVar[tuple[str, ...]] = ("relic/val",)
    system: ClassVar[str] = "BM25-4-4"
    depth: ClassVar[int | None] = DEPTHS[-1]

    def find(self, inputs: Given) -> Findings:
        from irtoolkit.scoring.score import score

        dataset = inputs.datasets[0]
        lengths = {window.query_id: window.length for window in windows_of(dataset)}
        inputs.check_complete(lengths)
        measures = [*(f"R@{k}" for k in DEPTHS), "Rank"]
        scores = score(dataset, dict(inputs.runs), measures)
        pools = dataset.pools()
        of_length: dict[int, list[str]] = {}
        for query in scores.query_ids:
            of_length.setdefault(lengths[query], []).append(query)
        if not of_length:
            raise InputError(f"dataset {dataset.id} has no judged windows")
        tables, bars = [], {}
        for name in scores.systems:
            rows = {}
            for length, queries in sorted(of_length.items()):
                means = scores[name].over(queries)
                recalls = [100 * means[measure] for measure in measures[:-1]]
                sizes = float(np.mean([len(pools[query]) for query in queries]))
                rows[str(length)] = (len(queries), *recalls, means["Rank"], sizes)
            columns = (
                Column("windows", 0),
                *(Column(m, 1) for m in measures[:-1]),
                Column("mean rank", 1),
                Column("candidates", 1),
            )
            label = "lengths" if len(scores) == 1 else f"lengths-{name}"
            title = f"{name} by the length of the quotation, recall in percent"
            tables.append(FigureTable.of(label, title, "sentences", columns, rows))
            bars[name] = [figures[4] for figures in rows.values()]
        groups = [str(length) for length in sorted(of_length)]
        chart = Bars("lengths", "sentences of the quotation", "R@10, %", groups, bars)
        return Findings(tuple(tables), (chart,), tuple(map(str, scores.notes)))
