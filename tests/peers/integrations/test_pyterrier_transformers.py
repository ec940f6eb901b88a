"""Our systems as PyTerrier transformers: the rows of our own commands, in PyTerrier's pipelines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import ir_datasets
import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset as Data
from irtoolkit.models import adapters as applied
from irtoolkit.ranking.produce import Among, produce
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.lexical import BM25, Lexical
from irtoolkit.retrievers.task import load_task
from irtoolkit.retrievers.texts import view
from irtoolkit.runs import Run
from irtoolkit.scoring.evaluation import evaluate, parse_measures
from tests.conftest import ROOT
from tests.datasets import ASKED, DOCS, POOLS, register
from tests.tiny import save

pt = pytest.importorskip("pyterrier", reason="pyterrier is not installed")

from irtoolkit.pyterrier import Dataset, Provider, Reranker, Retriever, TextLoader  # noqa: E402

POOLED, BOOKS, CORPUS = "csfcube/sample", "relic/sample/val", "plotretrieval/sample/val"
Rows = list[tuple[str, str, float, int]]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A cross-encoder and an encoder of random weights."""
    folder = tmp_path_factory.mktemp("models")
    return {
        "cross": str(save(folder / "cross", "BertForSequenceClassification", num_labels=1)),
        "dense": str(save(folder / "dense", seed=1)),
    }


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IRTOOLKIT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The retrievers that were prepared on a collection, from now on."""
    names: list[str] = []

    original = Lexical.prepare

    def noted(self: Any, task: Any) -> Any:
        names.append(self.name)
        return original(self, task)

    monkeypatch.setattr(Lexical, "prepare", noted)
    return names


def topics(name: str) -> pd.DataFrame:
    return Dataset(name).get_topics()


def frame(queries: Mapping[str, str] = ASKED) -> pd.DataFrame:
    return pd.DataFrame({"qid": list(queries), "query": list(queries.values())})


def rows(found: pd.DataFrame) -> Rows:
    """The rows of a frame as they stand; a score must be a float32 that a run can hold."""
    scores = found["score"].to_numpy()
    assert scores.dtype == np.float64
    assert np.array_equal(scores, scores.astype(np.float32))
    return list(zip(found["qid"], found["docno"], scores.tolist(), found["rank"], strict=True))


def rows_of(run: Run) -> Rows:
    """The rows of a run as they stand in its file, where no scores tie."""
    run = run.untied()
    ranks = (run.ranks - 1).tolist()
    return [(*row, place) for row, place in zip(run, ranks, strict=True)]


# -- the rows of our commands ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "system", "given"),
    [
        (POOLED, "tfidf", {"query": "facet_sentences", "self": "drop"}),
        (BOOKS, "ql", {"doc": "sentences"}),
        (CORPUS, "bm25", {"form": "bm25+", "k1": "1.2"}),
    ],
)
def test_a_retriever_gives_the_rows_of_retrieve(
    name: str, system: str, given: dict[str, str], tmp_path: Path, irtoolkit: Callable[..., Any]
) -> None:
    path = tmp_path / "x.run"
    pairs = [f"{key}={value}" for key, value in given.items()]
    args = ["--set", *pairs] if pairs else []
    assert irtoolkit("retrieve", name, system, "-o", path, "--depth", 7, *args).status == 0
    transformer = Retriever(name, system, depth=7, **given)
    expected = rows_of(Run.read(path))
    assert rows(transformer(topics(name))) == expected
    assert len(expected) > 7
    # One query at a time, in another order, and from a pipeline.
    asked = topics(name).iloc[::-1]
    parts = pd.concat([*transformer.transform_gen(asked)])
    assert sorted(rows(parts)) == sorted(expected)
    assert rows((pt.Transformer.identity() >> Retriever(name, system, **given) % 7)(topics(name))) == (
        expected
    )  # fmt: skip


def test_reranking_in_a_pipeline_is_that_of_our_commands(
    models: dict[str, str], tmp_path: Path, irtoolkit: Callable[..., Any]
) -> None:
    name = CORPUS
    first, second = tmp_path / "bm25.run", tmp_path / "cross.run"
    assert irtoolkit("retrieve", name, "bm25", "-o", first, "--depth", 30).status == 0
    model = f"model={models['cross']}"
    command = ("rerank", name, first, "cross-encoder", "-o", second)
    bm25 = Retriever(name, depth=30)
    cross = Reranker(name, "cross-encoder", model=models["cross"])

    assert irtoolkit(*command, "--depth", 1000, "--set", model).status == 0
    assert rows((bm25 >> cross % 10)(topics(name))) == rows_of(Run.read(second).head(10))
    assert irtoolkit(*command, "--depth", 10, "--set", model).status == 0
    found = (bm25 % 10 >> cross)(topics(name))
    assert rows(found) == rows_of(Run.read(second))
    assert rows(found) != rows((bm25 % 10)(topics(name)))
    # A folder alone is taken for a cross-encoder, as by the command.
    assert rows((bm25 % 10 >> Reranker(name, models["cross"]))(topics(name))) == rows(found)


@pytest.mark.parametrize("system", ["fabs_bm25", "dense"])
def test_any_retriever_ranks_again(system: str, models: dict[str, str], tmp_path: Path) -> None:
    given = {"model": models["dense"], "pooling": "mean"} if system == "dense" else {}
    first = Retriever(POOLED, "ql", depth=9)
    transformer = Reranker(POOLED, system, **given)
    source = rank(load_task(POOLED), find_system("ql", {}).retriever, depth=9, progress=False)
    source.write(tmp_path / "ql.run")
    made = replace(find_system(system, given, POOLED), first=None)
    run, _ = produce(
        POOLED, made, tmp_path / "x.run", candidates=Among.read(tmp_path / "ql.run"), progress=False
    )
    asked = first(topics(POOLED))
    parts = [part for _, part in asked.groupby("qid", sort=False)]
    assert rows(pd.concat([transformer(part) for part in parts])) == rows_of(run)


# -- queries ---------------------------------------------------------------------------------------


def expected_of(texts: dict[str, str], docs: Mapping[str, str], pools: Any = None) -> Rows:
    """BM25's rows for some queries over some texts, by way of a dataset of theirs."""
    task = load_task(register(docs, texts, pools))
    return rows_of(rank(task, BM25(), fill=False, progress=False))


