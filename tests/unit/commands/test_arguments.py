"""Arguments are declared as help shows them."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.commands import argument
from irtoolkit.commands._parsing import CommandParser


def parsed(words: str, usage: str, description: str = "", **options: Any) -> dict[str, Any]:
    """The values that a command with one argument reads from its words."""
    parser = CommandParser(prog="x")
    argument(parser, usage, description, **options)
    return vars(parser.parse_args(words.split()))


@pytest.mark.parametrize(
    ("usage", "words", "value"),
    [
        ("DATASET", "a", {"dataset": "a"}),
        ("RUN...", "a b", {"run": ["a", "b"]}),
        ("[RUN...]", "", {"run": []}),
        ("--all", "", {"all": False}),
        ("-o, --output FILE", "-o a", {"output": "a"}),
        ("--pair RUN RUN", "--pair a b", {"pair": ["a", "b"]}),
        ("--runs RUN...", "", {"runs": []}),
        ("--weights MODEL=PATH...", "--weights a=b", {"weights": ["a=b"]}),
    ],
)
def test_usage_says_what_an_argument_takes(usage: str, words: str, value: dict[str, Any]) -> None:
    assert parsed(words, usage) == value


def test_options_are_those_of_argparse() -> None:
    assert parsed("a", "RUN...", dest="runs") == {"runs": ["a"]}
    assert parsed("--set a=1 b=2", "--set KEY=VALUE...", dest="settings") == {
        "settings": ["a=1", "b=2"]
    }
    assert parsed("--rule mean", "--rule", choices=("majority", "mean")) == {"rule": "mean"}
    assert parsed("--k 2.5", "--k K", type=float) == {"k": 2.5}


@pytest.mark.parametrize(
    ("words", "bounds"),
    [("--depth 0", "--depth 0 is not between 1 and 4"), ("--depth 5", "--depth 5 is not between")],
)
def test_a_number_has_a_range(words: str, bounds: str) -> None:
    assert parsed("--depth 4", "--depth N", least=1, most=4) == {"depth": 4}
    with pytest.raises(InputError, match=bounds):
        parsed(words, "--depth N", least=1, most=4)
    with pytest.raises(InputError, match="--share -1 is not at least 0"):
        parsed("--share=-1", "--share S", least=0, type=float)


@pytest.mark.parametrize(
    ("usage", "description", "options", "shown"),
    [
        ("--depth N", "rows", {"least": 1, "default": 100}, "rows; default: 100"),
        ("--seed N", "of draws", {"least": 0, "default": 0}, "of draws; default: 0"),
        ("--share S", "of all", {"type": float, "default": 0.5}, "of all; default: 0.5"),
        ("--ratio R", "", {"type": float, "default": 80.0}, "default: 80"),
        ("--format", "", {"choices": ("text", "json"), "default": "text"}, "default: text"),
        ("--runs RUN...", "runs", {}, "runs"),
        ("--k K", "default: 60, of rrf", {"default": 60}, "default: 60, of rrf"),
    ],
)
def test_help_ends_in_the_default(
    usage: str, description: str, options: dict[str, Any], shown: str
) -> None:
    action = argument(argparse.ArgumentParser(), usage, description, **options)
    assert action.help == shown
