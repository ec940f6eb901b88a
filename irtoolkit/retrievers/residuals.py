"""A compressed index of token vectors: the nearest centroid of each, and what remains in a few bits.

The form is ColBERTv2's (Santhanam et al. 2022, NAACL, §3.3): a vector is the number of its nearest
centroid and, for each dimension, one of 2, 4 or 16 values for the rest. Lists of the documents of each
centroid are PLAID's (Santhanam et al. 2022, CIKM, §4.1).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.durable import atomic_folder
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import sha256
from irtoolkit.base.ids import Ints, Singles
from irtoolkit.indexes.strings import reserved
from irtoolkit.indexes.vectors import runs_of_texts
from irtoolkit.models.shards import Encodings
from irtoolkit.retrievers.late import tokens

# Raised by hand when the same vectors give another index.
FORMAT = 2
# Tokens that are compressed at once, and that centroids are trained on: 512 MB and 1 GB in fp32 at
# 128 dimensions.
_PART = 1 << 20
_TRAINED = 1 << 21
# Vectors for each centroid that k-means is given at most, and at least.
_MOST, _LEAST = 64, 4
_ITERATIONS = 10
# Vectors that are hashed at once: 64 MB of whole numbers at 128 dimensions.
_HASHED = 1 << 16


@dataclass(frozen=True)
class Compression:
    """How token vectors are compressed.

    Attributes:
        nbits: bits for each dimension of what remains, 1, 2 or 4.
        centroids: how many there are; None for ColBERTv2's choice by the number of vectors.
        seed: of the sample and of k-means.
    """

    nbits: int
    centroids: int | None
    seed: int


@dataclass(frozen=True, eq=False)
class Residuals:
    """A compressed index, mapped from disk.

    Attributes:
        centroids: (k, d).
        values: (2 ** nbits,) what a code of one dimension means.
        codes: (t,) the centroid of each token.
        rest: (t, d * nbits / 8) codes of the dimensions, packed.
        starts: (n+1,) where each document's tokens begin.
        lists, bounds: documents of each centroid end to end, and (k+1,) where each list begins.
    """

    centroids: Singles
    values: Singles
    codes: NDArray[np.int32]
    rest: NDArray[np.uint8]
    starts: Ints
    lists: NDArray[np.int32]
    bounds: Ints

    def vectors(self, docs: Ints) -> tuple[Singles, Ints]:
        """Approximate token vectors of some documents end to end, and where each document's begin."""
        counts = self.starts[docs + 1] - self.starts[docs]
        begins = np.concatenate([[0], np.cumsum(counts)])
        rows = np.repeat(self.starts[docs] - begins[:-1], counts) + np.arange(begins[-1])
        nbits = len(self.values).bit_length() - 1
        vectors = self.centroids[self.codes[rows]] + self._table(nbits)[self.rest[rows]].reshape(
            len(rows), self.centroids.shape[1]
        )
        return vectors, begins

    def _table(self, nbits: int) -> Singles:
        """(256, 8 / nbits) the values that each packed byte holds."""
        shifts = np.arange(0, 8, nbits)
        table: Singles = self.values[np.arange(256)[:, None] >> shifts & ((1 << nbits) - 1)]
        return table


ARRAYS = tuple(Residuals.__annotations__)


class TokenVectors(Protocol):
    """The token vectors of some documents.

    Attributes:
        counts: (n,) tokens of each document.
    """

    @property
    def counts(self) -> Ints: ...

    def of(self, docs: Ints) -> Singles:
        """(t, d) vectors of some documents end to end."""
        ...


@dataclass(frozen=True)
class EncodedTokens:
    """The token vectors of texts that a model has encoded; `TokenVectors`."""

    encodings: Encodings

    @property
    def counts(self) -> Ints:
        """(n,) tokens of each document."""
        return self.encodings.counts

    def of(self, docs: Ints) -> Singles:
        """(t, d) vectors of some documents end to end."""
        return tokens(self.encodings[docs])[0]


def name_of(docs: Encodings, compression: Compression) -> str:
    """Returns a hash of everything that an index depends on."""
    import faiss

    settings = [
        FORMAT,
        compression.nbits,
        compression.centroids,
        compression.seed,
        faiss.__version__,
        docs.digest(),
    ]
    return hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:32]


def opened(folder: Path) -> Residuals:
    """The index of a folder.

    Raises:
        InputError: it is damaged.
    """
    try:
        sums = json.loads((folder / "sums.json").read_text())
        for name in ARRAYS:
            if sha256(folder / f"{name}.npy") != sums[name]:
                raise ValueError(f"{name}.npy is not what was written")
        arrays = [np.load(folder / f"{name}.npy", mmap_mode="r") for name in ARRAYS]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"damaged index: {error}", file=folder, remedy="delete it") from None
    return Residuals(*arrays)


def write(folder: Path, docs: Encodings, compression: Compression) -> None:
    """Compresses the token vectors of documents into a folder, which appears when it is complete.

    Raises:
        InputError: no token at all, dimensions that do not fill bytes, more centroids than tokens,
            or the disk refuses.
    """
    with atomic_folder(folder) as half:
        fill(half, EncodedTokens(docs), compression)
        sums = {name: sha256(half / f"{name}.npy") for name in ARRAYS}
        (half / "sums.json").write_text(json.dumps(sums))


