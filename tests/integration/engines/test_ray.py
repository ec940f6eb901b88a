"""A Ray cluster of three nodes on this machine: every family's run is that of one process."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.engines.engine import Engine, using
from irtoolkit.papers.catalogue import find_table
from irtoolkit.papers.reproduce import reproduce
from irtoolkit.papers.tune import tune
from irtoolkit.ranking.produce import produce
from irtoolkit.ranking.systems import find_system
from tests import clusters, tiny
from tests.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.nightly

pytest.importorskip("ray", reason="Ray is not installed")

DATASETS = ("relic/sample/val", "csfcube/sample")
# One family of each way to share work; the golden runs hold all of them by processes.
# Name to retriever, settings, and the kind of model that it takes.
FAMILIES: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "bm25": ("bm25", {"form": "okapi"}, None),
    "ql": ("ql", {}, None),
    "word2vec": ("word2vec", {"size": 8, "epochs": 1, "weighting": "tfidf"}, None),
    "random": ("random", {}, None),
    "dense": ("dense", {"query": "default", "query_length": 8, "doc_length": 8}, "dense"),
    "dense-prf": ("dense-prf", {"query_length": 8, "doc_length": 8}, "dense"),
    "late": ("late", {"doc_length": 8}, "late"),
    "sparse": ("sparse", {"query_length": 8, "doc_length": 8}, "sparse"),
    "faiss": ("faiss", {"hits": 20, "query_length": 8, "doc_length": 8}, "dense"),
    "plaid": ("plaid", {"centroids": 8, "hits": 20, "doc_length": 8}, "late"),
}


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache that driver and workers share, as nodes share a file system."""
    folder = tmp_path_factory.mktemp("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IRTOOLKIT_CACHE", str(folder / "cache"))
        # Ray would write a token into the user's home.
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.delenv("RAY_ADDRESS", raising=False)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        yield folder


@pytest.fixture(scope="module")
def cluster(homes: Path) -> Iterator[Any]:
    with clusters.started(1, 1, 1) as made:
        made.wait_for_nodes(PATIENCE)
        yield made


@pytest.fixture(scope="module")
def engine(cluster: Any) -> Iterator[Engine]:
    from irtoolkit.engines.ray import RayEngine

    made = RayEngine(address=cluster.address)
    yield made
    made.close()


@pytest.fixture(scope="module")
def models(homes: Path) -> dict[str | None, str]:
    folder = homes / "models"
    return {
        "dense": str(tiny.save(folder / "dense")),
        "sparse": str(tiny.save(folder / "sparse", "BertForMaskedLM")),
        "cross": str(tiny.save(folder / "cross", "BertForSequenceClassification", num_labels=1)),
        "late": str(tiny.save_colbert(folder / "late", doc_maxlen=8)),
    }


class Counted(Engine):
    """An engine that counts the pieces of work it is given."""

    def __init__(self, engine: Engine) -> None:
        self.name, self._engine, self.items = engine.name, engine, 0

    @property
    def workers(self) -> int:
        return self._engine.workers

    def map(
        self, work: Any, items: Iterable[Any], *, gpus: float = 0.0, together: bool = False
    ) -> Iterator[Any]:
        pieces = list(items)
        self.items += len(pieces)
        return self._engine.map(work, pieces, gpus=gpus)


@pytest.fixture
def files(tmp_path: Path, models: dict[str | None, str]) -> Callable[..., tuple[bytes, bytes]]:
    """The files that a family writes: its run, and the exact ranks of the relevant documents."""

    def write(family: str, dataset: str) -> tuple[bytes, bytes]:
        name, settings, kind = FAMILIES[family]
        if kind is not None:
            settings = {**settings, "model": models[kind]}
        path = tmp_path / "made.run"
        produce(dataset, find_system(name, settings, dataset), path, depth=10, progress=False)
        return path.read_bytes(), Path(f"{path}.ranks.tsv").read_bytes()

    return write


@pytest.mark.parametrize(("family", "dataset"), [*zip(FAMILIES, cycle(DATASETS))])
def test_a_run_is_that_of_one_process(
    family: str, dataset: str, engine: Engine, files: Callable[..., tuple[bytes, bytes]]
) -> None:
    alone = files(family, dataset)
    with using(Counted(engine)) as counted:
        assert files(family, dataset) == alone
    assert counted.items > 1


