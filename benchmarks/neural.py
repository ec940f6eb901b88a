"""Neural retrieval beside its peers, as ratios; on a GPU, as shares of its measured matrix rate.

    python benchmarks/neural.py                                  # some ten minutes on two cores
    python benchmarks/neural.py --scale 0.05                     # a quick look
    python benchmarks/neural.py -o benchmarks/results/neural.json
    python benchmarks/neural.py --gpu -o benchmarks/results/neural-gpu.json

On a CPU: encoding against sentence-transformers' `encode` on texts of mixed length; exact ranking
with gold ranks against the bare matrix product; MaxSim over 1,000 candidates against
MultiVectorEncoder's own `similarity`; and time per query as the candidate set grows. Both sides of
each pair take turns, and the fastest turn of each counts. Vectors and scores are compared too, and
the script fails when they are not equal.

On a GPU the model is a BERT of random weights in BERT-base's shape. Its work is counted as two
operations for each weight outside the embeddings and each token, and as attention's two products;
padding is not work. The matrix rate is that of a bf16 product of two 8192 x 8192 matrices.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from irtoolkit.base.ids import id_array
from irtoolkit.base.tables import TextTable
from irtoolkit.indexes.comparison import QueryVectors, VectorComparison
from irtoolkit.indexes.nearest import Searched, ShardSearch
from irtoolkit.indexes.rounding import rounded
from irtoolkit.indexes.vectors import VectorShard
from irtoolkit.retrievers import late
from irtoolkit.retrievers.base import Retriever, Scorer

WORDS = [
    "the",
    "a",
    "of",
    "and",
    "to",
    "in",
    "that",
    "it",
    "was",
    "he",
    "his",
    "with",
    "as",
    "for",
    "had",
    "you",
    "not",
    "be",
    "her",
    "on",
    "at",
    "by",
    "which",
    "have",
    "or",
    "from",
    "this",
    "but",
    "all",
    "she",
    "they",
    "were",
    "my",
    "are",
    "me",
    "one",
    "there",
    "so",
    "an",
    "him",
    "said",
    "what",
    "would",
    "when",
    "out",
    "up",
    "their",
    "who",
    "been",
    "could",
    "them",
    "will",
    "no",
    "more",
    "into",
    "some",
    "then",
    "now",
    "very",
    "time",
    "like",
    "little",
    "man",
    "old",
    "long",
    "hand",
    "eyes",
    "day",
    "came",
    "went",
    "night",
    "house",
    "world",
    "nothing",
    "something",
    "against",
    "without",
    "thought",
]
TURNS = 3
DIMENSIONS, DEPTH = 384, 100


def texts_of_mixed_length(draw: np.random.Generator, count: int) -> list[str]:
    """Log-normal lengths, from a few words to more than the model takes."""
    lengths = np.clip(draw.lognormal(3.3, 0.8, count).astype(int), 3, 400)
    return [" ".join(draw.choice(WORDS, length)) for length in lengths]


def turns(*sides: Callable[[], Any]) -> tuple[list[float], list[Any]]:
    """The fastest of some turns of each side, after one that does not count, and its answers."""
    answers = [side() for side in sides]
    best = [np.inf] * len(sides)
    for _ in range(TURNS):
        for i, side in enumerate(sides):
            started = time.perf_counter()
            answers[i] = side()
            best[i] = min(best[i], time.perf_counter() - started)
    return best, answers


# -- on a CPU ---------------------------------------------------------------------------------


def encoding(scale: float) -> dict[str, Any]:
    """Texts a second, ours and sentence-transformers', which has all threads."""
    from sentence_transformers import SentenceTransformer

    from irtoolkit.models import presets
    from irtoolkit.models.encoder import Encoder, EncoderSettings

    texts = texts_of_mixed_length(np.random.default_rng(0), max(20, int(1000 * scale)))
    model = SentenceTransformer(
        presets.model_folder(presets.find_preset("all-MiniLM-L6-v2")), device="cpu"
    )
    number = iter(range(1000))

    def ours() -> Any:
        # A new folder each time: what is on disk already would cost nothing.
        os.environ["IRTOOLKIT_CACHE"] = f"{home}/{next(number)}"
        encoder = Encoder(EncoderSettings("all-MiniLM-L6-v2", "dense", "document", device="cpu"))
        return encoder.encode(texts, count=len(texts)).vectors()

    kept = os.environ.get("IRTOOLKIT_CACHE")
    with tempfile.TemporaryDirectory() as home:
        (mine, theirs), (a, b) = turns(ours, lambda: model.encode(texts, batch_size=32))
    if kept is None:
        del os.environ["IRTOOLKIT_CACHE"]
    else:
        os.environ["IRTOOLKIT_CACHE"] = kept
    np.testing.assert_allclose(a, b, atol=1e-5)
    return {
        "texts": len(texts), "texts/s": len(texts) / mine, "peer texts/s": len(texts) / theirs,
        "ratio": theirs / mine,
    }  # fmt: skip


