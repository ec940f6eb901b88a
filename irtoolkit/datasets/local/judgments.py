"""Judgments of a file in either of their usual forms."""

from __future__ import annotations

from irtoolkit.base.files import StrPath, local, read_lines
from irtoolkit.base.forms import is_parquet_file
from irtoolkit.datasets.local.topics import BEIR_HEADER, QREL_FORMATS
from irtoolkit.runs import Qrels


def read_qrels(path: StrPath) -> Qrels:
    """Returns the judgments of a file: TREC qrels, BEIR's below their header, or Parquet.

    Raises:
        InputError: no such file, or one that has none of these forms.
    """
    path = local(path)
    if is_parquet_file(path):
        return Qrels.read(path)
    first = next((line for _, line in read_lines(path) if line.strip()), "")
    if first.split("\t") != BEIR_HEADER:
        return Qrels.read(path)
    return Qrels.from_rows(row[:3] for row in QREL_FORMATS["beir"](path))
