"""Trains MiniLM on books in folds of whole books, and ranks each book by a model that was trained on others.

    python unseen_encoders_train.py FOLDER --seconds 188
    python unseen_encoders_train.py SAMPLE --trial

The second stage of benchmarks/unseen_encoders.py, which see. FOLDER is what its first stage has written. With
unseen_encoders_rank.py beside it, this needs torch, transformers and numpy alone, and nothing of irtoolkit. Results go to
FOLDER/results, a file for each model. A model for which the seconds do not suffice is named and left out.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional
from transformers import BertModel
from unseen_encoders_rank import DEVICE, WIDTH, Data, evaluate, padded, pooled, states

FOLDS, SEEDS = (0, 1, 2), (1, 2, 3)
# Tokens that the untrained encoder reads at once, and those of training; 0 is a sentence by itself.
CONTEXTS, CONTEXT = (0, 64, 128, 256, 512), 256
# Rows of a batch: judged queries, and passages with sentences nearby as their queries.
MIXES = {"nearby and judged": (24, 48), "judged": (32, 0)}
# Tokens of a window beside [CLS] and [SEP], those of a passage at most, and of other stretches.
WINDOW, PASSAGE, STRETCH = CONTEXT - 2, 200, 25
STEPS, RATE, SCALE = 100, 3e-5, 20
# Of a trial: steps, and the part of the rows.
TRIAL_STEPS, TRIAL_PART = 2, 8
MASK = np.array([103])


class Row(NamedTuple):
    """A query, and the sentences of a book that it is for."""

    query: Any
    book: int
    start: int
    length: int
    judged: bool


class Candidate(NamedTuple):
    """Tokens of a window, and the sentences that they are; book -1 for a stretch of tokens."""

    window: int
    first: int
    last: int
    book: int = -1
    start: int = 0
    length: int = 0


# -- rows -----------------------------------------------------------------------------------------


class Rows:
    """Draws rows of the books of the other folds."""

    def __init__(self, data: Data, fold: int, rng: np.random.Generator) -> None:
        self.data, self.rng, self.order = data, rng, list[int]()
        self.books = [book for book in range(len(data.books)) if data.fold[book] != fold]
        sizes = np.diff(data.books[self.books], axis=1)[:, 0].astype(float)
        self.share = sizes / sizes.sum()
        self.judged = [row for row in _judged(data) if data.fold[row[2]] != fold]

    def batch(self, judged: int, nearby: int) -> list[Row]:
        rows = []
        if nearby:
            book = self.books[int(self.rng.choice(len(self.books), p=self.share))]
            rows = [self._nearby(book) for _ in range(nearby)]
        return rows + [self._asked() for _ in range(judged)]

    def _nearby(self, book: int) -> Row:
        """A passage, and as its query sentences near it without some of their tokens."""
        rng, (first, last) = self.rng, self.data.books[book]
        length = int(rng.choice([1, 2, 3, 4, 5], p=[0.45, 0.22, 0.15, 0.1, 0.08]))
        start = int(rng.integers(20, last - first - 30))
        count, gap = int(rng.integers(1, 4)), int(rng.integers(0, 12))
        parts = []
        if rng.random() < 0.7:
            parts.append(self.data.sentences(book, start - gap - count, count))
        if rng.random() < 0.7 or not parts:
            parts.append(self.data.sentences(book, start + length + gap, count))
        query = np.concatenate(parts)
        query = query[rng.random(len(query)) > 0.3][:128]
        return Row(query if len(query) else MASK, book, start, length, judged=False)

    def _asked(self) -> Row:
        if not self.order:
            self.order = list(self.rng.permutation(len(self.judged)))
        name, number, book, start, length = self.judged[self.order.pop()]
        if name == "relic":
            form = "relic_far" if self.rng.random() < 0.5 else "relic_near"
        else:
            form = "plot_text"
        query = self.data.text(form, number)
        over = max(0, len(query) - 160) // 2
        query = query[over : over + 160]
        return Row(query if len(query) else MASK, book, start, length, judged=True)

    def window(self, row: Row) -> tuple[Any, int, int]:
        """The tokens of a window at random that has the passage, and the passage's place in it."""
        data, (first, last) = self.data, self.data.books[row.book]
        begin, end = data.ends[first + row.start], data.ends[first + row.start + row.length]
        end = min(end, begin + PASSAGE)
        at = begin - int(self.rng.integers(0, max(1, WINDOW - (end - begin))))
        at = max(data.ends[first], min(at, data.ends[last] - WINDOW))
        return data.tokens[at : at + WINDOW], begin - at, end - at


def _judged(data: Data) -> Iterator[tuple[str, int, int, int, int]]:
    for number, book in enumerate(data["relic_book"]):
        gold, length = data["relic_gold"][number], data["relic_length"][number]
        yield "relic", number, int(book), int(gold), int(length)
    for number, book in enumerate(data["plot_book"]):
        start, length = data["plot_span"][number]
        yield "plot", number, int(book), int(start), int(length)


# -- training -------------------------------------------------------------------------------------


