"""The files of the five benchmarks' releases, and strict JSON, which four of them are."""

from __future__ import annotations

import csv
import io
import json
from functools import cache
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.datasets import (
    csfcube_release,
    egret_release,
    long_context_relic_release,
    plotretrieval_release,
    quoter_release,
    relic_release,
    strictjson,
)
from irtoolkit.datasets.cache import CacheWriter
from tests.fuzz.target import Rows, Target, one_word, put, scratch
from tests.property.datasets.test_strictjson import plain
from tests.unit.datasets.test_loaders_damage import EGRET, PLOT, QUOTER, relic_text

# What separates the files of a release of several, in an input.
_NEXT = b"\n\x1d\n"


def _json(data: bytes) -> None:
    """Each of the three readers takes what Python's json takes, less keys that are there twice."""
    path = put("x.json", data)
    value, error = _read(lambda: strictjson.read_json_file(path))
    members, refused = _read(lambda: list(strictjson.read_members(path, "an object")))
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        assert error is not None
        assert refused is not None
        raise error from None
    try:
        wanted = plain(text.replace("\r\n", "\n"))
    except RecursionError:
        wanted = None
    if wanted is not None:
        assert refused is None, f"refused, and it is JSON: {refused}"
        assert repr({key: item for _, key, item in members}) == repr(wanted)
        if "\r" not in text:
            assert repr(value) == repr(wanted), error
    else:
        assert refused is not None, f"{members!r} of what is no JSON"
        assert error is not None or not isinstance(value, dict)
    _lines(data, text)
    if error is not None:
        raise error


def _lines(data: bytes, text: str) -> None:
    """JSON lines are what json makes of each line."""
    rows, error = _read(lambda: list(strictjson.read_jsonl(put("x.jsonl", data))))
    if error is None:
        lines = [line for line in text.split("\n") if line.strip()]
        assert [repr(row) for _, row in rows] == [repr(json.loads(line)) for line in lines]


def _read(read: Any) -> tuple[Any, InputError | None]:
    try:
        return read(), None
    except InputError as error:
        return None, error


def _relic(data: bytes) -> None:
    for hidden in (False, True):
        out = Rows(relic_release.SCHEMAS)
        try:
            relic_release._parse(put("relic.json", data), hidden, _as_writer(out))
        except InputError:
            if hidden:
                raise
            continue
        out.check()
        one_word(row[0] for row in out.tables["windows"])
        sizes = [size for _, size in out.tables["books"]]
        assert sum(sizes) == len(out.tables["sentences"])
        for _, book, length, gold, _, _ in out.tables["windows"]:
            assert (gold is None) == hidden
            assert hidden or 0 <= gold <= sizes[book] - length
        return


def _long_context(data: bytes) -> None:
    examples, _, books = data.partition(_NEXT)
    out = Rows(long_context_relic_release._SCHEMAS)
    paths = (put("examples.csv", examples), put("books.json", books))
    long_context_relic_release._parse(*paths, _as_writer(out))
    out.check()
    one_word(name for name, _ in out.tables["books"])
    sizes = [size for _, size in out.tables["books"]]
    assert sum(sizes) == len(out.tables["sentences"])
    for _, book, length, start, left, right in out.tables["windows"]:
        assert length > 0 <= start <= sizes[book] - length
        assert left or right


def _quoter(data: bytes) -> None:
    out = Rows(quoter_release._SCHEMAS)
    quoter_release._parse(put("quoter.txt", data), False, _as_writer(out))
    out.check()
    quotes = [row[0] for row in out.tables["quotes"]]
    text = data.decode().removeprefix("\ufeff")
    if "\r" not in text:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter="\t", quoting=csv.QUOTE_NONE)
        read = [tuple(field.strip() for field in row) for row in rows]
        assert [(left, quotes[quote], right) for left, quote, right in out.tables["contexts"]] == read  # fmt: skip


def _egret(data: bytes) -> None:
    out = Rows(egret_release._SCHEMAS)
    egret_release._parse([put("egret.jsonl", data)], _as_writer(out))
    out.check()
    one_word(row[0] for row in out.tables["units"])
    assert out.tables["splits"] == [(len(out.tables["units"]), len(_lines_of(data)))]


def _lines_of(data: bytes) -> list[str]:
    return [line for line in data.decode().split("\n") if line.removeprefix("\ufeff").strip()]


def _plot(data: bytes) -> None:
    queries, _, books = data.partition(_NEXT)
    inn, _, bar = books.partition(_NEXT)
    (scratch() / "books").mkdir(exist_ok=True)
    for name, content in (("inn", inn), ("bar", bar)):
        put(f"books/{name}.json", content)
    out = Rows(plotretrieval_release._SCHEMAS)
    path = put("queries.jsonl", queries)
    plotretrieval_release._parse(scratch(), path, _as_writer(out))
    out.check()
    one_word(row[0] for row in out.tables["queries"])
    for _, _, book, spans in out.tables["queries"]:
        size = out.tables["books"][book][1]
        assert all(0 <= start < stop <= size for start, stop in spans)


def _as_writer(out: Rows) -> CacheWriter:
    return out  # type: ignore[return-value]