def test_a_cross_encoder_ranks_again_as_in_one_process(
    engine: Engine, models: dict[str | None, str]
) -> None:
    first = ir.retrieve("csfcube/sample", "bm25", depth=4)
    settings = {"model": models["cross"], "length": 16}
    alone = ir.rerank("csfcube/sample", first, "cross-encoder", depth=4, **settings)
    with using(engine):
        assert list(
            ir.rerank("csfcube/sample", first, "cross-encoder", depth=4, **settings)
        ) == list(alone)


def test_texts_in_memory_are_sent(engine: Engine) -> None:
    data = ir.load(
        {"a": "whales at sea", "b": "a house", "c": "the sea"}, queries={"1": "sea", "2": "house"},
        candidates={"1": ["a", "b"], "2": ["b", "c"]},
    )  # fmt: skip
    alone = ir.retrieve(data, "bm25")
    with using(Counted(engine)) as counted:
        assert list(ir.retrieve(data, "bm25")) == list(alone)
    assert counted.items


def test_points_of_a_grid_are_those_of_one_process(engine: Engine, tmp_path: Path) -> None:
    def points(name: str) -> bytes:
        grid = {"k1": ["0.5", "0.9"], "b": ["0.4", "0.9"]}
        tune("csfcube/sample", "bm25", grid, log=tmp_path / name)
        return (tmp_path / name).read_bytes()

    wait_for(lambda: engine.workers <= 4)  # with more than there are points, these are divided
    alone = points("alone.json")
    with using(Counted(engine)) as counted:
        assert points("together.json") == alone
    assert counted.items == 4


def test_a_table_is_that_of_one_process(engine: Engine, tmp_path: Path) -> None:
    rows = ["random", "fabs_tfidf", "fabs_bm25"]

    def runs(name: str) -> dict[str, bytes]:
        out = tmp_path / name
        reproduce(find_table("csfcube"), out, systems=rows, sample=True)
        return {path.name: path.read_bytes() for path in out.iterdir() if path.suffix != ".yml"}

    alone = runs("alone")
    with using(Counted(engine)) as counted:
        assert runs("together") == alone
        shared = counted.items
        assert runs("together") == alone  # the runs are there already
    assert counted.items == shared > 0


def test_an_input_error_names_the_node(engine: Engine) -> None:
    def refuse(number: int) -> int:
        raise InputError("no data", file="docs.tsv", line=number, remedy="copy them")

    with pytest.raises(InputError) as raised:
        list(engine.map(refuse, [3]))
    error = raised.value
    assert error.found == f"no data, on node {socket.gethostname()}"
    assert (error.file, error.line, error.remedy) == ("docs.tsv", 3, "copy them")


def test_after_work_that_cannot_be_sent_the_workers_are_used(engine: Engine) -> None:
    lock = threading.Lock()
    with pytest.raises(InputError, match="cannot be sent"):
        list(engine.map(lambda number: lock.locked() + number, range(3)))
    assert os.getpid() not in engine.map(lambda _: os.getpid(), [0])


