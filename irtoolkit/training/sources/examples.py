"""Training rows from examples that were mined from text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from ir_datasets.formats import GenericDoc

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.quoter_release import QuoteQuery as Context
from irtoolkit.training.ragged import Ragged
from irtoolkit.training.recipes import Stage
from irtoolkit.training.sources.base import Links, RowSource, TextSink, required
from irtoolkit.training.sources.files import file_key, no_rows, records

_REMEDY = 'a line is an object with the texts "id", "text", "left" and "right"'


class ExampleSource(RowSource):
    """A row for each line of `irtoolkit extract examples`: a context and the example in it."""

    def __init__(self, stage: Stage, join: str) -> None:
        super().__init__(stage, join)
        self._check_mining()
        self.file = Path(required(stage, "file"))
        self.what = self.file.name

    def key(self) -> str:
        return file_key(self.file)

    def read(self, out: TextSink) -> Links:
        count = 0
        for line, record in records(self.file, "`irtoolkit extract examples` writes such files"):
            for name in ("id", "text", "left", "right"):
                if not isinstance(record.get(name), str):
                    raise self._bad_line(line, f"no text in the field {name!r}")
            if not record["text"].strip():
                raise self._bad_line(line, "an example without text")
            name = record["id"]
            out.query(name, self._query(Context(name, record["left"], record["right"])))
            out.doc(name, self._doc(GenericDoc(name, record["text"])))
            count += 1
        if not count:
            raise no_rows(self.file)
        numbers, zeros = np.arange(count), np.zeros(count, np.int64)
        return Links(numbers, numbers, zeros, zeros, Ragged.of([numbers]))

    def _bad_line(self, line: int, problem: str) -> InputError:
        return InputError(problem, file=self.file, line=line, remedy=_REMEDY)
