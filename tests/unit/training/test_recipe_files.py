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


@pytest.mark.parametrize("key", ["epochs", "batch", "every", "width", "lora_alpha", "seed"])
def test_true_is_no_number(tmp_path: Path, key: str) -> None:
    path = tmp_path / "mine.toml"
    place = ("", f"{key} = true") if key in ("epochs", "batch", "every") else (f"{key} = true", "")
    path.write_text(f'start = "lstm"\n{place[0]}\n[[stage]]\n{place[1]}\n', "utf-8")
    with pytest.raises(InputError, match=f"setting {key}=true is not a .*number"):
        find_recipe(str(path))
    with pytest.raises(InputError, match=f"setting {key}=true is not a .*number"):
        find_recipe("quoter-lstm", {key: True})


@pytest.mark.parametrize(
    ("key", "most"),
    [
        ("width", 16_384), ("query_length", 1_000_000), ("lora", 16_384), ("batch", 1_000_000),
        ("chunk", 1_000_000), ("count", 10_000), ("depth", 10_000_000), ("epochs", 1_000_000),
        ("around", 10_000), ("length", 10_000),
    ],
)  # fmt: skip
def test_numbers_that_would_fill_the_memory_are_refused(key: str, most: int) -> None:
    find_recipe("quoter-lstm", {key: most})
    with pytest.raises(InputError, match=f"{key}={most + 1}.* is not at most {most:,}"):
        find_recipe("quoter-lstm", {key: most + 1})


def test_a_recipe_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("a = " + "[" * 5000 + "]" * 5000, "utf-8")
    with pytest.raises(InputError, match="not TOML"):
        find_recipe(str(path))
