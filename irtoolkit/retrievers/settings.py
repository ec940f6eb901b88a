"""Settings given as text, as the types that the fields of a dataclass declare."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean

# Settings that a message lists where it has a guess.
_LISTED = 20


class UnknownSettingError(InputError):
    """The error for a setting that something does not have.

    Args:
        owner: what does not have it, such as "retriever bm25".
        key: the setting.
        known: the settings that it has.
        more: what else the remedy says.
    """

    def __init__(self, owner: str, key: str, names: Sequence[str], more: str = "") -> None:
        self.owner, self.key, self.known = owner, key, tuple(names)
        guess = did_you_mean(key, names)
        listed = "" if guess and len(names) > _LISTED else f"it has {', '.join(names) or 'none'}"
        super().__init__(
            f"{owner} has no setting {key!r}", remedy=f"{guess}{listed}{more}".strip("; ")
        )


def parse_settings(cls: Any, settings: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Settings as the types that the fields of a dataclass declare."""
    hints = get_type_hints(cls)
    by_name = {item.name: item for item in fields(cls)}
    for key in settings:
        if key not in by_name:
            raise UnknownSettingError(owner, key, list(by_name))
    for name, item in by_name.items():
        if item.default is MISSING and item.default_factory is MISSING and name not in settings:
            raise InputError(f"{owner} needs the setting {name}", remedy=f"--set {name}=...")
    return {key: parse_value(key, value, hints[key]) for key, value in settings.items()}


def parse_value(key: str, value: Any, hint: Any) -> Any:
    """One value as the type of its field: Literal, str, int, float, bool, or one of them | None."""
    origin = get_origin(hint)
    if origin is Literal:
        for option in get_args(hint):
            # True is not 1, and "2" of a command line is 2.
            if str(option) == str(value):
                return option
        expected = " or ".join(map(str, get_args(hint)))
    elif origin in (Union, types.UnionType):
        if value is None or value == "none":
            return None
        kinds = [kind for kind in get_args(hint) if kind is not type(None)]
        return parse_value(key, value, kinds[0])
    elif hint is bool:
        if str(value).lower() in ("true", "false"):
            return str(value).lower() == "true"
        expected = "true or false"
    else:
        try:
            if isinstance(value, str) and "_" in value and hint is not str:
                raise ValueError(value)  # Python would read 1_5 as 15
            if isinstance(value, bool):
                raise ValueError(value)  # which Python takes for 0 or 1
            parsed = hint(value)
            # A number given as a number must not lose its fraction.
            if isinstance(value, str) or parsed == value:
                return parsed
        except (TypeError, ValueError, OverflowError):
            pass
        expected = {int: "a whole number", float: "a number", str: "text"}.get(hint, hint.__name__)
    text = str(value).lower() if isinstance(value, bool) else value
    raise InputError(f"setting {key}={text} is not {expected}")
