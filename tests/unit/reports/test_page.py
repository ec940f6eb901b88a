"""Reports: pages, tables and pictures say what evaluation and comparison say, and break on nothing."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import id_array
from irtoolkit.base.markup import latex_text
from irtoolkit.datasets import dataset_ids
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.local import registered
from irtoolkit.measures.traits import traits
from irtoolkit.reports import formatting, papers, texts
from irtoolkit.reports.compose import ReportOptions, compose
from irtoolkit.reports.content import ReportContent
from irtoolkit.reports.first_relevant import FirstRelevant, first_ranks
from irtoolkit.reports.overlap import Overlap
from irtoolkit.reports.page import render
from irtoolkit.reports.pairs import ALPHA, MeasureColumn, Pair, measure_column
from irtoolkit.reports.palette import DARK, LIGHT, Scheme, contrast
from irtoolkit.reports.summary import summary
from irtoolkit.runs import Qrels, Run
from irtoolkit.runs.exact_ranks import read_ranks
from irtoolkit.scoring.evaluation import Evaluation, parse_measures
from irtoolkit.scoring.score import score
from irtoolkit.scoring.significance import confidence_interval
from tests.conftest import Answer

Command = Callable[..., Answer]
VOID = {"meta", "link", "input", "br", "hr", "img", "wbr"}


# -- reading a page --------------------------------------------------------------------------------


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    parent: Element | None = None
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(c if isinstance(c, str) else c.text for c in self.children)

    def all(self, tag: str | None = None, **attributes: str) -> list[Element]:
        """Every element below this one, of a tag and with attributes."""
        found = []
        for child in self.children:
            if isinstance(child, Element):
                same = all(child.attributes.get(k) == v for k, v in attributes.items())
                if same and tag in (None, child.tag):
                    found.append(child)
                found += child.all(tag, **attributes)
        return found

    def one(self, tag: str | None = None, **attributes: str) -> Element:
        (found,) = self.all(tag, **attributes)
        return found


class Reader(HTMLParser):
    """Builds the elements of a page, and refuses tags that do not match."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.root = self.at = Element("", {})
        self.feed(source)
        self.close()
        assert self.at is self.root, f"<{self.at.tag}> is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        element = Element(tag, {name: value or "" for name, value in attrs}, self.at)
        self.at.children.append(element)
        if tag not in VOID:
            self.at = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.at.children.append(Element(tag, {name: value or "" for name, value in attrs}, self.at))

    def handle_endtag(self, tag: str) -> None:
        assert self.at.tag == tag, f"</{tag}> closes <{self.at.tag}>"
        assert self.at.parent is not None
        self.at = self.at.parent

    def handle_data(self, data: str) -> None:
        self.at.children.append(data)


def read(source: str) -> Element:
    return Reader(source).root


def data_in(root: Element) -> dict[str, Any]:
    packed = base64.b64decode(root.one("script", id="data").text)
    found: dict[str, Any] = json.loads(gzip.decompress(packed))
    return found


# -- what is reported ------------------------------------------------------------------------------

SYSTEMS = ("bm25", "tfidf", "random")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[str]]:
    """Makes runs of a dataset, once: runs("csfcube/sample")."""
    from irtoolkit.cli import main

    folder = tmp_path_factory.mktemp("runs")

    def make(dataset_id: str, *options: str, systems: tuple[str, ...] = SYSTEMS) -> list[str]:
        made = []
        for system in systems:
            path = folder / "-".join([dataset_id.replace("/", "-"), system, *options, ".run"])
            if not path.exists():
                assert main(["retrieve", dataset_id, system, "-o", str(path), *options]) == 0
            made.append(str(path))
        return made

    return make


def compose_of(
    dataset_id: str, paths: list[str], measures: str | None = None, **how: Any
) -> ReportContent:
    return compose(score(dataset_id, paths, measures), ReportOptions(**how))


@pytest.fixture(scope="module")
def csfcube(runs: Callable[..., list[str]]) -> ReportContent:
    return compose_of("csfcube/sample", runs("csfcube/sample"))


