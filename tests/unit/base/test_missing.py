"""A file that is not there: the nearest one in its folder is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtoolkit.base import missing
from irtoolkit.base.missing import no_such_file


def test_the_names_of_a_huge_folder_are_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("novel.txt", "other.txt"):
        (tmp_path / name).touch()
    monkeypatch.setattr(missing, "_MANY", 2)
    assert no_such_file(tmp_path / "novl.txt").remedy is not None
    monkeypatch.setattr(missing, "_MANY", 1)
    assert no_such_file(tmp_path / "novl.txt").remedy is None
