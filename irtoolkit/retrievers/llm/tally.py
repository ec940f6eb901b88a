"""Counts of the answers of a language model, for one note at the end."""

from __future__ import annotations

from dataclasses import dataclass, field

from irtoolkit.base.errors import InputError
from irtoolkit.base.plurals import number_of
from irtoolkit.models.llm.generator import LENGTH, Completion

# Answers after which none that can be read means that none ever will be.
ENOUGH = 32
_SHOWN = 80


@dataclass
class AnswerCounts:
    """Counts of a ranking that asks a language model.

    Attributes:
        queries: queries that were ranked.
        prompts: distinct prompts.
        asked: those that the model was asked now; the others were answered before.
        read: answers that could be read as they are.
        repaired: answers that were read in part.
        unread: answers that could not be read.
        cut: answers that were cut at max_tokens.
        torn: pairs for which the two orders of the prompt had different answers.
        pairs: pairs that were compared.
        docs: numbers of the documents that were shown.
        shortened: those of the documents that were cut.
        sample: an answer that could not be read.
    """

    queries: int = 0
    prompts: int = 0
    asked: int = 0
    read: int = 0
    repaired: int = 0
    unread: int = 0
    cut: int = 0
    torn: int = 0
    pairs: int = 0
    docs: set[int] = field(default_factory=set)
    shortened: set[int] = field(default_factory=set)
    sample: Completion | None = None

    def count(self, answer: Completion, reading: str) -> None:
        """Counts an answer that is "whole", "repaired" or "none"."""
        self.cut += answer.finish == LENGTH
        if reading == "none":
            self.unread += 1
            self.sample = self.sample or answer
        elif reading == "repaired":
            self.repaired += 1
        else:
            self.read += 1

    def check_readable(self, llm: str, least: int = 1) -> None:
        """Raises InputError for answers of which there are enough, and none can be read.

        Raises:
            InputError: shows one of them.
        """
        if self.sample is None or self.read or self.repaired or self.unread < least:
            return
        text = " ".join(self.sample.text.split())
        excerpt = f"{text[:_SHOWN]}..." if len(text) > _SHOWN else text
        raise InputError(
            f"none of {number_of(self.unread, 'answers', ',')} of {llm} can be read, such as"
            f" {excerpt!r} ({self.sample.finish})",
            remedy="the documents would stay in their order: change prompt, system, max_tokens or llm",
        )

    def note(self, llm: str, words: int | None) -> str | None:
        """Returns one line on what was asked and what was wrong with the answers; None if nothing was asked."""
        if not self.prompts:
            return None
        total = self.read + self.repaired + self.unread
        whole = number_of(total, "answers", ",")
        flaws = {
            f"of {whole} repaired": self.repaired,
            f"of {whole} unreadable, which leaves the order as it was": self.unread,
            f"of {whole} cut at max_tokens": self.cut,
            f"of {number_of(self.pairs, 'comparisons', ',')} answered otherwise when turned around,"
            " which is a tie": self.torn,
            f"of {number_of(len(self.docs), 'documents', ',')} cut to {words} words": len(
                self.shortened
            ),
        }
        summary = (
            f"{llm}: {number_of(self.prompts, 'prompts', ',')} for"
            f" {number_of(self.queries, 'queries', ',')}: {self.asked:,} asked,"
            f" {self.prompts - self.asked:,} answered before"
        )
        return "; ".join(
            [summary, *(f"{count:,} {flaw}" for flaw, count in flaws.items() if count)]
        )