@pytest.fixture(scope="module")
def relic(runs: Callable[..., list[str]]) -> ReportContent:
    return compose_of("relic/sample/val", runs("relic/sample/val", "--depth", "20"), chart="R@10")


@pytest.fixture(scope="module")
def pages(csfcube: ReportContent, relic: ReportContent) -> dict[str, str]:
    return {"csfcube": render(csfcube), "relic": render(relic)}


@pytest.fixture(params=["csfcube", "relic"])
def shown(
    request: pytest.FixtureRequest, pages: dict[str, str]
) -> tuple[ReportContent, Element, str]:
    """A report, its page's elements and source."""
    source = pages[request.param]
    return request.getfixturevalue(request.param), read(source), source


def test_embedded_values_are_the_evaluation_s(shown: tuple[ReportContent, Element, str]) -> None:
    report, root, _ = shown
    data = data_in(root)
    assert data["queries"] == list(report.query_ids)
    assert [system["name"] for system in data["systems"]] == [s.name for s in report.systems]
    names = [measure["name"] for measure in data["measures"]]
    assert names == [column.measure for column in report.columns]
    assert names[0] == report.chart
    assert sorted(names) == sorted(report.evaluations[0].measures)
    assert [m["lower"] for m in data["measures"]] == [name == "Rank" for name in names]
    for name, rows in zip(names, data["values"], strict=True):
        for evaluation, row in zip(report.evaluations, rows, strict=True):
            expected = evaluation.per_query(name)
            found = np.array([math.inf if v is None else v for v in row])
            np.testing.assert_allclose(found, expected, atol=5e-7, rtol=0)


def test_the_table_has_the_figures_intervals_and_letters(
    shown: tuple[ReportContent, Element, str],
) -> None:
    report, root, _ = shown
    table = root.one("section", id="systems").all("table")[0]
    rows = table.one("tbody").all("tr")
    assert len(rows) == len(report.systems)
    for i, row in enumerate(rows):
        assert report.systems[i].name in row.one("th").text
        cells = row.all("td")
        # The difference from the best and its p stand beside the main measure.
        del cells[1:3]
        for col, cell in zip(report.columns, cells, strict=True):
            name = col.measure
            places = formatting.places_of(col)
            figure = report.evaluations[i].figures()[name]
            assert str(cell.children[0]) == f"{figure:.{places}f}"
            letters = "".join(s.text for s in cell.all("sup"))
            better = {report.systems[other].letter for other in col.beaten_by(i)}
            assert set(letters) == better
            assert len(letters) == len(better)
            low, high = confidence_interval(report.evaluations[i].per_query(name))
            assert (
                cell.one(**{"class": "interval"}).text == f"[{low:.{places}f}, {high:.{places}f}]"
            )
            figures = {e.figures()[name] for e in report.evaluations}
            best = (min if name == "Rank" else max)(figures)
            is_bold = "best" in cell.attributes.get("class", "")
            assert is_bold == (figure == best and len(figures) > 1)


def made_up(values: list[list[float]], name: str = "AP") -> list[Evaluation]:
    """Evaluations of systems with these per-query values."""
    ids = id_array([f"q{i}" for i in range(len(values[0]))])
    folds = (np.arange(len(ids)),)
    return [Evaluation(parse_measures(name), ids, np.array([row]), folds) for row in values]


def test_nobody_is_better_where_a_test_by_ranks_and_the_figures_disagree() -> None:
    """The first system has better ranks for nine of eleven queries, and the worse median."""
    first = [1.0, 2, 3, 4, 5, 8, 8, 8, 9, 10, 11]
    second = [2.0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    column = measure_column(made_up([first, second], "MedianRank"), "MedianRank", test="wilcoxon")
    (pair,) = column.pairs
    assert column.figures == (8, 7)
    assert pair.corrected < ALPHA
    assert (pair.wins, pair.losses, pair.better) == (9, 1, None)
    (pair,) = measure_column(made_up([first, second], "Rank"), "Rank", test="wilcoxon").pairs
    assert pair.better == 0


@pytest.mark.parametrize("wrong", [{"test": "guess"}, {"test": None}, {"correction": "some"}])
def test_no_such_test_or_correction(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(wrong.values()))!r} is none of "):
        ReportOptions(**wrong)


