"""Columns of text: what compiled code does with many beside what Python does with each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irtoolkit.base.analysis import analyzer
from irtoolkit.base.errors import InputError
from irtoolkit.indexes.queries import MANY, CountedQueries, QueryCounter
from irtoolkit.indexes.strings import Strings

WORDS = st.text(st.sampled_from("abc\u00e9\u4e2d\U0001f600\x00"), max_size=5)


@settings(deadline=None)
@given(st.sets(WORDS, max_size=60), st.lists(WORDS, min_size=64, max_size=90))
def test_many_are_found_where_each_is(known: set[str], wanted: list[str]) -> None:
    column = Strings.of(sorted(known, key=str.encode))
    places = column.places(Strings.of(wanted)).tolist()
    assert places == [-1 if (at := column.place(word)) is None else at for word in wanted]


@settings(deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=60), st.data())
def test_some_are_taken(texts: list[str], data: st.DataObject) -> None:
    column = Strings.of(texts)
    some = st.lists(st.integers(0, len(texts) - 1), max_size=90)
    places = np.array(data.draw(some), np.int64)
    expected = [texts[place] for place in places.tolist()]
    assert list(column.taken(places)) == column.chosen(places) == expected


def test_a_damaged_start_leads_nowhere() -> None:
    column = Strings.of(["one", "two", "three"])
    column.starts[1] = 1 << 40
    with pytest.raises(InputError, match="damaged"):
        column.taken(np.array([1]))
    wanted = Strings.of([f"{number}" for number in range(100)])
    assert (column.places(wanted) == -1).all()


def by_term(queries: CountedQueries) -> list[dict[str, float]]:
    terms = list(queries.terms)
    return [
        {
            terms[number]: count
            for number, count in zip(
                queries.numbers[first:last].tolist(),
                queries.counts[first:last].tolist(),
                strict=True,
            )
        }
        for first, last in zip(queries.starts[:-1], queries.starts[1:], strict=True)
    ]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(st.text("aB \u00e9'.", max_size=9), max_size=3), min_size=MANY))
def test_many_queries_are_counted_as_each_is(queries: list[list[str]]) -> None:
    analyze = analyzer("standard", "lucene", "porter")
    counter = QueryCounter("standard", analyze)
    together = counter.count(queries)
    each = [by_term(counter.count([query]))[0] for query in queries]
    assert by_term(together) == each
    # Tokens that it has met, and new ones.
    assert by_term(counter.count([["new"], *queries])) == [{"new": 1}, *each]
    assert by_term(together.part(3, 9)) == by_term(together)[3:9]


@pytest.mark.parametrize("count", [1, MANY])
def test_half_a_character_of_a_query_is_refused_however_many_there_are(count: int) -> None:
    analyze = analyzer("char", "none", "none")
    with pytest.raises(InputError, match="half a surrogate pair"):
        QueryCounter("char", analyze).count([["whole", "half \ud83d"]] * count)
