"""The layers of an encoder as a few CUDA graphs: begun at once, where a CPU begins a hundred kernels.

A graph is of one shape. Batches come in a few: their tokens are filled up with texts that nobody
reads, and numbers of texts and tokens are rounded up. What has been seen often enough is captured.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from irtoolkit.models import packed_layer
from irtoolkit.models.packed_layer import Shape, Weights

# Batches of a shape after which it is captured: in training, which goes on, and else.
_OFTEN = {True: 2, False: 16}
# Graphs of one encoder, at most, and the share of free memory that one may take.
_MOST, _SHARE = 8, 0.4
# Fewer tokens are computed one kernel after another.
_FEWEST = 1 << 10
# Numbers are rounded up to an eighth of the power of two that is next.
_EIGHTH = 3
# Arrays as long as all tokens that are held of a layer in training, and in all of a layer else.
_HELD, _PASSING = 20, 12


class Form(NamedTuple):
    """The shape of a graph.

    Attributes:
        tokens, texts, longest: how many tokens and texts, and tokens of the longest, at most.
        training: whether it has a way back, and dropout.
    """

    tokens: int
    texts: int
    longest: int
    training: bool


class Settings(NamedTuple):
    """What all layers have in common.

    Attributes:
        heads: of attention.
        dropped: shares that dropout takes of attention and of what is added.
    """

    heads: int
    dropped: tuple[float, float]


def form_of(starts: Any, longest: int, training: bool) -> Form:
    """The shape of a graph that takes texts which begin at these numbers."""
    tokens, texts = int(starts[-1]), len(starts) - 1
    most = _rounded(tokens)
    long = max(64, 1 << (longest - 1).bit_length())
    # As many texts as may be needed to fill up.
    return Form(most, _rounded(texts + -(-(most >> _EIGHTH) // long) + 1), long, training)


def _rounded(number: int) -> int:
    step = max(1, (1 << (number - 1).bit_length()) >> (_EIGHTH + 1))
    return -(-number // step) * step


def filled(starts: Any, form: Form) -> Any:
    """(texts+1,) where texts begin, and behind them texts that fill up a graph."""
    more = np.arange(int(starts[-1]), form.tokens, form.longest)[1:]
    made = np.full(form.texts + 1, form.tokens, np.int32)
    made[: len(starts)] = starts
    made[len(starts) : len(starts) + len(more)] = more
    return made


class Graph:
    """The layers of an encoder for batches of one shape."""

    def __init__(self, weights: Any, form: Form, settings: Settings) -> None:
        self.form, self._settings = form, settings
        self._weights = weights
        layers: list[Weights] = weights.made()
        like = layers[0].qkv
        width, device = like.shape[1], like.device
        self.x = torch.zeros((form.tokens, width), dtype=like.dtype, device=device)
        self.starts = torch.zeros(form.texts + 1, dtype=torch.int32, device=device)
        self.starts.copy_(torch.from_numpy(filled(np.zeros(1, np.int32), form)))
        self.seeds = torch.zeros(2 * len(layers), dtype=torch.int32, device=device)
        self.grad = torch.zeros((form.tokens if form.training else 0, width), device=device)
        self._owner: Any = lambda: None
        self._capture(layers)

    def _shapes(self, count: int) -> Iterator[Shape]:
        for number in range(count):
            yield Shape(
                self.starts, self.form.longest, self._settings.heads, self._settings.dropped,
                self.seeds, number, last=number == count - 1,
            )  # fmt: skip

    def _capture(self, layers: list[Weights]) -> None:
        state = torch.cuda.get_rng_state(self.x.device)
        side: Any = torch.cuda.Stream(self.x.device)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream(self.x.device))
        with torch.cuda.stream(side):
            self._back(layers, self._there(layers)) if self.form.training else self._there(layers)
        torch.cuda.current_stream(self.x.device).wait_stream(side)
        self.there, self.back = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        mode = "thread_local"
        with torch.cuda.graph(self.there, capture_error_mode=mode):
            if self.form.training:
                self._weights.copy()
            self.out, kept = self._there(layers)
        if self.form.training:
            with (
                torch.no_grad(),
                torch.cuda.graph(self.back, self.there.pool(), capture_error_mode=mode),
            ):
                self.dx, self.found = self._back(layers, (self.out, kept))
        torch.cuda.set_rng_state(state, self.x.device)

    def _there(self, layers: list[Weights]) -> tuple[Any, list[Any]]:
        x, kept = self.x, []
        for own, shape in zip(layers, self._shapes(len(layers)), strict=True):
            x, held = packed_layer.forwards(x, own, shape, keep=self.form.training)
            kept.append((own, shape, held))
        return x, kept

    def _back(self, layers: list[Weights], there: tuple[Any, list[Any]]) -> tuple[Any, list[Any]]:
        grad: Any = self.grad
        found: list[list[Any]] = []
        for own, shape, held in reversed(there[1]):
            grad, one = packed_layer.backwards(grad, own, shape, held)
            found.append(one)
        return grad, [each for one in reversed(found) for each in one]

    # -- batches --------------------------------------------------------------------------------

    @property
    def free(self) -> bool:
        """Whether no batch is on its way back."""
        return self._owner() is None

    def run(self, tokens: Any, starts: Any, seeds: Any) -> Any:
        """(t, width) of tokens behind the layers; gone with the next batch.

        Args:
            tokens: (t, width).
            starts: (n+1,) where texts begin, on the CPU.
            seeds: of dropout.
        """
        count = len(tokens)
        self.x[:count].copy_(tokens)
        host = torch.from_numpy(filled(starts, self.form)).pin_memory()
        self.starts.copy_(host, non_blocking=True)
        if self.form.training:
            self.seeds.copy_(seeds)
        self.there.replay()
        return self.out[:count]

    def run_back(self, grad: Any, parameters: list[Any]) -> Any:
        """(t, width) gradients of tokens; those of weights are added to their own."""
        count = len(grad)
        self.grad[:count].copy_(grad)
        self.grad[count:].zero_()
        wanted = [(p, g) for p, g in zip(parameters, self.found, strict=True) if p.requires_grad]
        for each, own in wanted:
            if each.grad is not None and each.grad.data_ptr() == own.data_ptr():
                each.grad = own.clone()
        self.back.replay()
        summed = [(p.grad, g) for p, g in wanted if p.grad is not None]
        if summed:
            torch._foreach_add_([held for held, _ in summed], [own for _, own in summed])
        for each, own in wanted:
            if each.grad is None:
                each.grad = own
        return self.dx[:count].clone()


class _Ticket:
    """Whoever holds it has a batch on its way back."""


class Replayed(torch.autograd.Function):
    """The layers of an encoder as one node of torch's graph, which sets the gradients of weights itself."""

    @staticmethod
    def forward(
        ctx: Any, tokens: Any, graph: Graph, starts: Any, seeds: Any, parameters: list[Any],
        some: Any,
    ) -> Any:  # fmt: skip
        ctx.graph, ctx.parameters, ctx.ticket = graph, parameters, _Ticket()
        graph._owner = weakref.ref(ctx.ticket)
        return graph.run(tokens, starts, seeds).clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        found = ctx.graph.run_back(grad, ctx.parameters)
        ctx.ticket = None
        return found, None, None, None, None, None


