"""Recipes that anybody may have written."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.training.recipe_files import FOLDER, find_recipe


@pytest.mark.parametrize("text", ["{context:999999999}", "{context!r}", "{context:{context}}"])
def test_a_placeholder_has_no_format(tmp_path: Path, text: str) -> None:
    """A width would fill the memory."""
    path = tmp_path / "mine.toml"
    known = (FOLDER / "dense-relic.toml").read_text("utf-8")
    path.write_text("\n".join([f'start = "{text}"', *without_start(known)]), "utf-8")
    with pytest.raises(InputError, match="a format in"):
        find_recipe(str(path))


def without_start(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("start =")]


def test_a_recipe_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("a = " + "[" * 5000 + "]" * 5000, "utf-8")
    with pytest.raises(InputError, match="not TOML"):
        find_recipe(str(path))
