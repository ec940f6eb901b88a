"""Searches go before books, and a book stops at its next batch: shown by the order of work."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from irtoolkit.apps.serve.meaning import Meaning, StoppedError
from irtoolkit.apps.serve.turns import Turns
from irtoolkit.base.cores import cores
from tests import tiny
from tests.waiting import PATIENCE, wait_for

pytest.importorskip("sentence_transformers")

# Three parts of a book.
SENTENCES = [f"{tiny.WORDS[number % len(tiny.WORDS)]} {number}" for number in range(1500)]


@pytest.fixture
def meaning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Meaning:
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    plain = tiny.save(tmp_path / "plain")
    folder = tiny.sentence_model(
        tmp_path / "model", Transformer(str(plain)), Pooling(tiny.DIMENSIONS)
    )
    made = Meaning(str(folder))
    made.turns = Turns(longest=PATIENCE)
    return made


def test_a_query_is_answered_while_a_batch_of_a_book_is_held(meaning: Meaning) -> None:
    held, go = threading.Event(), threading.Event()

    def stop() -> bool:
        # Called where a batch begins, in the middle of the encoding of a part of the book.
        held.set()
        return not go.wait(PATIENCE)

    book = threading.Thread(target=lambda: meaning.prepare("b", SENTENCES, stop=stop))
    book.start()
    assert held.wait(PATIENCE)
    vectors = meaning.asked(["the lamp"])
    assert not go.is_set()
    go.set()
    book.join(PATIENCE)
    assert meaning.vectors("b", SENTENCES).shape == (len(SENTENCES), tiny.DIMENSIONS)
    # What else is encoded at the time changes no bit of it.
    assert np.array_equal(vectors, meaning.asked(["the lamp"]))


def test_no_batch_begins_while_a_search_is_under_way(meaning: Meaning) -> None:
    order: list[str] = []

    def prepare() -> None:
        meaning.prepare("b", SENTENCES, stop=lambda: order.append("batch"))  # type: ignore[func-returns-value]

    book = threading.Thread(target=prepare)
    with meaning.turns.search():
        book.start()
        wait_for(lambda: meaning.turns.waiting)
        meaning.asked(["the lamp"])
        order.append("search")
    book.join(PATIENCE)
    assert order[0] == "search"
    assert set(order[1:]) == {"batch"}


def test_a_book_goes_on_however_many_ask() -> None:
    turns = Turns(longest=0)
    with turns.search():
        turns.wait()


def test_a_book_stops_at_its_next_batch_and_continues_there(meaning: Meaning) -> None:
    done: list[int] = []
    began: list[int] = []

    def stop() -> bool:
        began.append(len(done))
        # In the middle of the second part.
        return began.count(1) > 2

    with pytest.raises(StoppedError):
        meaning.prepare("b", SENTENCES, lambda a, b: done.append(a), stop)
    assert done == [512]
    # Those that began are refused; each thread may have begun one.
    assert began.count(1) <= 3 + cores()
    first, again = began.count(0), []
    meaning.prepare("b", SENTENCES, stop=lambda: again.append(1))  # type: ignore[func-returns-value]
    meaning.prepare("c", [f"{text} x" for text in SENTENCES], stop=lambda: began.append(9))  # type: ignore[func-returns-value]
    # The first part is not encoded again.
    assert 0 < len(again) <= began.count(9) - first
