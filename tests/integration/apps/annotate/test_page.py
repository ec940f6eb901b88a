"""The page in a browser: documents are judged with keys only, and no judgment is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import irtoolkit as ir
from irtoolkit.apps.annotate.app import application
from irtoolkit.apps.annotate.grades import Grades
from irtoolkit.apps.annotate.pool import Source, pooled
from irtoolkit.apps.annotate.session import Session
from irtoolkit.apps.web.guard import Access
from irtoolkit.runs import Qrels
from tests import chromium
from tests.waiting import wait_for

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"
SIZES = ((360, 740, True), (768, 1024, False), (1440, 900, False))
ARABIC, CHINESE = "كان الحارس يكتب سطرا واحدا", "守塔人每四小时写一行字。" * 30
LONG = "\n".join(f"Line {i} of a long document, with a_word_that_{'never_' * 9}ends." for i in range(300))  # fmt: skip
TEXTS = {"arabic": ARABIC, "chinese": CHINESE, "hostile": f"lamp {HOSTILE}", "long": LONG}
QUERIES = {"q1": f"a lamp {HOSTILE}", "q2": "二 " + CHINESE}


def session(folder: Path, annotator: str = "ann") -> Session:
    data = ir.load(TEXTS, queries=QUERIES, candidates={name: list(TEXTS) for name in QUERIES})
    pool = pooled(data, Source(), Grades(labels={0: "No", 1: "A little: in parts", 2: "Mostly", 3: "Yes, completely so"}), lambda line: None)  # fmt: skip
    pool.keep(folder)
    return Session(data, pool, folder, annotator)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A server of one annotator."""
    made = session(tmp_path)
    with chromium.serving(lambda port: application(made, Access.local(port))) as found:
        yield found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Page]:
    with chromium.opened(tmp_path_factory.mktemp("profile")) as made:
        yield made


def start(page: chromium.Page, address: str, size: tuple[int, int, bool] = SIZES[2]) -> None:
    page.problems.clear()
    page.requests.clear()
    page.size(*size)
    page.open(f"{address}/")
    page.run("sessionStorage.clear()")
    page.open(f"{address}/")
    shown(page)


def shown(page: chromium.Page) -> None:
    """Waits until a document is there, and nothing is being kept."""
    # In the list, texts that are far away are fetched when they come near.
    page.until("document.querySelector('.document.now .text p') && !document.querySelector('.document.now[aria-busy], #grades[aria-busy]')")  # fmt: skip


def press(page: chromium.Page, key: str, said: str) -> None:
    """Presses a key, and waits until the page has said something."""
    page.press(key)
    page.until(f"document.querySelector('#status').textContent === {json.dumps(said)}")
    shown(page)


def at(page: chromium.Page) -> str:
    return str(page.run("location.hash"))


def text(page: chromium.Page, selector: str) -> str:
    return str(page.run(f"document.querySelector({json.dumps(selector)}).textContent"))


def kept(folder: Path) -> dict[str, dict[str, int]]:
    path = folder / "ann.qrels"
    return Qrels.read(path).as_dict() if path.exists() else {}


def test_the_whole_path_with_keys_only(page: chromium.Page, address: str, tmp_path: Path) -> None:
    order = session(tmp_path).pool.order("q1", "ann")
    start(page, address)
    assert text(page, "#so-far-text") == "0 of 8 judged"
    press(page, "2", "Document 1: 2 is kept.")
    assert kept(tmp_path) == {"q1": {order[0]: 2}}
    assert at(page) == "#1/2"
    page.press("j")
    assert at(page) == "#1/3"
    page.press("k", "k")
    assert at(page) == "#1/1"
    assert page.run("document.querySelector('#grades [aria-pressed=true]').dataset.grade") == "2"
    # A grade that is changed moves on to the next document.
    press(page, "3", "Document 1: 3 is kept.")
    assert (at(page), kept(tmp_path)) == ("#1/2", {"q1": {order[0]: 3}})
    press(page, "u", "Undone: document 1 is 2 again.")
    press(page, "u", "Undone: document 1 is not judged again.")
    assert kept(tmp_path) == {}
    press(page, "u", "There is nothing to undo.")
    # Grades that are none, and keys with Ctrl, judge nothing.
    page.press("7")
    page.press("1", ctrl=True)
    for place in range(4):
        press(page, str(place), f"Document {place + 1}: {place} is kept.")
    assert kept(tmp_path) == {"q1": {doc: grade for grade, doc in enumerate(order)}}
    assert text(page, "#done-title") == "All documents of this query are judged"
    assert page.run("document.activeElement.id") == "done-on"
    page.press("Enter")
    page.until("location.hash === '#2/1'")
    shown(page)
    assert text(page, "#query-title") == "Query 2 of 2"
    page.press("x")
    for place in range(4):
        press(page, "1", f"Document {place + 1}: 1 is kept.")
    assert text(page, "#done-title") == "Everything is judged"
    assert text(page, "#so-far-text") == "8 of 8 judged"
    page.press("k")
    press(page, "x", "Document 3: withdrawn.")
    assert text(page, "#so-far-text") == "7 of 8 judged"
    page.assert_quiet(address)