def train(data: Data, start: Any, fold: int, mix: str, seed: int, *, trial: bool) -> Any:
    """The model after training on the books of the other folds."""
    steps = TRIAL_STEPS if trial else STEPS
    counts = [count // (TRIAL_PART if trial else 1) for count in MIXES[mix]]
    rows = Rows(data, fold, np.random.default_rng(1000 * seed + fold))
    torch.manual_seed(seed)
    model = copy.deepcopy(start).train()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=RATE, weight_decay=0.01, fused=DEVICE == "cuda"
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / 10) * max(0.02, 1 - step / steps)
    )
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model, rows, rows.batch(*counts)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model


def loss(model: Any, rows: Rows, batch: list[Row]) -> Any:
    """Cross-entropy of each query's passage among those of the batch and stretches of their windows."""
    windows, own, stretches = [], list[Candidate](), list[Candidate]()
    for number, row in enumerate(batch):
        tokens, first, last = rows.window(row)
        windows.append(tokens)
        own.append(Candidate(number, first, last, row.book, row.start, row.length))
        if row.judged:
            stretches += [
                Candidate(number, at, at + STRETCH)
                for at in range(0, len(tokens) - STRETCH, STRETCH)
                if at + STRETCH <= first - 5 or at >= last + 5
            ]
    queries = pooled(model, [row.query for row in batch], 192)
    found = states(model, *padded(windows))
    none = torch.zeros(len(windows), 1, WIDTH, device=DEVICE)
    sums = torch.cat([none, found.cumsum(1)], 1)
    made = np.array([*own, *stretches], np.int64)
    window, first, last = torch.from_numpy(made[:, :3]).to(DEVICE).T
    # The first token of a window is [CLS].
    passages = functional.normalize(sums[window, last + 1] - sums[window, first + 1], dim=1)
    left_out = torch.from_numpy(not_negatives(batch, made)).to(DEVICE)
    scores = (SCALE * queries @ passages.T).masked_fill(left_out, -1e4)
    return functional.cross_entropy(scores, torch.arange(len(batch), device=DEVICE))


def not_negatives(batch: list[Row], made: Any) -> Any:
    """(rows, candidates) what overlaps a row's passage, or is near it in a row that nobody judged."""
    book, start, length = (
        np.array([getattr(row, name) for row in batch])[:, None]
        for name in ("book", "start", "length")
    )
    judged = np.array([row.judged for row in batch])[:, None]
    same_book = made[:, 3] == book
    overlaps = (made[:, 4] < start + length) & (made[:, 4] + made[:, 5] > start)
    near = ~judged & (np.abs(made[:, 4] - start) < 16)
    left_out = same_book & (overlaps | near)
    np.fill_diagonal(left_out, False)
    return left_out


# -- all models -----------------------------------------------------------------------------------


class Models:
    """Makes the models in turn while there is time, and writes what each ranks."""

    def __init__(self, folder: Path, seconds: float, *, trial: bool) -> None:
        self.end, self.trial, self.longest = time.monotonic() + seconds, trial, 0.0
        self.data, self.results = Data(folder), folder / "results"
        self.results.mkdir(exist_ok=True)
        start = BertModel.from_pretrained(folder / "model", add_pooling_layer=False)
        self.start = start.float().to(DEVICE)

    def all(self) -> None:
        for context in CONTEXTS[:2] if self.trial else CONTEXTS:
            self.write(f"untrained {context}", [self.start] * len(FOLDS), context, FOLDS)
        for mix in MIXES:
            for seed in SEEDS:
                self.trained(mix, seed, FOLDS if seed == SEEDS[0] else FOLDS[:1])

    def trained(self, mix: str, seed: int, folds: tuple[int, ...]) -> None:
        """Trains and ranks; with the first seed also the mean of trained and untrained weights, in fold 0."""
        began, name = time.monotonic(), f"{mix} {seed}"
        if began + 1.2 * self.longest * len(folds) > self.end:
            print("no time for", name, flush=True)
            return
        models = [train(self.data, self.start, fold, mix, seed, trial=self.trial) for fold in folds]
        self.write(name, models, CONTEXT, folds)
        self.longest = max(self.longest, (time.monotonic() - began) / len(folds))
        if seed == SEEDS[0]:
            halve(models[0], self.start)
            self.write(f"{mix} half {seed}", models, CONTEXT, FOLDS[:1])

    def write(self, name: str, models: list[Any], context: int, folds: tuple[int, ...]) -> None:
        found = evaluate(models, self.data, context, folds)
        np.savez_compressed(self.results / f"{name}.npz", **found)
        print(name, flush=True)


@torch.no_grad()
def halve(model: Any, start: Any) -> None:
    """Makes weights the mean of theirs and those of another model."""
    for own, other in zip(model.parameters(), start.parameters(), strict=True):
        own.copy_((own + other) / 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="default: no limit")
    parser.add_argument("--trial", action="store_true", help="two steps of few rows, for a CPU")
    args = parser.parse_args()
    Models(args.folder, args.seconds, trial=args.trial).all()
