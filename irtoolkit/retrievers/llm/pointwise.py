"""PointwiseReranker reranking: a language model is asked whether, or how well, a document fits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.models.llm.alternatives import log_odds
from irtoolkit.models.llm.generator import FILTERED, Completion, TextGenerator
from irtoolkit.models.prompts import Template
from irtoolkit.retrievers.llm.grade import read_grade
from irtoolkit.retrievers.llm.reranker import PassageScores, RankedQuery, Reranker, ordered_scores
from irtoolkit.retrievers.llm.rounds import Steps

_YES_NO = """Passage: {document}

Query: {query}

Is the passage relevant to the query? Write yes or no, and nothing else.

Answer:"""
_GRADE = """Passage: {document}

Query: {query}

How relevant is the passage to the query, on a scale from 0, not at all, to {most}, perfectly? \
Write the number, and nothing else.

Grade:"""


@dataclass(frozen=True)
class PointwiseReranker(Reranker):
    """How sure a language model is that a document is relevant, or the grade that it gives.

    With answer=yes-no, relevance generation (Liang et al. 2022; the pointwise baseline of Qin et al.
    2023, §2), the score is the log-odds of "yes" against "no", from the log-probabilities of the
    answer's first word. Not every endpoint gives these: one that does not is refused at its first
    answer. answer=grade takes a number that the model writes. Equal documents keep the order
    of a first stage. A document whose answer cannot be read keeps its place in it, or comes last.

    Attributes:
        answer: "yes-no" or "grade".
        grades: the highest grade.
        yes, no: the two words, for prompts in other languages.
        alternatives: tokens for which the endpoint is asked for log-probabilities.
        prompt: what the model is asked, with {query} and {document} where they stand, {most} where
            the highest grade does, and {field} where a field of the query's record does; braces are
            doubled. By default as `answer` needs it.
        max_tokens: of an answer, which is a word.
    """

    name: ClassVar[str] = "llm-pointwise"
    read_with: ClassVar = {
        "grades": ("answer=grade",),
        "yes": ("answer=yes-no",),
        "no": ("answer=yes-no",),
        "alternatives": ("answer=yes-no",),
    }
    document_names: ClassVar[tuple[str, ...]] = ("document",)
    other_names: ClassVar[tuple[str, ...]] = ("most",)

    max_tokens: int | None = 8
    answer: Literal["yes-no", "grade"] = "yes-no"
    grades: int = 4
    yes: str = "yes"
    no: str = "no"
    alternatives: int = 20
    prompt: str | None = None

    def missing(self) -> str | None:
        if self.grades < 1:
            return f"grades={self.grades} is not at least 1"
        if self.answer == "yes-no" and self.alternatives < 2:
            return f"alternatives={self.alternatives} is not at least 2"
        return super().missing()

    def prompt_text(self) -> str:
        return self.prompt or (_YES_NO if self.answer == "yes-no" else _GRADE)

    def needs_order(self) -> bool:
        return False

    def template(self) -> Template:
        parts = super().template().parts
        whole = str(self.grades)
        # The highest grade is the same in every prompt.
        joined = [(text + whole, None) if name == "most" else (text, name) for text, name in parts]
        return Template(tuple(joined))

    def generator(self) -> TextGenerator:
        generator = super().generator()
        if self.answer == "grade":
            return generator
        return replace(generator, alternatives=self.alternatives, choices=(self.yes, self.no))

    def check(self, answer: Completion) -> None:
        if self.answer == "yes-no" and answer.alternatives is None and answer.finish != FILTERED:
            raise InputError(
                f"{self.llm} answers without log-probabilities",
                remedy="set answer=grade, which needs none",
            )

    def refused(self, error: InputError) -> InputError:
        if self.answer == "yes-no" and re.search("log_?prob", error.found, re.IGNORECASE):
            return InputError(error.found, remedy="set answer=grade, which needs none")
        return super().refused(error)

    def scored(
        self, template: Template, query: RankedQuery, docs: Sequence[str]
    ) -> Steps[PassageScores]:
        answers = yield [template.filled({**query.fields, "document": doc}) for doc in docs]
        values = np.full(len(docs), np.nan)
        for position, answer in enumerate(answers):
            value = None if answer.finish == FILTERED else self._value(answer)
            query.tally.count(answer, "none" if value is None else "whole")
            values[position] = np.nan if value is None else value
        return ordered_scores(values, query)

    def _value(self, answer: Completion) -> float | None:
        """Returns the value that an answer gives a document; None if it cannot be read."""
        if self.answer == "yes-no":
            return log_odds(answer.alternatives or {}, self.yes, self.no)
        return read_grade(answer, self.grades)
