"""Analyses on the page of a report, and a prompt that finds nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtoolkit.cli import main


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    assert main(["retrieve", "relic/sample/val", "bm25", "-o", "a.run"]) == 0
    return "a.run"


def test_a_page_with_analyses(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["report", "relic/sample/val", run, "-o", "a.html", "--analysis"]
    assert main([*command, "relic-words", "relic-lengths"]) == 0
    page = Path("a.html").read_text("utf-8")
    for name in ("relic-words", "relic-lengths"):
        assert f'<section id="analysis-{name}"' in page
        assert f'href="#analysis-{name}"' in page
    assert "src=" not in page.replace('src="data:', "")
    capsys.readouterr()
    for names, said in (
        ("csfcube-facets", "no papers with a facet"),
        ("relic-word", "relic-words"),
    ):
        Path("a.html").unlink(missing_ok=True)
        assert main([*command, names]) == 2
        assert said in capsys.readouterr().err
        assert not Path("a.html").exists()
    assert (
        main(["report", "relic/sample/val", run, "-o", "a.tex", "--analysis", "relic-words"]) == 2
    )


def test_a_prompt_that_finds_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["prompt=zzz qqq", "book=a_shilling_for_carrying"]
    assert main(["analyse", "relic-prompts", "--sample", "--set", *given]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["a_shilling_for_carrying, given: zzz qqq; bm25: no passage is found."]
