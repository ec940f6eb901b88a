"""The subcommands of `irtoolkit`, one per module.

A command module has HELP (one line), EXAMPLES (lines shown under its help), `configure`, which adds
its arguments to a parser, and `execute`, which takes the parsed arguments. Modules import their
dependencies only when they run, so that help is immediate. Of several processes that torchrun, srun
or mpirun start, the first does a command, unless its module has SHARED = True: then all do.
"""

from __future__ import annotations

import argparse
import math
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import check_writable
from irtoolkit.base.near import did_you_mean
from irtoolkit.base.paths import is_url, on_disk
from irtoolkit.base.plurals import number_of
from irtoolkit.base.targets import check_ending
from irtoolkit.base.textwidth import harmless, wrap
from irtoolkit.commands._arguments import argument as argument
from irtoolkit.commands._streams import say

if TYPE_CHECKING:
    from irtoolkit.base.tables import TextTable
    from irtoolkit.ranking.systems import System
    from irtoolkit.runs import Run

FORMATS = ("text", "json", "csv", "latex")


def add_format(parser: argparse.ArgumentParser) -> None:
    """Adds the --format argument of every command with a table."""
    argument(parser, "--format", "form of the output", choices=FORMATS, default="text")


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Adds the --set argument of commands that run a system; `--key value` is the same."""
    argument(
        parser,
        "--set KEY=VALUE...",
        "settings of the system, also written --KEY VALUE; all take query, doc, self, ties and"
        " fill",
        dest="settings",
    )


def add_output(
    parser: argparse.ArgumentParser,
    description: str = "TREC text, .gz or .parquet, by its name",
    *,
    required: bool = True,
    check: Callable[[str], OutputFile] | None = None,
) -> None:
    """Adds the -o argument of commands that write a file, by default a run, which is checked early."""
    argument(parser, "-o, --output FILE", description, type=check or run_file, required=required)


class OutputFile(str):
    """The name of a file that a command writes."""

    __slots__ = ()


def output_file(name: str) -> OutputFile:
    """Checks an argument that names a file to write.

    Raises:
        InputError: it cannot be written, or is -.
    """
    check_not_dash(name, "file")
    check_writable(name)
    _tell_new_folder(name)
    return OutputFile(name)


def run_file(name: str) -> OutputFile:
    """Checks an argument that names the file of a run to write.

    Raises:
        InputError: see `output_file`; or its name ends as that of something else, such as .json.
    """
    from irtoolkit.runs.storage import check_run_name

    check_run_name(name)
    return output_file(name)


def file_of(
    content: str, *endings: str, place: Callable[[str], OutputFile] = output_file
) -> Callable[[str], OutputFile]:
    """Returns the check of an argument that names a file to write.

    Args:
        content, endings: see `check_ending`.
        place: checks where it is: `output_file` or `local_file`.
    """

    def check(name: str) -> OutputFile:
        check_ending(name, content, *endings)
        return place(name)

    return check


json_file = file_of("JSON", ".json")
json_lines_file = file_of("JSON lines", ".jsonl", ".ndjson")
tsv_file = file_of("tab-separated text", ".tsv")


def _tell_new_folder(name: str) -> None:
    """Names a folder that will be made, if its name may be mistyped."""
    folder = on_disk(name).parent
    if is_url(name) or folder.exists():
        return
    above = folder.parent
    others = [path.name for path in above.iterdir() if path.is_dir()] if above.is_dir() else []
    guess = did_you_mean(folder.name, others).strip()
    if guess or not above.is_dir():
        note(f"note: the folder {harmless(str(folder))} is new{guess and f'; {guess}'}")


def output_place(name: str) -> OutputFile:
    """Checks an argument that names an output file or folder, as other arguments say.

    Raises:
        InputError: it is -. Whether it can be written is the command's to look at.
    """
    check_not_dash(name, "file")
    return OutputFile(name)


def output_folder(name: str) -> str:
    """Checks an argument that names a folder to write to.

    Errors as for `output_file`.
    """
    check_not_dash(name, "folder")
    check_writable(name, folder=True)
    return name


def local_folder(name: str) -> str:
    """Checks an argument that names an output folder of this machine.

    Raises:
        InputError: it is a URL, too.
    """
    _check_not_url(name, "folder")
    return output_folder(name)


def local_file(name: str) -> OutputFile:
    """Checks an argument that names a file of this machine to write.

    Errors as for a folder.
    """
    _check_not_url(name, "file")
    return output_file(name)


def check_not_dash(name: str, kind: str) -> None:
    """Raises InputError for a target -, which is standard output for other commands."""
    if name == "-":
        stream = "/dev/stdout is standard output, " if kind == "file" else ""
        raise InputError(
            f"cannot write: '-' names no {kind}", remedy=f"{stream}./- a {kind} of this name"
        )


def _check_not_url(name: str, kind: str) -> None:
    if is_url(name):
        raise InputError(
            f"{name} is a URL, and this command writes to {kind}s of this machine",
            remedy=f"name a {kind}, and copy it when it is complete",
        )


def add_run_form(parser: argparse.ArgumentParser) -> None:
    """Adds the --output-format argument of commands that write a run."""
    argument(
        parser,
        "--output-format",
        "of text: trec, or msmarco (query id, document id and rank)",
        choices=("trec", "msmarco"),
        default="trec",
    )


def add_measures(parser: argparse.ArgumentParser, default: str = "the dataset's own") -> None:
    """Adds the -m and --measures arguments of commands that score; see `measures_of`."""
    add = partial(argument, parser)
    add(
        "-m M",
        "a measure by its name in ir_measures (nDCG@10), trec_eval (ndcg_cut.10, map, P.5,10) or"
        f" ranx (hit_rate@5), or several with commas; may be repeated; default: {default}",
        action="append",
        dest="measures",
    )
    add("--measures M...", 'several measures: --measures nDCG@10 "AP(rel=2)" P.5,10', default=None)
    add_hidden(parser, "--measure", of="--measures")


def measures_of(args: argparse.Namespace) -> str | None:
    """Returns the requested measures, or None for the dataset's own.

    Says on standard error which measures of a trec_eval group are not computed.
    """
    if args.measures is None:
        return None
    from irtoolkit.scoring.measure_names import not_computed

    words = " ".join(args.measures)
    for word in words.split():
        missing = not_computed(word)
        if missing:
            note(f"note: {word} is shown without {', '.join(missing)}; not computed here")
    return words


def add_hidden(parser: argparse.ArgumentParser, flag: str, *, of: str) -> None:
    """Another spelling of a flag, which help does not show."""
    (visible,) = (action for action in parser._actions if of in action.option_strings)
    parser._option_string_actions[flag] = visible


def parse_pairs(pairs: list[str]) -> dict[str, Any]:
    """Returns KEY=VALUE arguments as a dict.

    Raises:
        InputError: an argument without "=", or a key given twice.
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise InputError(f"setting {pair!r} is not KEY=VALUE")
        # Folders and prompts may have commas.
        if re.fullmatch(r"[\w.+-]*(,[a-z_]\w*=[\w.+-]*)+", value):
            raise InputError(
                f"setting {pair!r} has several settings in one",
                remedy=f"separate them by spaces: {pair.replace(',', ' ')}",
            )
        if key in settings:
            raise InputError(f"setting {key} is given twice")
        settings[key] = value
    return settings


