"""Retrieval by generation: a language model reads a book, and writes the quotation that is looked for."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, ClassVar

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_path, check_writable
from irtoolkit.base.ids import Ints
from irtoolkit.base.plurals import number_of
from irtoolkit.models.llm.cache import Answers
from irtoolkit.models.llm.generator import FILTERED, Completion
from irtoolkit.retrievers._book_windows import book_windows
from irtoolkit.retrievers.base import Block, Scorer
from irtoolkit.retrievers.llm._located import IN_BOOK, SearchedText
from irtoolkit.retrievers.llm.answers import final_text
from irtoolkit.retrievers.llm.prompted import Prompted
from irtoolkit.retrievers.llm.reranker import PassageScores, RankedQuery, ordered_scores
from irtoolkit.retrievers.llm.rounds import Steps, together
from irtoolkit.retrievers.llm.tally import AnswerCounts
from irtoolkit.retrievers.task import QueryGroup, Task

_PROMPT = """The whole text of a book:

{book_text}

An excerpt of literary analysis of this book, from which a quotation has been removed:

{masked}

Which words of the book stood in the place of [MASK]? Write the quotation, one to five whole \
sentences in the very words of the book, and nothing else.

Quotation:"""
# Bytes of a token, by which the tokens of prompts are counted before they are sent.
_TOKEN = 4
# Prompts of a round for each that is answered at once; each holds a book.
_ROUND = 4
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Quotation(Prompted):
    """The nearness of a passage to the quotation that a language model writes, given the whole book.

    Literary evidence retrieval by generation (Thai and Iyyer 2025): a prompt holds the book and an
    excerpt of analysis with a masked quotation. What the model writes is found in the book by
    RapidFuzz, apart from case and punctuation. A passage that overlaps it scores their F1 in
    characters, above 0; any other scores below 0, the lower the farther away it is. Without an answer the
    order of a first stage stays, if there is one.

    Attributes:
        prompt: what the model is asked, with {book_text} where the book stands, and {query}, {masked}
            or another {field} of the query's record where that does; braces are doubled.
        max_tokens: tokens after which an answer is cut, with the reasoning in it.
        budget: the most tokens of prompts that an endpoint is sent, at four bytes each; none sends
            any number. Prompts that were answered before do not count.
        texts: a file for what the model writes, a JSON line with query_id and text for each query.
    """

    name: ClassVar[str] = "llm-quotation"
    read_with: ClassVar = {"budget": ("endpoint",)}
    document_names: ClassVar[tuple[str, ...]] = ("book_text",)

    max_tokens: int | None = 1024
    prompt: str = _PROMPT
    budget: int | None = 2_000_000
    texts: str | None = None

    def missing(self) -> str | None:
        if self.budget is not None and self.budget < 0:
            return f"budget={self.budget} is not 0 or more"
        return super().missing()

    def shorter(self) -> str:
        return "the whole book has to fit: take a model with a longer context"

    def scorer(self, task: Task) -> Scorer:
        """Asks for the quotation of every query of the task.

        Raises:
            InputError: something is missing, the documents are not passages of books, the prompts
                exceed the budget, the model fails, or it gives no answer at all.
        """
        reason = self.missing()
        if reason is not None:
            raise InputError(reason)
        if self.texts is not None:
            check_writable(self.texts)
        groups = [group for group in task.groups if len(group.docs)]
        self._count(prompt for _, prompt in self._prompts(task, groups))
        query = RankedQuery({}, task.ordered, AnswerCounts())
        jobs = (_quoted(prompt, text, query) for text, prompt in self._prompts(task, groups))
        results = self.run(together(jobs, _ROUND * self.parallel), query.tally)
        query.tally.check_readable(self.llm)
        self._tell(query.tally, [result for result in results if result.text])
        order = [query for group in groups for query in group.queries.tolist()]
        by_query = dict(zip(order, results, strict=True))
        if self.texts is not None:
            _write(self.texts, {str(task.query_ids[q]): by_query[q] for q in sorted(order)})

        def candidates(docs: Ints) -> Block:
            return lambda queries: np.stack([by_query[query].scores for query in queries])

        return candidates

    def _prompts(
        self, task: Task, groups: Sequence[QueryGroup]
    ) -> Iterator[tuple[SearchedText, str]]:
        """Yields the prompt of each query, with the book in it; one is held at a time."""
        windows, template = book_windows(task), self.template()
        fields = self.query_fields(task, template)
        for group in groups:
            searched = SearchedText.of(windows, group.docs)
            for number in group.queries:
                named = {name: values[number] for name, values in fields.items()}
                yield searched, template.filled({**named, "book_text": searched.text})

    def _count(self, prompts: Iterable[str]) -> None:
        """Counts the prompts that are not answered yet, equal ones once, before any is sent.

        Raises:
            InputError: they exceed the budget.
        """
        answers = Answers(self.name, self.generator().identity())
        answers.read()
        # By their hashes: each prompt holds a book.
        sizes = {
            sha256(data := prompt.encode()).digest(): len(data)
            for prompt in prompts
            if prompt not in answers
        }
        if not sizes:
            return
        tokens = -(-sum(sizes.values()) // _TOKEN)
        summary = f"{number_of(len(sizes), 'prompts', ',')} of about {tokens:,} tokens in all"
        if self.endpoint is not None and self.budget is not None and tokens > self.budget:
            raise InputError(
                f"{self.llm} would be sent {summary}, more than budget={self.budget}",
                remedy=f"budget={tokens} sends them; nothing has been sent",
            )
        _log.warning("%s: %s to be answered", self.llm, summary)

    def _tell(self, tally: AnswerCounts, results: list[_Quoted]) -> None:
        """Logs what was asked, and how many quotations are in no book."""
        note = tally.note(self.llm, None)
        absent = sum(result.match < IN_BOOK for result in results)
        if note is not None:
            of_all = f"{absent:,} of {number_of(len(results), 'quotations', ',')}"
            _log.warning("%s%s", note, f"; {of_all} not in the book" if absent else "")


@dataclass(frozen=True)
class _Quoted:
    """The quotation that a model has written for a query.

    Attributes:
        text: the quotation; empty without one.
        match: how well it matches the book, from 0 to 100.
        scores: (c,) of the candidates.
    """

    text: str
    match: float
    scores: PassageScores


def _quoted(prompt: str, searched: SearchedText, query: RankedQuery) -> Steps[_Quoted]:
    """Asks for one quotation, and scores the candidates by it."""
    query.tally.queries += 1
    answers: Any = yield [prompt]
    answer: Completion = answers[0]
    text = "" if answer.finish == FILTERED else final_text(answer.text)
    span = searched.find(text)
    query.tally.count(answer, "none" if span is None else "whole")
    if span is None:
        unknown = np.full(len(searched.firsts), np.nan)
        return _Quoted("", 0.0, ordered_scores(unknown, query))
    return _Quoted(text, span.match, ordered_scores(searched.scores(span), query))


def _write(path: str, results: dict[str, _Quoted]) -> None:
    with atomic_path(path) as half, open(half, "w", encoding="utf-8") as file:
        for query_id, result in results.items():
            line = {"query_id": query_id, "text": result.text}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
