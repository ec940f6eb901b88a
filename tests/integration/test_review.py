"""What a fresh pair of eyes found: each of these once went wrong in silence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base import analysis
from irtoolkit.base.errors import InputError
from irtoolkit.ranking.produce import produce
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers import retrievers
from irtoolkit.runs import Qrels, Run, order, provenance
from irtoolkit.runs.exact_ranks import ranks_path
from irtoolkit.scoring.compare import compare
from irtoolkit.scoring.evaluation import evaluate, parse_measures

Command = Callable[..., Any]


def test_ranks_below_a_run_cannot_be_compared() -> None:
    measures = parse_measures("Rank")
    judged = Qrels.of({"q1": {"a": 1}, "q2": {"a": 1}})
    deep = evaluate(Run.of({"q1": {"a": 1.0}, "q2": {"a": 1.0}}), judged, measures)
    cut = evaluate(Run.of({"q1": {"b": 1.0}, "q2": {"a": 1.0}}), judged, measures)
    with pytest.raises(InputError, match="Rank of cut is not finite for 1 query"):
        compare({"deep": deep, "cut": cut}, "Rank", baseline="deep")


def test_only_measures_that_need_the_whole_pool_say_so(irtoolkit: Command, tmp_path: Path) -> None:
    run = tmp_path / "cut.run"
    assert irtoolkit("retrieve", "csfcube/sample", "random", "-o", run, "--depth", 5).status == 0
    asked = ["nDCGp(p=20, pool='qrels') P@5", "nDCGp(p=20) P@5"]
    notes = [irtoolkit("eval", "csfcube/sample", run, "--measures", m).err for m in asked]
    assert "lists less than the pool" not in notes[0]
    assert "nDCGp(p=20) take" in notes[1]


def test_a_baseline_is_the_same_file_however_it_is_spelled(
    irtoolkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("random", "fabs_bm25"):
        assert irtoolkit("retrieve", "csfcube/sample", name, "-o", f"{name}.run").status == 0
    args = ["compare", "csfcube/sample", "fabs_bm25.run", "random.run", "--measure", "AP"]
    plain = json.loads(irtoolkit(*args, "--format", "json").out)
    spelled = irtoolkit(*args, "--baseline", "./fabs_bm25.run", "--format", "json")
    assert json.loads(spelled.out) == plain
    assert len(plain["systems"]) == 2
    twice = irtoolkit("eval", "csfcube/sample", "random.run", "./random.run")
    assert (twice.status, "given twice" in twice.err) == (2, True)


@pytest.mark.parametrize("part", ["order", "analysis", "retriever"])
def test_another_format_makes_the_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    owner = {"order": order, "analysis": analysis, "retriever": retrievers()["random"]}[part]
    system, path = find_system("random", {}), tmp_path / "r.run"
    produce("csfcube/sample", system, path)
    assert produce("csfcube/sample", system, path, reuse=True)[1]
    attribute = "format" if part == "retriever" else "FORMAT"
    monkeypatch.setattr(owner, attribute, getattr(owner, attribute) + 1)
    assert not produce("csfcube/sample", system, path, reuse=True)[1]


def test_other_libraries_make_the_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, path = find_system("random", {}), tmp_path / "r.run"
    produce("csfcube/sample", system, path)
    monkeypatch.setattr(provenance, "versions", lambda: {"numpy": "0"})
    assert not produce("csfcube/sample", system, path, reuse=True)[1]


def test_the_record_names_only_our_own_command(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"system": "s", "retriever": "r", "settings": {}, "dataset": "d"}
    cases = {
        ("/usr/bin/irtoolkit", "eval", "a b"): "irtoolkit eval 'a b'",
        ("/x/ipykernel_launcher.py", "-f", "secret.json"): None,
    }
    for argv, expected in cases.items():
        monkeypatch.setattr("sys.argv", list(argv))
        record = provenance.record(made, 1.0)
        assert record["implementation"]["executable"]["cmd"] == expected


# -- exact ranks beside cut runs --------------------------------------------------------------


def test_exact_ranks_are_kept_and_used(irtoolkit: Command, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.run", tmp_path / "cut.run"
    args = ["retrieve", "relic/sample/val", "random", "-o"]
    assert irtoolkit(*args, whole).status == irtoolkit(*args, cut, "--depth", 3).status == 0
    assert not ranks_path(whole).exists()
    names = "Rank MedianRank StdRank R@3"
    out = irtoolkit("eval", "relic/sample/val", whole, cut, "--measures", names, "--format", "json")
    figures = json.loads(out.out)
    assert figures[str(whole)] == pytest.approx(figures[str(cut)])
    ranks_path(cut).unlink()
    out = irtoolkit("eval", "relic/sample/val", cut, "--measures", names, "--format", "json")
    assert json.loads(out.out)[str(cut)]["Rank"] is None  # infinite, which JSON cannot say


# -- a leaderboard's form, and mined examples ---------------------------------------------------


def test_relic_submission_lists_first_sentences_best_first(
    irtoolkit: Command, tmp_path: Path
) -> None:
    run, out = tmp_path / "t.run", tmp_path / "t.json"
    assert irtoolkit("retrieve", "relic/sample/test", "random", "-o", run).status == 0
    assert irtoolkit("submit", "relic/sample", run, "-o", out).status == 0
    answers, written = json.loads(out.read_text()), Run.read(run)
    assert set(answers) == set(written.query_ids)
    for query, starts in answers.items():
        listed = [
            int(row.doc_id.rpartition(":")[2].split("+")[0]) for row in written.ranking(query)
        ]
        assert starts == listed[:100]


def test_a_shallow_submission_is_refused(irtoolkit: Command, tmp_path: Path) -> None:
    run, out = tmp_path / "t.run", tmp_path / "t.json"
    args = ["retrieve", "relic/sample/test", "random", "-o", run, "--depth", 9]
    assert irtoolkit(*args).status == 0
    answer = irtoolkit("submit", "relic/sample", run, "-o", out)
    assert answer.status == 2
    assert "has 9 candidates instead of" in answer.err
    assert not out.exists()


def test_examples_are_mined_from_text_and_json_lines(irtoolkit: Command, write: Command) -> None:
    text = write(
        "b.txt", "First.\nBirds vary. For example, some\nswim.\n\nNone here.\n\nSee (e.g. it).\n"
    )
    lines = write("a.jsonl", '{"answer": "Cats purr. For example, mine does. So."}\n')
    answer = irtoolkit("extract", "examples", text, lines)
    found = [json.loads(line) for line in answer.out.splitlines()]
    assert [(unit["id"], unit["text"], unit["left"], unit["right"]) for unit in found] == [
        ("b.txt:1.1", "For example, some swim.", "First. Birds vary.", ""),
        ("b.txt:7.1", "(e.g. it)", "See", "."),
        ("a.jsonl:1.1", "For example, mine does.", "Cats purr.", "So."),
    ]
    bad = irtoolkit("extract", "examples", write("c.jsonl", '{"text": "x"}\n{"body": "y"}\n'))
    assert bad.status == 2
    assert "c.jsonl:2: no field text or answer" in bad.err
