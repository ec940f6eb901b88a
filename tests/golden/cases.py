"""The systems and settings whose runs are golden: every retriever, and each setting that changes scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# One split of each benchmark: of the samples, and of the releases of the data at hand.
SAMPLES = (
    "csfcube/sample", "relic/sample/val", "quoter/sample/en/val", "quoter/sample/zh/val",
    "plotretrieval/sample/val", "egret/sample/dev",
)  # fmt: skip
RELEASES = ("csfcube",)
# Releases are ranked without models, and the 1,485 passages of RELiC's sample by these alone.
_OF_RELIC = ("dense", "dense-surroundings")
BOOKS = ("relic", "plotretrieval")


@dataclass(frozen=True)
class Case:
    """One system with its settings.

    Attributes:
        system: a retriever's name.
        settings: its settings.
        model: the kind of tiny model of `models.py` that it encodes with; None if it has none.
        only: benchmarks that it can rank; None is all.
        reranks: whether it ranks the best documents of bm25 again.
    """

    system: str
    settings: dict[str, Any] = field(default_factory=dict)
    model: str | None = None
    only: tuple[str, ...] | None = None
    reranks: bool = False

    @property
    def name(self) -> str:
        """The system and its settings, as the shell has them."""
        settings = " ".join(f"{key}={value}" for key, value in self.settings.items())
        return f"{self.system} {settings}".strip()

    def ranks(self, dataset_id: str) -> bool:
        """Whether the case is of a dataset."""
        if self.model is not None and dataset_id in RELEASES:
            return False
        if self.model is not None and dataset_id == "relic/sample/val":
            return self.system in _OF_RELIC
        return self.only is None or dataset_id.split("/")[0] in self.only


def _each(system: str, *settings: dict[str, Any], **more: Any) -> list[Case]:
    return [Case(system, one, **more) for one in ({}, *settings)]


TERMS = [
    *_each(
        "bm25", {"form": "okapi"}, {"form": "atire"}, {"form": "bm25l"}, {"form": "rank-bm25l"},
        {"form": "bm25+"}, {"k1": 2.0, "b": 0.9}, {"form": "okapi", "epsilon": 0.5},
        {"statistics": "candidates"}, {"form": "okapi", "statistics": "candidates"},
        {"analyzer": "standard"}, {"analyzer": "words"}, {"analyzer": "cjk"}, {"stem": "none"},
        {"ties": "pool"}, {"ties": "best"},
    ),
    Case("bm25", {"self": "drop"}, only=("csfcube",)),
    Case("bm25-anserini"),
    *_each("ql", {"mu": 100.0}, {"smoothing": "jm"}, {"smoothing": "jm", "lam": 0.7},
           {"statistics": "candidates"}),
    *_each("tfidf", {"smooth": False}, {"statistics": "candidates"}),
    *_each("rm3", {"fb_docs": 3, "fb_terms": 20}, {"original_query_weight": 0.2}),
    *_each("rm3-ql", {"likelihood": "query"}),
    *_each("rocchio", {"gamma": 0.15}, {"fb_docs": 3, "beta": 0.4}),
    *_each("bm25-surroundings", {"around": "1/4", "weight": 0.5}, {"fade": 0.5}, only=BOOKS),
    *_each("ql-surroundings", only=BOOKS),
    *_each("bm25-nearby", {"span": 5.0, "weight": 0.5}, only=BOOKS),
    *_each("crm", {"pooling": "mean"}, {"pooling": "square"}, only=("quoter",)),
    *_each("random", {"seed": 1}),
]  # fmt: skip

VECTORS = [
    *_each("dense", {"pooling": "mean"}, {"similarity": "dot"}, {"similarity": "l2"},
           {"stored": "fp16"}, {"stored": "int8"}, {"query_length": 8},
           {"query_prompt": "the cat ", "document_prompt": "a dog "}, model="dense"),
    *_each("dense-prf", {"feedback": "average"}, {"fb_docs": 2, "beta": 0.2}, model="dense"),
    *_each("dense-surroundings", {"weight": 0.5}, model="dense", only=BOOKS),
    *_each("known-contexts", {"weight": 0.2}, model="dense", only=("quoter",)),
    *_each("sentence-max", model="dense"),
    *_each("sentence-match", {"similarity": "l2"}, {"matching": "transport"}, model="dense"),
    *_each("faiss", {"index": "hnsw"}, {"index": "ivfpq", "subvectors": 8, "probes": 4},
           model="dense"),
    *_each("late", {"stored": "fp32"}, {"stored": "int8"}, model="late"),
    *_each("plaid", {"nbits": 4, "centroids": 8}, model="late"),
    *_each("sparse", model="sparse"),
    Case("word2vec", {"min_count": 1}, only=("quoter", "egret", "csfcube")),
    *_each("word2vec", {"weighting": "tfidf"}, {"architecture": "skipgram"}, only=("csfcube", "egret")),
    Case("cross-encoder", model="cross", reranks=True),
    *_each("doct5query", {"sampling": "greedy"}, model="writer"),
    Case("deepct", model="weigher"),
]  # fmt: skip

CASES = TERMS + VECTORS
