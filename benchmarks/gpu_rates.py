"""Rates of encoding and cross-encoding, and whether their figures are right."""

from __future__ import annotations

from typing import Any

import numpy as np
from gpu_setting import Check, MissingError, Setting

# Of vectors in bf16 beside fp32: the relative norm of the difference.
_BF16 = 0.03
# Of scores in bf16 by two libraries: the root mean square of the difference, in standard deviations
# of the scores, which of random weights hardly differ.
_SCORES = 0.1
# On which bf16 is compared with fp32; without a GPU, on samples.
_BENCHMARKS = ("csfcube", "egret/dev", "quoter/en/test")
_SAMPLES = ("egret/sample/dev",)


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

    texts = setting.texts(setting.count(100_000, 40))
    full = setting.full_texts(setting.count(80_000, 20), seed=11)
    encoder = Encoder(
        EncoderSettings(setting.start, "dense", "document", pooling="mean", device=setting.device)
    )
    encoder.encode(setting.full_texts(setting.count(6_000, 5), seed=12))  # warm
    ours, made = setting.timed(lambda: encoder.encode(texts))
    longest, filled = setting.timed(lambda: encoder.encode(full))
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
    part = texts[: setting.count(5_000, 40)]
    theirs, found = setting.timed(lambda: peer.encode(part, batch_size=64))
    full_part = full[: setting.count(3_000, 20)]
    theirs_full, _ = setting.timed(lambda: peer.encode(full_part, batch_size=64))
    some = made.vectors()[:50]
    difference = float(np.linalg.norm(some - found[:50]) / np.linalg.norm(found[:50]))
    assert difference < _BF16, f"the vectors differ by {difference} from sentence-transformers'"
    scaled = theirs * len(texts) / len(part), theirs_full * len(full) / len(full_part)
    work = setting.work(made.lengths), setting.work(filled.lengths)
    return {
        "mixed": beside(setting, len(texts), ours, scaled[0], work[0]),
        "full": beside(setting, len(full), longest, scaled[1], work[1]),
    }


def cross(setting: Setting) -> dict[str, Any]:
    """Pairs a second of a cross-encoder, ours and sentence-transformers'."""
    import torch
    from sentence_transformers import CrossEncoder

    from irtoolkit.models.encoder import Encoder, EncoderSettings

    count = setting.count(40_000, 30)
    half = setting.full_texts(2 * count, seed=2, tokens=setting.shape.tokens // 2)
    pairs = list(zip(half[:count], half[count:], strict=True))
    encoder = Encoder(EncoderSettings(setting.cross, "cross", "document", device=setting.device))
    encoder.encode([(a, a) for a in half[: setting.count(6_000, 5)]])  # warm
    ours, made = setting.timed(lambda: encoder.encode(pairs))
    peer = CrossEncoder(setting.cross, device=setting.device, max_length=setting.shape.tokens)
    if setting.gpu:
        peer.bfloat16()
    peer.predict(pairs[:32])
    part = pairs[: setting.count(3_000, 30)]
    theirs, found = setting.timed(
        lambda: peer.predict(part, batch_size=64, activation_fn=torch.nn.Identity())
    )
    theirs *= len(pairs) / len(part)
    scores = made.vectors()[: len(part), 0]
    apart = np.sqrt(np.mean((scores - found) ** 2)) / np.std(found)
    assert apart < _SCORES, f"the scores differ by {apart} standard deviations"
    return beside(setting, count, ours, theirs, setting.work(made.lengths))


def quality(setting: Setting) -> dict[str, Any]:
    """What bf16 changes in nDCG on benchmarks that are here, with a trained model."""
    import irtoolkit as ir
    from irtoolkit.base.errors import InputError
    from irtoolkit.models import presets

    model = setting.model or "all-MiniLM-L6-v2"
    missing = presets.missing_weights(presets.find_preset(model))
    if missing is not None:
        raise MissingError(f"{missing} (--model FOLDER)")
    told: dict[str, Any] = {}
    for name in _BENCHMARKS if setting.gpu else _SAMPLES:
        found = {}
        try:
            for precision in ("fp32", "bf16"):
                run = ir.retrieve(
                    name, "dense", model=model, precision=precision, device=setting.device,
                    progress=False,
                )  # fmt: skip
                (figures,) = ir.evaluate(name, run, measures="nDCG@10").figures().values()
                found[precision] = figures["nDCG@10"]
        except InputError as error:
            told[name] = {"missing": str(error)}
            continue
        told[name] = {**found, "lost": found["fp32"] - found["bf16"]}
    return {"nDCG@10": told}


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


def beside(setting: Setting, items: int, ours: float, theirs: float, work: float) -> dict[str, Any]:
    return {
        "items": items, "items/s": items / ours, "share": work / ours / setting.rate,
        "peer items/s": items / theirs, "peer share": work / theirs / setting.rate,
        "ratio": theirs / ours,
    }  # fmt: skip


CHECKS = [
    Check("matrix", matrix, 20),
    Check("bf16", bf16, 60),
    Check("bf16: nDCG", quality, 40),
    Check("encode", encode, 60),
    Check("cross-encoder", cross, 60),
    Check("faiss", faiss, 20, needs=("faiss",)),
]
