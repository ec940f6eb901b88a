"""Training sets from each source, held against what the sources say themselves."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import ir_datasets
import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.base.spans import Span
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.retrievers.cross import CrossEncoder
from irtoolkit.retrievers.task import load_task
from irtoolkit.runs import Run
from irtoolkit.training.duplicates import words_of
from irtoolkit.training.recipes import Stage
from irtoolkit.training.sets import build_training_set
from irtoolkit.training.training_set import TrainingSet
from tests.datasets import register
from tests.tiny import save

SAMPLES = [
    ("relic/sample/train/4-4", "masked:<mask>", "default"),
    ("quoter/sample/en/train", "left", "default"),
    ("egret/sample/train", "default", "default"),
    ("plotretrieval/sample/train", "default", "default"),
    ("plotretrieval/sample/train/book", "text", "text"),
    ("csfcube/sample", "title+abstract", "title+abstract"),
]
RELIC = "relic/sample/train/4-4"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


# -- datasets ---------------------------------------------------------------------------------


DOCS = {f"d{i}": f"alpha{i} beta{i} gamma{i} delta{i}" for i in range(8)}
ASKED = {"q1": "first", "q2": "second", "q3": "third"}
GOLDS = [("q2", "d5", 1), ("q1", "d0", 2), ("q1", "d3", 1), ("q3", "d0", 0)]


def relevant(dataset_id: str) -> list[tuple[str, str]]:
    rows = ir_datasets.load(dataset_id).qrels_iter()
    return sorted((row.query_id, row.doc_id) for row in rows if row.relevance > 0)


def pairs(rows: TrainingSet) -> list[tuple[str, str]]:
    docs = rows.doc_ids[rows.golds]
    return sorted(zip(rows.query_ids, docs, strict=True))


def pools_of(dataset_id: str) -> dict[str, set[str]]:
    found = Dataset.load(dataset_id).candidates()
    return {query: {*docs} for queries, docs in found for query in queries}


def test_queries_without_a_judged_gold_are_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    plots = "plotretrieval/sample/train"
    about = Dataset.load(plots).about
    assert about is not None
    assert about.gold_of is not None
    gold_of = about.gold_of
    lost = pairs(build_training_set(Stage(dataset=plots, pairs="one")))[0][0]
    monkeypatch.setitem(
        vars(about), "gold_of", lambda query: "" if query.query_id == lost else gold_of(query)
    )
    rows = build_training_set(Stage(dataset=plots, pairs="one"))
    assert lost not in {name for name, _ in pairs(rows)}
    assert "pairs=one: 1 of " in caplog.text


def test_one_pair_of_each_query_is_that_of_its_gold(tmp_path: Path) -> None:
    """PlotRetrieval's pairs: the plot passage itself. The chunks that overlap it are no negatives."""
    plots = "plotretrieval/sample/train"
    rows = build_training_set(Stage(dataset=plots, pairs="one"))
    asked = {query.query_id: query.spans[0] for query in ir_datasets.load(plots).queries_iter()}
    assert pairs(rows) == sorted(asked.items())
    assert len(relevant(plots)) > len(asked)
    whole = {(name, doc) for name, doc in relevant(plots)}
    # A run with every document: the highest that is not relevant is mined.
    docs = [doc.doc_id for doc in ir_datasets.load(plots).docs_iter()]
    best = [(name, doc) for name in asked for doc in docs]
    run = tmp_path / "all.run"
    ranked = sorted(best, key=lambda row: (row[0], row not in whole))
    Run.from_rows((name, doc, float(-i)) for i, (name, doc) in enumerate(ranked)).write(run)
    stage = Stage(dataset=plots, pairs="one", negatives="mined", count=3, run=str(run))
    mined = build_training_set(stage)
    assert mined.negatives is not None
    for row, name in enumerate(mined.query_ids):
        found = {(name, doc) for doc in mined.doc_ids[mined.negatives[row]]}
        assert len(found) == 3
        assert not found & whole
    # Where each query has one relevant document, it needs no name.
    assert pairs(build_training_set(Stage(dataset=RELIC, pairs="one"))) == relevant(RELIC)
    with pytest.raises(InputError, match=r"pairs=one, and query \S+ of csfcube/sample has several"):
        build_training_set(Stage(dataset="csfcube/sample", pairs="one"))


