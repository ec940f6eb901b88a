"""Search in Qdrant, run in this process by its own client, against exact comparison.

Qdrant's local mode is real but compares every vector; answers of a server that only a server can
give (an overload, a missing key) come from a small HTTP server written after its documentation.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from qdrant_client import models

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.ranking.produce import produce
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers import _qdrant
from irtoolkit.retrievers import qdrant as module
from tests.tiny import save

DOCS = {
    "d1": "a red coat", "d2": "a blue hat", "d3": "the red red hat", "d4": "", "d5": "a blue hat",
    "d6": "a green coat of wool",
}  # fmt: skip
QUERIES = {"q1": "the red hat and coat", "q2": "blue", "q3": "wool"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = save(tmp_path_factory.mktemp("model"), texts=" ".join(DOCS.values()).split())
    return {"model": str(folder), "pooling": "mean"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("QDRANT_API_KEY", raising=False)
    yield str(tmp_path / "qdrant")
    module._close_all()


def dataset(**more: Any) -> Any:
    return ir.load(DOCS, queries=QUERIES, qrels={"q1": {"d1": 1}}, **more)


def rows(run: Any, query: str) -> list[tuple[str, float]]:
    return [(row.doc_id, row.score) for row in run.ranking(query)]


def ids(run: Any, query: str = "q1") -> list[str]:
    return [doc_id for doc_id, _ in rows(run, query)]


def client(folder: str) -> Any:
    return module._client(folder, True, 60.0)


def foreign(folder: str, points: list[Any], width: int = 2, **vectors: Any) -> None:
    """A collection that others made."""
    cosine = models.Distance.COSINE
    config: Any = models.VectorParams(size=width, distance=cosine)
    if vectors:
        config = {name: models.VectorParams(size=n, distance=cosine) for name, n in vectors.items()}
    client(folder).create_collection("theirs", config)
    client(folder).upsert("theirs", points)


@pytest.mark.parametrize(
    ("similarity", "pooled"), [("cosine", True), ("dot", False), ("l2", False)]
)
def test_rankings_are_those_of_dense(
    folder: str, model: dict[str, Any], similarity: str, pooled: bool
) -> None:
    pools = {"q1": ["d6", "d1", "d5"], "q2": ["d1", "d3"], "q3": ["d2", "d5"]} if pooled else None
    data = dataset(candidates=pools)
    dense = ir.retrieve(data, "dense", similarity=similarity, **model)
    run = ir.retrieve(data, "qdrant", path=folder, similarity=similarity, **model)
    for query in QUERIES:
        assert ids(run, query) == ids(dense, query)
        # In l2 a score is a difference of neighbours in single precision.
        assert dict(rows(run, query)) == pytest.approx(dict(rows(dense, query)), abs=1e-4)


def test_ties_at_the_depth_are_settled_by_id(folder: str, model: dict[str, Any]) -> None:
    docs = {f"t{i:02}": "a blue hat" for i in range(25)} | {"d1": "a red coat"}
    data = ir.load(docs, queries={"q": "blue hat"})
    run = ir.retrieve(data, "qdrant", path=folder, hits=3, **model)
    assert ids(run, "q") == ["t24", "t23", "t22"]


def test_a_collection_is_made_once_and_found_again(
    folder: str, model: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ir.retrieve(dataset(), "qdrant", path=folder, **model)
    monkeypatch.setattr(_qdrant.QdrantCollection, "add", None)  # it would fail
    again = ir.retrieve(dataset(), "qdrant", path=folder, **model)
    assert [rows(run, q) for q in QUERIES] == [rows(again, q) for q in QUERIES]


def test_a_build_that_was_interrupted_continues(
    folder: str, model: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.Qdrant, "sent", 2)
    whole, sent = _qdrant.QdrantCollection.add, []

    def some(self: Any, documents: Any) -> None:
        sent.append([doc_id for doc_id, _ in documents])
        if len(sent) == 3:
            raise KeyboardInterrupt
        whole(self, documents)

    monkeypatch.setattr(_qdrant.QdrantCollection, "add", some)
    with pytest.raises(KeyboardInterrupt):
        ir.retrieve(dataset(), "qdrant", path=folder, **model)
    run = ir.retrieve(dataset(), "qdrant", path=folder, **model)
    # What came last is sent again, what came before is not.
    assert sent == [["d1", "d2"], ["d3", "d4"], ["d5", "d6"], ["d3", "d4"], ["d5", "d6"]]
    assert ids(run) == ids(ir.retrieve(dataset(), "dense", **model))


@pytest.mark.parametrize("kind", ["text", "number", "own"])
def test_a_collection_of_others_is_searched_by_its_ids(
    folder: str, model: dict[str, Any], kind: str
) -> None:
    def of(number: int) -> str:
        return str(uuid.UUID(int=number)) if kind == "own" and number % 2 else str(number)

    docs = {of(n): text for n, text in enumerate(DOCS.values(), 1)}
    data = ir.load(docs, queries=QUERIES)
    pools = {query: list(docs)[i : i + 3] for i, query in enumerate(QUERIES)}
    from irtoolkit.retrievers.dense import Dense

    vectors = Dense.with_settings(model).encoder("document").encode(
        list(docs.values()), what="texts", count=len(docs)
    ).vectors()  # fmt: skip
    points = []
    for n, (doc_id, vector) in enumerate(zip(docs, vectors.tolist(), strict=True), 1):
        payload = {
            "text": {"docno": doc_id},
            "number": {"docno": int(doc_id) if kind == "number" else 0},
            "own": {},
        }
        own = (int(doc_id) if doc_id.isdecimal() else doc_id) if kind == "own" else n + 100
        points.append(models.PointStruct(id=own, vector={"text": vector}, payload=payload[kind]))
    foreign(folder, points, text=vectors.shape[1])
    settings = {
        "path": folder, "index": "theirs", "vector": "text", **model,
        "id_field": "_id" if kind == "own" else "docno",
    }  # fmt: skip
    for one in (data, ir.load(docs, queries=QUERIES, candidates=pools)):
        run, dense = ir.retrieve(one, "qdrant", **settings), ir.retrieve(one, "dense", **model)
        assert [ids(run, q) for q in QUERIES] == [ids(dense, q) for q in QUERIES]
    more = ir.load({**docs, "99": "another"}, queries=QUERIES)
    with pytest.raises(InputError, match="document 99 of texts is not in"):
        ir.retrieve(more, "qdrant", **settings)
    fewer = ir.load({"2": docs["2"]}, queries=QUERIES)
    with pytest.raises(InputError, match=r"of the collection theirs .* is not in the dataset"):
        ir.retrieve(fewer, "qdrant", **settings)


def test_a_collection_with_several_points_of_a_document_is_refused(
    folder: str, model: dict[str, Any]
) -> None:
    """As those of passages, which have the id of their document."""
    points = [
        models.PointStruct(id=n, vector=[1.0, n + 1.0], payload={"docno": list(DOCS)[n // 3]})
        for n in range(3 * len(DOCS))
    ]
    foreign(folder, points)
    with pytest.raises(InputError, match=r"id d\d is there 3 times in the collection theirs"):
        ir.retrieve(dataset(), "qdrant", path=folder, index="theirs", id_field="docno", **model)


def test_the_record_names_the_collection(
    folder: str, model: dict[str, Any], tmp_path: Path
) -> None:
    system = find_system("qdrant", {"path": folder, "index": "mine", "build": True, **model})
    _, reused = produce(dataset(), system, tmp_path / "a.run", reuse=True)
    assert not reused
    made = yaml.safe_load((tmp_path / "a.run.ir-metadata.yml").read_text())["irtoolkit"]["server"]
    assert (made["server"], made["url"], made["index"]) == ("Qdrant", folder, "mine")
    assert made["documents"] == len(DOCS)
    assert made["hash"]
    assert produce(dataset(), system, tmp_path / "a.run", reuse=True)[1]


def test_what_does_not_fit_is_refused(folder: str, model: dict[str, Any]) -> None:
    point = models.PointStruct(id=1, vector=[1.0, 0.0], payload={"docno": "d1"})
    foreign(folder, [point])
    one = ir.load({"d1": "a red coat"}, queries=QUERIES)

    def refusal(**settings: Any) -> str:
        with pytest.raises(InputError) as caught:
            ir.retrieve(one, "qdrant", **{"path": folder, "index": "theirs", **model, **settings})
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "did you mean theirs?" in refusal(index="their")
    assert "of docno; or id_field=_id" in refusal()
    assert "have 32 numbers, those of" in refusal(id_field="docno")
    assert "url and path" in refusal(url="http://localhost:6333")
    ir.retrieve(dataset(), "qdrant", path=folder, index="mine", build=True, **model)
    assert "made of other documents: 6, not the 1" in refusal(index="mine")
    with pytest.raises(InputError, match="made with similarity="):
        ir.retrieve(dataset(), "qdrant", path=folder, index="mine", similarity="l2", **model)


def test_a_folder_that_is_in_use_is_refused(folder: str, model: dict[str, Any]) -> None:
    from qdrant_client import QdrantClient

    other = QdrantClient(path=folder)
    with pytest.raises(InputError, match="another process uses the folder"):
        ir.retrieve(dataset(), "qdrant", path=folder, **model)
    other.close()


@pytest.mark.nightly
def test_a_folder_is_searched_by_one_process_under_any_engine(
    folder: str, model: dict[str, Any]
) -> None:
    pools = {"q1": ["d6", "d1", "d5"], "q2": ["d1", "d3"], "q3": ["d2", "d5"]}
    data = dataset(candidates=pools)
    run = ir.retrieve(data, "qdrant", path=folder, **model)
    with ir.engine("processes", workers=2):
        again = ir.retrieve(data, "qdrant", path=folder, **model)
    assert [rows(run, q) for q in QUERIES] == [rows(again, q) for q in QUERIES]


# -- a server ------------------------------------------------------------------------------------


@contextmanager
def answering(*answers: tuple[int, Any]) -> Iterator[tuple[str, list[str]]]:
    """A server that gives these answers, one after another, and the last one from then on."""
    keys: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            status, body = answers[min(len(keys), len(answers) - 1)]
            keys.append(self.headers.get("api-key", ""))
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = _any  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", keys
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
def test_a_server_that_refuses_is_one_line(
    folder: str, model: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QDRANT_API_KEY", "hush-hush")
    asked = {"index": "theirs", "retries": 1, **model}
    denied = (403, {"status": {"error": "forbidden"}})
    with answering(denied) as (url, keys):
        with pytest.raises(InputError, match=r"says 403: .*forbidden.*QDRANT_API_KEY") as caught:
            ir.retrieve(dataset(), "qdrant", url=url, **asked)
        assert keys == ["hush-hush"]
        assert "hush" not in str(caught.value)
    busy = (503, {"status": {"error": "starting"}})
    with answering(busy) as (url, keys):
        with pytest.raises(InputError, match=r"says 503: .*starting"):
            ir.retrieve(dataset(), "qdrant", url=url, **asked)
        assert len(keys) == 2
    with pytest.raises(InputError, match=f"no Qdrant answers on {url}: Connection refused"):
        ir.retrieve(dataset(), "qdrant", url=url, **asked)
    missing = (200, {"result": {"exists": False}, "status": "ok", "time": 0})
    names = (200, {"result": {"collections": [{"name": "theirs-2"}]}, "status": "ok", "time": 0})
    with (
        answering(busy, missing, names) as (url, _),
        pytest.raises(InputError, match=r"no collection theirs on .*did you mean theirs-2\?"),
    ):
        ir.retrieve(dataset(), "qdrant", url=url, **asked)
