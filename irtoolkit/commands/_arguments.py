"""Arguments of commands, declared as usage lines write them: name, value, range, default in one call."""

from __future__ import annotations

import argparse
import math
import re
from argparse import _ActionsContainer as Parser
from typing import Any

from irtoolkit.base.errors import InputError


def argument(
    parser: Parser,
    usage: str,
    description: str = "",
    *,
    least: float | None = None,
    most: float = math.inf,
    **options: Any,
) -> argparse.Action:
    """Adds an argument to a parser, or to a group of one; help shows its default, if it has one.

    Args:
        parser: the parser or group.
        usage: the argument as usage lines write it: "DATASET", "[RUN]" for one that may be left out, "RUN..."
            or "[RUN...]" for several; "--all" for a flag; "-o, --output FILE" for a flag with a value;
            "--runs RUN..." for one with several, which may also be repeated.
        description: what help says of it.
        least: of a number, the least that is accepted.
        most: of a number, the greatest.
        options: as for `add_argument`.
    """
    flags, value = _divided(usage)
    options = {**_counted(value, bool(flags)), **options}
    if least is not None:
        options = {"action": _Number, "type": int, "least": least, "most": most, **options}
    elif flags and not value and "choices" not in options:
        options["action"] = "store_true"
    names = flags or [options.pop("dest", options["metavar"].lower())]
    return parser.add_argument(*names, help=_described(description, options), **options)


def _counted(value: str, flag: bool) -> dict[str, Any]:
    """Returns what help calls the value of an argument, and how many it takes, for argparse."""
    if not value:
        return {}
    name, *others = value.strip("[].").split()
    if "..." in value:
        several = {"nargs": "+", "action": "extend", "default": []}
        return {"metavar": name, **(several if flag else {"nargs": "*" if "[" in value else "+"})}
    if "[" in value:
        return {"metavar": name, "nargs": "?"}
    return {"metavar": name, "nargs": 1 + len(others)} if others else {"metavar": name}


def _divided(usage: str) -> tuple[list[str], str]:
    """Returns the flags of an argument, and what help calls its value."""
    flags = re.findall(r"(?:^|, )(-[\w-]+)", usage)
    return flags, usage.removeprefix(", ".join(flags)).strip()


def _described(description: str, options: dict[str, Any]) -> str | None:
    """Returns what help says of an argument, which ends in its default."""
    default = options.get("default")
    if default in (None, "", []) or "default:" in description:
        return description or None
    shown = f"{default:g}" if isinstance(default, float) else str(default)
    return "; ".join(filter(None, (description, f"default: {shown}")))


class _Number(argparse.Action):
    """Stores a number in a range; an error names the flag as it was typed."""

    def __init__(self, *args: Any, least: float, most: float, **options: Any) -> None:
        super().__init__(*args, **{"metavar": "N", **options})
        self.least, self.most = least, most

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if not self.least <= values <= self.most:
            ends = f"between {self.least:g} and {self.most:g}"
            bounds = ends if self.most < math.inf else f"at least {self.least:g}"
            raise InputError(f"{option_string} {values:g} is not {bounds}")
        setattr(namespace, self.dest, values)
