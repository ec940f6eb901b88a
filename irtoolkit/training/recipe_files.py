"""The recipes that come with irtoolkit, and users' own recipes in TOML files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from string import Formatter
from typing import Any, TypeVar, get_type_hints

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_lines
from irtoolkit.base.near import did_you_mean
from irtoolkit.base.toml_records import Place, read_record
from irtoolkit.base.tomls import load_toml, table_lines
from irtoolkit.retrievers.settings import UnknownSettingError, parse_settings, parse_value
from irtoolkit.training.recipes import Recipe, Stage

Part = TypeVar("Part", Recipe, Stage)

FOLDER = Path(__file__).parent / "recipes"

# Fields that are not settings, and settings that are only texts.
_OWN = ("name", "stages", "variables")
_TEXTS = ("title", "paper", "note")
_MODEL = [field.name for field in fields(Recipe) if field.name not in (*_OWN, *_TEXTS)]
_STAGE = [field.name for field in fields(Stage)]


def recipe_names() -> list[str]:
    """Returns the names of the recipes that come with irtoolkit."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def find_recipe(name: str, settings: Mapping[str, Any] | None = None) -> Recipe:
    """Returns a recipe with the given settings.

    Args:
        name: one of `recipe_names()`, or the path of a .toml file.
        settings: settings of the model, of the recipe's variables, or of every stage; `2.epochs`
            sets the second stage only, and `temperature` is the inverse of `scale`.

    Raises:
        InputError: there is no such recipe, setting or value, or the file is not a recipe.
    """
    path = _path(name)
    text, data = _read(path)
    stages = data.pop("stage", None)
    if not isinstance(stages, list) or not stages:
        raise InputError("a recipe has at least one [[stage]]", file=path)
    variables = data.pop("variables", {})
    model, shared, single = _split_settings(path, settings or {}, len(stages), list(variables))
    chosen = {key: str(model.pop(key, value["default"])) for key, value in variables.items()}
    filled: dict[str, str] = {}
    for key, value in chosen.items():
        values = variables[key]["values"]
        if value not in values:
            raise InputError(
                f"{key}={value} is not a value of the recipe {path.stem}",
                remedy=f"{key} is one of {', '.join(values)}",
            )
        filled |= values[value]
    lines = table_lines(text, "stage", len(stages))
    parsed = []
    for number, (stage, line) in enumerate(zip(stages, lines, strict=True), 1):
        place = Place(path, f"stage {number}", line)
        own = parse_settings(Stage, {**shared, **single.get(number, {})}, place.name)
        parsed.append(replace(_read_part(Stage, _fill(path, stage, filled), place), **own))
    recipe = _read_part(
        Recipe,
        _fill(path, data, filled),
        Place(path, "the recipe"),
        name=path.stem,
        stages=tuple(parsed),
        variables=tuple(sorted(chosen.items())),
    )
    return replace(recipe, **parse_settings(Recipe, model, f"recipe {path.stem}"))


def _read_part(kind: type[Part], data: Mapping[str, Any], place: Place, **given: Any) -> Part:
    """Returns a part of a file; values with placeholders are text, which is parsed."""
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name not in given}
    try:
        values = {
            key: parse_value(key, value, hints[key]) if key in hints else value
            for key, value in data.items()
        }
    except InputError as error:
        raise place.error(error.found) from None
    return read_record(kind, values, place, **given)


def recipe_variables(name: str) -> dict[str, tuple[str, list[str]]]:
    """Returns the variables of a recipe: the default and the values of each."""
    variables = _read(_path(name))[1].get("variables", {})
    return {key: (str(value["default"]), list(value["values"])) for key, value in variables.items()}


def _path(name: str) -> Path:
    if name in recipe_names():
        return FOLDER / f"{name}.toml"
    if name.endswith(".toml"):
        return Path(name)
    raise InputError(
        f"no recipe {name!r}",
        remedy=f"{did_you_mean(name, recipe_names())}irtoolkit train --list lists the recipes;"
        " a recipe of your own is a .toml file",
    )


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    """Returns the text of a recipe and its content."""
    text = "\n".join(line for _, line in read_lines(path))
    try:
        data = load_toml(text)
    except ValueError as error:
        raise InputError(f"not TOML: {error}", file=path) from None
    variables = data.get("variables", {})
    stages = data.get("stage", [])
    tables = isinstance(stages, list) and all(isinstance(stage, dict) for stage in stages)
    if not isinstance(variables, dict) or not tables:
        raise InputError("[variables.NAME] and [[stage]] are tables", file=path)
    for key, value in variables.items():
        fits = isinstance(value, dict) and value.keys() == {"default", "values"}
        if not fits or not isinstance(value["values"], dict):
            raise InputError(f"the variable {key} needs default and values", file=path)
        if not all(isinstance(settings, dict) for settings in value["values"].values()):
            raise InputError(f"a value of the variable {key} is not a table", file=path)
    return text, data


def _split_settings(
    path: Path, settings: Mapping[str, Any], count: int, variables: list[str]
) -> tuple[dict[str, Any], dict[str, Any], dict[int, dict[str, Any]]]:
    """Returns settings of the model and of variables, of all stages, and of each stage by number."""
    model: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    single: dict[int, dict[str, Any]] = {}
    for key, value in _with_scale(settings).items():
        number, dot, name = key.partition(".")
        if dot and name in _STAGE and number.isdecimal() and 1 <= int(number) <= count:
            single.setdefault(int(number), {})[name] = value
        elif key in _MODEL or key in variables:
            model[key] = value
        elif key in _STAGE:
            shared[key] = value
        else:
            names = [*variables, *_MODEL, *_STAGE]
            stages = f"; 1.epochs sets one of the {count} stages" if count > 1 else ""
            raise UnknownSettingError(f"the recipe {path.stem}", key, names, stages)
    return model, shared, single


def _with_scale(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns settings with the scale in place of a temperature, which is its inverse."""
    scaled: dict[str, Any] = {}
    for key, value in settings.items():
        name = key.rpartition(".")[2]
        scale = key.removesuffix(name) + "scale"
        if name == "temperature":
            try:
                temperature = 0.0 if isinstance(value, bool) else float(value)
            except (TypeError, ValueError):
                temperature = 0.0
            if not 0 < temperature < math.inf:
                raise InputError(f"{key}={value} is not a number above 0")
            if scale in settings:
                raise InputError(f"{key}={value} and {scale}: one is the inverse of the other")
            key, value = scale, 1 / temperature
        scaled[key] = value
    return scaled


def _fill(path: Path, values: dict[str, Any], filled: Mapping[str, str]) -> dict[str, Any]:
    """Fills in the {placeholders} of values."""

    def fill(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            if any(spec or kind for _, _, spec, kind in Formatter().parse(value)):
                raise InputError(
                    f"a format in {value!r}", file=path, remedy="write a variable as {name}"
                )
            return value.format_map(filled)
        except (KeyError, ValueError, IndexError) as error:
            raise InputError(f"no variable gives {error} in {value!r}", file=path) from None

    return {key: fill(value) for key, value in values.items()}
