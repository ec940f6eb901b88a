"""Runs and qrels in memory: one order, nothing lost on the way to a file, other tools agreeing."""

from __future__ import annotations

import gzip
import pickle
import struct
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import pytrec_eval

import irtoolkit  # noqa: F401  registers our datasets
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ids, id_array
from irtoolkit.runs.qrels import Qrels
from irtoolkit.runs.run import DEFAULT_TAG, Run

Write = Callable[..., Path]
Rows = list[tuple[str, str, float]]

LARGEST = 2.0**128 - 2.0**104  # of single precision


def single(value: float) -> float:
    """A number rounded to single precision."""
    return struct.unpack("f", struct.pack("f", value))[0]


def restated(rows: Rows) -> Rows:
    """The rows in the order that a run has: written as the definition reads."""
    queries = list(dict.fromkeys(query for query, _, _ in rows))
    ordered: Rows = []
    for query in queries:
        mine = [(doc, single(score)) for q, doc, score in rows if q == query]
        mine.sort(key=lambda pair: [ord(letter) for letter in pair[0]], reverse=True)
        mine.sort(key=lambda pair: -pair[1])  # stable: ties stay by document id, descending
        ordered += [(query, doc, score) for doc, score in mine]
    return ordered


def bits(rows: Rows) -> list[bytes]:
    """Scores as they stand in memory, so that 0 and -0 differ."""
    return [struct.pack("f", score) for _, _, score in rows]


# -- order ---------------------------------------------------------------------------------------


# -- making --------------------------------------------------------------------------------------


@pytest.mark.parametrize("tag", ["", " ", "two words", "tab\tinside", "end ", " start", "a\nb"])
def test_a_tag_is_one_word(tag: str) -> None:
    with pytest.raises(InputError, match="is not one word") as caught:
        Run.from_rows([("q", "d", 1.0)], tag)
    assert repr(tag) in caught.value.found
    assert caught.value.remedy is not None


# -- from what other libraries call a run --------------------------------------------------------

GIVEN: Rows = [("q1", "a", 1.0), ("q1", "b", 2.5), ("q2", "a", -1.0)]
MEANT = [("q1", "b", 2.5), ("q1", "a", 1.0), ("q2", "a", -1.0)]


# -- using ---------------------------------------------------------------------------------------

THREE = Run.from_rows(
    [("q1", "a", 3), ("q1", "b", 2), ("q1", "c", 1), ("q2", "b", 5), ("q3", "a", 1), ("q3", "c", 2)]
)


@pytest.mark.parametrize(
    ("depth", "kept"),
    [(0, []), (1, ["a", "b", "c"]), (2, ["a", "b", "b", "c", "a"]), (3, 6), (1000, 6)],
)
def test_the_head_of_a_run(depth: int, kept: list[str] | int) -> None:
    head = THREE.head(depth)
    if kept == 6:
        assert list(head) == list(THREE)
    else:
        assert [row.doc_id for row in head] == kept
    assert head.query_ids.tolist() == ["q1", "q2", "q3"]
    assert head.tag == THREE.tag


# -- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.run", "x.run.gz", "x.txt"])
def test_the_text_of_a_run(tmp_path: Path, name: str) -> None:
    Run.from_rows([("q2", "a", 0.1), ("q1", "\u00e9", 1e10), ("q2", "b", -2.5)], "my-tag").write(
        tmp_path / name
    )
    data = (tmp_path / name).read_bytes()
    text = (gzip.decompress(data) if name.endswith(".gz") else data).decode("utf-8")
    lines = [line.split(" ") for line in text.split("\n")]
    assert [line[:4] for line in lines[:-1]] == [
        ["q2", "Q0", "a", "1"],
        ["q2", "Q0", "b", "2"],
        ["q1", "Q0", "\u00e9", "1"],
    ]
    assert [float(line[4]) for line in lines[:-1]] == [0.1, -2.5, 1e10]
    assert {line[5] for line in lines[:-1]} == {"my-tag"}
    assert lines[-1] == [""], "a final newline"


def test_scores_are_written_short(tmp_path: Path) -> None:
    """0.1 in single precision is 0.100000001490116...: nobody wants to read that."""
    Run.from_rows([("q", "d", 0.1)]).write(tmp_path / "x.run")
    assert (tmp_path / "x.run").read_text() == f"q Q0 d 1 0.1 {DEFAULT_TAG}\n"


