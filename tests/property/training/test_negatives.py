"""What may not be a negative, said again word by word; and what is drawn and mined."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.training import duplicates
from irtoolkit.training.duplicates import DuplicateFinder, words_of
from irtoolkit.training.exclusions import Exclusions
from irtoolkit.training.negatives import draw_negatives, mine_negatives
from irtoolkit.training.ragged import Ragged
from irtoolkit.training.training_set import TrainingSet

WORDS = [f"w{i}" for i in range(9)]
NEARS = (0.05, 0.2, 1 / 3, 0.5, 0.6, 2 / 3, 0.75, 0.8, 0.9, 1.0, 1.5)


def jaccard(one: set[str], two: set[str]) -> float:
    return len(one & two) / len(one | two) if one | two else 1.0


def documents(texts: list[str], near: float, ids: list[str] | None = None) -> DuplicateFinder:
    found = DuplicateFinder(near)
    for doc_id, text in zip(ids or [f"d{i}" for i in range(len(texts))], texts, strict=True):
        found.add(doc_id, text)
    return found


def barred_by_hand(
    texts: list[str], ids: list[str], golds: list[tuple[int, int]], query: int, near: float
) -> list[int]:
    mine = [gold for asked, gold in golds if asked == query]
    words = [set(text.split()) for text in texts]

    def sentences(doc_id: str) -> set[tuple[str, int]]:
        book, _, place = doc_id.partition(":")
        start, _, length = place.partition("+")
        return {(book, i) for i in range(int(start), int(start) + int(length))} if place else set()

    return [
        doc
        for doc in range(len(texts))
        if any(
            doc == gold
            or jaccard(words[doc], words[gold]) >= near
            or sentences(ids[doc]) & sentences(ids[gold])
            for gold in mine
        )
    ]


IDS = st.one_of(
    st.integers(0, 99).map(lambda n: f"d{n}"),
    st.tuples(st.sampled_from("ab"), st.integers(0, 9), st.integers(1, 4)).map(
        lambda s: f"{s[0]}:{s[1]}+{s[2]}"
    ),
)


@st.composite
def collections(draw: st.DrawFn) -> tuple[list[str], list[str], list[tuple[int, int]], float]:
    texts = draw(
        st.lists(
            st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), min_size=1, max_size=25
        )
    )
    ids = draw(st.lists(IDS, min_size=len(texts), max_size=len(texts), unique=True))
    pair = st.tuples(st.integers(0, 4), st.integers(0, len(texts) - 1))
    golds = draw(st.lists(pair, min_size=1, max_size=8, unique=True))
    return texts, ids, golds, draw(st.sampled_from(NEARS))


@pytest.mark.parametrize("ways", [(80, 4, 1 << 23), (80, 1 << 40, 7), (3, 1, 5), (0, 4, 1 << 23)])
@given(given_=collections())
def test_what_is_barred(
    ways: tuple[int, int, int],
    given_: tuple[list[str], list[str], list[tuple[int, int]], float],
) -> None:
    """Whether sets are told by pairs of words or by one, and in blocks of any size."""
    texts, ids, golds, near = given_
    asked, docs = (np.array(column, np.int64) for column in zip(*golds, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in zip(("_PAIRED", "_RARE", "_BLOCK"), ways, strict=True):
            patch.setattr(duplicates, name, value)
        exclusions = documents(texts, near, ids).exclusions(asked, docs, 5)
    for query in range(5):
        expected = barred_by_hand(texts, ids, golds, query, near)
        assert exclusions.of_query(query).tolist() == expected
        held = exclusions.contain(np.full(len(texts), query), np.arange(len(texts)))
        assert np.flatnonzero(held).tolist() == expected


def test_words_are_case_and_punctuation_blind() -> None:
    assert words_of("The Sea, the SEA; l'été!") == {"the", "sea", "l", "été"}
    exclusions = documents(["Call me Ishmael.", "call me, ishmael", "Call me"], 0.8).exclusions(
        np.array([0]), np.array([0]), 1
    )
    assert exclusions.of_query(0).tolist() == [0, 1]


def test_chinese_is_compared_by_pairs_of_characters() -> None:
    assert words_of("九族既睦，平章百姓 Yes") == {
        "九族",
        "族既",
        "既睦",
        "平章",
        "章百",
        "百姓",
        "yes",
    }
    assert words_of("睦 百姓") == {"睦", "百姓"}
    texts = ["九族既睦平章百姓", "九族既睦，平章百姓也", "百姓平章既睦九族"]
    exclusions = documents(texts, 0.6).exclusions(np.array([0]), np.array([0]), 1)
    # The second has 6 of 9 pairs in common, the third 4 of 10: it has the same characters, though.
    assert exclusions.of_query(0).tolist() == [0, 1]


def test_kinds_are_the_same_in_every_process() -> None:
    """Words stand in sets in an order that each process chooses for itself."""
    code = (
        "import numpy as np; from irtoolkit.training.duplicates import DuplicateFinder; d = DuplicateFinder(.5)\n"
        "for i in range(60): d.add(str(i), ' '.join(f'w{(i * j) % 17}' for j in range(i % 7)))\n"
        "b = d.exclusions(np.arange(9), np.arange(9) * 5, 9)\n"
        "print(b.word_sets.tolist(), b.word_set_count, b.keys.offsets.tolist(), b.keys.values.tolist())"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True,
            text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(said) == 1


@given(collections(), st.sets(st.integers(0, 24), min_size=1))
def test_bars_among_some_documents(
    given_: tuple[list[str], list[str], list[tuple[int, int]], float], chosen: set[int]
) -> None:
    texts, ids, golds, near = given_
    places = np.array(sorted({place % len(texts) for place in chosen}))
    asked, docs = (np.array(column, np.int64) for column in zip(*golds, strict=True))
    whole = documents(texts, near, ids).exclusions(asked, docs, 5)
    part = whole.restrict(places)
    for query in range(5):
        kept = np.flatnonzero(np.isin(places, whole.of_query(query)))
        assert part.of_query(query).tolist() == kept.tolist()


# -- drawing ----------------------------------------------------------------------------------


def drawn_from(pool: list[int], barred: list[int], rows: int = 1) -> TrainingSet:
    total = max([0, *pool, *barred]) + 1
    return TrainingSet(
        queries=["q"] * rows, golds=np.zeros(rows, np.int64), groups=np.zeros(rows, np.int64),
        docs=["d"] * total, query_of=np.zeros(rows, np.int64), query_names=["q7"] * rows,
        doc_names=["d3"] * total, exclusions=Exclusions.of_documents([barred], total), pool_of=np.zeros(1, np.int64),
        pools=Ragged.of([sorted(pool)]), fingerprint="", what="relic/test",
    )  # fmt: skip


@given(
    st.sets(st.integers(0, 400), min_size=1), st.sets(st.integers(0, 400), max_size=60),
    st.integers(0, 30), st.integers(-5, 2**65), st.integers(0, 9),
)  # fmt: skip
def test_drawn_negatives(
    pool: set[int], barred: set[int], count: int, seed: int, epoch: int
) -> None:
    rows, free = drawn_from([*pool], [*barred], 3), pool - barred
    if len(free) < count:
        with pytest.raises(InputError, match=f"query q7 with document d3 of relic/test has {len(free)} candidate"):  # fmt: skip
            draw_negatives(rows, 1, count, seed, epoch)
        return
    found = draw_negatives(rows, 1, count, seed, epoch).tolist()
    assert len(set(found)) == count
    assert set(found) <= free
    draw_negatives(rows, 2, count, seed, epoch)
    assert draw_negatives(rows, 1, count, seed, epoch).tolist() == found


@pytest.mark.parametrize("size", [30, 3000])
def test_every_candidate_is_drawn_as_often(size: int) -> None:
    """Both where most of the pool is drawn and where little is."""
    rows = drawn_from([*range(size)], [0, 1, 2])
    often = np.zeros(size)
    epochs = 20 * size // 10
    for epoch in range(epochs):
        often[draw_negatives(rows, 0, 10, 1, epoch)] += 1
    assert (often[:3] == 0).all()
    expected = 10 * epochs / (size - 3)
    # Chi-squared has a mean of the degrees of freedom and a variance of twice that.
    assert abs(((often[3:] - expected) ** 2 / expected).sum() - size) < 6 * (2 * size) ** 0.5


# -- mining -----------------------------------------------------------------------------------


@given(
    st.lists(st.lists(st.integers(0, 9), unique=True), min_size=1, max_size=5),
    st.lists(st.sets(st.integers(0, 9)), min_size=5, max_size=5), st.integers(1, 4),
)  # fmt: skip
def test_mined_negatives(ranked: list[list[int]], barred: list[set[int]], count: int) -> None:
    exclusions = Exclusions.of_documents(barred[: len(ranked)], 10)
    found = mine_negatives(Ragged.of(ranked), exclusions, count)
    for docs, without, row in zip(ranked, barred, found.tolist(), strict=False):
        kept = [doc for doc in docs if doc not in without][:count]
        assert row == kept + [-1] * (count - len(kept))


# -- rows of numbers --------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 50), max_size=5), max_size=8), st.data())
def test_ragged(rows: list[list[int]], data: st.DataObject) -> None:
    made = Ragged.of(rows)
    assert [made[i].tolist() for i in range(len(made))] == rows
    assert made.sizes.tolist() == [len(row) for row in rows]
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1))) if rows else []
    owners, values = made.take(np.array(chosen, np.int64))
    expected = [(i, value) for i, row in enumerate(chosen) for value in rows[row]]
    assert list(zip(owners.tolist(), values.tolist(), strict=True)) == expected
    whole: Ints = np.repeat(np.arange(len(rows)), made.sizes)
    grouped = Ragged.grouped(whole, made.values, len(rows))
    assert [grouped[i].tolist() for i in range(len(rows))] == [sorted({*row}) for row in rows]
    assert all(a <= b for a, b in pairwise(grouped.offsets.tolist()))
