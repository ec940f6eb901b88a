"""The columns of data frames of any library: pandas, polars, pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from irtoolkit.base.errors import InputError


def is_frame(value: Any) -> bool:
    """Returns whether an object is a data frame: it has columns, and gives them by name."""
    if not hasattr(type(value), "__getitem__"):
        return False
    # polars warns if the columns of a LazyFrame itself are read.
    return hasattr(type(value), "columns") or hasattr(value, "columns")


def frame_columns(frame: Any, description: str) -> list[str]:
    """Returns the names of the columns of a data frame.

    Args:
        frame: the data frame.
        description: its content, as in "a run".

    Raises:
        InputError: it is a lazy query of polars or Spark, which has no rows yet.
    """
    if hasattr(type(frame), "collect"):
        raise InputError(
            f"the {type(frame).__name__} of {description} has no rows yet",
            remedy="run it and pass its rows: polars .collect(), Spark .toPandas()",
        )
    # pyarrow has the columns themselves under the name that others use for their names.
    return [str(name) for name in getattr(frame, "column_names", frame.columns)]


def columns_of(
    frame: Any, choices: Iterable[Sequence[str]], description: str, remedy: str | None = None
) -> list[Iterable[Any]]:
    """Returns a column for each choice of names: the first of them that a data frame has.

    Raises:
        InputError: it has none of some names, or several columns of one.
    """
    columns = frame_columns(frame, description)
    chosen = []
    for names in choices:
        name = next((name for name in names if name in columns), None)
        if name is None:
            raise InputError(
                f"no column {' or '.join(names)} in the data frame of {description}: its columns"
                f" are {', '.join(columns) or 'none'}",
                remedy=remedy or "rename one of its columns",
            )
        chosen.append(column_named(frame, columns, name, description))
    return chosen


def column_named(frame: Any, columns: Sequence[str], name: str, description: str) -> Iterable[Any]:
    """Returns the values of a column, as Python's own if the frame can convert them at once.

    Raises:
        InputError: several columns have this name.
    """
    count = list(columns).count(name)
    if count > 1:
        raise InputError(
            f"the data frame of {description} has {count} columns {name}",
            remedy="drop or rename all but one",
        )
    column = frame[name]
    for method in ("tolist", "to_pylist"):
        if hasattr(column, method):
            values: Iterable[Any] = getattr(column, method)()
            return values
    selected: Iterable[Any] = column
    return selected
