"""The page in a browser: a book is added, asked, judged and exported, with the mouse and with keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.apps.serve.app import application
from irtoolkit.apps.serve.library import Library
from irtoolkit.apps.web.guard import Access
from tests import chromium
from tests.integration.apps.serve.test_api import BOOK
from tests.waiting import wait_for

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"
SIZES = ((360, 740, True), (768, 1024, False), (1440, 900, False))


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server of words alone."""
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    library = Library(tmp_path / "library", None)
    with chromium.serving(lambda port: application(library, Access.local(port))) as made:
        yield made


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Page]:
    with chromium.opened(tmp_path_factory.mktemp("profile")) as made:
        yield made


def start(page: chromium.Page, address: str, size: tuple[int, int, bool] = SIZES[2]) -> None:
    page.problems.clear()
    page.requests.clear()
    page.size(*size)
    page.open(f"{address}/")
    page.until("!document.querySelector('#no-books').hidden || document.querySelector('.book')")


def add(page: chromium.Page, path: Path) -> None:
    page.upload("#file", path)
    page.until("document.querySelector('.book') && !document.querySelector('.preparing')")


def ask(page: chromium.Page, text: str) -> None:
    page.run("document.querySelector('#query').focus(); document.querySelector('#query').select()")
    page.type(text)
    page.press("Enter", ctrl=True)
    page.until(
        "document.querySelector('.hit') && document.querySelector('#asked').textContent"
        f" === {json.dumps(text)}"
    )


def test_the_whole_path_with_keys_only(
    page: chromium.Page, address: str, write: Any, tmp_path: Path, irtoolkit: Any
) -> None:
    start(page, address)
    add(page, write("lamp.txt", BOOK))
    said = page.until("document.querySelector('#status').textContent.includes('ready') && document.querySelector('#status').textContent")  # fmt: skip
    assert said == "The Lamp Keeper is ready."
    page.run("document.activeElement.blur()")
    page.press("/")
    assert page.run("document.activeElement.id") == "query"
    page.type("She burned the chairs, for ")
    page.press("g", ctrl=True)
    assert (
        page.run("document.querySelector('#query').value") == "She burned the chairs, for [quote]"
    )
    page.run("document.querySelector('#length').value = 1")
    page.press("Enter", ctrl=True)
    page.until("document.querySelectorAll('.hit').length > 1")
    page.press("j", "y")
    page.until("document.querySelector('#status').textContent === 'Recorded: this is it.'")
    assert page.run("document.activeElement.closest('.hit').id") == "words-1"
    page.press("j", "n")
    page.until("document.querySelector('#status').textContent === 'Recorded: not this.'")
    page.press("e")
    page.until("document.querySelectorAll('#words-2 .around span').length > 4")
    marks = page.run("[...document.querySelectorAll('#words-1 .own mark')].map(m => m.textContent)")
    assert marks == ["burned", "chairs"]
    assert page.run("document.querySelector('#words-1 .where').textContent").startswith("CHAPTER II \u00b7 sentence 2")  # fmt: skip
    assert page.run("document.querySelector('.strip a').style.left") == "60%"
    qrels = tmp_path / "page.qrels"
    qrels.write_text(page.fetched("/judgments/qrels"))
    run = tmp_path / "page.run"
    run.write_text(page.fetched("/search", {
        "collection": page.run("document.querySelector('.book').dataset.id"),
        "query": "She burned the chairs, for [quote]", "length": 1, "format": "trec",
    }))  # fmt: skip
    scored = irtoolkit("eval", qrels, run, "-m", "RR@20")
    assert scored.status == 0, scored.err
    assert "1.0000" in scored.out
    page.assert_quiet(address)


def test_every_control_is_reached_by_tab_and_shows_it(
    page: chromium.Page, address: str, write: Any
) -> None:
    start(page, address)
    add(page, write("lamp.txt", BOOK))
    ask(page, "the lamp")
    page.assert_tab_reaches(
        "a[href], button, input, textarea, summary",
        "e.id === 'file' ? e.previousElementSibling : e",
    )


