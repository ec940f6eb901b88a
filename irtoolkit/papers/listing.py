"""The sources of the figures of each row of a paper's table.

The state of a row follows from its definition, for example its model and its recipe, and is the
same on every machine. Whether the row can run here is shown beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from irtoolkit.base.tables import TableCell, TextTable
from irtoolkit.models.presets import Preset, find_preset
from irtoolkit.papers.data import absent_data, absent_lines
from irtoolkit.papers.reproduce import survey
from irtoolkit.papers.results import RowResult
from irtoolkit.papers.row_commands import converting
from irtoolkit.papers.summary import folded
from irtoolkit.papers.systems import Training, of_row
from irtoolkit.papers.tables import Table
from irtoolkit.ranking.systems import System

State = Literal[
    "measured",
    "weights",
    "converter",
    "recipe",
    "service",
    "reported",
    "human",
    "ranking",
    "unpublished",
    "unavailable",
]
# What each state means, in the order in which they are explained.
MEANINGS: Mapping[State, str] = {
    "measured": "runs without other people's weights",
    "weights": "runs with published weights, loaded by name",
    "converter": "runs with published weights of another form, which irtoolkit reads or converts",
    "recipe": "runs with a model that irtoolkit trains",
    "service": "asks a language model on another machine, which may cost money",
    "reported": "a figure of the paper that another command measures",
    "human": "people chose",
    "ranking": "figures computed from a published ranking, which nothing here ranks again",
    "unpublished": "no weights are published at the source that is named",
    "unavailable": "irtoolkit has nothing that runs it",
}


@dataclass(frozen=True)
class RowState:
    """The state of a row of a table.

    Attributes:
        system: the system's name.
        state: the source of its figures; see `MEANINGS`.
        here: whether it can run on this machine, its data aside; None if there is nothing to run.
        how: what runs, is trained or is loaded, or where that was searched for.
        data: whether data of the table are on this machine.
    """

    system: str
    state: State
    here: bool | None
    how: str
    data: bool = True


def row_states(table: Table, systems: Sequence[str] = ()) -> list[RowState]:
    """Returns the states of a table's rows. Nothing is run, and no data are read.

    Args:
        table: the experiment table.
        systems: the rows; all when empty.

    Raises:
        InputError: a system that the table does not have.
    """
    states = [row_state(result, table) for result in survey(table, systems=systems).rows]
    data = len(absent_data(table)) < len(table.groups)
    return [replace(result, data=data) for result in states]


def row_state(result: RowResult, table: Table) -> RowState:
    """Returns the state of a row, given its result in a survey or a measurement."""
    row = result.row
    if row.command is not None:
        return RowState(row.system, "reported", None, row.command)
    if row.people is not None:
        return RowState(row.system, "human", None, row.people)
    if row.ranking is not None:
        return RowState(row.system, "ranking", None, row.ranking)
    if row.retriever is None:
        return RowState(row.system, "unavailable", None, row.why_not)
    # Groups differ in settings, such as a language, and not in what they need.
    group, dataset = next(iter(table.groups.items()))
    state, means = _needs(of_row(table, row, row.settings_for.get(group, {}), dataset))
    if state == "recipe" and len(row.train_set_for) > 1:
        means += f" (one for each of {', '.join(row.train_set_for)})"
    if row.files:
        names = " and ".join(dict.fromkeys(row.files.values()))
        means += f"; as in the paper with {names} in $IRTOOLKIT_DATA/{table.benchmark}/"
    if row.first is not None:
        means += f", after {row.first}"
    return RowState(row.system, state, all(cell.status == "ready" for cell in result.cells), means)


def _needs(system: System) -> tuple[State, str]:
    """Returns what a system runs with, and how to get it."""
    if isinstance(system.training, Training):
        return "recipe", system.training.command
    settings = system.retriever.settings()
    if system.retriever.asks_others():
        return "service", f"{settings['llm']} at {settings['endpoint']}"
    if not settings.get("model"):
        return "measured", system.retriever.name
    preset = find_preset(settings["model"], settings.get("weights"), settings.get("query_weights"))
    return _of_preset(preset)


def _of_preset(preset: Preset) -> tuple[State, str]:
    if preset.unpublished:
        return "unpublished", f"looked at {preset.source}"
    if preset.converted:
        return "converter", converting(preset.converted) or f"files at {preset.source}"
    return "weights", " and ".join(filter(None, (preset.id, preset.query)))


# -- as text -----------------------------------------------------------------------------------------


def listing(table: Table, systems: Sequence[str] = ()) -> TextTable:
    """Returns the states of a table's rows as a table, with the meaning of each state below."""
    states = row_states(table, systems)
    rows: list[list[TableCell]] = [
        [row.system, row.state, _runs_here(row), row.how] for row in states
    ]
    present = {row.state for row in states}
    notes = [f"{state}: {means}" for state, means in MEANINGS.items() if state in present]
    if any(row.here is False for row in states):
        notes.append(f"irtoolkit reproduce {table.name} --missing: what a row needs to run here")
    notes += [f"no data: {why}" for why in absent_lines(table)]
    lines = [line for note in notes for line in folded(note)]
    return TextTable(["system", "state", "runs here", "with"], rows, table.title, ["", *lines])


def _runs_here(state: RowState) -> str | None:
    if state.here is None:
        return None
    return "no" if not state.here else "yes" if state.data else "no: data"


def overview(tables: Mapping[str, Table]) -> TextTable:
    """Returns a line for each table: the number of its rows in each state."""
    rows: list[list[TableCell]] = []
    for name, table in tables.items():
        states = [row.state for row in row_states(table)]
        counts = [f"{states.count(state)} {state}" for state in MEANINGS if state in states]
        rows.append([name, len(states), ", ".join(counts)])
    note = "irtoolkit reproduce TABLE --list lists its rows."
    return TextTable(["table", "rows", "states"], rows, notes=["", note])
