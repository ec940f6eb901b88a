"""Judgments and ids in TREC text, whose fields are separated by white space."""

from __future__ import annotations

import re
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.integrations.exports.source import Source

# What separates the fields of TREC text, and the sign that escapes it.
_ESCAPED = re.compile(r"[% \t\f\v\r\n]")


def word(name: str) -> str:
    """Returns an id as one field of TREC text: white space and % are escaped as in a URL.

    `urllib.parse.unquote` gives the id back. Ids without either are as they were.
    """
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", name)


def write_trec_qrels(source: Source, path: Path) -> bool:
    """Writes the judgments as TREC qrels; whether there are any.

    Raises:
        InputError: a grade is a fraction.
    """
    if not source.has("qrels"):
        return False
    check_whole_grades(source.dataset)
    with atomic_text(path) as out:
        for query_id, doc_id, grade in source.qrels():
            out.write(f"{word(query_id)} 0 {word(doc_id)} {grade}\n")
    return True


def check_whole_grades(dataset: Dataset) -> None:
    """Raises InputError if a grade is a fraction, which TREC's tools would cut off."""
    if dataset.qrels.fractional:
        raise InputError(
            f"dataset {dataset.id} has grades that are fractions, which TREC qrels cannot hold",
            remedy="export it as beir, mteb or hf",
        )


def one_line(text: str) -> str:
    """Returns a text without tabs and line ends, which would split it into two fields or lines."""
    return " ".join(text.split())
