"""ir_metadata records of submitted runs, in comment lines at the top of the file."""

from __future__ import annotations

from typing import Any

import yaml

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, read_lines
from irtoolkit.base.yamls import load_yaml
from irtoolkit.runs import provenance
from irtoolkit.runs.trec import HEADER_END, HEADER_START

# The parts of an ir_metadata record, after the PRIMAD model. Its readers ask for each of them.
COMPONENTS = ("actor", "platform", "research goal", "implementation", "method", "data")


def record_with(path: StrPath, tag: str, about_path: StrPath | None) -> dict[str, Any]:
    """Returns the ir_metadata record of a run, completed by a file.

    Args:
        path: the run; its record is at its top or in the file beside it.
        tag: the run tag that the record states.
        about_path: a YAML file with parts of the record, which replace those of the run.

    Raises:
        InputError: there is neither a record nor `about_path`, or `about_path` is not a YAML mapping.
    """
    existing = read_header(path) or provenance.read_metadata(path)
    if existing is None and about_path is None:
        raise InputError(
            "the run has no record of how it was made",
            file=path,
            remedy="give one with --about FILE, or use --metadata none",
        )
    record = {
        **(existing or {}),
        **(_about(about_path) if about_path is not None else {}),
        "tag": tag,
    }
    return {**record, **{name: record.get(name) or {} for name in COMPONENTS}}


def _about(path: StrPath) -> dict[str, Any]:
    text = "\n".join(line for _, line in read_lines(path))
    remedy = f"it holds parts of ir_metadata: {', '.join(COMPONENTS)}"
    try:
        content = load_yaml(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        raise InputError("not YAML", file=path, line=line, remedy=remedy) from None
    if not isinstance(content, dict):
        raise InputError("not a mapping", file=path, line=1, remedy=remedy)
    return content


def header(record: dict[str, Any]) -> str:
    """Returns the comment lines at the top of a run that hold an ir_metadata record."""
    text = yaml.safe_dump(record, sort_keys=False, allow_unicode=True, width=4096)
    lines = [HEADER_START, *(f"# {line}" for line in text.splitlines()), HEADER_END]
    return "".join(f"{line}\n" for line in lines)


def read_header(path: StrPath) -> dict[str, Any] | None:
    """Returns the ir_metadata record at the top of a run, or None if there is none.

    Raises:
        InputError: the header is not YAML, or not a mapping.
    """
    if str(path).endswith(".parquet"):
        return None
    header: list[str] = []
    for number, line in read_lines(path):
        if number == 1 and line.rstrip() != HEADER_START:
            return None
        if line.rstrip() == HEADER_END or not line.startswith("#"):
            break
        header.append(line)
    try:
        content = load_yaml(_uncommented(header[1:]))
    except yaml.YAMLError:
        content = None
    if not isinstance(content, dict):
        raise InputError(
            "the ir_metadata header is not a YAML mapping",
            file=path,
            line=1,
            remedy="correct it, or remove it",
        )
    return content


def _uncommented(lines: list[str]) -> str:
    """Returns lines without their "#", and without the blank after it if all have one.

    A YAML document starts in column 1.
    """
    bare = [line[1:] for line in lines]
    indented = all(line.startswith(" ") for line in bare if line)
    return "\n".join(line[1:] if indented else line for line in bare)
