"""TREC runs and judgments, as text and as Parquet, and what lies beside a run."""

from __future__ import annotations

import hashlib
import io
from typing import Any, get_args

import ir_measures
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytrec_eval
import yaml

from irtoolkit.base.errors import InputError
from irtoolkit.base.yamls import load_yaml
from irtoolkit.runs import Qrels, Run, exact_ranks, provenance, trec
from irtoolkit.runs.fast_trec import read_regular
from irtoolkit.runs.precision import Precision
from irtoolkit.scoring.run_header import read_header
from tests.fuzz.target import Target, one_word, put
from tests.property.runs.test_trec import restated, restated_qrels, same
from tests.unit.runs.test_trec import judgments_of, rows_of

_HEADER = b"# ir_metadata.start"


def _others_can_read(data: bytes) -> str | None:
    """The text, where Python's other readers split it at the same places."""
    text = data.decode("utf-8").removeprefix("\ufeff")
    apart = any(c.isspace() and c not in " \t\n" for c in text.replace("\r\n", "\n"))
    return None if apart or data.startswith(_HEADER) else text


def _run(data: bytes) -> None:
    """Both readers agree with each other, with a plain one, with pytrec_eval and with ir_measures."""
    path = put("x.run", data)
    for precision in get_args(Precision):
        fast = read_regular(path, precision)
        if fast is not None:
            careful = trec._careful_run(path, trec.raise_error, precision)
            assert same(fast, careful), f"the readers differ in {precision} precision"
    wanted = None if data.startswith(_HEADER) else restated(data)
    try:
        rows = rows_of(trec.parse_run(path))
    except InputError:
        assert wanted is None or b"#" in data, f"refused, and it says {wanted}"
        raise
    assert data.startswith(_HEADER) or rows == wanted, f"{rows} instead of {wanted}"
    one_word(name for row in rows for name in row[1:3])
    text = _others_can_read(data)
    if text is None:
        return
    ours = {(row[1], row[2]): row[4] for row in rows}
    read = ir_measures.read_trec_run(io.StringIO(text))
    assert {(row.query_id, row.doc_id): _single(row.score) for row in read} == ours
    lines = [line for line in text.split("\n") if line.strip()]
    theirs = pytrec_eval.parse_run(lines)
    assert {(q, d): _single(score) for q, docs in theirs.items() for d, score in docs.items()} == ours  # fmt: skip


def _single(score: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(score))


def _qrels(data: bytes) -> None:
    """Judgments are what a plain reader, pytrec_eval and ir_measures read."""
    path = put("x.qrels", data)
    wanted = restated_qrels(data)
    try:
        rows = judgments_of(trec.parse_qrels(path))
    except InputError:
        # A line of four words that begins with # is a comment or the query that is called so.
        assert wanted is None or b"#" in data, f"refused, and it says {wanted}"
        raise
    assert rows == wanted, f"{rows} instead of {wanted}"
    text = _others_can_read(data)
    if text is None:
        return
    ours = {(row[1], row[2]): row[3] for row in rows}
    assert {(q, d): grade for q, docs in Qrels.read(path).as_dict().items() for d, grade in docs.items()} == ours  # fmt: skip
    read = ir_measures.read_trec_qrels(io.StringIO(text))
    assert {(row.query_id, row.doc_id): row.relevance for row in read} == ours
    theirs = pytrec_eval.parse_qrel([line for line in text.split("\n") if line.strip()])
    assert {(q, d): grade for q, docs in theirs.items() for d, grade in docs.items()} == ours


def _parquet(data: bytes) -> None:
    """Whatever is read can be written as text, and says the same there."""
    run = Run.read(put("x.parquet", data))
    assert np.isfinite(run.scores).all()
    try:
        run.write(put("y.run", b""))
    except InputError:  # an id or tag that only Parquet can hold
        return
    assert Run.read(put("x.parquet", data)).as_dict() == run.as_dict()


_RANKED = b"q1 Q0 d1 1 3.0 t\nq1 Q0 d2 2 2.0 t\nq2 Q0 d3 1 1.0 t\n"
_ENDING = hashlib.sha256(_RANKED).hexdigest()


def _ranks(data: bytes) -> None:
    """The ranks that are read are those of the lines, and do not contradict their run."""
    path = put("ranked.run", _RANKED)
    put(f"ranked.run{exact_ranks.RANKS_END}", data)
    run = Run.read(path)
    ranks = exact_ranks.read_ranks(path, run)
    assert ranks is not None
    lines = data.decode().removeprefix("\ufeff").replace("\r\n", "\n").split("\n")[1:]
    wanted: dict[str, dict[str, int]] = {}
    for line in lines:
        if line.rstrip("\r"):
            query, doc, rank = line.rstrip("\r").split("\t")
            wanted.setdefault(query, {})[doc] = int(rank)
    assert ranks == wanted
    if b"these lines have SHA-256" not in data.partition(b"\n")[0]:
        for query, docs in ranks.items():
            for place, row in enumerate(run.ranking(query), 1):
                assert docs.get(row.doc_id, place) == place


