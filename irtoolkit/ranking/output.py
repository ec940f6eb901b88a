"""Where a run goes, and in which form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from irtoolkit.base.files import StrPath
from irtoolkit.runs.storage import RunForm, refuse_other_form


@dataclass(frozen=True)
class Output:
    """Where a run goes, and in which form.

    Attributes:
        path: TREC text, .gz or Parquet by its name.
        form: "msmarco" writes query id, document id and rank, separated by tabs.
        say: called before ranking with the line that says which candidates are ranked.
    """

    path: StrPath
    form: RunForm = "trec"
    say: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        refuse_other_form(self.path, self.form)
