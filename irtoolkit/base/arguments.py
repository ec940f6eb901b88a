"""Arguments that are not of the type that a signature says: refused by one decorator."""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from functools import cache, wraps
from numbers import Integral, Real
from os import PathLike
from types import NoneType, UnionType
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean
from irtoolkit.base.paths import StrPath

P = ParamSpec("P")
R = TypeVar("R")

_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "text",
    PathLike: "a path",
    Sequence: "a list",
    Iterable: "a list",
    Mapping: "a dict",
}
_PLURALS = {
    "a whole number": "whole numbers",
    "a number": "numbers",
    "text": "texts",
    "a path": "paths",
}
_STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
# Characters of a wrong value that a message shows.
_SHOWN = 60


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Makes a function check that its arguments have the types in its signature.

    Types of `typing` or this package that the signature imports for type checkers only, Literals
    and bools are not checked: the code that reads them has better messages. NumPy numbers reach the
    function as Python's own, both as arguments and among settings by name. A str is not a list. The
    values of an Iterable are not checked, as there may be millions.

    Raises:
        InputError: when the function is called, for the first argument of another type.
    """

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        signature, hints = _expected(function)
        bound = _bound(function, args, kwargs)
        for name, value in bound.arguments.items():
            if name in hints:
                check_type(name, value, hints[name])
            # Data may be a dict of millions, settings by name are few.
            few = signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
            if few or (_is_numpys(value) and isinstance(value, Real)):
                bound.arguments[name] = own_types(value)
        return function(*bound.args, **bound.kwargs)

    return wrapper


def checked_names(function: Callable[P, R]) -> Callable[P, R]:
    """Makes a function raise InputError for arguments that it does not have; see `checked`.

    A call whose arguments fit costs nothing more.
    """

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError:
            _bound(function, args, kwargs)
            raise

    return wrapper


def check_fields(record: Any) -> None:
    """Checks that the fields of a dataclass have the types that its class declares.

    NumPy numbers and arrays are replaced by Python's own numbers and lists.
    """
    kind: Any = type(record)
    for name, hint in _hints(kind).items():
        if hasattr(record, name):
            value = getattr(record, name)
            check_type(name, value, hint)
            object.__setattr__(record, name, own_types(value))


def own_types(setting: Any) -> Any:
    """Returns a setting with Python's own numbers and lists, as JSON and YAML need."""
    if type(setting) is dict:
        return {key: own_types(one) for key, one in setting.items()}
    if type(setting) in (list, tuple):
        return type(setting)(own_types(one) for one in setting)
    return setting.tolist() if _is_numpys(setting) else setting


def _is_numpys(value: Any) -> bool:
    return type(value).__module__ == "numpy" and hasattr(value, "tolist")


def check_type(name: str, value: Any, hint: Any) -> None:
    """Raises InputError if a value is not of a type; the message names the part that is not."""
    fault = _fault(name, value, hint)
    if fault is None:
        return
    name, value, hint = fault
    wanted = _words(hint)
    single = isinstance(value, str) and wanted in ("a list", "a list of texts")
    raise InputError(
        f"{name} {shown_value(value)} is not {wanted}",
        remedy=f"one is written [{shown_value(value)}]" if single else None,
    )