def test_of_ranks_the_lower_is_the_better() -> None:
    low, high = [1.0, 2, 3, 2, 1, 2, 3, 2], [9.0, 12, 13, 10, 9, 11, 13, 12]
    ranks = measure_column(made_up([low, high], "Rank"), "Rank")
    assert (ranks.pairs[0].better, ranks.beaten_by(0), ranks.beaten_by(1)) == (0, (1,), ())
    assert (ranks.pairs[0].wins, ranks.pairs[0].losses) == (8, 0)
    assert (ranks.is_best(0), ranks.is_best(1)) == (True, False)
    other = measure_column(made_up([low, high], "AP"), "AP")
    assert (other.pairs[0].better, other.beaten_by(1), other.is_best(1)) == (1, (0,), True)
    measures = parse_measures("Rank(rel=2) MedianRank StdRank AP nDCG@10 RPlast")
    assert [traits(m).lower_is_better for m in measures.values()] == [
        True,
        True,
        True,
        *[False] * 3,
    ]


def test_what_cannot_be_tested_says_why() -> None:
    median = measure_column(made_up([[1, 2, 30], [4, 5, 60]], "MedianRank"), "MedianRank")
    assert (median.pairs, median.intervals) == ((), ((1, 30), (4, 60)))
    assert "a median over queries, which the test student does not" in (median.untested or "")
    alone = measure_column(made_up([[1, 2, 30]], "MedianRank"), "MedianRank")
    assert (alone.pairs, alone.untested, alone.intervals) == ((), None, ((1, 30),))
    deviation = measure_column(made_up([[1, 2, 30], [4, 5, 60]], "StdRank"), "StdRank")
    assert deviation.pairs == ()
    assert all(deviation.intervals)
    assert "a standard deviation over queries, which no test" in (deviation.untested or "")
    infinite = measure_column(made_up([[1, 2, 30], [4, math.inf, math.inf]], "Rank"), "Rank")
    assert infinite.pairs == ()
    assert infinite.intervals == (confidence_interval([1, 2, 30]), None)
    assert "up to 2 queries have no finite value" in (infinite.untested or "")
    assert (infinite.is_best(0), infinite.is_best(1)) == (True, False)


def test_unknown_values_are_null_in_the_page(
    runs: Callable[..., list[str]], tmp_path: Path
) -> None:
    """JSON has no infinity, and a page that holds one would not be read at all."""
    bare = []
    for path in runs("relic/sample/val", "--depth", "20")[:2]:
        shutil.copy(path, tmp_path)
        bare.append(str(tmp_path / Path(path).name))
    root = read(render(compose_of("relic/sample/val", bare, "Rank R@10")))
    data = data_in(root)
    rank = [measure["name"] for measure in data["measures"]].index("Rank")
    assert None in data["values"][rank][0]
    assert None in data["ranks"][0]
    assert "\u221e" in root.one("section", id="systems").text
    assert "because a run is too shallow" in root.one("section", id="systems").text
    golds = root.one("section", id="first-relevant").text
    assert "at most 20 rows for a query, and there are no exact ranks" in golds
    assert "not in the run" in golds


# -- ranks of the gold -----------------------------------------------------------------------------


def test_ranks_are_those_that_stand_beside_the_run(
    relic: ReportContent, pages: dict[str, str], runs: Callable[..., list[str]]
) -> None:
    data = data_in(read(pages["relic"]))
    qrels = Dataset.of("relic/sample/val").qrels
    gold = {row.query_id: row.doc_id for row in qrels if row.relevance}
    deep = 0
    for i, path in enumerate(runs("relic/sample/val", "--depth", "20")):
        located = read_ranks(path, Run.read(path))
        assert located is not None
        expected = [located[query_id][gold[query_id]] for query_id in data["queries"]]
        assert data["ranks"][i] == expected
        deep += sum(rank > 20 for rank in expected)
        for name, counts in relic.first_relevant.bins():
            low, _, high = name.partition("\u2013")
            within = [r for r in expected if int(low) <= r <= int(high or low)]
            assert counts[i] == len(within)
        assert relic.first_relevant.share(i, 20) == pytest.approx(np.mean(np.array(expected) <= 20))
    assert deep
    assert [sum(c[i] for _, c in relic.first_relevant.bins()) for i in range(3)] == [len(gold)] * 3