@pytest.mark.parametrize(
    ("size", "scheme"),
    [*zip(SIZES, ("dark", "light", "dark"), strict=True)],
    ids=["360", "768", "1440"],
)
def test_it_fits_and_axe_finds_no_fault(
    page: chromium.Page, address: str, write: Any, size: tuple[int, int, bool], scheme: str
) -> None:
    page.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    start(page, address, size)
    add(page, write("lamp.txt", BOOK))
    ask(page, "the chairs burned")
    assert page.run("document.documentElement.scrollWidth") <= size[0]
    clipped = page.run("[...document.querySelectorAll('button, .where, h1, h2, h3, .book')].filter(e => e.checkVisibility() && e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1).map(e => e.outerHTML)")  # fmt: skip
    assert clipped == []
    page.assert_quiet(address)
    # With what is folded, and a passage that was judged.
    page.run("document.querySelector('#options').open = true; document.querySelector('.hit .no').click(); 1")  # fmt: skip
    page.until("document.querySelector('.judged-no')")
    assert page.faults() == []


@pytest.mark.parametrize("size", [SIZES[0], SIZES[2]], ids=lambda size: str(size[0]))
def test_the_first_passage_is_seen_without_scrolling(
    page: chromium.Page, address: str, write: Any, size: tuple[int, int, bool]
) -> None:
    start(page, address, size)
    add(page, write("lamp.txt", BOOK))
    ask(page, "the chairs burned")
    shown = page.run("(() => { const place = document.querySelector('.hit .own').getBoundingClientRect(); return [place.top, scrollY]; })()")  # fmt: skip
    # On a phone passages take the place of the title.
    assert shown[0] < (0.31 if size[0] == 360 else 0.6) * size[1]
    assert shown[1] == 0
    above = page.run("document.querySelector('#query').getBoundingClientRect().top < document.querySelector('.shelf').getBoundingClientRect().top")  # fmt: skip
    assert above == (size[0] == 360)
    assert not page.run("document.querySelector('#length').checkVisibility()")


def test_of_a_long_passage_a_phone_shows_the_telling_part(
    page: chromium.Page, address: str, write: Any
) -> None:
    idle = "The wind came over the moor for the whole of the night, and the men at the gate spoke of it, "
    sentences = [f"{idle * 2}and it was {number}." for number in range(64)]
    sentences[30] = f"{idle}and the lighthouse burned."
    sizes = {}
    for size in (SIZES[0], SIZES[2]):
        start(page, address, size)
        add(page, write("moor.txt", " ".join(sentences)))
        ask(page, "a lighthouse that burned " + "and nobody knew whose fault it was, " * 5 + "ever")
        page.run("document.activeElement.blur()")
        sizes[size[0]] = page.run(
            "(() => { const own = document.querySelector('.hit .own'), mark = own.querySelector('mark');"
            " return [own.getBoundingClientRect().bottom, mark.getBoundingClientRect().top,"
            " [...own.querySelectorAll('span')].filter(s => s.checkVisibility()).length]; })()"
        )
    bottom, mark, visible = sizes[360]
    assert 0 < mark < bottom < 740
    assert visible < 8
    assert sizes[1440][2] == 8
    page.size(*SIZES[0])
    page.run("document.querySelector('.hit .more').click()")
    page.until("[...document.querySelectorAll('.hit .own span')].every(s => s.checkVisibility())")


def test_a_search_is_in_the_address_and_opens_again(
    page: chromium.Page, address: str, write: Any
) -> None:
    start(page, address)
    add(page, write("lamp.txt", BOOK))
    page.run(
        "document.querySelector('#length').value = 2; document.querySelector('#depth').value = 3"
    )
    ask(page, "the chairs burned")
    ask(page, "a ship & the oil?")
    kept = page.run("location.href")
    assert "length=2" in kept
    page.run("history.back(); 1")
    page.until("document.querySelector('#asked').textContent === 'the chairs burned'")
    page.open("about:blank")
    page.open(kept)
    page.until("document.querySelector('#asked').textContent === 'a ship & the oil?'")
    assert page.run("[document.querySelector('#length').value, document.querySelector('#depth').value]") == ["2", "3"]  # fmt: skip
    assert page.run("location.href") == kept
    page.assert_quiet(address)
    page.open(f"{address}/?q=lamp&book=gone-12345678")
    said = page.until("document.querySelector('#alert').textContent")
    assert said == "The book of this address is not on the shelf."


