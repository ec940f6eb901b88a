"""JSON that anybody may have written."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.base.jsons import load_json
from irtoolkit.base.search_logs import LogKind
from irtoolkit.models.presets import read_model_json
from irtoolkit.training.checkpoints import read_training_record

DEEP = "[" * 100_000


def test_endless_nesting_is_no_json() -> None:
    assert load_json('{"a": [1]}') == {"a": [1]}
    for text in (DEEP, DEEP.encode(), "{"):
        with pytest.raises(ValueError, match=r"nested too deeply|Expecting"):
            load_json(text)


def test_files_of_endless_nesting_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(DEEP)
    with pytest.raises(InputError, match="nested too deeply"):
        read_model_json(str(tmp_path), "config.json")
    with pytest.raises(InputError, match="nested too deeply"):
        read_training_record(path)
    with pytest.raises(InputError, match="no log of a search"):
        LogKind("a search", "tried", "another search", "it").read(path)
