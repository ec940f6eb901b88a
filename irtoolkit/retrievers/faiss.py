"""Vector search with faiss over whole corpora: exact, by a graph of neighbours, or compressed."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar, Literal, cast

import numpy as np

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.files import atomic_path
from irtoolkit.base.ids import Ints, Singles
from irtoolkit.base.locks import locked
from irtoolkit.datasets.cache import cache_home
from irtoolkit.indexes.index_format import IndexFormat
from irtoolkit.models.loading import torch_device
from irtoolkit.models.shards import Encodings
from irtoolkit.retrievers.base import MOST, Ask, Hits
from irtoolkit.retrievers.compared import by_pools
from irtoolkit.retrievers.dense import VectorRetriever, encode_texts, text_sides
from irtoolkit.retrievers.faiss_index import FaissIndex, with_ties
from irtoolkit.retrievers.neural import encoder_of
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.vectors import Similarity, Vectors, unit

# Vectors that an index takes in at once.
_ADDED = 1 << 16
# faiss asks for so many training vectors for each centroid, and takes no more than 256.
_LEAST, _MOST = 39, 256
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Faiss(VectorRetriever):
    """Similarity of one vector for the query and one for the document, by a faiss index.

    Only the `hits` best that the index finds are ranked; "flat" finds the true best, the others
    most of them, for less time ("hnsw") or memory ("ivfpq"). For exact ranks take `dense`.
    An index is kept in irtoolkit's cache folder, and moved to a GPU when faiss has one. In an index
    of `irtoolkit index`, faiss finds documents, and their vectors score them exactly. Documents that
    are too few to train "ivfpq" are compared as by "flat", and a line says so.

    Attributes:
        index: "flat", "hnsw" (Malkov and Yashunin 2020) or "ivfpq" (Jégou et al. 2011), which takes 78
            documents, and one for each of its `lists`.
        similarity: "cosine", "dot" or "l2"; by default the model's.
        hits: documents found for each query, at most.
        m: neighbours of a node of the graph.
        ef_construction, ef_search: candidates that are kept in mind while the graph is made and
            while it is searched.
        lists: cells of the coarse quantizer; by default 4·√N, as faiss advises, and no more than
            the corpus can train.
        probes: cells searched.
        subvectors: bytes of a compressed vector; must divide the dimensions.
        seed: of the quantizers' training.
    """

    name: ClassVar[str] = "faiss"
    # 3: ids decide between hits that tie with the last. 4: exact sums of products in an index.
    format: ClassVar[int] = 4
    read_with: ClassVar = {
        **dict.fromkeys(("m", "ef_construction", "ef_search"), ("index=hnsw",)),
        **dict.fromkeys(("lists", "probes", "subvectors", "seed"), ("index=ivfpq",)),
    }

    ranges: ClassVar = {
        **dict.fromkeys(("hits", "ef_construction", "ef_search"), (1, MOST)),
        **dict.fromkeys(("lists", "probes", "subvectors"), (1, MOST)),
        # A graph with one neighbour for each node has no levels, and faiss crashes.
        "m": (2, MOST),
        "seed": (0, MOST),
    }

    index: Literal["flat", "hnsw", "ivfpq"] = "flat"
    similarity: Similarity | None = None
    hits: int = 1000
    m: int = 32
    ef_construction: int = 200
    ef_search: int = 128
    lists: int | None = None
    probes: int = 32
    subvectors: int = 48
    seed: int = 0

    def missing(self) -> str | None:
        if find_spec("faiss") is None:
            return str(needs_extra("faiss-cpu", "neural"))
        return super().missing()

    def most(self) -> int | None:
        return self.hits

    def index_format(self) -> IndexFormat | None:
        if not self.scores_as(Faiss):
            return None
        return FaissIndex(self, text_sides(self, self._similarity))

    def declared_similarity(self) -> Similarity | None:
        """The similarity as the settings or the preset say it."""
        return self.similarity or self.preset().similarity

    def _similarity(self) -> Similarity:
        return cast(Similarity, self.similarity or encoder_of(self, "document").similarity)

    def prepare(self, task: Task) -> Ask:
        import faiss

        query_encoder, document_encoder = self.encoder("query"), self.encoder("document")
        similarity = self.similarity or document_encoder.similarity
        docs = encode_texts(document_encoder, task.docs, "documents")
        metric = faiss.METRIC_L2 if similarity == "l2" else faiss.METRIC_INNER_PRODUCT

        self.report_small([len(group.docs) for group in task.groups])

        def encode(queries: Task) -> Vectors:
            vectors = encode_texts(query_encoder, self.asked(queries), "queries").vectors()
            return unit(vectors) if similarity == "cosine" else vectors

        def score(index: Any, queries: Vectors, rows: Ints) -> Hits:
            scores, places = with_ties(index, queries[rows], self.hits, index.ntotal)
            if similarity == "l2":  # faiss gives squares
                scores = -np.sqrt(np.maximum(scores, 0))
            return Hits(places, scores)

        return by_pools(
            lambda doc: self._index(docs[doc], similarity == "cosine", metric), encode, score
        )

    def _index(self, docs: Encodings, scaled: bool, metric: int) -> Any:
        """The index of some documents, from disk where it has been made before."""
        import faiss

        path = cache_home() / "faiss" / f"{self._name(docs, scaled, metric)}.faiss"
        with locked(path.with_suffix(".lock"), remove=True):
            if not path.is_file():
                serialized = faiss.serialize_index(self._made(docs, scaled, metric))
                # Python tells of a full disk; faiss' own writer does not.
                with atomic_path(path) as temporary:
                    temporary.write_bytes(serialized.tobytes())
        try:
            index: Any = faiss.read_index(str(path))
        except (RuntimeError, MemoryError) as error:
            reason = (str(error).strip() or "no memory for it").splitlines()[0]
            raise InputError(f"damaged index: {reason}", file=path, remedy="delete it") from None
        return self.tuned(index)

    def tuned(self, index: Any, movable: bool = True) -> Any:
        """An index as it is to be searched; where it is `movable`, on a GPU if faiss has one."""
        import faiss

        if self.index == "hnsw":
            index.hnsw.efSearch = self.ef_search
        if self.index == "ivfpq" and hasattr(index, "nprobe"):
            index.nprobe = self.probes
        device = torch_device(self.device)
        # faiss-gpu has no graph search of this kind.
        movable = movable and self.index != "hnsw" and hasattr(faiss, "index_cpu_to_gpu")
        if device == "cpu" or not movable:
            return index
        try:
            number = int(device.partition(":")[2] or 0)
            return faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), number, index)
        except RuntimeError as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"faiss cannot use {device}: {reason}", remedy="device=cpu") from None

    def _made(self, docs: Encodings, scaled: bool, metric: int) -> Any:
        def part(chosen: Ints) -> Singles:
            vectors = docs[chosen].vectors()
            return np.ascontiguousarray(unit(vectors) if scaled else vectors, np.float32)

        return self.arranged(part, len(docs), metric)

    def arranged(self, part: Callable[[Ints], Singles], count: int, metric: int) -> Any:
        """An index of so many vectors, given what reads some of them.

        Raises:
            InputError: vectors that the settings do not fit.
        """
        import faiss

        from irtoolkit.base.progress import tqdm

        width = part(np.arange(1)).shape[1]
        self.check_width(width)
        index: Any
        if self.index == "flat" or self.is_small(count):
            index = faiss.IndexFlat(width, metric)
        elif self.index == "hnsw":
            index = faiss.IndexHNSWFlat(width, self.m, metric)
            index.hnsw.efConstruction = self.ef_construction
        else:
            index = self._compressed(count, width, metric)
            most = min(count, _MOST * max(index.nlist, 1 << 8))
            sample = np.random.default_rng(self.seed).choice(count, most, replace=False)
            index.train(part(np.sort(sample)))
        with tqdm(total=count, desc=f"{self.index} index", unit="vector", disable=None) as bar:
            for start in range(0, count, _ADDED):
                chosen = np.arange(start, min(count, start + _ADDED))
                index.add(part(chosen))
                bar.update(len(chosen))
        return index

    def _compressed(self, count: int, width: int, metric: int) -> Any:
        import faiss

        # Bytes hold 256 centroids; fewer documents train fewer.
        bits = min(8, int(np.log2(count // _LEAST)))
        lists = self.lists or max(1, min(int(4 * np.sqrt(count)), count // _LEAST))
        coarse: Any = faiss.IndexFlat(width, metric)
        index: Any = faiss.IndexIVFPQ(coarse, width, lists, self.subvectors, bits, metric)
        index.cp.seed = index.pq.cp.seed = self.seed
        coarse.this.disown()
        index.own_fields = True
        return index

    def check_width(self, width: int) -> None:
        """Raises InputError for vectors that cannot be compressed as the settings say."""
        if self.index == "ivfpq" and width % self.subvectors:
            raise InputError(
                f"setting subvectors={self.subvectors} does not divide the {width} dimensions",
                remedy=f"take one of {', '.join(str(n) for n in _divisors(width)[-5:])}",
            )

    def is_small(self, count: int) -> bool:
        """Whether so few vectors are compared one by one, because they do not train an index."""
        return self.index == "ivfpq" and count < self._trainable()

    def report_small(self, counts: Sequence[int]) -> None:
        """Logs that documents are too few to train the index, if some of the counts are."""
        small = [count for count in counts if self.is_small(count)]
        if small:
            _log.warning(
                "%d documents are too few for index=ivfpq, which takes %d: compared as by index=flat",
                min(small),
                self._trainable(),
            )

    def _trainable(self) -> int:
        return max(2 * _LEAST, self.lists or 0)

    def _name(self, docs: Encodings, scaled: bool, metric: int) -> str:
        """Returns a hash of everything that an index depends on: the vectors and how they are arranged."""
        import faiss

        arguments = {
            "flat": [],
            "hnsw": [self.m, self.ef_construction],
            "ivfpq": [self.lists, self.subvectors, self.seed],
        }
        settings = {
            "index": self.index,
            "own": arguments[self.index],
            "scaled": scaled,
            "metric": metric,
            "faiss": faiss.__version__,
            "vectors": docs.digest(),
        }
        return hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:32]


def _divisors(number: int) -> list[int]:
    return [n for n in range(1, min(number, 128) + 1) if number % n == 0]
