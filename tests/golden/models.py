"""Tiny models of random weights, one of each kind, the same on every machine of one kind."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from irtoolkit.datasets.dataset import Dataset
from tests import tiny
from tests.golden.cases import SAMPLES

LONGEST = 128


@cache
def _texts() -> tuple[str, ...]:
    return tuple(doc.default_text() for name in SAMPLES for doc in Dataset.load(name).docs_iter())


@cache
def model(kind: str, folder: Path) -> str:
    """The folder of the tiny model of a kind: dense, late, sparse, cross, writer or weigher."""
    place = folder / kind
    if kind == "late":
        return str(tiny.save_colbert(place))
    if kind == "writer":
        return str(tiny.save_t5(place))
    classes = {
        "dense": ("BertModel", {}),
        "sparse": ("BertForMaskedLM", {}),
        "cross": ("BertForSequenceClassification", {"num_labels": 1}),
        "weigher": ("BertForTokenClassification", {"num_labels": 1}),
    }
    name, settings = classes[kind]
    return str(tiny.save(place, name, _texts(), longest=LONGEST, **settings))
