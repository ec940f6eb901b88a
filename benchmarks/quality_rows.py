"""The rows of quality.toml, and the runs that their commands make."""

from __future__ import annotations

import re
import shlex
import shutil
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from irtoolkit.base.files import atomic_text
from irtoolkit.base.home import cache_home
from irtoolkit.base.toml_records import Place, Record, Texts, read_record, record
from irtoolkit.cli import main as command
from irtoolkit.runs import provenance
from irtoolkit.runs.exact_ranks import RANKS_END

# The rows of other tables that a row is made of: {BM25} in a command.
NAMED = re.compile(r"\{([^{}]+)\}")
# What a command is given beside the runs of other rows: the dataset, the run that it writes, and what
# the row has learned.
_GIVEN = {"data", "out", "learned", "model"}
FOLDS, NOWHERE, HELD_OUT = "folds", "nowhere", "held out"
# The key of a table that has the rows of another one.
_SAME = "rows_of"


@record
class Row(Record):
    """A system as the commands that make its run.

    Attributes:
        name: shown, and what other rows call it by.
        group: the kind of system: lexical, encoder, reranker, fusion, matching, trained.
        commands: command lines; {data} is the dataset, {out} the run, {model} a folder for a model,
            {NAME} the run of another row.
        learning: the command lines in their place where choices are made, for a row that learns there
            what is reported: {learned} is the file of it, for both.
        alternative: whether it is one of several of its group, of which only the chosen one is shown.
        tried: whether it takes part where choices are made; else it cannot be chosen.
        note: shown with it.
    """

    name: str
    group: str
    commands: Texts
    learning: Texts = ()
    alternative: bool = False
    tried: bool = True
    note: str = ""

    @property
    def needs(self) -> list[str]:
        """The names of the rows whose runs it reads."""
        named = [name for line in self.commands for name in NAMED.findall(line)]
        return [name for name in dict.fromkeys(named) if name not in _GIVEN]

    def told(self, choose: str) -> list[str]:
        """The command lines, after those that learn on the data where choices are made."""
        return [*(line.replace("{data}", choose) for line in self.learning), *self.commands]


@record
class Table(Record):
    """The rows of one benchmark.

    Attributes:
        title: shown.
        report: the dataset that is reported on.
        choose: the dataset where choices are made; "folds" for the other folds of the same,
            "nowhere" where nothing is chosen; "held out" where rows that `tune` are held out themselves.
        measures: shown; the first is what choices and tests go by.
        baselines: names of the rows that the others are tested against.
        goals: what was set out to be reached, by measure.
        remark: what else readers must know, such as published figures that can be compared.
        collection: the judged collection that `report` is; see quality_collections.py.
        rows: in the order of the table.
    """

    title: str
    report: str
    choose: str
    measures: Texts
    baselines: Texts
    goals: dict[str, float] = field(default_factory=dict)
    remark: str = ""
    collection: str = ""
    rows: tuple[Row, ...] = ()

    @property
    def main(self) -> str:
        """The measure that choices and tests go by."""
        return self.measures[0]

    @property
    def by_folds(self) -> bool:
        """Whether the choice for a fold's queries is made on the other folds."""
        return self.choose == FOLDS

    @property
    def chooses(self) -> bool:
        """Whether rows are chosen among others."""
        return self.choose not in (NOWHERE, HELD_OUT)


def read_tables(path: Path) -> dict[str, Table]:
    """The tables of a file by benchmark.

    Raises:
        InputError: a key that is unknown, missing or of the wrong type.
    """
    tables: dict[str, Table] = {}
    for name, data in tomllib.loads(path.read_text("utf-8")).items():
        place = Place(path, name)
        same = data.pop(_SAME, None)
        if same is not None and same not in tables:
            raise place.error(f"{_SAME} is {same!r}, which is no table before this one")
        rows = (
            tuple(read_record(Row, row, place) for row in data.pop("row"))
            if same is None
            else tables[same].rows
        )
        table = tables[name] = read_record(Table, data, place, rows=rows)
        taught = [row.name for row in rows if row.learning]
        if taught and (table.by_folds or not table.chooses):
            raise place.error(f"{taught[0]} cannot learn where choose is {table.choose}")
    return tables