def print_table(form: str, table: TextTable, record: Any = None) -> None:
    """Prints a table in a form, or a record as JSON: by default the rows, by the names of columns."""
    if form != "json":
        print(table.render(form))
    elif record is None:
        print_json([dict(zip(table.headers, row, strict=True)) for row in table.rows])
    else:
        print_json(record)


def print_lines(text: str, indent: int = 0) -> None:
    """Prints a text in lines that fit the terminal; further lines are indented by two more."""
    from irtoolkit.base.tables import terminal_width

    first, *others = wrap(text, terminal_width() - indent - 2, cut=False)
    print(
        "\n".join([f"{' ' * indent}{first}", *(f"{' ' * (indent + 2)}{line}" for line in others)])
    )


def print_json(content: Any, indent: int | None = 2) -> None:
    """Prints JSON; a number that JSON cannot hold, for example an infinite rank, is null.

    Without `indent` it is one line.
    """
    import json

    text = json.dumps(_finite(content), indent=indent, allow_nan=False, ensure_ascii=False)
    # JSON lets stand what begins a terminal's commands in eight bits.
    print(re.sub("[\x7f-\x9f]", lambda match: f"\\u{ord(match[0]):04x}", text))


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def note(text: str) -> None:
    """Writes a line for the user to standard error, broken at the width of a terminal.

    In a file or pipe it stays one line, so that a reader can search for it or copy what it holds.
    """
    from irtoolkit.base.tables import terminal_width

    text = harmless(text)
    at_terminal = sys.stderr is not None and sys.stderr.isatty()
    say("\n".join(wrap(text, terminal_width(), cut=False)) if at_terminal else text)


def size_of(run: Run) -> str:
    """Returns the numbers of queries and rows of a run."""
    return f"{number_of(len(run.query_ids), 'queries')}, {number_of(len(run), 'rows')}"


def written(path: str, run: Run, system: System, names: Iterable[str] = ()) -> str:
    """Returns the message on a run that has been written.

    Settings at their defaults are left out, except a model, its prompts and those that were given.
    """
    listed = {"model", *names, *system.changed()}
    settings = {key: value for key, value in system.settings().items() if key in listed}
    computed = system.retriever.computed()
    for name in ("query_prompt", "document_prompt"):
        # An instruction is part of the query prompt.
        is_told = name == "query_prompt" and "instruction" in settings
        if name in computed and name in system.settings() and not is_told:
            settings.setdefault(name, computed[name])
    line = f"{path}: {size_of(run)}; {system.retriever.name}"
    return " ".join([line, shown(settings)]).rstrip()


def shown(values: Mapping[str, Any]) -> str:
    """Settings on one line, texts as the shell takes them."""
    return " ".join(f"{key}={_quoted(value)}" for key, value in values.items())


def _quoted(value: Any) -> Any:
    """Returns a text with blanks as an argument of the shell, with \\n for a line break."""
    if not isinstance(value, str) or not re.search(r"\s", value):
        return value
    return shlex.quote(value.replace("\n", "\\n"))