def assert_round_trip(path: Path, rows: Rows) -> None:
    run = Run.from_rows(rows, "my-tag")
    run.write(path)
    again = Run.read(path)
    meant = restated(rows)
    assert list(again) == meant
    assert bits(list(again)) == bits(meant)
    assert again.query_ids.tolist() == run.query_ids.tolist()
    assert again.tag == "my-tag"
    assert again == run
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_failed_write_leaves_the_old_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    Run.from_rows(GIVEN).write(tmp_path / "x.parquet")
    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(InputError, match="cannot write: No space left") as caught:
        THREE.write(tmp_path / "x.parquet")
    assert caught.value.file == str(tmp_path / "x.parquet")
    assert list(Run.read(tmp_path / "x.parquet")) == MEANT


# -- Parquet from elsewhere ----------------------------------------------------------------------


def parquet(path: Path, columns: dict[str, Any], rows: int | None = None) -> Path:
    """A Parquet file as another program may have written it."""
    pq.write_table(pa.table(columns), path, row_group_size=rows)
    return path


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())],
    ids=["string", "large", "dictionary"],
)
@pytest.mark.parametrize("score", [pa.float32(), pa.float64(), pa.int64()], ids=str)
def test_parquet_columns_of_other_kinds(tmp_path: Path, kind: Any, score: Any) -> None:
    path = parquet(
        tmp_path / "x.parquet",
        {
            "score": pa.array([1, 3, 2], score),
            "doc_id": pa.array(["a", "b", "a"], kind),
            "extra": [1, 2, 3],
            "query_id": pa.array(["q1", "q1", "q2"], kind),
        },
    )
    run = Run.read(path)
    assert list(run) == [("q1", "b", 3.0), ("q1", "a", 1.0), ("q2", "a", 2.0)]
    assert run.tag == DEFAULT_TAG


def test_parquet_whose_ranks_contradict_its_scores_is_refused(tmp_path: Path) -> None:
    """As TREC text is: they may be distances, which rank the other way."""
    columns = {"query_id": ["q", "q", "q"], "doc_id": ["a", "b", "c"], "score": [0.1, 0.5, 0.5]}
    path = parquet(tmp_path / "x.parquet", {**columns, "rank": [1, 2, 3]})
    with pytest.raises(
        InputError, match=r"x\.parquet: row 2: rank 2 has a higher score than rank 1"
    ):
        Run.read(path)
    parquet(path, {**columns, "rank": [3, 2, 1]})
    assert [row.doc_id for row in Run.read(path)] == ["c", "b", "a"]
    parquet(path, {**columns, "rank": ["best", "next", "last"]})
    with pytest.raises(InputError, match="not a Parquet run"):
        Run.read(path)


@pytest.mark.parametrize(
    "data", [b"PAR1", b"PAR1\x15" + b"\x00" * 39, b"PAR1" + b"\x00" * 40 + b"PAR1"]
)
def test_what_is_no_parquet(write: Write, data: bytes) -> None:
    path = write("x.parquet", data)
    with pytest.raises(InputError, match="not a Parquet run") as caught:
        Run.read(path)
    assert caught.value.file == str(path)


@pytest.mark.parametrize(
    "columns",
    [
        {"query_id": ["q", "q"], "doc_id": ["d", "d"], "score": [1.0, 2.0]},
        {"query_id": ["q", "q"], "doc_id": ["d", "e"], "score": [1.0, float("inf")]},
        {"query_id": ["q", "q"], "doc_id": ["d", "e"], "score": [1.0, None]},
        {"query_id": ["q", "q"], "doc_id": ["d", "e"], "score": ["2", "1"]},
        {"query_id": ["q", "q"], "doc_id": ["d", "e"], "score": [2.0, 1.0], "rank": ["1", "2"]},
        {"query_id": ["q", None], "doc_id": ["d", "e"], "score": [1.0, 2.0]},
        {"query_id": [1.0, 2.0], "doc_id": ["d", "e"], "score": [1.0, 2.0]},
        {"query_id": ["q", "q"], "doc_id": ["d", "e"], "rank": [1, 2]},
    ],
)
def test_a_bad_parquet_run_is_refused_with_its_name(
    tmp_path: Path, columns: dict[str, Any]
) -> None:
    path = parquet(tmp_path / "x.parquet", columns)
    with pytest.raises(InputError) as caught:
        Run.read(path)
    assert caught.value.file == str(path)


