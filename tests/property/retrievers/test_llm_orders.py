"""Orders that a language model writes, whatever it writes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.models.llm.generator import Completion
from irtoolkit.retrievers.llm.permutation import read_order, windows
from irtoolkit.retrievers.llm.reranker import RankedQuery, ordered_scores
from irtoolkit.retrievers.llm.rounds import Steps, together
from irtoolkit.retrievers.llm.tally import AnswerCounts

NUMBERS = st.lists(st.integers(-3, 40) | st.integers())
WRITTEN = st.one_of(
    st.text(),
    st.text("[]0123456789 >,\n.<think/>"),
    st.builds(lambda n: " > ".join(f"[{i}]" for i in n), NUMBERS),
    st.builds(
        lambda n, sep: sep.join(map(str, n)), NUMBERS, st.sampled_from([" > ", ",", " and "])
    ),
)


@given(WRITTEN, st.integers(1, 30))
def test_every_answer_is_a_permutation(text: str, count: int) -> None:
    found = read_order(text, count)
    assert sorted(found.places) == list(range(count))
    if found.reading == "none":
        assert found.places == list(range(count))


@given(st.permutations(range(12)), st.data())
def test_what_is_named_comes_first_and_the_rest_as_it_was(
    order: list[int], data: st.DataObject
) -> None:
    named = order[: data.draw(st.integers(1, 12))]
    doubled = [*named, *data.draw(st.lists(st.sampled_from([*named, 12, 99]), max_size=5))]
    found = read_order(" > ".join(f"[{i + 1}]" for i in doubled), 12)
    assert found.places[: len(named)] == named
    assert found.places[len(named) :] == sorted(set(range(12)) - set(named))
    assert (found.reading == "whole") == (doubled == order)


@given(st.integers(0, 120), st.integers(2, 30), st.data())
def test_windows_reach_from_the_end_to_the_top(count: int, size: int, data: st.DataObject) -> None:
    step = data.draw(st.integers(1, size - 1))
    found = [(window.start, window.stop) for window in windows(count, size, step)]
    if count < 2:
        assert found == []
        return
    assert found[0][1] == count
    assert found[-1][0] == 0
    assert all(0 < stop - start <= size for start, stop in found)
    # What is best in a window is in the next: as many as the step leaves, or all there are above.
    assert all(before[1] - after[1] == step for before, after in pairwise(found))
    assert all(after[1] > before[0] for before, after in pairwise(found))


VALUES = st.lists(st.sampled_from([0.0, 1.0, -1.0, 0.5, 1e-9, -7.25, float("nan")]), min_size=1)


@given(VALUES)
def test_equal_scores_keep_their_order_and_lacking_ones_their_place(values: list[float]) -> None:
    given_scores = np.array(values)
    scores = ordered_scores(given_scores, RankedQuery({}, True, AnswerCounts()))
    order = np.argsort(-scores, kind="stable").tolist()
    assert len(set(scores.tolist())) == len(values)
    lacking = [i for i, value in enumerate(values) if np.isnan(value)]
    assert all(order[place] == place for place in lacking)
    rest = [place for place in order if place not in lacking]
    assert rest == sorted(rest, key=lambda place: (-values[place], place))


@given(st.lists(st.lists(st.integers(1, 3), max_size=4), max_size=6), st.none() | st.integers(1, 5))
def test_jobs_together_are_jobs_alone(shapes: list[list[int]], most: int | None) -> None:
    """Each job gets the answers to its own prompts, however many are under way."""

    def job(number: int, shape: list[int]) -> Steps[list[str]]:
        heard = []
        for turn, size in enumerate(shape):
            prompts = [f"{number} {turn} {i}" for i in range(size)]
            answers = yield prompts
            assert [answer.text for answer in answers] == prompts
            heard += prompts
        return heard

    jobs = together((job(i, shape) for i, shape in enumerate(shapes)), most)
    sizes = []
    try:
        prompts = next(jobs)
        while True:
            sizes.append(len(prompts))
            prompts = jobs.send([Completion(prompt) for prompt in prompts])
    except StopIteration as end:
        found = end.value
    assert [len(heard) for heard in found] == [sum(shape) for shape in shapes]
    assert all(size < (most or 99) + 12 for size in sizes)
