"""Commands where the user's home cannot be written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["search", "d.jsonl", "whale"], 0, "a whale"),
        (["index", "d.jsonl", "bm25", "-o", "x"], 0, "1 document"),
        (["index", "d.jsonl", "bm25"], 2, "--output"),
        (["register", "mine/x", "folder"], 2, "nothing can be registered here"),
        (["register", "--remove", "mine/x"], 2, "nothing can be registered here"),
    ],
)
def test_what_would_be_lost_is_refused(
    tmp_path: Path, words: list[str], status: int, said: str
) -> None:
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "d.jsonl", tmp_path / "folder" / "docs.jsonl"):
        path.write_text('{"id": "d1", "text": "a whale"}\n')
    (tmp_path / "file").write_text("")
    hidden = ("IRTOOLKIT_CACHE", "IR_DATASETS_HOME", "XDG_CACHE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    # Below a file there is no folder, for root either.
    environment |= {"HOME": str(tmp_path / "file" / "home"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "irtoolkit", *words], cwd=tmp_path, capture_output=True, text=True,
        env=environment,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert said in done.stdout + done.stderr


def test_a_cache_that_cannot_be_written_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from irtoolkit.base import home

    cache = tmp_path / "cache"
    (cache / "indexes" / "kept").mkdir(parents=True)
    (cache / "mark").write_text("m")
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(cache))
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != cache)  # as for other users
    home._instead_of.cache_clear()
    instead = home.cache_home()
    assert instead != cache
    assert home.is_temporary_cache()
    assert home.cache_mark() == "m"
    assert (instead / "indexes" / "kept").is_dir()
    (instead / "indexes" / "new").mkdir()
    assert not (cache / "indexes" / "new").exists()
    home._instead_of.cache_clear()
