"""What a fresh pair of eyes found: each of these once went wrong in silence."""

from __future__ import annotations

import json
import math
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest

from irtoolkit.base import analysis
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text, sha256
from irtoolkit.ranking.produce import produce
from irtoolkit.ranking.systems import System, find_system
from irtoolkit.retrievers import retrievers
from irtoolkit.retrievers.engine import rank_and_locate
from irtoolkit.retrievers.task import load_task
from irtoolkit.runs import Qrels, Run, order, provenance
from irtoolkit.runs.exact_ranks import ranks_path, read_ranks, write_ranks
from irtoolkit.scoring.compare import compare
from irtoolkit.scoring.evaluation import evaluate, parse_measures
from irtoolkit.scoring.significance import correct, effect_size, paired_test
from tests.waiting import PATIENCE

Command = Callable[..., Any]
QRELS = {"q": {"a": 0, "b": 1, "c": 0, "d": 2}}


def test_every_measure_sees_one_order_among_ties() -> None:
    """ir_measures' msmarco and judged providers would break ties by id ascending."""
    run = Run.of({"q": dict.fromkeys("abcdef", 1.0)})  # order f e d c b a: first relevant at 3
    names = ["RR", "RR@1000", "P@1", "P@3", "Judged@2", "Judged@3"]
    figures = evaluate(run, Qrels.of(QRELS), parse_measures(names)).figures()
    expected = {
        "RR": 1 / 3,
        "RR@1000": 1 / 3,
        "P@1": 0,
        "P@3": 1 / 3,
        "Judged@2": 0,
        "Judged@3": 1 / 3,
    }
    assert figures == pytest.approx(expected)


@pytest.mark.parametrize("bad", [math.inf, math.nan])
@pytest.mark.parametrize("test", ["student", "fisher", "wilcoxon"])
def test_no_p_value_of_what_is_not_finite(bad: float, test: Any) -> None:
    with pytest.raises(ValueError, match="finite"):
        paired_test([bad, 1.0, 2.0], [1.0, 1.0, 1.0], test)


def test_ranks_below_a_run_cannot_be_compared() -> None:
    measures = parse_measures("Rank")
    judged = Qrels.of({"q1": {"a": 1}, "q2": {"a": 1}})
    deep = evaluate(Run.of({"q1": {"a": 1.0}, "q2": {"a": 1.0}}), judged, measures)
    cut = evaluate(Run.of({"q1": {"b": 1.0}, "q2": {"a": 1.0}}), judged, measures)
    with pytest.raises(InputError, match="Rank of cut is not finite for 1 queries"):
        compare({"deep": deep, "cut": cut}, "Rank", baseline="deep")


@pytest.mark.parametrize("name", ["t-test", "", "Student"])
def test_an_unknown_test_is_no_other_test(name: Any) -> None:
    with pytest.raises(ValueError, match="no test"):
        paired_test([1.0, 2.0], [1.0, 3.0], name)


@pytest.mark.parametrize("name", ["bh", "fdr", "Holm"])
def test_an_unknown_correction_is_no_other_correction(name: Any) -> None:
    with pytest.raises(ValueError, match="no correction"):
        correct([0.1], name)


def test_rounding_is_no_effect() -> None:
    values = np.linspace(0.1, 0.9, 9)
    moved = values.copy()
    moved[3] += 1e-16
    assert effect_size(moved, values) == 0.0
    assert effect_size(values + 0.25, values) == math.inf


def test_a_run_without_a_judged_query_is_refused(irtoolkit: Command, write: Command) -> None:
    run = write("other.run", "x1 Q0 a 1 1.0 t\n")
    qrels = write("q.qrels", "q1 0 a 1\nq2 0 a 1\n")
    answer = irtoolkit("eval", qrels, run)
    assert answer.status == 2
    assert "no judged query" in answer.err
    assert str(run) in answer.err


def test_missing_judged_queries_are_noted(irtoolkit: Command, write: Command) -> None:
    run = write("part.run", "q2 Q0 a 1 1.0 t\n")
    answer = irtoolkit("eval", write("q.qrels", "q1 0 a 1\nq2 0 a 1\n"), run, "--measures", "P@1")
    assert answer.status == 0
    assert "lacks 1 of 2 judged queries, the first q1" in answer.err
    assert "0.5000" in answer.out


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


