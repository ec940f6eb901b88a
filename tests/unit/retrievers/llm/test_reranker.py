"""What rerankers have in common: faults of servers, resumed runs, long documents, stages, records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import irtoolkit as ir
from irtoolkit.ranking.decided import made_of
from irtoolkit.ranking.produce import Among, rank_dataset
from irtoolkit.ranking.session import SystemSession
from irtoolkit.ranking.systems import System, find_system, with_first
from irtoolkit.ranking.texts import TextQuery, rank_texts
from irtoolkit.retrievers import create_retriever
from irtoolkit.retrievers.llm.reranker import Reranker, cut_words
from irtoolkit.runs import Run
from tests.datasets import register
from tests.llm_server import KEY, Handler, Stub
from tests.ranked_by_llm import (
    QUERIES,
    best_order,
    oracle,
    texts_worth,
)

NAMES = ["llm-listwise", "llm-pairwise", "llm-pointwise"]


def grading(handler: Handler) -> None:
    """Answers every kind of prompt."""
    if "Grade:" in handler.prompt:
        value = int(handler.prompt.partition("worth ")[2].split()[0])
        return handler.write_out(str(99 - value if "cheapest" in handler.prompt else value))
    return oracle(handler)


def made(name: str, url: str, **settings: Any) -> Reranker:
    more = {"answer": "grade", "grades": 99} if name == "llm-pointwise" else {}
    found = create_retriever(name, {"llm": "gpt-test", "endpoint": url, **more, **settings})
    assert isinstance(found, Reranker)
    return found


@pytest.fixture(params=NAMES)
def retriever(request: pytest.FixtureRequest, stub: Stub) -> Reranker:
    stub.always = grading
    return made(request.param, stub.url)


@pytest.fixture
def listwise(stub: Stub) -> Reranker:
    stub.always = grading
    return made("llm-listwise", stub.url, window=4, step=2)


DOCS = texts_worth(9)
BEST = {query: best_order(DOCS, query) for query in QUERIES}


# -- documents --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        ("one two  three", 2, ("one two", True)),
        ("one two\nthree", 3, ("one two three", False)),
        ("one two", None, ("one two", False)),
        (" one, two. ", 1, ("one,", True)),
        ("\u732b\u5750\u5728\u588a\u5b50\u4e0a", 4, ("\u732b\u5750\u5728\u588a", True)),
        ("cat\u732bdog \u5750", 3, ("cat\u732bdog", True)),
        ("", 1, ("", False)),
    ],
)
def test_long_texts_are_cut_after_words(text: str, most: int | None, expected: Any) -> None:
    assert cut_words(text, most) == expected


# -- stages -----------------------------------------------------------------------------------


def test_a_run_is_ranked_again_and_the_rest_follows(stub: Stub, retriever: Reranker) -> None:
    docs = texts_worth(12)
    dataset = register(docs, QUERIES)
    upside_down = Run.from_rows([(q, d, float(d[1:])) for q in QUERIES for d in docs])
    system = System("again", retriever, depth=5)
    run = rank_dataset(dataset, system, candidates=Among(upside_down, keep_rest=True)).as_dict()
    given = sorted(docs, reverse=True)
    for query, row in run.items():
        best = best_order({doc: docs[doc] for doc in given[:5]}, query)
        assert list(row) == [*best, *given[5:]]
        assert len(set(row.values())) == 12


@pytest.mark.parametrize("name", NAMES)
def test_the_front_door(stub: Stub, name: str) -> None:
    stub.always = grading
    dataset = ir.load(DOCS, queries=QUERIES)
    first = Run.from_rows([(q, d, -float(d[1:])) for q in QUERIES for d in DOCS])
    more = {"answer": "grade", "grades": 99} if name == "llm-pointwise" else {}
    run = ir.rerank(
        dataset, first, name, depth=4, keep_rest=True, progress=False, llm="gpt-test",
        endpoint=stub.url, **more,
    ).as_dict()  # fmt: skip
    top = sorted(DOCS)[:4]
    for query, row in run.items():
        best = best_order({doc: DOCS[doc] for doc in top}, query)
        assert list(row) == [*best, *sorted(DOCS)[4:]]


def test_a_first_stage_gives_the_order(stub: Stub, listwise: Reranker) -> None:
    """What cannot be read leaves the order of BM25."""
    docs = {
        "d1": "sea",
        "d2": "sea and a sea of houses",
        "d3": "a house by the sea sea",
        "d4": "no",
    }
    dataset = register(docs, {"q1": "sea", "q2": "house"})
    bm25 = find_system("bm25", {"fill": True}, "")
    alone = rank_dataset(dataset, bm25, depth=3).as_dict()["q1"]
    stub.always = lambda h: h.write_out("[2]" if "Query: house" in h.prompt else "hm")
    system = with_first(System("llm", listwise), bm25, 3)
    assert list(rank_dataset(dataset, system).as_dict()["q1"]) == list(alone)
    session = SystemSession(system, dataset)
    [found] = session.rank([TextQuery("free", "house")])
    assert len(found.doc_ids) == 3
    assert len(stub.bodies) == 2


def test_texts_that_come_with_their_queries(stub: Stub, retriever: Reranker) -> None:
    asked = [TextQuery(q, text, [*DOCS]) for q, text in QUERIES.items()]
    found = rank_texts(System("llm", retriever), asked, [list(DOCS.values())] * 2)
    assert [one.doc_ids.tolist() for one in found] == [BEST["q1"], BEST["q2"]]


# -- records ----------------------------------------------------------------------------------


def test_the_command_reranks_a_run(
    stub: Stub, retriever: Reranker, tmp_path: Path, irtoolkit: Callable[..., Any],
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    stub.always = lambda h: h.write_out("[2]" if "Order" in h.prompt else "Passage B 1")
    if retriever.name == "llm-pairwise":
        stub.always = lambda h: h.write_out("Passage A")
    if retriever.name == "llm-pointwise":
        stub.always = lambda h: h.write_out("1")
    first = tmp_path / "first.run"
    done = irtoolkit("retrieve", "plotretrieval/sample/test", "bm25", "-o", first, "--depth", "30")
    assert done.status == 0, done.err
    out = tmp_path / "again.run"
    more = ["answer=grade"] if retriever.name == "llm-pointwise" else []
    command = (
        "rerank", "plotretrieval/sample/test", first, retriever.name, "-o", out, "--depth", "5",
        "--rest", "keep", "--set", "llm=gpt-test", f"endpoint={stub.url}", *more,
    )  # fmt: skip
    done = irtoolkit(*command)
    assert done.status == 0, done.err
    before, after = Run.read(first).as_dict(), Run.read(out).as_dict()
    swapped = 0
    for query, row in before.items():
        expected = list(row)
        if retriever.name == "llm-listwise" and len(expected) > 1:
            expected[:2] = expected[1::-1]
            swapped += 1
        assert list(after[query]) == expected
    assert swapped or retriever.name != "llm-listwise"
    record = out.with_name("again.run.ir-metadata.yml").read_text()
    assert KEY not in record
    assert "gpt-test" in record
    monkeypatch.delenv("OPENAI_API_KEY")
    stub.shutdown()
    again = irtoolkit(*command)
    assert again.status == 0, "whatever is answered needs no server"


def test_nonsense_writes_no_file(
    stub: Stub, tmp_path: Path, irtoolkit: Callable[..., Any], listwise: Reranker
) -> None:
    first, out = tmp_path / "first.run", tmp_path / "again.run"
    irtoolkit("retrieve", "plotretrieval/sample/test", "bm25", "-o", first, "--depth", "30")
    before = sorted(tmp_path.iterdir())
    stub.always = lambda handler: handler.write_out("hm")
    done = irtoolkit(
        "rerank", "plotretrieval/sample/test", first, "llm-listwise", "-o", out, "--set",
        "llm=gpt-test", f"endpoint={stub.url}",
    )  # fmt: skip
    assert done.status == 2
    assert "can be read, such as 'hm'" in done.err
    assert [path for path in sorted(tmp_path.iterdir()) if path.name != "cache"] == [
        path for path in before if path.name != "cache"
    ]


def test_what_decides_a_run_is_recorded(retriever: Reranker) -> None:
    """A prompt by default is one that a later version may word otherwise."""
    dataset = register(DOCS, QUERIES)

    def record(changed: Reranker) -> Any:
        system = System("x", changed)
        found = made_of(system, system.load(dataset))
        return found["training"], found["settings"]

    names = {
        "llm-listwise": "{documents}",
        "llm-pairwise": "{a} {b}",
        "llm-pointwise": "{document}",
    }
    prompts = [f"{names[retriever.name]} {{{field}}}" for field in ("query", "query_id")]
    changed = [replace(retriever, prompt=prompt) for prompt in prompts]  # type: ignore[call-arg]
    assert len({record(one)[0] for one in (retriever, *changed)}) == 3
    assert record(retriever) == record(replace(retriever))


def test_what_it_says_of_itself(retriever: Reranker) -> None:
    assert not retriever.asks_others()
    elsewhere = replace(retriever, endpoint="https://host.example/v1")
    assert elsewhere.asks_others()
    assert elsewhere.missing() is None
    assert retriever.stores == "answers"
    assert retriever.index_format() is None
    assert retriever.fingerprint() is None
    text = {key: "none" if v is None else str(v) for key, v in retriever.settings().items()}
    assert create_retriever(retriever.name, text) == retriever
