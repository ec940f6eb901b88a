"""Settings that change nothing, because other settings decide that nothing reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import MISSING, fields, replace

from irtoolkit.base.errors import InputError
from irtoolkit.retrievers.base import Retriever


def check_settings_used(retriever: Retriever, names: Iterable[str]) -> None:
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


def conditions_of(cls: type[Retriever]) -> dict[str, Sequence[str]]:
    """Returns the conditions that a class and its base classes declare; see `Retriever.read_with`."""
    declared: dict[str, Sequence[str]] = {}
    for base in reversed(cls.__mro__):
        declared |= vars(base).get("read_with", {})
    return {name: conditions for name, conditions in declared.items() if conditions}


def _is_read(retriever: Retriever, name: str, conditions: dict[str, Sequence[str]]) -> bool:
    """Whether one of a setting's conditions holds, and what this needs is read itself."""
    return name not in conditions or any(
        _holds(retriever, condition)
        and _is_read(retriever, condition.partition("=")[0], conditions)
        for condition in conditions[name]
    )


def _holds(retriever: Retriever, condition: str) -> bool:
    name, equals, value = condition.partition("=")
    setting = getattr(retriever, name)
    return str(setting).lower() == value if equals else bool(setting)


def _is_usual(retriever: Retriever, name: str) -> bool:
    """Whether a setting has the value that it has without being given."""
    [default] = [item.default for item in fields(retriever) if item.name == name]
    if default is MISSING:
        return False
    usual = replace(retriever, **{name: default})
    values = [
        instance.settings().get(name, getattr(instance, name)) for instance in (usual, retriever)
    ]
    return bool(values[0] == values[1])
