"""Bytes on disk and seconds to write, for each document of each kind of index with vectors.

    python benchmarks/scale_sizes.py
    python benchmarks/scale_sizes.py --scale 0.1 --output FILE

Random vectors in clusters go through the makers of real indexes, in one shard; the model is left out. A
passage of late interaction has 60 token vectors of 128 dimensions. "cache" is what the vector store
keeps of a document, from which indexes are built. Ids and texts of documents come on top: what an
index of BM25 keeps of them is in index-large.json.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.indexes.comparison import VectorComparison
from irtoolkit.models.encoder import Stored, pack
from irtoolkit.models.shards import key_of, write_shard
from irtoolkit.retrievers.faiss import Faiss
from irtoolkit.retrievers.faiss_index import FaissIndex
from irtoolkit.retrievers.plaid import Plaid
from irtoolkit.retrievers.plaid_index import PlaidIndex
from irtoolkit.retrievers.vectors import Sides, VectorIndex

DOCUMENTS, LATE_DOCUMENTS, TOKENS, LATE_DIMENSIONS = 40_000, 4_000, 60, 128
BLOCK = 1_000
KINDS: tuple[Stored, ...] = ("fp32", "fp16", "int8")


def clustered(count: int, dimensions: int, seed: int) -> Any:
    """Unit vectors around 200 centres."""
    draw = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((200, dimensions), np.float32)
    made = centres[draw.integers(0, 200, count)]
    made += draw.standard_normal((count, dimensions), np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def sides(dimensions: int, tokens: int) -> Sides:
    """Encodes a block of texts, each of which is its number, as random vectors."""

    def encode(texts: Any) -> tuple[Any, Any]:
        counts = np.full(len(texts), tokens)
        return clustered(len(texts) * tokens, dimensions, int(texts[0][0])), counts

    return Sides(encode, encode, lambda: VectorComparison("cosine" if tokens == 1 else "dot"))


def indexed(form: Any, count: int) -> dict[str, float]:
    """What a shard of an index takes."""
    with tempfile.TemporaryDirectory() as home:
        maker, folder = form.maker(1 << 40), Path(home)
        maker.begin(folder)
        for first in range(0, count, BLOCK):
            maker.add([(str(n),) for n in range(first, min(count, first + BLOCK))])
        began = time.perf_counter()
        maker.end()
        took = time.perf_counter() - began
        size = sum(path.stat().st_size for path in folder.iterdir())
    return {"bytes": size / count, "arrange us": 1e6 * took / count}


def cached(dimensions: int, tokens: int, stored: Stored, count: int) -> float:
    """Bytes of a document in the vector store, with its entry in the table of keys."""
    vectors = clustered(count * tokens, dimensions, 0)
    if tokens > 1:
        outputs = [pack((own,), stored) for own in vectors.reshape(count, tokens, dimensions)]
    else:
        outputs = [pack((own,), stored) for own in vectors]
    with tempfile.TemporaryDirectory() as home:
        keys = [key_of(str(n)) for n in range(count)]
        made = write_shard(Path(home), keys, np.ones(count, np.int64), outputs)
        return made.path.stat().st_size / count + 24  # two words of a key, and a place


def measure(scale: float) -> list[dict[str, Any]]:
    """A row for each kind."""
    rows: list[dict[str, Any]] = []

    def add(kind: str, dimensions: int, stored: Stored, make: Callable[[Sides], Any]) -> None:
        late = dimensions == LATE_DIMENSIONS
        tokens = TOKENS if late else 1
        count = max(1_000, int((LATE_DOCUMENTS if late else DOCUMENTS) * scale))
        found = indexed(make(sides(dimensions, tokens)), count)
        cache = cached(dimensions, tokens, stored, 1_000)
        rows.append({"kind": kind, "dimensions": dimensions, "stored": stored, "documents": count, **found, "cache bytes": cache})  # fmt: skip

    for dimensions in (384, 768):
        for stored in KINDS:
            add("dense", dimensions, stored, lambda own, stored=stored: VectorIndex(own, stored, {}))  # fmt: skip
        for index in ("hnsw", "ivfpq"):
            faiss = Faiss(index=index, stored="fp16")  # type: ignore[arg-type]
            add(f"faiss {index}", dimensions, "fp16", lambda own, faiss=faiss: FaissIndex(faiss, own))  # fmt: skip
    add("late", LATE_DIMENSIONS, "fp16", lambda own: VectorIndex(own, "fp16", {}))
    add("plaid", LATE_DIMENSIONS, "fp16", lambda own: PlaidIndex(Plaid(), own))
    return rows


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Bytes of each document of each kind of index.")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the documents")
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args(argv)
    rows = measure(args.scale)
    for row in rows:
        print(row)
    if args.output:
        args.output.write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
