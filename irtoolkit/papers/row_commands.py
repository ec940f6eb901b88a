"""The commands that give one row of a table: its preparation, its run and its figures."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.identity import SAMPLE
from irtoolkit.datasets.nway import parse_nway_id
from irtoolkit.models.presets import find_preset
from irtoolkit.papers.results import dataset_of
from irtoolkit.papers.systems import Training, find_in, model_of, of_row, row_id
from irtoolkit.papers.tables import Row, Table
from irtoolkit.ranking.systems import System, find_system

# Documents kept of each query of the run that candidates are picked from.
CANDIDATES_DEPTH = 100
# The folder of the runs unless another is named.
FOLDER = "runs"


@dataclass(frozen=True)
class RowCommands:
    """The commands that give the figures of a row on one group, in order.

    Attributes:
        prepare: commands needed once, for example the training of its model.
        retrieve: the command that writes the run; empty if there is none.
        eval: the command that prints its figures; empty if there is none.
    """

    prepare: tuple[str, ...] = ()
    retrieve: str = ""
    eval: str = ""


def run_name(table: Table, group: str, system: str, sample: bool) -> str:
    """Returns the name of a run's file. Groups share the run of a table with one dataset."""
    name = f"{table.name}{'-' + SAMPLE if sample else ''}"
    return f"{name}.{'' if table.dataset else group + '.'}{system}.run"


def candidates_name(table: Table, group: str, sample: bool) -> str:
    """Returns the name of the file of the run that a group's candidates are picked from."""
    return f"{table.name}{'-' + SAMPLE if sample else ''}.{group}.candidates.run"


def ranked_id(table: Table, row: Row, group: str, sample: bool) -> str:
    """Returns the id of the dataset that a row ranks."""
    dataset_id = dataset_of(table.dataset or table.groups[group], sample)
    return str(Dataset.load(dataset_id).view(row.view).id) if row.view else dataset_id


def row_commands(table: Table, row: Row, group: str, *, sample: bool = False) -> RowCommands:
    """Returns the commands for a row on a group; none if the group's judgments are hidden.

    Args:
        table: the table of the row.
        row: a row.
        group: one of the table's groups.
        sample: whether they are for the shipped sample.
    """
    if row.retriever is None:
        return RowCommands(eval=row.command or "")
    scored = dataset_of(table.groups[group], sample)
    if not Dataset.load(scored).has("qrels"):
        return RowCommands()
    group_settings = {} if table.dataset else row.settings_for.get(group, {})
    system = of_row(table, row, group_settings, scored)
    run = f"{FOLDER}/{run_name(table, group, row.system, sample)}"
    measures = " ".join(quoted(measure) for measure in table.columns.values())
    return RowCommands(
        (*_candidates(table, group, sample), *_model(system)),
        _retrieve(table, row, group, system, run, sample),
        f"irtoolkit eval {scored} {quoted(run)} --measures {measures}",
    )


def reproduce_command(table: Table, row: Row, *, sample: bool = False) -> str:
    """Returns the command that measures one row on every group; "" if no retriever runs it."""
    if row.retriever is None:
        return ""
    form = " --sample" if sample else ""
    weights = row.settings.get("weights")
    weights_option = "" if weights is None else f" --weights {quoted(f'{model_of(row)}={weights}')}"
    return f"irtoolkit reproduce {table.name}{form} --systems {quoted(row.system)}{weights_option} --all"


def quoted(word: str) -> str:
    """Returns a word for a shell: in double quotes, which all shells have, if they are enough."""
    if re.fullmatch(r"[\w@%+=:,./-]+", word):
        return word
    return shlex.quote(word) if re.search(r'["$`\\!]', word) else f'"{word}"'


def _retrieve(table: Table, row: Row, group: str, system: System, run: str, sample: bool) -> str:
    ranked = ranked_id(table, row, group, sample)
    # `retrieve` cuts rankings of a corpus, which such a table keeps whole.
    whole = table.depth is None and _is_corpus(ranked)
    name = row_id(table, row.system)
    if whole or not _is_named(name, system, ranked):
        return reproduce_command(table, row, sample=sample)
    depth = "" if table.depth is None else f" --depth {table.depth}"
    return f"irtoolkit retrieve {ranked} {quoted(name)} -o {quoted(run)}{depth}{_filling(ranked)}"


def _is_corpus(dataset_id: str) -> bool:
    """Returns whether queries rank the whole corpus of a dataset."""
    return not Dataset.load(dataset_id).has("scoreddocs")


def _filling(dataset_id: str) -> str:
    """Returns the option with which `retrieve` ranks all documents, as `reproduce` does."""
    return " --fill true" if _is_corpus(dataset_id) else ""


def _is_named(name: str, system: System, ranked: str) -> bool:
    """Returns whether a name alone gives a system on a dataset."""
    try:
        named = find_system(name, {}, ranked)
    except InputError:  # the table is not one that irtoolkit knows by name
        return False
    same = named.settings() == system.settings() and named.training == system.training
    return same and named.retriever == system.retriever


def _candidates(table: Table, group: str, sample: bool) -> tuple[str, ...]:
    """Returns the commands that pick the candidates of a group's N-way task, if it has a rule."""
    rule = table.candidates.get(group)
    if rule is None:
        return ()
    dataset_id = dataset_of(table.groups[group], sample)
    base, _ = parse_nway_id(dataset_id)
    run = f"{FOLDER}/{candidates_name(table, group, sample)}"
    below = f" --below {rule['below']}" if "below" in rule else ""
    system = rule["system"]
    name = row_id(table, system) if system in [row.system for row in table.rows] else system
    return (
        *_model(find_in(table, system, base)),
        f"irtoolkit retrieve {base} {quoted(name)} -o {run} --depth {CANDIDATES_DEPTH}{_filling(base)}",
        f"irtoolkit nway {dataset_id} {run}{below}",
    )


def _model(system: System) -> tuple[str, ...]:
    """Returns the commands that train, convert or download a system's model, if it has one."""
    first = () if system.first is None else _model(system.first)
    if isinstance(system.training, Training):
        return (*first, system.training.command)
    settings = system.retriever.settings()
    if not settings.get("model") or system.retriever.asks_others():
        return first
    weight_settings = (settings.get("weights"), settings.get("query_weights"))
    preset = find_preset(settings["model"], *weight_settings)
    if preset.converted or preset.unpublished:
        return (*first, *filter(None, [converting(preset.converted)]))
    ids = [
        hub_id
        for hub_id in (preset.id, preset.query)
        if hub_id and re.match(r"\w[^/]*/[^/]+$", hub_id)
    ]
    return (*first, *(f"hf download {quoted(hub_id)}" for hub_id in ids))


def converting(text: str) -> str:
    """Returns the `irtoolkit convert` command in a text; "" if there is none."""
    match = re.search(r"`(irtoolkit convert [^`]*)`", text)
    return match[1] if match else ""