def test_bins_hold_every_query_once() -> None:
    rows = (np.array([1.0, 2, 3, 4, 10000, 10001, 50000, np.inf, np.nan]),)
    golds = FirstRelevant(1, 1, rows, (100000,), (False,))
    bins = {name: counts for name, [counts] in golds.bins()}
    assert bins == {
        "1": 1, "2\u20133": 2, "4\u201310": 1, "11\u201330": 0, "31\u2013100": 0,
        "101\u2013300": 0, "301\u20131000": 0, "1001\u20133000": 0, "3001\u201310000": 1,
        "10001 and more": 2, "not in the run": 1,
    }  # fmt: skip
    assert (golds.asked, golds.highest(), golds.unknown(0)) == (8, 50000, 1)


def test_the_first_relevant_document_counts_and_queries_without_are_left_out() -> None:
    qrels = Qrels.from_rows(
        [("q1", "a", 1), ("q1", "b", 2), ("q1", "c", 3), ("q2", "a", 1), ("q3", "a", 2)]
    )
    run = Run.from_rows([("q1", "a", 9), ("q1", "b", 8), ("q1", "c", 7), ("q2", "a", 1)])
    assert first_ranks(run, qrels, None, 1).tolist() == [1, 1, np.inf]
    of_two = first_ranks(run, qrels, None, 2)
    assert (of_two[0], math.isnan(of_two[1]), of_two[2]) == (2, True, np.inf)
    exact = first_ranks(run, qrels, {"q3": {"a": 41}}, 2)
    assert exact[2] == 41


# -- parts -----------------------------------------------------------------------------------------


# -- texts -----------------------------------------------------------------------------------------


def test_every_query_has_its_text_gold_and_top_documents(
    shown: tuple[ReportContent, Element, str], runs: Callable[..., list[str]]
) -> None:
    report, root, _ = shown
    data, dataset = data_in(root), Dataset.load(report.dataset_id)
    options = ("--depth", "20") if "relic" in report.dataset_id else ()
    read_runs = [Run.read(path) for path in runs(report.dataset_id, *options)]
    queries = {q.query_id: q for q in dataset.queries_iter()}
    docs = {doc.doc_id: doc for doc in dataset.docs_iter()}
    grades = Qrels.of(dataset).as_dict()
    assert [entry["q"] for entry in data["entries"]] == list(range(len(data["queries"])))
    for entry in data["entries"]:
        name = data["queries"][entry["q"]]
        record = queries[name]
        asked = (
            record.with_mask("[\u2026]") if hasattr(record, "with_mask") else record.default_text()
        )
        assert "".join(entry["text"]["pieces"]) == asked
        assert entry["tops"] == [
            [row.doc_id for row in run.ranking(name)[:10]] for run in read_runs
        ]
        relevant = [doc for doc, grade in grades[name].items() if grade >= data["rel"]]
        assert entry["relevant"] == len(relevant)
        assert set(entry["gold"]) <= set(relevant)
        assert len(entry["gold"]) == min(10, len(relevant))
        assert {d for top in entry["tops"] for d in top} | set(entry["gold"]) == set(entry["docs"])
        for doc_id, doc in entry["docs"].items():
            if doc is None:
                assert doc_id not in docs
                continue
            title = "".join(doc["title"] or [])
            assert f"{title} {''.join(doc['pieces'])}".strip() == docs[doc_id].default_text()
            assert doc["held"] == doc["length"] == len("".join(doc["pieces"]))
            assert entry["grades"].get(doc_id) == grades[name].get(doc_id)


