"""Collections of books: RELiC and PlotRetrieval through ir_datasets, and what both are made of.

What is expected is read from the release's files again, here, with nothing but json and loops.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ir_datasets
import numpy as np
import pytest

import irtoolkit.datasets.books as books
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.books import Book, Passages

SAMPLES = Path(books.__file__).parent / "samples"
SPLITS = ("train", "val", "test")
Change = Callable[[Any], None]
Place = tuple[int, int]  # start and length


def middle(start: int, length: int) -> float:
    return sum(range(start, start + length)) / length


def share(one: Place, other: Place) -> bool:
    return max(one[0], other[0]) < min(sum(one), sum(other))


# ---- books and passages --------------------------------------------------------------------------


LIBRARY = {"b": Book("b", ("x", "y", "z"), {1: np.array([0, 1]), 2: np.array([0])})}
UNKNOWN = [
    "b:01+1",  "b:00+1",   "b:0+3",  "b:0+0",  "c:0+1",
      "b:0",  " b:0+1",  "B:0+1",
    f"b:{'9' * 30}+1",  f"b:{'9' * 5000}+1",
]  # fmt: skip


@pytest.mark.parametrize("doc_id", UNKNOWN)
def test_an_unknown_id(doc_id: str) -> None:
    passages = Passages(LIBRARY)
    with pytest.raises(KeyError) as caught:
        passages[doc_id]
    assert caught.value.args == (doc_id,)
    assert doc_id not in passages
    assert passages.get(doc_id) is None


# ---- RELiC ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Relic:
    """A split file read plainly, and the id under which irtoolkit offers it."""

    name: str
    data: dict[str, Any]

    @property
    def dataset(self) -> Any:
        return ir_datasets.load(self.name)

    def quotes(self) -> list[tuple[str, str, Any]]:
        """(query id, book, record), in file order."""
        return [(q, b, rec) for b, book in self.data.items() for q, rec in book["quotes"].items()]

    def starts(self, book: str, length: int) -> list[int]:
        return sorted(self.data[book]["candidates"][f"{length}_sentence"])


def real_folder(request: pytest.FixtureRequest, benchmark: str, file: str) -> Path:
    folder: Path = request.getfixturevalue("real_data") / benchmark
    if not (folder / file).is_file():
        pytest.skip(f"{folder} has no {file}")
    return folder


def benches(name: str) -> list[Any]:
    """The splits of a sample, and of the real release; its training split, which is large, on demand.

    A training split is read as a validation split is, which differs in nothing but its size.
    """
    real = [
        pytest.param(f"{name}/{split}", marks=pytest.mark.nightly if split == "train" else ())
        for split in SPLITS
    ]
    return [*(f"{name}/sample/{split}" for split in SPLITS), *real]


@pytest.fixture(scope="module", params=benches("relic"))
def relic(request: pytest.FixtureRequest) -> Relic:
    *prefix, split = request.param.split("/")
    folder = SAMPLES / "relic"
    if len(prefix) == 1:
        folder = real_folder(request, "relic", f"{split}.json")
    text = (folder / f"{split}.json").read_text(encoding="utf-8")
    return Relic(request.param, json.loads(text))


def test_relic_statistics(relic: Relic) -> None:
    found = {s.name: s.value for s in relic.dataset.irtoolkit().statistics_of()}
    records = [(book, record) for _, book, record in relic.quotes()]
    count = len(records)
    sides = [[*record[0], *record[3]] for _, record in records]
    expected = {
        "Windows": count,
        "Primary sources": len(relic.data),
        "Average sentences of context": sum(map(len, sides)) / count,
        "Average query length, words": sum(len(" ".join(side).split()) for side in sides) / count,
        "Average quotation length, sentences": sum(record[2] for _, record in records) / count,
        "Average number of candidates per query": sum(
            len(relic.starts(b, r[2])) for b, r in records
        )
        / count,
    }
    lengths = [
        len(" ".join(record["sentences"][start : start + int(key.split("_")[0])]).split())
        for record in relic.data.values()
        for key, starts in record["candidates"].items()
        for start in starts
    ]
    expected["Average candidate length, words"] = sum(lengths) / len(lengths)
    if not relic.name.endswith("/test"):
        golds = [relic.data[b]["sentences"][r[1] : r[1] + r[2]] for b, r in records]
        words = sum(len(" ".join(gold).split()) for gold in golds)
        expected["Average quotation length, words"] = words / count
    assert found == pytest.approx(expected)


# ---- PlotRetrieval -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plot:
    """A split read plainly."""

    name: str
    queries: list[dict[str, Any]]
    sentences: dict[str, list[str]]

    @property
    def dataset(self) -> Any:
        return ir_datasets.load(self.name)

    def chunks(self, book: str) -> list[Place]:
        count = len(self.sentences[book])
        return [(start, min(3, count - start)) for start in range(0, count, 3)]

    def passages(self, book: str) -> set[Place]:
        about = [query["spans"] for query in self.queries if query["book"] == book]
        golds = {(start, stop - start) for spans in about for start, stop in spans}
        return golds | set(self.chunks(book))

    def expected(self, query: dict[str, Any], passages: set[Place]) -> dict[str, int]:
        """The judgments of a query, by the issue and the paper's §3.3 and §4.2."""
        golds = [(start, stop - start) for start, stop in query["spans"]]
        chunks = set(self.chunks(query["book"]))
        relevant = {p for p in chunks if any(share(p, g) for g in golds)} | set(golds)
        grades = {}
        for place in passages:
            name = f"{query['book']}:{place[0]}+{place[1]}"
            if place in relevant:
                grades[name] = 1
            elif any(abs(middle(*place) - middle(*one)) < 5 for one in relevant):
                grades[name] = 0
        return grades


