"""The parser of a command: unknown flags are settings of a system, and near misses are named."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean, nearest
from irtoolkit.commands._streams import say

BAD_INPUT = 2
# Where the settings that were written as flags are kept: the setting to the flag as written.
FLAGS = "setting_flags"

_NUMBER = re.compile(r"-\.?[0-9].*")
# Columns of a paragraph of help at most, however wide the terminal is.
_WIDEST = 100
_EXAMPLES = "examples:\n"


class Paragraphs(argparse.RawDescriptionHelpFormatter):
    """Help whose paragraphs are filled to the terminal.

    Indented lines, for example examples, stay.
    """

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        width = min(width, _WIDEST)
        parts = [
            part if "\n " in part else textwrap.fill(part, width, break_on_hyphens=False)
            for part in text.strip().split("\n\n")
        ]
        if parts[-1].startswith(_EXAMPLES):
            lines = parts[-1].split("\n")
            parts[-1] = "\n".join(_continued(line, width) for line in lines)
        return textwrap.indent("\n\n".join(parts), indent)

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        # argparse measures the names of commands without what they are indented by.
        if isinstance(action, argparse._SubParsersAction):
            self._action_max_length += self._indent_increment


def _continued(command: str, width: int) -> str:
    """Returns a command in lines of a width, which end in a backslash if another follows."""
    if len(command) <= width:
        return command
    lines = [""]
    for word in re.findall(r'(?:"[^"]*"|\S)+', command):
        if len(f"{lines[-1]} {word} \\") > width:
            lines.append("     ")
        lines[-1] += f" {word}"
    return " \\\n".join([f" {lines[0]}", *lines[1:]])


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors are one line.

    If a command takes settings (`--set`), `--key value` and `--key=value` are settings too, if the
    command has no such flag; - in a key is _.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "allow_abbrev": False, "formatter_class": Paragraphs})

    def error(self, message: str) -> NoReturn:
        """Prints one line in place of argparse's usage, and exits."""
        say(f"{self.prog}: {message} (see {self.prog} --help)")
        sys.exit(BAD_INPUT)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parses arguments; none is left unknown."""
        words = list(sys.argv[1:] if args is None else args)
        flags: dict[str, str] = {}
        pairs: list[str] = []
        if any(action.dest == "settings" for action in self._actions):
            words, flags, pairs = self._without_settings(words)
        parsed, rest = super().parse_known_args(words, namespace)
        # argparse takes an optional word to be absent where a flag stands before it.
        words = [action.dest for action in self._actions if action.nargs == "?"]
        for name in words:
            if rest and not rest[0].startswith("-") and getattr(parsed, name) is None:
                setattr(parsed, name, rest.pop(0))
        # And several words end where a flag stands between them.
        several = [
            action.dest
            for action in self._actions
            if action.nargs == "*" and not action.option_strings
        ]
        while several and rest and not rest[0].startswith("-"):
            getattr(parsed, several[-1]).append(rest.pop(0))
        if rest:
            self._fail(rest[0])
        if pairs:
            parsed.settings = [*parsed.settings, *pairs]
            setattr(parsed, FLAGS, flags)
        return parsed, rest

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            near = did_you_mean(str(value), map(str, action.choices or ())).strip()
            if near and near not in error.message:
                error.message = f"{error.message}; {near}"
            raise

    def flags(self) -> list[str]:
        """Returns the flags of the command, without hidden ones."""
        return [
            flag
            for action in self._actions
            if action.help != argparse.SUPPRESS
            for flag in action.option_strings
        ]

    def _without_settings(self, words: list[str]) -> tuple[list[str], dict[str, str], list[str]]:
        """Returns the words without settings, the settings' flags by name, and the settings."""
        remaining: list[str] = []
        flags: dict[str, str] = {}
        pairs: list[str] = []
        rest = iter(words)
        for word in rest:
            flag, equals, value = word.partition("=")
            if word == "--" or not flag.startswith("--") or flag in self._option_string_actions:
                remaining.append(word)
                if word == "--":
                    remaining.extend(rest)
                continue
            if not equals:
                value = next(rest, "--")
                if value.startswith("-") and not _NUMBER.fullmatch(value):
                    self._fail(flag, f"a setting needs a value: {flag} VALUE")
            key = flag[2:].replace("-", "_")
            flags[key] = flag
            pairs.append(f"{key}={value}")
        return remaining, flags, pairs

    def _fail(self, word: str, otherwise: str = "") -> NoReturn:
        if not word.startswith("-"):
            self.error(f"one argument too many: {word!r}{self._hint()}")
        flag = word.partition("=")[0]
        takes_system = any(
            a.dest.startswith("system") for a in self._actions if not a.option_strings
        )
        system = system_flag(flag) if takes_system else ""
        near = system or did_you_mean(flag, self.flags()).strip()
        otherwise = "" if system else otherwise
        self.error("; ".join(filter(None, (f"no flag {flag}", near, otherwise))))

    def _hint(self) -> str:
        """Returns a hint for a command with one argument too many."""
        if "--measures" in self.flags():
            return "; -m takes one measure, --measures several"
        last = next((a.metavar for a in reversed(self._actions) if not a.option_strings), None)
        if last == "RUN" and "--dataset" in self.flags():
            return "; it takes one run, and --dataset names the dataset"
        if last == "TEXT":
            return "; put a text of several words between quotes"
        return "; name one command" if last == "COMMAND" else ""


def system_flag(flag: str) -> str:
    """Returns the remedy for a flag that has the name of a system; "" for any other flag."""
    from irtoolkit.retrievers.system_names import general_name

    name = general_name(flag.lstrip("-"))
    return "" if name is None else f"a system is named without dashes: DATASET {name}"


def add_command(subparsers: Any, name: str, module: Any) -> CommandParser:
    """Adds the parser of a command module, without its arguments."""
    parser: CommandParser = subparsers.add_parser(
        name,
        help=module.HELP,
        description=module.__doc__,
        epilog=_EXAMPLES + "\n".join(f"  {line}" for line in module.EXAMPLES),
    )
    return parser


def naming_flags(error: InputError, args: argparse.Namespace, flags: Sequence[str]) -> InputError:
    """Returns the error for an unknown setting, if it was written as a flag, or the given error.

    Args:
        error: any error of a command.
        args: the arguments of the command.
        flags: the flags that the command has.
    """
    written: Mapping[str, str] = getattr(args, FLAGS, {})
    of_method = next((key for key in written if error.found.endswith(f" takes no {key}")), None)
    key = getattr(error, "key", of_method)
    if key is None or key not in written:
        return error
    names: Sequence[str] = getattr(error, "known", ())
    if said := system_flag(written[key]):
        return InputError(f"no flag {written[key]}", remedy=said)
    near = nearest(written[key], [*flags, *(f"--{name}" for name in names)])
    guess = f"did you mean {', '.join(near)}?" if near else ""
    if len(near) == 1:
        value = dict(pair.split("=", 1) for pair in args.settings)[key]
        guess = f"did you mean {near[0]} {value}?"
    return InputError(f"no flag {written[key]}, and {error.found}", remedy=guess or error.remedy)
