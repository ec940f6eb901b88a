"""Sheets that people fill in: CSV or TSV files with texts to read and columns to write a judgment into."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from irtoolkit.base import sheets
from irtoolkit.base.errors import InputError

# One row of a filled-in sheet: column to cell.
Filled = dict[str, str]
# File name to key to row.
FilledSheets = Mapping[str, Mapping[tuple[str, ...], Filled]]


@dataclass(frozen=True)
class Sheet:
    """The layout of a sheet.

    Attributes:
        keys: the columns that together identify a row.
        texts: the columns to read.
        answers: column to fill in to its allowed words; empty for any text.
    """

    keys: tuple[str, ...]
    texts: tuple[str, ...]
    answers: Mapping[str, Sequence[str]]

    def write(self, path: Path, rows: Sequence[Mapping[str, str]]) -> None:
        """Writes a sheet to fill in, with tabs unless it is a .csv; the columns to fill in are empty."""
        sheets.write_sheet(path, [*self.keys, *self.texts, *self.answers], rows)

    def read(self, paths: Sequence[Path]) -> dict[str, dict[tuple[str, ...], Filled]]:
        """Returns file name to key to row, from filled-in sheets, without empty rows.

        Raises:
            InputError: no sheets, a file that is not such a sheet, or a word that is not allowed.
        """
        self.check_sheets(paths)
        by_name = {path.name: self._read(path) for path in paths}
        if len(by_name) < len(paths):
            raise InputError("two sheets have one name", remedy="rename one of the files")
        return by_name

    def check_sheets(self, paths: Sequence[Path]) -> None:
        """Raises InputError if there are no sheets; describes what they are."""
        if not paths:
            words = "; ".join(
                f"{name}: {', '.join(allowed) or 'words of the text'}"
                for name, allowed in self.answers.items()
            )
            raise InputError(
                "this is an analysis of what people judged",
                remedy=f"--sheet FILE writes a sheet to fill in ({words}), --sheets FILE reads it",
            )

    def _read(self, path: Path) -> dict[tuple[str, ...], Filled]:
        rows_by_key: dict[tuple[str, ...], Filled] = {}
        columns = [*self.keys, *self.answers]
        remedy = f"a sheet has the columns {', '.join(columns)}; --sheet writes one"
        for line, row in sheets.read_sheet(path, columns, remedy):
            cells = {name: row[name].strip() for name in columns}
            key = tuple(cells[name] for name in self.keys)
            problem = self._problem(cells, key in rows_by_key)
            if problem is not None:
                raise InputError(problem, file=path, line=line)
            if any(cells[name] for name in self.answers):
                rows_by_key[key] = cells
        if not rows_by_key:
            raise InputError("nothing is filled in", file=path)
        return rows_by_key

    def _problem(self, row: Filled, again: bool) -> str | None:
        if again:
            return f"{' '.join(row[name] for name in self.keys)} is there twice"
        for name, allowed in self.answers.items():
            if row[name] and allowed and row[name] not in allowed:
                return f"{name} is {row[name]!r}, not one of {', '.join(allowed)}"
        return None


def check_keys(
    filled: FilledSheets, allowed: Container[tuple[str, ...]], whole: str, remedy: str
) -> None:
    """Raises InputError for a row of other data than the sheets are counted for.

    Args:
        filled: filled-in sheets.
        allowed: the keys of rows.
        whole: what they are the keys of.
        remedy: what to do.
    """
    for name, sheet in filled.items():
        for key in sheet:
            if key not in allowed:
                raise InputError(f"{' '.join(key)} is not in {whole}", file=name, remedy=remedy)


def majority(words: Sequence[str]) -> str | None:
    """Returns the word that most people wrote.

    None if two are equally frequent, or there is none.
    """
    counts = sorted(((words.count(word), word) for word in {*words}), reverse=True)
    if not counts or (len(counts) > 1 and counts[0][0] == counts[1][0]):
        return None
    return counts[0][1]