def read_plot(name: str, folder: Path, split: str) -> Plot:
    text = (folder / f"queries-{split}.jsonl").read_text(encoding="utf-8")
    queries = [json.loads(line) for line in text.split("\n") if line]
    names = dict.fromkeys(query["book"] for query in queries)
    books = {n: (folder / "books" / f"{n}.json").read_text(encoding="utf-8") for n in names}
    return Plot(name, queries, {n: json.loads(book)["sentences"] for n, book in books.items()})


@pytest.fixture(scope="module", params=benches("plotretrieval"))
def plot(request: pytest.FixtureRequest) -> Plot:
    *prefix, split = request.param.split("/")
    folder = SAMPLES / "plotretrieval"
    if len(prefix) == 1:
        folder = real_folder(request, "plotretrieval", f"queries-{split}.jsonl")
    return read_plot(request.param, folder, split)


def test_plot_statistics(plot: Plot) -> None:
    found = {s.name: s.value for s in plot.dataset.irtoolkit().statistics_of()}
    assert found["Queries"] == len(plot.queries)
    assert found["Books"] == len(plot.sentences)
    assert found["Candidate plot chunks"] == sum(len(plot.passages(b)) for b in plot.sentences)
    words = [len(query["query"].split()) for query in plot.queries]
    assert found["Average query length, words"] == pytest.approx(sum(words) / len(words))
    [overlap] = [value for name, value in found.items() if name.startswith("Word overlap")]
    assert 0 <= overlap <= 100


# ---- releases of our own making, and their damage ------------------------------------------------


