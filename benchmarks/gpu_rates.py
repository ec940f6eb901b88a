"""Rates of encoding, cross-encoding, products and MaxSim, and whether their figures are right."""

from __future__ import annotations

from typing import Any

import numpy as np
from gpu_setting import Check, MissingError, Setting

# Of vectors in bf16 beside fp32: the relative norm of the difference.
_BF16 = 0.03
# Of scores in bf16 by two libraries: the root mean square of the difference, in standard deviations
# of the scores, which of random weights hardly differ.
_SCORES = 0.1


def matrix(setting: Setting) -> dict[str, Any]:
    """The rate that the others are shares of."""
    return {"TFLOP/s": setting.rate / 1e12}


def bf16(setting: Setting) -> dict[str, Any]:
    """Vectors in bf16 beside those in fp32 on the CPU, and beside themselves."""
    from irtoolkit.models.encoder import Encoder, EncoderSettings

    texts = setting.texts(setting.count(100, 20), seed=1)

    def vectors(device: str, precision: Any) -> Any:
        how = EncoderSettings(
            setting.start, "dense", "document", pooling="mean", device=device, precision=precision
        )
        return Encoder(how).once(texts)

    exact = np.stack([made[0] for made in vectors("cpu", "fp32")])
    rough = np.stack([made[0] for made in vectors(setting.device, "bf16")])
    again = np.stack([made[0] for made in vectors(setting.device, "bf16")])
    difference = float(np.linalg.norm(rough - exact) / np.linalg.norm(exact))
    assert difference < _BF16, f"bf16 differs by {difference}"
    assert np.array_equal(rough, again), "two encodings of the same texts differ"
    return {"relative difference": difference}


def encode(setting: Setting) -> dict[str, Any]:
    """Texts a second, ours and sentence-transformers'."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    from irtoolkit.models.encoder import Encoder, EncoderSettings

    texts = setting.texts(setting.count(10_000, 40))
    encoder = Encoder(
        EncoderSettings(setting.start, "dense", "document", pooling="mean", device=setting.device)
    )
    encoder.once(texts[:32])  # warm
    ours, made = setting.timed(lambda: encoder.encode(texts))
    peer = SentenceTransformer(
        modules=[
            Transformer(setting.start, max_seq_length=setting.shape.tokens),
            Pooling(setting.shape.width, pooling_mode="mean"),
        ],
        device=setting.device,
    )
    if setting.gpu:
        peer.bfloat16()
    peer.encode(texts[:32])
    theirs, found = setting.timed(lambda: peer.encode(texts, batch_size=64))
    some = made.vectors()[:50]
    difference = float(np.linalg.norm(some - found[:50]) / np.linalg.norm(found[:50]))
    assert difference < _BF16, f"the vectors differ by {difference} from sentence-transformers'"
    return _beside(setting, len(texts), ours, theirs, setting.work(made.lengths))


def cross(setting: Setting) -> dict[str, Any]:
    """Pairs a second of a cross-encoder, ours and sentence-transformers'."""
    import torch
    from sentence_transformers import CrossEncoder

    from irtoolkit.models.encoder import Encoder, EncoderSettings

    count = setting.count(5_000, 30)
    half = setting.texts(2 * count, seed=2)
    pairs = list(zip(half[:count], half[count:], strict=True))
    encoder = Encoder(EncoderSettings(setting.cross, "cross", "document", device=setting.device))
    encoder.once(pairs[:32])
    ours, made = setting.timed(lambda: encoder.encode(pairs))
    peer = CrossEncoder(setting.cross, device=setting.device, max_length=setting.shape.tokens)
    if setting.gpu:
        peer.bfloat16()
    peer.predict(pairs[:32])
    theirs, found = setting.timed(
        lambda: peer.predict(pairs, batch_size=64, activation_fn=torch.nn.Identity())
    )
    apart = np.sqrt(np.mean((made.vectors()[:, 0] - found) ** 2)) / np.std(found)
    assert apart < _SCORES, f"the scores differ by {apart} standard deviations"
    return _beside(setting, count, ours, theirs, setting.work(made.lengths))


