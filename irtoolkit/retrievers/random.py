"""Random ranking, the floor of every comparison."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Ids, Ints
from irtoolkit.retrievers.base import Block, Retriever, ScoreMatrix, Scorer
from irtoolkit.retrievers.task import Task

U64 = NDArray[np.uint64]


@dataclass(frozen=True)
class Random(Retriever):
    """Uniform scores that depend on nothing but the seed and the two ids.

    The same pair scores the same in any order, candidate set or block.

    Attributes:
        seed: another one gives other scores.
    """

    name: ClassVar[str] = "random"

    seed: int = 0

    def scorer(self, task: Task) -> Scorer:
        queries, docs = (
            _hashes(task.query_ids, f"query {self.seed} "),
            _hashes(task.doc_ids, "doc "),
        )

        def candidates(doc: Ints) -> Block:
            def score(query: Ints) -> ScoreMatrix:
                mixed = _mix(queries[query][:, None] ^ docs[doc][None, :])
                # 24 bits fill a float32 exactly.
                return (mixed >> np.uint64(40)).astype(np.float32) / np.float32(2**24)

            return score

        return candidates


def _hashes(ids: Ids, salt: str) -> U64:
    digests = (hashlib.blake2b(f"{salt}{name}".encode(), digest_size=8).digest() for name in ids)
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


def _mix(values: U64) -> U64:
    """The finaliser of SplitMix64 (Steele et al. 2014): every input bit moves every output bit."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
