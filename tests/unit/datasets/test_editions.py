"""Editions: headings by evidence, edges of publishers, pages of scans, and a reason for all that is dropped."""

from __future__ import annotations

import pytest

from irtoolkit.datasets.editions.edition import Edition, count_characters
from irtoolkit.datasets.editions.plain import read_plain
from irtoolkit.datasets.novels import novel_of_edition

FILLER = "The wheel went round all day and nobody said a word about it. She said nothing."
FILLER_ZH = "\u78e8\u574a\u91cc\u7684\u6c34\u8f66\u8f6c\u4e86\u4e00\u5929\u3002\u4ed6\u6ca1\u6709\u8bf4\u8bdd\u3002"
PROSE = [
    "Part of it was true.", "Book after book was burnt.", "Letter after letter came.", "Act quickly, she said.",
    "Scene upon scene of grief!", "Chapter and verse he knew.", "Introduction there was none.",
    "Conclusion there was none.", "Volume upon volume lay there.", "Preface it with a bow.",
    "I. She is not one of us.", "C. Brown came in.", "Canto after canto he read.", "Chapter one was hard to write.",
    "Part two of the plan failed", "Book me a seat, said he", "1812 was a cold year.", "V. was the mark on it.",
    "\u201cPart of it,\u201d she said.", "Act II was over when he came.", "Stave after stave broke.",
]  # fmt: skip
PROSE_OTHERS = [
    "Teil davon war wahr.", "Buch um Buch verbrannte.", "Dieses Buch geh\u00f6rt mir.", "Erstes kam sie, dann er.",
    "Kapitel f\u00fcr Kapitel las er.", "Livre apr\u00e8s livre br\u00fbla.", "Partie de rien, elle gagna tout.",
    "Chapitre par chapitre, il lut.", "Acte de foi, dit-il.", "Parte de ello era verdad.", "Libro tras libro ardi\u00f3.",
    "\u0427\u0430\u0441\u0442\u044c \u0435\u0433\u043e \u0431\u044b\u043b\u0430 \u043f\u0440\u0430\u0432\u0434\u043e\u0439.",
    "\u041a\u043d\u0438\u0433\u0430 \u0437\u0430 \u043a\u043d\u0438\u0433\u043e\u0439 \u0433\u043e\u0440\u0435\u043b\u0430.",
]  # fmt: skip
PROSE_ZH = [
    "\u4e00\u56de\u5230\u5bb6\uff0c\u5979\u5c31\u54ed\u4e86\u3002",
    "\u4e00\u56de\u5934\uff0c\u4ed6\u770b\u89c1\u4e86\u90a3\u67b6\u6c34\u8f66\uff0c\u6c34\u8f66\u5df2\u7ecf\u505c\u4e86\u8bb8\u4e45\u3002",
    "\u7b2c\u4e09\u8282\u8bfe\u4e0b\u8bfe\u4e86\uff0c\u5b66\u751f\u4eec\u90fd\u8d70\u4e86\u3002",
    "\u7b2c\u4e00\u56de\u89c1\u5230\u4ed6\uff0c\u6211\u5c31\u77e5\u9053\u4e86\u3002",
    "\u7b2c\u4e00\u90e8\u624b\u673a\u574f\u4e86\u3002",
    "\u4e24\u56de\u90fd\u6ca1\u6709\u627e\u5230\u4ed6\u3002",
    "\u4e8c\u56de\u90fd\u6ca1\u6709\u627e\u5230\u4ed6\u3002",
    "\u4e00\u8282\u8f66\u53a2\u91cc\u53ea\u6709\u6211\u4eec\u4e24\u4e2a\u4eba\u3002",
    "\u201c\u4e00\u56de\u5230\u5bb6\u5c31\u54ed\u3002\u201d\u5979\u8bf4\u3002",
    "\u7b2c\u4e00\u56de\u89c1\u5230\u4ed6",
]
HEADINGS = [
    "CHAPTER I", "CHAPTER I.", "Chapter 12", "CHAPTER I. The Oil", "CHAPTER I. The Oil.", "Chapter IV: A Walk",
    "Chapter the First", "CHAPTER TWENTY-ONE", "BOOK THE FIRST", "The First Book", "PART II", "Volume 3",
    "Stave One", "LETTER IV", "ACT II", "PREFACE", "Preface to the second edition", "Epilogue", "INTRODUCTION.",
    "Zweites Kapitel", "Erstes Buch", "2. Kapitel", "Drittes Kapitel. Die M\u00fchle", "Vorwort", "Chapitre premier",
    "PREMI\u00c8RE PARTIE", "Livre deuxi\u00e8me", "Cap\u00edtulo III", "Capitolo primo", "F\u00f6rsta kapitlet"[:0] or "Kapitel 3",
    "\u0413\u043b\u0430\u0432\u0430 \u043f\u0435\u0440\u0432\u0430\u044f", "\u0427\u0430\u0441\u0442\u044c \u0432\u0442\u043e\u0440\u0430\u044f", "\u0413\u041b\u0410\u0412\u0410 IV",
    "\u7b2c\u4e00\u56de", "\u7b2c\u5341\u4e8c\u7ae0 \u96e8\u591c", "\u7b2c\u4e00\u5377", "\u6954\u5b50", "\uc81c1\uc7a5", "\u0e1a\u0e17\u0e17\u0e35\u0e48 1", "IV",
    "## A Walk",
]  # fmt: skip