def test_a_page_that_is_loaded_again_continues_and_undoes(
    page: chromium.Page, address: str, tmp_path: Path
) -> None:
    start(page, address)
    press(page, "1", "Document 1: 1 is kept.")
    press(page, "2", "Document 2: 2 is kept.")
    page.open(f"{address}/")
    shown(page)
    assert (at(page), text(page, "#so-far-text")) == ("#1/3", "2 of 8 judged")
    press(page, "u", "Undone: document 2 is not judged again.")
    assert sum(map(len, kept(tmp_path).values())) == 1
    page.open(f"{address}/#2/3")
    shown(page)
    assert at(page) == "#2/3"


def test_another_tab_loses_nothing(page: chromium.Page, address: str, tmp_path: Path) -> None:
    start(page, address)
    row = page.run("1") and fetched(page, "/queries/0")
    key = fetched(page, "/task")["key"]
    # As another tab of the same annotator does.
    first, second = (one["document"] for one in row["documents"][:2])
    for doc, grade in ((first, 3), (second, 0)):
        fetched(page, "/judgments", {"query": "q1", "document": doc, "grade": grade, "before": None}, key)  # fmt: skip
    page.press("1")
    page.until("!document.querySelector('#alert').hidden")
    assert text(page, "#alert") == "this was judged 3 in another window"
    assert kept(tmp_path) == {"q1": {first: 3, second: 0}}
    # It shows them, and the annotator may now change them.
    assert text(page, "#so-far-text") == "2 of 8 judged"
    press(page, "1", "Document 1: 1 is kept.")
    assert kept(tmp_path) == {"q1": {first: 1, second: 0}}


def fetched(page: chromium.Page, path: str, body: Any = None, key: str = "") -> Any:
    return json.loads(page.fetched(path, body, **{"X-Session": key}))


