"""Runs, judgments, collections and what lies beside them, damaged in every way or only odd."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import irtoolkit as ir
from irtoolkit.datasets.local.judgments import read_qrels
from irtoolkit.indexes.manifest import FORMAT, Manifest
from irtoolkit.runs import Run
from irtoolkit.runs.exact_ranks import read_ranks
from tests.fuzz.settings import _manifests
from tests.inputs.case import Case

RUN = b"q1 Q0 d2 1 2.0 t\nq1 Q0 d1 2 1.0 t\nq2 Q0 d3 1 1.5 t\n"
QRELS = b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 2\n"
ORDER = {"q1": ["d2", "d1"], "q2": ["d3"]}


def changed(text: bytes, old: str, new: str) -> bytes:
    """Returns a text in which one thing is replaced that it must hold."""
    assert old.encode() in text
    return text.replace(old.encode(), new.encode(), 1)


# name: a run that is refused, and a word of the message.
BAD_RUNS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "no rows"),
    "only empty lines": (b"\n\n\n", "no rows"),
    "only a mark": (codecs.BOM_UTF8, "no rows"),
    "five fields": (b"q1 Q0 d1 1 2.0\n", "5 fields instead of 6"),
    "seven fields": (b"q1 Q0 d1 1 2.0 my tag\n", "7 fields instead of 6"),
    "a tag of two words later on": (RUN + b"q3 Q0 d1 1 2.0 my tag\n", ":4"),
    "commas": (b"q1,Q0,d1,1,2.0,t\n", "1 field"),
    "a score that is a word": (b"q1 Q0 d1 1 high t\n", "score 'high'"),
    "nan": (b"q1 Q0 d1 1 nan t\n", "score 'nan'"),
    "inf": (b"q1 Q0 d1 1 inf t\n", "score 'inf'"),
    "beyond float32": (b"q1 Q0 d1 1 1e39 t\n", "single-precision"),
    "a hexadecimal score": (b"q1 Q0 d1 1 0x1F t\n", "score '0x1F'"),
    "an underscore in a score": (b"q1 Q0 d1 1 1_0 t\n", "score '1_0'"),
    "a comma in a score": (b"q1 Q0 d1 1 1,5 t\n", "score '1,5'"),
    "Arabic digits": ("q1 Q0 d1 1 \u0661 t\n".encode(), "score"),
    "a rank with a point": (b"q1 Q0 d1 1.0 2.0 t\n", "rank '1.0'"),
    "a rank beyond 64 bits": (b"q1 Q0 d1 99999999999999999999 2.0 t\n", "rank '9999"),
    "a hexadecimal rank": (b"q1 Q0 d1 0x1F 2.0 t\n", "rank '0x1F'"),
    "a document twice": (RUN + b"q1 Q0 d1 3 0.5 t\n", "listed twice"),
    "a document twice in one score": (b"q1 Q0 d1 1 1 t\n" * 2, "listed twice"),
    "ranks against scores": (b"q1 Q0 d1 1 1.0 t\nq1 Q0 d2 2 2.0 t\n", "negate distances"),
    "latin-1": ("q1 Q0 d\u00e9 1 2.0 t\n".encode("latin-1"), "not UTF-8"),
    "NUL": (b"q1 Q0 d\0 1 2.0 t\n", "U+0000"),
    "a mark within": (RUN + codecs.BOM_UTF8 + RUN.replace(b"q", b"r"), "U+FEFF"),
    "a control character": (b"q1 Q0 d\x1b[31m 1 2.0 t\n", "U+001B"),
    "a comment": (b"# a comment line\n" + RUN, "a comment"),
    "a header without an end": (b"# ir_metadata.start\n# tag: t\n" + RUN, "does not end"),
    "qrels for a run": (QRELS, "4 fields instead of 6"),
    "JSON for a run": (b'{"q1": {"d1": 1.0}}\n', "fields"),
    "an old Mac's lines": (RUN.replace(b"\n", b"\r"), "fields"),
    "a byte that ends a character short": (RUN + b"q9 Q0 d\xe4 1 1 t\n", "not UTF-8"),
}  # fmt: skip
ODD_RUNS: dict[str, bytes] = {
    "no last line end": RUN[:-1],
    "utf-16 with a mark": RUN.decode().encode("utf-16"),
    "CRLF": RUN.replace(b"\n", b"\r\n"),
    "a mark": codecs.BOM_UTF8 + RUN,
    "tabs": RUN.replace(b" ", b"\t"),
    "two spaces": RUN.replace(b" ", b"  "),
    "spaces around": b"  " + RUN.replace(b"\n", b"  \n"),
    "empty lines between": RUN.replace(b"\n", b"\n\n"),
    "ranks from 0": b"q1 Q0 d2 0 2.0 t\nq1 Q0 d1 1 1.0 t\nq2 Q0 d3 0 1.5 t\n",
    "equal ranks": b"q1 Q0 d2 1 2.0 t\nq1 Q0 d1 1 1.0 t\nq2 Q0 d3 1 1.5 t\n",
    "lines in another order": b"".join(reversed(RUN.splitlines(keepends=True))),
    "ties, by id descending": b"q1 Q0 d1 1 1.0 t\nq1 Q0 d2 1 1.0 t\nq2 Q0 d3 1 1.5 t\n",
    "negative scores": b"q1 Q0 d2 1 -1 t\nq1 Q0 d1 2 -2 t\nq2 Q0 d3 1 -0 t\n",
    "exponents": b"q1 Q0 d2 1 2e3 t\nq1 Q0 d1 2 +1.E-3 t\nq2 Q0 d3 1 .5 t\n",
    "two tags": RUN + b"q3 Q0 d3 1 1.5 other\n",
    "a header": b"# ir_metadata.start\n# tag: t\n# ir_metadata.end\n" + RUN,
    "a query called #": RUN + b"#3 Q0 d9 1 1 t\n",
    "a no-break space in an id": RUN + "q3 Q0 d\u00a09 1 1 t\n".encode(),
    "an emoji in an id": RUN + "q3 Q0 \U0001f600 1 1 t\n".encode(),
    "an id as NA": RUN + b"NA Q0 NA 1 1 NA\n",
    "a score that is subnormal": RUN + b"q3 Q0 d9 1 1e-45 t\n",
}
BAD_QRELS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "no rows"),
    "three fields": (b"q1 d1 1\n", "3 fields instead of 4"),
    "five fields": (b"q1 0 d1 1 x\n", "5 fields instead of 4"),
    "a grade of 1.5": (b"q1 0 d1 1.5\n", "grade '1.5'"),
    "a grade that is a word": (b"q1 0 d1 yes\n", "grade 'yes'"),
    "a grade of a thousand million": (b"q1 0 d1 1000000000\n", "grade '1000000000'"),
    "a grade below": (b"q1 0 d1 -1000001\n", "grade '-1000001'"),
    "a hexadecimal grade": (b"q1 0 d1 0x1\n", "grade '0x1'"),
    "judged twice": (b"q1 0 d1 1\nq1 0 d1 0\n", "listed twice"),
    "judged twice alike": (b"q1 0 d1 1\nq1 0 d1 1\n", "listed twice"),
    "latin-1": ("q1 0 d\u00e9 1\n".encode("latin-1"), "not UTF-8"),
    "NUL": (b"q1 0 d\0 1\n", "U+0000"),
    "a comment": (b"# said\n" + QRELS, "comment"),
    "a run for qrels": (RUN, "6 fields instead of 4"),
    "BEIR without its header": (b"q1\td1\t1\n", "3 fields instead of 4"),
    "BEIR with four columns": (b"query-id\tcorpus-id\tscore\nq1\t0\td1\t1\n", "4 fields, and 3 columns"),
    "BEIR's grade a word": (b"query-id\tcorpus-id\tscore\nq1\td1\thigh\n", "score 'high'"),
    "BEIR judged twice": (b"query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td1\t1\n", "judged twice"),
    "BEIR without rows": (b"query-id\tcorpus-id\tscore\n", "no judgments"),
}  # fmt: skip
ODD_QRELS: dict[str, bytes] = {
    "CRLF": QRELS.replace(b"\n", b"\r\n"),
    "tabs and a mark": codecs.BOM_UTF8 + QRELS.replace(b" ", b"\t"),
    "no last line end": QRELS[:-1],
    "Q0 for 0": QRELS.replace(b" 0 d", b" Q0 d"),
    "a plus": QRELS.replace(b"d1 1", b"d1 +1"),
    "zeros before": QRELS.replace(b"d1 1", b"d1 001"),
    "another order": b"".join(reversed(QRELS.splitlines(keepends=True))),
}


def order_of(path: Path) -> dict[str, list[str]]:
    """The documents of each query in the lines of a run."""
    found: dict[str, list[str]] = {}
    for line in path.read_text("utf-8").splitlines():
        query, _, doc, *_ = line.split(" ")
        found.setdefault(query, []).append(doc)
    return found


def _fused(_: Any, folder: Path) -> bool:
    found = order_of(folder / "out.run")
    return {query: found[query] for query in ORDER} == ORDER


def _merged(_: Any, folder: Path) -> bool:
    lines = sorted((folder / "out.qrels").read_text("utf-8").splitlines())
    return lines == sorted(QRELS.decode().splitlines())


def _runs() -> Iterator[Case]:
    for number, (name, (data, word)) in enumerate(BAD_RUNS.items()):
        fuse = ("fuse", "good.run", "x.run", "-o", "out.run")
        yield Case("runs", f"{name}: check", ("check", "x.run"), {"x.run": data}, word)
        if number % 2:
            packed = {"x.run.gz": gzip.compress(data, mtime=0), "good.run": RUN}
            line = tuple(part.replace("x.run", "x.run.gz") for part in fuse)
            yield Case("runs", f"{name}: fuse, packed", line, packed, word)
        else:
            yield Case("runs", f"{name}: fuse", fuse, {"x.run": data, "good.run": RUN}, word)
    for name, data in ODD_RUNS.items():
        line = ("fuse", "x.run", "y.run", "-o", "out.run")
        yield Case("runs", f"{name}: fuse", line, {"x.run": data, "y.run": data}, right=_fused)


def _qrels() -> Iterator[Case]:
    line = ("agree", "x.qrels", "good.qrels", "-o", "out.qrels")

    def either(folder: Path) -> dict[str, dict[str, int]]:
        return read_qrels(folder / "x.qrels").as_dict()

    for name, (data, word) in BAD_QRELS.items():
        use = either if name.startswith("BEIR") else line
        yield Case("judgments", name, use, {"x.qrels": data, "good.qrels": QRELS}, word)
    for name, data in ODD_QRELS.items():
        yield Case("judgments", name, line, {"x.qrels": data, "good.qrels": QRELS}, right=_merged)
    beir = {"x.qrels": b"query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq2\td3\t2\n"}
    wanted = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}}
    yield Case("judgments", "BEIR's form", either, beir, right=lambda found, _: found == wanted)


def _parquet(**columns: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def _zipped(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def _packed() -> Iterator[Case]:
    """Runs in archives and in Parquet."""
    whole = gzip.compress(RUN, mtime=0)
    table = {"query_id": ["q1", "q1"], "doc_id": ["d2", "d1"], "score": [2.0, 1.0]}
    good = _parquet(**table)
    nothing = {"query_id": pa.array([], pa.string()), "doc_id": pa.array([], pa.string()), "score": pa.array([], pa.float32())}  # fmt: skip
    codes = pa.DictionaryArray.from_arrays(pa.array(np.zeros(4_000_000, np.int32)), ["q"])
    bomb = {"query_id": codes, "doc_id": codes, "score": pa.array(np.zeros(4_000_000))}
    refused = {
        "cut.run.gz": (whole[:-9], "damaged gzip"),
        "bit.run.gz": (whole[:20] + bytes([whole[20] ^ 255]) + whole[21:], "bit.run.gz:1"),
        "bomb.run.gz": (gzip.compress(b"q1 Q0 d1 1 1 t\n" * 6_000_000, 9, mtime=0), "unpacks to more"),
        "two.zip": (_zipped(a=RUN, b=RUN), "2 files"),
        "none.zip": (_zipped(), "0 files"),
        "plain.zip": (RUN[:-1] + b" x\n", "7 fields instead of 6"),
        "cut.parquet": (good[:-20], "not a Parquet run"),
        "empty.parquet": (b"", "no rows"),
        "bytes.parquet": (_parquet(**{**table, "doc_id": [b"d2", b"d1"]}), "ids are text"),
        "rows.parquet": (_parquet(**nothing), "no rows"),
        "column.parquet": (_parquet(query_id=["q"], doc_id=["d"]), "score"),
        "null.parquet": (_parquet(**{**table, "doc_id": ["d1", None]}), "missing"),
        "nan.parquet": (_parquet(**{**table, "score": [float("nan"), 1.0]}), "finite"),
        "twice.parquet": (_parquet(**{**table, "doc_id": ["d1", "d1"]}), "twice"),
        "words.parquet": (_parquet(**{**table, "score": ["a", "b"]}), "not a Parquet run"),
        "lists.parquet": (_parquet(**{**table, "doc_id": [["d1"], ["d2"]]}), "not a Parquet run"),
        "ranks.parquet": (_parquet(**table, rank=[2, 1]), "higher score"),
        "bomb.parquet": (_parquet(**bomb), "unpacks to more"),
    }  # fmt: skip
    for name, (data, word) in refused.items():
        line = ("fuse", "good.run", name, "-o", "out.run")
        yield Case("packed", name, line, {name: data, "good.run": RUN}, word)
    first = {"q1": ["d2", "d1"]}
    for name, data in {
        "x.run.gz": whole, "x.zip": _zipped(a=RUN), "text.zip": RUN, "x.parquet": good,
        "doubles.parquet": _parquet(**{**table, "score": pa.array([2.0, 1.0], pa.float64())}),
        "plain.run.gz": RUN, "text.parquet": RUN,
        "more.parquet": _parquet(**table, text=["x" * 100] * 2),
        "members.run.gz": gzip.compress(RUN[:17], mtime=0) + gzip.compress(RUN[17:], mtime=0),
    }.items():  # fmt: skip
        line, both = ("fuse", name, f"y{name}", "-o", "out.run"), {name: data, f"y{name}": data}
        yield Case("packed", name, line, both, right=lambda _, folder: {"q1": order_of(folder / "out.run")["q1"]} == first)  # fmt: skip


DOCS = b'{"id": "d1", "text": "a lamp"}\n{"id": "d2", "text": "an oar"}\n'
TOPICS = b"q1\tthe lamp\nq2\tthe oar\n"
BAD_DOCS: dict[str, tuple[bytes, str]] = {
    "empty.jsonl": (b"", "empty file"),
    "array.jsonl": (b'[{"id": "d1", "text": "a"}]\n', "unknown format"),
    "cut.jsonl": (DOCS[:-9], "not JSON"),
    "number.jsonl": (DOCS + b"5\n", "not a JSON object"),
    "noid.jsonl": (b'{"text": "a"}\n', "no field with a document's id"),
    "notext.jsonl": (b'{"id": "a"}\n', "no field with a document's text"),
    "later.jsonl": (DOCS + b'{"id": "d3"}\n', "no field 'text'"),
    "texts.jsonl": (DOCS + b'{"id": "d3", "text": ["a"]}\n', "must be text"),
    "twice.jsonl": (DOCS + DOCS, "appears twice"),
    "key.jsonl": (b'{"id": "a", "id": "b", "text": "x"}\n', "appears twice in one object"),
    "words.jsonl": (b'{"id": "a b", "text": "x"}\n', "not one word"),
    "none.jsonl": (b'{"id": "", "text": "x"}\n', "not one word"),
    "bool.jsonl": (b'{"id": true, "text": "x"}\n', "whole number"),
    "half.jsonl": (b'{"id": "a", "text": "\\ud800"}\n', "half a surrogate"),
    "deep.jsonl": (b'{"id": "a", "text": ' + b"[" * 100_000 + b"\n", "not usable JSON"),
    "latin.jsonl": (b'{"id": "a", "text": "\xe9"}\n', "not UTF-8"),
    "tabs.tsv": (b"d1\ta\tb\n", "2 tabs instead of 1"),
    "later.tsv": (b"d1\ta\nd2\n", "0 tabs"),
    "open.sgml": (b"<DOC><DOCNO>a</DOCNO>x\n", "not closed"),
    "nested.sgml": (b"<DOC><DOCNO>a</DOCNO><DOC>x</DOC></DOC>\n", "not closed"),
    "stray.sgml": (b"<DOC><DOCNO>a</DOCNO>x</DOC>\n</DOC>\n", "</DOC> without"),
    "outside.sgml": (b"<DOC><DOCNO>a</DOCNO>x</DOC>\ny\n", "text outside"),
    "noid.sgml": (b"<DOC>x</DOC>\n", "no <DOCNO>"),
    "two.sgml": (b"<DOC><DOCNO>a</DOCNO><DOCNO>b</DOCNO></DOC>\n", "2 <DOCNO>"),
}  # fmt: skip
BAD_TOPICS: dict[str, tuple[bytes, str]] = {
    "empty.tsv": (b"", "empty file"),
    "tabs.tsv": (b"q1\ta\tb\n", "2 tabs"),
    "twice.tsv": (TOPICS + TOPICS, "appears twice"),
    "text.tsv": (b"q1\t \n", "no text"),
    "words.tsv": (b"q 1\ta\n", "not one word"),
    "noid.jsonl": (b'{"query": "a"}\n', "a topic's id"),
    "notext.jsonl": (b'{"qid": "a"}\n', "a topic's text"),
    "list.jsonl": (b'{"qid": "a", "query": ["b"]}\n', "must be text"),
    "open.trec": (b"<top>\n<num> 1\n<title> a\n", "not closed"),
    "num.trec": (b"<top><title>a</title></top>\n", "without <num>"),
    "outside.trec": (b"<top> x <num>1</num><title>a</title></top>\n", "text outside"),
    "none.trec": (b"<top><num>1</num></top>\n", "no text"),
}  # fmt: skip


def _collections() -> Iterator[Case]:
    for name, (data, word) in BAD_DOCS.items():
        given = ("--docs", name, "--topics", "topics.tsv", "--qrels", "none")
        line = ("register", "own", "own", *given)
        files = {f"own/{name}": data, "own/topics.tsv": TOPICS}
        yield Case("collections", f"docs {name}", line, files, word)
    for name, (data, word) in BAD_TOPICS.items():
        given = ("--docs", "docs.jsonl", "--topics", name, "--qrels", "none")
        line = ("register", "own", "own", *given)
        files = {f"own/{name}": data, "own/docs.jsonl": DOCS}
        yield Case("collections", f"topics {name}", line, files, word)


PARTS = (
    ("a.jsonl", "b.jsonl"), ("docs-news.jsonl", "docs-sport.jsonl"), ("a.json", "b.jsonl"), ("a.csv", "wiki.csv"),
)  # fmt: skip


def _parts() -> Iterator[Case]:
    """Folders whose documents lie in files of any names."""
    for names in PARTS:
        rows = [b"id,text\nd%d,a lamp\n" if name.endswith("csv") else b'{"id": "d%d", "contents": "a"}\n' for name in names]  # fmt: skip
        files = {f"own/{name}": row % number for number, (name, row) in enumerate(zip(names, rows, strict=True))}  # fmt: skip
        yield Case("collections", " and ".join(names), lambda _: ir.load("own").docs_count(), files, right=lambda count, _: count == 2)  # fmt: skip
    line = ("register", "own", "own")
    mixed = {"own/a.jsonl": DOCS, "own/b.csv": b"id,text\nd9,a lamp\n"}
    yield Case("collections", "parts of two formats", line, mixed, "choose with --docs FILE...")
    twice = {"own/a.jsonl": DOCS, "own/b.jsonl": DOCS}
    yield Case("collections", "a document in two parts", line, twice, "appears twice")


def _beside() -> Iterator[Case]:
    """Exact ranks, and manifests of indexes."""
    digest, text = hashlib.sha256(RUN).hexdigest().encode(), b"q1\td1\t2\n"
    lines = hashlib.sha256(text).hexdigest().encode()
    head = b"# of the run with SHA-256 " + digest + b"\n"
    sealed = b"# these lines have SHA-256 " + lines + b"; they are of the run " + digest + b"\n"

    def ranks(folder: Path) -> Any:
        return read_ranks(folder / "x.run", Run.read(folder / "x.run"))

    for name, data, word in (
        ("another run's", b"# of the run with SHA-256 ab\n" + text, "of another run"),
        ("no header", text, "of another run"),
        ("nothing", b"", "of another run"),
        ("a lost line", sealed, "lost or changed"),
        ("a changed line", sealed + b"q1\td1\t3\n", "lost or changed"),
        ("two fields", head + b"q1\td1\n", "not query id"),
        ("rank 0", head + b"q1\td1\t0\n", "not query id"),
        ("a word", head + b"q1\td1\tfirst\n", "not query id"),
        ("two ranks", head + b"q1\td1\t2\nq1\td1\t9\n", "two ranks"),
        ("one rank twice", head + b"q1\td8\t9\nq1\td9\t9\n", "two documents of one rank"),
        ("against the run", head + b"q1\td1\t1\n", "is not at rank 1"),
        ("below the run", head + b"q1\td1\t9\n", "the run lists it above"),
    ):
        yield Case("beside runs", name, ranks, {"x.run": RUN, "x.run.ranks.tsv": data}, word)
    good = {"x.run": RUN, "x.run.ranks.tsv": sealed + text}
    yield Case("beside runs", "right", ranks, good, right=lambda found, _: found == {"q1": {"d1": 2}})  # fmt: skip
    plain, whole = _manifests()
    for name, data, word in (
        ("empty", b"", "damaged"),
        ("cut", whole[:-40], "damaged"),
        ("a changed value", whole.replace(b'"plain"', b'"other"'), "not what was written"),
        ("another format", changed(plain, f'"format": {FORMAT}', '"format": 99'), "format 99"),
        ("a number for a word", plain.replace(b'"postings"', b"5"), "kind is 5"),
        ("a list", b"[]", "damaged"),
        ("deep", b"[" * 100_000, "damaged"),
        ("not UTF-8", b"\xff" + whole, "damaged"),
    ):
        yield Case("beside runs", f"manifest: {name}", lambda folder: Manifest.read(folder), {"manifest.json": data}, word)  # fmt: skip


def cases() -> Iterator[Case]:
    """All inputs that are files."""
    yield from _runs()
    yield from _qrels()
    yield from _packed()
    yield from _collections()
    yield from _parts()
    yield from _beside()
