"""Workers on a node without the driver's files: one line that names node, place and remedy.

The driver's node has no CPU for workers, so the other node, which sees another folder in the place of
`ours`, does all pieces: no test depends on which node is faster.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import irtoolkit as ir
from irtoolkit.datasets.local.registering import remove_collection
from tests import clusters, tiny
from tests.conftest import SAMPLE, Answer
from tests.nodes import NAME, other_node
from tests.s3 import check_permissions, client, create_user, s3_server
from tests.waiting import wait_for

pytestmark = pytest.mark.nightly

pytest.importorskip("ray", reason="Ray is not installed")

Command = Callable[..., Answer]
SHARE = (
    "(every node needs the same files at the same path: share their folder, or put them at a URL)"
)


class Place(NamedTuple):
    """The cluster, and the folders.

    Attributes:
        address: of the cluster.
        ours: what only the driver has; the other node sees `theirs` in its place.
        theirs: what the other node has.
        shared: what both have.
    """

    address: str
    ours: Path
    theirs: Path
    shared: Path


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    import ray

    home = tmp_path_factory.mktemp("nodes")
    ours, theirs, shared = (home / name for name in ("ours", "theirs", "shared"))
    for folder in (ours, theirs, shared):
        folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        # Ray would write a token into the user's home.
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.delenv("RAY_ADDRESS", raising=False)
        patch.delenv("IRTOOLKIT_DATA", raising=False)
        patch.setenv("IRTOOLKIT_CACHE", str(shared / "cache"))
        with clusters.started(0) as made, other_node(made.address, ours, theirs):
            ray.init(made.address, log_to_driver=False)  # commands take what is there
            try:
                wait_for(lambda: ray.cluster_resources().get("CPU") == 2)
                yield Place(made.address, ours, theirs, shared)
            finally:
                ray.shutdown()


@pytest.fixture
def place(cluster: Place) -> Iterator[Place]:
    """The cluster, with nothing in the folders that are not shared."""
    yield cluster
    for folder in (cluster.ours, cluster.theirs):
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture
def refused(place: Place, irtoolkit: Command) -> Callable[..., str]:
    """Runs a command on the cluster that has to fail; returns its one line of error."""

    def run(*words: object) -> str:
        answer = irtoolkit(*words, "--address", place.address)
        assert answer.status == 2, answer.err
        (line,) = [line for line in answer.err.splitlines() if line.startswith("irtoolkit: ")]
        assert answer.err.endswith(f"{line}\n")
        return line.removeprefix("irtoolkit: ")

    return run


def test_a_release_that_a_node_lacks(
    place: Place, refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = SAMPLE.parent / "relic"
    shutil.copytree(sample, place.ours / "relic")
    monkeypatch.setenv("IRTOOLKIT_DATA", str(place.ours))
    words = ("retrieve", "relic/val", "bm25", "--depth", 5, "-o", tmp_path / "x.run")
    said = f", on node {NAME} {SHARE}"
    assert refused(*words) == f"{place.ours}: the relic release is not on this machine{said}"
    # Another copy there is no better.
    shutil.copytree(sample, place.theirs / "relic")
    books = place.theirs / "relic" / "val.json"
    books.write_text(books.read_text().replace(" the ", " a ", 1))
    assert refused(*words) == f"the documents of relic/val are not those of the driver{said}"
    assert not list(tmp_path.iterdir())


def test_a_registered_collection_that_a_node_lacks(
    place: Place, refused: Callable[..., str], irtoolkit: Command, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    folder = place.ours / "mine"
    folder.mkdir()
    docs = [{"id": f"d{number}", "text": f"a whale {number}"} for number in range(9)]
    (folder / "docs.jsonl").write_text("".join(f"{json.dumps(doc)}\n" for doc in docs))
    (folder / "topics.tsv").write_text("q1\twhale 3\nq2\twhale 4\n")
    monkeypatch.setattr("irtoolkit.retrievers.engine.BLOCK_CELLS", 1)
    monkeypatch.setenv("IR_DATASETS_HOME", str(place.ours))
    assert irtoolkit("register", "mine", folder).status == 0
    try:
        assert refused("retrieve", "mine", "bm25", "-o", tmp_path / "x.run") == (
            f"{place.ours}: no dataset 'mine', on node {NAME} (every node needs the same packages, and"
            " the same folder $IR_DATASETS_HOME, which lists registered collections)"
        )
    finally:
        remove_collection("mine")
    assert not (tmp_path / "x.run").exists()


def test_an_index_that_a_node_lacks(
    place: Place, refused: Callable[..., str], irtoolkit: Command
) -> None:
    index = place.ours / "index"
    assert irtoolkit("index", "csfcube/sample", "-o", index).status == 0
    assert irtoolkit("index", "relic/sample/test", "-o", index, "--add").status == 0
    assert refused("search", index, "the sea") == (
        f"there is no index {index}, on node {NAME} (keep the index where every worker sees it, or at"
        " a URL)"
    )
    new = place.ours / "new"
    assert refused("index", "csfcube/sample", "bm25", "-o", new) == (
        f"{new}: there is no such folder, on node {NAME} (build the index where every worker sees it;"
        " for one at a URL, that is $IRTOOLKIT_CACHE)"
    )
    assert not ir.index("csfcube/sample", "bm25", new).was_there  # nothing there is in the way


def test_a_model_or_vectors_that_a_node_lacks(
    place: Place, refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny.save(place.ours / "model")
    words = ("retrieve", "csfcube/sample", "dense", "-o", tmp_path / "x.run", "--set")
    assert refused(*words, f"model={model}") == (
        f"there is no model in {model}, on node {NAME} {SHARE}"
    )
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(place.ours / "cache"))
    both = shutil.copytree(model, place.shared / "model")
    assert refused(*words, f"model={both}") == (
        f"{place.ours}/cache: this folder is not the driver's, in which its model's work is, on node"
        f" {NAME} (set IRTOOLKIT_CACHE to a folder that all nodes share, or to a URL)"
    )
    assert not (tmp_path / "x.run").exists()


def test_the_working_folder_that_a_node_lacks(
    place: Place, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place.ours)
    tiny.save(Path("model"))
    said = refused("retrieve", "csfcube/sample", "dense", "--set", "model=model", "-o", "x.run")
    assert said.startswith("the weights of model are not here")
    assert said.endswith(f", on node {NAME} {SHARE}")
    assert not Path("x.run").exists()


def test_an_index_at_a_url_that_a_node_may_not_read(
    place: Place, refused: Callable[..., str], irtoolkit: Command, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    pytest.importorskip("s3fs", reason="the extra remote is not installed")

    def user(address: str, name: str, folder: Path, effect: str) -> None:
        """A user of the store, whose credentials are in a folder."""
        key = create_user(address, name, effect, "s3:*")
        (folder / "credentials").write_text(
            f"[default]\naws_access_key_id={key['AccessKeyId']}\n"
            f"aws_secret_access_key={key['SecretAccessKey']}\n"
        )

    with s3_server() as address:
        client(address).create_bucket(Bucket="bucket")
        user(address, "driver", place.ours, "Allow")
        user(address, "worker", place.theirs, "Deny")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
            monkeypatch.delenv(name, raising=False)
        for name, value in (
            ("AWS_ENDPOINT_URL", address), ("AWS_DEFAULT_REGION", "us-east-1"),
            ("AWS_SHARED_CREDENTIALS_FILE", str(place.ours / "credentials")),
            ("AWS_CONFIG_FILE", "none"), ("AWS_EC2_METADATA_DISABLED", "true"),
        ):  # fmt: skip
            monkeypatch.setenv(name, value)
        check_permissions(address, True)
        index = "s3://bucket/index"
        assert irtoolkit("index", "csfcube/sample", "-o", index).status == 0
        assert irtoolkit("index", "relic/sample/test", "-o", index, "--add").status == 0
        monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))  # theirs is empty
        said = refused("search", index, "the sea")
    assert said.startswith(f"{index}/manifest.json: cannot read: no permission (403)")
    assert f", on node {NAME} (" in said


def test_a_dataset_of_the_program_goes_along(place: Place, tmp_path: Path) -> None:
    import ir_datasets
    from ir_datasets.formats import GenericDoc, GenericQuery

    class Docs(ir_datasets.formats.BaseDocs):  # type: ignore[misc]
        def __init__(self, file: Path) -> None:
            self.file = file

        def docs_iter(self) -> Iterator[Any]:
            for line in self.file.read_text().splitlines():
                yield GenericDoc(*line.split("\t"))

        def docs_cls(self) -> type:
            return GenericDoc

        def docs_store(self, field: str = "doc_id") -> Any:
            return self

        def get_many_iter(self, ids: Any) -> Iterator[Any]:
            return (doc for doc in self.docs_iter() if doc.doc_id in set(ids))

    class Queries(ir_datasets.formats.BaseQueries):  # type: ignore[misc]
        def queries_iter(self) -> Iterator[Any]:
            return iter([GenericQuery("q1", "sea"), GenericQuery("q2", "house")])

        def queries_cls(self) -> type:
            return GenericQuery

    file = tmp_path / "docs.tsv"
    file.write_text("a\twhales at sea\nb\ta house\n")
    name = f"of-a-program-{tmp_path.name}"
    ir_datasets.registry.register(name, ir_datasets.Dataset(Docs(file), Queries()))
    alone = list(ir.retrieve(name, "bm25"))
    with (
        pytest.MonkeyPatch.context() as patch,
        ir.engine("ray", address=place.address),
    ):
        patch.setattr("irtoolkit.retrievers.engine.BLOCK_CELLS", 1)
        assert list(ir.retrieve(name, "bm25")) == alone
        moved = place.ours / "docs.tsv"
        ir_datasets.registry.register(f"{name}/moved", ir_datasets.Dataset(Docs(moved), Queries()))
        moved.write_text(file.read_text())
        with pytest.raises(ir.InputError) as raised:
            ir.retrieve(f"{name}/moved", "bm25")
    assert str(raised.value) == f"{moved}: No such file or directory, on node {NAME} {SHARE}"
