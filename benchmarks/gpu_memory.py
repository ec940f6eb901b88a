"""Whether work that does not fit into the GPU's memory is done in halves, with the same result.

On a GPU torch may take only little more than it has; without one, more than a few items at once are
said to lack memory, and the code of the GPU is run by torch on the CPU.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from gpu_setting import Check, Setting

# Items at once that have enough memory where there is no GPU.
_MOST = 5


def encoding(setting: Setting) -> dict[str, Any]:
    """Texts are encoded in halves, and their vectors are the same."""
    from irtoolkit.models.encoder import Encoder, EncoderSettings

    texts = setting.texts(setting.count(2_000, 24), seed=6)
    encoder = Encoder(EncoderSettings(
        setting.start, "dense", "document", pooling="mean", device=setting.device,
        precision="fp32",
    ))  # fmt: skip
    whole = np.stack([made[0] for made in encoder.once(texts)])
    batches = encoder._batches
    batches.tokens = asked = 1 << 20
    if not setting.gpu:
        batches._model = _Lacking(batches._model)
    with _little_memory(setting, 1 << 29):
        halved = np.stack([made[0] for made in encoder.once(texts)])
    np.testing.assert_allclose(halved, whole, atol=1e-4)
    assert batches.tokens < asked, "nothing was halved"
    return {"tokens at once": asked, "halved to": batches.tokens}


def products(setting: Setting) -> dict[str, Any]:
    """A block of products is computed in halves; vectors that do not fit at all are refused."""
    from irtoolkit.base.errors import InputError
    from irtoolkit.retrievers import vectors

    draw = np.random.default_rng(7)
    docs = draw.standard_normal((setting.count(500_000, 200), 64), np.float32)
    queries = draw.standard_normal((setting.count(500, 9), 64), np.float32)
    multiply = vectors._product_on_gpu(docs, setting.device)
    with _little_memory(setting, 1 << 28), _sizes(setting, vectors) as sizes:
        found = multiply(queries)
    np.testing.assert_allclose(found[:3], queries[:3] @ docs.T, rtol=1e-3, atol=1e-2)
    if setting.gpu:
        with _little_memory(setting, 1 << 26):
            # More than is free, also in blocks that torch has kept from earlier checks.
            larger = np.zeros((_free_blocks() // docs.itemsize // 64 + len(docs), 64), np.float32)
            try:
                vectors._product_on_gpu(larger, setting.device)
            except InputError:
                pass
            else:
                raise AssertionError("vectors fit into half the memory that they need")
    return _halved(sizes)


def _free_blocks() -> int:
    """Bytes that torch holds and does not use."""
    import torch

    return torch.cuda.memory_reserved() - torch.cuda.memory_allocated()


def maxsim(setting: Setting) -> dict[str, Any]:
    """A block of MaxSim is computed in halves."""
    from irtoolkit.indexes.comparison import QueryVectors, VectorComparison
    from irtoolkit.indexes.vectors import VectorShard
    from irtoolkit.retrievers import late

    draw = np.random.default_rng(8)
    count = setting.count(20_000, 20)
    docs = draw.standard_normal((count * 50, 64), np.float32)
    queries = draw.standard_normal((64, 64), np.float32)
    starts, bounds = np.arange(0, len(docs) + 1, 50), np.array([0, 32, 64])
    scores = np.empty((2, count), np.float32)
    with _little_memory(setting, 1 << 27), _sizes(setting, late) as sizes:
        late.maxsim_on_gpu(docs, starts, queries, bounds, setting.device, scores)
    how = VectorComparison("dot", total=True)
    shard = VectorShard.of([(docs, np.diff(starts))])
    exact = how.scores(QueryVectors.of(queries, bounds, how), shard)
    np.testing.assert_allclose(scores, exact, rtol=1e-3, atol=1e-2)
    return _halved(sizes)


def shared(setting: Setting) -> dict[str, Any]:
    """Two processes encode the same texts at once on one GPU; each text is encoded once."""
    texts = setting.texts(setting.count(20_000, 24), seed=14)
    code = (
        "import json, sys; from irtoolkit.models.encoder import Encoder, EncoderSettings;"
        "start, device = sys.argv[1:]; texts = json.load(sys.stdin);"
        "how = EncoderSettings(start, 'dense', 'document', pooling='mean', device=device);"
        "print(Encoder(how).encode(texts).digest())"
    )
    given = json.dumps(texts)
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "IRTOOLKIT_CACHE": cache}
        command = [sys.executable, "-c", code, setting.start, setting.device]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        started = [subprocess.Popen(command, env=environment, **pipes) for _ in range(2)]
        with ThreadPoolExecutor(2) as pool:
            said = list(pool.map(lambda one: one.communicate(given)[0], started))
    assert not any(one.returncode for one in started), "a process failed"
    digests = {each.split()[-1] for each in said}
    assert len(digests) == 1, "the two have other encodings"
    return {"texts": len(texts), "processes": len(started)}


class _Lacking:
    """A model that lacks memory for more than a few texts at once."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def __call__(self, items: Any) -> Any:
        _lack(len(items))
        return self._model(items)


def _lack(count: int) -> None:
    import torch

    if count > _MOST:
        raise torch.OutOfMemoryError(f"{count} items are said to lack memory")


@contextmanager
def _little_memory(setting: Setting, spare: int) -> Iterator[None]:
    """Lets torch take only some bytes more than it has."""
    import torch

    if not setting.gpu:
        yield
        return
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    share = (torch.cuda.memory_reserved() + spare) / total
    torch.cuda.set_per_process_memory_fraction(min(1.0, share))
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
        torch.cuda.empty_cache()


@contextmanager
def _sizes(setting: Setting, module: Any) -> Iterator[list[int]]:
    """How many items a module tries at once, each time."""
    halves = module.in_halves
    sizes: list[int] = []

    def watched(work: Any, first: int, last: int, what: str) -> None:
        def tried(begin: int, end: int) -> None:
            sizes.append(end - begin)
            if not setting.gpu:
                _lack(end - begin)
            work(begin, end)

        halves(tried, first, last, what)

    module.in_halves = watched
    try:
        yield sizes
    finally:
        module.in_halves = halves


def _halved(sizes: list[int]) -> dict[str, Any]:
    assert min(sizes) < sizes[0], "nothing was halved"
    return {"items at once": sizes[0], "halved to": min(sizes), "tries": len(sizes)}


CHECKS = [
    Check("halving: encoding", encoding),
    Check("halving: products", products),
    Check("halving: maxsim", maxsim),
    Check("two processes", shared, 60),
]
