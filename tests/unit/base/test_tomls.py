"""TOML that would end a program is no TOML."""

from __future__ import annotations

import tomllib

import pytest

from irtoolkit.base.tomls import load_toml


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        ("a = " + "9" * 5000, "not a value"),
        ("a = 0x" + "f" * 5000, "more than 64 bits"),
        ("a = { b = [9223372036854775808] }", "more than 64 bits"),
        ("a = ", "Invalid value"),
        ("a = 2001-99-99", "Expected newline"),
    ],
    ids=range(6),
)
def test_what_cannot_be_read_or_shown_is_refused(text: str, said: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError, match=said):
        load_toml(text)


def test_integers_of_64_bits_are_read() -> None:
    assert load_toml("a = 9223372036854775807\nb = [-9223372036854775808, 0x1F]\n") == {
        "a": 2**63 - 1,
        "b": [-(2**63), 31],
    }
