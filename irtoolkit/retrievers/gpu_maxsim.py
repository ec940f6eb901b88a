"""MaxSim on a GPU: the documents' token vectors stay there in half precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Ints, Singles
from irtoolkit.models.halving import in_halves
from irtoolkit.retrievers.gpu_vectors import free_bytes, kernels

# Products that plain torch makes at once.
_CELLS = 1 << 28
# Tokens of a query that the fused kernel takes.
_LONGEST = 256


class GpuTokens:
    """The token vectors of some documents on a GPU, without padding.

    Args:
        vectors: (t, dimensions) of all documents end to end.
        starts: (n+1,) where each document's begin.
        device: a torch device.
    """

    def __init__(self, vectors: NDArray[np.floating[Any]], starts: Ints, device: str) -> None:
        import torch

        self._device = torch.device(device)
        self._vectors = _half(vectors, self._device)
        self._starts = torch.from_numpy(np.ascontiguousarray(starts, np.int64)).to(self._device)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def maxsim(self, queries: Singles, starts: Ints) -> Singles:
        """(q, n) scores of queries given by their token vectors, which are brought to half precision."""
        import torch

        vectors = _half(queries, self._device)
        counts = torch.from_numpy(np.diff(starts)).to(self._device)
        longest = max(16, 1 << (int(np.diff(starts).max()) - 1).bit_length())
        padded = vectors.new_zeros((len(counts), longest, vectors.shape[1]))
        padded[torch.arange(longest, device=self._device) < counts[:, None]] = vectors
        # Memory that the GPU writes to fastest.
        scores = torch.empty((len(counts), len(self)), pin_memory=self._device.type == "cuda")
        fused = kernels(self._device.type if longest <= _LONGEST else "cpu")

        def part(first: int, last: int) -> None:
            similarities = fused.maxsim(
                self._vectors, self._starts, padded[first:last], counts[first:last]
            )
            scores[first:last].copy_(similarities)

        # Plain torch holds all products; the kernel holds none.
        whole = fused.__name__.endswith("kernels")
        step = len(counts) if whole else max(1, _CELLS // (longest * max(1, len(self._vectors))))
        for first in range(0, len(counts), step):
            in_halves(part, first, min(len(counts), first + step), "the queries of MaxSim")
        return np.asarray(scores.numpy())


def fits(tokens: int, width: int, device: str) -> bool:
    """Whether there is memory for so many more token vectors, and as much again for work."""
    import torch

    return 4 * tokens * _padded(width) <= free_bytes(torch.device(device))


def _half(vectors: NDArray[np.floating[Any]], device: Any) -> Any:
    """(t, width) in half precision on a device, filled with zeros to a width that kernels take."""
    import torch

    tensor = torch.from_numpy(np.ascontiguousarray(vectors)).to(device).half()
    return torch.nn.functional.pad(tensor, (0, _padded(vectors.shape[1]) - vectors.shape[1]))


def _padded(width: int) -> int:
    """A width of at least so many dimensions: a power of two, or a multiple of 128."""
    return max(16, 1 << (width - 1).bit_length()) if width <= 128 else -(-width // 128) * 128
