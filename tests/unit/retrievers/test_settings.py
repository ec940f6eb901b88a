"""Settings that change nothing are refused, with what would have them read."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers import retrievers
from irtoolkit.retrievers.registry import create_retriever
from irtoolkit.retrievers.settings import conditions_of
from irtoolkit.retrievers.system_names import KNOWN_AS
from tests.each import each

TEXTS = ["a whale and a ship", "a ship in a storm"]
UNREAD: list[tuple[str, dict[str, Any], str]] = [
    ("lucene", {"fb_docs": 3}, "rm3=true or rocchio=true"),
    ("lucene", {"model": "qld", "k1": 1.2}, "model=bm25"),
    ("bm25", {"form": "okapi", "delta": 0.4}, "form=bm25l or form=rank-bm25l or form=bm25+"),
    ("rm3", {"epsilon": 0.3}, "form=okapi"),
    ("ql", {"smoothing": "jm", "mu": 300}, "smoothing=dirichlet"),
    ("dense-prf", {"feedback": "average", "alpha": 0.1}, "feedback=rocchio"),
    ("sentence-match", {"temperature": 2.0}, "masses=similar"),
    ("doct5query", {"judge": "ms-marco-MiniLM-L-12"}, "keep"),
    ("word2vec", {"statistics": "other.txt"}, "weighting=tfidf"),
    ("elasticsearch", {"exact": True}, "model"),
    ("llm-pairwise", {"llm": "m", "method": "allpair", "passes": 3}, "method=sliding"),
    ("llm-listwise", {"llm": "m", "endpoint": "http://x/v1", "device": "cpu"}, "endpoint=none"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "settings", "needed"), UNREAD)
def test_a_setting_that_nothing_reads_is_refused(
    name: str, settings: dict[str, Any], needed: str
) -> None:
    with pytest.raises(InputError) as found:
        find_system(name, settings)
    assert "changes nothing: " in found.value.found
    assert f"reads it with {needed}" in found.value.found


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("lucene", {"fb_docs": 3, "rm3": True}),
        ("lucene", {"fb_docs": "10"}),
        ("bm25", {"form": "okapi", "epsilon": 0.3}),
        ("bm25", {"form": "bm25+", "delta": 0.3}),
        ("rocchio", {"gamma": 0.1, "hits": 50}),
        ("dense", {"query": "masked:[MASK]", "around": "X"}),
        ("sentence-match", {"matching": "transport", "temperature": 2.0}),
        ("elasticsearch", {"model": "all-MiniLM-L6-v2", "exact": True}),
        ("doct5query", {"keep": 0.5, "judge": "ms-marco-MiniLM-L-12"}),
    ],
)
def test_one_that_is_read_or_as_by_default_is_taken(name: str, settings: dict[str, Any]) -> None:
    found = find_system(name, settings)
    assert found.retriever.settings().keys() >= {*settings} - {"query"}


@each("name", [*retrievers(), *KNOWN_AS])
def test_all_settings_of_a_system_are_taken_again(name: str) -> None:
    made = find_system(name, {})
    assert find_system(made.retriever.name, made.settings()).settings() == made.settings()


@each("cls", list(retrievers().values()))
def test_conditions_name_settings_and_values(cls: Any) -> None:
    names = {item.name for item in dataclasses.fields(cls)}
    for setting, conditions in conditions_of(cls).items():
        assert setting in names
        assert {condition.partition("=")[0] for condition in conditions} <= names - {setting}


def test_an_index_refuses_them_too(tmp_path: Path) -> None:
    index = ir.index(TEXTS, "bm25", path=tmp_path / "index")
    assert len(index.with_settings(form="bm25l", delta=0.3).search("whale")) > 0
    with pytest.raises(InputError, match=r"epsilon=0\.3 changes nothing"):
        index.with_settings(epsilon=0.3)
    with pytest.raises(InputError, match=r"epsilon=0\.3 changes nothing"):
        ir.open_index(tmp_path / "index", epsilon=0.3)


# -- a search for typed text reads no queries of a dataset -------------------------------------------

FIELDS = {"query": "title", "self": "drop", "ties": "best", "fill": "true"}


@pytest.mark.parametrize("name", FIELDS)
def test_a_search_takes_no_setting_of_queries(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"setting {name}={FIELDS[name]} changes nothing"):
        ir.index("csfcube/sample", "bm25", **{name: FIELDS[name]})
    ir.index(TEXTS, "bm25", path=tmp_path / "index")
    for system in (None, "bm25"):
        with pytest.raises(InputError, match=name):
            ir.open_index(tmp_path / "index", system, **{name: FIELDS[name]})


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("of", ["dataset", "book", "index"])
def test_commands_take_none_either(irtoolkit: Any, name: str, of: str, tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text("CHAPTER I\n\nA whale swam. A ship sank. A storm rose.\n")
    where = {
        "dataset": ["search", "csfcube/sample", "x"],
        "book": ["search", str(book), "whale"],
        "index": ["index", "csfcube/sample", "bm25", "-o", str(tmp_path / "index")],
    }[of]
    done = irtoolkit(*where, f"--{name}", FIELDS[name])
    assert done.status == 2
    assert f"setting {name}={FIELDS[name]} changes nothing" in done.err


def test_bounds_are_printed_in_full() -> None:
    with pytest.raises(InputError, match="m=1 is not between 2 and 2147483647"):
        create_retriever("faiss", {"index": "hnsw", "m": "1"})