def _record(data: bytes) -> None:
    """A record that cannot be read is as one that is not there, beside a run and for its ranks."""
    path = put("made.run", _RANKED)
    put(f"made.run{provenance.RECORD_END}", data)
    found = provenance.read_metadata(path)
    assert found is None or isinstance(found, dict)
    exact_ranks.has_best_ranks(path)
    if found is None:
        raise InputError("a record that cannot be read")
    assert repr(found) == repr(yaml.safe_load(data.decode()))


def _header(data: bytes) -> None:
    """A run whose header has a record: the record, and the rows below it."""
    lines = b"".join(b"# " + line + b"\n" for line in data.split(b"\n"))
    path = put("headed.run", _HEADER + b"\n" + lines + b"# ir_metadata.end\n" + _RANKED)
    found = read_header(path)
    assert isinstance(found, dict)
    if data.isascii() and b"\r" not in data:  # YAML has more ends of lines, which need a # too
        assert repr(found) == repr(load_yaml(data.decode()))


def _written(columns: dict[str, Any], **how: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, **how)
    return out.getvalue()


_COLUMNS: dict[str, Any] = {"query_id": ["q1", "q1"], "doc_id": ["d1", "d2"], "score": [2.0, 1.0]}
_YAML = (
    b"tag: t\nplatform:\n  hardware: {cpus: 2}\nirtoolkit:\n  settings: {ties: best}\n  sha256: ab\ndate: 2024-05-01\n",
    b"a: &a [1, 2]\nb: *a\nirtoolkit: {system: x}\ndate: 2024-05-01T10:00:00Z\n",
)  # fmt: skip

TARGETS = (
    Target(
        "trec-runs", _run,
        (
            b"q1 Q0 d1 1 0.5 t\nq1 Q0 d2 2 0.4 t\nq2 Q0 d1 1 3 t\n",
            b"q1\tQ0\td1\t1\t1e2\tt\r\nq1\tQ0\td3\t2\t-.5\tt\r\n",
            b"\xef\xbb\xbfq1 Q0 d1 1 0.5 t\n\n  q1 0 d2 2 0.5 t  \n",
            _HEADER + b"\n# tag: t\n# ir_metadata.end\nq1 Q0 d1 1 0.5 t\n",
            "q1 Q0 d\u00e9 1 0.5 t\nq1 Q0 d\U0001f600 2 0.25 t\n".encode(),
        ),
        (b"Q0", b"q1", b"d1", b"1e39", b"1e-50", b"0x1F", b"+1", b".5", b"5.", b"1_0", b"inf", b"1e5", b"# ", b"# ir_metadata.end\n"),
    ),
    Target(
        "trec-qrels", _qrels,
        (b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 -1\n", b"q1\t0\td1\t3\r\nq2\tQ0\td\xc3\xa9\t1\r\n", b"#1 0 d1 1\n"),
        (b"1001", b"1000", b"-1000", b"1.0", b"+2", b"q1", b"d1", b"# comment\n", b"1e1", b"0x1"),
    ),
    Target(
        "parquet-runs", _parquet,
        (
            _written(_COLUMNS),
            _written({**_COLUMNS, "rank": [1, 2]}, compression="none", use_dictionary=False),
            _written({"query_id": ["1", "2"], "doc_id": [b"a", b"b"], "score": [1, 2]}),
        ),
    ),
    Target(
        "ranks-tsv", _ranks,
        (
            b"# of the run with SHA-256 " + _ENDING.encode() + b"\nq1\td1\t1\nq1\td9\t40\nq2\td3\t1\n",
            b"# these lines have SHA-256 " + hashlib.sha256(b"q1\td1\t1\n").hexdigest().encode()
            + b"; they are ranks over all candidates of the run with SHA-256 " + _ENDING.encode() + b"\nq1\td1\t1\n",
        ),
        (b"q1", b"d1", b"d2", b"d3", b"2", b"3", b"\t", b"+1", b"01", b"q1\td2\t2\n"),
    ),
    Target("run-records", _record, _YAML, (b"2001-99-99", b"!!python/object:os.system", b"&a ", b"*a", b"!!binary ", b"<<: ", b"? ", b"- ", b": ", b"1:61", b"0o9", b".inf", b"!!int x", b"!!timestamp x")),
    Target("run-headers", _header, _YAML, (b"2001-99-99", b"!!timestamp x", b"&a ", b"*a", b"<<: ", b"? ", b"!!binary ")),
)  # fmt: skip