def runs_of(table: Table, dataset: str, rows: Iterable[Row]) -> dict[str, Path]:
    """The run of each row, and of those that it reads, on a dataset; made where it is not there."""
    rows = list(rows)
    learning = dataset == table.choose
    if not learning and (taught := [row for row in rows if row.learning]):
        runs_of(table, table.choose, taught)
    known = {row.name: row for row in table.rows}
    made: dict[str, Path] = {}

    def make(row: Row) -> str:
        """Makes a run and says what it is made by, which is that of its parts, too."""
        parts = {name: make(known[name]) for name in row.needs}
        lines = row.learning if learning and row.learning else row.commands
        out = _kept(dataset, row)
        by = _by(row, parts)
        if row.name not in made:
            made[row.name] = out
            told = _told(out)
            if not (out.is_file() and told.is_file() and told.read_text("utf-8") == by):
                print(f"{dataset}: {row.name}", flush=True)
                told.unlink(missing_ok=True)
                given: dict[str, Any] = {
                    "data": dataset,
                    "out": out,
                    **{name: made[name] for name in parts},
                }
                if any("{model}" in line for line in lines):
                    given["model"] = model_of(table, row)
                if row.learning:
                    given["learned"] = _kept(table.choose, row).with_suffix(".json")
                    if learning:
                        given["learned"].unlink(missing_ok=True)
                _run(row.name, lines, given)
                with atomic_text(told) as file:
                    file.write(by)
        return by

    for row in rows:
        make(row)
    return made


def take(table: Table, folder: Path) -> list[str]:
    """Takes runs that were made elsewhere, such as on a GPU, in place of running the rows' commands.

    Args:
        table: the rows; only those that read no other run can be taken.
        folder: laid out as the cache: DATASET/NAME.run, with its ranks and its record beside it.

    Returns:
        The names of the rows of which a run was taken.

    Raises:
        SystemExit: there is no run of a row, a run of one split alone, or one of another dataset.
    """
    splits = [
        data for data in (table.report, table.choose) if data not in (FOLDS, NOWHERE, HELD_OUT)
    ]
    taken = []
    for row in table.rows:
        kept = [_kept(data, row) for data in splits]
        given = [folder / out.parent.name / out.name for out in kept]
        there = [path.is_file() for path in given]
        if row.needs or not any(there):
            continue
        if not all(there):
            raise SystemExit(f"{given[there.index(False)]} is missing: both splits are needed")
        for data, run, out in zip(splits, given, kept, strict=True):
            _copied(run, data, out)
            _told(out).write_text(_by(row, {}), "utf-8")
        taken.append(row.name)
    if not taken:
        raise SystemExit(f"{folder} has no run of a row of {table.title}")
    return taken


def _copied(run: Path, dataset: str, out: Path) -> None:
    record = provenance.read_metadata(run) or {}
    made = record.get("irtoolkit", {}).get("dataset")
    if made != dataset:
        raise SystemExit(f"{run} is of {made}, and not of {dataset}")
    _told(out).unlink(missing_ok=True)
    for end in (provenance.RECORD_END, RANKS_END, ""):
        out.with_name(out.name + end).unlink(missing_ok=True)
        if run.with_name(run.name + end).is_file():
            shutil.copy(run.with_name(run.name + end), out.with_name(out.name + end))


def model_of(table: Table, row: Row) -> Path:
    """Where the model is that a row trains: one for all datasets."""
    apart = table.chooses and not table.by_folds
    return _kept(table.choose if apart else table.report, row).with_suffix(".model")


def _kept(dataset: str, row: Row) -> Path:
    """Where the run of a row is."""
    folder = cache_home() / "quality" / dataset.replace("/", ".")
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{re.sub(r'[^A-Za-z0-9.+-]+', '_', row.name)}.run"


def _told(run: Path) -> Path:
    """The file that says by which commands a run was made."""
    return run.with_suffix(".commands")


def _by(row: Row, parts: Mapping[str, str]) -> str:
    """All that a run is made by: what is learned comes from all that is said of the row."""
    return "\n".join([*parts.values(), *row.learning, *row.commands])


def _run(name: str, lines: Iterable[str], given: Mapping[str, str | Path]) -> None:
    for line in lines:
        filled = NAMED.sub(lambda found: shlex.quote(str(given[found[1]])), line)
        words = shlex.split(filled)
        if words[1] == "convert" and Path(words[-1]).exists():
            continue  # by an earlier call, which was interrupted later
        if command(words[1:] if words[0] == "irtoolkit" else words):
            raise SystemExit(f"{name}: {filled} failed")
