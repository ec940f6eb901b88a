"""Where a transcriber's note in a book's text ends, decided line by line; when in doubt, earlier.

A note in brackets goes up to the bracket that closes it, and one in a box as far as the box does. Another one
is a paragraph, and those after it that are about spelling, pages and the like. What follows them is part of
the note only if the text ends with it, or a larger gap does soon.
"""

from __future__ import annotations

from irtoolkit.datasets.editions.heading_forms import form_of
from irtoolkit.datasets.editions.publishers import is_about_texts, is_titled_note

# Lines of a note at most; of one that a gap ends; and blank lines of such a gap.
_LINES, _BRIEF, _GAP = 400, 25, 2
_BOX = ("|", "+", "\u2502", "\u250c", "\u2514", "\u2551", "\u2554", "\u255a")


class NoteExtent:
    """The lines of a note, one after the other.

    Args:
        line: its first line.

    Attributes:
        is_sure: whether all lines up to the last one are the note's.
    """

    def __init__(self, line: str) -> None:
        bare = line.strip()
        self.is_sure = True
        self._in_brackets = bare.startswith("[")
        self._in_box = bare.startswith(_BOX)
        self._is_titled = is_titled_note(line)
        self._depth = bare.count("[") - bare.count("]")
        self._lines, self._paragraphs = 1, 0 if self._is_titled else 1
        self._is_doubtful = False  # whether a paragraph before the last line is not sure

    def takes(self, line: str, blanks: int) -> bool:
        """Returns whether a line may belong to the note; if so, it is taken.

        Args:
            line: it is not blank.
            blanks: blank lines before it.
        """
        if self._lines >= _LINES or not self._goes_on(line.strip(), blanks):
            return False
        self._lines += 1
        if self._in_brackets:
            self._depth += line.count("[") - line.count("]")
            self.is_sure = self._depth <= 0 or (self.is_sure and not blanks)
        elif not self._in_box:
            self._add_to_paragraph(line, blanks)
        return True

    def is_whole(self, blanks: int, is_last: bool) -> bool:
        """Returns whether all lines that were taken are the note's, if it ends here.

        Args:
            blanks: blank lines after it.
            is_last: whether it is in the second half of a text, which ends here.
        """
        if self._in_brackets or self._in_box:
            return self.is_sure
        ends_soon = blanks >= _GAP and self._lines <= _BRIEF
        return self.is_sure or ends_soon or (is_last and self._is_titled)

    def _goes_on(self, bare: str, blanks: int) -> bool:
        if self._in_brackets:
            return self._depth > 0
        if self._in_box:
            return not blanks and bare.startswith(_BOX)
        if blanks >= _GAP and self._paragraphs:
            return False
        form = form_of(bare) if blanks else None
        return form is None or not (form.name and form.value and form.is_firm)

    def _add_to_paragraph(self, line: str, blanks: int) -> None:
        if blanks:
            self._is_doubtful = self._is_doubtful or not self.is_sure
            self._paragraphs += 1
            self.is_sure = False
        elif not self._paragraphs:
            self._paragraphs = 1
        is_notice = self._paragraphs == 1 or self.is_sure or is_about_texts(line)
        self.is_sure = is_notice and not self._is_doubtful
