"""Batches of training rows: every promise on random rows, and how many rows can be planned."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.base.errors import InputError
from irtoolkit.training import placing
from irtoolkit.training.exclusions import Exclusions
from irtoolkit.training.processes import ProcessRank
from irtoolkit.training.ragged import Ragged
from irtoolkit.training.sampling import BatchSampler
from irtoolkit.training.training_set import TrainingSet


def rows_of(
    asked: list[int], golds: list[int], exclusions: Exclusions, groups: list[int] | None = None,
    negatives: list[list[int]] | None = None,
) -> TrainingSet:  # fmt: skip
    n, m = len(golds), len(exclusions.word_sets)
    return TrainingSet(
        queries=[f"query {i}" for i in range(n)],
        golds=np.array(golds, np.int64),
        groups=np.array(groups or [0] * n, np.int64),
        docs=[f"document {i}" for i in range(m)],
        query_of=np.array(asked, np.int64),
        query_names=[f"q{query}" for query in asked],
        doc_names=[f"d{i}" for i in range(m)],
        exclusions=exclusions,
        pool_of=np.zeros(len(exclusions.keys), np.int64),
        pools=Ragged.of([range(m)]),
        fingerprint="",
        what="test",
        negatives=None if negatives is None else np.array(negatives, np.int64).reshape(n, -1),
    )


def plain(golds: list[int], **more: Any) -> TrainingSet:
    """Rows whose queries exclude only their own relevant document."""
    exclusions = Exclusions.of_documents([[gold] for gold in golds], max(golds) + 1)
    return rows_of(list(range(len(golds))), golds, exclusions, **more)


def may_meet(rows: TrainingSet, one: int, two: int) -> bool:
    """Whether neither row excludes a document that the other brings, checked one by one."""

    def shown(row: int) -> set[int]:
        found = {int(rows.golds[row])}
        return found if rows.negatives is None else found | set(rows.negatives[row].tolist())

    return not (
        shown(one) & set(rows.excluded(two).tolist())
        or shown(two) & set(rows.excluded(one).tolist())
    )


def shared(rows: TrainingSet, size: int, world: int, **how: Any) -> list[BatchSampler]:
    return [
        BatchSampler(rows, size, process=ProcessRank(rank, world), **how) for rank in range(world)
    ]


def epoch_of(processes: list[BatchSampler], epoch: int) -> list[list[int]]:
    """The batches of an epoch, put together from the shares of all processes."""
    for batches in processes:
        batches.set_epoch(epoch)
    whole = []
    for shares in zip(*processes, strict=True):
        assert len({len(share) for share in shares}) == 1
        whole.append([row for share in shares for row in share])
    return whole


@st.composite
def sets(draw: st.DrawFn) -> TrainingSet:
    """Rows with kinds of documents, near duplicates, single excluded documents, and perhaps mined negatives."""
    m = draw(st.integers(2, 14))
    kinds = sorted(draw(st.lists(st.integers(0, 6), min_size=m, max_size=m)))
    kinds = [sorted(set(kinds)).index(kind) for kind in kinds]
    count = kinds[-1] + 1
    alike = draw(
        st.sets(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=4)
    )
    overlaps = draw(st.sets(st.tuples(st.integers(0, m - 1), st.integers(0, m - 1)), max_size=4))
    pairs = draw(
        st.lists(st.tuples(st.integers(0, 12), st.integers(0, m - 1)), min_size=1, max_size=30, unique=True)
    )  # fmt: skip
    names = sorted({query for query, _ in pairs})
    asked = [names.index(query) for query, _ in pairs]
    golds = [gold for _, gold in pairs]
    keys: list[set[int]] = [set() for _ in names]
    for query, gold in zip(asked, golds, strict=True):
        keys[query] |= {kinds[gold]}
        keys[query] |= {b for a, b in alike if a == kinds[gold]}
        keys[query] |= {a for a, b in alike if b == kinds[gold]}
        keys[query] |= {count + b for a, b in overlaps if a == gold}
        keys[query] |= {count + a for a, b in overlaps if b == gold}
    exclusions = Exclusions(np.array(kinds), count, Ragged.of([sorted(row) for row in keys]))
    groups = draw(st.lists(st.integers(0, 2), min_size=len(pairs), max_size=len(pairs)))
    negatives = None
    if draw(st.booleans()):
        free = [sorted({*range(m)} - {*exclusions.of_query(query).tolist()}) for query in asked]
        if all(free):
            negatives = [[draw(st.sampled_from(docs))] for docs in free]
    return rows_of(asked, golds, exclusions, groups, negatives)


HOW = st.fixed_dictionaries(
    {"grouped": st.booleans(), "apart": st.booleans(), "seed": st.integers(-3, 2**70)}
)


@given(sets(), st.integers(3, 12), st.integers(1, 3), HOW)
def test_every_promise(rows: TrainingSet, size: int, world: int, how: dict[str, Any]) -> None:
    processes = shared(rows, size, world, **how)
    for epoch in (0, 1, 5):
        plan = epoch_of(processes, epoch)
        assert len(plan) == len(processes[0])
        counts = Counter(row for batch in plan for row in batch)
        assert set(counts.values()) <= {1}
        if world == 1:
            assert set(counts) == set(range(len(rows)))
        groups = rows.groups if how["grouped"] else np.zeros(len(rows), np.int64)
        for group in set(groups.tolist()):
            mine = [len(b) for b in plan if how["grouped"] is False or groups[b[0]] == group]
            members = int((groups == group).sum())
            if not how["apart"]:
                assert members - sum(mine) < world
                assert len(mine) == -(-(members // world) // (size // world))
            if mine:
                assert max(mine) - min(mine) <= world
        for batch in plan:
            assert 0 < len(batch) <= size
            assert len(set(groups[batch].tolist())) == 1
            if how["apart"]:
                pairs = [(a, b) for a in batch for b in batch if a < b]
                assert all(may_meet(rows, a, b) for a, b in pairs)
    again = shared(rows, size, world, **how)
    # An epoch's batches are what they are, whichever epochs came before.
    assert epoch_of(again, 5) == plan
    assert epoch_of(again, 1) == epoch_of(processes, 1)


def test_groups_smaller_than_the_processes_make_no_batch() -> None:
    rows = plain(list(range(5)), groups=[0, 0, 1, 1, 1])
    for world, batches, left_out in ((4, 0, 5), (3, 1, 2), (2, 2, 0), (1, 2, 0)):
        made = BatchSampler(
            rows, 6, grouped=True, apart=True, seed=0, process=ProcessRank(0, world)
        )
        assert (len(made), made.left_out) == (batches, left_out)
    # Rows of one gold never make a batch of two, and with two others they make two.
    assert (
        len(
            BatchSampler(
                plain([0] * 5), 4, grouped=False, apart=True, seed=0, process=ProcessRank(0, 2)
            )
        )
        == 0
    )
    rows = plain([0, 0, 0, 0, 0, 1, 2])
    plan = epoch_of(shared(rows, 4, 2, grouped=False, apart=True, seed=0), 0)
    assert [len(batch) for batch in plan] == [2, 2]


def chained(count: int) -> TrainingSet:
    """Rows each of which excludes the next three golds: one cluster of all."""
    docs = [[(i + j) % count for j in range(4)] for i in range(count)]
    return rows_of(list(range(count)), list(range(count)), Exclusions.of_documents(docs, count))


def test_a_cluster_larger_than_the_batches_is_placed_row_by_row() -> None:
    rows = chained(200)
    batches = BatchSampler(rows, 10, grouped=False, apart=True, seed=0)
    assert len(batches) == 20
    for epoch in range(3):
        batches.set_epoch(epoch)
        plan = list(batches)
        assert sorted(row for batch in plan for row in batch) == list(range(200))
        assert {len(batch) for batch in plan} == {10}
        for batch in plan:
            assert all(
                min((a - b) % 200, (b - a) % 200) > 3 for a in batch for b in batch if a != b
            )


def test_rows_make_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the last open batches are not for the last rows, rows of full ones move there."""
    random = np.random.default_rng(0)
    count, made = 120, []
    docs = [[i, *random.choice(count, 4, replace=False).tolist()] for i in range(count)]
    rows = rows_of(list(range(count)), list(range(count)), Exclusions.of_documents(docs, count))
    swap = placing._Filling._swap

    def noted(self: Any, row: int) -> bool:
        made.append(swap(self, row))
        return made[-1]

    monkeypatch.setattr(placing._Filling, "_swap", noted)
    batches = BatchSampler(rows, 15, grouped=False, apart=True, seed=0)
    for epoch in range(20):
        batches.set_epoch(epoch)
        plan = list(batches)
        assert sorted(row for batch in plan for row in batch) == list(range(count))
        for batch in plan:
            assert all(may_meet(rows, a, b) for a in batch for b in batch if a < b)
    assert len(batches) <= 9
    assert any(made)