def test_another_text_is_searched_for_among_the_candidates_of_its_query() -> None:
    name = register(pools=POOLS)
    texts = {**ASKED, "q2": "the rat sat", "q1": "the sea"}
    assert rows(Retriever(name)(frame(texts))) == sorted(
        expected_of(texts, DOCS, POOLS), key=lambda row: list(texts).index(row[0])
    )
    rewritten = pt.apply.query(lambda row: "the rat sat") >> Retriever(name)
    assert rows(rewritten(frame())) == expected_of(dict.fromkeys(ASKED, "the rat sat"), DOCS, POOLS)


def test_a_query_that_is_not_the_datasets_is_searched_in_the_corpus() -> None:
    name = register()
    texts = {"other": "the rat and the sea", "q2": ASKED["q2"]}
    assert rows(Retriever(name)(frame(texts))) == expected_of(texts, DOCS)
    assert rows(Retriever(name).search("rat")) == expected_of({"1": "rat"}, DOCS)


def test_a_free_text_ranks_all_candidates_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    name = BOOKS
    data = ir_datasets.load(name)
    candidates = {row.doc_id for row in data.scoreddocs_iter()}
    text = next(iter(data.docs_iter())).default_text()
    found = Retriever(name, depth=len(candidates)).search(text)
    assert set(found["docno"]) == candidates
    assert f"it ranks all {len(candidates):,}" in caplog.text
    best = next(doc for doc in data.docs_iter() if doc.doc_id == found["docno"][0])
    assert set(text.split()) & set(best.default_text().split())


