"""Arguments of another type or beyond a limit, for Python's functions and the commands."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import irtoolkit as ir
from irtoolkit.runs import Run
from tests.fuzz import api
from tests.inputs.asked import asked, post
from tests.inputs.case import Case

_S = "csfcube/sample"
_Q: dict[str, dict[str, int]] = {"q1": {"a": 1}}
_R: Any = {"q1": {"a": 1.0, "b": 0.5}}
_T: Any = {"q1": {"a": 2}}
_HUGE = 10**400
_QRELS, _RUN = b"q1 0 a 1\nq1 0 b 0\n", b"q1 Q0 a 1 2.0 t\nq1 Q0 b 2 1.0 t\n"
_OTHER = b"q1 Q0 b 1 2.0 u\nq1 Q0 a 2 1.0 u\n"
_FILES = {"q.qrels": _QRELS, "a.run": _RUN, "b.run": _OTHER, "folder/file": b"", "file": b""}


def _fuse(**given: Any) -> Callable[[], Any]:
    return lambda: ir.fuse(_R, _T, **given)


def _weighted(**given: Any) -> Callable[[], Any]:
    return _fuse(**{"method": "weighted", "weights": [1, 2], **given})


def _tune(**given: Any) -> Callable[[], Any]:
    return lambda: ir.tune_fusion(_Q, _R, _T, **given)


def _export(*given: Any, **more: Any) -> Callable[[], Any]:
    return lambda: ir.export(_S, *given, **more)


# A call that is refused, and a word of the message.
CALLS: tuple[tuple[str, Callable[[], Any], str], ...] = (
    ("a list of methods to fuse by", _fuse(method=["rrf"]), "method"),
    ("k of 401 digits", _fuse(k=_HUGE), "k"),
    ("a depth that is a word", _fuse(depth="3"), "depth"),
    ("a depth between", _fuse(depth=2.5), "depth"),
    ("a depth of True", _fuse(depth=True), "depth"),
    ("learned from a number", _fuse(learned=5), "learned"),
    ("learned from a mapping", _fuse(learned={"method": "rrf"}), "learned"),
    ("a tag that is a number", _fuse(tag=3), "tag"),
    ("weights of None", _weighted(weights=None), "weights"),
    ("one weight", _weighted(weights=1), "weights"),
    ("a weight of 401 digits", _weighted(weights=[1, _HUGE]), "weight"),
    ("weights by run", _weighted(weights={1: 0.9, 3: 0.1}), "weights"),
    ("weights in a word", _weighted(weights="91"), "weights"),
    ("normalised by None", _weighted(normalise=None), "normalisation"),
    ("normalised by a number", _fuse(method="combsum", normalise=5), "normalisation"),
    ("normalised by a list", _fuse(method="combsum", normalise=["minmax"]), "normalisation"),
    ("measures by a number", lambda: ir.evaluate(_Q, _R, measures={"AP": 1}), "measure"),  # type: ignore[dict-item]
    ("names that are a number", lambda: ir.evaluate(_Q, _R, names=5), "names"),  # type: ignore[arg-type]
    ("candidates that are a number", lambda: ir.load(["a"], queries={"q": "x"}, candidates=5), "candidates"),  # type: ignore[arg-type]
    ("candidates in a word", lambda: ir.load({"a": "x", "b": "y"}, queries={"q": "x"}, candidates={"q": "ab"}), "candidates"),
    ("ids that are a number", lambda: ir.load(["a"], ids=5), "ids"),  # type: ignore[arg-type]
    ("a name that is a number", lambda: ir.load(["a"], name=5), "name"),  # type: ignore[arg-type]
    ("reranked to a word", lambda: ir.rerank(_S, ir.retrieve(_S, "random"), "tfidf", depth="3"), "depth"),  # type: ignore[arg-type]
    ("reranked to a fraction", lambda: ir.rerank(_S, ir.retrieve(_S, "random"), "tfidf", depth=1.5), "depth"),  # type: ignore[arg-type]
    ("tuned by a number of methods", _tune(methods=5), "methods"),
    ("tuned in steps of a word", _tune(step="x"), "step"),
    ("tuned in folds of a word", _tune(folds="x"), "folds"),
    ("tuned over a number", _tune(grid=5), "grid"),
    ("ids in a word", lambda: ir.load(["x", "y"], ids="ab"), "ids 'ab'"),
    ("names in a word", lambda: ir.evaluate(_Q, _R, _T, names="ab"), "names 'ab'"),
    ("tuned over a word", _tune(grid={"k": "12"}), "'12'"),
    ("tuned over one value", _tune(grid={"k": 5}), "k"),
    ("exported as a number", _export(5, "d"), "5"),
    ("exported to a number", _export("beir", 5), "5"),
    ("a split that is a number", _export("beir", "d", split=5), "split"),
    ("a report in a number", lambda: ir.report(_Q, _R, output=5), "5"),  # type: ignore[arg-type]
    ("a report in no file", lambda: ir.report(_Q, _R, output=[]), "file"),
    ("an index at a number", lambda: ir.open_index(5), "5"),  # type: ignore[arg-type]
    ("an index written to a number", lambda: ir.index(["a b"], "bm25", path=5), "5"),  # type: ignore[arg-type]
    ("a run written to a number", lambda: ir.retrieve(_S, "random", output=5), "5"),  # type: ignore[arg-type]
    ("a run read from a number", lambda: Run.read(5), "5"),  # type: ignore[arg-type]
    ("a run kept at a number", lambda: Run.of(_R).write(5), "5"),  # type: ignore[arg-type]
    ("the head to a word", lambda: Run.of(_R).head("x"), "x"),  # type: ignore[arg-type]
    ("the head to -1", lambda: Run.of(_R).head(-1), "-1"),
    ("a run named by a number", lambda: Run.of(_R).named(5), "5"),  # type: ignore[arg-type]
)  # fmt: skip

# A command line that is refused, and a word of the message.
LINES: tuple[tuple[str, str], ...] = (
    *((f"eval q.qrels a.run -m {name}", name.partition(",")[0]) for name in (
        "P.0", "ndcg_cut.0", "recall.0", "map_cut.0", "success.0", "P.5,0",
    )),
    ("compare q.qrels a.run b.run -m P.0", "P.0"),
    ("eval q.qrels a.run -m P.5,", "P.5,"),
    ("eval q.qrels a.run -m P.", "P."),
    ("eval q.qrels a.run -m nDCG@-1", "nDCG@-1"),
    ("eval q.qrels a.run -m AP(rel=-1)", "rel"),
    ("eval q.qrels a.run -m AP(rel=nan)", "rel"),
    ("eval q.qrels a.run -m AP(rel=1,rel=2)", "twice"),
    ("eval q.qrels a.run -m nDCGp(p=101)", "100"),
    ("eval q.qrels a.run -m R@1 Rank", "--measures"),
    ("compare q.qrels a.run b.run -m StdRank", "StdRank"),
    ("check csfcube/sample a.run", "--dataset"),
    ("report q.qrels a.run -o x.html --names ", "name"),
    ("train quoter-lstm quoter/sample/en/train -o out --loaders -1", "loaders"),
    ("train quoter-lstm quoter/sample/en/train -o out --show --loaders -1", "loaders"),
    ("train quoter-lstm quoter/sample/en/train -o out --show --set width=10000000000", "width"),
    ("train quoter-lstm quoter/sample/en/train -o out --show --set epochs=true", "epochs"),
    ("report q.qrels a.run -o x.html --rel -1", "--rel -1"),
    ("tune csfcube/sample bm25 --grid k1=1,2 --seed -1", "--seed -1"),
    ("models ../../etc", "etc"),
    ("models nope/nope/nope", "nope"),
    ("models http://x", "http"),
    ("models --fetch ../x", "x"),
    # Outputs are refused before the work, which is wrong as well.
    (f"retrieve {_S} no-such-system -o folder/", "folder/: cannot write: a folder, not a file"),
    (f"retrieve {_S} bm25 -o -", "/dev/stdout is standard output, ./- a file of this name"),
    (f"rerank {_S} none.run ql -o folder", "folder/name"),
    ("fuse none.run other.run -o new/", "a folder, not a file"),
    (f"tune {_S} bm25 --grid k1=1,2 -o file/x", "file is a file, not a folder"),
    (f"report {_S} none.run -o folder", "a folder, not a file"),
    (f"report {_S} none.run --figures file", "file: cannot write: a file, not a folder"),
    (f"export {_S} qrels -o folder", "a folder, not a file"),
    (f"export {_S} beir -", "'-' names no folder"),
    (f"submit {_S} none.run --form trec -o folder/", "a folder, not a file"),
    (f"eval {_S} a.run --per-query -", "/dev/stdout is standard output"),
    ("convert onnx model -o -", "'-' names no folder"),
    ("reproduce csfcube -o file", "file: cannot write: a file, not a folder"),
    ("train dense-relic -o file", "file: cannot write: a file, not a folder"),
    # What changes nothing, names nothing or lacks its value.
    (f"tune {_S} bm25 --grid k1=1 --inner 0", "--inner is for fusions"),
    (f"tune {_S} bm25 --grid k1=1 --step 0", "--step is for fusions"),
    ("train dense-relic --show --epoch 3", "did you mean --epochs"),
    (f"retrieve {_S} bm25 -o x.run --min-count -1", "no setting 'min_count'"),
    (f"retrieve {_S} bm25 -o x.run --b", "a setting needs a value: --b VALUE"),
    (f"retrieve {_S} bm25 -o x.run --b --k1 1", "a setting needs a value: --b VALUE"),
    (f"eval {_S} bm25 ql", "bm25 is a system, and runs are scored"),
    (f"compare {_S} bm25 ql", "bm25 is a system, and runs are scored"),
    ("help fues", "did you mean fuse?"),
)  # fmt: skip

# What is changed in the log of a search, whose name the message has.
LOGS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("settings that are a list", {"settings": [1]}),
    ("a list of methods", {"method": ["rrf"]}),
    ("k of 401 digits", {"method": "rrf", "settings": {"k": _HUGE}}),
    ("k of true", {"method": "rrf", "settings": {"k": True}}),
    ("normalised by a mapping", {"method": "weighted", "settings": {"weights": [1, 2], "normalise": {"a": 1}}}),
    ("weights by number", {"method": "weighted", "settings": {"weights": {"0": 1, "1": 2}}}),
    ("weights that are words", {"method": "weighted", "settings": {"weights": ["a", "b"]}}),
    ("one weight", {"method": "weighted", "settings": {"weights": [1.0]}}),
    ("a weight that is no number", {"method": "weighted", "settings": {"weights": [float("nan"), 1]}}),
    ("no settings", {"method": "weighted", "settings": {}}),
    ("a setting of another method", {"method": "weighted", "settings": {"weights": [1, 1], "phi": 1}}),
    ("an unknown method", {"method": "rff"}),
    ("runs in a word", {"runs": "ab"}),
    ("runs that are numbers", {"runs": [1, 2]}),
    ("no trees", {"method": "lambdamart", "settings": {}}),
    ("trees of nonsense", {"method": "lambdamart", "settings": {}, "model": "tree\nnonsense"}),
    ("trees of another type", {"method": "lambdamart", "settings": {}, "model": 5}),
    ("a number of trees", {"method": "lambdamart", "settings": {"trees": True}}),
)  # fmt: skip

# A request that is refused, and a word of the message.
REQUESTS: tuple[tuple[str, bytes, str], ...] = (
    ("a depth of true", post("/search", asked(depth=True)), "depth"),
    ("a depth in a text", post("/search", asked(depth="3")), "depth"),
    ("a length of true", post("/search", asked(length=True)), "length"),
    ("judgments of no collection", b"GET /judgments/qrels?collection=nope\n\n", "no such collection"),
)  # fmt: skip


@cache
def _log() -> Any:
    """The log of a search for a fusion."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "tried.json")
        judged, runs = {"q1": {"a": 1}, "q2": {"b": 1}}, [{**_R, "q2": {"b": 1.0, "a": 0.5}}] * 2
        ir.tune_fusion(judged, *runs, methods=["rrf"], grid={"k": [10]}, folds=2, log=log)
        return json.loads(log.read_text("utf-8"))


def cases() -> Iterator[Case]:
    """All of them."""
    for name, call, word in CALLS:
        yield Case("Python", name, lambda _, call=call: call(), refused=word)
    for line, word in LINES:
        yield Case("command lines", line, tuple(line.split(" ")), _FILES, word)
    for name, data, word in REQUESTS:
        yield Case("requests", name, lambda _, data=data: api._request(data), refused=word)
    line = ("fuse", "a.run", "b.run", "-o", "out.run", "--learned", "l.json")
    for name, change in LOGS:
        log = _log()
        text = json.dumps({**log, "learned": {**log["learned"], **change}})
        files = {**_FILES, "l.json": text.encode()}
        yield Case("files of settings", f"log: {name}", line, files, "l.json")