def test_workers_have_the_drivers_environment(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRTOOLKIT_DATA", "/elsewhere")
    assert list(engine.map(lambda _: os.environ["IRTOOLKIT_DATA"], [0])) == ["/elsewhere"]


def test_a_worker_that_is_killed_is_replaced(engine: Engine, tmp_path: Path) -> None:
    def once(number: int) -> int:
        mark = tmp_path / "killed"
        if number == 1 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    assert list(engine.map(once, range(4))) == [0, 1, 2, 3]


def test_work_that_kills_its_workers_is_given_up(engine: Engine) -> None:
    with pytest.raises(InputError, match=r"killed, perhaps out of memory, 3 times .* on 'large'"):
        list(engine.map(lambda _: os.kill(os.getpid(), signal.SIGKILL), ["large"]))


def test_a_node_that_is_removed_costs_nothing_but_time(
    cluster: Any, engine: Engine, tmp_path: Path
) -> None:
    node = cluster.add_node(
        num_cpus=1, resources={"extra": 1}, object_store_memory=clusters.OBJECTS
    )
    cluster.wait_for_nodes(PATIENCE)
    marks = tmp_path / "marks"
    marks.mkdir()

    def slow(number: int) -> tuple[int, int]:
        (marks / f"{number}-{os.getpid()}").touch()
        while not (tmp_path / "removed").exists():
            time.sleep(0.01)
        return number, number * number

    results = engine.map(slow, range(8))
    found: list[tuple[int, int]] = []
    taking = threading.Thread(target=lambda: found.extend(results))
    taking.start()
    wait_for(lambda: len(list(marks.iterdir())) >= 4)  # each node is at something
    cluster.remove_node(node, allow_graceful=False)
    (tmp_path / "removed").touch()
    taking.join()
    assert found == [(number, number * number) for number in range(8)]
    assert len(list(marks.iterdir())) > 8  # something was done again


def removing(engine: Engine, cluster: Any) -> Any:
    """An engine with one more node, which is removed after its first result; it lists those left."""
    more = [cluster.add_node(num_cpus=2, object_store_memory=clusters.OBJECTS)]
    cluster.wait_for_nodes(PATIENCE)

    class Removing(Counted):
        nodes = more

        def map(
            self, work: Any, items: Iterable[Any], *, gpus: float = 0.0, together: bool = False
        ) -> Iterator[Any]:
            results = super().map(work, items, gpus=gpus)
            yield next(results)
            if more:
                cluster.remove_node(more.pop(), allow_graceful=False)
            yield from results

    return Removing(engine)


def test_a_run_in_which_a_node_is_removed_is_that_of_one_process(
    cluster: Any, engine: Engine, files: Callable[..., tuple[bytes, bytes]]
) -> None:
    alone = files("bm25", "relic/sample/val")
    used = removing(engine, cluster)
    with using(used):
        assert files("bm25", "relic/sample/val") == alone
    assert not used.nodes


# -- a corpus in shards ----------------------------------------------------------------------------

PASSAGES = 100_000
TERMS = 3_000


@pytest.fixture(scope="module")
def corpus(homes: Path) -> Path:
    """Short passages whose words are as unevenly frequent as those of a language."""
    random = np.random.default_rng(7)
    drawn = np.minimum(random.zipf(1.2, (PASSAGES, 6)), TERMS)
    path = homes / "passages.jsonl"
    with path.open("w") as out:
        for number, row in enumerate(drawn.tolist()):
            out.write(f'{{"id": "p{number}", "text": "{" ".join(f"w{word}" for word in row)}"}}\n')
    return path


def asked(index: Any) -> tuple[bytes, dict[str, dict[str, int]]]:
    """The ranking of some queries, and the exact ranks of some documents."""
    queries = {f"q{n}": (f"w{n + 2} w{3 * n + 5} w{TERMS - n}",) for n in range(40)}
    texts = list(queries.values())
    run = index.run(np.array(list(queries)), texts, 100, fill=True)
    wanted = {query: ["p3", f"p{PASSAGES - 1}"] for query in queries}
    ranks = index.exact_ranks(list(queries), texts, wanted)
    return run.scores.tobytes() + "\n".join(run.doc_ids[run.docs]).encode(), ranks


def test_a_corpus_is_searched_as_in_one_process(
    engine: Engine, corpus: Path, tmp_path: Path
) -> None:
    alone = ir.index(str(corpus), "ql", tmp_path / "alone", progress=False)
    expected = asked(alone)
    with using(engine):
        together = ir.index(str(corpus), "ql", tmp_path / "together", progress=False)
        assert len(together.manifest.shards) > 1
        assert asked(together) == expected
    assert asked(together.reopened()) == expected


def test_a_search_in_which_a_node_is_removed_is_that_of_one_process(
    engine: Engine, cluster: Any, corpus: Path, tmp_path: Path
) -> None:
    with using(engine):
        index = ir.index(str(corpus), "bm25", tmp_path / "index", progress=False)
    assert len(index.manifest.shards) > 1
    expected = asked(index)
    used = removing(engine, cluster)
    with using(used):
        assert asked(index.reopened()) == expected
    assert not used.nodes