def test_a_strange_query_beside_the_datasets_own_is_refused() -> None:
    name = POOLED
    own = next(iter(ir_datasets.load(name).queries_iter()))
    texts = {own.query_id: own.default_text(), "strange": "a text"}
    with pytest.raises(InputError, match=r"query 'strange' is none of .* candidates of its own"):
        Retriever(name)(frame(texts))


def test_the_record_is_shown_through_the_systems_view() -> None:
    """Of CSFCube: fabs_bm25 is shown the sentences of the facet, whatever field the topics hold."""
    system = Retriever(POOLED, "fabs_bm25")
    own = rows(system(topics(POOLED)))
    assert own == rows(system(Dataset(POOLED).get_topics("facet_sentences")))
    # White space is nobody's other text.
    spaced = topics(POOLED).assign(query=lambda f: "\n " + f["query"].str.replace(" ", "  "))
    assert own == rows(system(spaced))
    titles = rows(system(Dataset(POOLED).get_topics("title")))
    assert titles == rows(Retriever(POOLED, "fabs_bm25", query="title")(topics(POOLED))) != own


@settings(max_examples=25)
@given(
    st.lists(st.sampled_from([*ASKED, "new", "x y"]), unique=True, max_size=5),
    st.sampled_from([*ASKED.values(), "dog", "mat mat sea", "no word of it"]),
    st.booleans(),
    st.integers(1, 9),
)
def test_queries_do_not_touch_each_other(qids: list[str], text: str, own: bool, depth: int) -> None:
    """Whatever is asked together or was asked before, a query has the same rows."""
    given: dict[str, Any] = {"depth": depth, "fill": True}
    asked = frame({qid: ASKED[qid] if own and qid in ASKED else text for qid in qids})
    name = register()
    once = Retriever(name, **given)
    whole = once(asked)
    assert list(dict.fromkeys(whole["qid"])) == qids
    alone = [Retriever(name, **given)(part) for _, part in asked.groupby("qid", sort=False)]
    again = [once(part) for _, part in asked.groupby("qid", sort=False)]
    assert rows(pd.concat([once(asked.iloc[:0]), *alone])) == rows(whole)
    assert rows(pd.concat([once(asked.iloc[:0]), *again])) == rows(whole)
    assert (Reranker(name, "bm25")(whole))[["qid", "docno"]].equals(whole[["qid", "docno"]])


# -- what is kept ----------------------------------------------------------------------------------


def test_the_collection_is_prepared_once(prepared: list[str]) -> None:
    bm25, again = Retriever(CORPUS), Reranker(CORPUS, "tfidf")
    pipeline = bm25 >> again
    for _ in pipeline.transform_gen(topics(CORPUS)):
        pass
    pipeline(topics(CORPUS))
    bm25.compile()(topics(CORPUS))
    (bm25 % 5).compile()(topics(CORPUS))
    assert sorted(prepared) == ["bm25", "tfidf"]
    # Texts that are not the dataset's: once for all, in whatever frames they come.
    texts = topics(CORPUS).assign(query=[f"text {i}" for i in range(len(topics(CORPUS)))])
    bm25(texts)
    bm25(texts)
    bm25(texts.assign(query="another text"))
    assert sorted(prepared) == ["bm25", "bm25", "tfidf"]


