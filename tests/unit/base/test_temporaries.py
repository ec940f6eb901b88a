"""Temporary files beside a target, and those that killed processes have left."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtoolkit.base.temporaries import is_temporary, remove_abandoned, temporary_name


@pytest.mark.parametrize("name", ["a.run", "a[1]*.run", ".hidden", "ä.run.gz"])
def test_what_belongs_to_a_target_is_removed_and_nothing_else(tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    left = [temporary_name(target) for _ in range(2)]
    others = [
        target,
        temporary_name(tmp_path / f"{name}.ranks.tsv"),
        temporary_name(tmp_path / f"x{name}"),
        tmp_path / f".{name}.tmp",
        tmp_path / f".{name}.0123456789abcdeg.tmp",
        tmp_path / f"{name}.0123456789abcdef.tmp",
    ]
    for path in (*left, *others):
        path.touch()
    assert all(map(is_temporary, left))
    remove_abandoned(target)
    assert sorted(tmp_path.iterdir()) == sorted(others)


def test_there_may_be_no_folder(tmp_path: Path) -> None:
    remove_abandoned(tmp_path / "none" / "a.run")
    assert not list(tmp_path.iterdir())
