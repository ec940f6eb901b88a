"""Choosing rows where they are not reported, and the run of what was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from quality_rows import Row, Table

from irtoolkit.measures.traits import traits
from irtoolkit.runs import Run
from irtoolkit.scoring.evaluation import Evaluation
from irtoolkit.scoring.score import Scores, score

BEST = "best of all"


@dataclass(frozen=True)
class Choice:
    """What was chosen of some rows.

    Attributes:
        title: of the row in the table.
        of: the names of the rows that there were.
        by_fold: the chosen row of each fold, or of the whole.
        commands: by name, of those that were chosen.
    """

    title: str
    of: tuple[str, ...]
    by_fold: tuple[str, ...]
    commands: dict[str, list[str]]

    @property
    def rows(self) -> tuple[str, ...]:
        """The chosen row of each fold; where all chose the same, that one alone."""
        return self.by_fold[:1] if len(set(self.by_fold)) == 1 else self.by_fold

    def record(self) -> dict[str, Any]:
        """What the results say of it."""
        return {
            "group": self.title, "chosen": list(self.by_fold), "of": list(self.of),
            "commands": [line for name in dict.fromkeys(self.by_fold) for line in self.commands[name]],
        }  # fmt: skip


def groups_of(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows that one of is chosen: each group of alternatives, and all rows together."""
    named: dict[str, list[Row]] = {}
    for row in rows:
        if row.alternative:
            named.setdefault(f"best {row.group}", []).append(row)
    return {**named, BEST: list(rows)}


def best_of(title: str, rows: Sequence[Row], held_out: Scores, table: Table) -> Choice:
    """The best of some rows by the main measure, the first of equals, for each fold on the others."""
    names = [row.name for row in rows if row.tried and row.name in held_out.systems]
    sign = -1 if traits(held_out.measures[table.main]).lower_is_better else 1
    folds = held_out[names[0]].folds if table.by_folds else (np.arange(len(held_out.query_ids)),)
    picked = []
    for fold in folds:
        seen = set(fold) if not table.by_folds else set(range(len(held_out.query_ids))) - set(fold)
        queries = [held_out.query_ids[place] for place in sorted(seen)]
        worth = [sign * held_out[name].over(queries)[table.main] for name in names]
        picked.append(names[int(np.argmax(worth))])
    lines = {row.name: row.told(table.choose) for row in rows}
    return Choice(title, tuple(names), tuple(picked), {name: lines[name] for name in picked})


def twins(fixed: Sequence[str], choices: Sequence[Choice]) -> dict[str, str]:
    """The choices that chose what another row of the table is already, by title, and that row."""
    first = {(name,): name for name in fixed}
    same = {}
    for choice in choices:
        if first.setdefault(choice.rows, choice.title) != choice.title:
            same[choice.title] = first[choice.rows]
    return same


def evaluated(choice: Choice, found: Scores, table: Table) -> Evaluation:
    """The values of a choice: with several folds, those of each fold's choice for its queries."""
    if len(choice.rows) == 1:
        return found[choice.rows[0]]
    merged = {}
    for fold, name in zip(found[choice.by_fold[0]].folds, choice.by_fold, strict=True):
        for place in fold:
            query = found.query_ids[place]
            merged[query] = {row.doc_id: row.score for row in found.runs[name].ranking(query)}
    return score(table.report, {choice.title: Run.of(merged)}, table.measures)[choice.title]