def shown_value(value: Any) -> str:
    """Returns a value as Python writes it, cut if it is long."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python writes
        text = f"{type(value).__name__} of very many digits"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def written(value: Any) -> str:
    """Returns the value of a setting as a user writes it: a text without quotes."""
    return value if isinstance(value, str) else shown_value(value)


def _bound(
    function: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any]
) -> inspect.BoundArguments:
    """Returns the arguments of a call by name, or raises InputError if the function lacks one."""
    signature, _ = _expected(function)
    try:
        return signature.bind(*args, **named)
    except TypeError as error:
        raise _not_taken(function, signature, named, str(error)) from None


def _not_taken(
    function: Callable[..., Any], signature: inspect.Signature, named: Mapping[str, Any], said: str
) -> InputError:
    """Returns the error for arguments that a function does not take."""
    by_name = [
        one.name
        for one in signature.parameters.values()
        if one.kind not in _STARRED and one.name != "self"
    ]
    unknown = next((name for name in named if name not in by_name), None)
    remedy = did_you_mean(unknown, by_name) if unknown is not None else ""
    by_position = [name for name in by_name if _is_positional(signature, name)]
    if said.startswith("too many positional") and by_position != by_name:
        by_keyword = ", ".join(f"{name}=" for name in by_name if name not in by_position)
        remedy = f"after {' and '.join(by_position)}, give arguments by name: {by_keyword}"
    else:
        remedy += f"it takes {', '.join(by_name)}"
    return InputError(f"{function.__name__}: {said}", remedy=remedy)


def _is_positional(signature: inspect.Signature, name: str) -> bool:
    return signature.parameters[name].kind is not inspect.Parameter.KEYWORD_ONLY


@cache
def _expected(function: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, Any]]:
    signature = inspect.signature(function)
    hints = _hints(function)
    return signature, {
        name: hints[name]
        for name, parameter in signature.parameters.items()
        if name in hints and parameter.kind not in _STARRED
    }


class _Names(dict[str, Any]):
    """The names of a module; a name that is imported for type checkers only may be anything."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, Any)


@cache
def _hints(thing: Any) -> dict[str, Any]:
    """Returns the types of a function's arguments or of a dataclass's fields, by name."""
    names = _Names({**vars(sys.modules[thing.__module__]), "StrPath": StrPath})
    return get_type_hints(thing, {}, names)


def _fault(name: str, value: Any, hint: Any) -> tuple[str, Any, Any] | None:
    """Returns the name, value and expected type of the part with a wrong type, or None."""
    kind, inner = get_origin(hint) or hint, get_args(hint) or (Any, Any)
    if kind in (Union, UnionType):
        faults = [_fault(name, value, one) for one in inner]
        if None in faults:
            return None
        # Where one alternative has its outside right, what is wrong is inside.
        return next((fault for fault in faults if fault and fault[0] != name), (name, value, hint))
    if kind is Mapping:
        if not isinstance(value, Mapping):
            return name, value, hint
        parts = ((f"{name}[{shown_value(key)}]", one, inner[1]) for key, one in value.items())
        return next((fault for part in parts if (fault := _fault(*part))), None)
    if kind in (Sequence, Iterable):
        if not _is_list(value, counted=kind is Sequence):
            return name, value, hint
        if kind is Iterable:
            return None
        parts = ((f"{name}[{place}]", one, inner[0]) for place, one in enumerate(value))
        return next((fault for part in parts if (fault := _fault(*part))), None)
    return None if _is_one(value, kind) else (name, value, hint)


def _is_list(value: Any, *, counted: bool) -> bool:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return False
    if isinstance(value, Mapping):  # its keys, where no order is asked for
        return not counted
    # The order of a set is nobody's, and a generator is read once.
    return not counted or (
        isinstance(value, Sized) and not isinstance(value, Iterator | set | frozenset)
    )


def _is_one(value: Any, kind: Any) -> bool:
    """Returns whether a value is of a type without parts; True of a type that is not checked."""
    if kind is int or kind is float:
        return isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
    if kind in (str, PathLike, NoneType):
        return isinstance(value, kind)
    return True


def _words(hint: Any) -> str:
    """Returns a type in words."""
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        if any(get_origin(one) is PathLike for one in inner):  # which a str is, too
            inner = tuple(one for one in inner if one is not str)
        return " or ".join(_words(one) for one in inner if one is not NoneType)
    several = _PLURALS.get(_words(inner[0])) if kind in (Sequence, Iterable) and inner else None
    return f"{_WORDS.get(kind, kind)} of {several}" if several else str(_WORDS.get(kind, kind))
