"""Vectors of documents on a GPU, in single and in half precision, in blocks where they do not fit."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from irtoolkit.models.outputs import on_device
from irtoolkit.retrievers.vectors import Vectors
from irtoolkit.runs.top_k import TieOrder

# The share of free memory that documents may take.
_SHARE = 0.75
# Rows that are brought to half precision at once.
_ROWS = 1 << 17
# Pairs computed at once where single precision is in the computer's memory.
_PAIRS = 1 << 16
# Dimensions that a kernel multiplies at once.
_DEEP = 64


class GpuQueries(NamedTuple):
    """Queries on the GPU.

    Attributes:
        full: (q, dimensions) in single precision.
        half: (q, dimensions) in half precision, scaled.
        scales: (q,) what a score is multiplied by to be a product of halves.
        wrong: (q,) how far off such a product can be before it is rounded to fp16.
    """

    full: Any
    half: Any
    scales: Any
    wrong: Any

    def off(self, values: Any, rows: Any) -> Any:
        """(n,) how far off a product near some value can be, which is rounded twice."""
        return self.wrong[rows] + (values.abs() + self.wrong[rows]) * 2**-10 + 2**-23


class GpuVectors:
    """Vectors of documents that are compared by their dot products.

    With d the scaled vector of a document and d' the same in half precision, q and q' those of a
    query: |q'd' - qd| <= |q - q'| |d| + |q'| |d - d'|, and adding n products in single precision adds
    at most 2n units of 2^-23 of |q'||d'|, even where a tensor core cuts instead of rounding.

    Args:
        docs: (n, dimensions).
        device: a torch device.
        room: bytes that they may take there; by default three quarters of what is free.
    """

    def __init__(self, docs: Vectors, device: str, room: int | None = None) -> None:
        import torch

        self.device = torch.device(device)
        single = torch.from_numpy(np.ascontiguousarray(docs, np.float32))
        if room is None:
            room = free_bytes(self.device)
        width = -(-docs.shape[1] // _DEEP) * _DEEP
        bytes_of_half = 2 * len(docs) * width
        on_gpu = self.device.type != "cpu"
        self._full = single.to(self.device) if 3 * bytes_of_half <= room else single
        # Kernels read what they need of the computer's memory themselves, where they can.
        self._read = self._full.device.type == self.device.type or (
            docs.flags.writeable and _lent(self._full, self.device)
        )
        self._streams = on_gpu and bytes_of_half > room
        where = "cpu" if self._streams else self.device
        self._half = torch.zeros(
            (len(docs), width), dtype=torch.float16, device=where, pin_memory=self._streams
        )
        self._scale, self._norm, self._error = self._halve()
        self._some: Any = None
        self._tied: tuple[TieOrder, tuple[Any, Any]] | None = None

    def __len__(self) -> int:
        return len(self._full)

    def _halve(self) -> tuple[float, float, float]:
        """Fills in half precision; gives the scale, the greatest length, the greatest error."""
        norm = max((float(rows.norm(dim=1).max()) for _, rows in self._doubles()), default=0.0)
        scale = _power(norm)
        error = 0.0
        for first, rows in self._doubles():
            scaled = rows * scale
            half = scaled.half()
            error = max(error, float((half.double() - scaled).norm(dim=1).max()))
            self._half[first : first + len(rows), : rows.shape[1]] = half
        return scale, norm * scale, error * (1 + 1e-6)

    def _doubles(self) -> Iterator[tuple[int, Any]]:
        for first in range(0, len(self._full), _ROWS):
            yield first, self._full[first : first + _ROWS].to(self.device).double()

    def ask(self, queries: Vectors) -> GpuQueries:
        """Queries that are to be compared."""
        import torch

        full = on_device(np.ascontiguousarray(queries, np.float32), self.device)
        double = full.double()
        norms = double.norm(dim=1)
        # Powers of two: nothing is rounded.
        scales = torch.exp2(-torch.ceil(torch.log2(torch.where(norms > 0, norms, 1))))
        scaled = double * scales[:, None]
        half = torch.zeros(
            (len(full), self._half.shape[1]), dtype=torch.float16, device=self.device
        )
        half[:, : full.shape[1]] = scaled.half()
        lengths = half.double().norm(dim=1)
        error = (half[:, : full.shape[1]].double() - scaled).norm(dim=1)
        added = full.shape[1] * 2.0**-22 * lengths * (self._norm + self._error)
        wrong = (error * self._norm + lengths * self._error + added) * (1 + 1e-6)
        scales = scales * self._scale
        # A score so small that it has few digits is rounded by up to half the least of them.
        wrong = wrong + scales * 2.0**-149
        return GpuQueries(full, half, scales, wrong.float() * (1 + 2**-20))

    def sample(self, count: int) -> Any:
        """(n, dimensions) halves of some documents from everywhere."""
        if self._some is None:
            step = max(1, len(self) // count)
            self._some = self._half[::step][:count].to(self.device).contiguous()
        return self._some

    def blocks(self, rows: int) -> Iterator[tuple[int, Any]]:
        """Documents in half precision, and the first of them; so many at a time where they are streamed."""
        if self._streams:
            yield from self._streamed(rows)
            return
        yield 0, self._half

    def _streamed(self, rows: int) -> Iterator[tuple[int, Any]]:
        """While one of two buffers is used, the other is filled."""
        import torch

        make: Any = torch.cuda.Stream
        side, current = make(self.device), torch.cuda.current_stream(self.device)
        shape = (min(rows, len(self)), self._half.shape[1])
        buffers = [torch.empty(shape, dtype=torch.float16, device=self.device) for _ in range(2)]
        side.wait_stream(current)
        filled: list[Any] = []
        used: list[Any] = []
        starts = list(range(0, len(self), rows))

        def fill(number: int) -> None:
            block = self._half[starts[number] : starts[number] + rows]
            with torch.cuda.stream(side):
                if number > 1:
                    side.wait_event(used[number - 2])
                buffers[number % 2][: len(block)].copy_(block, non_blocking=True)
                filled.append(side.record_event())

        for number, first in enumerate(starts):
            if number == 0:
                fill(0)
            if number + 1 < len(starts):
                fill(number + 1)
            current.wait_event(filled[number])
            yield first, buffers[number % 2][: min(rows, len(self) - first)]
            used.append(current.record_event())

    def exact(self, queries: GpuQueries, rows: Any, places: Any) -> Any:
        """(n,) scores of pairs in single precision, computed in double precision."""
        import torch

        if self._read:
            return kernels(self.device.type).exact(queries.full, self._full, rows, places)
        parts = [torch.empty(0, device=self.device)]
        for first in range(0, len(rows), _PAIRS):
            block = self._full[places[first : first + _PAIRS].long().cpu()].to(self.device)
            block_rows = torch.arange(len(block), device=self.device)
            parts.append(
                kernels(self.device.type).exact(
                    queries.full, block, rows[first : first + _PAIRS], block_rows
                )
            )
        return torch.cat(parts)

    def empty(self, shape: tuple[int, int], kind: Any) -> Any:
        """An array in memory that the GPU writes to fastest."""
        import torch

        array = torch.from_numpy(np.empty((0,), kind)).new_empty(
            shape, pin_memory=self.device.type != "cpu"
        )
        return array.numpy()

    def wait(self) -> None:
        """Waits until all that was begun is done, and copied."""
        import torch

        if self.device.type != "cpu":
            torch.cuda.current_stream(self.device).synchronize()

    def tied(self, order: TieOrder) -> tuple[Any, Any]:
        """(c,) how late each document comes among ties, counted from the end, and (c,) their order."""
        import torch

        if self._tied is None or self._tied[0] is not order:
            low = (len(self) - 1 - order.places.astype(np.int64)).astype(np.int32)
            second = np.ascontiguousarray(order.sequence, np.int32)
            tensors = [torch.from_numpy(array).to(self.device) for array in (low, second)]
            self._tied = order, (tensors[0], tensors[1])
        return self._tied[1]


# Addresses of the computer's memory that GPUs may read, and how many have asked for each.
_LENT: Counter[int] = Counter()


def _lent(vectors: Any, device: Any) -> bool:
    """Lets a GPU's kernels read vectors in the computer's memory; says whether they may."""
    import torch

    if device.type != "cuda" or find_spec("triton") is None or not vectors.numel():
        return False
    cuda: Any = torch.cuda
    driver = cuda.cudart()
    address = vectors.data_ptr()
    if not _LENT[address]:
        with torch.cuda.device(device):
            if int(driver.cudaHostRegister(address, vectors.nbytes, 0)) != 0:
                with suppress(RuntimeError):  # CUDA reports an error once, at the next call
                    torch.zeros(1, device=device)
                return False
    _LENT[address] += 1
    weakref.finalize(vectors, _taken_back, driver, address)
    return True


def _taken_back(driver: Any, address: int) -> None:
    _LENT[address] -= 1
    if not _LENT[address]:
        driver.cudaHostUnregister(address)


def _power(length: float) -> float:
    """The power of two that brings a length to at most 1."""
    return float(2.0 ** -np.ceil(np.log2(length))) if length > 0 else 1.0


def free_bytes(device: Any) -> int:
    """Bytes of a GPU that may be taken; of a CPU any number."""
    import torch

    if device.type == "cpu":
        return 1 << 62
    torch.cuda.empty_cache()
    return int(_SHARE * torch.cuda.mem_get_info(device)[0])


@cache
def kernels(device: str) -> Any:
    """The module of the kernels for a type of device: Triton's on a GPU, else plain torch."""
    if device == "cuda" and find_spec("triton") is not None:
        return import_module("irtoolkit.retrievers._gpu_kernels")
    return import_module("irtoolkit.retrievers._gpu_plain")
