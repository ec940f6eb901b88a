"""The text files of folders: none is lost, and none is there by mistake."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.building.shelves import text_files


def put(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("A text.", "utf-8")


def test_links_are_followed_and_hidden_files_left_out(tmp_path: Path) -> None:
    for name in ("novels/b.txt", "novels/deep/a.md", "far/c.txt", "far/deeper/d.TXT"):
        put(tmp_path / name)
    for hidden in ("novels/._b.txt", "novels/.git/x.txt", "far/.a.txt"):
        put(tmp_path / hidden)
    (tmp_path / "novels/link").symlink_to(tmp_path / "far")
    (tmp_path / "novels/e.txt").symlink_to(tmp_path / "far/c.txt")
    (tmp_path / "far/back").symlink_to(tmp_path / "novels")
    files = text_files([tmp_path / "novels"], "books")
    names = [str(file.path.relative_to(tmp_path / "novels")) for file in files]
    assert names == ["b.txt", "deep/a.md", "e.txt", "link/c.txt", "link/deeper/d.TXT"]


def test_a_folder_that_two_paths_lead_to_is_read_by_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "novels/real/a.txt")
    (tmp_path / "novels/alias").symlink_to(tmp_path / "novels/real")
    walk = os.walk

    def backwards(*given: Any, **options: Any) -> Any:
        for root, folders, names in walk(*given, **options):
            folders.sort(reverse=True)  # as some file systems list them
            yield root, folders, names

    monkeypatch.setattr(os, "walk", backwards)
    (file,) = text_files([tmp_path / "novels"], "books")
    assert file.path == tmp_path / "novels/alias/a.txt"


def test_a_folder_of_hidden_files_has_no_text(tmp_path: Path) -> None:
    put(tmp_path / "novels/.a.txt")
    with pytest.raises(InputError, match="novels: no books in it"):
        text_files([tmp_path / "novels"], "books")
    assert text_files([tmp_path / "novels/.a.txt"], "books")[0].path.name == ".a.txt"