def fill(folder: Path, docs: TokenVectors, compression: Compression) -> None:
    """Writes the arrays of a compressed index to a folder.

    Raises:
        InputError: see `write`.
    """
    import faiss

    from irtoolkit.base.progress import tqdm

    starts = np.concatenate([[0], np.cumsum(docs.counts)])
    total = int(starts[-1])
    sample = _sample(docs, starts, compression)
    width = sample.shape[1]
    if width * compression.nbits % 8:
        raise InputError(f"{width} dimensions of nbits={compression.nbits} do not fill whole bytes")
    distinct = _distinct(sample)
    count = _centroids(total, len(sample), len(distinct), compression)
    kmeans = faiss.Kmeans(
        width,
        count,
        niter=_ITERATIONS,
        seed=compression.seed,
        max_points_per_centroid=_MOST,
        min_points_per_centroid=1,
    )
    kmeans.train(distinct)
    centroids: Any = kmeans.centroids
    nearest: Any = faiss.IndexFlatL2(width)
    nearest.add(centroids)
    differences = (sample - centroids[nearest.search(sample, 1)[1][:, 0]]).ravel()
    # Each code stands for as many of the sample's numbers (§3.3 of ColBERTv2 leaves this open).
    cuts = np.quantile(
        differences, np.arange(1, 1 << compression.nbits) / (1 << compression.nbits)
    ).astype(np.float32)
    middles = (np.arange(1 << compression.nbits) + 0.5) / (1 << compression.nbits)
    values = np.quantile(differences, middles).astype(np.float32)
    codes: Any = reserved(folder / "codes.npy", np.int32, total)
    rest: Any = reserved(folder / "rest.npy", np.uint8, total, width * compression.nbits // 8)
    with tqdm(total=len(docs.counts), desc="plaid index", unit="text", disable=None) as bar:
        for first, last in runs_of_texts(starts, _PART):
            vectors = docs.of(np.arange(first, last))
            rows = slice(starts[first], starts[last])
            codes[rows] = nearest.search(vectors, 1)[1][:, 0]
            differences = vectors - centroids[codes[rows]]
            rest[rows] = _packed(np.searchsorted(cuts, differences), compression.nbits)
            bar.update(last - first)
    lists, bounds = _lists(codes, starts, count)
    codes.flush()
    rest.flush()
    arrays = {
        "centroids": centroids,
        "values": values,
        "starts": starts,
        "lists": lists,
        "bounds": bounds,
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def _sample(docs: TokenVectors, starts: Ints, compression: Compression) -> Singles:
    """Token vectors of some documents, drawn at random."""
    if not starts[-1]:
        raise InputError("documents without a token cannot be indexed")
    order = np.random.default_rng(compression.seed).permutation(len(docs.counts))
    reached = np.searchsorted(np.cumsum(docs.counts[order]), _TRAINED) + 1
    return np.ascontiguousarray(docs.of(np.sort(order[:reached])))


def _distinct(vectors: Singles) -> Singles:
    """Returns the vectors, each once: k-means would make several equal centroids of repeated ones.

    They are compared in half precision, since a batch decides the last bits of what a model encodes.
    """
    factors = np.random.default_rng(0).integers(1 << 63, size=vectors.shape[1], dtype=np.uint64)
    hashes = np.empty(len(vectors), np.uint64)
    with np.errstate(over="ignore"):
        for first in range(0, len(vectors), _HASHED):
            halves = vectors[first : first + _HASHED].astype(np.float16) + np.float16(0)  # no -0
            hashes[first : first + _HASHED] = halves.view(np.uint16).astype(np.uint64) @ factors
    return np.ascontiguousarray(vectors[np.sort(np.unique(hashes, return_index=True)[1])])


def _centroids(total: int, sampled: int, distinct: int, compression: Compression) -> int:
    """16·√t rounded down to a power of two, as in ColBERTv2's code, if so many can be trained.

    There are never more than distinct vectors.
    """
    if compression.centroids is None:
        target = 1 << int(np.log2(16 * np.sqrt(total)))
        return max(1, min(target, distinct // _LEAST))
    if compression.centroids > sampled:
        raise InputError(
            f"setting centroids={compression.centroids} is more than the {sampled} tokens"
        )
    return min(compression.centroids, distinct)


def _packed(codes: Any, nbits: int) -> NDArray[np.uint8]:
    """(t, d * nbits / 8) codes of one dimension after another, the first in the lowest bits."""
    per = 8 // nbits
    groups = codes.astype(np.uint8).reshape(len(codes), -1, per)
    packed: NDArray[np.uint8] = np.bitwise_or.reduce(
        groups << np.arange(0, 8, nbits, dtype=np.uint8), axis=2
    )
    return packed


def _lists(codes: Any, starts: Ints, count: int) -> tuple[NDArray[np.int32], Ints]:
    """Documents of each centroid, each once, end to end; and where each list begins."""
    keys = []
    for first, last in runs_of_texts(starts, _PART):
        owners = np.repeat(np.arange(first, last), np.diff(starts[first : last + 1]))
        keys.append(np.unique(codes[starts[first] : starts[last]].astype(np.int64) << 32 | owners))
    pairs = np.sort(np.concatenate(keys))
    bounds = np.searchsorted(pairs, np.arange(count + 1, dtype=np.int64) << 32)
    return (pairs & 0xFFFFFFFF).astype(np.int32), bounds