def dump(path: Path, value: Any) -> None:
    """Every item on a line of its own, so that lines mean something."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False), encoding="utf-8")


def edit(path: Path, change: Change) -> None:
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    dump(path, value)


def line_with(path: Path, text: str) -> int:
    """The last line that holds a text."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return max(number for number, line in enumerate(lines, 1) if text in line)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copies of both samples standing where real releases are looked for."""
    for name in ("relic", "plotretrieval"):
        shutil.copytree(SAMPLES / name, tmp_path / "data" / name)
    monkeypatch.setenv("IRTOOLKIT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    return tmp_path / "data"


def refused(name: str) -> InputError:
    """The error of reading a dataset, which is the same whatever is asked of it first."""
    with pytest.raises(InputError) as caught:
        list(ir_datasets.load(name).queries_iter())
    with pytest.raises(InputError) as again:
        ir_datasets.load(name).docs_count()
    assert str(again.value) == str(caught.value)
    assert caught.value.remedy
    return caught.value


def assert_refused(name: str, file: Path, line: int | None, *found: str) -> None:
    error = refused(name)
    assert (error.file, error.line) == (str(file), line)
    for text in found:
        assert text in error.found


QUOTE = "4711"
SMALL: dict[str, Any] = {
    "inn": {
        "quotes": {
            "4711": [["Before."], 6, 1, ["After.", "And more."]],
            "4712": [[], 2, 2, ["Only after."]],
        },
        "sentences": [f"Sentence {i}." for i in range(12)],
        "candidates": {"1_sentence": [0, 1, 2, 6, 10, 11], "2_sentence": [2, 0, 7, 6]},
    },
    "pub": {"quotes": {}, "sentences": ["One.", "Two."], "candidates": {"1_sentence": [0]}},
}


@pytest.fixture
def small(data: Path) -> Path:
    """val.json with two windows and two books."""
    dump(data / "relic" / "val.json", SMALL)
    return data / "relic" / "val.json"


def test_a_small_relic_by_hand(small: Path) -> None:
    dataset = ir_datasets.load("relic/val")
    assert [tuple(row)[:3] for row in dataset.qrels_iter() if row.relevance] == [
        ("4711", "inn:6+1", 1),
        ("4712", "inn:2+2", 1),
    ]
    # 2 is four before 6 and 10 four after; 1 and 11 are five away. 7+2 is five from 2+2.
    assert sorted(tuple(row)[:2] for row in dataset.qrels_iter() if not row.relevance) == [
        ("4711", "inn:10+1"), ("4711", "inn:2+1"), ("4712", "inn:0+2"), ("4712", "inn:6+2"),
    ]  # fmt: skip
    assert dict(sorted((m[0], docs) for m, docs in dataset.candidate_groups())) == {
        "4711": [f"inn:{s}+1" for s in (0, 1, 2, 6, 10, 11)],
        "4712": [f"inn:{s}+2" for s in (0, 2, 6, 7)],
    }
    assert dataset.docs_count() == 11
    assert dataset.docs_store().get("inn:7+2").text == "Sentence 7. Sentence 8."
    assert dataset.docs_store().get("pub:0+1").text == "One."


def quote(index: int, value: Any) -> Change:
    return lambda d: d["inn"]["quotes"][QUOTE].__setitem__(index, value)


def of_length_one(value: Any) -> Change:
    return lambda d: d["inn"]["candidates"].__setitem__("1_sentence", value)


QUOTE_DAMAGE: list[tuple[str, Change, str]] = [
    ("gold past the end", quote(1, 12), "has the index 12"),
    ("gold not a candidate", quote(1, 7), "has the index 7, which is not one of"),
    ("null gold", quote(1, None), "has the index None"),
    ("gold true", quote(1, True), "has the index True"),
    ("no such length", quote(2, 3), "has the length 3"),
    ("five before", quote(0, ["s"] * 5), "5 sentences on one side, more than 4"),
    ("null as context", quote(3, [None]), "context"),
    ("too few fields", lambda d: d["inn"]["quotes"][QUOTE].pop(), "is not [left"),
]
BOOK_DAMAGE: list[tuple[str, Change, str]] = [
    ("candidate past the end", of_length_one([6, 12]), "ends past its 12 sentences"),
    ("length beyond all numbers",
     lambda d: d["inn"]["candidates"].update({f"{10**30}_sentence": [0]}), "1000"),
    ("negative candidate", of_length_one([-1, 6]), "1_sentence"),
    ("duplicate candidate", of_length_one([6, 0, 6]), "a candidate twice in 1_sentence"),
    ("candidate a fraction", of_length_one([6.5]), "that are not whole numbers"),
    ("candidates of no length",
     lambda d: d["inn"]["candidates"].update({"0_sentence": []}), "'0_sentence'"),
    ("one length twice",
     lambda d: d["inn"]["candidates"].update({"01_sentence": [6]}), "01_sentence"),
    ("sentence no text", lambda d: d["inn"]["sentences"].__setitem__(3, 3), "is not text"),
    ("no quotes", lambda d: d["inn"].pop("quotes"), "needs quotes, sentences and candidates"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "found"), [case[1:] for case in QUOTE_DAMAGE], ids=[case[0] for case in QUOTE_DAMAGE]
)
def test_a_window_that_is_none(small: Path, change: Change, found: str) -> None:
    edit(small, change)
    assert_refused("relic/val", small, line_with(small, '"4711"'), "quote 4711 of inn", found)


@pytest.mark.parametrize(
    ("change", "found"), [case[1:] for case in BOOK_DAMAGE], ids=[case[0] for case in BOOK_DAMAGE]
)
def test_a_book_that_is_none(small: Path, change: Change, found: str) -> None:
    edit(small, change)
    assert_refused("relic/val", small, line_with(small, '"inn"'), "book inn", found)


def test_shown_gold_in_the_hidden_split(small: Path) -> None:
    hidden = small.with_name("test.json")
    dump(hidden, SMALL)
    edit(hidden, quote(1, None))
    found = "quote 4712 of inn shows the index of its quotation, which this split hides"
    assert_refused("relic/test", hidden, line_with(hidden, '"4712"'), found)


@pytest.mark.parametrize(
    ("name", "file"), [("relic/val", "val.json"), ("plotretrieval/val", "queries-val.jsonl")]
)
def test_a_missing_file_and_a_missing_release(data: Path, name: str, file: str) -> None:
    folder = data / name.split("/")[0]
    (folder / file).unlink()
    assert_refused(name, folder, None, f"release file {file} is missing")
    shutil.rmtree(folder)
    error = refused(name)
    assert (error.file, error.line) == (None, None)
    assert f"the {folder.name} release is not on this machine" in error.found
    assert "IRTOOLKIT_DATA" in str(error.remedy)
    assert ir_datasets.load(name.replace("/", "/sample/")).docs_count() > 0


# Eleven sentences: chunks 0+3, 3+3, 6+3 and, of what is left over, 9+2.
TAVERN = {"book": "tavern", "sentences": [f"Line {i}." for i in range(11)]}
TAVERN_QUERIES: list[dict[str, Any]] = [
    {"query_id": "t1", "book": "tavern", "query": "regret", "spans": [[4, 5], [9, 11]]},
    {"query_id": "t2", "book": "tavern", "query": "a long quarrel", "spans": [[0, 6]]},
]


def write_tavern(data: Path, queries: list[Any]) -> Path:
    path = data / "plotretrieval" / "queries-val.jsonl"
    path.write_text("".join(json.dumps(query) + "\n" for query in queries), encoding="utf-8")
    return path


@pytest.fixture
def tavern(data: Path) -> Path:
    dump(data / "plotretrieval" / "books" / "tavern.json", TAVERN)
    return write_tavern(data, TAVERN_QUERIES)


def test_a_small_plotretrieval_by_hand(tavern: Path) -> None:
    dataset = ir_datasets.load("plotretrieval/val")
    qrels: dict[str, dict[str, int]] = {"t1": {}, "t2": {}}
    for row in dataset.qrels_iter():
        qrels[row.query_id][row.doc_id.removeprefix("tavern:")] = row.relevance
    # 0+6 holds a sentence of t1's span, but is somebody's gold and no chunk. 9+2 is 7 from t2's.
    assert qrels == {
        "t1": {"4+1": 1, "9+2": 1, "3+3": 1, "0+3": 0, "6+3": 0, "0+6": 0},
        "t2": {"0+6": 1, "0+3": 1, "3+3": 1, "4+1": 0, "6+3": 0},
    }
    assert dataset.docs_count() == 6
    assert dataset.docs_store().get("tavern:9+2").text == "Line 9. Line 10."


PLOT_DAMAGE: list[tuple[str, Change, str]] = [
    ("span past the end", lambda q: q.update(spans=[[9, 12]]),
     "query t2 has a span that ends at 12, past the 11 sentences of tavern"),
    ("span far past the end", lambda q: q.update(spans=[[10**30, 10**30 + 1]]), "past the 11"),
    ("no spans", lambda q: q.update(spans=[]), "query t2 has no spans"),
    ("empty span", lambda q: q.update(spans=[[4, 4]]), "the span [4, 4]"),
    ("negative span", lambda q: q.update(spans=[[-1, 4]]), "the span [-1, 4]"),
    ("a query twice", lambda q: q.update(query_id="t1"), "query t1 appears twice"),
    ("id of two words", lambda q: q.update(query_id="t 2"), "is not one word"),
    ("no text", lambda q: q.update(query=" "), "query t2 has no text"),
    ("unknown book", lambda q: q.update(book="cellar"), "book 'cellar' is not in the folder"),
    ("book with a space", lambda q: q.update(book="the tavern"), "white space or a colon"),
    ("book outside the release", lambda q: q.update(book="../../../secret"), "a slash"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "found"), [case[1:] for case in PLOT_DAMAGE], ids=[case[0] for case in PLOT_DAMAGE]
)
def test_a_plot_query_that_is_none(tavern: Path, change: Change, found: str) -> None:
    bad = dict(TAVERN_QUERIES[1])
    change(bad)
    path = write_tavern(tavern.parent.parent, [TAVERN_QUERIES[0], bad])
    assert_refused("plotretrieval/val", path, 2, found)


BOOK_FILES: list[tuple[str, bytes, int, str]] = [
    ("calls itself otherwise", b'{"book": "inn", "sentences": ["a"]}', 1, "calls itself 'inn'"),
    ("has no sentences", b'{"book": "tavern"}', 1, "no list of sentences"),
    ("has a number", b'{"book": "tavern", "sentences": ["a", 1]}', 1, "no list of sentences"),
    ("is empty", b"", 1, "not JSON"),
    ("is cut", b'{"book": "tavern",\n "sentences": ["a", "b', 2, "not JSON"),
]


@pytest.mark.parametrize(
    ("content", "line", "found"),
    [case[1:] for case in BOOK_FILES],
    ids=[case[0] for case in BOOK_FILES],
)
def test_a_book_file_that_is_none(tavern: Path, content: bytes, line: int, found: str) -> None:
    path = tavern.parent / "books" / "tavern.json"
    path.write_bytes(content)
    assert_refused("plotretrieval/val", path, line, found)