def _csfcube(data: bytes) -> None:
    """A release of one query, of which each file may be changed."""
    parts = data.split(_NEXT)
    folder = scratch() / "csfcube"
    folder.mkdir(exist_ok=True)
    for name, content in zip(_tiny_csfcube(), [*parts, *[b""] * 7], strict=False):
        (folder / name).write_bytes(content)
    try:
        release = csfcube_release.read_csfcube.__wrapped__(folder, False)
    except InputError:
        release = csfcube_release.read_csfcube.__wrapped__(folder, True)
    one_word(release.docs)
    one_word(query.query_id for query in release.queries)
    names = {query.query_id for query in release.queries}
    assert names == set(release.qrels)
    for facet, folds in release.folds.items():
        listed = sorted(name for fold in folds for name in fold)
        assert listed == sorted(n for n in names if facet == "all" or n.endswith(f"_{facet}"))
    for rows in release.qrels.values():
        assert all(row.doc_id in release.docs and 0 <= row.relevance <= 3 for row in rows)


@cache
def _tiny_csfcube() -> dict[str, str]:
    """The files of a release with two papers and one query of each facet."""
    papers = [
        {"paper_id": name, "metadata": {"year": 2019}, "title": f"On {name}",
         "abstract": ["Why.", "How.", "What."],
         "pred_labels": ["background_label", "method_label", "result_label"]}
        for name in ("p1", "p2")
    ]  # fmt: skip
    facets = ("background", "method", "result")
    pool = {"p1": {"cands": ["p2"], "cand_source": [["tfidf"]]}}
    grades = {"p1": {"cands": ["p2"], "relevance_adju": [2], "relevance_ann1": [1], "relevance_ann2": [-1]}}  # fmt: skip
    pool["p2"] = {"cands": ["p1"], "cand_source": [["specter"]]}
    grades["p2"] = {"cands": ["p1"], "relevance_adju": [0], "relevance_ann1": [0], "relevance_ann2": [3]}  # fmt: skip
    folds = {f: {"fold1_test": [f"p1_{f}"], "fold2_test": [f"p2_{f}"]} for f in facets}
    folds["all"] = {f"fold{i}_test": [f"p{i}_{f}" for f in facets] for i in (1, 2)}
    rows = [f"{p},{f},2019,On {p},a type\n" for p in ("p1", "p2") for f in facets]
    return {
        csfcube_release.ABSTRACTS: "".join(json.dumps(paper) + "\n" for paper in papers),
        csfcube_release.POOLS: json.dumps(pool),
        **{csfcube_release.ANNOTATIONS.format(facet): json.dumps(grades) for facet in facets},
        csfcube_release.QUERIES: "pid,facet,year,title,paper type\n" + "".join(rows),
        csfcube_release.SPLITS: json.dumps(folds),
    }


_TINY_RELIC = (
    b'{"inn": {"quotes": {"w1": [["A."], 1, 1, ["B."]], "w2": [[], 0, 2, ["C."]]}, "sentences":'
    b' ["One.", "Two.", "Three."], "candidates": {"1_sentence": [0, 1, 2], "2_sentences": [0]}}}'
)
_EXCERPTS = (
    b"book_title,prefix,suffix,answer_quote_text,answer_quote_idx,num_sents,close_reading_example,human_eval_set,response_m,response_m_ERROR\n"
    b'inn,"A, a:",B.,Two.,1,1,TRUE,,Two.,\ninn,,"C. ""c""\n",One. Two.,0.0,2.0,FALSE,TRUE,,long\n'
)
_INNS = b'{"inn": ["One.", "Two.", "Three."], "A bar": []}'
_QUERIES = b'{"query_id": "p1", "book": "inn", "query": "regret", "spans": [[0, 1], [1, 3]]}\n'
_INN = b'{"book": "inn", "sentences": ["A.", "B.", "C."]}'
_BAR = b'{"book": "bar", "sentences": ["A."]}'
_KILT = b'{"id": "t1", "input": "What?", "output": [{"answer": "So. For example, this. Yes."}, {"provenance": []}]}\n'  # fmt: skip

TARGETS = (
    Target(
        "strict-json", _json,
        (b'{"a": [1, 2.5, null, true], "b": {"c": "d", "e": "\\u00e9\\ud83d\\ude00"}}', b'{"a": 1}\n{"b": 2}\n', b' [1e5, -0, "x"] ', b"{}"),
        (b'"a"', b'"\\ud83d"', b"NaN", b"-Infinity", b"1e400", b"01", b"true", b"null", b'"\\u0000"', b"1" * 5000),
    ),
    Target("relic", _relic, (_TINY_RELIC, relic_text().encode(), _TINY_RELIC.replace(b"1, 1, [", b"null, 1, [").replace(b"0, 2, [", b"null, 2, [")), (b"null", b"1_sentence", b"5_sentences", b"0", b"12", b'"w1"')),
    Target("long-context-relic", _long_context, (_EXCERPTS + _NEXT + _INNS,), (b"inn", b'"', b",", b"-1", b"9", b"1.0", b"TRUE", b"nan", b"A bar", b"\n")),
    Target("csfcube", _csfcube, (_NEXT.join(text.encode() for text in _tiny_csfcube().values()),), (b"p1", b"p2", b"p1_method", b"method", b"-1", b"4", b"fold1_test", b"_", b","), True),
    Target("quoter", _quoter, (QUOTER.files["english.txt"].encode(), "左\t引文\t右\n".encode(), b"a\tb\t\n"), (b"\t", b"left\t", b"\n\n")),
    Target("egret", _egret, (_KILT, EGRET.files["eli5-train-kilt.jsonl"].encode()), (b"For example, ", b"e.g. ", b"such as ", b"(", b")", b". ", b'"answer"', b"t1")),
    Target("plotretrieval", _plot, (_QUERIES + _NEXT + _INN + _NEXT + _BAR, _NEXT.join(PLOT.files[name].encode() for name in ("queries-val.jsonl", "books/inn.json", "books/bar.json"))), (b'"inn"', b'"bar"', b"[0, 1]", b'"../inn"', b'"books/inn"')),
)  # fmt: skip
