"""The command: it continues after a kill, one server serves an annotator, and bad input is one line."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from irtoolkit.runs import Qrels
from tests.waiting import PATIENCE

SAMPLE = "csfcube/sample"


@contextmanager
def serving(folder: Path, annotator: str, *more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:  # fmt: skip
    """A server of its own process, and its address."""
    words = [sys.executable, "-m", "irtoolkit", "annotate", SAMPLE, "-o", str(folder), *more]
    words += [] if "--token" in more else ["--no-token"]
    server = subprocess.Popen(
        [*words, "--annotator", annotator, "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), server.stderr and server.stderr.read()
        yield server, address.rstrip("/")
    finally:
        server.kill()
        server.communicate()


@pytest.fixture
def _serves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails a test whose command begins to serve, which would never end."""
    monkeypatch.setattr("irtoolkit.apps.web.server.run", lambda *_: pytest.fail("it serves"))


def judge(address: str, place: int, grade: int) -> tuple[str, str]:
    """Judges a document of the first query, and returns the pair."""
    with httpx.Client(base_url=address, timeout=PATIENCE) as asking:
        key = asking.get("/task").json()["key"]
        row = asking.get("/queries/0").json()
        pair = (row["query"], row["documents"][place]["document"])
        body = {"query": pair[0], "document": pair[1], "grade": grade, "before": None}
        asking.post("/judgments", json=body, headers={"X-Session": key}).raise_for_status()
    return pair


def test_others_on_this_machine_need_the_token(tmp_path: Path, irtoolkit: Any) -> None:
    with serving(tmp_path, "ann", "--token", "T") as (_, address):
        place, _, token = address.partition("/#token=")
        assert token == "T"
        assert httpx.get(f"{place}/task", timeout=PATIENCE).status_code == 401
        known = {"Authorization": "Bearer T", "Host": "judge.example"}
        assert httpx.get(f"{place}/task", headers=known, timeout=PATIENCE).status_code == 200
    for words in (("--token", "T"), ("--host", "0.0.0.0")):
        refused = irtoolkit("annotate", SAMPLE, "-o", tmp_path, "--no-token", *words)
        assert (refused.status, "--no-token is for this machine alone" in refused.err) == (2, True)


@pytest.mark.parametrize("annotator", ["pool.json"])
def test_an_annotator_may_be_called_as_the_pool_is(tmp_path: Path, annotator: str) -> None:
    with serving(tmp_path / "judged", annotator) as (_, address):
        judge(address, 0, 1)
    assert (tmp_path / "judged" / f"{annotator}.qrels").exists()


def test_what_was_confirmed_outlives_a_kill_and_two_annotators_judge_at_once(
    tmp_path: Path, irtoolkit: Any
) -> None:
    given = {}
    with serving(tmp_path, "ann") as (server, ann), serving(tmp_path, "ben") as (_, ben):
        for place in range(4):
            given[judge(ann, place, place)] = place
        other = judge(ben, 0, 3)
        # A second server would write over the first one's file.
        again = irtoolkit("annotate", SAMPLE, "-o", tmp_path, "--annotator", "ann", "--port", "0")
        assert (again.status, len(again.err.strip().splitlines())) == (2, 1)
        assert "another irtoolkit annotate keeps judgments of ann" in again.err
        server.send_signal(signal.SIGKILL)
        server.wait(PATIENCE)
        found = {(row.query_id, row.doc_id): row.relevance for row in Qrels.read(tmp_path / "ann.qrels")}  # fmt: skip
        assert found == given
    with serving(tmp_path, "ann") as (server, ann):
        task = httpx.get(f"{ann}/task", timeout=PATIENCE).json()
        assert (task["judged"], task["queries"][0]["judged"]) == (4, 4)
        judge(ann, 4, 1)
        server.send_signal(signal.SIGTERM)
        _, said = server.communicate(timeout=PATIENCE)
        assert server.returncode == 0
        assert "5 of 120 pairs judged; the same command continues" in said
    assert Qrels.read(tmp_path / "ben.qrels").as_dict() == {other[0]: {other[1]: 3}}


def _candidates() -> list[Any]:
    import ir_datasets

    import irtoolkit  # noqa: F401 registers the sample

    return list(ir_datasets.load(SAMPLE).scoreddocs_iter())


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which ann has judged a document."""
    folder = tmp_path_factory.mktemp("judged")
    with serving(folder, "ann") as (_, address):
        judge(address, 0, 1)
    return folder


@pytest.mark.usefixtures("_serves_nothing")
@pytest.mark.parametrize(
    ("line", "more", "said"),
    [
        ("910000057_background 0 910000001 9", [], "ann.qrels:1: grade 9 is none of 0-3"),
        ("nobody 0 910000001 1", [], "document 910000001 of query nobody is not in the pool"),
        (None, ["--queries", "2"], "the folder holds judgments of another pool"),
        (None, ["--grades", "0-1"], "the folder holds judgments with grades 0-3, not 0-1"),
    ],
)
def test_a_folder_that_does_not_fit_is_refused_and_stays_as_it_is(
    tmp_path: Path, judged: Path, irtoolkit: Any, line: str | None, more: list[str], said: str
) -> None:
    shutil.copytree(judged, tmp_path, dirs_exist_ok=True)
    if line is not None:
        (tmp_path / "ann.qrels").write_text(f"{line}\n")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    answer = irtoolkit("annotate", SAMPLE, "-o", tmp_path, "--annotator", "ann", "--port", "0", *more)  # fmt: skip
    assert (answer.status, len(answer.err.strip().splitlines())) == (2, 1)
    assert said in answer.err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_what_was_judged_is_compared_judged_again_and_merged(tmp_path: Path, irtoolkit: Any, write: Any) -> None:  # fmt: skip
    pairs = [(row.query_id, row.doc_id) for row in _candidates()][:6]
    files = [
        write(f"{name}.qrels", "".join(f"{q} 0 {d} {g}\n" for (q, d), g in zip(pairs, grades, strict=True)))
        for name, grades in (("ann", "012301"), ("ben", "012310"))
    ]  # fmt: skip
    differ, merged = tmp_path / "differ.run", tmp_path / "merged.qrels"
    said = irtoolkit("agree", *files, "--differ", differ, "-o", merged)
    assert said.status == 2
    assert "2 pairs" in said.err
    assert "without a majority" in said.err
    assert not merged.exists()
    assert "Pairs that differ: 2 of 6" in said.out
    assert f"irtoolkit annotate DATASET {differ} --depth 2" in said.err
    with serving(tmp_path / "again", "cho", str(differ), "--depth", "2") as (_, address):
        again = {judge(address, place, 3) for place in range(2)}
    assert again == set(pairs[4:])
    said = irtoolkit(
        "agree", *files, "--adjudicator", tmp_path / "again" / "cho.qrels", "-o", merged
    )
    assert said.status == 0, said.err
    found = {(row.query_id, row.doc_id): row.relevance for row in Qrels.read(merged)}
    assert found == dict(zip(pairs, (0, 1, 2, 3, 3, 3), strict=True))
    scored = irtoolkit("check", differ, "--dataset", SAMPLE)
    assert "is not one of" not in scored.err
