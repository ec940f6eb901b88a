"""What retrievers are given: datasets of any kind as views, candidates and groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from ir_datasets.formats import (
    BaseQrels,
    BaseScoredDocs,
    GenericQrel,
    GenericQuery,
)

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Segments
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.retrievers.task import Task, load_task
from irtoolkit.retrievers.texts import view
from tests.datasets import Candidates, Docs, Queries
from tests.datasets import register_parts as register


class Paper(NamedTuple):
    doc_id: str
    title: str
    sentences: tuple[str, ...] = ()
    year: int = 1999

    @property
    def abstract(self) -> str:
        return " ".join(self.sentences)

    @property
    def age(self) -> int:
        return 2024 - self.year

    def default_text(self) -> str:
        return f"the default of {self.title}"


class Likeness(NamedTuple):
    """A query that is a document."""

    query_id: str
    doc_id: str
    text: str = ""

    def default_text(self) -> str:
        return self.text


class Shared(BaseScoredDocs):  # type: ignore[misc]
    """Candidates told by groups, which must not be asked for one by one."""

    def __init__(self, groups: list[tuple[list[str], list[str]]]) -> None:
        self.groups = groups

    def candidate_groups(self) -> Iterator[tuple[list[str], list[str]]]:
        return iter(self.groups)


class Untouchable(BaseQrels):  # type: ignore[misc]
    def qrels_defs(self) -> dict[int, str]:
        return {1: "relevant"}

    def qrels_iter(self) -> Iterator[GenericQrel]:
        raise AssertionError("somebody looks at the qrels")


PAPERS = [Paper("d1", "one", ("a b", "c")), Paper("d3", "three", ("e",)), Paper("d2", "two")]
QUERIES = [GenericQuery("q2", "second"), GenericQuery("q1", "first")]


def pools_of(task: Task) -> dict[str, list[str]]:
    """Each query's candidates in order; fails where a query stands in several groups or none."""
    found = [
        (str(task.query_ids[query]), [str(task.doc_ids[doc]) for doc in group.docs])
        for group in task.groups
        for query in group.queries
    ]
    assert sorted(query for query, _ in found) == sorted(task.query_ids)
    return dict(found)


def cause(dataset_id: str, **options: Any) -> str:
    """The message of the error that loading a task raises."""
    with pytest.raises(InputError) as caught:
        load_task(dataset_id, **options)
    return str(caught.value)


# -- views ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("default", ("the default of one",)),
        ("sentences", ("a b", "c")),
        ("abstract", ("a b c",)),
        ("sentences+title", ("a b", "c", "one")),
        ("doc_id", ("d1",)),
    ],
)
def test_a_view_gives_segments(name: str, expected: Segments) -> None:
    assert view(PAPERS[0], name) == expected


@pytest.mark.parametrize("name", ["titel", "", "title+", "+title", "title+titel", "title,abstract"])
def test_an_unknown_field_is_named_beside_those_there_are(name: str) -> None:
    with pytest.raises(InputError, match="Paper has no text field") as caught:
        view(PAPERS[0], name)
    wrong = next(part for part in name.split("+") if part != "title")
    assert repr(wrong) in caught.value.found
    for field in ("abstract", "sentences", "title", "default"):
        assert field in str(caught.value.remedy)


def test_strings_and_others_mixed_are_no_text() -> None:
    with pytest.raises(InputError, match="no text field 'sentences'"):
        view(PAPERS[0]._replace(sentences=("x", 3)), "sentences")


def test_the_corpus_is_every_document_candidate_or_not() -> None:
    rows = Candidates([("q1", "d2")])
    task = load_task(register(Docs(PAPERS), Queries(QUERIES), rows), doc="title")
    assert list(task.doc_ids) == ["d2"]
    assert list(task.docs) == [("two",)]
    expected: list[Segments] = [("one",), ("three",), ("two",)]
    assert list(task.corpus()) == expected
    assert list(task.corpus()) == expected, "it can be read again"


# -- candidates -------------------------------------------------------------------------------


def test_pools_of_queries_that_are_not_asked_are_left_out() -> None:
    rows = [("q9", "d3"), ("q1", "d1"), ("q2", "d1")]
    task = load_task(register(Docs(PAPERS), Queries(QUERIES), Candidates(rows)))
    assert pools_of(task) == {"q1": ["d1"], "q2": ["d1"]}
    assert list(task.doc_ids) == ["d1"]


