"""Every character of an edition is accounted for, and invented editions are read as they were written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.book_accounts import account_of
from irtoolkit.datasets.editions.edition import Edition
from irtoolkit.datasets.editions.reading import read_edition
from irtoolkit.datasets.novels import novel_of_edition
from tests import editions

LINES = st.sampled_from([
    "She came to the mill.", "", "", "CHAPTER I", "CHAPTER II. The Oil.", "I.", "II. The Wick", "12", "- 13 -", "[Pg 4]", "THE MILL",
    "*** START OF THE PROJECT GUTENBERG EBOOK X ***", "*** END OF THE PROJECT GUTENBERG EBOOK X ***", "Title: X",
    "Project Gutenberg License", "***START**THE SMALL PRINT!", "*END*THE SMALL PRINT!", "Produced by nobody",
    "[Transcriber's Note: a dot", "was added.]", "Transcriber's Notes", "CONTENTS", "The Oil ... 3", "a\fb", "eve\u00ad", "ning came",
    "well-", "known to all.", "_italic_ words_", "[Illustration: a ship]", "[Illustration: a", "[1] A note.", "So it was.[1]",
    "[Footnote 2: a note", "* * *", "# A heading #", "====", "---", "<!-- a comment", "-->", "*stressed* [link](x)", "> quoted",
    "\u00ab Viens ! \u00bb Il partit.", "\u7b2c\u4e00\u56de\u3000\u96e8", "\u4ed6\u6765\u4e86\u3002\u5979\u8d70\u4e86\u3002", "hou\u017fe and \ufb01re", "\u3000\u3000\u4ed6", "gallica.bnf.fr", "\u200b", "x\x00"[:1],
])  # fmt: skip
TAGS = st.sampled_from([
    "<p>", "</p>", "<div class=footnote>", "</div>", "<h2>", "</h2>", "She came.", "<script>x()</script>", "<br>", "<nav>", "</nav>",
    "<sup><a href='#n'>1</a></sup>", "<span class=pagenum>", "</span>", "&eacute;", "\u00ad", "<!-- c -->", "<table><tr><td>", "\n", "<i>a</i>",
])  # fmt: skip


def unaccounted(edition: Edition) -> int:
    try:
        return account_of(edition, novel_of_edition(edition, "x")).unaccounted
    except InputError:
        return 0  # it has no sentence


@given(st.lists(LINES, max_size=50), st.sampled_from(["x.txt", "x.md"]))
def test_each_character_of_a_text_is_somewhere(lines: list[str], name: str) -> None:
    assert unaccounted(read_edition("\n".join(["She came.", *lines]).encode(), name)) == 0


@given(st.text(max_size=300))
def test_each_character_of_any_text_is_somewhere(text: str) -> None:
    data = f"She came. {text}".encode(errors="ignore")
    if b"\0" not in data:
        assert unaccounted(read_edition(data, "x.txt")) == 0


@given(st.lists(TAGS, max_size=40))
def test_each_character_of_a_page_is_somewhere(tags: list[str]) -> None:
    page = f"<html><body><p>She came.</p>{''.join(tags)}</body></html>"
    assert unaccounted(read_edition(page.encode(), "x.html")) == 0


@pytest.mark.parametrize("edition", editions.editions(), ids=lambda edition: edition.name)
def test_editions_are_read_as_they_were_written(edition: editions.Edition) -> None:
    found = read_edition(edition.data, edition.name)
    novel = novel_of_edition(found, "x")
    assert account_of(found, novel).unaccounted == 0
    assert ["".join(s.split()) for s in novel.sentences] == [
        "".join(s.split()) for s in edition.sentences
    ]
    titles = ["".join(chapter.title.split()) for chapter in novel.chapters]
    assert titles == ["".join(title.split()) for title in edition.chapters]
