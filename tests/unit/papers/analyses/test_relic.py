"""RELiC's analyses: what is quoted, at what length, and what is found for a prompt."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.books import Book
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.analyses.analyse import analyse
from irtoolkit.papers.analyses.relic_lengths import RelicLengths
from irtoolkit.papers.analyses.relic_prompts import RelicPrompts, best
from irtoolkit.papers.analyses.relic_quotations import RelicQuotations
from irtoolkit.runs import Run
from tests.unit.papers.analyses.planted import rows_of

VAL = "relic/sample/val"


def test_a_run_is_broken_down_by_the_length_of_the_quotation() -> None:
    data = Dataset.load(VAL)
    golds = data.relevant()
    lengths = {query.query_id: query.length for query in data.queries}
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