@pytest.mark.parametrize(
    ("pair", "found"),
    [("k1=1_5", "k1=1_5 is not a number"), ("own=drop", "no setting 'own'"), ("b=x", "b=x is not")],
)
def test_settings_are_not_read_as_something_else(
    irtoolkit: Command, tmp_path: Path, pair: str, found: str
) -> None:
    answer = irtoolkit("retrieve", "csfcube/sample", "bm25", "-o", tmp_path / "x", "--set", pair)
    assert answer.status == 2
    assert found in answer.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["size", "window", "min_count", "epochs"])
def test_word2vec_needs_positive_sizes(name: str) -> None:
    task = load_task("csfcube/sample")
    retriever = System.make("x", "word2vec", {name: 0}).retriever
    with pytest.raises(InputError, match=f"{name}=0 is not at least 1"):
        retriever.scorer(task)


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


def test_what_is_missing_is_said_before_anything_else(tmp_path: Path) -> None:
    for settings in ({"train": str(tmp_path / "no")}, {"train": str(tmp_path)}):
        system = System.make("x", "word2vec", settings)
        with pytest.raises(InputError, match="is not there"):
            produce("csfcube/sample", system, tmp_path / "x.run")
    with pytest.raises(InputError, match="are not here"):
        produce(
            "csfcube/sample", System.make("x", "dense", {"model": "a b/c d/e"}), tmp_path / "x.run"
        )


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


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    with atomic_text(pipe) as out:
        out.write("through\n")
    reader.join(timeout=PATIENCE)
    assert read == ["through\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_is_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old\n")
    link.symlink_to(target)
    with atomic_text(link) as out:
        out.write("new\n")
    assert link.is_symlink()
    assert target.read_text() == "new\n"


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


def test_ranks_of_another_run_are_refused_where_they_matter(
    irtoolkit: Command, tmp_path: Path
) -> None:
    run = tmp_path / "x.run"
    args = ["retrieve", "relic/sample/val", "random", "--depth", 2, "-o", run]
    assert irtoolkit(*args).status == 0
    other = Run.read(run)
    Run.from_rows([(r.query_id, r.doc_id, r.score + 1) for r in other]).write(run)
    assert irtoolkit("eval", "relic/sample/val", run, "--measures", "R@2").status == 0
    answer = irtoolkit("eval", "relic/sample/val", run, "--measures", "Rank")
    assert answer.status == 2
    assert f"{ranks_path(run)}:1: the ranks of another run" in answer.err


@pytest.mark.parametrize("line", ["q\td", "q\td\tx", "q\td\t0", "q\td\t1\t2", ""])
def test_damaged_ranks_are_refused(tmp_path: Path, line: str) -> None:
    run = tmp_path / "x.run"
    run.write_text("q Q0 d 1 1.0 t\n")
    write_ranks(run, {"q": {"d": 1}}, sha256(run))
    assert read_ranks(run, Run.read(run)) == {"q": {"d": 1}}
    with ranks_path(run).open("a") as out:
        out.write(line + "\n")
    with pytest.raises(InputError) as caught:
        read_ranks(run, Run.read(run))
    assert (caught.value.file, caught.value.line) == (str(ranks_path(run)), 3)


def test_no_ranks_beside_a_run() -> None:
    assert read_ranks("no/such.run", Run.from_rows([("q", "d", 1.0)])) is None


def test_located_ranks_are_those_of_the_whole_ranking() -> None:
    task = load_task("relic/sample/val/1-1")
    wanted = {name: [str(task.doc_ids[group.docs[-1]])] for group in task.groups
              for name in task.query_ids[group.queries]}  # fmt: skip
    retriever = find_system("random", {}).retriever
    whole, cut = (rank_and_locate(task, retriever, wanted, depth=d) for d in (None, 1))
    assert whole.ranks == cut.ranks
    for query, docs in wanted.items():
        order = [row.doc_id for row in whole.run.ranking(query)]
        assert whole.ranks[query] == {docs[0]: order.index(docs[0]) + 1}


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


def test_measures_stay_known_to_ir_measures() -> None:
    names = ("nDCGp(p=20)", "RPlast(rel=2)", "NRODCG@10", "Rank", "MedianRank", "StdRank")
    assert all(
        str(ir_measures.parse_measure(name)).startswith(name.split("(")[0][:4]) for name in names
    )
