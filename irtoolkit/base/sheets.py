"""Sheets: tables that people edit in a spreadsheet, with tabs, commas or semicolons between columns."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text, read_lines
from irtoolkit.base.forms import column_mark
from irtoolkit.base.paths import StrPath
from irtoolkit.base.plurals import number_of

_FORM = (
    "a row is one line with a field for each column; a quotation mark that begins a field has to end"
    " it, and is doubled within it"
)


def write_sheet(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> None:
    """Writes a sheet, with tabs unless the file is a .csv; cells that a row lacks are empty.

    A row is one line, so that an error can name it.
    """
    with atomic_text(path) as out:
        out.write("\ufeff")  # with a byte order mark, spreadsheets read it as UTF-8
        mark = "," if path.suffix == ".csv" else "\t"
        writer = csv.writer(out, delimiter=mark, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([" ".join(row.get(name, "").split()) for name in columns] for row in rows)


def read_sheet(
    path: StrPath, columns: Sequence[str], remedy: str, aliases: Mapping[str, str] | None = None
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yields (line, row) of the rows of a sheet that are not empty.

    Args:
        path: the sheet; its first line names the columns, of which others may have been added.
        columns: those that it needs.
        remedy: which columns it needs, in words.
        aliases: other names of columns, and theirs.

    Raises:
        InputError: a column is missing or appears twice, or a row has more or fewer fields.
    """
    lines = read_lines(path)
    head = next(lines, (1, ""))
    rows = (line for _, line in chain([head], lines))
    # Strict, so that a quotation mark that nothing closes does not take in the rows below.
    reader = csv.reader(rows, delimiter=column_mark(head[1]), strict=True)
    line = 0
    try:
        names = [(aliases or {}).get(name.strip(), name.strip()) for name in next(reader, [])]
        for name in columns:
            if names.count(name) != 1:
                problem = f"{names.count(name) or 'no'} column{'s' * (name in names)} {name!r}"
                raise InputError(problem, file=path, line=1, remedy=remedy)
        line = 1
        for row in reader:
            line = reader.line_num
            if not any(row):
                continue
            if len(row) != len(names):
                raise InputError(
                    f"{number_of(len(row), 'fields')}, and {number_of(len(names), 'columns')}",
                    file=path,
                    line=line,
                    remedy=_FORM,
                )
            yield line, dict(zip(names, row, strict=True))
    except csv.Error as error:
        raise InputError(f"a broken row: {error}", file=path, line=line + 1, remedy=_FORM) from None