@pytest.mark.parametrize(
    "kind", [pa.int64(), pa.int32(), pa.uint64(), pa.large_string(), pa.string()]
)
def test_ids_may_be_whole_numbers(tmp_path: Path, kind: Any) -> None:
    """As those of a data frame may."""
    docs = pa.array(["501", "503"]).cast(kind)
    path = parquet(tmp_path / "x.parquet", {"qid": [7, 7], "docno": docs, "score": [1, 2]})
    run = Run.read(path)
    assert [row[:2] for row in run] == [("7", "503"), ("7", "501")]
    assert run == Run.of(pd.DataFrame({"qid": [7, 7], "docno": [501, 503], "score": [1, 2]}))


def test_a_run_with_ranks_alone_is_told_to_have_scores(tmp_path: Path) -> None:
    columns = {"query_id": ["q"], "doc_id": ["d"], "rank": [1]}
    path = parquet(tmp_path / "x.parquet", columns)
    for run in (path, pd.DataFrame(columns)):
        with pytest.raises(InputError, match="such as -rank"):
            Run.of(run)


def test_qrels_may_be_parquet(tmp_path: Path) -> None:
    columns = {"query-id": ["q", "q"], "corpus-id": ["d", "e"], "score": [1, 0]}
    path = parquet(tmp_path / "x.parquet", columns)
    assert Qrels.read(path).as_dict() == {"q": {"d": 1, "e": 0}}
    fractions = Qrels.read(parquet(path, {**columns, "score": [0.5, 1]}))
    assert fractions.as_dict() == {"q": {"d": 0.5, "e": 1}}
    for wrong in (["1", "0"], [1, None]):
        with pytest.raises(InputError, match="Parquet qrels"):
            Qrels.read(parquet(path, {**columns, "score": wrong}))
    with pytest.raises(InputError, match="judged twice") as caught:
        Qrels.read(parquet(path, {**columns, "corpus-id": ["d", "d"]}))
    assert caught.value.file == str(path)


# -- other evaluators see the same run -----------------------------------------------------------


def by_pytrec_eval(run: Run, qrels: Qrels, name: str) -> dict[str, float]:
    evaluator = pytrec_eval.RelevanceEvaluator(qrels.as_dict(), {name})
    return {
        q: values[name.replace(".", "_")] for q, values in evaluator.evaluate(run.as_dict()).items()
    }


# -- qrels ---------------------------------------------------------------------------------------


GIVEN_QRELS = [("q1", "a", 1), ("q1", "b", 0), ("q2", "a", 3)]


@pytest.mark.parametrize("name", ["a b", "", "a\nb", "\t"])
@pytest.mark.parametrize("place", ["query", "document"])
def test_qrels_that_text_cannot_hold_are_not_written(tmp_path: Path, name: str, place: str) -> None:
    qrels = Qrels.from_rows([(name, "d", 1) if place == "query" else ("q", name, 1)])
    with pytest.raises(InputError):
        qrels.write(tmp_path / "x.qrels")
    assert list(tmp_path.iterdir()) == []


def test_ids_of_documents_are_read_when_they_are_looked_at() -> None:
    calls: list[int] = []

    def read() -> Ids:
        calls.append(1)
        return id_array(["a", "b"])

    def run() -> Run:
        columns = np.array([0, 2]), read, np.array([1, 0], np.int32), np.ones(2, np.float32)
        return Run.ordered(id_array(["q"]), *columns)

    first = run()
    assert (len(first), first.offsets.tolist(), calls) == (2, [0, 2], [])
    assert [row.doc_id for row in first] == ["b", "a"] == [row.doc_id for row in first.named("x")]
    assert calls == [1]
    assert pickle.loads(pickle.dumps(run())).doc_ids.tolist() == ["a", "b"]
    assert copy(run()).head(1).doc_ids.tolist() == ["a", "b"]


@pytest.mark.parametrize("name", ["a b", "", "a\r", "q Q0 d 1 9 t\nq", "half\ud83d"])
@pytest.mark.parametrize("place", ["query", "document"])
def test_an_id_that_text_cannot_hold_is_not_written(tmp_path: Path, name: str, place: str) -> None:
    """The file would be refused when read, or worse, say something else."""
    run = Run.from_rows([(name, "d", 1.0) if place == "query" else ("q", name, 1.0)])
    with pytest.raises(InputError):
        run.write(tmp_path / "x.run")
    assert list(tmp_path.iterdir()) == []