@pytest.mark.parametrize(("dataset_id", "query", "doc"), SAMPLES)
def test_what_a_dataset_bars(dataset_id: str, query: str, doc: str) -> None:
    rows = build_training_set(Stage(dataset=dataset_id, query=query, doc=doc, loss="all", near=0.5))
    words = [words_of(text) for text in rows.docs]
    spans = []
    for name in rows.doc_ids:
        try:
            spans.append(Span.parse(name))
        except InputError:
            spans.append(None)

    def meet(one: Span | None, two: Span | None) -> bool:
        if one is None or two is None or one.book != two.book:
            return False
        return one.start < two.stop and two.start < one.stop

    for row in range(len(rows)):
        golds = {
            int(g)
            for g, q in zip(rows.golds, rows.query_of, strict=True)
            if q == rows.query_of[row]
        }
        assert rows.excluded(row).tolist() == [
            doc
            for doc in range(len(rows.docs))
            if any(
                doc == gold
                or len(words[doc] & words[gold]) / len(words[doc] | words[gold]) >= 0.5
                or meet(spans[doc], spans[gold])
                for gold in golds
            )
        ]


def test_a_split_without_relevant_documents() -> None:
    name = register(DOCS, ASKED, qrels=[("q1", "d1", 0), ("q2", "d1", -1)])
    with pytest.raises(InputError, match=f"{name} has no judged query with a relevant document"):
        build_training_set(Stage(dataset=name))
    with pytest.raises(InputError, match="relic/sample/test/4-4 has no qrels"):
        build_training_set(Stage(dataset="relic/sample/test/4-4"))


@pytest.mark.parametrize("doc", ["d7", "nowhere"])
def test_a_gold_that_is_no_candidate(doc: str) -> None:
    pools = {"q1": ["d0", "d1"], "q2": ["d2", "d7"], "q3": ["d1"]}
    name = register(DOCS, ASKED, pools, [("q2", "d2", 1), ("q1", doc, 1)])
    with pytest.raises(
        InputError, match=f"document {doc} is relevant to query q1 of {name} and not among"
    ):
        build_training_set(Stage(dataset=name))


def test_too_few_candidates() -> None:
    pools = {"q1": ["d0", "d3", "d1"], "q2": [*DOCS], "q3": ["d1"]}
    name = register({**DOCS, "d1": "alpha0 beta0 gamma0 delta0"}, ASKED, pools, GOLDS)
    stage = Stage(dataset=name, negatives="random")
    # Of three candidates two are golds, and the third has the words of one.
    near = replace(stage, count=1, near=0.8)
    with pytest.raises(
        InputError, match=r"query q1 with document d0 of .* has 0 candidates that may"
    ):
        build_training_set(near)
    for bar in (1.5, None):
        rows = build_training_set(replace(near, near=bar))
        assert {*rows.doc_ids[rows.excluded(0)]} == {"d0", "d3"}
        with pytest.raises(InputError, match=r"has 1 candidate that may be negatives, and count=2"):
            build_training_set(replace(near, count=2, near=bar))


# -- the cache --------------------------------------------------------------------------------


def test_everything_that_decides_rows_is_in_the_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = mining_run(tmp_path)
    stage = Stage(dataset=RELIC, near=0.9)
    stages = [
        stage,
        replace(stage, query="masked"),
        replace(stage, doc="book"),
        replace(stage, dataset="relic/sample/train/1-1"),
        replace(stage, loss="all"),
        replace(stage, near=0.1, loss="all"),
        replace(stage, near=None, loss="all"),
        replace(stage, negatives="mined", count=2, run=run),
        replace(stage, negatives="mined", count=3, run=run),
        replace(stage, source="surroundings"),
        replace(stage, source="surroundings", around=2),
        replace(stage, source="surroundings", length=2),
    ]
    found = [build_training_set(each).fingerprint for each in stages]
    assert len(set(found)) == len(stages)
    # And nothing else: not the place of the cache, nor how it is trained.
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "another"))
    assert build_training_set(replace(stage, rate=0.1, epochs=9, batch=2)).fingerprint == found[0]