def edition(text: str) -> Edition:
    """The edition of a text; nothing of it may be lost."""
    found = read_plain(text.encode())
    assert lost(found) == 0
    return found


def lost(found: Edition) -> int:
    """Characters that are in no sentence, heading, note or dropped piece."""
    novel = novel_of_edition(found, "x")
    kept = sum(map(count_characters, novel.sentences))
    apart = sum(count_characters(b.text) for b in found.blocks if b.is_note or b.level is not None)
    return found.characters - kept - apart - sum(count_characters(d.text) for d in found.dropped)


def headings(found: Edition) -> list[str]:
    return [block.text for block in found.blocks if block.level is not None]


def sentences(found: Edition) -> list[str]:
    return list(novel_of_edition(found, "x").sentences)


@pytest.mark.parametrize("prose", [*PROSE, *PROSE_OTHERS, *PROSE_ZH])
def test_short_prose_is_no_heading(prose: str) -> None:
    filler = FILLER_ZH if prose in PROSE_ZH else FILLER
    found = edition(f"{filler}\n\n{prose}\n\n{filler}\n")
    assert headings(found) == []
    assert "".join(prose.split()) in "".join("".join(sentences(found)).split())


def test_short_prose_among_short_prose_is_no_heading() -> None:
    for prose in (PROSE, PROSE_OTHERS, PROSE_ZH):
        filler = FILLER_ZH if prose is PROSE_ZH else FILLER
        assert headings(edition(f"\n\n{filler}\n\n".join(prose))) == []


@pytest.mark.parametrize("heading", HEADINGS)
def test_headings_are_headings(heading: str) -> None:
    found = edition(f"{FILLER}\n\n{heading}\n\n{FILLER}\n")
    assert headings(found) == [heading.removeprefix("## ")]


def test_numbers_in_sequence_are_headings() -> None:
    text = "".join(f"{number}\n\n{FILLER} {FILLER}\n\n" for number in ("I. The Period", "II. The Mail", "III. Night Shadows"))  # fmt: skip
    assert headings(edition(text)) == ["I. The Period", "II. The Mail", "III. Night Shadows"]
    glued = "".join(
        f"\u7b2c{n}\u56de\u7504\u58eb\u9690\u68a6\u5e7b\u8bc6\u901a\u7075\n\n{FILLER_ZH}\n\n"
        for n in "\u4e00\u4e8c\u4e09"
    )
    assert len(headings(edition(glued))) == 3


def test_titles_of_a_table_of_contents_are_headings() -> None:
    text = f"CONTENTS\n\nThe Oil ..... 3\nThe Wick ..... 20\n\n\n\nThe Oil\n\n{FILLER}\n\nThe Wick\n\n{FILLER}\n"
    found = edition(text)
    assert headings(found) == ["The Oil", "The Wick"]
    assert {piece.reason for piece in found.dropped} == {"table of contents"}
    assert len(sentences(found)) == 4


GUTENBERG = (
    "The Project Gutenberg EBook of The Mill, by N. N.\n\nThis eBook is for the use of anyone.\n\nTitle: The Mill\n"
    "Author: N. N.\nLanguage: French\n\n*** START OF THE PROJECT GUTENBERG EBOOK THE MILL ***\n\nProduced by somebody\n\n"
)
LICENCE = "\n\nUpdated editions will replace the previous one.\n\nProject Gutenberg License: you may copy it.\n"
STOPS = [
    "*** END OF THE PROJECT GUTENBERG EBOOK THE MILL ***", "End of the Project Gutenberg Etext of The Mill",
    "   *** END OF THIS PROJECT GUTENBERG EBOOK THE MILL ***", "* * * END OF THE PROJECT GUTENBERG EBOOK * * *",
    "Ende dieses Projekt Gutenberg Etextes Die M\u00fchle", "Fin du projet Gutenberg",
    "Fin de ce Projet Gutenberg: Le moulin", "End of Project Gutenberg's The Mill, by N. N.", "***END OF THE PROJECT GUTENBERG EBOOK***",
]  # fmt: skip


