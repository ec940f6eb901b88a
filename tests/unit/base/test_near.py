"""Near misses of names."""

from __future__ import annotations

from irtoolkit.base.near import nearest

KNOWN = ["BM25", "bm25", "BM25-L", "ql", "all-MiniLM-L6-v2", "dense"]


def test_the_closest_spelling_comes_first() -> None:
    assert nearest("bm52", KNOWN) == ["bm25", "BM25-L"]


def test_case_does_not_count_and_the_last_of_two_names_is_taken() -> None:
    assert nearest("Bm25", KNOWN)[0] == "bm25"
    assert nearest("QL", KNOWN) == ["ql"]


def test_a_name_of_another_tool_has_one_answer() -> None:
    assert nearest("metrics", ["measure", "measures", "rel"]) == ["measures"]
    assert nearest("--top-k", ["--hits", "--depth"]) == ["--hits"]
    assert nearest("top_k", ["depth", "system"]) == ["depth"]
    assert nearest("k", ["k", "hits"])[0] == "k"


def test_the_dashes_of_a_flag_do_not_count() -> None:
    assert nearest("--b", ["--debug"]) == []
    assert nearest("--depht", ["--depth", "--debug"])[0] == "--depth"


def test_one_of_two_letters_may_be_wrong() -> None:
    assert nearest("k3", ["k1", "b", "stem"]) == ["k1"]
