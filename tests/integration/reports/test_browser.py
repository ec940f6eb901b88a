"""Reports in a real browser: nothing fails, and a pressed query shows its texts."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.datasets.dataset import Dataset
from irtoolkit.runs import Run
from irtoolkit.runs.exact_ranks import read_ranks
from tests import chromium
from tests.chromium import Page
from tests.conftest import Answer
from tests.unit.reports.test_page import data_in, read

Command = Callable[..., Answer]
BROWSER = chromium.find()
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    assert BROWSER is not None
    with chromium.browsing(BROWSER, tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def reported(irtoolkit: Command, tmp_path: Path) -> Callable[..., tuple[Path, list[Path]]]:
    """Runs systems and reports them: (page, runs in the order of the page)."""

    def make(dataset_id: str, systems: list[str], *options: str) -> tuple[Path, list[Path]]:
        depth = ["--depth", "30"] if "relic" in dataset_id else []
        paths = [tmp_path / f"{system}.run" for system in systems]
        for system, path in zip(systems, paths, strict=True):
            assert irtoolkit("retrieve", dataset_id, system, "-o", path, *depth).status == 0
        out = tmp_path / "report.html"
        answer = irtoolkit("report", dataset_id, *paths, "-o", out, *options)
        assert answer.status == 0, answer.err
        by_name = dict(zip(systems, paths, strict=True))
        shown = data_in(read(out.read_text("utf-8")))["systems"]
        return out, [by_name[system["name"]] for system in shown]

    return make


def load(page: Page, path: Path, fragment: str = "") -> None:
    """Opens a report, and waits until its data are unpacked."""
    page.go(path, fragment)
    page.until("document.documentElement.dataset.ready !== undefined")


def text(page: Page, selector: str) -> str:
    found: str = page.run(f"document.querySelector({json.dumps(selector)}).textContent")
    return found


def read_query(page: Page, dataset_id: str, paths: list[Path], place: int, rel: int) -> None:
    """Presses a query of the list, and finds all its texts beside it."""
    name = page.run(f"document.querySelectorAll('.queries .id')[{place}].textContent")
    page.click(f".queries li:nth-child({place + 1}) button")
    assert page.run("document.activeElement.id") == "detail"
    assert text(page, "#detail h3") == f"Query {name}"
    assert page.run("document.querySelectorAll('.queries [aria-current=true]').length") == 1
    dataset = Dataset.load(dataset_id)
    query = next(q for q in dataset.queries_iter() if q.query_id == name)
    whole = query.with_mask("[\u2026]") if hasattr(query, "with_mask") else query.default_text()
    assert text(page, "#detail .asked") == whole
    tops = [[row.doc_id for row in Run.read(path).ranking(name)[:10]] for path in paths]
    docs = dataset.docs_store().get_many([doc_id for top in tops for doc_id in top])
    for i, top in enumerate(tops):
        column = f".columns > section:nth-child({i + 1})"
        ids = page.run(
            f"[...document.querySelectorAll('{column} .doc .top span:nth-child(2)')].map(e => e.textContent)"
        )
        assert ids == top
        bodies = page.run(
            f"[...document.querySelectorAll('{column} .doc')].map(e => [...e.querySelectorAll('p')].map(p => p.textContent).join(' '))"
        )
        for doc_id, body in zip(top, bodies, strict=True):
            known = docs[doc_id].default_text() if doc_id in docs else "has no text"
            assert known[:300] in body
    gold = {r.doc_id for r in dataset.qrels_iter() if r.query_id == name and r.relevance >= rel}
    shown = set(
        page.run(
            "[...document.querySelectorAll('#detail > .doc .top span:first-child, #detail > details .doc .top span:first-child')].map(e => e.textContent)"
        )
    )
    assert shown <= gold
    assert len(shown) == min(10, len(gold))


def look(page: Page, path: Path, dataset_id: str, paths: list[Path]) -> None:
    """What holds of any page with several systems."""
    page.problems.clear()
    page.requests.clear()
    page.size(1280, 900)
    load(page, path)
    data = data_in(read(path.read_text("utf-8")))
    read_query(page, dataset_id, paths, 1, data["rel"])
    read_query(page, dataset_id, paths, 3, data["rel"])
    # The charts follow what is chosen, and so do the tables of parts.
    for measure in range(len(data["measures"])):
        page.run(
            f"{{const s = document.getElementById('pairs-measure'); s.value = {measure}; s.dispatchEvent(new Event('change'))}}"
        )
        assert page.run("document.getElementById('queries-measure').value") == str(measure)
        lower = data["measures"][measure]["lower"]
        one, two = (data["values"][measure][system] for system in data["pair"])
        signs = [(b - a if lower else a - b) for a, b in zip(one, two, strict=True)]
        wins, losses = sum(s > 0 for s in signs), sum(s < 0 for s in signs)
        names = [data["systems"][system]["name"] for system in data["pair"]]
        words = text(page, "#bars-title")
        queries = ["1 query" if n == 1 else f"{n} queries" for n in (wins, losses)]
        assert f"{names[0]} is better for {queries[0]}, {names[1]} for {queries[1]}" in words
        drawn = page.run(
            "[...document.querySelectorAll('#bars .bar')].map(e => (e.getAttribute('d').match(/M/g) || []).length)"
        )
        if len(signs) <= 200:
            assert drawn == [wins, losses]
        parts = page.run(
            "[...document.querySelectorAll('#parts [data-measure]')].filter(e => e.offsetParent).map(e => e.dataset.measure)"
        )
        assert parts
        assert set(parts) == {str(measure)}
        assert page.run("document.querySelectorAll('#scatter .spot').length") >= 1
        for number in page.run(
            "[...document.querySelectorAll('#bars path, #scatter path')].map(e => e.getAttribute('d'))"
        ):
            assert "NaN" not in number
            assert "Infinity" not in number
    untitled = page.run(
        "[...document.querySelectorAll('svg:not([aria-hidden])')].filter(e => !e.querySelector('title')?.textContent.trim()).length"
    )
    assert untitled == 0
    ids = page.run("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    # On a telephone nothing but tables and columns of documents is wider than the screen.
    page.size(390, 844, phone=True)
    load(page, path)
    assert page.run("document.documentElement.scrollWidth") == 390
    page.size(1280, 900)
    assert page.problems == []
    assert set(page.requests) == {path.resolve().as_uri()}


def test_csfcube_s_sample(browser: Page, reported: Any) -> None:
    path, paths = reported("csfcube/sample", ["fabs_bm25", "fabs_tfidf", "random"])
    look(browser, path, "csfcube/sample", paths)


def test_relic_s_sample(browser: Page, reported: Any) -> None:
    path, paths = reported("relic/sample/val", ["bm25", "tfidf"])
    look(browser, path, "relic/sample/val", paths)
    ranks = [read_ranks(run, Run.read(run)) for run in paths]
    name = text(browser, "#detail h3").removeprefix("Query ")
    shown = browser.run(
        "[...document.querySelectorAll('#detail tbody tr td:nth-child(3)')].map(e => e.textContent)"
    )
    assert shown == [f"{next(iter(r[name].values())):,}" for r in ranks if r is not None]


SIZES = [(360, 740, True), (768, 1024, False), (1440, 900, False)]


def test_axe_finds_no_fault_at_any_width(browser: Page, reported: Any) -> None:
    path, _ = reported("csfcube/sample", ["bm25", "tfidf", "random"])
    for (width, height, phone), scheme in itertools.product(SIZES, ("light", "dark")):
        browser.media(prefers_color_scheme=scheme)
        browser.size(width, height, phone)
        load(browser, path)
        assert browser.run("document.documentElement.scrollWidth") <= width
        # The chart is as wide as the page.
        wide = browser.run(
            "document.querySelector('header .rows').getBoundingClientRect().width / document.body.clientWidth"
        )
        assert wide > 0.9
        assert browser.faults() == []
    browser.media()


def test_long_names_fit_a_phone(browser: Page, irtoolkit: Command, tmp_path: Path) -> None:
    name = "a-system-with-a-very-long-name_and_its_settings=k1:0.9,b:0.4"
    (tmp_path / "x.qrels").write_text("q1 0 d1 1\nq2 0 d2 1\n")
    for number in range(8):
        rows = [
            f"q{q} Q0 d{d} 1 {(d * (number + q)) % 5} {name}{number}"
            for q in (1, 2)
            for d in range(9)
        ]
        (tmp_path / f"{number}.run").write_text("\n".join(rows) + "\n")
    runs = sorted(tmp_path.glob("*.run"))
    out = tmp_path / "x.html"
    assert irtoolkit("report", tmp_path / "x.qrels", *runs, "-o", out).status == 0
    browser.size(360, 740, phone=True)
    load(browser, out)
    assert browser.run("document.documentElement.scrollWidth") == 360
    assert browser.faults() == []


def test_systems_are_sorted_filtered_and_their_commands_copied(
    browser: Page, reported: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "irtoolkit retrieve csfcube/sample tfidf -o tfidf.run"
    monkeypatch.setattr("sys.argv", command.split())
    path, _ = reported("csfcube/sample", ["bm25", "tfidf", "random"])
    browser.size(1280, 900)
    load(browser, path)

    def names() -> list[str]:
        shown: list[str] = browser.run(
            "[...document.querySelectorAll('#figures tbody tr:not([hidden]) th')].map(e => e.childNodes[3].textContent.trim())"
        )
        return shown

    best = names()
    assert browser.run("document.querySelectorAll('#figures thead th')[1].ariaSort") == "descending"
    # By keyboard: from the table into its heads.
    browser.run("document.querySelector('#figures thead th:nth-child(2) .sort').focus()")
    browser.press("Enter")
    assert names() == best[::-1]
    assert browser.run("document.querySelectorAll('#figures thead th')[1].ariaSort") == "ascending"
    browser.press("Enter")
    assert names() == best
    browser.run("document.querySelector('#figures thead th:nth-child(3) .sort').click()")
    assert names()[-1] == best[0]  # what has no difference is last
    browser.run("document.querySelector('#figures thead th:nth-child(4) .sort').click()")
    assert browser.run("document.querySelectorAll('#figures thead th')[3].ariaSort") == "ascending"
    for order in (["bm25", "random", "tfidf"], ["tfidf", "random", "bm25"]):
        browser.run("document.querySelector('#figures thead th:nth-child(1) .sort').click()")
        assert names() == order
    browser.run("document.getElementById('filter').focus()")
    browser.type("RAND")
    assert names() == ["random"]
    assert text(browser, "#filtered") == "1 of 3 systems"
    browser.run(
        "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async t => {window.copied = t}}})"
    )
    browser.run("document.querySelector('#figures tr:not([hidden]) .copy').focus()")
    browser.press("Enter")
    assert browser.until("window.copied") == command
    # A browser that lets no page write to the clipboard leaves the command selected.
    browser.run(
        "navigator.clipboard.writeText = async () => { throw new Error() }; document.querySelector('#figures tr:not([hidden]) .copy').click()"
    )
    assert browser.until("getSelection().toString()") == command


def test_queries_are_found_and_reached_with_the_keyboard(browser: Page, reported: Any) -> None:
    path, _ = reported("relic/sample/val", ["bm25", "tfidf"])
    browser.size(1280, 900)
    load(browser, path)
    assert browser.run("document.querySelectorAll('.queries .id').length") == 75
    browser.run("document.getElementById('find').focus()")
    wanted = browser.run("document.querySelectorAll('.queries .id')[40].textContent")
    browser.call("Input.insertText", text=wanted)
    names = browser.run("[...document.querySelectorAll('.queries .id')].map(e => e.textContent)")
    assert wanted in names
    assert len(names) < 75
    # From the search to the order, to the list, and into it.
    for _ in range(2):
        browser.key("Tab", 9)
    if browser.run("document.activeElement.tagName") != "BUTTON":
        browser.key("Tab", 9)
    assert browser.run("document.activeElement.closest('.queries') !== null")
    chosen = browser.run("document.activeElement.querySelector('.id').textContent")
    browser.key("Enter", 13)
    assert text(browser, "#detail h3") == f"Query {chosen}"
    assert browser.run("decodeURIComponent(location.hash)") == f"#query={chosen}"


def test_pressing_a_chart_opens_the_query_told_below_it(browser: Page, reported: Any) -> None:
    path, _ = reported("relic/sample/val", ["bm25", "tfidf"], "--chart", "Rank")
    browser.size(1280, 900)
    load(browser, path)
    browser.run("document.querySelector('#bars svg').scrollIntoView({block: 'center'})")
    x, y = browser.run(
        "(() => {const b = document.querySelector('#bars svg').getBoundingClientRect(); return [b.x + b.width * 0.95, b.y + b.height / 2]})()"
    )
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    said = text(browser, "#bars-said")
    for kind in ("mousePressed", "mouseReleased"):
        browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    name = text(browser, "#detail h3").removeprefix("Query ")
    assert said.startswith(f"{name}: bm25 ")
    assert "\u2212" in said


def test_markup_in_texts_stays_text_in_a_browser(
    browser: Page, irtoolkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script's side of escaping: what it writes into the page is never parsed."""
    from irtoolkit.datasets.local import registered

    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    bad = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">"
    folder = tmp_path / "markup"
    folder.mkdir()
    (folder / "docs.jsonl").write_text(
        "".join(
            json.dumps({"id": f"<i>{i}", "title": bad, "text": f"whale {bad}"}) + "\n"
            for i in range(2)
        )
    )
    (folder / "topics.jsonl").write_text(json.dumps({"id": "<b>", "text": f"whale {bad}"}) + "\n")
    (folder / "qrels").write_text("<b> 0 <i>1 1\n")
    (tmp_path / "a.run").write_text("<b> Q0 <i>0 1 2 <u>\n<b> Q0 <i>1 2 1 <u>\n")
    (tmp_path / "b.run").write_text("<b> Q0 <i>1 1 2 <s>\n")
    try:
        files = ["--docs", "docs.jsonl", "--topics", "topics.jsonl", "--qrels", "qrels"]
        assert irtoolkit("register", "markup", folder, *files).status == 0
        out = tmp_path / "x.html"
        answer = irtoolkit("report", "markup", tmp_path / "a.run", tmp_path / "b.run", "-o", out)
        assert answer.status == 0, answer.err
        browser.problems.clear()
        load(browser, out)
        browser.click(".queries button")
        assert text(browser, "#detail .asked") == f"whale {bad}"
        assert browser.run("document.title") == "markup: <s>, <u>"
        assert browser.run("document.querySelectorAll('img, b, i, u, s').length") == 0
        assert browser.problems == []
    finally:
        registered.drop_from_ir_datasets("markup")
