"""Command lines, settings, Python calls, files of settings and requests to the server."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.papers.tables import load_table
from irtoolkit.runs import Qrels, Run
from irtoolkit.training.recipe_files import find_recipe
from tests.fuzz import api
from tests.fuzz.settings import _RECIPE, _TABLE
from tests.inputs.case import Case
from tests.inputs.files import DOCS, QRELS, RUN, changed

_FILES = {"good.run": RUN, "other.run": RUN.replace(b"2.0", b"3.0"), "good.qrels": QRELS, "docs.jsonl": DOCS}  # fmt: skip
_S = "csfcube/sample"

# A command line that is refused, and a word of the message.
LINES: tuple[tuple[str, str], ...] = (
    ("no-such-command", "no command"),
    ("evla a b", "did you mean eval"),
    ("eval", "required"),
    (f"eval {_S}", "RUN is missing"),
    (f"eval {_S} nowhere.run", "no such file"),
    (f"eval {_S} .", "a folder, not a file"),
    ("eval no/such good.run", "no/such"),
    ("eval csfcube/sampel good.run", "csfcube/sample"),
    (f"eval {_S} good.run", "another dataset"),
    (f"eval {_S} good.run --measures NoSuch", "NoSuch"),
    (f"eval {_S} good.run --measures P@0", "P@0"),
    (f"eval {_S} good.run --measures P@-1", "P@-1"),
    (f"eval {_S} good.run --measures P(rel=x)@5", "P(rel=x)@5"),
    (f"eval {_S} good.run --measures nDCG(@10", "nDCG(@10"),
    (f"eval {_S} good.run --format pdf", "pdf"),
    (f"eval {_S} good.run --qrels nowhere.qrels", "no such file"),
    (f"eval {_S} good.run --unknown", "--unknown"),
    (f"eval {_S} ", "'' is no name of a file"),
    (f"eval {'x' * 5000} good.run", "no dataset"),
    (f"export {_S} beir ", "'' is no name of a folder"),
    ("serve --prepare --folder ", "'' is no name of a folder"),
    ("check nowhere.run", "no such file"),
    ("check good.run --dataset no/such", "no/such"),
    ("check good.run --depth x", "x"),
    ("check good.run --strictness very", "very"),
    ("fuse good.run -o out.run", "two"),
    ("fuse good.run other.run", "output"),
    ("fuse good.run good.run -o out.run", "given twice"),
    ("fuse good.run other.run -o .", "folder"),
    ("fuse good.run other.run -o out.run --method magic", "magic"),
    ("fuse good.run other.run -o out.run --k -1", "k"),
    ("fuse good.run other.run -o out.run --k x", "x"),
    ("fuse good.run other.run -o out.run --k nan", "k"),
    ("fuse good.run other.run -o out.run --method weighted --weights 1", "weight"),
    ("fuse good.run other.run -o out.run --method weighted --weights nan 1", "weight"),
    ("fuse good.run other.run -o out.run --method weighted --weights a b", "a"),
    ("fuse good.run other.run -o out.run --depth 0", "0"),
    ("fuse good.run other.run -o out.run --depth -5", "-5"),
    ("fuse good.run other.run -o out.run --depth 1.5", "1.5"),
    ("fuse good.run other.run -o out.run --tag two\u00a0words\there", "tag"),
    ("fuse good.run other.run -o out.run --method rbc --set phi=2", "phi"),
    ("fuse good.run other.run -o out.run --method rbc --set psi=0.5", "psi"),
    (f"retrieve {_S} no-such-system -o out.run", "no-such-system"),
    (f"retrieve {_S} bm52 -o out.run", "bm25"),
    (f"retrieve {_S} bm25", "output"),
    ("retrieve no/such bm25 -o out.run", "no/such"),
    (f"retrieve {_S} bm25 -o out.run --set k1=x", "k1"),
    (f"retrieve {_S} bm25 -o out.run --set k1=nan", "k1"),
    (f"retrieve {_S} bm25 -o out.run --set k1=-1", "k1"),
    (f"retrieve {_S} bm25 -o out.run --set b=2", "b"),
    (f"retrieve {_S} bm25 -o out.run --set b=inf", "b"),
    (f"retrieve {_S} bm25 -o out.run --set k2=1", "k2"),
    (f"retrieve {_S} bm25 -o out.run --set k1", "k1"),
    (f"retrieve {_S} bm25 -o out.run --set =1", "="),
    (f"retrieve {_S} bm25 -o out.run --set query=nothing", "nothing"),
    (f"retrieve {_S} bm25 -o out.run --depth 0", "0"),
    (f"retrieve {_S} bm25 -o out.run --depth many", "many"),
    (f"retrieve {_S} bm25 -o out.run --candidates some", "some"),
    (f"retrieve {_S} bm25 -o out.run --topics nowhere.tsv", "no such file"),
    (f"retrieve {_S} dense -o out.run --set model=no/such/model", "no/such/model"),
    (f"retrieve {_S} dense -o out.run --set model=.", "there is no model in ."),
    ("retrieve docs.jsonl bm25 -o out.run", "queries"),
    ("search docs.jsonl lamp -k 0", "0"),
    ("search docs.jsonl lamp -k x", "x"),
    ("search nowhere.txt lamp", "nowhere.txt"),
    ("search docs.jsonl lamp --format xml", "xml"),
    (f"compare {_S} good.run", "two"),
    (f"compare {_S} good.run other.run --test guess", "guess"),
    (f"compare {_S} good.run other.run --correction some", "some"),
    ("agree good.qrels", "two"),
    ("agree good.qrels nowhere.qrels", "no such file"),
    ("agree good.qrels good.qrels --rule best", "best"),
    ("register own nowhere", "no such folder"),
    ("register ../own .", "own"),
    ("register csfcube .", "csfcube"),
    ("register --remove nothing", "nothing"),
    ("datasets no/such", "no/such"),
    ("submit csfcube/sample nowhere.run -o out", "no such file"),
    ("train no-such-recipe -o model", "no recipe"),
    ("train nowhere.toml -o model", "no such file"),
    ("reproduce no-such-table", "no-such-table"),
    ("extract examples nowhere.txt", "no such file"),
    ("extract nothing docs.jsonl", "nothing"),
    ("nway relic/sample/val/0-way good.run", "0-way"),
    ("report csfcube/sample good.run", "name a file"),
    ("index docs.jsonl bm25 --set k1=x", "k1"),
    ("completion fish-and-chips", "fish-and-chips"),
    ("help no-such-command", "no-such-command"),
)


def _lines() -> Iterator[Case]:
    for line, word in LINES:
        yield Case("command lines", line, tuple(line.split(" ")), _FILES, word)
    yield Case("command lines", "--version", ("--version",), right=lambda out, _: ir.__version__ in out)  # fmt: skip
    yield Case("command lines", "a name with spaces", ("fuse", "a b.run", "\u00e9.run", "-o", "o u t.run"), {"a b.run": RUN, "\u00e9.run": RUN}, right=lambda _, folder: (folder / "o u t.run").is_file())  # fmt: skip
    yield Case("command lines", "a name that begins with a dash", ("fuse", "-o", "out.run", "--", "-a.run", "b.run"), {"-a.run": RUN, "b.run": RUN}, right=lambda _, folder: (folder / "out.run").is_file())  # fmt: skip
    yield Case("command lines", "an input as the output", ("fuse", "good.run", "other.run", "-o", "good.run"), _FILES, "would be overwritten")  # fmt: skip
    yield Case("command lines", "a NUL in a name", ("check", "a\0b"), {}, "name")
    yield Case("command lines", "a name of 5,000 letters", ("check", "a" * 5000), {}, "too long")
    yield Case("command lines", "a full device", ("fuse", "good.run", "other.run", "-o", "/dev/full"), _FILES, "No space left")  # fmt: skip
    yield Case("command lines", "a folder below a file", ("fuse", "good.run", "other.run", "-o", "good.run/out.run"), _FILES, "cannot write")  # fmt: skip
    yield Case("command lines", "terminal commands in a name", ("check", "\x1b[2Jx.run"), {}, "\\x1b[2Jx.run")  # fmt: skip


# -- Python --------------------------------------------------------------------------------------

_NAN = float("nan")
_JUDGED, _RAN = {"q": {"d": 1}}, {"q": {"d": 1.0}}
CALLS: tuple[tuple[str, Callable[[], Any], str], ...] = (
    ("a run with NaN", lambda: Run.from_rows([("q", "d", _NAN)]), "finite"),
    ("a run with infinity", lambda: Run.from_rows([("q", "d", float("inf"))]), "finite"),
    ("a run with a score beyond float32", lambda: Run.from_rows([("q", "d", 1e39)]), "single"),
    ("a run with a word for a score", lambda: Run.from_rows([("q", "d", "high")]), "high"),  # type: ignore[list-item]
    ("a run with a document twice", lambda: Run.from_rows([("q", "d", 1.0), ("q", "d", 2.0)]), "twice"),
    ("a run of pairs", lambda: Run.of([("q", "d")]), "3"),
    ("a run of nothing", lambda: Run.of([]), "no rows"),
    ("a run of a number", lambda: Run.of(5), "int"),
    ("a run of None", lambda: Run.of(None), "None"),
    ("a run of lists", lambda: Run.of({"q": ["d1", "d2"]}), "q"),
    ("a run of None for a score", lambda: Run.of({"q": {"d": None}}), "not a finite"),
    ("a run of True for a score", lambda: Run.of({"q": {"d": [1]}}), "[1]"),
    ("a tag of two words", lambda: Run.from_rows([("q", "d", 1.0)], "a b"), "one word"),
    ("a run with None for a query", lambda: Run.of({None: {"d": 1.0}}), "None"),
    ("a run with bytes for a document", lambda: Run.of({"q": {b"d": 1.0}}), "b'd'"),
    ("a run of rows with bytes", lambda: Run.of([(b"q", "d", 1.0)]), "b'q'"),
    ("qrels with NaN for a document", lambda: Qrels.of({"q": {_NAN: 1}}), "nan"),
    ("a run with half a pair of surrogates", lambda: Run.of({"q": {"d\ud800": 1.0}}).write("out.run"), "UTF-8"),
    ("the same as Parquet", lambda: Run.of({"q": {"d\ud800": 1.0}}).write("out.parquet"), "UTF-8"),
    ("qrels with NaN", lambda: Qrels.of({"q": {"d": _NAN}}), "whole number"),
    ("qrels with a word", lambda: Qrels.of({"q": {"d": "yes"}}), "not a finite number"),
    ("qrels twice", lambda: Qrels.from_rows([("q", "d", 1), ("q", "d", 1)]), "twice"),
    ("qrels of nothing", lambda: Qrels.of([]), "no rows"),
    ("qrels beyond 64 bits", lambda: Qrels.of({"q": {"d": 10**30}}), "between -2^63 and 2^63"),
    ("qrels of a run's rows", lambda: Qrels.of([("q", "d", 1, 2)]), "3"),
    ("a dataset that is not there", lambda: ir.load("no/such"), "no/such"),
    ("a dataset of an empty name", lambda: ir.load(""), "dataset"),
    ("a dataset above a folder", lambda: ir.load("../../etc"), "etc"),
    ("a system that is not there", lambda: ir.retrieve(_S, "no-such"), "no-such"),
    ("a setting that is not there", lambda: ir.retrieve(_S, "bm25", k9=1), "k9"),
    ("a setting of another type", lambda: ir.retrieve(_S, "bm25", k1="x"), "k1"),
    ("a setting of NaN", lambda: ir.retrieve(_S, "bm25", k1=_NAN), "k1"),
    ("a depth of 0", lambda: ir.retrieve(_S, "bm25", depth=0), "depth"),
    ("a depth below 0", lambda: ir.retrieve(_S, "bm25", depth=-3), "depth"),
    ("a depth of a text", lambda: ir.retrieve(_S, "bm25", depth="5"), "depth '5'"),  # type: ignore[arg-type]
    ("a depth of a fraction", lambda: ir.retrieve(_S, "bm25", depth=2.5), "depth 2.5"),  # type: ignore[arg-type]
    ("no system", lambda: ir.retrieve(_S, None), "None is no system"),  # type: ignore[arg-type]
    ("an index of no system", lambda: ir.index(["a lamp"], 5), "5 is no system"),  # type: ignore[arg-type]
    ("measures that are a number", lambda: ir.evaluate(_JUDGED, _RAN, measures=5), "5"),  # type: ignore[arg-type]
    ("a measure that is None", lambda: ir.evaluate(_JUDGED, _RAN, measures=[None]), "None is no measure"),  # type: ignore[list-item]
    ("a test that is not there", lambda: ir.compare(_JUDGED, _RAN, Run.of(_RAN, "b"), measure="RR", test="guess"), "guess"),  # type: ignore[arg-type]
    ("a correction that is not there", lambda: ir.compare(_JUDGED, _RAN, Run.of(_RAN, "b"), measure="RR", correction="some"), "some"),  # type: ignore[arg-type]
    ("a report's test that is not there", lambda: ir.report(_JUDGED, _RAN, output="r.md", test="guess"), "guess"),
    ("a report's correction that is not there", lambda: ir.report(_JUDGED, _RAN, output="r.md", correction="some"), "some"),
    ("a measure that is not there", lambda: ir.evaluate(_S, ir.retrieve(_S, "random"), measures=["NoSuch"]), "NoSuch"),
    ("runs of other queries", lambda: ir.evaluate(_S, Run.from_rows([("q", "d", 1.0)])), "quer"),
    ("no runs", lambda: ir.evaluate(_S), "run"),
    ("one run fused", lambda: ir.fuse(Run.from_rows([("q", "d", 1.0)])), "two"),
    ("fused by magic", lambda: ir.fuse({"q": {"d": 1.0}}, {"q": {"d": 2.0}}, method="magic"), "magic"),
    ("an index of nothing", lambda: ir.index([], "bm25"), "document"),
    ("an index of a number", lambda: ir.index(5, "bm25"), "not a collection"),
    ("an index of numbers", lambda: ir.index([1, 2], "bm25"), "text"),
    ("a search for nothing of k=0", lambda: ir.index(["a lamp"], "bm25").search("lamp", k=0), "0"),
    ("a search for an empty text", lambda: ir.index(["a lamp"], "bm25").search(""), "no text"),
    ("scores of a run that is not there", lambda: ir.evaluate(_JUDGED, _RAN)["bm25"], "no run 'bm25'"),
    ("a query that is not there", lambda: ir.load(_S).queries.lookup("q9"), "no query 'q9'"),
    ("ranx's name of a test", lambda: ir.compare(_JUDGED, _RAN, Run.of(_RAN, "b"), measure="RR", test="ttest"), "did you mean student"),  # type: ignore[arg-type]
    ("a search of a number", lambda: ir.index(["a lamp"], "bm25").search(5), "one string"),
)  # fmt: skip
RIGHT: tuple[tuple[str, Callable[[], Any], Any], ...] = (
    ("ids with spaces", lambda: [h.doc_id for h in ir.index({"a b": "lamp"}, "bm25").search("lamp")], ["a b"]),
    ("a search for unknown words", lambda: len(ir.index(["a lamp"], "bm25").search("\u732b")), 0),
    ("ids that are numbers", lambda: Run.of({1: {2: 1.0}}).ranking("1")[0].doc_id, "2"),
    ("a text of emoji", lambda: [h.doc_id for h in ir.index({"a": "\U0001f600 lamp", "b": "oar"}, "bm25").search("lamp")][:1], ["a"]),
    ("an empty text among others", lambda: [h.doc_id for h in ir.index({"a": "", "b": "lamp"}, "bm25").search("lamp")][:1], ["b"]),
    ("numpy's float32", lambda: Run.of({"q": {"a": np.float32(1), "b": np.float32(2)}}).ranking("q")[0].doc_id, "b"),
    ("qrels with 1.5", lambda: Qrels.of({"q": {"d": 1.5}}).as_dict(), {"q": {"d": 1.5}}),
    ("whole numbers for scores", lambda: Run.of({"q": {"a": 1, "b": 2}}).ranking("q")[0].doc_id, "b"),
    ("ties, by id descending", lambda: [r.doc_id for r in Run.of({"q": {"a": 1, "c": 1, "b": 1}}).ranking("q")], ["c", "b", "a"]),
    ("grades that are whole floats", lambda: Qrels.of({"q": {"d": 2.0}}).as_dict(), {"q": {"d": 2}}),
    ("numpy's whole numbers for grades", lambda: Qrels.of({"q": {"d": np.int64(3)}}).as_dict(), {"q": {"d": 3}}),
    ("an iterator of rows", lambda: len(Run.of(iter([("q", "d", 1.0)]))), 1),
    *((name, lambda name=name: ir.retrieve(ir.load(["a lamp"], queries={"q": "lamp"}), name).tag, tag) for name, tag in (
        ("BM25", "bm25"), ("tf-idf", "tfidf"), ("Rm3", "rm3"), ("BM25-Anserini", "bm25-anserini"), ("TF_IDF", "tfidf"),
    )),
    ("a method of fusion in capitals", lambda: ir.fuse({"q": {"d": 1.0}}, {"q": {"d": 2.0}}, method="RRF").tag, "rrf"),
    ("minus zero", lambda: Run.of({"q": {"a": -0.0, "b": 0.0}}).ranking("q")[0].doc_id, "b"),
)  # fmt: skip


def _calls() -> Iterator[Case]:
    for name, call, word in CALLS:
        yield Case("Python", name, lambda _, call=call: call(), refused=word)
    for name, call, wanted in RIGHT:
        yield Case("Python", name, lambda _, call=call: call(), right=lambda found, _, wanted=wanted: found == wanted)  # fmt: skip


# -- files of settings -----------------------------------------------------------------------------


RECIPES: tuple[tuple[str, str, str], ...] = (
    ('title = "t"', "title = ", "not TOML"),
    ('title = "t"', 'title = "t"\ntitle = "u"', "not TOML"),
    ('kind = "dense"', 'kind = "magic"', "kind"),
    ('kind = "dense"', "kind = 5", "kind"),
    ("seed = 7", "seed = 7.5", "seed"),
    ("seed = 7", "sede = 7", "sede"),
    ("lora = 8", 'lora = "many"', "lora"),
    ("batch = 16", 'batch = "x"', "batch"),
    ("batch = 16", "batch = [16]", "batch"),
    ("batch = 16", "bacth = 16", "bacth"),
    ("rate = 2e-5", "rate = {}", "rate"),
    ('"{model}"', '"{modle}"', "modle"),
    ('"{model}"', '"{model!r}"', "format"),
    ('"{model}"', '"{model:>9}"', "format"),
    ('"{model}"', '"{"', "{"),
    ('default = "en"', 'default = "fr"', "fr"),
    ('default = "en"', "", "needs default and values"),
    ("[variables.language]", "[variables]\nlanguage = 5\n[x]", "not TOML"),
    ("[[stage]]", "[stage]", "not TOML"),
    ('loss = "in-batch"', "loss = 1979-05-27", "loss"),
)
TABLES: tuple[tuple[str, str, str], ...] = (
    ("scale = 100.0", "scale = ", "not a table in TOML"),
    ("scale = 100.0", 'scale = "100"', "scale"),
    ("scale = 100.0", "sclae = 100.0", "did you mean scale"),
    ("scale = 100.0", "", "'scale' is missing"),
    ('baseline = "BM25"', 'baseline = "BM26"', "BM26"),
    ('tested = "RR"', 'tested = "MRR"', "MRR"),
    ('RR = "RR"\n"P@1" = "P@1"', "", "no columns"),
    ('test = "relic/sample/test"', "", "no groups"),
    ('test = "Table 2"', 'dev = "Table 2"', "not a group"),
    ("reported = { test = [1.0, nan] }", "reported = { test = [1.0] }", "1 figures reported"),
    ("reported = { test = [1.0, nan] }", "reported = { dev = [1.0, nan] }", "not a group"),
    ("reported = { test = [1.0, nan] }", 'reported = { test = ["a", "b"] }', "reported"),
    ('doubtful = ["test.RR"]', 'doubtful = ["test.MRR"]', "not a reported figure"),
    ('retriever = "bm25"', "", "no retriever"),
    ('people = "three experts"', 'people = "x"\nretriever = "bm25"', "retriever and people"),
    ("rerank_depth = 10", "", "both first and rerank_depth"),
    ("rerank_depth = 10", 'rerank_depth = "10"', "rerank_depth"),
    ('first = "BM25"', 'first = "BM26"', "no row"),
    ('system = "people"', 'system = "BM25"', "two rows"),
    ('system = "people"', "system = []", "system"),
    ("scale = 100.0", 'scale = 100.0\nrows_of = "x"', "rows_of names the table itself"),
    ("scale = 100.0", 'scale = 100.0\nrows_of = "nowhere"', "not a table"),
    ("scale = 100.0", "scale = 100.0\ndepth = true", "depth"),
)


def _settings() -> Iterator[Case]:
    for old, new, word in RECIPES:
        files = {"x.toml": changed(_RECIPE, old, new)}
        yield Case("files of settings", f"recipe: {new or 'without ' + old}", lambda folder: find_recipe(str(folder / "x.toml")), files, word)  # fmt: skip
    for old, new, word in TABLES:
        files = {"x.toml": changed(_TABLE, old, new)}
        yield Case("files of settings", f"table: {new or 'without ' + old}", lambda folder: load_table(folder / "x.toml"), files, word)  # fmt: skip
    deep = {"x.toml": b"a = " + b"[" * 100_000}
    yield Case("files of settings", "recipe: deep", lambda folder: find_recipe(str(folder / "x.toml")), deep, "not TOML")  # fmt: skip
    yield Case("files of settings", "table: deep", lambda folder: load_table(folder / "x.toml"), deep, "not a table")  # fmt: skip
    around = {"x.toml": _TABLE.replace(b"scale", b'rows_of = "y"\nscale', 1), "y.toml": _TABLE.replace(b"scale", b'rows_of = "x"\nscale', 1)}  # fmt: skip
    yield Case("files of settings", "table: rows_of in a circle", lambda folder: load_table(folder / "x.toml"), around, "rows_of")  # fmt: skip


def _about() -> Iterator[Case]:
    """YAML that is given with a run that is sent."""
    bomb = b"a: &a [x, x, x, x, x, x, x, x, x, x]\n" + b"".join(
        b"b%d: &b%d [%s]\n" % (i, i, b", ".join([b"*a" if i == 0 else b"*b%d" % (i - 1)] * 10)) for i in range(9)
    )  # fmt: skip
    for name, data, word in (
        ("not YAML", b"a: [", "not YAML"),
        ("a list", b"- a\n", "not a mapping"),
        ("nothing", b"", "not a mapping"),
        ("a date that is none", b"date: 2001-99-99\n", "not YAML"),
        ("a number that is none", b"a: !!int x\n", "not YAML"),
        ("Python's objects", b"a: !!python/object/apply:os.system [ls]\n", "not YAML"),
        ("aliases without end", bomb, "not YAML"),
        ("deep", b"[" * 5000, "not YAML"),
        ("latin-1", b"a: \xe9\n", "not UTF-8"),
    ):
        line = ("submit", _S, "own.run", "-o", "out.run", "--form", "trec", "--metadata", "header", "--about", "x.yml")  # fmt: skip
        files = {"x.yml": data, "own.run": _of_sample()}
        yield Case("files of settings", f"record: {name}", line, files, word)


@cache
def _of_sample() -> bytes:
    """A run of the sample's queries."""
    with tempfile.TemporaryDirectory() as folder:
        ir.retrieve(_S, "random", output=f"{folder}/x.run")
        return Path(folder, "x.run").read_bytes()


