"""Arguments of another type than a signature says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest

from irtoolkit.base.arguments import check_fields, check_type, checked
from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import StrPath

if TYPE_CHECKING:
    from irtoolkit.runs import Run

HINTS: dict[str, Any] = {
    "whole": int, "number": float, "text": str, "path": StrPath, "depth": int | None,
    "names": Sequence[str], "weights": Sequence[float], "ids": Iterable[str],
    "pools": Mapping[str, Iterable[str]], "grid": Mapping[str, Sequence[Any]],
    "output": StrPath | Sequence[StrPath],
    "any": Mapping | Sequence,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("whole", 3), ("whole", np.int64(3)), ("number", 3), ("number", np.float32(0.5)),
        ("text", "a"), ("path", "a"), ("path", Path("a")), ("depth", None), ("depth", 1),
        ("names", ["a"]), ("names", ()), ("names", {"a": 1}.keys()), ("names", np.array(["a"])),
        ("weights", np.array([1, 0.5])), ("weights", (1, 2)), ("ids", ["a"]), ("ids", [1]),
        ("ids", iter("ab")), ("ids", {"a"}), ("ids", {"a": 1.0}), ("pools", {"q": ["a"]}), ("pools", {}),
        ("grid", {"k": [1, "2"]}), ("any", {"a": 1}), ("any", [1]), ("output", "a"), ("output", [Path("a"), "b"]),
    ],
)  # fmt: skip
def test_what_is_of_its_type_is_taken(name: str, value: Any) -> None:
    check_type(name, value, HINTS[name])


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("whole", "3", "whole '3' is not a whole number"),
        ("whole", True, "whole True is not a whole number"),
        ("whole", None, "whole None is not a whole number"),
        ("number", False, "number False is not a number"),
        ("text", b"a", "text b'a' is not text"),
        ("depth", "x", "depth 'x' is not a whole number"),
        ("names", "ab", "names 'ab' is not a list of texts (one is written ['ab'])"),
        ("names", ["a", 5], "names[1] 5 is not text"),
        ("names", {"a": 1}, "names {'a': 1} is not a list of texts"),
        ("weights", "91", "weights '91' is not a list of numbers"),
        ("weights", [1, "x"], "weights[1] 'x' is not a number"),
        ("pools", 5, "pools 5 is not a dict"),
        ("grid", {"k": 5}, "grid['k'] 5 is not a list"),
        ("output", 5, "output 5 is not a path or a list of paths"),
        ("output", ["a", 5], "output[1] 5 is not a path"),
        pytest.param("text", 10**5000, "text int of very many digits is not text", id="digits"),
    ],
)
def test_what_is_of_another_type_is_named(name: str, value: Any, said: str) -> None:
    with pytest.raises(InputError) as error:
        check_type(name, value, HINTS[name])
    assert str(error.value) == said


def test_a_generator_is_not_used_up_by_the_check() -> None:
    ids = iter("ab")
    check_type("ids", ids, Iterable[str])
    assert list(ids) == ["a", "b"]
    with pytest.raises(InputError, match="is not a list of texts"):
        check_type("names", ids, Sequence[str])


@checked
def rank(
    data: Any, run: Run, depth: int = 1, *others: int, how: Literal["a"] = "a", fast: bool = True,
    **settings: int,
) -> tuple[Any, ...]:  # fmt: skip
    """What it is given."""
    return data, run, depth, others, how, fast, settings


@checked
def evaluate_misspelt(depth: int = 1) -> int:
    """Returns what it is given."""
    return depth


def test_a_checked_function_is_what_it_was() -> None:
    given: Any = rank(1, 2, 3, "x", how="b", fast=1, k="y")  # type: ignore[arg-type]
    assert given == (1, 2, 3, ("x",), "b", 1, {"k": "y"})
    assert (rank.__name__, rank.__doc__) == ("rank", "What it is given.")
    with pytest.raises(InputError, match="rank: missing a required argument: 'run'"):
        rank(1)  # type: ignore[call-arg]
    with pytest.raises(
        InputError, match=r"unexpected keyword argument 'depht' \(did you mean depth\?"
    ):
        evaluate_misspelt(depht=3)  # type: ignore[call-arg]
    for call in (lambda: rank(1, 2, "3"), lambda: rank(1, 2, depth="3")):  # type: ignore[arg-type]
        with pytest.raises(InputError, match=r"^depth '3' is not a whole number$"):
            call()


@dataclass(frozen=True)
class Options:
    """Fields of two types."""

    names: Sequence[str] = ()
    seed: int = 0


def test_fields_are_checked_alike() -> None:
    check_fields(Options(["a"], 3))
    for wrong in (Options("ab"), Options(5), Options(seed="x")):  # type: ignore[arg-type]
        with pytest.raises(InputError, match=r"^(names|seed) .* is not a"):
            check_fields(wrong)


def test_numbers_of_numpy_arrive_as_python_s_own() -> None:
    """What writes settings as JSON or YAML knows no others."""

    @checked
    def called(depth: int, weights: Sequence[float], **settings: Any) -> list[Any]:
        return [depth, weights, settings]

    data = np.array([0.5, 1])
    depth, weights, settings = called(
        np.int64(3),
        data,
        k=np.float32(0.5),
        grid={"k": [np.int64(3)], "w": np.array([1, 2])},  # type: ignore[arg-type]
    )
    assert type(depth) is int
    assert weights is data  # which may be large
    assert json.dumps([depth, settings]) == '[3, {"k": 0.5, "grid": {"k": [3], "w": [1, 2]}}]'

    options = Options(("a",), np.int64(3))  # type: ignore[arg-type]
    check_fields(options)
    assert type(options.seed) is int


def test_arguments_of_a_method_are_named_without_its_object() -> None:
    class Box:
        @checked
        def put(self, thing: str) -> str:
            return thing

    with pytest.raises(InputError, match=r"\(it takes thing\)"):
        Box().put("a", "b")  # type: ignore[call-arg]