def test_pairs_are_read_for_what_is_asked_alone(
    models: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cross-encoder of all candidates reads those of the queries that come, and none twice."""
    read: list[Any] = []
    original = applied.SentenceModel.__call__

    def noted(self: Any, items: Any) -> Any:
        read.extend(items)
        return original(self, items)

    monkeypatch.setattr(applied.SentenceModel, "__call__", noted)
    cross = Retriever(register(pools=POOLS), "cross-encoder", model=models["cross"], length=20)
    cross(frame().iloc[:1])
    assert sorted(read) == sorted((ASKED["q1"], DOCS[doc]) for doc in POOLS["q1"])
    cross(frame())
    # Two documents are alike, and one query is empty.
    assert len(read) == len(set(read)) == len({(q, DOCS[d]) for q in ASKED for d in POOLS[q]})


def test_nothing_is_read_before_a_query_comes(prepared: list[str]) -> None:
    pipeline = Retriever("relic/test") >> Reranker("relic/test", "bm25")  # no such release here
    found = pipeline(pd.DataFrame(columns=["qid", "query", "year"]))
    assert list(found.columns) == ["qid", "query", "year", "docno", "score", "rank"]
    assert not len(found)
    assert prepared == []


# -- frames ----------------------------------------------------------------------------------------


def test_columns_are_kept_and_queries_stay_in_order() -> None:
    asked = topics(POOLED).iloc[::-1].assign(year=range(len(topics(POOLED))), rank=-1, score=9.0)
    found = Retriever(POOLED, depth=3)(asked)
    assert list(found.columns) == ["qid", "query", "year", "docno", "score", "rank"]
    assert list(dict.fromkeys(found["qid"])) == list(asked["qid"])
    assert found.groupby("qid")["year"].nunique().eq(1).all()
    assert dict(zip(found["qid"], found["year"], strict=True)) == dict(
        zip(asked["qid"], asked["year"], strict=True)
    )
    assert found.index.equals(pd.RangeIndex(len(found)))
    again = Reranker(POOLED, "tfidf")(found.assign(mark=found["docno"] + "!"))
    assert list(again.columns) == ["qid", "query", "year", "docno", "mark", "score", "rank"]
    assert (again["mark"] == again["docno"] + "!").all()
    assert asked["rank"].eq(-1).all(), "the frame that was given is as it was"


def test_ids_may_be_numbers() -> None:
    name = register(
        {str(i): text for i, text in enumerate(DOCS.values())}, {"7": "dog", "8": "sea"}
    )
    asked = pd.DataFrame({"qid": [7, 8], "query": ["dog", "sea"]})
    found = Retriever(name, fill=True)(asked)
    assert found["qid"].tolist() == [7] * len(DOCS) + [8] * len(DOCS)
    numbered = found.assign(docno=found["docno"].astype(int), score=0)
    again = Reranker(name, "bm25")(numbered)
    assert again["docno"].astype(str).tolist() == found["docno"].tolist()
    assert again["score"].equals(found["score"])


def test_ranks_begin_and_ties_stand_as_in_our_runs() -> None:
    name = register({"a": "cat", "c": "cat", "b": "cat", "d": "dog"}, {"q": "cat"})
    assert Retriever(name)(frame({"q": "cat"}))["docno"].tolist() == ["c", "b", "a"]
    found = Retriever(name, fill=True)(frame({"q": "cat"}))
    assert found["docno"].tolist() == ["c", "b", "a", "d"]
    assert found["rank"].tolist() == [0, 1, 2, 3]
    assert (Retriever(name) % 2)(frame({"q": "cat"}))["docno"].tolist() == ["c", "b"]
    pool = Retriever(name, ties="pool", fill=True)(frame({"q": "cat"}))
    assert pool["docno"].tolist() == ["a", "c", "b", "d"]
    # A later stage that keeps the order keeps that in which it is given them.
    again = Reranker(name, "bm25", ties="pool")
    assert again(pool)["docno"].tolist() == ["a", "c", "b", "d"]
    assert again(pool.iloc[::-1])["docno"].tolist() == ["a", "c", "b", "d"]
    bare = pool.drop(columns=["score", "rank"]).iloc[::-1]
    assert again(bare)["docno"].tolist() == ["b", "c", "a", "d"]


# -- texts in the frame ----------------------------------------------------------------------------


def test_texts_are_ranked_without_a_dataset(models: dict[str, str]) -> None:
    given = Retriever(POOLED, depth=5)(topics(POOLED))
    texts = TextLoader(Dataset(POOLED))(given)
    for system, how in (("cross-encoder", {"model": models["cross"]}), ("dense", {
        "model": models["dense"], "pooling": "mean"
    })):  # fmt: skip
        there = Reranker(POOLED, system, **how)(given)
        here = Reranker(None, system, **how)(texts)
        assert rows(here) == rows(there)
        assert list(here.columns) == ["qid", "query", "docno", "text", "score", "rank"]
        assert (
            here.set_index(["qid", "docno"])["text"]
            .sort_index()
            .equals(texts.set_index(["qid", "docno"])["text"].sort_index())
        )


def test_a_document_may_have_other_texts_for_other_queries() -> None:
    """As PyTerrier's snippets have."""
    table = pd.DataFrame(
        [("1", "cat", "a", "cat"), ("1", "cat", "b", "cat"), ("1", "cat", "ab", "cat"),
         ("2", "cat", "a", "dog"), ("2", "cat", "b", "cat"), ("2", "cat", "ab", "dog")],
        columns=["qid", "query", "docno", "text"],
    )  # fmt: skip
    found = Reranker(None, "bm25")(table)
    assert found["docno"].tolist() == ["b", "ab", "a", "b", "ab", "a"]
    assert found["text"].tolist() == ["cat", "cat", "cat", "cat", "dog", "dog"]


# -- validation ------------------------------------------------------------------------------------


def test_columns_are_validated_as_pyterrier_does() -> None:
    bm25, again, bare = Retriever(POOLED), Reranker(POOLED, "bm25"), Reranker(None, "bm25")
    outputs = ["qid", "query", "docno", "score", "rank"]
    assert pt.inspect.transformer_inputs(bm25) == [["qid", "query"]]
    assert pt.inspect.transformer_inputs(again) == [["qid", "docno", "query"]]
    assert pt.inspect.transformer_inputs(bare) == [["qid", "docno", "query", "text"]]
    assert pt.inspect.transformer_outputs(bm25, ["qid", "query"]) == outputs
    pipeline = bm25 >> again >> Dataset(POOLED).text_loader() >> bare
    assert pt.inspect.transformer_outputs(pipeline, ["qid", "query"]) == [*outputs[:3], "text", *outputs[3:]]  # fmt: skip
    assert pt.inspect.transformer_inputs(pipeline) == [["qid", "query"]]
    assert pt.inspect.subtransformers(bm25) == {}
    for transformer, columns in (
        (bm25, ["qid", "title"]), (bm25, ["qid", "query", "docno"]), (again, ["qid", "query"]),
        (again, ["qid", "docno"]), (bare, ["qid", "query", "docno"]),
    ):  # fmt: skip
        with pytest.raises(pt.validate.InputValidationError):
            transformer(pd.DataFrame(columns=columns))
        with pytest.raises(pt.validate.InputValidationError):
            pt.inspect.transformer_outputs(transformer, columns)
    with pytest.raises(pt.validate.InputValidationError, match=r"missing_columns=\['query'\]"):
        bm25(pd.DataFrame({"qid": ["1"], "title": ["x"]}))
    with pytest.raises(ValueError, match="failed validation"):
        pt.Experiment(
            [bm25], pd.DataFrame({"qid": ["1"]}), pd.DataFrame({"qid": ["1"], "docno": ["2"], "label": [1]}),
            eval_metrics=["map"], validate="error",
        )  # fmt: skip


def result(*triples: tuple[str, str, str]) -> pd.DataFrame:
    return pd.DataFrame(triples, columns=["qid", "query", "docno"])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (result(("q1", "x", "d2"), ("q1", "x", "d2")), "document d2 stands twice for query q1"),
        (result(("q1", "x", "d2"), ("q1", "y", "d5")), "query q1 has two texts, 'x' and 'y'"),
        (result(("q1", ASKED["q1"], "d6")), "document d6 is no candidate of query q1 in test-"),
        (result(("q1", "other", "d6")), "document d6 is no candidate of query q1 in test-"),
        (result(("q9", "other", "none")), "document none is no candidate in test-"),
        (result(("q1", float("nan"), "d2")), "the column query holds nan, which is no text"),  # type: ignore[arg-type]
    ],
)
def test_damaged_frames_are_refused(table: pd.DataFrame, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Reranker(register(pools=POOLS), "bm25")(table)


def test_a_query_twice_or_without_text_is_refused() -> None:
    bm25 = Retriever(register())
    with pytest.raises(InputError, match="query q1 stands twice in the frame"):
        bm25(pd.DataFrame({"qid": ["q1", "q1"], "query": ["x", "x"]}))
    with pytest.raises(InputError, match="the column query holds None"):
        bm25(pd.DataFrame({"qid": ["q1"], "query": pd.Series([None], dtype=object)}))
    with pytest.raises(InputError, match="the column text holds 3"):
        Reranker(None, "bm25")(result(("q1", "x", "d")).assign(text=3))


# -- PyTerrier's other protocols -------------------------------------------------------------------


def test_equal_transformers_are_one() -> None:
    assert Retriever(POOLED, k1=1.2) == Retriever(POOLED, k1="1.2") != Retriever(POOLED)
    assert hash(Retriever(POOLED, k1=1.2)) == hash(Retriever(POOLED, k1="1.2"))
    assert Retriever(POOLED, depth=3) != Retriever(POOLED)
    assert Retriever(POOLED) != Reranker(POOLED, "bm25") != Reranker(None, "bm25")
    assert repr(Retriever(POOLED, k1=1.2, depth=3)) == (
        "Retriever('csfcube/sample', 'bm25', depth=3, k1=1.2)"
    )
    same = pt.inspect.transformer_apply_attributes(Retriever(POOLED, k1=1.2), depth=3)
    assert same == Retriever(POOLED, k1=1.2, depth=3)


def test_parameters_are_searched() -> None:
    bm25 = Retriever(POOLED)
    assert bm25.get_parameter("k1") == 0.9
    assert bm25.get_parameter("depth") == 1000
    qrels = Dataset(POOLED).get_qrels()
    found = pt.GridScan(bm25, {bm25: {"k1": [0.1, 4.0]}}, topics(POOLED), qrels, ["map"])
    values = [setting["map"] for _, setting in found] if isinstance(found, list) else found["map"].tolist()  # fmt: skip
    expected = [
        pt.Experiment([Retriever(POOLED, k1=k1)], topics(POOLED), qrels, ["map"])["map"].item()
        for k1 in (0.1, 4.0)
    ]
    assert values == expected
    assert len(set(values)) == 2
    before = bm25.settings
    with pytest.raises(InputError, match="k1=-1"):
        bm25.set_parameter("k1", -1)
    with pytest.raises(InputError, match="depth 0"):
        bm25.set_parameter("depth", 0)
    assert (bm25.settings, bm25.depth) == (before, 1000)
    with pytest.raises(InputError, match="k2"):
        bm25.set_parameter("k2", 1)
    with pytest.raises(ValueError, match="k2"):
        bm25.get_parameter("k2")


# -- experiments -----------------------------------------------------------------------------------

MEASURES = ["NRODCG@10", "nDCGp(p=20)", "RPlast(rel=1)", "Rank", "MedianRank", "StdRank", "nDCG@10", "RR"]  # fmt: skip


@pytest.mark.parametrize(
    ("objects", "plan", "batch_size"), [(True, "linear", None), (False, "tree", 2)]
)
def test_an_experiment_is_our_evaluation(
    objects: bool, plan: str, batch_size: int | None, tmp_path: Path
) -> None:
    """Measures as objects and by name; one system finds nothing for some of the queries."""
    task = load_task(CORPUS)
    asked, qrels = Dataset(CORPUS).get_topicsqrels()
    missing = set(asked["qid"].iloc[1::3])
    bm25 = Retriever(CORPUS)
    systems = [bm25, bm25 >> pt.apply.generic(lambda f: f[~f["qid"].isin(missing)]), bm25 % 3]
    whole = rank(task, BM25(), depth=1000, fill=False, progress=False)
    runs = [
        whole,
        Run.from_rows(row for row in whole if row.query_id not in missing),
        whole.head(3),
    ]
    judgments = Data.of(CORPUS).qrels
    measures = parse_measures(MEASURES)
    given = [ir_measures.parse_measure(name) for name in MEASURES] if objects else MEASURES
    shown = pt.Experiment(
        systems, asked, qrels, eval_metrics=given, plan=plan, batch_size=batch_size,
        names=["all", "some", "cut"],
    )  # fmt: skip
    for run, row in zip(runs, shown.to_dict("records"), strict=True):
        figures = evaluate(run, judgments, measures).figures()
        for name, measure in measures.items():
            assert row[str(measure) if objects else name] == pytest.approx(figures[name], abs=1e-12)
    assert len({row["NRODCG@10"] for row in shown.to_dict("records")}) == 3


# -- datasets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [POOLED, "quoter/sample/zh/val"])
def test_datasets(name: str) -> None:
    dataset, source = Provider().get_dataset(name), ir_datasets.load(name)
    queries, docs = list(source.queries_iter()), list(source.docs_iter())
    asked = dataset.get_topics()
    assert asked.columns.tolist() == ["qid", "query"]
    assert asked.to_numpy().tolist() == [[q.query_id, q.default_text()] for q in queries]
    field = queries[0]._fields[-2]
    if name == POOLED:
        field = "facet_sentences"
    joined = [" ".join(view(query, field)) for query in queries] if field != "book" else None
    if joined:
        assert dataset.get_topics(field)["query"].tolist() == joined
    judged = dataset.get_qrels()
    assert judged.to_numpy().tolist() == [
        [row.query_id, row.doc_id, row.relevance] for row in source.qrels_iter()
    ]
    corpus = dataset.get_corpus_iter(verbose=False)
    assert len(corpus) == len(docs)
    given = list(corpus)
    assert [doc["docno"] for doc in given] == [doc.doc_id for doc in docs]
    own = "text" in docs[0]._fields
    assert [doc["text"] for doc in given] == [
        doc.text if own else doc.default_text() for doc in docs
    ]
    part = dataset.get_corpus_iter(verbose=False, start=2, count=3)
    assert (len(part), [*part]) == (3, given[2:5])
    loaded = pt.text.get_text(dataset)(pd.DataFrame({"docno": [docs[2].doc_id, docs[0].doc_id]}))
    assert loaded["text"].tolist() == [given[2]["text"], given[0]["text"]]
    assert dataset.info_url() is None or dataset.info_url().startswith("http")
    if source.has_scoreddocs():
        pools = dataset.get_results()
        rows = [(row.query_id, row.doc_id) for row in source.scoreddocs_iter()]
        assert list(zip(pools["qid"], pools["docno"], strict=True)) == rows
        assert pools.groupby("qid")["rank"].min().eq(0).all()
        assert dict(zip(pools["qid"], pools["query"], strict=True)) == dict(
            asked.to_numpy().tolist()
        )
        ranked = Reranker(name, "bm25")(pools)
        assert ranked[["qid", "docno", "score"]].equals(
            Retriever(name, depth=None)(pools[["qid", "query"]].drop_duplicates())[
                ["qid", "docno", "score"]
            ]
        )
    else:
        with pytest.raises(InputError, match="all rank its whole corpus"):
            dataset.get_results()


def test_what_a_dataset_lacks_is_said() -> None:
    hidden = Dataset("relic/sample/test")
    with pytest.raises(InputError, match="relic/sample/test has no qrels"):
        hidden.get_qrels()
    with pytest.raises(InputError, match="no text field 'tilte'"):
        Dataset(POOLED).get_topics("tilte")
    with pytest.raises(InputError, match="document none is not in"):
        TextLoader(Dataset(POOLED))(pd.DataFrame({"docno": ["none"]}))
    with pytest.raises(KeyError, match="did you mean csfcube/sample"):
        Provider().get_dataset("csfcube/smaple")
    assert "relic/val" in Provider().list_dataset_names()
    described = [
        hidden._describe_component(part) for part in ("topics", "qrels", "corpus", "index")
    ]
    assert described == [True, None, True, None]


def test_without_pyterrier_the_extra_is_named() -> None:
    code = """
import sys
sys.modules["pyterrier"] = None
try:
    import irtoolkit.pyterrier
except Exception as error:
    print(f"{type(error).__name__}: {error}")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stdout == (
        "InputError: pyterrier is not installed (pip install '.[pyterrier]' in the folder of irtoolkit)\n"
    )


ENTRY_POINTS = """[pyterrier.dataset_provider]
irtoolkit = irtoolkit.integrations.pyterrier:Provider

[pyterrier.modules]
irtoolkit = irtoolkit.pyterrier
"""


def test_entry_points(tmp_path: Path) -> None:
    """Where irtoolkit is installed, `import pyterrier` alone knows our datasets and measures."""
    declared = {entry.name for entry in metadata.entry_points(group="pyterrier.modules")}
    if "irtoolkit" not in declared:  # a source tree: what an installation would write
        folder = tmp_path / "irtoolkit_entries-0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: irtoolkit-entries\nVersion: 0\n"
        )
        (folder / "entry_points.txt").write_text(ENTRY_POINTS)
    code = """
import json, sys
import pyterrier as pt
heavy = [m for m in ("torch", "sklearn", "numba", "sentence_transformers", "jnius") if m in sys.modules]
dataset = pt.get_dataset("irtoolkit:relic/sample/val")
topics = dataset.get_topics()
same = pt.get_dataset("irds:relic/sample/val").get_qrels()
found = pt.irtoolkit.Retriever("relic/sample/val", depth=2)(topics)
shown = pt.Experiment([found], topics, same, ["Rank", pt.measures.NRODCG@10])
try:
    pt.get_dataset("irtoolkit:relic/none")
except KeyError as error:
    refused = str(error)
print(json.dumps([heavy, len(topics), len(same), len(found), list(shown.columns), refused]))
"""
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    heavy, count, judged, found, columns, refused = json.loads(done.stdout.splitlines()[-1])
    assert heavy == []
    assert judged >= count > 1
    assert found == 2 * count
    assert sorted(columns) == ["NRODCG@10", "Rank", "name"]
    assert "relic/none" in refused


def test_experiments_save_runs(tmp_path: Path) -> None:
    """Names of transformers are those of files, though ids of datasets have slashes."""
    data = Dataset(POOLED)
    first = Retriever(POOLED, "tfidf", depth=5)
    systems = [first, Retriever(POOLED, doc="title+abstract", k1=1.2), Retriever(POOLED, "ql")]
    topics, qrels = data.get_topics(), data.get_qrels()
    for _ in range(2):
        found = pt.Experiment(
            systems, topics, qrels, ["map"], save_dir=str(tmp_path), save_mode="reuse"
        )
        assert len(found) == len(systems)
    assert len(list(tmp_path.glob("*.res.gz"))) == len(systems)
    odd = Retriever(POOLED, "tfidf", doc="masked:<mask>|?")
    assert all(pt.io.ok_filename(str(system)) for system in (*systems, odd, TextLoader(POOLED)))
    assert eval(repr(first)) == first


def test_a_text_loader_of_an_id() -> None:
    loader = TextLoader(POOLED)
    ranked = Retriever(POOLED, depth=2).transform(Dataset(POOLED).get_topics())
    assert loader.transform(ranked).equals(TextLoader(Dataset(POOLED)).transform(ranked))
    assert loader == TextLoader(POOLED) == TextLoader(Dataset(POOLED), ["text"])
    assert hash(loader) == hash(TextLoader(POOLED, "*"))
    assert loader not in (TextLoader(POOLED, "title"), TextLoader(BOOKS), Retriever(POOLED))
    with pytest.raises(InputError, match="no dataset 'csfcub/sample'"):
        TextLoader("csfcub/sample")
    for wrong in (None, 3, pt.Transformer.identity()):
        with pytest.raises(InputError, match="is no dataset of irtoolkit for PyTerrier"):
            TextLoader(wrong)