# -- requests -------------------------------------------------------------------------------------


def post(path: str, body: Any, *headers: str) -> bytes:
    text = body if isinstance(body, str) else json.dumps(body)
    return "\n".join([f"POST {path}", "content-type: application/json", *headers, "", text]).encode()  # fmt: skip


def asked(**change: Any) -> dict[str, Any]:
    asked = {"collection": "BOOK", "query": "the lamp", **change}
    return {key: value for key, value in asked.items() if value is not ...}


REQUESTS: tuple[tuple[str, bytes, str], ...] = (
    ("no JSON", post("/search", "{"), "json"),
    ("a list", post("/search", []), "dictionary"),
    ("nothing", post("/search", ""), "required"),
    ("no query", post("/search", asked(query=...)), "query"),
    ("an empty query", post("/search", asked(query="")), "query"),
    ("a query of spaces", post("/search", asked(query="   ")), "quer"),
    ("a query of 4,001 letters", post("/search", asked(query="x" * 4001)), "4000"),
    ("a query of marks alone", post("/search", asked(query="?!")), "no word"),
    ("a query of an emoji", post("/search", asked(query="\U0001f600")), "no word"),
    ("a query that is a number", post("/search", asked(query=5)), "string"),
    ("no such collection", post("/search", asked(collection="nothing")), "no such collection"),
    ("a path for a collection", post("/search", asked(collection="../../etc")), "collection"),
    ("a system that is not there", post("/search", asked(systems=["magic"])), "systems"),
    ("no systems", post("/search", asked(systems=[])), "systems"),
    ("four systems", post("/search", asked(systems=["words"] * 4)), "systems"),
    ("meaning without a model", post("/search", asked(systems=["meaning"])), "by meaning"),
    ("passages of 0 sentences", post("/search", asked(length=0)), "length"),
    ("passages of 21 sentences", post("/search", asked(length=21)), "length"),
    ("a depth of 0", post("/search", asked(depth=0)), "depth"),
    ("a depth of 101", post("/search", asked(depth=101)), "depth"),
    ("a depth of 1.5", post("/search", asked(depth=1.5)), "depth"),
    ("a context of 11", post("/search", asked(context=11)), "context"),
    ("another form", post("/search", asked(format="xml")), "format"),
    ("a field too many", post("/search", asked(more=1)), "more"),
    ("half a character", post("/search", '{"collection": "BOOK", "query": "\\ud800"}'), ""),
    ("a body of 70,000 bytes", post("/search", asked(query="x" * 70_000)), "larger"),
    ("a length that is a word", post("/search", asked(), "content-length: many"), "no number"),
    ("a length beyond all", post("/search", asked(), "content-length: 99999999999999999999"), "larger"),
    ("another site", post("/search", asked(), "origin: http://evil.example"), "other sites"),
    ("another site, as the browser says", post("/search", asked(), "sec-fetch-site: cross-site"), "other sites"),
    ("a method that is not there", b"PUT /search\n\n", "Not Allowed"),
    ("a path that is not there", b"GET /nothing\n\n", "Not Found"),
    ("a path above", b"GET /collections/../../etc/passwd\n\n", "not found"),
    ("a path above, in escapes", b"GET /collections/%2e%2e%2fetc\n\n", ""),
    ("a collection that is not there", b"GET /collections/nothing\n\n", "no such collection"),
    ("a passage of another book", b"GET /passages/BOOK/other:0+1\n\n", "passage"),
    ("a passage beyond the end", b"GET /passages/BOOK/BOOK:999+1\n\n", "passage"),
    ("a passage below 0", b"GET /passages/BOOK/BOOK:-1+1\n\n", "passage"),
    ("51 sentences before", b"GET /passages/BOOK/BOOK:0+1?before=51\n\n", "before"),
    ("sentences that are a word", b"GET /passages/BOOK/BOOK:0+1?before=x\n\n", "before"),
    ("a book beyond the limit", b"POST /collections?filename=a.txt\n\nA book.", "0 books"),
    ("the server's book removed", b"DELETE /collections/BOOK\n\n", "not added by a reader"),
    ("a judgment of grade 2", post("/judgments", {"collection": "BOOK", "query": "q", "passage": "BOOK:0+1", "grade": 2}), "grade"),
    ("a judgment of another passage", post("/judgments", {"collection": "BOOK", "query": "q", "passage": "x:0+1", "grade": 1}), "passage"),
    ("a judgment of two words", post("/judgments", {"collection": "BOOK", "query": "q", "passage": "a b", "grade": 1}), "passage"),
    ("judgments of a path", b"GET /judgments/qrels?collection=../x\n\n", "collection"),
)  # fmt: skip
ANSWERED: tuple[tuple[str, bytes], ...] = (
    ("a search", post("/search", asked())),
    ("a search in escapes", post("/search", '{"collection": "BOOK", "query": "l\\u0061mp"}')),
    ("a search of markup", post("/search", asked(query="<script>alert(1)</script>"))),
    ("as a run", post("/search", asked(format="trec"))),
    ("as CSV", post("/search", asked(format="csv"))),
    ("the longest query", post("/search", asked(query="lamp " * 800))),
    ("a passage", b"GET /passages/BOOK/BOOK:1+2?before=50&after=50\n\n"),
    ("all collections", b"GET /collections\n\n"),
    ("no judgments", b"GET /judgments/qrels\n\n"),
)


def _requests() -> Iterator[Case]:
    for name, data, word in REQUESTS:
        yield Case("requests", name, lambda _, data=data: api._request(data), refused=word)
    for name, data in ANSWERED:
        yield Case("requests", name, lambda _, data=data: api._request(data))
    yield Case("requests", "another host", lambda _: _of_host(b"evil.example"), refused="not the server's")  # fmt: skip


def _of_host(host: bytes) -> None:
    server = api._server()
    asked = server.answer("GET", b"/collections", [(b"host", host)], b"")
    status, content = server.loop.run_until_complete(asked)
    assert status == 421
    raise InputError(json.loads(content)["detail"])


def cases() -> Iterator[Case]:
    """All inputs that are asked rather than read."""
    yield from _lines()
    yield from _calls()
    yield from _settings()
    yield from _about()
    yield from _requests()
