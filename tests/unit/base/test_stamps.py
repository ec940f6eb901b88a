"""Files that change while they are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.base.stamps import stamp, unchanged


def test_a_file_that_is_replaced_meanwhile_is_refused(tmp_path: Path) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_text("1")
    other.write_text("2")
    with pytest.raises(InputError, match=r"a: it changed while it was read"), unchanged([path]):
        os.replace(other, path)


def test_a_file_that_stays_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("1")
    with unchanged([path, tmp_path / "none", "s3://bucket/x"]):
        path.read_text()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_has_no_stamp(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert stamp(tmp_path / "pipe") is None