@dataclass(frozen=True)
class Vectors(Retriever):
    """Exact products of vectors that are there already."""

    name: ClassVar[str] = "vectors"

    queries: Any = None
    docs: Any = None

    def searches(self, candidates: int) -> bool:
        return True

    def scorer(self, task: Any) -> Scorer:
        def candidates(doc: Any) -> Any:
            shard = VectorShard.of([(self.docs, np.ones(len(self.docs), np.int64))])
            search, how = ShardSearch(shard), VectorComparison("dot")
            return lambda query: Searched(
                search, QueryVectors.of(self.queries[query], np.arange(len(query) + 1), how)
            )

        return candidates


def ranking(size: int, count: int) -> dict[str, Any]:
    """Time per query of a ranking to depth 100 with one gold rank each, and of the product alone."""
    from irtoolkit.retrievers.engine import BLOCK_CELLS, rank
    from irtoolkit.retrievers.task import QueryGroup, Task

    draw = np.random.default_rng(1)
    docs = draw.standard_normal((size, DIMENSIONS), np.float32)
    queries = draw.standard_normal((count, DIMENSIONS), np.float32)
    names = id_array([f"d{i}" for i in range(size)]), id_array([f"q{i}" for i in range(count)])
    task = Task("benchmark", names[1], names[0], (QueryGroup(np.arange(count), np.arange(size)),))
    wanted = {f"q{i}": [f"d{i * 7919 % size}"] for i in range(count)}
    step = max(1, BLOCK_CELLS // size)

    def bare() -> None:
        for start in range(0, count, step):
            queries[start : start + step] @ docs.T

    def whole() -> Any:
        retriever = Vectors(queries, docs)
        return rank(task, retriever, wanted, depth=DEPTH, progress=False)

    (product, full), (_, found) = turns(bare, whole)
    gold = found.exact_ranks["q0"]["d0"]
    scores = rounded(docs).astype(np.float64) @ rounded(queries[:1])[0].astype(np.float64)
    if gold != 1 + np.count_nonzero(scores > scores[0]):
        raise SystemExit(f"the gold rank {gold} is wrong")
    return {
        "candidates": size, "queries": count, "ms/query": 1000 * full / count,
        "product ms/query": 1000 * product / count, "ratio": product / full,
    }  # fmt: skip


def maxsim(scale: float) -> dict[str, Any]:
    """Time to score 1,000 candidates of 20 to 180 tokens, ours and MultiVectorEncoder's."""
    import torch
    from sentence_transformers.util import maxsim as theirs_of

    draw = np.random.default_rng(2)
    count = max(20, int(1000 * scale))

    def tokens(number: int) -> Any:
        rows = draw.standard_normal((number, 128)).astype(np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    docs = [tokens(int(n)) for n in draw.integers(20, 180, count)]
    query = tokens(32)
    flat = np.concatenate(docs)
    starts = np.concatenate([[0], np.cumsum([len(doc) for doc in docs])])
    tensors = [torch.from_numpy(doc) for doc in docs]

    how = VectorComparison("dot", total=True)
    shard = VectorShard.of([(flat, np.diff(starts))])

    def ours() -> Any:
        return how.scores(QueryVectors.of(query, np.array([0, 32]), how), shard)[0]

    (mine, theirs), (a, b) = turns(
        ours, lambda: theirs_of([torch.from_numpy(query)], tensors)[0].numpy()
    )
    np.testing.assert_allclose(a, b, rtol=1e-4)
    return {
        "candidates": count, "ms/query": 1000 * mine, "peer ms/query": 1000 * theirs,
        "ratio": theirs / mine,
    }  # fmt: skip


# -- on a GPU ---------------------------------------------------------------------------------


def on_gpu(scale: float) -> list[dict[str, Any]]:
    """Encoding, MaxSim and pairs of a cross-encoder as shares of the measured matrix rate."""
    import torch

    from irtoolkit.models.encoder import Encoder, EncoderSettings

    rate = _matrix_rate()
    rows: list[dict[str, Any]] = [{"what": "matrix product", "TFLOP/s": rate / 1e12}]
    draw = np.random.default_rng(3)
    texts = texts_of_mixed_length(draw, max(100, int(20_000 * scale)))
    with tempfile.TemporaryDirectory() as home:
        os.environ["IRTOOLKIT_CACHE"] = f"{home}/cache"
        plain, classifier = _bert_base(Path(home))
        encoder = Encoder(EncoderSettings(plain, "dense", "document", pooling="mean"))
        encoder.encode(texts[:50])  # compiled and warm
        started = time.perf_counter()
        lengths = encoder.encode(texts).lengths
        rows.append(_share("encode", len(texts), time.perf_counter() - started, lengths, rate))
        exact = Encoder(EncoderSettings(plain, "dense", "document", pooling="mean", device="cpu"))
        some = texts[:50]
        a, b = encoder.encode(some).vectors(), exact.encode(some).vectors()
        difference = float(np.linalg.norm(a - b) / np.linalg.norm(b))
        rows[-1]["difference from fp32 on the CPU"] = difference

        pairs = list(zip(texts[: len(texts) // 2], texts[len(texts) // 2 :], strict=False))
        cross = Encoder(EncoderSettings(classifier, "cross", "document"))
        cross.encode(pairs[:50])
        started = time.perf_counter()
        lengths = cross.encode(pairs).lengths
        rows.append(_share("pairs", len(pairs), time.perf_counter() - started, lengths, rate))

    docs = torch.nn.functional.normalize(torch.randn(int(1_000_000 * scale) + 1000, 128), dim=1)
    starts = np.arange(0, len(docs) // 100 * 100 + 1, 100)
    flat, queries = docs.numpy()[: starts[-1]], docs.numpy()[: 64 * 32]
    scores = np.empty((64, len(starts) - 1), np.float32)
    bounds = np.arange(0, 64 * 32 + 1, 32)
    for _ in range(2):  # the first is warming up
        started = time.perf_counter()
        late.maxsim_on_gpu(flat, starts, queries, bounds, "cuda", scores)
        seconds = time.perf_counter() - started
    work = 2 * len(flat) * len(queries) * 128
    rows.append(
        {"what": "MaxSim", "items/s": scores.size / seconds, "TFLOP/s": work / seconds / 1e12,
         "share": work / seconds / rate}
    )  # fmt: skip
    return rows


def _matrix_rate() -> float:
    import torch

    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    for _ in range(3):
        a @ a
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(20):
        a @ a
    torch.cuda.synchronize()
    return 20 * 2 * 8192**3 / (time.perf_counter() - started)


def _bert_base(home: Path) -> tuple[str, str]:
    """A BERT and a classifier in BERT-base's shape, with random weights and the words above."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    coder = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    coder.pre_tokenizer = pre_tokenizers.Whitespace()
    coder.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )  # fmt: skip
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=coder, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]", model_max_length=512,
    )  # fmt: skip
    torch.manual_seed(0)
    config = transformers.BertConfig(num_labels=1)
    found = []
    for name, kind in (
        ("plain", transformers.BertModel), ("pairs", transformers.BertForSequenceClassification),
    ):  # fmt: skip
        folder = home / name
        kind(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        found.append(str(folder))
    return found[0], found[1]


def _share(what: str, count: int, seconds: float, lengths: Any, rate: float) -> dict[str, Any]:
    layers, width = 12, 768
    cut = np.minimum(lengths, 512).astype(np.float64)
    weights = layers * 12 * width * width
    work = float((2 * weights * cut + layers * 4 * width * cut * cut).sum())
    return {
        "what": what, "items/s": count / seconds, "TFLOP/s": work / seconds / 1e12,
        "share": work / seconds / rate,
    }  # fmt: skip


# -- all of it --------------------------------------------------------------------------------


def measure(scale: float, gpu: bool) -> dict[str, Any]:
    """Every measurement, as tables by name."""
    if gpu:
        import torch

        return {"device": torch.cuda.get_device_name(), "gpu": on_gpu(scale)}
    sizes = [(10**e, max(4, int(min(2000, 2e8 / 10**e) * scale))) for e in (3, 4, 5, 6)]
    sizes = [(size, count) for size, count in sizes if scale >= 0.5 or size <= 10_000]
    return {
        "device": f"{platform.machine()}, {os.cpu_count()} cores",
        "encoding": [encoding(scale)],
        "ranking": [ranking(size, count) for size, count in sizes],
        "MaxSim": [maxsim(scale)],
    }


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Neural retrieval beside its peers.")
    parser.add_argument("--scale", type=float, default=1.0, help="share of texts and queries")
    parser.add_argument("--gpu", action="store_true", help="measure the GPU instead")
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args(argv)
    found = measure(args.scale, args.gpu)
    print(found["device"])
    for name, rows in found.items():
        if isinstance(rows, list):
            keys = list(dict.fromkeys(key for row in rows for key in row))
            cells = [[row.get(key) for key in keys] for row in rows]
            print("\n" + TextTable(keys, cells, title=name, places=2).render("text"))
    if args.output:
        args.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
