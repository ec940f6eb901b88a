"""How passages of books are ranked unless another system is named: the one definition of it.

`benchmarks/book_search.py` chose it by leaving out books in turn, and `search`, `ir.index`, the page,
its API and its MCP tools use it. By words, BM25 of the passage is interpolated with BM25 of windows
around it. By meaning, sentences are compared one by one: the mean over the passage is interpolated
with its nearest sentence. Both are standardised over all passages of the books, and added up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BookSystemName = Literal["words", "meaning", "both"]
BOOK_SYSTEMS: tuple[BookSystemName, ...] = ("words", "meaning", "both")
# Languages on which the model that compares meaning was trained; None is not known.
_TRAINED = ("en", None)


@dataclass(frozen=True)
class Around:
    """Windows around a passage, whose words count for it.

    Attributes:
        sizes: sentences on either side of the passage, for each window.
        share: of all windows in the score by words; the rest is the passage's.
    """

    sizes: tuple[int, ...]
    share: float

    def shares(self) -> list[tuple[int, float]]:
        """Returns sentences on either side, 0 for the passage itself, and the share in the score."""
        window_share = self.share / max(1, len(self.sizes))
        return [(0, 1 - self.share), *((size, window_share) for size in self.sizes)]


@dataclass(frozen=True)
class BookSystem:
    """The settings of searches in books.

    Attributes:
        length: sentences of a passage.
        alone: windows of the score by words, where it ranks alone.
        fused: its windows where it is added to that by meaning.
        k1, b: of BM25.
        nearest: the share of the nearest sentence in the score by meaning; the rest is the mean's.
        meaning: the share of meaning in both.
        model: makes the vectors of sentences.
        encoded: sentences up to which a search encodes them all before its first answer, unless
            meaning is asked for: on two cores some hundred a second.
    """

    length: int = 8
    alone: Around = Around((16,), 0.5)
    fused: Around = Around((4, 16), 0.75)
    k1: float = 0.9
    b: float = 0.4
    nearest: float = 0.5
    meaning: float = 0.4
    model: str = "all-MiniLM-L6-v2"
    encoded: int = 50_000


BOOKS = BookSystem()


def best_system(lang: str | None, *, has_model: bool) -> BookSystemName:
    """Returns the system to use unless another is named: both, if the model can read the language."""
    return "both" if has_model and lang in _TRAINED else "words"
