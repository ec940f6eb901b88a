"""What is said of a name that no dataset has."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.named import source_named


def test_a_name_of_no_file_has_its_nearest_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("docs.tsv").touch()
    with pytest.raises(InputError, match=r"no dataset 'dcs.tsv' \(did you mean docs.tsv\? "):
        source_named("dcs.tsv")
