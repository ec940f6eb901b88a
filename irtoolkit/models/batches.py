"""Applying a model to many items: batches of like length, as much at once as memory bears."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np

from irtoolkit.base import threads
from irtoolkit.base.cores import cores
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.base.plurals import number_of
from irtoolkit.models.adapters import Adapter, Item
from irtoolkit.models.outputs import mark
from irtoolkit.models.parts import Parts
from irtoolkit.models.reading import Tokens
from irtoolkit.models.shards import Output

# Tokens at once, padding included. On a CPU what fits its cache is fastest; a GPU wants to be full.
TOKENS_ON_CPU, TOKENS_ON_GPU = 1 << 10, 1 << 17
_MOST_ITEMS = 1 << 12
# Batches of a chunk that a GPU has before it, beside the one that it computes.
_AHEAD = 2


class Batches:
    """Applies one model; remembers how much its device has borne."""

    def __init__(self, model: Adapter, tokens: int | None = None) -> None:
        """`tokens` is how many are taken at once, padding included; by default by the device."""
        if tokens is not None and tokens < 1:
            raise InputError(f"setting batch_tokens={tokens} is not at least 1")
        self._model = model
        self._on_cpu = model.device == "cpu"
        if not self._on_cpu:
            _leave_out_cudnn()
        self.tokens = tokens or (TOKENS_ON_CPU if self._on_cpu else TOKENS_ON_GPU)
        # Called before each batch: it may wait, or raise to stop.
        self.before: Callable[[], object] = lambda: None

    def __call__(
        self,
        items: Sequence[Item | Tokens],
        lengths: Ints,
        done: Callable[[int], object],
        parts: Parts | None = None,
    ) -> list[Output]:
        """Returns the model's output for each item.

        The batches depend on the items alone, and so do the outputs, to the last bit, on a CPU.

        Args:
            items: texts or pairs.
            lengths: (n,) tokens of each, uncut.
            done: called with the number of items whenever more are done.
            parts: stores batches until all are done, for resumption.

        Raises:
            InputError: a single item exceeds the device's memory.
        """
        cut = lengths if self._model.limit is None else np.minimum(lengths, self._model.limit)
        outputs: list[Output | None] = [None] * len(items) if parts is None else parts.read()

        def begin(batch: Ints) -> Callable[[], None]:
            """Computes a batch; returns a function that waits for it and takes it in."""
            if all(outputs[at] is not None for at in batch):
                return lambda: self._done(batch, None, done, parts)
            self.before()
            encoded = self._bear([items[i] for i in batch], max(1, int(cut[batch].max())))
            for at, output in zip(batch, encoded, strict=True):
                outputs[at] = output
            wait = mark(self._model.device)

            def take_in() -> None:
                wait()
                self._done(batch, encoded, done, parts)

            return take_in

        self._do(begin, self._split(cut))
        return [output for output in outputs if output is not None]

    def _do(self, begin: Callable[[Ints], Callable[[], None]], batches: Iterable[Ints]) -> None:
        """Does all batches; `begin` begins one, and returns what ends it."""
        if self._on_cpu:
            # Batches side by side, each on one core, are faster than all cores on one batch.
            with _pool() as pool:
                for _ in pool.map(lambda batch: begin(batch)(), batches):
                    pass
            return
        # While a GPU computes one batch, the next is made ready.
        waiting: deque[Callable[[], None]] = deque()
        for batch in batches:
            waiting.append(begin(batch))
            if len(waiting) > _AHEAD:
                waiting.popleft()()
        for end in waiting:
            end()

    def _done(
        self,
        batch: Ints,
        encoded: list[Output] | None,
        done: Callable[[int], object],
        parts: Parts | None,
    ) -> None:
        if parts is not None and encoded is not None:
            parts.add(batch, encoded)
        done(len(batch))

    def _split(self, lengths: Ints) -> Iterator[Ints]:
        """Yields batches of indices, the longest items first: what does not fit shows at once."""
        order = np.argsort(-lengths, kind="stable")
        start = 0
        while start < len(order):
            longest = max(1, int(lengths[order[start]]))
            size = min(_MOST_ITEMS, max(1, self.tokens // longest))
            yield order[start : start + size]
            start += size

    def _bear(self, items: Sequence[Item | Tokens], longest: int) -> list[Output]:
        """Applies the model to a batch, or to its halves if memory is too small."""
        outputs: list[Output] = []

        def refused(item: int) -> InputError:
            return InputError(
                f"one text of {_size(items[item])} does not fit into the memory"
                f" of {self._model.device}",
                remedy="set query_length or doc_length lower, or device=cpu",
            )

        def halved(size: int) -> None:
            self.tokens = min(self.tokens, size * longest)

        in_halves(
            lambda first, last: outputs.extend(self._model(items[first:last])),
            0,
            len(items),
            refused,
            halved,
        )
        return outputs


def _size(item: Item | Tokens) -> str:
    """Returns the length of an item in words, for messages."""
    if isinstance(item, Tokens):
        return number_of(len(item.ids), "tokens")
    return number_of(len(str(item)), "characters")


def _leave_out_cudnn() -> None:
    """Lets torch take other attention than cuDNN's.

    That plans for every new shape of a batch, which takes longer than the batch.
    """
    import torch

    torch.backends.cuda.enable_cudnn_sdp(False)


class _Pools:
    """The number of open pools, and torch's number of threads before the first of them."""

    lock = threading.Lock()
    count = threads = 0


@contextmanager
def _pool() -> Iterator[ThreadPoolExecutor]:
    """As many workers as torch has threads, with one thread each.

    Encodings do not wait for each other: a query is not to wait for a book.
    """
    import torch

    with _Pools.lock:
        if not _Pools.count:
            _Pools.threads = torch.get_num_threads()
        _Pools.count += 1
        workers = max(1, min(_Pools.threads, cores()))
    try:
        # A worker's number of threads is also that of threads that begin later, until it is set again.
        with threads.pool(workers, torch.set_num_threads, 1) as pool:
            yield pool
    finally:
        with _Pools.lock:
            _Pools.count -= 1
            torch.set_num_threads(_Pools.threads)


def in_halves(
    work: Callable[[int, int], object],
    first: int,
    last: int,
    what: str | Callable[[int], InputError],
    halved: Callable[[int], object] = lambda size: None,
) -> None:
    """Does the work of the items from `first` to before `last`; in halves if memory is too small.

    Args:
        work: does some of the items, given the first and the one past the last.
        first, last: the items.
        what: their name for messages; or a function that makes the error for one that does not fit.
        halved: called with the number of items of a half before it is tried.

    Raises:
        InputError: memory is too small for one item.
    """
    import torch

    try:
        work(first, last)
        return
    except torch.OutOfMemoryError:
        if last - first <= 1:
            raise (_lacking(what) if isinstance(what, str) else what(first)) from None
    # Outside the handler, which holds on to what the work had in memory.
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    middle = (first + last) // 2
    halved(middle - first)
    in_halves(work, first, middle, what, halved)
    in_halves(work, middle, last, what, halved)


def _lacking(what: str) -> InputError:
    return InputError(
        f"the GPU's memory does not suffice for one of {what}", remedy="set device=cpu"
    )
