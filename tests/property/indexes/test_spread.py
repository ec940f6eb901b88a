"""Shards that workers search: the bytes of one process, whatever the workers and the family."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.engines.engine import Engine, using
from irtoolkit.engines.work import pack, unpack
from irtoolkit.indexes.merged import ShardHits, merged
from irtoolkit.indexes.strings import Strings
from irtoolkit.ranking import build_index
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers import index_sources
from irtoolkit.retrievers.stored_index import StoredIndex
from irtoolkit.runs.order import TopDocuments
from tests.tiny import WORDS, save, save_colbert

WORD = WORDS[:40]


def drawn(first: int, last: int) -> dict[str, str]:
    """Short texts, many of them equal, whose ids are in another order than they."""
    return {
        f"d{n * 7919 % 1009}": " ".join(
            random.Random(n % 53).choices(WORD, weights=range(1, len(WORD) + 1), k=1 + n % 9)
        )
        for n in range(first, last)
    }


DOCS = drawn(0, 100)
QUERIES = {f"q{n}": (" ".join(random.Random(99 + n).choices(WORD, k=1 + n % 4)),) for n in range(9)}
QUERIES["common"] = (f"{WORD[-1]} {WORD[-2]}",)
QUERIES["nothing"] = ("unheard",)
RELEVANT = {query: [*random.Random(query).sample(sorted(DOCS), 4), "no"] for query in QUERIES}


class Sent(Engine):
    """An engine whose work, items and results are sent as bytes; work is done twice, and some of it
    after the rest. It is in this process."""

    name = "sent"

    def __init__(self, workers: int) -> None:
        self._count = workers
        self.calls = 0

    @property
    def workers(self) -> int:
        return self._count

    def map(
        self,
        work: Callable[[Any], Any],
        items: Iterable[Any],
        *,
        gpus: float = 0.0,
        together: bool = False,
    ) -> Iterator[Any]:
        self.calls += 1
        packed = pack(work)
        items = list(items)
        order = list(range(len(items)))
        random.Random(self.calls).shuffle(order)
        done = {}
        for number in [*order, *order[:2]]:
            item = pickle.loads(pickle.dumps(items[number]))
            done[number] = pickle.dumps(unpack(packed)(item))
        yield from (pickle.loads(done[number]) for number in range(len(items)))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    root = tmp_path_factory.mktemp("models")
    bert = {"model": str(save(root / "bert")), "pooling": "cls"}
    late = {"model": str(save_colbert(root / "late"))}
    sparse = {"model": str(save(root / "masked", "BertForMaskedLM"))}
    return {
        "sparse": sparse, "faiss": bert, "dense": bert, "dense-prf": bert, "sentence-max": bert, "plaid": late,
        "late": late,
    }  # fmt: skip


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(index_sources, "_READ_DOCS", 20)
    monkeypatch.setattr(index_sources, "BLOCK_DOCS", 20)


def ranking(index: StoredIndex, depth: int) -> Any:
    """Everything that an index says of the queries, to the byte."""
    names, segments = list(QUERIES), list(QUERIES.values())
    runs = [index.run(names, segments, depth, fill=fill) for fill in (False, True)]
    ranks = index.exact_ranks(names, segments, RELEVANT)
    return ranks, [
        (run.offsets.tolist(), [str(run.doc_ids[doc]) for doc in run.docs], run.scores.tobytes())
        for run in runs
    ]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), depth=st.sampled_from([1, 3, 100]), count=st.integers(1, 5))
def test_parts_are_merged_by_score_and_then_by_id(seed: int, depth: int, count: int) -> None:
    draw = np.random.default_rng(seed)
    queries, size = int(draw.integers(1, 4)), 40
    ids = [f"d{number}" for number in draw.permutation(size)]
    scores = draw.integers(0, 4, (queries, size))
    bounds = np.sort(np.concatenate([[0, size], draw.integers(0, size + 1, count - 1)]))

    def best(query: int, first: int, last: int) -> list[int]:
        there = [doc for doc in range(first, last) if scores[query, doc] > 0]
        return sorted(there, key=lambda doc: (scores[query, doc], ids[doc]), reverse=True)[:depth]

    def part(first: int, last: int) -> ShardHits:
        rows = [best(query, first, last) for query in range(queries)]
        docs = np.array([doc for row in rows for doc in row], np.int64)
        own = np.array([scores[q, doc] for q, row in enumerate(rows) for doc in row], np.int64)
        numbers = np.unique(docs)
        offsets = np.cumsum([0, *map(len, rows)])
        return ShardHits(
            TopDocuments(offsets, docs, own), numbers, Strings.of([ids[n] for n in numbers])
        )

    parts = (part(first, last) for first, last in pairwise(bounds.tolist()))
    for one, other in zip(merged(parts, depth), part(0, size).found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_index_that_a_worker_does_not_see(tmp_path: Path) -> None:
    index = build_index.build(
        ir.load(DOCS), find_system("bm25", {}), tmp_path / "i", memory=1, progress=False
    )
    (tmp_path / "i").rename(tmp_path / "elsewhere")
    with using(Sent(2)), pytest.raises(InputError, match=r"the index|not an index|has no index"):
        ranking(index, 3)


@pytest.mark.parametrize("damage", ["removed", "cut"])
def test_a_shard_that_is_gone_is_named(damage: str, tmp_path: Path) -> None:
    index = build_index.build(
        ir.load(DOCS), find_system("ql", {}), tmp_path / "i", memory=1, progress=False
    )
    file = sorted((tmp_path / "i" / "shards").glob("*/classes.npy"))[3]
    if damage == "removed":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-1])
    with using(Sent(3)), pytest.raises(InputError, match=r"classes\.npy: missing or truncated"):
        ranking(index, 3)