@pytest.mark.parametrize("own", ["keep", "drop"])
def test_candidates_told_by_groups(own: Any) -> None:
    queries = Queries(
        [Likeness(name, doc) for name, doc in zip("abc", ("d1", "d2", "d3"), strict=True)]
    )
    shared = Shared([(["c", "a", "stranger"], ["d3", "d1"]), (["stranger"], ["d2"])])
    task = load_task(register(Docs(PAPERS), queries, shared), own=own)
    kept = {"a": ["d3", "d1"], "b": [], "c": ["d3", "d1"]}
    dropped = {"a": ["d3"], "b": [], "c": ["d1"]}
    assert pools_of(task) == (kept if own == "keep" else dropped)
    assert len(task.groups) == (2 if own == "keep" else 3)


def test_a_task_with_some_of_its_queries() -> None:
    whole = load_task("csfcube/sample", query="title+abstract")
    names = whole.query_ids.tolist()
    some = whole.only([names[3], names[1], "no-such-query"])
    assert some.query_ids.tolist() == [names[1], names[3]]
    assert some.queries == [whole.queries[1], whole.queries[3]]
    fields = whole.query_fields("facet_sentences")
    assert some.query_fields("facet_sentences") == [fields[1], fields[3]]
    assert some.doc_ids.tolist() == whole.doc_ids.tolist()
    assert some.dataset is whole.dataset

    def pools(task: Task) -> dict[str, list[int]]:
        return {
            task.query_ids[query]: group.docs.tolist()
            for group in task.groups
            for query in group.queries
        }

    assert pools(some) == {name: pools(whole)[name] for name in (names[1], names[3])}


def test_a_task_never_looks_at_qrels() -> None:
    task = load_task(register(Docs(PAPERS), Queries(QUERIES), Untouchable()), query="text")
    assert task.queries
    assert task.docs
    assert list(task.corpus())


# -- a query's own document ------------------------------------------------------------------


def test_dropping_from_a_whole_corpus() -> None:
    queries = [Likeness("x", "d3"), Likeness("y", "d1"), Likeness("z", "elsewhere")]
    task = load_task(register(Docs(PAPERS), Queries(queries)), own="drop")
    assert pools_of(task) == {"x": ["d1", "d2"], "y": ["d3", "d2"], "z": ["d1", "d3", "d2"]}


def test_queries_that_are_no_documents_have_none_to_drop() -> None:
    dataset_id = register(Docs(PAPERS), Queries(QUERIES))
    assert f"the queries of {dataset_id} are not documents" in cause(dataset_id, own="drop")


# -- what cannot be a task -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("constituents", "lacking"),
    [((Docs(PAPERS),), "queries"), ((Queries(QUERIES),), "docs"), ((), "queries")],
)
def test_a_dataset_without_queries_or_documents(constituents: Any, lacking: str) -> None:
    dataset_id = register(*constituents)
    assert f"dataset {dataset_id} has no {lacking}" in cause(dataset_id)


@pytest.mark.parametrize(
    ("docs", "queries", "lacking"), [([], QUERIES, "doc"), (PAPERS, [], "quer")]
)
def test_a_dataset_whose_queries_or_documents_are_none(
    docs: Any, queries: Any, lacking: str
) -> None:
    assert lacking in cause(register(Docs(docs), Queries(queries)))


@pytest.mark.parametrize("pools", [False, True])
def test_a_query_id_that_stands_twice_is_refused(pools: bool) -> None:
    """Else the third query would silently be ranked under the name of the second."""
    queries = [GenericQuery("q1", "a"), GenericQuery("q1", "b"), GenericQuery("q2", "c")]
    rows = [Candidates([("q1", "d1"), ("q2", "d3")])] if pools else []
    assert "q1" in cause(register(Docs(PAPERS), Queries(queries), *rows))


# -- datasets ---------------------------------------------------------------------------------


def test_queries_are_known_through_parents_of_the_same_collection() -> None:
    docs = Docs(PAPERS)

    def make(query: str, name: str | None = None, docs: Docs = docs) -> str:
        return register(docs, Queries([GenericQuery(query, "")]), name=name)

    top = make("a")
    part = make("b", f"{top}/gap/part")
    other = make("c", f"{top}/other", Docs(PAPERS))
    assert Dataset.load(part).known_queries() == {"a", "b"}
    assert Dataset.load(make("d", f"{part}/deep")).known_queries() == {"a", "b", "d"}
    assert Dataset.load(top).known_queries() == {"a"}
    assert Dataset.load(other).known_queries() == {"c"}, "these are other documents"