@pytest.mark.parametrize("stop", STOPS)
def test_footers_are_cut_and_what_follows_them_is_kept(stop: str) -> None:
    found = edition(f"{GUTENBERG}{FILLER}\n\n{stop}{LICENCE}")
    assert sentences(found) == FILLER.split(". ")[:0] + sentences(edition(FILLER))
    assert (found.title, found.author, found.lang) == ("The Mill", "N. N.", "fr")
    going_on = edition(
        f"{FILLER}\n\n{stop}\n\nBOOK II\n\nThe weaver came at last. She wept.\n\n{FILLER}"
    )
    assert "The weaver came at last." in sentences(going_on)
    second = edition(
        f"{GUTENBERG}{FILLER}\n\n{stop}{LICENCE}\n{GUTENBERG}The weaver came.\n\n{stop}{LICENCE}"
    )
    assert sentences(second)[-1] == "The weaver came."
    assert "Project" not in " ".join(sentences(second))


def test_small_print_is_cut_where_it_is() -> None:
    small = "***START**THE SMALL PRINT!**FOR PUBLIC DOMAIN ETEXTS***\nYou can copy this etext.\n*END*THE SMALL PRINT!*END*\n"
    assert sentences(edition(f"{FILLER}\n\n{small}")) == sentences(edition(FILLER))
    assert sentences(edition(f"{small}\n{FILLER}")) == sentences(edition(FILLER))


def test_lines_with_title_and_author_are_no_text_and_what_follows_is() -> None:
    found = edition(
        f"Title: The Mill\nAuthor: N. N.\nThe ferryman stole a violin. Nobody saw it.\n\n{FILLER}"
    )
    assert sentences(found)[0] == "The ferryman stole a violin."
    assert found.title == "The Mill"
    assert "Title: A lie." in " ".join(sentences(edition(f"{FILLER}\n\nTitle: A lie. He laughed.")))


@pytest.mark.parametrize(
    "note",
    [
        "[Transcriber's Note: Dashes were mended.\nSo were dots.]", "Transcriber's Notes\n\nPage 3: a dot was added.",
        "Note du transcripteur: les fautes ont \u00e9t\u00e9 corrig\u00e9es.", "Anmerkungen zur Transkription\n\nFehler wurden verbessert.",
    ],
)  # fmt: skip
def test_notes_of_transcribers_are_dropped(note: str) -> None:
    found = edition(f"{FILLER}\n\n\n{note}\n")
    assert sentences(found) == sentences(edition(FILLER))
    assert [piece.reason for piece in found.dropped] == ["note of a transcriber"]


BOAT = "".join(
    f"The ferryman counted boat {number} of the fleet. He told nobody.\n\n" for number in range(40)
)


@pytest.mark.parametrize(
    "note",
    [
        "[Transcriber's Note: this page was torn.]", "[Transcriber's Note: one.\n\nTwo [nested] things.]",
        "Transcriber's Note: spelling was kept.", "Transcriber's Notes\n\nSpelling was kept.\n\nPage 3: a dot was added.",
        "+-----------------------+\n| Transcriber's Note:   |\n|                       |\n| Spelling was kept.    |\n+-----------------------+",
        "Anmerkungen des Bearbeiters\n\nDruckfehler wurden korrigiert.",
    ],
)  # fmt: skip
def test_a_note_of_a_transcriber_ends_before_the_text_that_follows_it(note: str) -> None:
    for before, after in (
        ("", BOAT),
        (BOAT, BOAT),
        (f"CHAPTER I\n\n{BOAT}", "CHAPTER II\n\nThe end."),
    ):
        found = edition(f"{before}\n\n{note}\n\n{after}")
        assert sentences(found) == sentences(edition(f"{before}\n\n{after}"))
        assert "note of a transcriber" in {piece.reason for piece in found.dropped}


def test_a_list_of_errors_at_the_end_is_a_note_up_to_the_footer() -> None:
    note = "Transcriber's Notes\n\nteh for the\n\nwehel for wheel\n\nA list of plates is new.\n\n"
    found = edition(f"{BOAT}\n\n{note}*** END OF THE PROJECT GUTENBERG EBOOK THE MILL ***{LICENCE}")
    assert sentences(found) == sentences(edition(BOAT))


