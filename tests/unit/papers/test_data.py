"""Whether a table's data are here: found, downloaded in a short time, or neither."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from irtoolkit.datasets import downloads
from irtoolkit.papers.catalogue import find_table
from irtoolkit.papers.data import find_data


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No release on this machine, and no network."""

    def refuse(url: str, path: Path) -> None:
        raise OSError("the tests have no network")

    monkeypatch.delenv("IRTOOLKIT_DATA", raising=False)
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(downloads, "fetch", refuse)


def test_data_that_are_here_are_found_in_silence(release: Path) -> None:
    said: list[str] = []
    assert find_data(find_table("csfcube"), said.append)
    assert said == []


def test_a_download_that_fails_leads_to_the_sample() -> None:
    said: list[str] = []
    assert not find_data(find_table("csfcube"), said.append)
    before, after = said
    assert before == "CSFCube is not on this machine: downloading it, for at most 20 seconds."
    assert after.startswith("Using the invented sample: ")
    assert "the tests have no network" in after
    assert "https://github.com/iesl/CSFCube" in after


def test_a_download_is_not_waited_for_longer_than_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "fetch", lambda url, path: time.sleep(5))
    said: list[str] = []
    assert not find_data(find_table("csfcube"), said.append, seconds=0.05)
    assert "0.05 seconds" in said[-1]


def test_data_that_nobody_offers_are_not_waited_for() -> None:
    said: list[str] = []
    assert not find_data(find_table("relic"), said.append)
    assert len(said) == 1
    assert "relic.cs.umass.edu" in said[0]


def test_a_release_that_lacks_a_file_is_told(release: Path) -> None:
    next(release.glob("*.json")).unlink()
    said: list[str] = []
    assert not find_data(find_table("csfcube"), said.append)
    assert len(said) == 1
    assert "is missing" in said[0]