def test_enter_searches_and_with_shift_begins_a_line(
    page: chromium.Page, address: str, write: Any
) -> None:
    start(page, address)
    add(page, write("lamp.txt", BOOK))
    page.run("document.querySelector('#query').focus()")
    page.type("the chairs")
    page.press("Enter", shift=True)
    page.type("burned")
    assert page.run("document.querySelector('.hit')") is None
    page.press("Enter")
    page.until("document.querySelector('.hit')")
    assert page.run("document.querySelector('#query').value") == "the chairs\nburned"
    page.assert_quiet(address)


def test_a_bookmark_is_named_by_query_and_book_and_back_leads_to_the_start(
    page: chromium.Page, address: str, write: Any
) -> None:
    start(page, address)
    add(page, write("lamp.txt", BOOK))
    ask(page, "the chairs burned")
    assert page.run("document.title") == "the chairs burned \u00b7 The Lamp Keeper"
    page.run("history.back(); 1")
    page.until("document.querySelector('#query').value === ''")
    assert page.run("document.querySelector('#results').hidden")
    assert page.run("document.title") == "Find a passage"


def test_passages_of_one_book_are_not_shown_beside_another(
    page: chromium.Page, address: str, write: Any
) -> None:
    start(page, address)
    add(page, write("other.txt", BOOK.replace("Lamp", "Light") + "One more sentence.\n"))
    add(page, write("lamp.txt", BOOK))
    page.until("document.querySelectorAll('.book').length === 2")
    ask(page, "the chairs burned")
    page.run("document.querySelector('.book .pick[aria-pressed=false]').click()")
    assert page.run("document.querySelector('#results').hidden")
    said = page.run("document.querySelector('#status').textContent")
    assert said == "Press Search to look in The Light Keeper."
    assert page.run("document.querySelector('#query').value") == "the chairs burned"


def test_escape_and_a_click_elsewhere_fold_the_options(
    page: chromium.Page, address: str, write: Any
) -> None:
    start(page, address)
    add(page, write("lamp.txt", BOOK))
    page.run("document.querySelector('#options').open = true; document.querySelector('#length').focus(); 1")  # fmt: skip
    page.key("Escape", 27)
    assert not page.run("document.querySelector('#options').open")
    assert page.run("document.activeElement.tagName") == "SUMMARY"
    page.run("document.querySelector('#options').open = true; 1")
    page.click("#length")
    assert page.run("document.querySelector('#options').open")
    page.click(".motto")
    assert not page.run("document.querySelector('#options').open")


@pytest.mark.parametrize("place", ["", "?q=lamp"])
def test_a_token_that_is_pasted_into_an_open_page_is_taken(
    page: chromium.Page, address: str, place: str
) -> None:
    page.open("about:blank")
    page.open(f"{address}/{place}")
    page.run("window.isOld = true; location.hash = 'token=N%2FW'; 1")
    # Not `until`, whose promise a new page takes away.
    wait_for(
        lambda: page.run_if_settled("!window.isOld && localStorage.getItem('token') === 'N/W'")
    )
    assert page.run("location.href") == f"{address}/{place}"


def test_books_of_one_title_are_told_apart_by_their_files(
    page: chromium.Page, address: str, write: Any
) -> None:
    start(page, address)
    for name, more in (("first.txt", ""), ("second.txt", "One more sentence.\n")):
        add(page, write(name, BOOK + more))
    page.until("document.querySelectorAll('.book').length === 2")
    names = page.run("[...document.querySelectorAll('.book .name')].map(n => n.textContent)")
    assert names == ["The Lamp Keeper (first.txt)", "The Lamp Keeper (second.txt)"]