@pytest.mark.parametrize(
    ("text", "query", "pieces"),
    [
        ("The cats sat.", "A cat sits", ["The ", "cats", " sat."]),
        ("Running shoes, and runs!", "he runs", ["", "Running", " shoes, and ", "runs", "!"]),
        ("the of and", "the of and", ["the of and"]),
        ("nothing here", "", ["nothing here"]),
        ("", "cat", [""]),
        ("學而時習之不亦說乎", "時習之也", ["學而", "時習之", "不亦說乎"]),
        ("cat 學而時 cat", "而時 dog", ["cat 學", "而時", " cat"]),
        ("\u0130stanbul and Cat", "cat", ["\u0130stanbul and ", "Cat", ""]),
        ("banana an", "an banana", ["", "banana", " an"]),
    ],
)
def test_marking(text: str, query: str, pieces: list[str]) -> None:
    overlap = Overlap("en")
    assert overlap.mark(text, overlap.terms(query)) == pieces


def test_long_texts_are_cut_at_a_word_and_say_so(
    runs: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "SHORTEST", 60)
    monkeypatch.setattr(texts, "BUDGET", 1)
    root = read(render(compose_of("csfcube/sample", runs("csfcube/sample")[:1])))
    docs = {d.doc_id: d for d in Dataset.load("csfcube/sample").docs_iter()}
    cut = 0
    for entry in data_in(root)["entries"]:
        for doc_id, doc in entry["docs"].items():
            if doc is None:
                continue
            held, whole = "".join(doc["pieces"]), docs[doc_id].abstract
            assert whole.startswith(held)
            assert (doc["held"], doc["length"]) == (len(held), len(whole))
            if doc["held"] < doc["length"]:
                assert len(held) <= 60
                assert whole[len(held)] == " "
                cut += 1
    assert cut


def test_of_many_queries_a_stated_sample_has_texts(runs: Callable[..., list[str]]) -> None:
    paths = runs("relic/sample/val", "--depth", "20")
    report = compose_of("relic/sample/val", paths, texts=7, chart="R@10")
    root = read(render(report))
    data = data_in(root)
    assert len(data["entries"]) == 7
    assert len(data["queries"]) == len(data["values"][0][0]) == 75
    said = root.one("section", id="texts").text
    assert "the texts of 7 of the 75 queries" in said
    first, second = (report.systems[place].name for place in report.pair)
    assert f"in the order of R@10 of {first} minus {second}, including both ends" in said
    gains = report.gains("R@10")
    picked = gains[[entry["q"] for entry in data["entries"]]]
    assert (picked.min(), picked.max()) == (gains.min(), gains.max())
    none = compose_of("relic/sample/val", paths, texts=0)
    assert none.texts.entries == ()
    assert "No texts were requested." in render(none)


# -- the page itself -------------------------------------------------------------------------------


