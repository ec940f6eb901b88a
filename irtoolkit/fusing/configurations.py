"""The configurations of fusion that a search tries: a method with its settings."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from typing import Any, get_args

from irtoolkit.base.arguments import written
from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean
from irtoolkit.fusing.lambdamart import LambdaMART, load_lightgbm
from irtoolkit.integrations.ranx_fusion import NORMALISATIONS, PREFIX, fusion_method
from irtoolkit.integrations.ranx_kinds import KINDS
from irtoolkit.integrations.ranx_objects import load_ranx
from irtoolkit.ranking.fusion_methods import METHODS, finite
from irtoolkit.ranking.normalisation import Normalise, check_normalisation

# Values of the numbers that methods take, unless others are given.
NUMBERS: dict[str, tuple[float, ...]] = {
    "k": (10, 20, 60, 100),
    "gamma": (0.25, 0.5, 1, 2),
    "sigma": (0.01, 0.1, 1),
    "phi": (0.5, 0.7, 0.8, 0.9, 0.95),
    "leaves": (4, 15),
    "trees": (30, 100),
    "rate": (0.1,),
}
# The step between weights of two runs, of three, and of more.
_STEPS = {2: 0.05, 3: 0.1}
_COARSE = 0.2
# No grid has more weights than this.
_MOST = 10_000


@dataclass(frozen=True)
class Configuration:
    """A method of fusion with its settings.

    Attributes:
        method: its name: one of irtoolkit's, of ranx's, or "lambdamart".
        settings: its parameters by name.
    """

    method: str
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def trained(self) -> bool:
        """Whether it has to be trained on judgments before it fuses."""
        return self.method == LambdaMART.name

    @property
    def key(self) -> str:
        """The key of a configuration in a log."""
        return json.dumps([self.method, self.settings], sort_keys=True)


def configurations(
    count: int,
    methods: Sequence[str],
    normalise: Sequence[str],
    step: float | None = None,
    grid: Mapping[str, Sequence[Any]] | None = None,
) -> list[Configuration]:
    """Returns all configurations of some methods, in the order in which equals are preferred.

    Args:
        count: how many runs are fused.
        methods: names: irtoolkit's, ranx's that are not trained, and "lambdamart".
        normalise: normalisations, for the methods that read scores.
        step: between weights, which are at least 0 and add up to 1; by default 0.05 for two runs,
            0.1 for three and 0.2 for more. Even weights come first.
        grid: values of the numbers that methods take, in place of NUMBERS.

    Raises:
        InputError: no method; an unknown method, normalisation or number; one that no method takes;
            or a step that does not divide 1.
    """
    if not methods:
        raise InputError("no methods to tune", remedy=f"there are {', '.join(known_methods())}")
    takes = {name: _takes(name) for name in dict.fromkeys(methods)}
    _check_used(takes, normalise, grid or {})
    numbers: dict[str, Sequence[Any]] = {**NUMBERS, **(grid or {})}
    listed = []
    for name, (keys, normalisations) in takes.items():
        axes: dict[str, Sequence[Any]] = {}
        for key in keys:
            if key == "weights":
                axes[key] = [list(weights) for weights in weights_grid(count, step)]
            elif key == "normalise":
                axes[key] = [value for value in dict.fromkeys(normalise) if value in normalisations]
            else:
                axes[key] = [_number(key, value) for value in numbers[key]]
        listed += [
            Configuration(name, dict(zip(axes, values, strict=True)))
            for values in product(*axes.values())
        ]
    # A wrong value is refused now, not after hours.
    for configuration in listed:
        untrained(configuration).check(count)
    return listed


def untrained(configuration: Configuration) -> Any:
    """Returns the method of a configuration, not yet trained if it has to be.

    Raises:
        InputError: a setting with a wrong value; or a library is not installed.
    """
    if configuration.trained:
        keys, _ = _takes(configuration.method)
        unknown = next((key for key in configuration.settings if key not in keys), None)
        if unknown is not None:
            raise InputError(
                f"method {configuration.method} takes no {unknown}",
                remedy=f"it takes {', '.join(keys)}",
            )
        return LambdaMART(**configuration.settings)
    return fusion_method(configuration.method, configuration.settings)


def check_tunable(name: str) -> None:
    """Raises InputError if there is no such method, or it cannot be tuned."""
    _takes(name)


def load_library(name: str) -> None:
    """Loads the library that computes a method.

    Raises:
        InputError: it is not installed.
    """
    if name == LambdaMART.name:
        load_lightgbm()
    elif name not in METHODS:
        load_ranx()


def known_methods() -> list[str]:
    """Returns the names of the methods that can be tuned."""
    theirs = [name for name, kind in KINDS.items() if kind.trained is None and name not in METHODS]
    return [*METHODS, LambdaMART.name, *theirs]


def _takes(name: str) -> tuple[list[str], Sequence[str]]:
    """Returns the settings that a method takes, in the order of a grid, and its normalisations."""
    ours = LambdaMART if name == LambdaMART.name else METHODS.get(name)
    if ours is not None:
        keys = [
            parameter.name for parameter in fields(ours) if parameter.name not in ("model", "runs")
        ]
        return sorted(keys, key=_place), get_args(Normalise)
    kind = KINDS.get(name.removeprefix(PREFIX))
    if kind is None:
        methods = known_methods()
        raise InputError(
            f"no fusion method {name!r}",
            remedy=f"{did_you_mean(name, methods)}there are {', '.join(methods)}",
        )
    if kind.trained is not None:
        raise InputError(
            f"method {name} is trained by ranx, and cannot be tuned",
            remedy=f"irtoolkit fuse --method {name} --train DATASET",
        )
    keys = [parameter.name for parameter in kind.parameters]
    keys += ["normalise"] * kind.scores + ["weights"] * kind.weights
    return sorted(keys, key=_place), NORMALISATIONS


def _place(key: str) -> int:
    """Returns the sort key of a setting: normalisation varies slowest, and weights fastest."""
    return {"normalise": 0, "weights": 2}.get(key, 1)


def _check_used(
    takes: Mapping[str, tuple[list[str], Sequence[str]]],
    normalise: Sequence[str],
    grid: Mapping[str, Sequence[Any]],
) -> None:
    """Raises InputError for a normalisation or number that no method takes."""
    for normalisation in normalise:
        check_normalisation(normalisation, NORMALISATIONS)
    readers = {name: readable for name, (keys, readable) in takes.items() if "normalise" in keys}
    for name, readable in readers.items():
        if not {*normalise} & {*readable}:
            raise InputError(
                f"no normalisation for {name}", remedy=f"name one of {', '.join(readable)}"
            )
    for normalisation in normalise:
        if readers and not any(normalisation in readable for readable in readers.values()):
            raise InputError(
                f"normalisation {normalisation} is ranx's, and no method of ranx is tuned",
                remedy="add one, such as wsum",
            )
    for key, values in grid.items():
        numbers = sorted({name for keys, _ in takes.values() for name in keys} & {*NUMBERS})
        if key not in numbers:
            raise InputError(
                f"no tuned method takes {key}",
                remedy=f"they take {', '.join(numbers) or 'no numbers'}",
            )
        if not values:
            raise InputError(f"no values of {key}")


def _number(key: str, value: Any) -> float:
    """Returns a number from its text; a whole one is an int."""
    converted = finite(value, f"{key}={written(value)}")
    return int(converted) if converted.is_integer() else converted


def weights_grid(count: int, step: float | None = None) -> Iterator[tuple[float, ...]]:
    """Yields all weights of some runs that are multiples of a step and add up to 1.

    The most even come first, so that of equally good ones these are chosen.

    Raises:
        InputError: the step does not divide 1, or gives more than 10,000 weights.
    """
    size = _STEPS.get(count, _COARSE) if step is None else step
    parts = round(1 / size) if 0 < size <= 1 else 0
    if not parts or abs(parts * size - 1) > 1e-9:
        raise InputError(f"step {step} does not divide 1", remedy="for example 0.1")
    amount = math.comb(parts + count - 1, count - 1)
    if amount > _MOST:
        raise InputError(
            f"step {size} gives {amount:,} weights of {count} runs", remedy="take a greater step"
        )
    shares = sorted(
        _shares(parts, count),
        key=lambda combination: (
            sum((count * part - parts) ** 2 for part in combination),
            [-p for p in combination],
        ),
    )
    yield from (tuple(part / parts for part in combination) for combination in shares)


def _shares(parts: int, count: int) -> Iterator[tuple[int, ...]]:
    """Yields all ways to divide a number of parts among some runs."""
    if count == 1:
        yield (parts,)
        return
    for first in range(parts + 1):
        yield from ((first, *rest) for rest in _shares(parts - first, count - 1))
