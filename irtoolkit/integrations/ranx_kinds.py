"""The settings that each of ranx's methods of fusion takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from irtoolkit.base.arguments import written
from irtoolkit.base.errors import InputError
from irtoolkit.ranking.fusion_methods import number


@dataclass(frozen=True)
class Parameter:
    """A numeric parameter of a method.

    Attributes:
        name: its name in ranx.
        valid: whether a value is possible.
        says: the description of a valid value.
        default: of ranx; None if it has none.
        whole: whether it is a whole number.
    """

    name: str
    valid: Callable[[float], bool]
    says: str
    default: float | None = None
    whole: bool = False

    def of(self, value: Any) -> float:
        number_value = number(value)
        if (
            not math.isfinite(number_value)
            or not self.valid(number_value)
            or (self.whole and number_value % 1)
        ):
            raise InputError(f"{self.name}={written(value)} is not {self.says}")
        # ranx has a k of 60, not of 60.0.
        whole = self.whole or (isinstance(self.default, int) and number_value.is_integer())
        return int(number_value) if whole else number_value


@dataclass(frozen=True)
class Kind:
    """The inputs of one of ranx's methods.

    Attributes:
        scores: whether it reads scores, which are normalised first, and not ranks only.
        weights: whether it takes a weight for each run.
        parameters: the numbers that it takes.
        trained: the parameter that is estimated from judgments, if there is one.
    """

    scores: bool = False
    weights: bool = False
    parameters: tuple[Parameter, ...] = ()
    trained: str | None = None


_K = Parameter("k", lambda k: k >= 0, "a number of at least 0", 60)
_GAMMA = Parameter("gamma", lambda _: True, "a finite number")
_SIGMA = Parameter("sigma", lambda sigma: sigma > 0, "a number above 0", 0.01)
_PHI = Parameter("phi", lambda phi: 0 < phi < 1, "a number between 0 and 1")
SEGMENTS = Parameter("n_segments", lambda n: n >= 1, "a whole number of at least 1", whole=True)
_WINDOW = Parameter("w", lambda w: w >= 0, "a whole number of at least 0", whole=True)
KINDS: dict[str, Kind] = {
    **{name: Kind(scores=True) for name in ("sum", "mnz", "anz", "max", "min", "med")},
    "gmnz": Kind(scores=True, parameters=(_GAMMA,)),
    **{name: Kind(scores=True, weights=True) for name in ("wsum", "wmnz", "mixed")},
    "rrf": Kind(parameters=(_K,)),
    **{name: Kind() for name in ("isr", "log_isr", "bordafuse")},
    "logn_isr": Kind(parameters=(_SIGMA,)),
    "rbc": Kind(parameters=(_PHI,)),
    "w_bordafuse": Kind(weights=True),
    "bayesfuse": Kind(trained="log_odds"),
    "mapfuse": Kind(trained="map_scores"),
    "posfuse": Kind(trained="probs"),
    "probfuse": Kind(trained="probs", parameters=(SEGMENTS,)),
    "segfuse": Kind(scores=True, trained="probs"),
    "slidefuse": Kind(trained="probs", parameters=(_WINDOW,)),
}
