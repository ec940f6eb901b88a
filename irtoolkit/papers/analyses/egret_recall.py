"""EgRet, Appendix B and Figure 4: recall at every depth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats
from irtoolkit.papers.analyses.base import Analysis, Column, Curves, FigureTable, Findings, Given


@dataclass(frozen=True)
class EgretRecall(Analysis):
    """Recall of the relevant document from rank 1 to the last, of rankings with exact ranks.

    Recall at small depths says little about the mean rank, which the last documents decide.
    """

    name: ClassVar[str] = "egret-recall"
    title: ClassVar[str] = "EgRet, App. B and Figure 4: recall at every depth"
    datasets: ClassVar[tuple[str, ...]] = ("egret/dev/left",)
    system: ClassVar[str] = "bm25"
    depth: ClassVar[int | None] = 100

    def find(self, inputs: Given) -> Findings:
        from irtoolkit.scoring.score import score

        dataset = inputs.datasets[0]
        inputs.check_complete(dataset.query_ids())
        scores = score(dataset, dict(inputs.runs), ["Rank"])
        ranks = {name: scores.values(name, "Rank") for name in scores.systems}
        for name, values in ranks.items():
            unknown = int(np.isinf(values).sum())
            if unknown:
                raise InputError(
                    f"the run {name} has no rank for the relevant documents of {unknown} queries",
                    remedy="keep the exact ranks that irtoolkit retrieve writes beside a run",
                )
        last = int(max(values.max() for values in ranks.values()))
        depths = sorted({*(10**i * k for i in range(9) for k in (1, 3) if 10**i * k < last), last})
        figures = {
            name: [*recalls(values, depths), float(values.mean())] for name, values in ranks.items()
        }
        columns = (*(Column(f"R@{depth}", 1) for depth in depths), Column("mean rank", 1))
        title = "Recall in percent, and mean rank"
        table = FigureTable.of("recall", title, "system", columns, figures)
        steps = sorted({round(last ** (i / 120)) for i in range(121)})
        curves = {
            name: list(zip(map(float, steps), recalls(values, steps), strict=True))
            for name, values in ranks.items()
        }
        notes = [*map(str, scores.notes), *crossings(ranks)]
        return Findings((table,), (Curves("recall", "rank", "recall, %", curves),), tuple(notes))


def recalls(ranks: Floats, depths: list[int]) -> list[float]:
    """Returns the percentage of queries with the relevant document at each depth or above it."""
    return [100 * float((ranks <= depth).mean()) for depth in depths]


def crossings(ranks: dict[str, Floats]) -> list[str]:
    """Returns a line for each pair of systems in which the one ahead at first has a worse mean
    rank.
    """
    lines = []
    names = list(ranks)
    for ahead in names:
        for second in names:
            if (ranks[ahead] <= 1).mean() <= (ranks[second] <= 1).mean():
                continue
            if ranks[ahead].mean() <= ranks[second].mean():
                continue
            depths = np.unique(np.concatenate([ranks[ahead], ranks[second]]))
            behind = next(
                d for d in depths if (ranks[ahead] <= d).mean() < (ranks[second] <= d).mean()
            )
            lines.append(
                f"{ahead} is ahead of {second} at rank 1, behind from rank {behind:,.0f} on for the"
                " first time, and has the worse mean rank."
            )
    return lines
