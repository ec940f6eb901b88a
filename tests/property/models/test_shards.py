"""Any rows come back from a shard as they were written."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from irtoolkit.models.shards import Encodings, Output, key_of
from tests.unit.models.test_shards import stored


def numbers(*shape: int) -> Any:
    size = int(np.prod(shape))
    return st.lists(st.floats(-9, 9, width=32), min_size=size, max_size=size).map(
        lambda values: np.array(values, np.float32).reshape(shape)
    )


@st.composite
def made(draw: Any) -> tuple[list[str], list[int], list[Output], list[int]]:
    """Texts, their tokens, what a model made of each, and where one shard ends and one begins."""
    texts = draw(st.lists(st.text(max_size=5), min_size=1, max_size=12, unique=True))
    width = draw(st.integers(1, 3))
    form = draw(st.sampled_from(["one vector", "a vector a token", "terms"]))
    outputs: list[Output] = []
    for _ in texts:
        count = draw(st.integers(0, 3))
        if form == "one vector":
            outputs.append((draw(numbers(width)),))
        elif form == "a vector a token":
            outputs.append((draw(numbers(count, width)), draw(numbers(count))))
        else:
            outputs.append((np.arange(count, dtype=np.int32), draw(numbers(count))))
    lengths = draw(st.lists(st.integers(0, 99), min_size=len(texts), max_size=len(texts)))
    cuts = draw(st.sets(st.integers(1, len(texts)), max_size=3))
    return texts, lengths, outputs, sorted({0, len(texts), *cuts})


@settings(max_examples=60)
@given(made(), st.data())
def test_rows_are_what_was_written(given: Any, data: Any) -> None:
    texts, lengths, outputs, _ = given
    asked = data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=20))
    with tempfile.TemporaryDirectory() as folder:
        store = stored(Path(folder) / "vectors", *given)
        keys = [key_of(texts[i]) for i in asked]
        assert store.has(keys) == [True] * len(asked)
        assert store.has([key_of("elsewhere" * 9), *keys])[0] is False
        rows = store.rows(keys)
        assert len(rows) == len(asked)
        check(rows, asked, lengths, outputs)
        chosen = data.draw(st.lists(st.integers(0, len(asked) - 1), max_size=9) if asked else st.just([]))  # fmt: skip
        check(rows[np.array(chosen, int)], [asked[i] for i in chosen], lengths, outputs)
        distinct, which = rows.distinct()
        first = list(dict.fromkeys(asked))
        check(distinct, first, lengths, outputs)
        assert [first[i] for i in which] == asked


def check(rows: Encodings, asked: list[int], lengths: list[int], outputs: list[Output]) -> None:
    assert rows.lengths.tolist() == [lengths[i] for i in asked]
    assert rows.counts.tolist() == [outputs[i][0].shape[0] for i in asked]
    if outputs[0][0].ndim == 1 and len(outputs[0]) == 1:
        vectors = rows.vectors()
        assert vectors.dtype == np.float32
        assert vectors.tolist() == [outputs[i][0].tolist() for i in asked]
    for number in range(len(outputs[0])):
        flat, begins = rows.ragged(number)
        assert len(begins) == len(asked) + 1
        assert begins[0] == 0
        for at, i in enumerate(asked):
            part = flat[begins[at] : begins[at + 1]]
            assert part.dtype == outputs[i][number].dtype
            assert part.tolist() == outputs[i][number].tolist()
        assert begins[-1] == len(flat)


@settings(max_examples=30)
@given(made(), st.randoms())
def test_a_digest_is_of_texts_in_order_whatever_shard_they_are_in(given: Any, random: Any) -> None:
    texts, lengths, outputs, cuts = given
    keys = [key_of(text) for text in texts]
    with tempfile.TemporaryDirectory() as home:
        one = stored(Path(home) / "a" / "same", texts, lengths, outputs, cuts).rows(keys)
        order = random.sample(range(len(texts)), len(texts))
        mixed = [[part[i] for i in order] for part in (texts, lengths, outputs)]
        two = stored(Path(home) / "b" / "same", *mixed, [0, len(texts)]).rows(keys)
        assert one.digest() == two.digest()
        other = stored(Path(home) / "another", texts, lengths, outputs, cuts).rows(keys)
        assert other.digest() != one.digest()
        assert one[np.arange(len(texts) - 1)].digest() != one.digest()
        if len(texts) > 1:
            assert one[np.arange(len(texts))[::-1]].digest() != one.digest()