class Graphs:
    """The graphs of one encoder.

    Args:
        weights: gives its layers' weights, see `irtoolkit.models.packed.LayerWeights`.
        parameters: of all layers, in order.
    """

    def __init__(self, weights: Any, parameters: list[Any]) -> None:
        self._weights, self._parameters = weights, parameters
        self._seen: Counter[Form] = Counter()
        self._made: list[Graph] = []
        self._turn = 0
        self.lock = threading.RLock()

    def __deepcopy__(self, memo: dict[int, Any]) -> None:
        return None

    def find(self, starts: Any, longest: int, training: bool, settings: Settings) -> Graph | None:
        """A graph for a batch, which may be captured for it; None where kernels are better begun one by one."""
        if starts[-1] < _FEWEST:
            return None
        form = form_of(starts, longest, training)
        if self._turn != self._weights.turn:  # graphs know where weights were
            self._made, self._turn = [], self._weights.turn
        self._seen[form] += 1
        for graph in self._made:
            if graph.form == form and graph.free:
                return graph
        if self._seen[form] <= _OFTEN[training] or len(self._made) >= _MOST or not self._fits(form):
            return None
        with torch.inference_mode(False), torch.no_grad():
            self._made.append(Graph(self._weights, form, settings))
        return self._made[-1]

    def _fits(self, form: Form) -> bool:
        layers = self._weights.made()
        width, device = layers[0].qkv.shape[1], layers[0].qkv.device
        arrays = _HELD * len(layers) if form.training else _PASSING
        needed = 2 * form.tokens * width * arrays
        free = torch.cuda.mem_get_info(device)[0]
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return bool(needed <= _SHARE * (free + unused))

    def replayed(self, graph: Graph, tokens: Any, starts: Any, seeds: Any) -> Any:
        """(t, width) of tokens behind the layers, as a node of torch's graph."""
        apply: Any = Replayed
        return apply.apply(tokens, graph, starts, seeds, self._parameters, self._parameters[0])
