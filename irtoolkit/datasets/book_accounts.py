"""Account of the characters of a book's file: sentences, headings, notes, and dropped text."""

from __future__ import annotations

from dataclasses import dataclass

from irtoolkit.base.paths import StrPath, on_disk
from irtoolkit.datasets.editions.edition import Edition, count_characters, reasons
from irtoolkit.datasets.editions.lines import Dropped
from irtoolkit.datasets.editions.reading import read_edition_file
from irtoolkit.datasets.novels import Novel, novel_of_edition


@dataclass(frozen=True)
class BookAccount:
    """The division of a file's characters, without white space.

    Attributes:
        novel: the book.
        edition: its headings, paragraphs, notes and dropped pieces.
        characters: of the file.
        in_sentences, in_headings, in_notes, in_dropped: of these, together `characters`.
    """

    novel: Novel
    edition: Edition
    characters: int
    in_sentences: int
    in_headings: int
    in_notes: int
    in_dropped: int

    @property
    def unaccounted(self) -> int:
        """The number of characters that are in none of these; always 0."""
        accounted = self.in_sentences + self.in_headings + self.in_notes
        return self.characters - accounted - self.in_dropped

    @property
    def dropped(self) -> list[Dropped]:
        """The dropped pieces, in the order of the file."""
        return sorted(self.edition.dropped, key=lambda piece: (piece.part, piece.line))

    @property
    def reasons(self) -> dict[str, tuple[int, int]]:
        """Number of pieces and characters dropped, by reason, most characters first."""
        return reasons(self.edition.dropped)


def read_account(path: StrPath) -> BookAccount:
    """Reads a book and counts its characters by kind.

    Raises:
        InputError: see `read_edition_file` and `novel_of_edition`.
    """
    edition = read_edition_file(path)
    return account_of(edition, novel_of_edition(edition, on_disk(path).stem))


def account_of(edition: Edition, novel: Novel) -> BookAccount:
    """Counts the characters of an edition by kind."""
    headings = sum(count_characters(b.text) for b in edition.text_blocks() if b.level is not None)
    return BookAccount(
        novel,
        edition,
        edition.characters,
        sum(map(count_characters, novel.sentences)),
        headings,
        sum(count_characters(note.text) for note in edition.notes),
        sum(count_characters(piece.text) for piece in edition.dropped),
    )
