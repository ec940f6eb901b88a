"""The published forms of BM25 as functions of arrays; no import here is slow."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from irtoolkit.base.ids import Floats, Ints
from irtoolkit.indexes.formula import Weighting

Lengths = Literal["exact", "lucene"]
# Lucene keeps lengths up to this as they are, and of what exceeds it so many binary digits.
_LUCENE_EXACT, _LUCENE_DIGITS = 24, 4


class BM25Form(NamedTuple):
    """One published form of BM25.

    Attributes:
        idf: (number of documents N, (terms,) document frequencies n ≥ 1, epsilon) to (terms,)
            weights.
        weight: (term frequencies, normalised lengths 1 - b + b·dl/avgdl, k1, delta) to the weight
            of each occurring term.
        absent: (k1, delta) to the weight that a term has in a document without it.
        k1, b, delta: defaults.
    """

    idf: Callable[[int, Floats, float], Floats]
    weight: Callable[[Floats, Floats, float, float], Floats]
    absent: Callable[[float, float], float] = lambda k1, delta: 0.0
    k1: float = 1.5
    b: float = 0.75
    delta: float = 0.0


def stored_lengths(lengths: Ints, form: Lengths) -> Ints:
    """Returns document lengths as an index stores them.

    Args:
        lengths: (n,) numbers of terms.
        form: "exact"; or "lucene", which stores one byte (`SmallFloat.intToByte4`): the four
            leading binary digits of what exceeds 24.
    """
    if form == "exact":
        return lengths
    excess = np.maximum(lengths - _LUCENE_EXACT, 0)
    dropped = np.maximum(np.frexp(excess.astype(np.float64))[1] - _LUCENE_DIGITS, 0)
    stored: Ints = np.minimum(lengths, _LUCENE_EXACT) + (excess >> dropped << dropped)
    return stored


def _okapi_idf(size: int, frequencies: Floats, epsilon: float) -> Floats:
    idf = np.log(size - frequencies + 0.5) - np.log(frequencies + 0.5)
    # Rounded once, whatever the order of the terms: that depends on what was counted before.
    idf[idf < 0] = epsilon * (math.fsum(idf) / len(idf) if len(idf) else 0.0)
    return idf


def _saturated(tf: Floats, norm: Floats, k1: float, delta: float) -> Floats:
    return tf * (k1 + 1) / (tf + k1 * norm)


def _shifted(tf: Floats, norm: Floats, k1: float, delta: float) -> Floats:
    shifted = tf / norm + delta
    return (k1 + 1) * shifted / (k1 + shifted)


FORMS = {
    "okapi": BM25Form(_okapi_idf, _saturated),
    "lucene": BM25Form(
        lambda size, found, _: np.log1p((size - found + 0.5) / (found + 0.5)),
        lambda tf, norm, k1, _: tf / (tf + k1 * norm),
        k1=0.9,
        b=0.4,
    ),
    "atire": BM25Form(lambda size, found, _: np.log(size / found), _saturated),
    "bm25l": BM25Form(
        lambda size, found, _: np.log(size + 1) - np.log(found + 0.5),
        _shifted,
        lambda k1, delta: (k1 + 1) * delta / (k1 + delta),
        delta=0.5,
    ),
    "rank-bm25l": BM25Form(
        lambda size, found, _: np.log(size + 1) - np.log(found + 0.5),
        lambda tf, norm, k1, delta: tf * _shifted(tf, norm, k1, delta),
        delta=0.5,
    ),
    "bm25+": BM25Form(
        lambda size, found, _: np.log(size + 1) - np.log(found),
        lambda tf, norm, k1, delta: delta + _saturated(tf, norm, k1, delta),
        lambda _, delta: delta,
        delta=1.0,
    ),
}


@dataclass(frozen=True)
class BM25Weighting(Weighting):
    """A form of BM25 as a weight of each term and one of each count in a document of some length.

    Attributes:
        form, k1, b, delta, epsilon, lengths: see `irtoolkit.retrievers.lexical.BM25`.
    """

    form: str
    k1: float
    b: float
    delta: float
    epsilon: float
    lengths: Lengths = "exact"

    def __post_init__(self) -> None:
        texts, numbers = (self.form, self.lengths), (self.k1, self.b, self.delta, self.epsilon)
        if self.form not in FORMS or self.lengths not in get_args(Lengths):
            raise ValueError(f"no form {texts}")
        if not all(isinstance(number, int | float) for number in numbers):
            raise TypeError(f"{numbers} are no numbers")

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> BM25Weighting:
        """Returns the weighting of a retriever's settings; those of old indexes lack `lengths`.

        Raises:
            TypeError, ValueError: a setting is missing, or has no such value.
        """
        names = (item.name for item in fields(cls))
        return cls(**{name: settings[name] for name in names if name in settings})

    @property
    def counts_empty(self) -> bool:
        # In Lucene they do not.
        return self.lengths == "exact"

    @property
    def absent(self) -> float:
        return FORMS[self.form].absent(self.k1, self.delta)

    @property
    def reads_all_terms(self) -> bool:
        # A negative idf becomes a share of the mean over all terms.
        return self.form == "okapi"

    def idf(self, size: int, found: Ints, all_found: Callable[[], Ints]) -> Floats:
        idf = FORMS[self.form].idf
        values = idf(size, found.astype(float), self.epsilon)
        if self.form == "okapi" and (found > size / 2).any():
            frequencies = all_found()
            all_values = idf(size, frequencies.astype(float), self.epsilon)
            by_frequency = dict(zip(frequencies.tolist(), all_values.tolist(), strict=True))
            values = np.array([by_frequency[count] for count in found.tolist()])
        return values

    def weights(self, counts: Ints, lengths: Ints, average: float) -> Floats:
        stored = stored_lengths(lengths, self.lengths)
        norm = 1 - self.b + self.b * stored / (average or 1.0)
        weights = FORMS[self.form].weight(
            counts.astype(np.float64), np.asarray(norm, np.float64), self.k1, self.delta
        )
        return np.maximum(0.0, weights - self.absent)
