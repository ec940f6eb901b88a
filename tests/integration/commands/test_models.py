"""The list of models: as wide as a terminal, by kind, with the weights that are here first."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from irtoolkit.commands.models import KINDS
from irtoolkit.models import places
from irtoolkit.models import presets as known
from tests.conftest import Answer

Command = Callable[..., Answer]


@pytest.mark.parametrize("columns", [80, 100])
def test_the_list_fits_a_terminal_and_lacks_no_model(
    irtoolkit: Command, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    out = irtoolkit("models").out
    assert max(map(len, out.splitlines())) <= columns
    words = set(out.replace(",", " ").split())
    assert set(known.presets()) <= words
    headings = [line for line in out.splitlines() if not line.startswith(" ") and ": " in line]
    assert headings == list(KINDS.values())


def test_what_is_here_comes_first(irtoolkit: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        known, "missing_weights", lambda preset: None if preset.name == "ColBERTv2" else "no"
    )
    lines = irtoolkit("models", "--kind", "late").out.splitlines()
    assert [line.split()[:2] for line in lines[3:5]] == [
        ["ColBERTv2", "here"],
        ["ColBERTv1.9", "hub"],
    ]


def test_an_adapter_is_fetched_with_its_base_model(
    irtoolkit: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "in_hub_cache", lambda hub_id: f"cache/{hub_id}")
    lines = irtoolkit("models", "--fetch", "SPECTER2-adhoc").out.splitlines()
    names = ("specter2", "specter2_adhoc_query", "specter2_base")
    assert lines[1:] == [f"  allenai/{name}: cache/allenai/{name}" for name in names]


def test_json_keeps_everything(irtoolkit: Command) -> None:
    found = json.loads(irtoolkit("models", "--format", "json").out)
    assert list(found) == list(known.presets())
    assert {"id", "licence", "missing", "unpublished", "source"} <= set(found["SIM"])


@pytest.mark.parametrize("name", [".", "~", "..", "folder/of/mine"])
def test_a_folder_without_a_model_is_refused(
    irtoolkit: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    place = tmp_path / "home" / "here"
    (place / "folder" / "of" / "mine").mkdir(parents=True)
    monkeypatch.chdir(place)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    answer = irtoolkit("models", name)
    assert (answer.status, answer.out) == (2, "")
    assert f"there is no model in {name}" in answer.err


def test_hub_ids_and_folders_of_models_are_described(
    irtoolkit: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert (
        "weights of nobody/nothing.v2 are not here" in irtoolkit("models", "nobody/nothing.v2").out
    )
    (tmp_path / "mine" / "encoder").mkdir(parents=True)
    (tmp_path / "mine" / "encoder" / "config.json").write_text("{}")
    for name in ("mine", "./mine", str(tmp_path / "mine")):
        assert irtoolkit("models", name).out.startswith(f"{name}\n")
