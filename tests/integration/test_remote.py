"""Data at URLs: every kind of file, to and from a local S3 server, with the bytes of local files."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import sha256
from irtoolkit.runs import Run
from tests.conftest import SAMPLE, Answer
from tests.s3 import check_permissions, client, create_user, s3_server

pytestmark = pytest.mark.nightly

pytest.importorskip("s3fs", reason="the extra remote is not installed")
pytest.importorskip("moto.server", reason="moto is not installed")

Command = Callable[..., Answer]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of an S3 server on this machine."""
    with s3_server() as address:
        yield address


def fresh() -> None:
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def bucket(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of an empty bucket, which this process can read and write."""
    name = f"b{abs(hash(tmp_path)):x}"
    client(server).create_bucket(Bucket=name)
    for variable, value in (
        ("AWS_ENDPOINT_URL", server), ("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_DEFAULT_REGION", "us-east-1"), ("AWS_EC2_METADATA_DISABLED", "true"),
        ("AWS_CONFIG_FILE", "none"), ("AWS_SHARED_CREDENTIALS_FILE", "none"),
        ("IRTOOLKIT_CACHE", str(tmp_path / "cache")),
    ):  # fmt: skip
        monkeypatch.setenv(variable, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    fresh()
    yield f"s3://{name}"
    fresh()


def objects(server: str, bucket: str) -> dict[str, bytes]:
    """What a bucket holds, as another client sees it."""
    s3, name = client(server), bucket.removeprefix("s3://")
    listed = s3.list_objects_v2(Bucket=name).get("Contents", [])
    return {
        item["Key"]: s3.get_object(Bucket=name, Key=item["Key"])["Body"].read() for item in listed
    }


def record(data: bytes) -> dict[str, Any]:
    """A record without what differs from one run to the next."""
    content = yaml.safe_load(data)
    for part in ("implementation", "resources", "date"):
        del content[part]
    return dict(content)


@pytest.mark.parametrize("name", ["x.run.gz", "x.parquet"])
def test_a_run_goes_there_with_what_belongs_beside_it(
    name: str, server: str, bucket: str, tmp_path: Path, irtoolkit: Command
) -> None:
    words = ("retrieve", "csfcube/sample", "bm25", "--depth", 5)
    answer = irtoolkit(*words, "-o", f"{bucket}/runs/{name}")
    assert answer.status == 0, answer.err
    assert f"{bucket}/runs/{name}: 6 queries" in answer.err
    assert irtoolkit(*words, "-o", tmp_path / name).status == 0
    there = objects(server, bucket)
    assert set(there) == {f"runs/{name}{end}" for end in ("", ".ranks.tsv", ".ir-metadata.yml")}
    for end in ("", ".ranks.tsv"):
        assert there[f"runs/{name}{end}"] == (tmp_path / f"{name}{end}").read_bytes()
    beside = f"{name}.ir-metadata.yml"
    assert record(there[f"runs/{beside}"]) == record((tmp_path / beside).read_bytes())
    assert Run.read(f"{bucket}/runs/{name}") == Run.read(tmp_path / name)
    measures = ("--measures", "RR", "RPlast(rel=2)", "--format", "json")
    scored = [
        irtoolkit("eval", "csfcube/sample", run, *measures)
        for run in (f"{bucket}/runs/{name}", tmp_path / name)
    ]
    assert scored[0].status == 0
    figures, expected = ([*json.loads(one.out).values()] for one in scored)
    assert figures == expected


def test_commands_read_and_write_every_kind_of_file(
    server: str, bucket: str, tmp_path: Path, irtoolkit: Command
) -> None:
    def both(*words: str) -> None:
        """Runs a command with everything there, and with everything here."""
        for place in (bucket, str(tmp_path)):
            answer = irtoolkit(*(word.replace("@", place) for word in words))
            assert answer.status == 0, answer.err

    both("export", "csfcube/sample", "qrels", "-o", "@/q.txt")
    both("export", "csfcube/sample", "topics", "-o", "@/t.tsv")
    both("retrieve", "csfcube/sample", "bm25", "-o", "@/a.run")
    both("retrieve", "csfcube/sample", "tfidf", "-o", "@/b.run.gz")
    both("fuse", "@/a.run", "@/b.run.gz", "-o", "@/f.run")
    both("rerank", "csfcube/sample", "@/a.run", "tfidf", "--depth", "5", "-o", "@/r.run")
    both("eval", "@/q.txt", "@/a.run", "@/f.run", "-m", "AP", "--per-query", "@/p.tsv")
    both("eval", "csfcube/sample", "@/a.run", "--qrels", "@/q.txt", "-m", "AP")
    both("compare", "csfcube/sample", "@/a.run", "@/f.run", "--measure", "AP")
    both("check", "@/r.run", "--dataset", "csfcube/sample", "--depth", "100")
    both("report", "csfcube/sample", "@/a.run", "@/f.run", "-o", "@/r.md", "--names", "a", "f")
    both("tune", "csfcube/sample", "bm25", "--grid", "k1=0.9,1.2", "-o", "@/tune.json")
    there = objects(server, bucket)
    for name, data in there.items():
        if not name.endswith((".yml", ".json", ".md", "p.tsv")):
            assert data == (tmp_path / name).read_bytes(), name
    assert set(there) == {
        path.name for path in tmp_path.iterdir() if path.is_file() and "lock" not in path.name
    }


def test_documents_queries_and_judgments_are_read_there(
    server: str, bucket: str, irtoolkit: Command
) -> None:
    s3, name = client(server), bucket.removeprefix("s3://")
    docs = "".join(json.dumps({"id": f"d{n}", "text": f"a whale {n}"}) + "\n" for n in range(9))
    s3.put_object(Bucket=name, Key="docs.jsonl", Body=docs.encode())
    s3.put_object(Bucket=name, Key="topics.tsv", Body=b"q1\twhale 3\n")
    s3.put_object(Bucket=name, Key="bad.jsonl", Body=b'{"id": "d1", "text": "a"}\n{"id": 3}\n')
    data = ir.load(f"{bucket}/docs.jsonl", queries={"q1": "whale 3"}, qrels={"q1": {"d3": 1}})
    assert ir.retrieve(data, progress=False).ranking("q1")[0].doc_id == "d3"
    words = ("--topics", f"{bucket}/topics.tsv", "-o", f"{bucket}/x.run")
    answer = irtoolkit("retrieve", f"{bucket}/docs.jsonl", "bm25", *words)
    assert answer.status == 0, answer.err
    assert Run.read(f"{bucket}/x.run").ranking("q1")[0].doc_id == "d3"
    assert irtoolkit("search", f"{bucket}/docs.jsonl", "whale 3", "-k", 1).out.split()[2] == "d3"
    refused = irtoolkit("index", f"{bucket}/bad.jsonl", "bm25", "-o", f"{bucket}/idx")
    assert refused.status == 2
    assert refused.err.startswith(f"irtoolkit: {bucket}/bad.jsonl:2: ")
    assert not any(key.startswith("idx") for key in objects(server, bucket))


def test_an_index_is_built_there_and_searched_from_there(
    server: str, bucket: str, tmp_path: Path, irtoolkit: Command
) -> None:
    for place in (f"{bucket}/idx", tmp_path / "idx"):
        assert irtoolkit("index", "csfcube/sample", "bm25", "-o", place).status == 0
    there = objects(server, bucket)
    for key, data in there.items():
        assert data == (tmp_path / key).read_bytes()
    assert "was there already" in irtoolkit("index", "csfcube/sample", "-o", f"{bucket}/idx").out
    query = ("parsing of questions", "-k", 3, "--format", "json")
    found = [irtoolkit("search", place, *query) for place in (f"{bucket}/idx", tmp_path / "idx")]
    assert found[0].out == found[1].out
    (tmp_path / "t.tsv").write_text("q1\tparsing of questions\n")
    words = ("--topics", tmp_path / "t.tsv", "-o")
    assert irtoolkit("retrieve", f"{bucket}/idx", *words, tmp_path / "a.run").status == 0
    assert irtoolkit("retrieve", tmp_path / "idx", *words, tmp_path / "b.run").status == 0
    assert sha256(tmp_path / "a.run") == sha256(tmp_path / "b.run")
    answer = irtoolkit("index", "relic/sample/test", "-o", f"{bucket}/idx", "--add")
    assert f"{bucket}/idx\n  483 documents in 2 shards" in answer.out
    assert "files are as they were written" in irtoolkit("index", f"{bucket}/idx", "--verify").out
    added = objects(server, bucket)
    assert {key for key in there if "shards" in key} < set(added)


def test_a_changed_file_is_copied_again(server: str, bucket: str) -> None:
    s3, name = client(server), bucket.removeprefix("s3://")
    s3.put_object(Bucket=name, Key="x.run", Body=b"q1 Q0 d1 1 2.0 t\n")
    assert Run.read(f"{bucket}/x.run").doc_ids.tolist() == ["d1"]
    s3.put_object(Bucket=name, Key="x.run", Body=b"q1 Q0 d2 1 2.0 t\n")
    assert Run.read(f"{bucket}/x.run").doc_ids.tolist() == ["d2"]
    assert Run.read(Path(f"{bucket}/x.run")).doc_ids.tolist() == ["d2"]


def closed_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_what_cannot_be_reached_is_one_line(
    server: str, bucket: str, irtoolkit: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*words: object) -> str:
        answer = irtoolkit(*words)
        assert answer.status == 2
        (line,) = [one for one in answer.err.splitlines() if one.startswith("irtoolkit: ")]
        assert "Traceback" not in answer.err
        return line.removeprefix("irtoolkit: ")

    evaluate = ("eval", "csfcube/sample")
    retrieve = ("retrieve", "csfcube/sample", "bm25", "-o")
    assert refused(*evaluate, f"{bucket}/no.run").startswith(
        f"{bucket}/no.run: cannot read: no such file, folder or bucket"
    )
    assert "cannot write: no such" in refused(*retrieve, "s3://no-such-bucket/x.run")
    assert "the URL names no file" in refused(*retrieve, f"{bucket}/")
    assert "no protocol s3x://" in refused(*retrieve, "s3x://bucket/x.run")
    assert "pip install 'gcsfs'" in refused(*retrieve, "gs://bucket/x.run")
    assert "web addresses can only be read" in refused(*retrieve, "https://host.invalid/x.run")
    hub = refused(*evaluate, "hf://datasets/someone/runs/x.run")
    assert "its server does not answer" in hub
    assert "HF_HUB_OFFLINE" in hub
    with monkeypatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{closed_port()}")
        patch.setattr("s3fs.S3FileSystem.retries", 1)
        fresh()
        assert "its server does not answer" in refused(*evaluate, f"{bucket}/x.run")
    with monkeypatch.context() as patch:
        patch.delenv("AWS_ACCESS_KEY_ID")
        patch.delenv("AWS_SECRET_ACCESS_KEY")
        fresh()
        assert "no credentials (set AWS_PROFILE" in refused(*evaluate, f"{bucket}/x.run")
    fresh()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "fsspec", None)
        assert (
            "fsspec is not installed (pip install '.[remote]' in the folder of irtoolkit)"
            in refused(*evaluate, f"{bucket}/x.run")
        )
    assert not objects(server, bucket)


def test_a_run_that_may_not_be_put_is_kept_here(
    server: str, bucket: str, irtoolkit: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = create_user(server, "reader", "Allow", ["s3:GetObject", "s3:ListBucket"])
    client(server).put_object(
        Bucket=bucket.removeprefix("s3://"), Key="old.run", Body=b"q1 Q0 d1 1 2.0 t\n"
    )
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])
    check_permissions(server, True)
    try:
        fresh()
        assert len(Run.read(f"{bucket}/old.run")) == 1
        words = ("retrieve", "csfcube/sample", "bm25", "--depth", 5)
        answer = irtoolkit(*words, "-o", f"{bucket}/x.run")
        index = irtoolkit("index", "csfcube/sample", "bm25", "-o", f"{bucket}/idx")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
        fresh()
        with pytest.raises(InputError, match="no permission"):
            Run.read(f"{bucket}/old.run")
    finally:
        check_permissions(server, False)
    assert answer.status == index.status == 2
    assert "cannot write: no permission (403)" in answer.err
    kept = Path(answer.err.rstrip().removesuffix(")").rpartition("is kept in ")[2])
    assert {path.name for path in kept.iterdir()} == {
        "x.run", "x.run.ranks.tsv", "x.run.ir-metadata.yml"
    }  # fmt: skip
    assert len(Run.read(kept / "x.run").query_ids) == 6
    assert "no permission (403)" in index.err
    assert list(objects(server, bucket)) == ["old.run"]


def test_no_output_shows_credentials(
    server: str, bucket: str, tmp_path: Path, irtoolkit: Command
) -> None:
    name = bucket.removeprefix("s3://")
    answer = irtoolkit("eval", "csfcube/sample", f"s3://AKIA1:HUSH@{name}/x.run")
    assert answer.status == 2
    assert "HUSH" not in answer.err + answer.out
    from fsspec.config import conf

    assert "HUSH" not in json.dumps({key: str(value) for key, value in conf.items()})
    for place in tmp_path.rglob("*"):
        if place.is_file():
            assert b"HUSH" not in place.read_bytes()


def test_readers_and_writers_at_once(server: str, bucket: str, tmp_path: Path) -> None:
    ir.index("csfcube/sample", path=f"{bucket}/idx", progress=False)
    env = {**os.environ, "IRTOOLKIT_CACHE": str(tmp_path / "another machine")}
    search = ["search", f"{bucket}/idx", "parsing of questions", "-k", "3"]
    write = ["retrieve", "csfcube/sample", "bm25", "-o", f"{bucket}/x.run"]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "irtoolkit", *words], env=env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for words in (search, search, write, write)
    ]  # fmt: skip
    said = [process.communicate() for process in started]
    assert [process.returncode for process in started] == [0] * 4, said
    assert said[0][0] == said[1][0]
    run = Run.read(f"{bucket}/x.run")
    assert len(run.query_ids) == 6
    whole = objects(server, bucket)["x.run.ir-metadata.yml"]
    from irtoolkit.base.copies import copied

    assert yaml.safe_load(whole)["irtoolkit"]["sha256"] == sha256(copied(f"{bucket}/x.run"))


def put_folder(server: str, bucket: str, folder: Path, under: str) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            key = f"{under}/{path.relative_to(folder).as_posix()}"
            client(server).upload_file(str(path), bucket.removeprefix("s3://"), key)


def test_releases_are_read_where_they_are(
    server: str, bucket: str, irtoolkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_folder(server, bucket, SAMPLE, "data/csfcube")
    monkeypatch.setenv("IRTOOLKIT_DATA", f"{bucket}/data/")
    listed = irtoolkit("datasets", "csfcube")
    assert f"{bucket}/data/csfcube" in listed.out + listed.err
    words = ("retrieve", "csfcube", "bm25", "--depth", 5, "-o")
    answer = irtoolkit(*words, tmp_path / "a.run")
    assert answer.status == 0, answer.err
    assert (tmp_path / "a.run").read_text().count("\n") > 5
    name = "test-pid2pool-csfcube.json"
    client(server).delete_object(Bucket=bucket.removeprefix("s3://"), Key=f"data/csfcube/{name}")
    refused = irtoolkit(*words, tmp_path / "b.run")
    assert f"{bucket}/data/csfcube: release file {name} is missing" in refused.err


def test_a_collection_is_registered_where_it_is(
    server: str, bucket: str, irtoolkit: Command, tmp_path: Path
) -> None:
    from irtoolkit.datasets.local.registering import remove_collection

    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "docs.jsonl").write_text(
        '{"id": "d1", "text": "a whale"}\n{"id": "d2", "text": "sea"}\n'
    )
    (folder / "topics.tsv").write_text("q1\twhale\n")
    put_folder(server, bucket, folder, "mine")
    name = f"mine-{bucket.removeprefix('s3://')}"
    answer = irtoolkit("register", name, f"{bucket}/mine")
    assert answer.status == 0, answer.err
    try:
        run = irtoolkit("retrieve", name, "bm25", "-o", tmp_path / "x.run")
        assert run.status == 0, run.err
        client(server).put_object(
            Bucket=bucket.removeprefix("s3://"),
            Key="mine/docs.jsonl",
            Body=b'{"id": "d9", "text": "x"}\n',
        )
        # This process has read the documents.
        words = [sys.executable, "-m", "irtoolkit", "retrieve", name, "tfidf", "-o", "y.run"]
        changed = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert f"{bucket}/mine/docs.jsonl: this file has changed since {name}" in changed.stderr
    finally:
        remove_collection(name)


def test_a_name_that_leads_out_of_its_folder_is_refused(server: str, bucket: str) -> None:
    from irtoolkit.base.mirrors import folder_at

    key = "mine/../../../../x"
    client(server).put_object(Bucket=bucket.removeprefix("s3://"), Key=key, Body=b"x")
    with pytest.raises(InputError, match="leads out of its folder"):
        folder_at(f"{bucket}/mine")
