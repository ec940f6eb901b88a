"""What a query takes, once the documents of a system are prepared."""

from __future__ import annotations

import shlex
import statistics
import time
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from secrets import token_hex
from typing import Any

from quality_rows import NAMED, Row, Table, model_of, runs_of

from irtoolkit.datasets.dataset import Dataset
from irtoolkit.ranking.produce import check_runnable
from irtoolkit.ranking.session import SystemSession
from irtoolkit.ranking.systems import System, find_system
from irtoolkit.ranking.texts import TextQuery
from irtoolkit.runs import Run

# Queries that are timed of each system, after one that is not.
QUERIES = 10
# The settings of a line, and where it cuts what it reranks.
_SET, _DEPTH = "--set", "--depth"


@dataclass(frozen=True)
class Stage:
    """One line of a row that scores documents.

    Attributes:
        data: the dataset, as the line has it.
        system: what scores.
        first: the row whose best documents it reranks, or "".
        depth: how many of them.
    """

    data: str
    system: str
    settings: tuple[str, ...]
    first: str = ""
    depth: int | None = None


def costs(table: Table, known: dict[str, Any]) -> dict[str, float]:
    """Milliseconds a query of each row that the results of a benchmark have.

    A row takes what its own stages take and what the rows take that it reads, each once.
    """
    rows = {row.name: row for row in table.rows}

    def stages(row: Row) -> set[Stage]:
        model = str(model_of(table, row))
        lines = (line.replace("{model}", model) for line in row.commands)
        own = {found for line in lines if (found := stage(line))}
        return own.union(*(stages(rows[name]) for name in row.needs))

    # What was chosen by fold takes the longest of what was chosen.
    made = {
        name: [stages(rows[one]) for one in about.get("chosen", [name])]
        for name, about in known["about"].items()
    }
    # What cannot run is told before hours are spent on what can.
    for each in {each for choices in made.values() for each in set().union(*choices)}:
        check_runnable(ranking(table, each)[1])
    return {
        name: max(sum(milliseconds(table, each) for each in choice) for choice in choices)
        for name, choices in made.items()
    }


def ranking(table: Table, stage: Stage) -> tuple[Dataset, System]:
    """What a stage ranks, and with what."""
    dataset = Dataset.of(stage.data.replace("{data}", table.report))
    settings = dict(setting.split("=", 1) for setting in stage.settings)
    return dataset, find_system(stage.system, settings, dataset.parts)


def stage(line: str) -> Stage | None:
    """What a command line scores with; None where it only fuses."""
    words = shlex.split(NAMED.sub(lambda found: shlex.quote(found[0]), line))
    if words[1] not in ("retrieve", "rerank"):
        return None
    settings: list[str] = []
    if _SET in words:
        given = words[words.index(_SET) + 1 :]
        settings = list(takewhile(lambda word: "=" in word, given))
    if words[1] == "retrieve":
        return Stage(words[2], words[3], tuple(settings))
    return Stage(
        words[2], words[4], tuple(settings), words[3][1:-1], int(words[words.index(_DEPTH) + 1])
    )


@cache
def milliseconds(table: Table, stage: Stage) -> float:
    """The median over some queries; texts are changed so that nothing is kept of them."""
    dataset, system = ranking(table, stage)
    session = SystemSession(system, dataset)
    if stage.first:  # a reranker keeps what it has made of the documents that others ask for
        session.rank(_asked(system, dataset, table, stage))
    else:
        session.prepare()
    taken = []
    for query in _asked(system, dataset, table, stage):
        started = time.perf_counter()
        session.rank([query], depth=100)
        taken.append(1000 * (time.perf_counter() - started))
    print(f"{dataset.parts}: {stage.system} {statistics.median(taken[1:]):.1f} ms", flush=True)
    return statistics.median(taken[1:])


def _asked(system: System, dataset: Dataset, table: Table, stage: Stage) -> list[TextQuery]:
    task = system.load(dataset)
    first = None
    if stage.first:
        row = next(row for row in table.rows if row.name == stage.first)
        first = Run.read(runs_of(table, table.report, [row])[stage.first])
    asked = []
    step = max(1, len(task.query_ids) // (QUERIES + 1))
    for place in range(0, len(task.query_ids), step)[: QUERIES + 1]:
        name = str(task.query_ids[place])
        docs = None
        if first is not None:
            docs = [row.doc_id for row in first.ranking(name)[: stage.depth]]
        asked.append(TextQuery(name, f"{' '.join(task.queries[place])} {token_hex(2)}", docs))
    return asked