def test_a_server_that_is_gone_is_said_and_the_document_stays_unjudged(
    page: chromium.Page, address: str, tmp_path: Path
) -> None:
    start(page, address)
    page.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1)  # fmt: skip
    try:
        page.press("1")
        page.until("!document.querySelector('#alert').hidden")
        assert text(page, "#alert").startswith("Not kept.")
        assert (at(page), text(page, "#so-far-text")) == ("#1/1", "0 of 8 judged")
    finally:
        page.call("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)  # fmt: skip
    press(page, "1", "Document 1: 1 is kept.")
    assert sum(map(len, kept(tmp_path).values())) == 1


def test_notes_are_kept_and_their_letters_judge_nothing(
    page: chromium.Page, address: str, tmp_path: Path
) -> None:
    start(page, address)
    page.press("e")
    page.until("document.activeElement.id === 'note'")
    page.press("1", "u", "x")
    page.press("Enter")
    wait_for(lambda: (tmp_path / "ann.notes.tsv").exists())
    assert (tmp_path / "ann.notes.tsv").read_text().endswith("\t1ux\n")
    assert kept(tmp_path) == {}
    assert page.run("document.activeElement.className") == "document now"
    page.press("j")
    assert page.run("document.querySelector('#note').value") == ""
    page.press("k")
    assert page.run("document.querySelector('#note').value") == "1ux"


def test_the_list_is_judged_with_the_same_keys(
    page: chromium.Page, address: str, tmp_path: Path
) -> None:
    start(page, address)
    page.press("v")
    page.until("document.querySelectorAll('.list .document').length === 4")
    shown(page)
    press(page, "2", "Document 1: 2 is kept.")
    assert page.run("document.querySelector('.document.now').dataset.place") == "1"
    page.click(".document[data-place='3'] .about")
    press(page, "0", "Document 4: 0 is kept.")
    order = session(tmp_path).pool.order("q1", "ann")
    assert kept(tmp_path) == {"q1": {order[0]: 2, order[3]: 0}}
    assert at(page) == "#1/2"
    page.assert_quiet(address)


def test_nothing_that_is_written_is_executed_and_scripts_have_their_direction(
    page: chromium.Page, address: str
) -> None:
    start(page, address)
    page.press("v")
    page.until("document.querySelectorAll('.list .document').length === 4")
    for place in range(4):
        page.run(f"document.querySelector('.document[data-place=\"{place}\"]').scrollIntoView()")
        page.until(f"!document.querySelector('.document[data-place=\"{place}\"]').hasAttribute('aria-busy')")  # fmt: skip
    assert page.run("document.querySelectorAll('main img, main script, .asked img').length") == 0
    assert HOSTILE in text(page, "#query")
    assert HOSTILE in text(page, "#documents")
    found = page.run("[...document.querySelectorAll('.document .text p')].map(p => [p.textContent.slice(0, 8), getComputedStyle(p).direction])")  # fmt: skip
    directions = dict(found)
    assert directions[ARABIC[:8]] == "rtl"
    assert directions[CHINESE[:8]] == "ltr"
    page.assert_quiet(address)


@pytest.mark.parametrize(
    ("size", "scheme"),
    [*zip(SIZES, ("dark", "light", "dark"), strict=True)],
    ids=["360", "768", "1440"],
)
def test_it_fits_and_axe_finds_no_fault(
    page: chromium.Page, address: str, size: tuple[int, int, bool], scheme: str
) -> None:
    page.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    start(page, address, size)
    press(page, "3", "Document 1: 3 is kept.")
    for view in "vv":
        page.press(view)
        shown(page)
        assert page.run("document.documentElement.scrollWidth") <= size[0]
        clipped = page.run("[...document.querySelectorAll('button, h1, h2, .text p')].filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map(e => e.outerHTML)")  # fmt: skip
        assert clipped == []
        # The grades are on the screen wherever a long document is read.
        page.run("window.scrollTo(0, document.documentElement.scrollHeight / 2)")
        assert page.run("(() => {const b = document.querySelector('#grades').getBoundingClientRect(); return b.top >= 0 && b.bottom <= innerHeight})()")  # fmt: skip
    page.assert_quiet(address)
    assert page.faults() == []


@pytest.mark.parametrize("size", [*SIZES[:2], (360, 640, True)], ids=lambda size: str(size[:2]))
def test_query_and_document_share_the_height(
    page: chromium.Page, address: str, size: tuple[int, int, bool]
) -> None:
    heights = "['.room', '.asked', 'main'].map(e => document.querySelector(e).getBoundingClientRect().height)"
    start(page, address, size)
    room, query, document = page.run(heights)
    # A short query takes what it needs, and the document has the rest.
    assert query < 0.5 * room
    assert document == pytest.approx(room - query, abs=2)
    page.press("n")
    page.until("document.querySelector('#query-title').textContent.startsWith('Query 2')")
    shown(page)
    room, query, document = page.run(heights)
    assert query <= document + 2
    if size[0] == 360:  # a long query has half
        assert query == pytest.approx(document, abs=2)
    assert page.run("document.documentElement.scrollHeight") <= size[1]
    # The next document begins at its beginning, however far this one was read.
    place = page.run("[...document.querySelectorAll('.pool button')].findIndex(e => e.ariaCurrent)")
    page.run("document.querySelector('main').scrollTop = 1e6")
    page.press("j" if place == 0 else "k")
    shown(page)
    above = "document.querySelector('.document').getBoundingClientRect().top - document.querySelector('main').getBoundingClientRect().top"
    assert page.run(above) >= 0


def test_every_control_is_reached_by_tab_and_shows_it(page: chromium.Page, address: str) -> None:
    start(page, address)
    press(page, "1", "Document 1: 1 is kept.")
    page.assert_tab_reaches('a[href], button, input, [tabindex="0"]')