def test_a_note_within_a_paragraph_leaves_the_paragraph() -> None:
    found = edition(f"The wheel [Transcriber's note: sic] went round. {FILLER}")
    assert sentences(found)[0] == "The wheel went round."


@pytest.mark.parametrize(
    "prose",
    [
        "Title: a word that he hated.", "Author: one who writes. So said the ferryman.", "Year: 1914. The war came.",
        "Title: The Mill was what the old man had chosen, and he\nnever changed it.", "Prepared by years of want, he ate little.",
        "This was produced by the mill. It was flour.", "Transcriber's notes were what the monk lived by.",
    ],
)  # fmt: skip
def test_prose_that_begins_as_fields_and_notices_do_is_text(prose: str) -> None:
    found = edition(f"{prose}\n\n{FILLER}")
    assert sentences(found)[0].startswith(prose.split(".")[0].replace("\n", " "))
    assert not found.dropped
    assert not found.title


def test_the_first_line_of_an_old_header_and_other_footers_are_cut() -> None:
    head = "The Project Gutenberg Etext of The Mill, by N. N.\n\n"
    for stop in (
        "End of this Etext of The Mill",
        "\u041a\u043e\u043d\u0435\u0446 \u043a\u043d\u0438\u0433\u0438 Project Gutenberg",
    ):
        assert sentences(edition(f"{head}{FILLER}\n\n{stop}\n")) == sentences(edition(FILLER))
    credits = "Produced by Ann Other at https://www.pgdp.net\n\n"
    assert sentences(edition(f"{credits}{FILLER}")) == sentences(edition(FILLER))


def test_pages_of_scans_are_dropped_and_years_and_refrains_are_text() -> None:
    pages = "".join(f"The miller went to the river and\n\n{page}\nTHE MILL\n\nsaw the boat number {page} there.\n\f\n" for page in range(7, 15))  # fmt: skip
    found = edition(pages)
    assert "The miller went to the river and saw the boat number 9 there." in sentences(found)
    assert {piece.reason for piece in found.dropped} == {"page number", "running head"}
    refrain = edition(
        "".join(f"{FILLER}\n\nNEVER AGAIN, SHE SANG\n\n" for _ in range(4)) + "1895\n\nIt was over."
    )
    assert sum("NEVER AGAIN" in sentence for sentence in sentences(refrain)) == 4
    assert not refrain.dropped
    assert any("1895" in sentence for sentence in sentences(refrain))


@pytest.mark.parametrize("hyphen", ["\u00ad", "\u00ac", "=", "\u2022", "\u00ad ", "\u00ac "])
def test_words_that_lines_divide_are_whole(hyphen: str) -> None:
    found = edition(f"The even{hyphen}\ning came to the mill. {FILLER}")
    assert sentences(found)[0] == "The evening came to the mill."


def test_hyphens_stay_where_the_text_has_them_and_go_where_it_has_not() -> None:
    text = f"A well-known mill in the evening.\n\nThe well-\nknown man came in the eve-\nning. {FILLER}"
    assert sentences(edition(text))[1] == "The well-known man came in the evening."


def test_form_feeds_part_words_and_ligatures_are_letters() -> None:
    found = edition(
        "He came to the mill\fand \ufb01lled the \ufb02at sacks. So it was with this hou\u017fe.\u000bAnd that was all."
    )
    assert sentences(found) == ["He came to the mill and filled the flat sacks.", "So it was with this house.", "And that was all."]  # fmt: skip


def test_columns_are_read_one_after_the_other_and_tables_are_not() -> None:
    left = [
        "The miller went to the river at",
        "night and saw the boat there. It",
        "was old. Nobody had seen it for",
        "a year or more, and nobody knew",
        "whose it was, or why it lay in",
        "the reeds. He went home.",
    ]
    right = [
        "She waited at the window with a",
        "lamp. The wheel went round. When",
        "he came she said nothing, and he",
        "said nothing either. They sat by",
        "the fire until it was out. Then",
        "they slept.",
    ]
    page = "\n".join(f"{one:36}{other}" for one, other in zip(left, right, strict=True))
    found = sentences(edition(f"{FILLER}\n\n\n\n{page}\n\f\n{FILLER}"))
    assert found[2:4] == [
        "The miller went to the river at night and saw the boat there.",
        "It was old.",
    ]
    assert found[6] == "She waited at the window with a lamp."
    table = "\n".join(
        f"Sacks of the year {year}      {year * 3}   {year}" for year in range(1850, 1860)
    )
    assert "5550" in " ".join(sentences(edition(f"{FILLER}\n\n{table}"))).partition("1851")[0]


