"""Sheets that people fill in: CSV or TSV files with texts to read and columns to write a judgment into."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text, read_lines
from irtoolkit.base.forms import column_mark

# One row of a filled in sheet: column to what was written.
Filled = dict[str, str]


@dataclass(frozen=True)
class Sheet:
    """The layout of a sheet.

    Attributes:
        keys: the columns that together identify a row.
        shown: the columns to read.
        asked: column to fill in to its allowed words; empty for any text.
    """

    keys: tuple[str, ...]
    shown: tuple[str, ...]
    asked: Mapping[str, Sequence[str]]

    def write(self, path: Path, rows: Sequence[Mapping[str, str]]) -> None:
        """Writes a sheet to fill in, with tabs for a .tsv; the columns to fill in are empty."""
        with atomic_text(path) as out:
            # With a byte order mark, spreadsheets read it as UTF-8.
            out.write("\ufeff")
            mark = "\t" if path.suffix == ".tsv" else ","
            writer = csv.writer(out, delimiter=mark, lineterminator="\n")
            writer.writerow([*self.keys, *self.shown, *self.asked])
            for row in rows:
                # One row is one line, so that an error can name it.
                texts = (" ".join(row[name].split()) for name in (*self.keys, *self.shown))
                writer.writerow([*texts, *[""] * len(self.asked)])

    def read(self, paths: Sequence[Path]) -> dict[str, dict[tuple[str, ...], Filled]]:
        """Returns file name to key to row, from filled-in sheets, without empty rows.

        Raises:
            InputError: no sheets, a file that is not such a sheet, or a word that is not allowed.
        """
        self.check_sheets(paths)
        sheets = {path.name: self._read(path) for path in paths}
        if len(sheets) < len(paths):
            raise InputError("two sheets have one name", remedy="rename one of the files")
        return sheets

    def check_sheets(self, paths: Sequence[Path]) -> None:
        """Raises InputError for an analysis without sheets.

        Raises:
            InputError: there are none; says what they are.
        """
        if not paths:
            words = "; ".join(
                f"{name}: {', '.join(allowed) or 'words of the text'}"
                for name, allowed in self.asked.items()
            )
            raise InputError(
                "this is an analysis of what people judged",
                remedy=f"--sheet FILE writes a sheet to fill in ({words}), --sheets FILE reads it",
            )

    def _read(self, path: Path) -> dict[tuple[str, ...], Filled]:
        rows_by_key: dict[tuple[str, ...], Filled] = {}
        lines = ((number, line.removeprefix("\ufeff")) for number, line in read_lines(path))
        head = next(lines, (1, ""))
        rows = (line for _, line in chain([head], lines))
        reader = csv.DictReader(rows, delimiter=column_mark(head[1]))
        columns = [*self.keys, *self.asked]
        absent = [name for name in columns if name not in (reader.fieldnames or ())]
        if absent:
            raise InputError(
                f"no column {absent[0]!r}",
                file=path,
                line=1,
                remedy=f"a sheet has the columns {', '.join(columns)}; --sheet writes one",
            )
        for row in reader:
            cells = {name: (row[name] or "").strip() for name in columns}
            key = tuple(cells[name] for name in self.keys)
            problem = self._problem(cells, key in rows_by_key)
            if problem is not None:
                raise InputError(problem, file=path, line=reader.line_num)
            if any(cells[name] for name in self.asked):
                rows_by_key[key] = cells
        if not rows_by_key:
            raise InputError("nothing is filled in", file=path)
        return rows_by_key

    def _problem(self, row: Filled, again: bool) -> str | None:
        if again:
            return f"{' '.join(row[name] for name in self.keys)} is there twice"
        for name, allowed in self.asked.items():
            if row[name] and allowed and row[name] not in allowed:
                return f"{name} is {row[name]!r}, not one of {', '.join(allowed)}"
        return None


def majority(words: Sequence[str]) -> str | None:
    """Returns the word that most people wrote.

    None if two are equally frequent, or there is none.
    """
    counts = sorted(((words.count(word), word) for word in {*words}), reverse=True)
    if not counts or (len(counts) > 1 and counts[0][0] == counts[1][0]):
        return None
    return counts[0][1]
