"""Truncation of texts that have more tokens than a model reads.

Tokenizers of transformers cut the end off, or the start. A query with a mask may so lose its mask,
or the context on one side of it: here both sides are cut, and the mask is in the middle of the
rest.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from irtoolkit.base.errors import InputError

CutOff = Literal["end", "start", "sides"]


@dataclass(frozen=True)
class Cut:
    """The way in which texts of one side are truncated.

    Attributes:
        off: what is cut off: the "end" of a text, its "start", or both "sides".
        around: what stays in the middle if both sides are cut, for example a mask token. A text
            without it is cut at its end.
        special: whether the special tokens at both ends count as tokens of the text and are cut off
            with it, as in RELiC's released code. Its "start" leaves the first of them.
    """

    off: CutOff = "end"
    around: str | None = None
    special: bool = False


class Span(NamedTuple):
    """The positions from `begin` to before `end`."""

    begin: int
    end: int


def kept_span(count: int, room: int, off: CutOff, middle: Span | None) -> Span:
    """Returns the tokens of a text that remain.

    Args:
        count: tokens of the text.
        room: the most tokens that may remain; at least 0.
        off: see `Cut`.
        middle: position of `Cut.around` among the tokens; None for a text without it.

    With `room` tokens and the mask at position m those from m - room // 2 on remain, or the first
    or the last `room` of them if this would go beyond the text.
    """
    if count <= room:
        return Span(0, count)
    first = 0
    if off == "start":
        first = count - room
    elif off == "sides" and middle is not None:
        # What is in the middle may be several tokens, all of which stay if they fit.
        first = min(max(middle.begin - room // 2, middle.end - room), middle.begin)
        first = min(max(first, 0), count - room)
    return Span(first, first + room)


def cutting_tokenizer(tokenizer: Any, cut: Cut, prompt: str = "") -> Any:
    """Returns a copy of a tokenizer that truncates long texts in another way.

    Args:
        tokenizer: a fast tokenizer of transformers.
        cut: the way of truncation.
        prompt: put before each text by the caller, and never cut off.

    Raises:
        InputError: the tokenizer does not give the offsets of its tokens in a text.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise InputError(
            "this model's tokenizer does not tell where its tokens are in a text, so that long"
            " texts can only be cut at their end",
            remedy="query_cut=end",
        )
    copied = copy.deepcopy(tokenizer)
    # Saved tokenizers say the name of their class.
    kind = type(tokenizer)
    copied.__class__ = type(kind.__name__, (_Cutting, kind), {"__module__": kind.__module__})
    copied._cut, copied._prompt = cut, prompt
    return copied


class _Cutting:
    """A fast tokenizer with another truncation."""

    _cut: Cut
    _prompt: str

    def __call__(self, text: Any = None, text_pair: Any = None, **options: Any) -> Any:
        plain: Any = super().__call__  # type: ignore[misc]
        truncates = options.get("truncation") not in (None, False, "do_not_truncate")
        if not truncates or text_pair is not None or isinstance(text, str) or not text:
            return plain(text, text_pair, **options)
        padding, limit = options.pop("padding", False), options.pop("max_length", None)
        tensors, places = (
            options.pop("return_tensors", None),
            options.pop("return_offsets_mapping", False),
        )
        limit = self.model_max_length if limit is None else limit  # type: ignore[attr-defined]
        coded = plain(
            list(text),
            **{**options, "truncation": False, "verbose": False},
            return_offsets_mapping=True,
            return_special_tokens_mask=True,
        )
        offsets, special = coded["offset_mapping"], coded.pop("special_tokens_mask")
        if not places:
            del coded["offset_mapping"]
        for row, text_row in enumerate(text):
            if len(special[row]) > limit:
                places = list(self._kept(text_row, offsets[row], special[row], limit))
                for values in coded.values():
                    values[row] = [values[row][i] for i in places]
        return self._padded(coded, padding, limit, tensors)

    def _kept(
        self, text: str, offsets: Sequence[tuple[int, int]], special: Sequence[int], limit: int
    ) -> Iterator[int]:
        """Yields the places of the tokens that stay of a text with too many."""
        count, cut = len(special), self._cut
        head = next((i for i in range(count) if not special[i]), count)
        tail = next((i for i in range(count - head) if not special[count - 1 - i]), 0)
        inside = range(head, count - tail)
        begin, end = _find(text, cut.around, len(self._prompt))
        overlapping = [i for i in inside if offsets[i][0] < end and offsets[i][1] > begin]
        if cut.special:
            head, tail = int(cut.off == "start"), 0
        else:
            head += sum(offsets[i][1] <= len(self._prompt.rstrip()) for i in inside)
        middle = Span(overlapping[0] - head, overlapping[-1] + 1 - head) if overlapping else None
        span = kept_span(count - head - tail, max(0, limit - head - tail), cut.off, middle)
        yield from range(head)
        yield from range(head + span.begin, head + span.end)
        yield from range(count - tail, count)

    def _padded(self, coded: Any, padding: Any, limit: int, tensors: str | None) -> Any:
        """Returns rows of one length, as the tokenizer's own call does."""
        width = limit if padding == "max_length" else None
        return self.pad(coded, padding=padding, max_length=width, return_tensors=tensors)  # type: ignore[attr-defined]


def _find(text: str, around: str | None, start: int) -> Span:
    """Returns the characters of the first `around` in a text; an empty span without one."""
    begin = -1 if around is None else text.find(around, start)
    return Span(0, 0) if begin < 0 or around is None else Span(begin, begin + len(around))


def with_tokenizer(module: Any, reader: Any, tokenizer: Any) -> Any:
    """Returns a torch module that shares everything with another except the tokenizer of one part.

    Args:
        module: the module, which is not changed.
        reader: the part, a Transformer of sentence-transformers.
        tokenizer: its new tokenizer.
    """
    if module is reader:
        copied = copy.copy(module)
        copied.processor = tokenizer
        return copied
    parts = {
        name: with_tokenizer(part, reader, tokenizer) for name, part in module._modules.items()
    }
    if all(parts[name] is part for name, part in module._modules.items()):
        return module
    copied = copy.copy(module)
    copied._modules = parts
    return copied
