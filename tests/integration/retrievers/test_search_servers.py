"""Elasticsearch's and OpenSearch's own clients over HTTP, against `tests.search_server`.

No server of either installs from PyPI, so what these tests show is that requests and answers are
those of the documented protocol, not what a real server makes of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.ranking.produce import produce
from irtoolkit.ranking.systems import find_system, with_first
from tests.search_server import SHARDS, SearchServer, serving
from tests.tiny import save

DOCS = {
    "d1": "a red coat", "d2": "a blue hat", "d3": "the red red hat", "d4": "", "d5": "a blue hat",
    "d6": "a green coat of wool",
}  # fmt: skip
QUERIES = {"q1": "the RED hat and coat", "q2": "blue", "q3": "zebra"}
TEXT = {"body": {"type": "text"}, "docno": {"type": "keyword"}, "year": {"type": "date"}}
# A server of each; of what does not differ between them one is enough.
BOTH = pytest.mark.parametrize("server", ["elasticsearch", "opensearch"], indirect=True)


def dataset(**more: Any) -> Any:
    return ir.load(DOCS, queries=QUERIES, qrels={"q1": {"d1": 1}}, **more)


def foreign(server: SearchServer, docs: dict[str, str] | None = None, **settings: Any) -> None:
    """An index that others made, with ids of its own."""
    texts = DOCS if docs is None else docs
    kept = {f"x{d}": {"body": text, "docno": d} for d, text in texts.items() if text}
    server.add("papers", kept, TEXT, **settings)


FOREIGN = {"index": "papers", "field": "body", "id_field": "docno", "retries": 1}


def rows(run: Any, query: str = "q1") -> list[tuple[str, float]]:
    if query not in run.query_ids:
        return []
    return [(row.doc_id, row.score) for row in run.ranking(query)]


def ids(run: Any, query: str = "q1") -> list[str]:
    return [doc_id for doc_id, _ in rows(run, query)]


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[SearchServer]:
    with serving(getattr(request, "param", "elasticsearch")) as made:
        yield made


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    for name in ("ELASTICSEARCH", "OPENSEARCH"):
        for key in ("USERNAME", "PASSWORD", "API_KEY"):
            monkeypatch.delenv(f"{name}_{key}", raising=False)


def retrieve(server: SearchServer, data: Any = None, **settings: Any) -> Any:
    return ir.retrieve(data or dataset(), server.product, url=server.url, **settings)


def bulks(server: SearchServer) -> int:
    return sum(path == "/_bulk" for _, path, _ in server.asked)


# -- rankings ------------------------------------------------------------------------------------


@BOTH
def test_the_dataset_is_indexed_once_and_ranked_as_bm25_does(server: SearchServer) -> None:
    run = retrieve(server)
    # The server's default of BM25 is Lucene's form; its analyzer keeps one-letter words.
    ours = ir.retrieve(
        dataset(), "bm25", form="lucene", k1=1.2, b=0.75, tokenizer="standard", stop="none",
        stem="none",
    )  # fmt: skip
    for query in ("q1", "q2"):
        theirs = [row for row in rows(ours, query) if row[1] > 1e-30]
        assert ids(run, query) == [doc_id for doc_id, _ in theirs]
        assert np.allclose([s for _, s in rows(run, query)], [s for _, s in theirs], atol=1e-5)
    assert ids(run, "q2") == ["d5", "d2"]  # tied, by id descending
    assert ids(run, "q3") == []
    assert bulks(server) == 1
    assert rows(retrieve(server)) == rows(run)
    assert bulks(server) == 1


def test_an_index_of_others_is_searched_as_it_is(server: SearchServer) -> None:
    foreign(server)
    run = retrieve(server, **FOREIGN)
    assert ids(run) == ["d3", "d1", "d6", "d5", "d2"]
    assert bulks(server) == 0
    assert not any(method == "PUT" for method, *_ in server.asked)


def test_pools_are_ranked_whole_among_their_candidates(server: SearchServer) -> None:
    foreign(server)
    pools = {"q1": ["d6", "d1", "d4"], "q2": ["d1", "d3"], "q3": ["d2"]}
    run = retrieve(server, dataset(candidates=pools), **FOREIGN)
    assert ids(run) == ["d1", "d6", "d4"]  # d4 has no text, and is not in the index
    assert ids(run, "q2") == ["d3", "d1"]  # neither has the term
    whole = dict(rows(retrieve(server, **FOREIGN)))
    assert dict(rows(run))["d1"] == whole["d1"]  # a filter moves no score


@BOTH
def test_ties_at_the_depth_are_settled_by_id_over_pages(server: SearchServer) -> None:
    docs = {f"t{i:02}": "same words" for i in range(25)} | {"best": "same same"}
    foreign(server, docs, max_result_window=4)
    data = ir.load(docs, queries={"q": "same"})
    run = retrieve(server, data, hits=3, **FOREIGN)
    assert ids(run, "q") == ["best", "t24", "t23"]
    assert not server.pits  # closed
    deep = retrieve(server, data, hits=20, **FOREIGN)
    assert ids(deep, "q") == ["best", *(f"t{i:02}" for i in range(24, 5, -1))]


def test_statistics_are_of_the_whole_index_and_one_copy_answers(server: SearchServer) -> None:
    foreign(server)
    retrieve(server, **FOREIGN)
    [lines] = [body for _, path, body in server.asked[-1:] if path == "/_msearch"]
    assert lines[0]["search_type"] == "dfs_query_then_fetch"
    assert lines[0]["preference"]


def test_many_queries_go_in_few_requests(server: SearchServer) -> None:
    foreign(server)
    many = ir.load(DOCS, queries={f"q{i}": "red coat" for i in range(70)})
    run = retrieve(server, many, **FOREIGN)
    asked = [body for _, path, body in server.asked if path == "/_msearch"]
    assert [len(body) // 2 for body in asked[-3:]] == [32, 32, 6]
    assert len({tuple(ids(run, f"q{i}")) for i in range(70)}) == 1


def test_it_is_a_first_stage_and_can_be_fused(server: SearchServer) -> None:
    first = find_system(server.product, {"url": server.url})
    run = ir.retrieve(dataset(), with_first(find_system("bm25", {}), first, 2))
    assert set(ids(run)) == {"d1", "d3"}
    assert ids(ir.fuse(retrieve(server), ir.retrieve(dataset(), "bm25")))[0] in ("d1", "d3")


@pytest.mark.nightly
def test_workers_of_an_engine_share_one_index(server: SearchServer) -> None:
    pools = {"q1": ["d6", "d1", "d4"], "q2": ["d1", "d3"], "q3": ["d2"]}
    with ir.engine("processes", workers=2):
        run = retrieve(server, dataset(candidates=pools))
    assert bulks(server) == 1
    here = retrieve(server, dataset(candidates=pools))
    assert [rows(run, q) for q in QUERIES] == [rows(here, q) for q in QUERIES]


# -- vectors -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = save(tmp_path_factory.mktemp("model"), texts=" ".join(DOCS.values()).split())
    return {"model": str(folder), "pooling": "mean"}


@BOTH
def test_vectors_are_searched_on_the_server_s_scale(
    server: SearchServer, model: dict[str, Any]
) -> None:
    dense = ir.retrieve(dataset(), "dense", similarity="cosine", **model)
    for exact in (False, True):
        run = retrieve(server, similarity="cosine", exact=exact, **model)
        for query in QUERIES:
            cosines = dict(rows(dense, query))
            for doc_id, score in rows(run, query):
                assert score == pytest.approx((1 + cosines[doc_id]) / 2, abs=1e-6)
            assert len(ids(run, query)) == len(DOCS)
    pooled = dataset(candidates={"q1": ["d6", "d1"], "q2": ["d1", "d3"], "q3": ["d2"]})
    again = retrieve(server, pooled, similarity="cosine", **model)
    assert dict(rows(again)) == pytest.approx(
        {d: s for d, s in rows(run) if d in ("d1", "d6")}, abs=1e-6
    )
    assert bulks(server) == 1


@BOTH
def test_vectors_of_another_width_are_refused(server: SearchServer, model: dict[str, Any]) -> None:
    kind = {"elasticsearch": ("dense_vector", "dims"), "opensearch": ("knn_vector", "dimension")}
    name, width = kind[server.product]
    docs = {d: {"vector": [1.0, 0.0]} for d in DOCS}
    server.add("narrow", docs, {"vector": {"type": name, width: 2}})
    with pytest.raises(InputError, match=r"have 32 numbers, those in vector of .* have 2"):
        retrieve(server, index="narrow", **model)
    foreign(server)
    with pytest.raises(InputError, match="has no field"):
        retrieve(server, **FOREIGN, **model)


def test_vectors_of_another_model_are_another_index(
    server: SearchServer, model: dict[str, Any], tmp_path: Path
) -> None:
    texts = " ".join(DOCS.values()).split()
    other = {"model": str(save(tmp_path / "other", texts=texts, seed=1)), "pooling": "mean"}
    retrieve(server, **model)
    run = retrieve(server, similarity="cosine", exact=True, **other)
    assert len(server.indexes) == 2
    assert ids(run) == ids(ir.retrieve(dataset(), "dense", similarity="cosine", **other))
    retrieve(server, index="mine", build=True, **model)
    with pytest.raises(InputError, match="was made with model="):
        retrieve(server, index="mine", **other)
    retrieve(server, index="mine", precision="fp32", **model)


# -- building ------------------------------------------------------------------------------------


@BOTH
def test_a_build_that_was_interrupted_continues(server: SearchServer) -> None:
    def fails(method: str, path: str, body: Any) -> tuple[int, Any] | None:
        if path != "/_bulk":
            return None
        # A part of the request is done before the server goes away.
        for head, source in list(zip(body[::2], body[1::2], strict=True))[:2]:
            said = head["create"]
            server.indexes[said["_index"]].docs[said["_id"]] = source
        return 500, {"error": {"type": "exception", "reason": "disk"}, "status": 500}

    server.faults.append(fails)
    with pytest.raises(InputError, match="says 500: disk"):
        retrieve(server)
    server.faults.clear()
    run = retrieve(server)
    [index] = server.indexes.values()
    assert sorted(index.docs) == sorted(DOCS)
    assert index.mappings["_meta"]["irtoolkit"]["complete"] is True
    assert ids(run)[0] == "d3"


def test_an_index_of_another_dataset_is_refused(server: SearchServer) -> None:
    retrieve(server, index="mine", build=True, k1=1.5)
    assert server.indexes["mine"].settings["index"]["similarity"]["default"]["k1"] == 1.5
    retrieve(server, index="mine")  # as it is
    with pytest.raises(InputError, match=r"k1=1\.5, not 2"):
        retrieve(server, index="mine", k1=2)
    other = ir.load({"e1": "something else"}, queries=QUERIES)
    with pytest.raises(InputError, match="was made of other documents: 6, not the 1 of this"):
        retrieve(server, other, index="mine", build=True)
    assert sorted(server.indexes["mine"].docs) == sorted(DOCS)


def test_rejected_documents_are_sent_again(server: SearchServer) -> None:
    left = [1]

    def busy(method: str, path: str, body: Any) -> tuple[int, Any] | None:
        if path == "/_bulk" and left.pop() if left else False:
            items = []
            for head in body[::2]:
                error = {"type": "es_rejected_execution_exception", "reason": "queue is full"}
                items.append({"create": {**head["create"], "status": 429, "error": error}})
            return 200, {"errors": True, "items": items}
        return None

    server.faults.append(busy)
    retrieve(server, retries=2)
    assert bulks(server) == 2


# -- the record, and credentials -----------------------------------------------------------------


@BOTH
def test_the_record_names_server_and_index_and_no_credentials(
    server: SearchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{server.product.upper()}_USERNAME", "somebody")
    monkeypatch.setenv(f"{server.product.upper()}_PASSWORD", "hush-hush")
    foreign(server)
    system = find_system(server.product, {"url": server.url, **FOREIGN})
    produce(dataset(), system, tmp_path / "a.run")
    text = (tmp_path / "a.run.ir-metadata.yml").read_text("utf-8")
    made = yaml.safe_load(text)["irtoolkit"]
    assert made["server"] == {
        "server": {"elasticsearch": "Elasticsearch"}.get(server.product, "OpenSearch"),
        "url": server.url, "version": server.version, "index": "papers", "documents": 5,
        "uuid": "uuid-papers",
    }  # fmt: skip
    assert "hush" not in text
    assert "somebody" not in text
    sent = [{key.lower(): value for key, value in one.items()} for one in server.headers]
    assert all(one["authorization"].startswith("Basic ") for one in sent)
    # A pool of an unused model says nothing of it.
    assert "batch_tokens" not in made["settings"]


# -- refusals ------------------------------------------------------------------------------------


def refusal(server: SearchServer, **settings: Any) -> str:
    with pytest.raises(InputError) as caught:
        retrieve(server, **{**FOREIGN, **settings})
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_names_that_are_not_there_are_refused_with_near_ones(server: SearchServer) -> None:
    foreign(server)
    assert "no index paper on" in refusal(server, index="paper")
    assert "did you mean papers?" in refusal(server, index="paper")
    assert "did you mean body?" in refusal(server, field="bdy")
    assert "has no text in year" in refusal(server, field="year")
    assert "has no keyword in body" in refusal(server, id_field="body")
    assert "leave k1 out" in refusal(server, k1=1)
    server.aliases["all"] = ["papers", "more"]
    server.add("more", {}, TEXT)
    assert "all is the name of 2 indexes" in refusal(server, index="all")


def test_an_index_with_several_rows_of_a_document_is_refused(server: SearchServer) -> None:
    """As one of passages, which have the id of their document."""
    rows = {f"{d}-{n}": {"body": text, "docno": d} for d, text in DOCS.items() for n in "123"}
    server.add("papers", {row: one for row, one in rows.items() if one["body"]}, TEXT)
    said = refusal(server)
    assert re.search(r"id d\d is there 3 times in the index papers on", said), said


def test_other_documents_are_refused(server: SearchServer) -> None:
    foreign(server)
    assert "document d1 of texts is not in" in refusal(server, id_field="_id")
    foreign(server, {**DOCS, "d7": "one red more"})
    assert "document d7 of the index papers" in refusal(server)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"timed_out": True}, "has answered in part"),
        (
            {"_shards": {**SHARDS, "failed": 1, "failures": [{"reason": {"reason": "lost"}}]}},
            "1 of 1 shards of .* gave no answer: lost",
        ),
        ({"error": {"type": "r", "reason": "queue is full"}, "status": 429}, "429: queue is full"),
    ],
)
def test_partial_answers_are_refused(
    server: SearchServer, change: dict[str, Any], said: str
) -> None:
    foreign(server)
    asked = 0

    def partial(method: str, path: str, body: Any) -> tuple[int, Any] | None:
        nonlocal asked
        if path != "/_msearch":
            return None
        asked += 1
        status, answer = server._search("papers", body[1])
        return 200, {"responses": [{**answer, "status": status, **change}] * (len(body) // 2)}

    server.faults.append(partial)
    assert re.search(said, refusal(server))
    assert asked == (2 if change.get("status") == 429 else 1)


def test_a_search_that_was_rejected_is_repeated(server: SearchServer) -> None:
    foreign(server)
    whole = rows(retrieve(server, **FOREIGN))
    left = [1]

    def busy(method: str, path: str, body: Any) -> tuple[int, Any] | None:
        if path == "/_msearch" and len(body) > 2 and left:
            left.pop()
            good = server._searches(body)
            rejected = {"error": {"type": "rejected", "reason": "full"}, "status": 429}
            return 200, {"responses": [good[0], rejected, *good[2:]]}
        return None

    server.faults.append(busy)
    assert rows(retrieve(server, **FOREIGN)) == whole
    assert not left


@BOTH
def test_missing_permission_names_the_variables(server: SearchServer) -> None:
    error = {"type": "security_exception", "reason": "action is unauthorized"}
    server.faults.append(lambda *_: (403, {"error": error, "status": 403}))
    message = refusal(server)
    assert "says 403: action is unauthorized" in message
    assert f"{server.product.upper()}_PASSWORD" in message


def test_a_version_that_may_not_be_asked_for_is_left_open(
    server: SearchServer, tmp_path: Path
) -> None:
    foreign(server)
    error = {"error": {"type": "security_exception", "reason": "no"}, "status": 403}
    server.faults.append(lambda method, path, _: (403, error) if path == "/" else None)
    produce(dataset(), find_system(server.product, {"url": server.url, **FOREIGN}), tmp_path / "r")
    made = yaml.safe_load((tmp_path / "r.ir-metadata.yml").read_text())["irtoolkit"]
    assert made["server"]["version"] is None


def test_a_server_of_another_product_or_version_is_refused() -> None:
    with serving("opensearch") as server, pytest.raises(InputError, match="is not Elasticsearch"):
        ir.retrieve(dataset(), "elasticsearch", url=server.url)
    with serving("elasticsearch") as server, pytest.raises(InputError, match="is not OpenSearch"):
        ir.retrieve(dataset(), "opensearch", url=server.url)
    with (
        serving("elasticsearch", "7.17.0") as server,
        pytest.raises(InputError, match="client of the server's own major version"),
    ):
        ir.retrieve(dataset(), "elasticsearch", url=server.url)


def test_no_server_is_one_line() -> None:
    with serving("elasticsearch") as server:
        gone = server.url
    with pytest.raises(InputError, match=f"answers on {gone}: Connection refused"):
        ir.retrieve(dataset(), "elasticsearch", url=gone, retries=0)
    for url, said in (
        ("http://me:secret@localhost:9200", "has a user name in it"),
        ("localhost:9200", "is not an address"), ("http://a:b", "is not an address"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said) as caught:
            ir.retrieve(dataset(), "elasticsearch", url=url)
        assert "secret" not in str(caught.value)
