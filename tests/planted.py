"""A task that can only be learned: topics whose words in queries are never those in documents."""

from __future__ import annotations

import gzip
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from ir_datasets.formats import GenericDoc

from irtoolkit.datasets.handlers import DocsHandler
from irtoolkit.training.recipes import Recipe, Stage
from tests import tiny
from tests.datasets import Grades, Queries, register_parts

TOPICS, WORDS, ASKED = 24, 3, 8
NOISE = [f"n{i}" for i in range(6)]
# Chance, and somewhat more.
CHANCE = 0.3
_NUMBERS = count()


def vocabulary() -> list[str]:
    """Every word of the task."""
    return [
        *NOISE,
        *(f"{side}{t}x{w}" for t in range(TOPICS) for w in range(WORDS) for side in "qd"),
    ]


def task(topics: int = TOPICS, asked: int = ASKED, seed: int = 0) -> tuple[str, str]:
    """Registers the task: ids of its training and test queries, over the same documents.

    A query has two of its topic's three query words and a word of noise; a document has all of its
    topic's document words and two of noise. Chance is one in `topics`.
    """
    draw = np.random.default_rng(seed)
    name = f"planted-{next(_NUMBERS)}"

    def text(side: str, topic: int, words: int, noise: int) -> str:
        own = [f"{side}{topic}x{w}" for w in draw.permutation(WORDS)[:words]]
        return " ".join(draw.permutation([*own, *draw.choice(NOISE, noise)]))

    docs = {f"d{t}": GenericDoc(f"d{t}", text("d", t, WORDS, 2)) for t in range(topics)}
    handler = DocsHandler(lambda: docs, GenericDoc, name, "en")
    for split in ("train", "test"):
        queries = {
            f"{split}{t}-{i}": text("q", t, 2, 1) for t in range(topics) for i in range(asked)
        }
        rows = [(query, f"d{query[len(split) :].partition('-')[0]}", 1) for query in queries]
        register_parts(handler, Queries(queries), Grades(rows), name=f"{name}/{split}")
    return f"{name}/train", f"{name}/test"


def start(folder: Path, make: Any = transformers.BertModel, seed: int = 0, **how: Any) -> str:
    """A tiny transformer of one layer that has learned nothing, with a word for a token."""
    words = tiny.tokenizer(vocabulary())
    torch.manual_seed(seed)
    settings = {
        "initializer_range": 0.1, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
        "num_hidden_layers": 1,
    }  # fmt: skip
    make(tiny.config(words, make.config_class, **{**settings, **how})).save_pretrained(folder)
    words.save_pretrained(folder)
    return str(folder)


def recipe(train: str, start: str, test: str = "", **settings: Any) -> Recipe:
    """A recipe of one stage for the task; settings are the model's or the stage's."""
    base = Stage(
        dataset=train, batch=16, rate=5e-3, epochs=12, warmup=0.1,
        evaluate=test, measure="R@1" if test else None,
    )  # fmt: skip
    stage = {k: settings.pop(k) for k in list(settings) if hasattr(base, k)}
    model = settings
    if settings.get("kind", "dense") == "dense":
        model = {"encoders": 2, "pooling": "mean", "similarity": "dot", **settings}
    return Recipe("planted", "planted", (replace(base, **stage),), start=start, **model)


def lexicon(path: Path) -> Path:
    """A lexicon of sememes for the documents' words: one of the topic, and one of all."""
    with gzip.open(path, "wt", encoding="utf-8") as out:
        for topic in range(TOPICS):
            for word in range(WORDS):
                out.write(f"d{topic}x{word}\ttopic{topic} thing\n")
    return path
