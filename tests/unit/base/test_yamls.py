"""YAML that would hang or end a program is no YAML."""

from __future__ import annotations

import pytest
import yaml

from irtoolkit.base.yamls import load_yaml

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)
)


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        "&a [*a]",
        "a: [",
        "a: 0x" + "f" * 4000,
    ],
)
def test_what_cannot_be_shown_is_refused(text: str) -> None:
    with pytest.raises(yaml.YAMLError):
        load_yaml(text)


def test_aliases_are_read() -> None:
    """Records of runs have some."""
    assert load_yaml("a: &x {b: [1]}\nc: *x\n") == {"a": {"b": [1]}, "c": {"b": [1]}}
    assert load_yaml("a: &x {b: 1}\nc: {<<: *x, d: 2}\n")["c"] == {"b": 1, "d": 2}
    assert load_yaml("") is None