# -- using a set ------------------------------------------------------------------------------


# -- mined negatives --------------------------------------------------------------------------


def mining_run(folder: Path) -> str:
    """Every candidate of every query of RELiC's sample, in the order of their ids' hashes."""
    rows = [
        (query, doc, float(hash_of(query + doc)))
        for query, docs in pools_of(RELIC).items()
        for doc in docs
    ]
    path = folder / "mined.run"
    Run.from_rows(rows).write(path)
    return str(path)


def hash_of(text: str) -> int:
    return sum(ord(c) * (i + 7) for i, c in enumerate(text)) % 997


@pytest.mark.parametrize("whole", [False, True])
def test_mined_negatives(tmp_path: Path, whole: bool) -> None:
    run = mining_run(tmp_path)
    stage = Stage(dataset=RELIC, negatives="mined", count=4, run=run, depth=40)
    rows = build_training_set(replace(stage, loss="all") if whole else stage)
    everything = build_training_set(replace(stage, negatives="none", count=0, run=None, loss="all"))
    assert rows.negatives is not None
    assert rows.negatives.shape == (len(rows), 4)
    ranking = Run.read(run)
    used = {*rows.golds.tolist(), *rows.negatives.ravel().tolist()}
    if not whole:
        assert used == {*range(len(rows.docs))}
    assert list(rows.query_ids) == list(everything.query_ids)
    for row in range(len(rows)):
        barred = {*everything.doc_ids[everything.excluded(row)]}
        listed = [hit.doc_id for hit in ranking.ranking(rows.query_ids[row])[:40]]
        expected = [name for name in listed if name not in barred][:4]
        assert rows.doc_ids[rows.negatives[row]].tolist() == expected
        # What is barred and has a text here is the same, whatever else has one.
        assert {*rows.doc_ids[rows.excluded(row)]} == barred & {*rows.doc_ids}
    last = rows.select(np.array([len(rows) - 1, 0]))
    assert last.negatives is not None
    assert last.negatives.tolist() == [rows.negatives[-1].tolist(), rows.negatives[0].tolist()]
    texts = dict(zip(everything.doc_ids, everything.docs, strict=True))
    assert list(rows.docs) == [texts[name] for name in rows.doc_ids]


def mined(tmp_path: Path, rows: list[tuple[str, str]], **how: Any) -> TrainingSet:
    pools = {"q1": ["d0", "d3", "d1", "d2"], "q2": [*DOCS], "q3": ["d1"]}
    name = register(DOCS, ASKED, pools, GOLDS)
    path = tmp_path / "small.run"
    Run.from_rows((q, d, -float(i)) for i, (q, d) in enumerate(rows)).write(path)
    return build_training_set(
        Stage(dataset=name, negatives="mined", run=str(path), **{"count": 1, **how})
    )