def test_a_printed_page_names_the_book(page: chromium.Page, address: str, tmp_path: Path) -> None:
    path = tmp_path / "lamp.txt"
    path.write_text(BOOK, "utf-8")
    start(page, address)
    add(page, path)
    ask(page, "burned the chairs")
    after = "getComputedStyle(document.querySelector('#asked'), '::after').content"
    assert page.run(after) == "none"
    page.call("Emulation.setEmulatedMedia", media="print")
    assert "The Lamp Keeper" in page.run(after)
    page.call("Emulation.setEmulatedMedia", media="")
    page.media(prefers_reduced_motion="reduce")


def test_a_withdrawn_judgment_is_gone_from_all_passages_at_once(
    page: chromium.Page, address: str, write: Any
) -> None:
    start(page, address)
    add(page, write("lamp.txt", BOOK))
    pressed = "[...document.querySelectorAll('.yes[aria-pressed=true]')].length"
    page.run("document.querySelector('#length').value = 4")
    ask(page, "the chairs burned")
    page.run("document.querySelector('#words-1 .yes').click()")
    page.until("document.querySelector('#status').textContent === 'Recorded: this is it.'")
    page.run("document.querySelector('#length').value = 2")
    page.press("Enter", ctrl=True)
    # Two passages of two sentences are in the one that was judged.
    page.until(f"{pressed} === 2")
    page.run("document.querySelector('.yes[aria-pressed=true]').click()")
    page.until(f"{pressed} === 0")
    assert page.fetched("/judgments/table").count("\n") == 1


def test_where_words_find_nothing_meaning_is_offered(
    page: chromium.Page, address: str, write: Any
) -> None:
    start(page, address)
    add(page, write("lamp.txt", BOOK))
    page.run("document.querySelector('#query').focus()")
    page.type("she said upon")
    page.press("Enter", ctrl=True)
    said = page.until("document.querySelector('.note')?.textContent")
    assert "too common" in said or "shares a word" in said
    # This server has no model, and says so.
    assert page.run("document.querySelector('.instead')") is None
    assert not page.run("document.querySelector('#no-model').hidden")


def test_nothing_that_is_written_is_executed(page: chromium.Page, address: str, write: Any) -> None:
    start(page, address)
    add(page, write("x.txt", f"# Title: {HOSTILE}\n\n## CHAPTER {HOSTILE}\n\nThe lamp {HOSTILE} burned.\n"))  # fmt: skip
    ask(page, f"lamp {HOSTILE}")
    assert page.run("document.querySelectorAll('main img, main script, aside img').length") == 0
    assert HOSTILE in page.run("document.querySelector('.book .name').textContent")
    assert HOSTILE in page.run("document.querySelector('.own').textContent")
    page.assert_quiet(address)


def test_what_is_refused_is_said(page: chromium.Page, address: str, write: Any) -> None:
    start(page, address)
    page.upload("#file", write("picture.txt", b"\x89PNG\0\0"))
    said = page.until("!document.querySelector('#alert').hidden && document.querySelector('#alert').textContent")  # fmt: skip
    assert said.startswith("picture.txt: not a text")
    page.upload("#file", write("large.txt", b"word. " * 3_400_000))
    said = page.until("document.querySelector('#alert').textContent.startsWith('large') && document.querySelector('#alert').textContent")  # fmt: skip
    assert said == "large.txt has 21 MB; a book has at most 20."


def test_an_example_is_a_search(page: chromium.Page, address: str, write: Any) -> None:
    start(page, address)
    # Without a book there is nothing to try it on.
    assert not page.run("document.querySelector('#examples').checkVisibility()")
    add(page, write("lamp.txt", BOOK))
    example = page.run("document.querySelector('#examples button').textContent")
    page.run("document.querySelector('#examples button').click()")
    page.until(f"document.querySelector('#asked').textContent === {json.dumps(example)}")
    assert page.run("document.querySelector('#query').value") == example
    assert not page.run("document.querySelector('#welcome').checkVisibility()")
    page.assert_quiet(address)
