"""Near misses of names."""

from __future__ import annotations

from irtoolkit.base.near import did_you_mean, nearest

KNOWN = ["BM25", "bm25", "BM25-L", "ql", "all-MiniLM-L6-v2", "dense"]


def test_the_closest_spelling_comes_first() -> None:
    assert nearest("bm52", KNOWN) == ["bm25", "BM25-L"]


def test_case_does_not_count_and_the_last_of_two_names_is_taken() -> None:
    assert nearest("Bm25", KNOWN)[0] == "bm25"
    assert nearest("QL", KNOWN) == ["ql"]


def test_a_part_of_a_name_is_a_guess_at_it_unless_it_is_short() -> None:
    assert nearest("minilm", KNOWN) == ["all-MiniLM-L6-v2"]
    assert nearest("ini", KNOWN) == []


def test_few_names_are_offered() -> None:
    assert nearest("run1", [f"run{i}" for i in range(20)]) == ["run1", "run19", "run18"]
    assert len(nearest("run1", [f"run{i}" for i in range(20)], 2)) == 2


def test_a_question_or_nothing() -> None:
    assert did_you_mean("bm52", KNOWN) == "did you mean bm25, BM25-L? "
    assert did_you_mean("xyz", KNOWN) == ""


def test_one_of_two_letters_may_be_wrong() -> None:
    assert nearest("k3", ["k1", "b", "stem"]) == ["k1"]
