"""How sixty invented editions of books in ten languages are read: a page for the documentation.

    python benchmarks/editions.py      # writes docs/results/editions.md

The editions are those of `tests/editions.py`: what is in them is known, so that the table says which chapters
and sentences are found as they were written, and what becomes of every other character.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from irtoolkit.datasets.book_accounts import BookAccount, account_of
from irtoolkit.datasets.editions.reading import read_edition
from irtoolkit.datasets.novels import novel_of_edition
from tests.editions import Edition, editions

PAGE = Path(__file__).resolve().parent.parent / "docs" / "results" / "editions.md"
INTRO = """# Sixty editions of books

How invented books in ten languages are read, each from six forms: plain text with a publisher's header, contents and
licence; two volumes in one file; a scan with page numbers, running heads and divided words; Markdown; EPUB; and a web
page or TEI. Chapters and sentences are those that are found as they were written, of those that were. Characters are
counted without white space: each is in a sentence, a heading, a note or a dropped piece, and the last column says what
was dropped, with the number of pieces. `irtoolkit book FILE` shows the same of any book.
`python benchmarks/editions.py` writes this page.

"""
HEADERS = ("edition", "what it is", "chapters", "sentences", "characters", "in sentences", "headings", "notes", "dropped")  # fmt: skip


def read(edition: Edition) -> BookAccount:
    """Reads an edition."""
    found = read_edition(edition.data, edition.name)
    return account_of(found, novel_of_edition(found, "book"))


def bare(texts: Sequence[str]) -> list[str]:
    """Texts without white space."""
    return ["".join(text.split()) for text in texts]


def right(edition: Edition, account: BookAccount) -> tuple[int, int]:
    """How many chapters and sentences are found as they were written, in their order."""
    return (
        _common(bare(edition.chapters), bare([c.title for c in account.novel.chapters])),
        _common(bare(edition.sentences), bare(account.novel.sentences)),
    )


def _common(written: Sequence[str], found: Sequence[str]) -> int:
    from difflib import SequenceMatcher

    return sum(block.size for block in SequenceMatcher(None, written, found, autojunk=False).get_matching_blocks())  # fmt: skip


def row(edition: Edition) -> list[str]:
    """The cells of an edition."""
    account = read(edition)
    chapters, sentences = right(edition, account)
    dropped = "; ".join(f"{reason} {pieces}" for reason, (pieces, _) in account.reasons.items())
    return [
        edition.name, edition.form, f"{chapters} of {len(edition.chapters)}", f"{sentences} of {len(edition.sentences)}",
        f"{account.characters:,}", f"{account.in_sentences:,}", f"{account.in_headings:,}", f"{account.in_notes:,}",
        f"{account.in_dropped:,}: {dropped}" if dropped else "0",
    ]  # fmt: skip


def page() -> str:
    """The page."""
    rows = [HEADERS, ["---"] * len(HEADERS), *map(row, editions())]
    return INTRO + "\n".join(f"| {' | '.join(cells)} |" for cells in rows) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    print(f"written: {PAGE}")