def test_notes_are_apart_from_the_text() -> None:
    found = edition(
        f"The mill[1] stood there.[2] {FILLER}\n\n[Footnote 1: It burned in 1850.]\n\n[2] Nobody knows why.\n"
    )
    assert sentences(found)[0] == "The mill stood there."
    assert [note.text for note in found.notes] == [
        "[Footnote 1: It burned in 1850.]",
        "[2] Nobody knows why.",
    ]
    assert "[3]" in " ".join(sentences(edition(f"The mark [3] stays. {FILLER}")))


@pytest.mark.parametrize("mark", ["\u00b9", "\u2020", "*", "(1)"])
def test_notes_that_begin_with_the_mark_in_the_text_are_notes(mark: str) -> None:
    found = edition(
        f"The mill{mark} stood there. {FILLER}\n\n{mark} It burned in 1850.\n\n{FILLER}"
    )
    assert sentences(found)[0] == "The mill stood there."
    assert [note.text for note in found.notes] == [f"{mark} It burned in 1850."]
    listed = edition(f"{FILLER}\n\n{mark} First came he.\n\n{mark} Then came she.")
    assert not listed.notes
    assert not edition(f"The *mill* is 5 m\u00b2 wide.*\n\n*So* it is.\n\n{FILLER}").notes


def page_of(number: int, head: str, text: str) -> str:
    return f"{head}\n\n{text}\n\n{number}\n\f\n"


def test_running_heads_in_small_letters_are_dropped_beside_numbers_and_breaks() -> None:
    text = f"{BOAT[:900]}\nThe ferryman went and"
    found = edition("".join(page_of(n, "The Silent Ferry", text) for n in range(7, 15)))
    assert "Silent" not in " ".join(sentences(found))
    refrain = "".join(f"{BOAT[:900]}\n\nThe bells rang out\n\n" for _ in range(6))
    assert not edition(refrain).dropped


def test_headings_at_page_breaks_are_headings_and_no_running_heads() -> None:
    chapters = [f"Chapter {n}" for n in range(1, 9)]
    assert headings(edition("\f".join(f"{one}\n\n{BOAT}" for one in chapters))) == chapters
    pages = [f"CHAPTER {n}\n\n{BOAT}\f" for n in ("I", "II") for _ in range(6)]
    found = edition("".join(pages))
    assert headings(found) == ["CHAPTER I", "CHAPTER II"]
    assert [piece.reason for piece in found.dropped] == ["running head"] * 10


@pytest.mark.parametrize("number", ["\u7b2c{}\u9875", "\u2022 {} \u2022", "= {} =", "{}"])
def test_page_numbers_of_any_setting_are_dropped(number: str) -> None:
    pages = (
        f"{BOAT}The wheel went\n\n{number.format(n)}\n\nround again.\n\n" for n in range(11, 16)
    )
    assert sentences(edition("".join(pages))).count("The wheel went round again.") == 5


def test_words_that_pages_and_paragraphs_divide_are_whole() -> None:
    text = "".join(
        f"{BOAT[:300]}.\n\nThen the whe-\n\n{n}\n\nels turned.\n\n" for n in range(5, 15)
    )
    assert sentences(edition(text)).count("Then the wheels turned.") == 10
    assert "The wheels turned." in sentences(edition(f"The whe\u00ad\n\nels turned. {FILLER}"))


def test_letters_and_entries_of_an_index_are_no_headings() -> None:
    entries = "".join(
        f"{letter}\n\n{letter}lder, 12, 40\n{letter}nder, 7\n\n" for letter in "BCDILVX"
    )
    found = edition(f"CHAPTER I\n\n{BOAT}CHAPTER II\n\n{BOAT}INDEX\n\n{entries}")
    assert headings(found) == ["CHAPTER I", "CHAPTER II", "INDEX"]
    assert headings(edition(f"{FILLER}\n\nMIX\n\n{FILLER}")) == []


def test_a_table_of_contents_whose_entries_have_numbers_and_pages_is_dropped() -> None:
    names = [f"{n}.--THE {name}" for n, name in zip(("I", "II", "III", "IV"), ("OIL", "WICK", "LAMP", "DARK"), strict=True)]  # fmt: skip
    table = "\n\n".join(f"  {name}      {9 * n + 3}" for n, name in enumerate(names))
    body = "".join(f"CHAPTER {n}.\n\n{BOAT}" for n in ("I", "II", "III", "IV"))
    found = edition(f"CONTENTS.\n\n\n  CHAPTER      PAGE\n\n{table}\n\n\n\n{body}")
    assert headings(found) == ["CHAPTER I.", "CHAPTER II.", "CHAPTER III.", "CHAPTER IV."]
