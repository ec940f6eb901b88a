"""Text tables fit the terminal: widths, shortened names, stacked blocks, and their HTML."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from irtoolkit.base.tables import TextTable, terminal_width
from irtoolkit.base.textwidth import ELLIPSIS, pad, shorten, shorten_all, text_width, wrap

WIDTHS = (100, 60, 40)
each_width = pytest.mark.parametrize("width", WIDTHS)
FOLDER = "runs/of/the/first/week/csfcube-sample/background/"
MEASURES = ["nDCGp(p=20)", "RPlast(rel=2)", "P(rel=2)@20", "R(rel=2)@20", "nDCG", "AP", "RR", "MRR"]


def wide_table(name: str = "run") -> TextTable:
    names = [f"{FOLDER}all-MiniLM-L6-v2.run", f"{FOLDER}bm25.run", "学而时习之不亦说乎" * 6]
    rows = [[text, *(i / 10 for i in range(len(MEASURES)))] for text in names]
    return TextTable([name, *MEASURES], rows, f"csfcube/sample: {'mean over queries; ' * 8}")


# -- width of a text -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("", 0),
        ("bm25", 4),
        ("学而", 4),
        ("ﾊﾝｶｸ", 4),
        ("ＡＢ", 4),
        ("e\u0301t", 2),
        ("é", 1),
        ("…", 1),
    ],
)
def test_wide_characters_take_two_columns_and_combining_ones_none(text: str, width: int) -> None:
    assert text_width(text) == width
    assert text_width(pad(text, 10)) == 10
    assert pad(text, 10, right=True).endswith(text)


def test_different_names_stay_different() -> None:
    names = [f"{'a' * 30}{middle}{'b' * 30}" for middle in ("1", "2")]
    assert shorten_all(names, 34) != [shorten(name, 34) for name in names]
    assert len(set(shorten_all(names, 34))) == 2
    assert len(set(shorten_all(names, 10))) == 1, "no place of the ellipsis tells them apart"


# -- tables that fit -----------------------------------------------------------------------------


def test_a_name_is_shortened_before_columns_are_stacked() -> None:
    table = TextTable(["run", "AP"], [[f"{FOLDER}bm25.run", 0.5], [f"{FOLDER}tfidf.run", 0.25]])
    header, rule, *rows = table.to_text(40).split("\n")
    assert header.split() == ["run", "AP"]
    assert text_width(rule) == 40
    assert [row.split()[0][-8:] for row in rows] == ["bm25.run", "fidf.run"]
    assert all(ELLIPSIS in row for row in rows)
    assert [row.split()[1] for row in rows] == ["0.5000", "0.2500"]


def test_columns_that_do_not_fit_go_into_blocks_that_repeat_the_name() -> None:
    text = TextTable(["run", *"abcdefgh"], [["bm25", *[0.5] * 8], ["tfidf", *[0.25] * 8]])
    assert text.to_text(40).split("\n") == [
        "run         a       b       c       d",
        "-----  ------  ------  ------  ------",
        "bm25   0.5000  0.5000  0.5000  0.5000",
        "tfidf  0.2500  0.2500  0.2500  0.2500",
        "",
        "run         e       f       g       h",
        "-----  ------  ------  ------  ------",
        "bm25   0.5000  0.5000  0.5000  0.5000",
        "tfidf  0.2500  0.2500  0.2500  0.2500",
    ]


@each_width
def test_long_texts_are_wrapped_in_their_column(width: int) -> None:
    words = [f"word{i}" for i in range(40)]
    table = TextTable(["id", "n", "what it is"], [["a", 1, " ".join(words)], ["b", 2, "short"]])
    lines = table.to_text(width).split("\n")
    assert max(map(text_width, lines)) <= width
    assert [word for word in " ".join(lines).split() if word.startswith("word")] == words
    assert lines[-1].split() == ["b", "2", "short"]


def test_the_terminal_decides_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    for columns, width in (("72", 72), ("10", 40)):
        monkeypatch.setenv("COLUMNS", columns)
        assert terminal_width() == width
        assert str(wide_table()) == wide_table().render("text") == wide_table().to_text(width)


# -- HTML ----------------------------------------------------------------------------------------


class Cells(HTMLParser):
    """The texts of a page's elements, and whether each element is closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts[self.open[-1]][-1] += data


def test_html_is_escaped_and_complete() -> None:
    table = TextTable(
        ["<run>", "AP"], [["a & b <script>", 1 / 3], ["c", None]], 'A "title" <b>', ["", "note <i>"]
    )
    found = Cells()
    found.feed(table.to_html())
    assert not found.open
    assert found.texts["th"] == ["<run>", "AP"]
    assert found.texts["td"] == ["a & b <script>", "0.3333", "c", "-"]
    assert found.texts["p"] == ['A "title" <b>', "note <i>"]
    assert not {"script", "b", "i"} & set(found.texts)
    assert table._repr_html_() == table.to_html()


def test_what_controls_a_terminal_is_shown_and_not_sent() -> None:
    evil = "d\x1b]0;title\x07\x9b31m\r"
    table = TextTable([evil, "AP"], [[evil, 0.5]], evil, notes=[evil])
    text = table.to_text(100)
    assert not set(text) & set("\x1b\x07\x9b\r")
    assert text.count(r"d\x1b]0;title\x07\x9b31m\x0d") == 4


@pytest.mark.parametrize(
    ("word", "lines"),
    [
        ("to=one|two|three", ["to=one|two|", "three"]),
        ("/etc/passwords", ["/etc/", "passwords"]),
        ("first,second,third", ["first,", "second,third"]),
        ("internationalisation", ["internationa", "lisation"]),
        ("|" * 15, ["|" * 12, "|" * 3]),
    ],
)
def test_a_word_that_is_too_wide_is_cut_after_a_mark(word: str, lines: list[str]) -> None:
    assert wrap(word, 12) == lines
    assert "".join(lines) == word
