"""Print a script that completes commands, flags and names in a shell.

Bash reads the script from ~/.local/share/bash-completion/completions/irtoolkit, fish from
~/.config/fish/completions/irtoolkit.fish; zsh evaluates it in ~/.zshrc, after compinit. The script
holds the names of datasets, systems, models and experiments that are known now; print it again
after an upgrade.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator

from irtoolkit.commands import argument
from irtoolkit.commands._parsing import CommandParser

HELP = "print a script that completes commands and flags in a shell"
EXAMPLES = ("irtoolkit completion bash", "irtoolkit completion fish")

# Bash takes a colon, as in csfcube:SPECTER, for a word of its own, and completes what follows it.
_BASH_COLON = (
    "    local before=",
    '    if [[ "$COMP_WORDBREAKS" == *:* && "$current" == : ]]; then',
    '        before="$previous:" current=',
    '    elif [[ "$COMP_WORDBREAKS" == *:* && "$previous" == : ]]; then',
    '        before="${COMP_WORDS[COMP_CWORD-2]}:"',
    "    fi",
)
# Words that a shell takes as they are.
_PLAIN = re.compile(r"[\w.,/+@%:-]+")


def configure(parser: argparse.ArgumentParser) -> None:
    argument(parser, "SHELL", "bash, zsh or fish", choices=tuple(SCRIPTS))


def execute(args: argparse.Namespace) -> None:
    parsers = {name: parser for name, parser in args.parsers.items() if name}
    print("\n".join(SCRIPTS[args.shell](parsers)))


def _bash(parsers: dict[str, CommandParser]) -> Iterator[str]:
    names = _names(list(parsers))
    yield "_irtoolkit() {"
    yield '    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"'
    yield "    local command= flags='--help --version --debug' words= word"
    yield '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield '        case "$word" in -*) ;; *) command="$word"; break ;; esac'
    yield "    done"
    yield '    case "$command" in'
    yield f"        '') words={shlex.quote(' '.join(parsers))} ;;"
    for name, parser in parsers.items():
        flags, words = " ".join(parser.flags()), " ".join(_words(parser, names))
        yield f"        {name}) flags={shlex.quote(flags)} words={shlex.quote(words)} ;;"
    yield "    esac"
    yield '    case "$command $previous" in'
    for name, parser in parsers.items():
        for flag, choices in _choices(parser):
            yield f"        '{name} {flag}') words={shlex.quote(' '.join(choices))} ;;"
    yield "    esac"
    yield '    if [[ "$current" == -* ]]; then words="$flags"; fi'
    yield from _BASH_COLON
    yield '    COMPREPLY=($(compgen -W "$words" -- "$before$current"))'
    yield '    COMPREPLY=("${COMPREPLY[@]#"$before"}")'
    yield '    if [[ -n "$command" && -z "$before" && "$current" != -* ]]; then'
    yield '        COMPREPLY+=($(compgen -f -- "$current"))'
    yield "    fi"
    yield "}"
    yield "complete -o filenames -F _irtoolkit irtoolkit"


def _zsh(parsers: dict[str, CommandParser]) -> Iterator[str]:
    yield "autoload -U +X bashcompinit && bashcompinit"
    yield from _bash(parsers)


def _fish(parsers: dict[str, CommandParser]) -> Iterator[str]:
    names = _names(list(parsers))
    for name, parser in parsers.items():
        description = shlex.quote((parser.description or "").strip().partition("\n")[0])
        yield f"complete -c irtoolkit -n __fish_use_subcommand -f -a {name} -d {description}"
        condition = f"-n '__fish_seen_subcommand_from {name}'"
        choices = dict(_choices(parser))
        for flag in parser.flags():
            kind = f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
            values = f" -x -a {shlex.quote(' '.join(choices[flag]))}" if flag in choices else ""
            yield f"complete -c irtoolkit {condition} {kind}{values}"
        words = _words(parser, names)
        if words:
            yield f"complete -c irtoolkit {condition} -a {shlex.quote(' '.join(words))}"


SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}


def _choices(parser: argparse.ArgumentParser) -> Iterator[tuple[str, list[str]]]:
    """Yields the flags that take one of a few words."""
    for action in parser._actions:
        values = (
            action.choices if action.choices is not None else getattr(action, "suggested", None)
        )
        if values is not None:
            yield from ((flag, list(map(str, values))) for flag in action.option_strings)


def _words(parser: argparse.ArgumentParser, names: dict[str, list[str]]) -> list[str]:
    """Returns the words that may replace the positional arguments, except files."""
    listed: list[str] = []
    for action in parser._actions:
        if action.option_strings:
            continue
        values = names.get(str(action.metavar), []) if action.choices is None else action.choices
        listed += map(str, values)
    return [word for word in dict.fromkeys(listed) if _PLAIN.fullmatch(word)]


def _names(commands: list[str]) -> dict[str, list[str]]:
    """Returns the known names for each metavar of arguments."""
    from irtoolkit.datasets import dataset_ids
    from irtoolkit.models.presets import presets
    from irtoolkit.papers.catalogue import tables
    from irtoolkit.papers.systems import row_id
    from irtoolkit.retrievers import retrievers
    from irtoolkit.retrievers.system_names import KNOWN_AS
    from irtoolkit.training.recipe_files import recipe_names

    rows = [
        name
        for table in tables().values()
        for row in table.rows
        if row.retriever is not None
        for name in (row.system, row_id(table, row.system))
    ]
    return {
        "COMMAND": commands,
        "DATASET": sorted(dataset_ids()),
        "ID": sorted(dataset_ids()),
        "SYSTEM": sorted({*retrievers(), *KNOWN_AS, *rows, *presets()}),
        "MODEL": sorted(presets()),
        "EXPERIMENT": sorted(tables()),
        "RECIPE": list(recipe_names()),
        "SHELL": list(SCRIPTS),
    }