def test_runs_that_are_not_the_datasets(tmp_path: Path) -> None:
    good = [("q1", "d3"), ("q1", "d1"), ("q2", "d5"), ("q2", "d4"), ("q2", "d6"), ("q3", "d1")]
    rows = mined(tmp_path, good)
    assert rows.negatives is not None
    assert rows.doc_ids[rows.negatives].tolist() == [["d1"], ["d1"], ["d4"]]
    assert rows.doc_ids.tolist() == ["d0", "d3", "d1", "d4", "d5"]
    for row, message in (
        (("q8", "d1"), "query q8 of the run irtoolkit is not in"),
        (("q1", "d99"), "document d99 of the run irtoolkit is not in"),
        (("q1", "d7"), "document d7 of the run irtoolkit is no candidate of query q1"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            mined(tmp_path, [*good, row])
        assert caught.value.file == str(tmp_path / "small.run")


def test_runs_that_are_too_short(tmp_path: Path) -> None:
    good = [("q1", "d3"), ("q1", "d1"), ("q2", "d5"), ("q2", "d4"), ("q2", "d6")]
    for how, message in (
        (
            {"count": 2},
            "only 1 of the first 100 documents of query q1 may be its negatives, and count=2",
        ),
        (
            {"depth": 1},
            "only 0 of the first 1 document of query q1 may be its negatives, and count=1",
        ),
    ):
        with pytest.raises(InputError, match=message):
            mined(tmp_path, good, **how)
    with pytest.raises(InputError, match="only 0 of the first 100 documents of query q2 may be"):
        mined(tmp_path, good[:2])
    with pytest.raises(InputError, match="depth 0"):
        mined(tmp_path, good, depth=0)
    with pytest.raises(InputError, match="no such file"):
        build_training_set(
            Stage(dataset=RELIC, negatives="mined", count=1, run=str(tmp_path / "none.run"))
        )


# -- settings ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        (Stage(), "source=dataset without dataset"),
        (Stage(dataset=RELIC, query="title"), "RelicQuery has no text field 'title'"),
        (Stage(dataset=RELIC, negatives="random"), "negatives=random with count=0"),
        (Stage(dataset=RELIC, count=4), "negatives=none with count=4"),
        (Stage(dataset=RELIC, run="x.run"), "run=x.run without negatives=mined"),
        (Stage(dataset=RELIC, teacher="x", negatives="random", count=1), "a teacher with negatives=random"),
        (Stage(source="examples", file="a", negatives="mined", count=1, run="x"), "for which there are no runs"),
        (Stage(source="triples", file="a", negatives="random", count=1), "has one negative"),
        (Stage(source="triples", file="a", run="x"), "has one negative"),
        (Stage(source="surroundings", dataset=RELIC, around=0), "around=0 sentences"),
        (Stage(source="surroundings", dataset="csfcube/sample"), "are not passages of books"),
        (Stage(source="surroundings", dataset=RELIC, negatives="mined", count=1), "there are no runs"),
    ],
)  # fmt: skip
def test_settings_that_do_not_fit(stage: Stage, message: str) -> None:
    with pytest.raises(InputError, match=message):
        build_training_set(stage)


# -- examples ---------------------------------------------------------------------------------

PROSE = """
Light carries far. For example, a lamp on a hill is seen for miles. So it was used by sailors.

Some birds travel every year (e.g. swallows and storks), and some stay. They find their way.
"""


@pytest.mark.parametrize("name", ["examples.jsonl", "examples.jsonl.gz"])
def test_examples(name: str, tmp_path: Path, irtoolkit: Callable[..., Any], write: Callable[..., Path]) -> None:  # fmt: skip
    file = tmp_path / name
    assert irtoolkit("extract", "examples", write("prose.txt", PROSE), "-o", file).status == 0
    data = file.read_bytes()
    lines = (gzip.decompress(data) if name.endswith(".gz") else data).decode().splitlines()
    known = [json.loads(line) for line in lines]
    assert len(known) == 2
    for query, expected in (
        ("default", [f"{e['left']} {e['right']}" for e in known]),
        ("context", [f"{e['left']} {e['right']}" for e in known]),
        ("left", [e["left"] for e in known]),
        ("masked:<mask>", [f"{e['left']} <mask> {e['right']}" for e in known]),
        ("masked-left:<mask>", [f"{e['left']} <mask>" for e in known]),
        ("masked-left", [f"{e['left']} [MASK]" for e in known]),
    ):
        rows = build_training_set(Stage(source="examples", file=str(file), query=query))
        assert list(rows.queries) == expected
        assert list(rows.docs) == [e["text"] for e in known]
        assert rows.query_ids.tolist() == rows.doc_ids.tolist() == [e["id"] for e in known]
        assert rows.golds.tolist() == [0, 1]
        assert rows.groups.tolist() == [0, 0]
        assert rows.pool(1).tolist() == [0, 1]
        assert rows.what == name


EXAMPLE = {"id": "a:1", "text": "For example, this.", "left": "Before.", "right": "After."}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("[1]", "not a JSON object"),
        (json.dumps({**EXAMPLE, "text": 3}), "no text in the field 'text'"),
        (json.dumps({k: v for k, v in EXAMPLE.items() if k != "left"}), "no text in the field 'left'"),
        (json.dumps({**EXAMPLE, "text": " "}), "an example without text"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)  # fmt: skip
