"""Parameters of measures: those that are refused, and in words the values that are allowed."""

from __future__ import annotations

import ast
import math
from collections import Counter
from numbers import Real
from typing import Any

from ir_measures import Measure, ParamInfo
from ir_measures.measures import registry
from ir_measures.providers.base import NOT_PROVIDED

from irtoolkit.base.errors import InputError

# The values that a parameter of a type can have; ir_measures reads no negative number.
_OF_TYPE = {
    bool: "True or False",
    int: "a whole number, not negative",
    float: "a number with a decimal point, not negative, as in 0.5",
    str: "text in quotation marks",
    dict: "a number for each grade, as in {0: 0, 1: 3}",
}
# pytrec_eval ends the whole process at a cutoff of 0, and takes a negative rel without a word. Measures
# that cannot take rel=0, with which every document is relevant, refuse it themselves.
_LEAST = {"cutoff": 1, "rel": 0}


def check_written_parameters(name: str) -> None:
    """Checks the parameters in a measure's name, on which ir_measures has no clear error or none.

    Args:
        name: a measure as ir_measures writes it; anything else passes.

    Raises:
        InputError: a parameter that is given twice, that the measure lacks, or whose value is not a
            number, text or mapping.
    """
    try:
        (statement,) = ast.parse(name).body
    except (SyntaxError, ValueError):
        return
    node = statement.value if isinstance(statement, ast.Expr) else None
    cut = None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        cut = node.right
        node = node.left
    keywords = node.keywords if isinstance(node, ast.Call) else []
    called = node.func if isinstance(node, ast.Call) else node
    if not isinstance(called, ast.Name) or called.id not in registry:
        return
    measure = registry[called.id]
    arguments = [(keyword.arg, keyword.value) for keyword in keywords if keyword.arg is not None]
    arguments += [] if cut is None else [(measure.AT_PARAM, cut)]
    for parameter, count in Counter(parameter for parameter, _ in arguments).items():
        if count > 1:
            raise InputError(
                f"measure {name!r} is not valid: {parameter} is given {_times(count)}",
                remedy="give it once",
            )
    for parameter, value in arguments:
        if parameter not in measure.SUPPORTED_PARAMS:
            raise _no_parameter(name, measure, parameter)
        if not _is_plain(value):
            info = measure.SUPPORTED_PARAMS[parameter]
            raise _wrong(name, parameter, ast.unparse(value), info)


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


def _is_plain(value: ast.expr) -> bool:
    """Returns whether ir_measures reads a value: an unsigned number, text, or a mapping."""
    if isinstance(value, ast.Dict):
        parts = [*value.keys, *value.values]
        return all(isinstance(part, ast.Constant) for part in parts)
    return isinstance(value, ast.Constant)


def check_parameters(name: str, measure: Measure) -> None:
    """Checks that a measure takes its parameters.

    Args:
        name: the measure as the user wrote it, for the message.
        measure: the measure of this name.

    Raises:
        InputError: a parameter is unknown, missing, or has an invalid value.
    """
    for parameter in measure.params:
        if parameter not in measure.SUPPORTED_PARAMS:
            raise _no_parameter(name, measure, parameter)
    for parameter, info in measure.SUPPORTED_PARAMS.items():
        value = measure.params.get(parameter, NOT_PROVIDED)
        if value is NOT_PROVIDED and info.required:
            raise InputError(f"measure {name!r} is not valid: {_needs(parameter)}")
        if not info.validate(value) or (isinstance(value, Real) and not math.isfinite(value)):
            raise _wrong(name, parameter, repr(value), info)
    for parameter, least in _LEAST.items():
        value = measure.params.get(parameter, NOT_PROVIDED)
        if value is not NOT_PROVIDED and value < least:
            raise _wrong(name, parameter, repr(value), measure.SUPPORTED_PARAMS[parameter])


def _needs(parameter: str) -> str:
    example = "as in P@10" if parameter == "cutoff" else f"as in ({parameter}=3)"
    return f"it needs a {parameter}, {example}"


def _no_parameter(name: str, measure: Measure, parameter: str) -> InputError:
    has = ", ".join(measure.SUPPORTED_PARAMS)
    return InputError(
        f"measure {name!r} is not valid: {measure.NAME} has no parameter {parameter}",
        remedy=f"it has {has}" if has else "it has none",
    )


def _wrong(name: str, parameter: str, value: str, info: ParamInfo) -> InputError:
    return InputError(
        f"measure {name!r} is not valid: its {parameter} is {value}",
        remedy=f"{parameter} is {_allowed(parameter, info)}",
    )


def _allowed(parameter: str, info: ParamInfo) -> str:
    """Returns the values that a parameter can have, in words."""
    choices: Any = info.choices
    if isinstance(choices, range):
        return f"a whole number from {choices[0]} to {choices[-1]}"
    if isinstance(choices, list | tuple):
        return " or ".join(map(repr, choices))
    if parameter in _LEAST:
        return "a whole number, 1 or more"
    return _OF_TYPE.get(info.dtype, "a number, as in 0.5")
