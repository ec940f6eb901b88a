"""Settings given as text, as the types that the fields of a dataclass declare."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, replace
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
        names: the settings that it has.
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


def check_settings_used(retriever: Any, names: Iterable[str]) -> None:
    """Raises InputError if a setting that was given changes nothing.

    A setting with the value that it would have anyway is accepted.

    Args:
        retriever: made with the settings.
        names: the settings that were given.
    """
    conditions = conditions_of(type(retriever))
    for name in names:
        if _is_read(retriever, name, conditions) or _is_usual(retriever, name):
            continue
        needed = " or ".join(conditions[name])
        raise InputError(
            f"setting {name}={getattr(retriever, name)} changes nothing: {retriever.name} reads it"
            f" with {needed}",
            remedy=f"set that, or leave {name} out",
        )


def conditions_of(cls: type[Any]) -> dict[str, Sequence[str]]:
    """Returns the conditions that a class and its base classes declare; see `Retriever.read_with`."""
    declared: dict[str, Sequence[str]] = {}
    for base in reversed(cls.__mro__):
        declared |= vars(base).get("read_with", {})
    return {name: conditions for name, conditions in declared.items() if conditions}


def _is_read(retriever: Any, name: str, conditions: dict[str, Sequence[str]]) -> bool:
    """Whether one of a setting's conditions holds, and what this needs is read itself."""
    return name not in conditions or any(
        _holds(retriever, condition)
        and _is_read(retriever, condition.partition("=")[0], conditions)
        for condition in conditions[name]
    )


def _holds(retriever: Any, condition: str) -> bool:
    name, equals, value = condition.partition("=")
    setting = getattr(retriever, name)
    return str(setting).lower() == value if equals else bool(setting)


def _is_usual(retriever: Any, name: str) -> bool:
    """Whether a setting has the value that it has without being given."""
    [default] = [item.default for item in fields(retriever) if item.name == name]
    if default is MISSING:
        return False
    usual = replace(retriever, **{name: default})
    values = [
        instance.settings().get(name, getattr(instance, name)) for instance in (usual, retriever)
    ]
    return bool(values[0] == values[1])