def test_a_placement_that_worked_is_taken_where_others_fail(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = chained(60)
    batches = BatchSampler(rows, 6, grouped=False, apart=True, seed=0)
    length = len(batches)
    monkeypatch.setattr(placing.RowPlacer, "place", lambda *args: None)
    plans = []
    for epoch in range(2):
        batches.set_epoch(epoch)
        plans.append(list(batches))
        assert len(plans[-1]) == length
        assert sorted(row for batch in plans[-1] for row in batch) == list(range(60))
        for batch in plans[-1]:
            assert all(may_meet(rows, a, b) for a in batch for b in batch if a < b)
    assert plans[0] != plans[1]  # in another order
    assert {frozenset(b) for b in plans[0]} == {frozenset(b) for b in plans[1]}


def test_a_batch_must_have_a_row_for_each_process() -> None:
    with pytest.raises(InputError, match="a batch of 3 rows cannot be shared by 4 processes"):
        BatchSampler(
            plain([0, 1, 2]), 3, grouped=False, apart=False, seed=0, process=ProcessRank(0, 4)
        )
    with pytest.raises(InputError, match="a batch of 0 rows"):
        BatchSampler(plain([0, 1, 2]), 0, grouped=False, apart=False, seed=0)


@pytest.mark.parametrize(
    ("golds", "size", "apart", "groups", "expected"),
    [
        ([0, 1], 2, False, [0, 0], True),
        ([0], 4, False, [0], False),
        ([0, 0, 0], 4, False, [0, 0, 0], False),
        ([0, 0, 0], 4, True, [0, 0, 0], False),
        ([0, 1], 1, False, [0, 0], False),
        ([0, 1], 2, False, [0, 1], False),
        ([0, 1, 0], 2, False, [0, 0, 1], True),
    ],
)
def test_batches_with_negatives(
    golds: list[int], size: int, apart: bool, groups: list[int], expected: bool
) -> None:
    rows = plain(golds, groups=groups)
    batches = BatchSampler(rows, size, grouped=True, apart=apart, seed=0)
    assert batches.have_two_documents(rows) == expected


def test_epochs_and_seeds_differ() -> None:
    rows = plain(list(range(60)))
    batches = BatchSampler(rows, 10, grouped=False, apart=True, seed=1)
    first = list(batches)
    batches.set_epoch(1)
    second = list(batches)
    other = list(BatchSampler(rows, 10, grouped=False, apart=True, seed=2))
    assert len({str(plan) for plan in (first, second, other)}) == 3
    # And not only the order of the batches.
    assert {frozenset(b) for b in first}.isdisjoint({frozenset(b) for b in second})


def test_documents_with_the_same_text_are_no_negatives() -> None:
    rows = replace(plain([0, 1]), docs=["the same", "the same"])
    batches = BatchSampler(rows, 2, grouped=False, apart=False, seed=0)
    assert not batches.have_two_documents(rows)


def test_rows_that_are_all_apart_have_no_negatives() -> None:
    """Documents that are all relevant to one query."""
    rows = rows_of([0, 0, 0], [0, 1, 2], Exclusions.of_documents([[0, 1, 2]], 3))
    for apart in (True, False):
        batches = BatchSampler(rows, 4, grouped=False, apart=apart, seed=0)
        assert batches.have_two_documents(rows) != apart


def test_rows_that_cannot_be_shared_take_turns() -> None:
    rows = plain(list(range(23)))
    processes = shared(rows, 8, 4, grouped=False, apart=True, seed=5)
    rested: Counter[int] = Counter()
    for epoch in range(23):
        rested.update(
            set(range(23)) - {row for batch in epoch_of(processes, epoch) for row in batch}
        )
    assert set(rested.values()) == {3}
    assert len(rested) == 23