def test_the_policy_allows_this_script_and_style_and_no_other(
    shown: tuple[ReportContent, Element, str],
) -> None:
    _, root, _ = shown
    policy = root.one("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for name, element in (("style-src", root.one("style")), ("script-src", root.all("script")[1])):
        digest = base64.b64encode(hashlib.sha256(element.text.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    assert not [e for e in root.all() if "style" in e.attributes]
    assert not [e for e in root.all() for name in e.attributes if name.startswith("on")]


def test_the_same_runs_give_the_same_page(
    pages: dict[str, str], runs: Callable[..., list[str]]
) -> None:
    again = compose_of("csfcube/sample", runs("csfcube/sample"))
    assert render(again) == pages["csfcube"]


# -- nasty names and texts -------------------------------------------------------------------------

NASTY = "</script><script>alert(1)</script><b>&amp; \"'<!--<script> {{data}} ]]>"


@pytest.fixture
def nasty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A registered collection all of whose ids and texts look like markup."""
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    before = dataset_ids()
    folder = tmp_path / "nasty"
    folder.mkdir()
    query, doc = "q<b>&\"'</script>", "d<i>&\"'</script>"
    rows = [
        {"id": f"{doc}{i}", "title": f"{NASTY} {i}", "text": f"whale {NASTY} {i}"} for i in range(3)
    ]
    (folder / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    topics = [{"id": f"{query}{i}", "text": f"whale {i} {NASTY}"} for i in range(3)]
    (folder / "topics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in topics))
    (folder / "qrels").write_text("".join(f"{query}{i} 0 {doc}{i} 1\n" for i in range(3)))
    for system in ("one", "two"):
        lines = [
            f"{query}{i} Q0 {doc}{j} 1 {(i + 1) * (j + 1) * len(system) % 7} {system}</title><b>\n"
            for i in range(3)
            for j in range(3)
        ]
        (tmp_path / f"{system}.run").write_text("".join(lines))
    yield folder
    for name in set(dataset_ids()) - set(before):
        registered.drop_from_ir_datasets(name)


def test_what_looks_like_markup_is_text(nasty: Path, irtoolkit: Command, tmp_path: Path) -> None:
    assert (
        irtoolkit(
            "register",
            "nasty",
            nasty,
            "--docs",
            "docs.jsonl",
            "--topics",
            "topics.jsonl",
            "--qrels",
            "qrels",
        ).status
        == 0
    )
    out = [tmp_path / f"out.{form}" for form in ("html", "tex", "md")]
    outputs = [word for path in out for word in ("-o", path)]
    answer = irtoolkit("report", "nasty", tmp_path / "one.run", tmp_path / "two.run", *outputs)
    assert answer.status == 0, answer.err
    source = out[0].read_text("utf-8")
    root = read(source)
    # As many elements of each kind as a page of harmless names has, and the script is ours alone.
    assert len(root.all("script")) == 2
    assert not root.all("b") + root.all("i")
    assert source.count("</script>") == 2
    data = data_in(root)
    assert data["queries"] == [f"q<b>&\"'</script>{i}" for i in range(3)]
    assert data["systems"][0]["name"] == "one</title><b>"
    assert "".join(data["entries"][0]["text"]["pieces"]) == f"whale 0 {NASTY}"
    docs = data["entries"][0]["docs"]
    assert "".join(docs["d<i>&\"'</script>0"]["title"]) == f"{NASTY} 0"
    assert root.one("head").one("title").text == "nasty: one</title><b>, two</title><b>"
    assert "{{" not in root.one("main").text
    assert "<b>" not in out[2].read_text().replace("\\<b\\>", "")


# -- colours ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_have_contrast(scheme: Scheme) -> None:
    for ground in (scheme.ground, scheme.panel):
        for text in (scheme.text, scheme.muted, scheme.link):
            assert contrast(text, ground) >= 4.5
        assert all(contrast(colour, ground) >= 3 for colour in scheme.systems)
    assert contrast(scheme.text, scheme.mark) >= 4.5
    assert contrast(scheme.text, scheme.gold) >= 4.5


# -- tables for papers -----------------------------------------------------------------------------


def test_latex_and_markdown_have_the_page_s_figures(csfcube: ReportContent) -> None:
    latex, markdown = (
        papers.as_latex(csfcube),
        papers.as_markdown(csfcube, papers.TableStyle(intervals=True)),
    )
    body = [line for line in latex.splitlines() if line.endswith(r"\\")]
    table = [line for line in markdown.splitlines() if line.startswith("| ")]
    assert len(body) == len(table) - 2 == 1 + 3 + 1 + 3
    for i, system in enumerate(csfcube.systems):
        cells = body[i + 1].removesuffix(r" \\").split(" & ")
        piped = [cell.strip() for cell in table[i + 2].strip("|").split(" | ")]
        assert cells[:2] == piped[:2] == [system.letter, system.name]
        for col, cell, other in zip(csfcube.columns, cells[2:], piped[2:], strict=True):
            figure = f"{col.figures[i]:.4f}"
            letters = "".join(csfcube.systems[k].letter for k in col.beaten_by(i))
            said = rf"\textbf{{{figure}}}" if col.is_best(i) else figure
            assert cell == said + (rf"\textsuperscript{{{letters}}}" if letters else "")
            bold = f"**{figure}**" if col.is_best(i) else figure
            interval = col.intervals[i]
            assert interval is not None
            span = rf" \[{interval[0]:.4f}, {interval[1]:.4f}\]"
            assert other == bold + (f"<sup>{letters}</sup>" if letters else "") + span
    assert latex.count(r"\toprule") == latex.count(r"\bottomrule") == 2
    assert latex_text(formatting.how_tested(csfcube)) in latex
    assert "Intervals" not in latex
    assert "Intervals" in markdown


def test_tables_in_percent_with_digits_and_a_caption(csfcube: ReportContent) -> None:
    style = papers.TableStyle(percent=True, digits=1, caption="R&D on CSFCube")
    latex, markdown = papers.as_latex(csfcube, style), papers.as_markdown(csfcube, style)
    assert r"\caption{R\&D on CSFCube}" in latex
    assert latex.count(r"\begin{table}") == latex.count(r"\resizebox") == 2
    assert "are in percent" in latex
    assert "are in percent" in markdown
    for column in csfcube.columns:
        assert f"{100 * column.figures[0]:.1f}" in latex
        assert f"{100 * column.figures[0]:.1f}" in markdown
    with pytest.raises(InputError, match="digits 9 is not from 0 to 8"):
        papers.TableStyle(digits=9)


# -- how it opens ----------------------------------------------------------------------------------


def test_it_opens_with_the_benchmark_s_main_measure(csfcube: ReportContent) -> None:
    assert csfcube.chart == "nDCGp(p=20)"
    column = csfcube.column(csfcube.chart)
    first, second = csfcube.pair
    assert column.figures[first] == max(column.figures)
    assert column.figures[second] == sorted(column.figures)[-2]
    root = read(render(csfcube))
    lead = root.one("p", **{"class": "lead"}).text
    names = [system.name for system in csfcube.systems]
    assert lead.startswith(
        f"{names[first]} has the best nDCGp(p=20), {column.figures[first]:.4f}: "
    )
    ranked = sorted(column.figures, reverse=True)
    assert f"{ranked[0] - ranked[1]:.4f} above " in lead
    rows = root.one("header").one("ul", **{"class": "rows"}).all("span", **{"class": "name"})
    shown = [row.text.split()[-1] for row in rows]
    assert shown == [names[i] for i in np.argsort(column.figures)[::-1]]


def _column(figures: tuple[float, ...], pairs: tuple[Pair, ...] = (), lower: bool = False) -> Any:
    return MeasureColumn("M", lower, figures, (None,) * len(figures), pairs)


@pytest.mark.parametrize(
    ("figures", "lower", "said"),
    [
        ((0.5, 0.5, 0.1), False, "a and b have the best M, 0.5000."),
        ((0.5, 0.25), False, "a has the best M, 0.5000: 0.2500 above b."),
        ((50.0, 20.0), True, "b has the best M, 20.0: 30.0 below a."),
        ((0.5,), False, "a has 0.5000 on M."),
        ((math.nan, math.nan), False, "No system has a figure for M."),
    ],
)
def test_what_happened(
    csfcube: ReportContent, figures: tuple[float, ...], lower: bool, said: str
) -> None:
    systems = tuple(replace(csfcube.systems[0], name=name) for name in "abc"[: len(figures)])
    report = replace(csfcube, columns=(_column(figures, lower=lower),), chart="M", systems=systems)
    assert said in summary(report)


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ([(0.5, 0.5)], "It is best on 1 of 2 measures, and shares the best figure on the other."),
        ([(0.5, 0.4)], "It is best on all 2 measures."),
        ([(0.4, 0.5)], "It is best on 1 of 2 measures."),
        ([(1, 1), (1, 1)], "It is best on 1 of 3 measures, and shares the best figure on the other 2."),
        ([(1, 1), (0, 1)], "It is best on 1 of 3 measures, and shares the best figure on 1 more."),
    ],
)  # fmt: skip
def test_a_figure_that_another_system_has_too_is_shared(
    csfcube: ReportContent, others: list[tuple[float, float]], said: str
) -> None:
    # The third system is worse on all: a figure that all share is nobody's best.
    systems = tuple(replace(csfcube.systems[0], name=name) for name in "abc")
    columns = [
        replace(_column((*figures, -1.0)), measure=f"N{number}")
        for number, figures in enumerate(others)
    ]
    report = replace(
        csfcube, columns=(_column((0.5, 0.4, 0.3)), *columns), chart="M", systems=systems
    )
    assert said in summary(report)


def test_whether_the_difference_is_significant(csfcube: ReportContent) -> None:
    systems = tuple(replace(csfcube.systems[0], name=name) for name in "ab")
    for p, words in ((0.04, "a significant difference (p = 0.0400)"), (0.2, "not a significant")):
        pair = Pair(0, 1, -0.1, p, p, -0.3, 3, 8, None)
        report = replace(
            csfcube, columns=(_column((0.4, 0.5), (pair,)),), chart="M", systems=systems
        )
        assert words in summary(report)
        assert "better on 8 of" in summary(report)
        assert "queries and worse on 3." in summary(report)


# -- pictures --------------------------------------------------------------------------------------


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["-o", "x.pdf"], "x.pdf: not a kind of report (its name ends in .html, .tex, .md)"),
        (["-o", "x.html", "--texts", "-1"], "--texts -1 is not at least 0"),
        (["-o", "x.html", "--rel", "0"], "--rel 0 is not at least 1"),
        (["-o", "x.html", "--names", "a"], "1 name for 3 runs (give one for each run)"),
        (["-o", "x.html", "--names", "a", "b", "a"], "two systems have the same name"),
        (["-o", "x.html", "--chart", "AP"], "no measure 'AP' in the report"),
        (["-o", "x.html", "--baseline", "no.run"], "no.run is not among the runs"),
        (["-o", "x.html", "--pair", "no.run", "no.run"], "no.run is not among the runs"),
    ],
)  # fmt: skip
def test_what_cannot_be_reported_is_refused_in_one_line(
    runs: Callable[..., list[str]], irtoolkit: Command, args: list[str], error: str,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    paths = runs("csfcube/sample")
    monkeypatch.chdir(tmp_path)
    answer = irtoolkit("report", "csfcube/sample", *paths, *args)
    assert (answer.status, answer.out) == (2, "")
    assert error in answer.err
    assert answer.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_names_are_tags_or_files_or_paths(runs: Callable[..., list[str]], tmp_path: Path) -> None:
    source = Path(runs("csfcube/sample")[0])
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        shutil.copy(source, tmp_path / folder / "same.run")
    shutil.copy(source, tmp_path / "other.run")
    one, two, three = (str(tmp_path / p) for p in ("x/same.run", "y/same.run", "other.run"))
    measures = "AP"
    assert [s.name for s in compose_of("csfcube/sample", [one, three], measures).systems] == [
        "same",
        "other",
    ]
    assert [s.name for s in compose_of("csfcube/sample", [one, two], measures).systems] == [
        one,
        two,
    ]
    tags = [s.name for s in compose_of("csfcube/sample", runs("csfcube/sample"), measures).systems]
    assert tags == list(SYSTEMS)


def test_gains_are_of_the_better_side(relic: ReportContent) -> None:
    first, second = (relic.evaluations[i].per_query("Rank") for i in relic.pair)
    assert np.array_equal(relic.gains("Rank"), second - first)
    first, second = (relic.evaluations[i].per_query("R@10") for i in relic.pair)
    assert np.array_equal(relic.gains("R@10"), first - second)


def test_warnings_are_shown_and_no_path_is(runs: Callable[..., list[str]], tmp_path: Path) -> None:
    paths = runs("csfcube/sample")
    lines = Path(paths[0]).read_text().splitlines(keepends=True)
    short = tmp_path / "short.run"
    short.write_text("".join(line for line in lines if line.split()[0] == lines[0].split()[0]))
    report = compose_of("csfcube/sample", [paths[1], str(short)], names=["whole", "short"])
    assert any(note.startswith("short lacks 5 of 6 judged queries") for note in report.notes)
    source = render(report)
    assert "short lacks 5 of 6 judged queries" in read(source).one("header").text
    assert str(tmp_path) not in source
    assert str(Path(paths[1]).parent) not in source
    data = data_in(read(source))
    assert [] in [entry["tops"][1] for entry in data["entries"]]