def test_lines_that_are_no_examples(line: str | bytes, message: str, write: Callable[..., Path]) -> None:  # fmt: skip
    bad = line if isinstance(line, bytes) else line.encode()
    path = write("bad.jsonl", json.dumps(EXAMPLE).encode() + b"\n\n" + bad + b"\n")
    with pytest.raises(InputError, match=message) as caught:
        build_training_set(Stage(source="examples", file=str(path)))
    assert (caught.value.file, caught.value.line) == (str(path), 3)
    assert caught.value.remedy
    assert "release" not in caught.value.remedy


# -- triples ----------------------------------------------------------------------------------


def triples(write: Callable[..., Path], lines: list[Any], **how: Any) -> TrainingSet:
    path = write("triples.jsonl", "\n".join(json.dumps(line) for line in lines))
    return build_training_set(Stage(source="triples", file=str(path), **how), join="[SEP]")


def triple(query: Any, positive: Any, negative: Any) -> dict[str, Any]:
    return {"query": query, "positive": positive, "negative": negative}


def shown(rows: TrainingSet) -> list[tuple[str, str, str]]:
    assert rows.negatives is not None
    return [
        (rows.queries[i], rows.docs[int(rows.golds[i])], rows.docs[int(rows.negatives[i, 0])])
        for i in range(len(rows))
    ]


