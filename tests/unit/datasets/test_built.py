"""Folders with a benchmark of one's own: what their description may say, and whose names are whose."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.built import ABOUT
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.local.registered import owner_of

WHOLE = '{"benchmark": "relic", "format": 1, "splits": ["val"], "hidden": []}'


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Writes the description of the benchmark in the folder mine, which is in the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    return lambda text: (tmp_path / "mine" / ABOUT).write_text(text) and None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"benchmark": "re', "not JSON"),
        ("[]", "not a benchmark's description"),
        ('{"benchmark": "relic", "format": 1}', "not a benchmark's description"),
        ('{"benchmark": "relic", "format": 1, "splits": 3}', "not a benchmark's description"),
        (WHOLE.replace("[]", "0"), "not a benchmark's description"),
        (WHOLE.replace("1", "2"), "written by a newer irtoolkit"),
        (WHOLE.replace("relic", "memory"), "no benchmark 'memory' is known"),
    ],
)
def test_a_damaged_description_is_one_line(
    text: str, found: str, mine: Callable[[str], None]
) -> None:
    mine(text)
    with pytest.raises(InputError, match=found) as raised:
        Dataset.load("mine/val")
    assert raised.value.file == str(Path("mine", ABOUT))
    assert "fetch" not in (raised.value.remedy or "")


@pytest.mark.parametrize("text", [WHOLE, "damaged"])
def test_a_folder_takes_no_name_from_a_registered_collection(
    text: str, mine: Callable[[str], None]
) -> None:
    mine(text)
    assert owner_of("mine") is None
    assert owner_of("relic") == owner_of("relic/any") == "irtoolkit's own"


def test_a_split_that_is_not_there_is_named(mine: Callable[[str], None]) -> None:
    mine(WHOLE)
    with pytest.raises(InputError, match=r"mine has no dataset test \(it has mine/val\)"):
        Dataset.load("mine/test")