def products(setting: Setting) -> dict[str, Any]:
    """Exact products of vectors, which are those of the CPU."""
    from irtoolkit.retrievers.vectors import prepared

    draw = np.random.default_rng(3)
    docs = draw.standard_normal((setting.count(200_000, 500), 384), np.float32)
    queries = draw.standard_normal((setting.count(1_000, 20), 384), np.float32)
    multiply = prepared(docs, "dot", setting.device)
    multiply(queries[:10])
    seconds, found = setting.timed(lambda: multiply(queries))
    np.testing.assert_allclose(found[:10], queries[:10] @ docs.T, rtol=1e-3, atol=1e-2)
    work = 2 * docs.size * len(queries)
    return {"TFLOP/s": work / seconds / 1e12, "share": work / seconds / setting.rate}


def maxsim(setting: Setting) -> dict[str, Any]:
    """MaxSim, ours, which copies the documents to the GPU, and sentence-transformers', which has them."""
    import torch
    from sentence_transformers.util import maxsim as theirs_of

    from irtoolkit.retrievers import late

    draw = np.random.default_rng(4)

    def tokens(number: int) -> Any:
        rows = draw.standard_normal((number, 128)).astype(np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    docs = [tokens(int(n)) for n in draw.integers(20, 180, setting.count(5_000, 50))]
    asked = [tokens(32) for _ in range(setting.count(32, 2))]
    flat, queries = np.concatenate(docs), np.concatenate(asked)
    starts = np.concatenate([[0], np.cumsum([len(doc) for doc in docs])])
    bounds = np.arange(0, len(queries) + 1, 32)
    scores = np.empty((len(asked), len(docs)), np.float32)

    def fill() -> Any:
        late.maxsim(flat, starts, queries, bounds, setting.device, scores)

    fill()
    ours, _ = setting.timed(fill)
    there = [torch.from_numpy(doc).to(setting.device) for doc in docs]
    asking = [torch.from_numpy(one).to(setting.device) for one in asked]
    theirs_of(asking[:1], there)
    theirs, found = setting.timed(lambda: theirs_of(asking, there))
    np.testing.assert_allclose(scores, found.cpu().numpy(), rtol=1e-2, atol=1e-2)
    return _beside(setting, scores.size, ours, theirs, 2 * len(flat) * len(queries) * 128)


def faiss(setting: Setting) -> dict[str, Any]:
    """faiss on the GPU beside the exact product."""
    import faiss as library

    draw = np.random.default_rng(5)
    docs = draw.standard_normal((setting.count(200_000, 500), 128), np.float32)
    queries = draw.standard_normal((setting.count(1_000, 10), 128), np.float32)
    index = library.IndexFlatIP(docs.shape[1])
    if setting.gpu:
        if not hasattr(library, "StandardGpuResources"):
            raise MissingError("this faiss has no GPU part: faiss-gpu")
        index = library.index_cpu_to_gpu(library.StandardGpuResources(), 0, index)
    index.add(docs)
    seconds, (_, found) = setting.timed(lambda: index.search(queries, 10))
    best = np.argsort(-(queries[:10] @ docs.T), axis=1)[:, :10]
    agreed = float(np.mean([len({*a} & {*b}) / 10 for a, b in zip(found[:10], best, strict=True)]))
    assert agreed > 0.95, f"faiss finds {agreed:.2f} of the nearest"
    work = 2 * docs.size * len(queries)
    return {"share": work / seconds / setting.rate, "agreement": agreed}


def _beside(
    setting: Setting, items: int, ours: float, theirs: float, work: float
) -> dict[str, Any]:
    return {
        "items": items, "items/s": items / ours, "share": work / ours / setting.rate,
        "peer items/s": items / theirs, "peer share": work / theirs / setting.rate,
        "ratio": theirs / ours,
    }  # fmt: skip


CHECKS = [
    Check("matrix", matrix, 20),
    Check("bf16", bf16, 60),
    Check("encode", encode, 60),
    Check("cross-encoder", cross, 60),
    Check("products", products, 20),
    Check("maxsim", maxsim, 20),
    Check("faiss", faiss, 20, needs=("faiss",)),
]
