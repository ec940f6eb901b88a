"""RELiC's analyses: what is quoted, at what length, and what is found for a prompt."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.base.spans import Span
from irtoolkit.datasets.books import Book
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.analyses.analyse import analyse
from irtoolkit.papers.analyses.relic_lengths import RelicLengths
from irtoolkit.papers.analyses.relic_prompts import RelicPrompts, best
from irtoolkit.papers.analyses.relic_quotations import RelicQuotations
from irtoolkit.papers.analyses.relic_words import RelicWords
from irtoolkit.runs import Run
from tests.datasets import register
from tests.unit.papers.analyses.planted import rows_of

VAL = "relic/sample/val"


def test_quoted_sentences_are_counted_as_a_plain_loop_does() -> None:
    result = analyse(RelicQuotations(), [VAL])
    data = Dataset.load(VAL)
    spans = [Span.parse(row.doc_id) for row in data.qrels if row.relevance]
    times: dict[int, int] = {}
    for span in spans:
        for sentence in range(span.start, span.stop):
            times[sentence] = times.get(sentence, 0) + 1
    book = spans[0].book
    windows, sentences, share, most = rows_of(result, "books")[book,]
    assert windows == len(spans)
    assert share == pytest.approx(100 * len(times) / sentences)
    assert most == max(times.values())
    lengths = rows_of(result, "lengths")
    assert {names[0]: values[0] for names, values in lengths.items()} == {
        str(n): sum(span.length == n for span in spans) for n in {span.length for span in spans}
    }


def test_a_run_is_broken_down_by_the_length_of_the_quotation() -> None:
    data = Dataset.load(VAL)
    golds = data.relevant()
    lengths = {query.query_id: query.length for query in data.queries()}
    # Quotations of one sentence first, and no others.
    pools = data.pools()
    rows = {}
    for query, (gold, *_) in golds.items():
        others = [doc for doc in pools[query] if doc != gold]
        order = [gold, *others] if lengths[query] == 1 else [*others, gold]
        rows[query] = {doc: float(-place) for place, doc in enumerate(order)}
    found = rows_of(analyse(RelicLengths(), [data], {"planted": Run.of(rows)}), "lengths")
    assert found["1",][1:7] == (100.0,) * 6
    assert found["2",][1:7] == (0.0,) * 6
    sizes = [len(pools[query]) for query, length in lengths.items() if length == 2]
    assert found["2",][-2:] == pytest.approx((np.mean(sizes), np.mean(sizes)))


def test_words_of_queries_and_documents() -> None:
    name = register(
        {"d1": "one two", "d2": "one two three four"},
        {"q1": "a b c", "q2": "a"},
        {"q1": ["d1", "d2"], "q2": ["d1"]},
        [("q1", "d1", 1), ("q1", "d2", 1), ("q2", "d1", 0)],
    )
    found = rows_of(analyse(RelicWords(), [name]), "words")
    assert found[name,] == (2, 2, 2.0, 2.0, 3.0)


def test_the_best_passages_for_a_prompt() -> None:
    sentences = [
        "A ship sails.",
        "Nobody sees the storm.",
        "The storm sinks the ship.",
        "It is over.",
    ]
    book = Book("tale", sentences, {1: np.arange(4), 2: np.arange(3)})
    found = best(book, 1, "a ship in a storm", "bm25", 3)
    assert found[0][1] == "The storm sinks the ship."
    assert len(found) == 3
    assert best(book, 2, "whale", "bm25", 3) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"book": "emma"}, "no book 'emma'"),
        ({"length": 9}, "no book has passages of 9 sentences"),
        ({"book": "the_courtesy_of_skerrow"}, "give one: --book BOOK --prompt"),
    ],
)
def test_prompts_need_a_book_that_is_there(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        analyse(RelicPrompts(**settings), [VAL])  # type: ignore[arg-type]


def test_a_prompt_for_several_books_needs_one_of_them(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name one with --book"):
        analyse(RelicPrompts(prompt="a storm"), [VAL, "relic/sample/train"])


def test_other_datasets_have_no_windows() -> None:
    with pytest.raises(InputError, match="has no windows of criticism"):
        analyse(RelicQuotations(), ["csfcube/sample"])
