"""Invented books, and invented comments of readers on known passages of them, in other words."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import critic

SMALL = ("the", "of", "and", "to", "in", "that", "was", "with", "for", "had", "not", "but")
TOLD, SIZE = 8, 256
FEELINGS = (
    "This is so funny, I love this book!", "I can't understand this chapter at all.",
    "My favourite page of the novel so far.", "You must read this, what a great author.",
)  # fmt: skip
FOREIGN = "Das ist die Geschichte, und er ist nicht mit ihr in das Haus gegangen, sie sich zu {}{}."
KINDS = ("free", "near", "position", "sentences", "marked")


def words(seed: int) -> list[str]:
    """The words that a book or its readers have."""
    return critic._vocabulary(random.Random(seed), 900)


def other_word(word: str) -> str:
    """What readers say in the place of a word of the book."""
    return f"{word[::-1]}ish"


def _sentence(draw: random.Random, found: Sequence[str]) -> str:
    mixed = [*found, *draw.sample(SMALL, 5)]
    draw.shuffle(mixed)
    return f"{' '.join(mixed).capitalize()} {draw.choice(found)}."


def book(seed: int, sentences: int = 240) -> list[str]:
    """The sentences of a book; each has as many words that tell something."""
    draw, known = random.Random(seed), words(seed)
    return [_sentence(draw, draw.sample(known, TOLD)) for _ in range(sentences)]


def _told(sentences: Sequence[str]) -> list[str]:
    found = " ".join(sentences).lower().replace(".", "").split()
    return list(dict.fromkeys(word for word in found if word not in SMALL))


def comment(draw: random.Random, passage: Sequence[str], kept: float = 0.25) -> str:
    """What a reader says of a passage: a quarter of its words, and others for the rest."""
    told = _told(passage)
    same = set(draw.sample(told, int(kept * len(told))))
    said = [word if word in same else other_word(word) for word in told]
    draw.shuffle(said)
    return f"She {' '.join(said[::2])} and he {' '.join(said[1::2])}."


@dataclass
class Readers:
    """Comments, and the passages of those that describe one.

    Attributes:
        lines: comments as JSON objects.
        planted: book and passage of each comment that makes a pair, by its text.
    """

    lines: list[dict[str, Any]] = field(default_factory=list)
    planted: dict[str, tuple[str, int, int]] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Writes the comments as JSON lines."""
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines), "utf-8")


def readers(books: Mapping[str, Sequence[str]], seed: int, each: int = 8) -> Readers:
    """Comments of every kind on each book, and others that make no pair."""
    draw, made = random.Random(seed), Readers()
    for name, sentences in books.items():
        for number in range(each * len(KINDS)):
            kind, length = KINDS[number % len(KINDS)], draw.choice((1, 2, 3))
            start = draw.randrange(len(sentences) - length)
            text = comment(draw, sentences[start : start + length])
            place = _place(draw, kind, sentences, start, length)
            made.lines.append({"book": name, "text": text, **place})
            made.planted[text] = (name, start, start + length)
        made.lines += _useless(draw, name, sentences)
    draw.shuffle(made.lines)
    return made


def _place(
    draw: random.Random, kind: str, sentences: Sequence[str], start: int, length: int
) -> dict[str, Any]:
    """What a comment says of its place."""
    if kind == "near":
        return {"sentence": min(len(sentences) - 1, start + draw.randint(0, 3))}
    if kind == "position":
        return {"position": round(start / len(sentences), 3)}
    if kind == "sentences":
        return {"sentences": [start, start + length]}
    if kind == "marked":
        return {"marked": " ".join(sentences[start : start + length]).replace(" the ", " a ", 1)}
    return {}


def _useless(draw: random.Random, name: str, sentences: Sequence[str]) -> list[dict[str, Any]]:
    """Comments that make no pair, some of each kind."""
    found = list(FEELINGS)
    strange = words(77_000)
    for _ in range(4):
        at = draw.randrange(len(sentences) - 1)
        copied = _told(sentences[at : at + 1])
        draw.shuffle(copied)
        found.append(f"She {' '.join(copied)} and he too.")  # has the words of the passage
        found.append(f"He says: {sentences[at]} So she did.")  # quotes it
        found.append(f"She {' '.join(draw.sample(strange, 12))} him.")  # is about something else
        found.append(FOREIGN.format(draw.choice(strange), at))
        found.append(f"Oh, {draw.choice(strange)} {at}!")
    return [{"book": name, "text": text} for text in found]


def save_model(folder: Path, seeds: Sequence[int]) -> Path:
    """Saves an encoder to which a word of a book and its other word are the same."""
    import torch
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    from tests.tiny import sentence_model, tokenizer

    known = sorted({word for seed in (*seeds, 77_000) for word in words(seed)})
    reading = tokenizer([*known, *map(other_word, known), *SMALL], longest=200)
    torch.manual_seed(5)
    vectors = torch.randn(len(known), SIZE)
    weights = torch.full((len(reading), SIZE), 1e-4)
    for word, vector in zip(known, vectors, strict=True):
        for said in (word, other_word(word)):
            weights[reading.convert_tokens_to_ids(said)] = vector
    return sentence_model(folder, StaticEmbedding(reading, embedding_weights=weights.numpy()))