def test_triples_of_objects(write: Callable[..., Path]) -> None:
    def paper(name: str) -> dict[str, Any]:
        return {"title": f"On {name}", "abstract": [f"{name} is.", f"We do {name}."], "year": 7}

    lines = [triple(paper("a"), paper("b"), paper("c")), triple(paper("b"), paper("c"), paper("a"))]
    rows = triples(write, lines, query="title+abstract", doc="title")
    assert shown(rows) == [
        ("On a[SEP]a is.[SEP]We do a.", "On b", "On c"),
        ("On b[SEP]b is.[SEP]We do b.", "On c", "On a"),
    ]
    for how, message in (
        ({}, "query: an object, whose text is in its fields"),
        ({"query": "title", "doc": "body"}, "positive: _Fields has no text field 'body'"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            triples(write, lines, **how)
        assert caught.value.line == 1


def test_triples_of_ids(write: Callable[..., Path]) -> None:
    store = ir_datasets.load("csfcube/sample").docs_store()
    names = [doc.doc_id for doc in ir_datasets.load("csfcube/sample").docs_iter()][:5]

    def text(name: str) -> str:
        doc = store.get(name)
        return f"{doc.title}[SEP]{doc.abstract}"

    how = {"dataset": "csfcube/sample", "query": "title", "doc": "title+abstract"}
    lines = [names[:3], [names[3], names[1], names[4]]]
    rows = triples(write, [triple(*line) for line in lines], **how)
    assert shown(rows) == [(store.get(q).title, text(p), text(n)) for q, p, n in lines]
    assert rows.doc_ids.tolist() == [names[1], names[2], names[4]]
    assert rows.query_ids.tolist() == [names[0], names[3]]
    for bad, message in (
        (triple(names[0], "nobody", names[1]), "no document nobody in the dataset"),
        (triple(names[0], {"title": "x"}, names[1]), "positive is {'title': 'x'}"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            triples(write, [triple(*lines[0]), bad], **how)
        assert caught.value.line == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ([1], "not a JSON object"),
        ({"query": "q", "positive": "p"}, "no 'negative'"),
        (triple("q", "p", 7), "negative is 7"),
        (triple("q", " ", "n"), "positive has no text"),
        (triple("q", "p", "p"), "the negative is relevant to its query"),
        (triple("other", "n1 n2 n3 n4 n5", "N1 n2, n3 n4, n5"), "the negative is relevant to its query"),
        (triple("good q", "another", "good p"), "the negative is relevant .* the same on 0 more lines"),
    ],
)  # fmt: skip
def test_lines_that_are_no_triples(line: Any, message: str, write: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match=message) as caught:
        triples(write, [triple("good q", "good p", "bad n"), line], near=0.8)
    assert (Path(str(caught.value.file)).name, caught.value.line) == ("triples.jsonl", 2)


# -- surroundings -----------------------------------------------------------------------------


def sentences_of(dataset_id: str) -> dict[str, dict[int, str]]:
    books: dict[str, dict[int, str]] = {}
    for doc in ir_datasets.load(dataset_id).docs_iter():
        for place, sentence in enumerate(doc.sentences, doc.start):
            books.setdefault(doc.book, {})[place] = sentence
    return books


@pytest.mark.parametrize("dataset_id", ["relic/sample/train", "plotretrieval/sample/val"])
@pytest.mark.parametrize(("around", "length"), [(4, 1), (1, 3), (2, 2)])
def test_surroundings(dataset_id: str, around: int, length: int) -> None:
    stage = Stage(source="surroundings", dataset=dataset_id, around=around, length=length)
    rows = build_training_set(replace(stage, query="masked:[M]"))
    books = sentences_of(dataset_id)
    expected = []
    for number, (book, known) in enumerate(books.items()):
        assert sorted(known) == [*range(len(known))]  # so that passages begin at multiples
        for start in range(0, len(known) - length + 1, length):
            text = " ".join(known[i] for i in range(start, start + length))
            left = " ".join(known[i] for i in range(max(0, start - around), start))
            after = range(start + length, min(len(known), start + length + around))
            right = " ".join(known[i] for i in after)
            if len(words_of(text)) >= 5:
                query = f"{left} [M] {right}".strip()
                expected.append((f"{book}:{start}+{length}", query, text, number))
    found = zip(rows.query_ids, rows.queries, rows.docs, rows.groups.tolist(), strict=True)
    assert list(found) == expected
    assert rows.doc_ids.tolist() == rows.query_ids.tolist()
    for row in range(len(rows)):
        assert rows.pool(row).tolist() == np.flatnonzero(rows.groups == rows.groups[row]).tolist()
    left_only = build_training_set(replace(stage, query="left"))
    assert all(q.startswith(part) for q, part in zip(rows.queries, left_only.queries, strict=True))


# -- a teacher --------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [1, 2])
def test_a_teachers_scores(labels: int, tmp_path: Path) -> None:
    name = register(DOCS, ASKED, qrels=GOLDS)
    model = str(
        save(tmp_path / "model", "BertForSequenceClassification", DOCS.values(), num_labels=labels)
    )
    run = tmp_path / "all.run"
    Run.from_rows((q, d, float(i)) for q in ASKED for i, d in enumerate(DOCS)).write(run)
    stage = Stage(dataset=name, negatives="mined", count=3, run=str(run))
    plain = build_training_set(stage)
    rows = build_training_set(replace(stage, teacher=model))
    assert rows.scores is not None
    assert rows.negatives is not None
    assert rows.scores.shape == (3, 4)
    assert rows.scores.dtype == np.float32
    task = load_task(name)
    scorer = CrossEncoder(model=model).scorer(task)(task.groups[0].docs)
    place = {doc: i for i, doc in enumerate(task.doc_ids)}
    for row in range(3):
        docs = rows.doc_ids[[rows.golds[row], *rows.negatives[row]]]
        query = np.flatnonzero(task.query_ids == rows.query_ids[row])
        expected = np.asarray(scorer(query))[0, [place[doc] for doc in docs]]
        np.testing.assert_allclose(rows.scores[row], expected, rtol=1e-5)
    assert rows.fingerprint != plain.fingerprint
    assert rows.select(np.array([1])).scores.tolist() == [rows.scores[1].tolist()]  # type: ignore[union-attr]


def test_models_that_cannot_teach(tmp_path: Path) -> None:
    stage = Stage(dataset=register(DOCS, ASKED, qrels=GOLDS), teacher="no/such/model")
    with pytest.raises(InputError, match="has no negatives to score"):
        build_training_set(stage)
    run = tmp_path / "all.run"
    Run.from_rows((q, d, float(i)) for q in ASKED for i, d in enumerate(DOCS)).write(run)
    stage = replace(stage, negatives="mined", count=1, run=str(run))
    with pytest.raises(InputError, match="no/such/model"):
        build_training_set(stage)
    three = str(
        save(tmp_path / "three", "BertForSequenceClassification", DOCS.values(), num_labels=3)
    )
    with pytest.raises(InputError, match="has 3 classes"):
        build_training_set(replace(stage, teacher=three))
