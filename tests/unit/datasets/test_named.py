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


@pytest.mark.parametrize("name", ["birco", "birco/sample", "quoter"])
def test_a_name_that_begins_others_has_one_of_them(name: str) -> None:
    message = (
        rf"no dataset '{name}' \(name a part, such as {name}/.*irtoolkit datasets {name} lists"
    )
    with pytest.raises(InputError, match=message):
        source_named(name)


@pytest.mark.parametrize("name", ["whales/", "./whales", "../whales/", "/nowhere/whales"])
def test_the_path_of_no_folder_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=f"^{name}: no such folder"):
        source_named(name)


@pytest.mark.parametrize(
    ("name", "near"),
    [("brico", "birco"), ("csfcub", "csfcube"), ("long-context-relik", "long-context-relic")],
)
def test_the_beginning_of_ids_is_a_near_name(name: str, near: str) -> None:
    with pytest.raises(InputError, match=rf"did you mean {near}\b"):
        source_named(name)


@pytest.mark.parametrize("name", ["strange", "./strange", "some/strange"])
def test_a_folder_without_a_layout_of_the_hub_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir(parents=True)
    (tmp_path / name / "train.parquet").touch()
    with pytest.raises(
        InputError, match=r"strange has no layout of a retrieval dataset \(it needs"
    ):
        source_named(f"hf:{name}")
    with pytest.raises(InputError, match="no dataset 'hf:other' on the hub"):
        source_named("hf:other")
