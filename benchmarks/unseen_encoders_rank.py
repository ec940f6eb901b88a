"""What a BERT encoder ranks in books, a passage being read in its surroundings: part of benchmarks/unseen_encoders.py.

Needs torch, transformers and numpy alone, and nothing of irtoolkit: it runs on the machine of unseen_encoders_train.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WIDTH, CLS, SEP = 384, 101, 102
# Windows around a passage, and their shares in its score.
AROUND, SHARES = (1, 16, 64), (0, 0.5, 0.75)
# Tokens read at once.
AT_ONCE = 131_072 if DEVICE == "cuda" else 4096


class Data:
    """What the first stage has written, and folds of whole books; fold 0 is the books of the validation splits."""

    def __init__(self, folder: Path) -> None:
        self.all = dict(np.load(folder / "books.npz"))
        self.tokens, self.ends = self["tokens"].astype(np.int64), self["sentences"].astype(np.int64)
        self.books = self["books"].astype(np.int64)
        self.fold = self._folds()

    def __getitem__(self, name: str) -> Any:
        return self.all[name]

    def text(self, name: str, number: int) -> Any:
        """The tokens of a query or document."""
        ends = self[f"{name}_ends"]
        return self[name][ends[number] : ends[number + 1]].astype(np.int64)

    def sentences(self, book: int, start: int, length: int) -> Any:
        """The tokens of sentences of a book."""
        first, last = self.books[book]
        stop = min(first + start + length, last)
        return self.tokens[self.ends[first + start] : self.ends[stop]]

    def asked(self, fold: int) -> list[int]:
        """The books of a fold that have queries."""
        have = {*self["relic_book"].tolist(), *self["plot_book"].tolist()}
        return [book for book in range(len(self.books)) if self.fold[book] == fold and book in have]

    def _folds(self) -> Any:
        weight = sum(
            np.bincount(self[f"{name}_book"], minlength=len(self.books))
            for name in ("relic", "plot")
        )
        first = {*self["relic_book"][self["relic_val"]], *self["plot_book"][self["plot_val"]]}
        sizes, fold = [0, 0], np.zeros(len(self.books), int)
        for book in np.argsort(-weight, kind="stable"):
            if book not in first:
                least = int(np.argmin(sizes))
                fold[book] = 1 + least
                sizes[least] += weight[book] + 1
        return fold


# -- reading --------------------------------------------------------------------------------------


def states(model: Any, ids: Any, mask: Any) -> Any:
    with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=DEVICE == "cuda"):
        return model(input_ids=ids, attention_mask=mask.long()).last_hidden_state.float()


def padded(rows: list[Any], cap: int = 512) -> tuple[Any, Any]:
    """Token ids with [CLS] and [SEP], and which of them are not padding."""
    width = min(cap, max(map(len, rows)) + 2)
    ids, lengths = np.zeros((len(rows), width), np.int64), np.empty(len(rows), np.int64)
    for number, row in enumerate(rows):
        kept = row[: width - 2]
        lengths[number] = len(kept) + 2
        ids[number, : lengths[number]] = [CLS, *kept, SEP]
    mask = np.arange(width) < lengths[:, None]
    return torch.from_numpy(ids).to(DEVICE), torch.from_numpy(mask).to(DEVICE)


def pooled(model: Any, rows: list[Any], cap: int = 512) -> Any:
    """Vectors of texts, of length 1."""
    ids, mask = padded(rows, cap)
    return functional.normalize((states(model, ids, mask) * mask[..., None]).sum(1), dim=1)


def pooled_in_parts(model: Any, rows: list[Any], size: int) -> Any:
    parts = [pooled(model, rows[at : at + size]) for at in range(0, len(rows), size)]
    return torch.cat(parts)


def sentence_sums(model: Any, data: Data, book: int, context: int) -> Any:
    """The sums of a book's token vectors over each sentence, `context` tokens being read at once; 0 reads its sentence."""
    first, last = data.books[book]
    sums = torch.zeros(int(last - first), WIDTH, device=DEVICE)
    if context:
        _add_windows(model, data, book, context, sums)
    else:
        _add_sentences(model, data, book, sums)
    return sums.double()


def _add_sentences(model: Any, data: Data, book: int, sums: Any) -> None:
    lengths = np.minimum(np.diff(data.ends[data.books[book][0] : data.books[book][1] + 1]), 254)
    order, at = np.argsort(lengths, kind="stable"), 0
    while at < len(order):
        longest = lengths[order[min(len(order) - 1, at + 4000)]]
        part = order[at : at + max(16, min(4000, AT_ONCE // int(longest + 2)))]
        at += len(part)
        ids, mask = padded([data.sentences(book, one, 1)[: lengths[one]] for one in part], 256)
        found = states(model, ids, mask)
        own = mask & (ids != CLS) & (ids != SEP)
        sums[torch.from_numpy(part).to(DEVICE)] = (found * own[..., None]).sum(1)


def _add_windows(model: Any, data: Data, book: int, context: int, sums: Any) -> None:
    """Adds each token of a book as it is read in the window in whose middle half it is."""
    first, last = data.books[book]
    text = torch.from_numpy(data.sentences(book, 0, last - first)).to(DEVICE)
    sentence = np.repeat(np.arange(last - first), np.diff(data.ends[first : last + 1]))
    of = torch.from_numpy(sentence).to(DEVICE)
    count, width = len(text), context - 2
    step = width // 2
    starts = torch.arange(0, max(1, count - width + step), step, device=DEVICE)
    starts = torch.unique(torch.clamp(starts, max=max(0, count - width)))
    begin = starts + (width - step) // 2
    begin[0] = 0
    end = torch.cat([begin[1:], torch.tensor([count], device=DEVICE)])
    size = max(1, AT_ONCE // context)
    for at in range(0, len(starts), size):
        part = slice(at, at + size)
        place = starts[part, None] + torch.arange(min(width, count), device=DEVICE)
        edge = torch.full((len(place), 1), CLS, device=DEVICE)
        ids = torch.cat([edge, text[place], torch.full_like(edge, SEP)], dim=1)
        found = states(model, ids, torch.ones_like(ids))[:, 1:-1]
        kept = (place >= begin[part, None]) & (place < end[part, None])
        sums.index_add_(0, of[place[kept]], found[kept])


# -- ranking --------------------------------------------------------------------------------------


class Book:
    """Vectors of the passages of a book and of windows around them."""

    def __init__(self, sums: Any) -> None:
        none = torch.zeros(1, WIDTH, device=DEVICE, dtype=torch.double)
        self.count = len(sums)
        self.tokens = torch.cat([none, sums.cumsum(0)])
        self.units = torch.cat([none, functional.normalize(sums, dim=1).cumsum(0)])

    def passages(self, start: Any, length: Any) -> Any:
        total = self.tokens[start + length] - self.tokens[start]
        return functional.normalize(total, dim=1).float()

    def windows(self, start: Any, length: Any) -> Any:
        """The mean over the sizes of windows."""
        total = 0
        for size in AROUND:
            first = torch.clamp(start - size, min=0)
            last = torch.clamp(start + length + size, max=self.count)
            total = total + functional.normalize(self.units[last] - self.units[first], dim=1)
        return (total / len(AROUND)).float()


@torch.no_grad()
def evaluate(models: list[Any], data: Data, context: int, folds: tuple[int, ...]) -> dict[str, Any]:
    """Ranks and scores of every query by the model of its book's fold.

    rank: of the quotation by form of the query, share of windows and query, -1 for other folds; r_at and p_at: passages and
    windows at the candidates of surroundings; p_top: the best 100 plots; birco: the mean over the folds' models.
    """
    relic, plots = len(data["relic_book"]), len(data["plot_book"])
    found = {
        "rank": np.full((2, len(SHARES), relic), -1, np.int32),
        "r_at": np.zeros((2, 2, *data["relic_candidates"].shape), np.float32),
        "p_top": np.full((plots, 100), -1, np.int32),
        "p_at": np.zeros((2, *data["plot_candidates"].shape), np.float32),
        "birco": np.zeros(data["birco_pools"].shape, np.float32),
    }
    for fold in folds:
        model = models[fold].eval()
        books = {one: Book(sentence_sums(model, data, one, context)) for one in data.asked(fold)}
        for number, book in books.items():
            _rank_relic(model, data, number, book, found)
        if books:
            _rank_plots(model, data, books, found)
    different = {id(models[fold]): models[fold] for fold in folds}
    for model in different.values():
        found["birco"] += _birco(model, data) / len(different)
    return found


def _rank_relic(model: Any, data: Data, number: int, book: Book, found: dict[str, Any]) -> None:
    asked = np.flatnonzero(data["relic_book"] == number)
    for form, name in enumerate(("relic_near", "relic_far")):
        for length in np.unique(data["relic_length"][asked]):
            mine = asked[data["relic_length"][asked] == length]
            queries = pooled_in_parts(model, [data.text(name, one) for one in mine], 32)
            start = torch.arange(book.count - int(length) + 1, device=DEVICE)
            own = book.passages(start, int(length)) @ queries.T
            around = book.windows(start, int(length)) @ queries.T
            for column, query in enumerate(mine):
                gold = int(data["relic_gold"][query])
                for share, weight in enumerate(SHARES):
                    scores = (1 - weight) * own[:, column] + weight * around[:, column]
                    found["rank"][form, share, query] = 1 + int((scores > scores[gold]).sum())
                at = _places(data["relic_candidates"][query])
                for kind, scores in enumerate((own, around)):
                    found["r_at"][form, kind, query] = scores[at, column].cpu().numpy()


def _rank_plots(model: Any, data: Data, books: dict[int, Book], found: dict[str, Any]) -> None:
    every = data["plot_docs"]
    docs = np.concatenate([np.flatnonzero(every[:, 0] == book) for book in books])
    place = np.zeros(len(every), np.int64)
    place[docs] = np.arange(len(docs))
    own, around = [], []
    for number, book in books.items():
        start, length = torch.from_numpy(every[every[:, 0] == number, 1:]).long().to(DEVICE).T
        own.append(book.passages(start, length))
        around.append(book.windows(start, length))
    vectors = torch.cat(own), torch.cat(around)
    for query in np.flatnonzero(np.isin(data["plot_book"], list(books))):
        asked = pooled(model, [data.text("plot_text", query)])[0]
        scores = [kind @ asked for kind in vectors]
        best = scores[0].topk(min(100, len(docs))).indices.cpu().numpy()
        found["p_top"][query, : len(best)] = docs[best]
        at = torch.from_numpy(place[np.maximum(data["plot_candidates"][query], 0)]).to(DEVICE)
        found["p_at"][:, query] = torch.stack([kind[at] for kind in scores]).cpu().numpy()


def _birco(model: Any, data: Data) -> Any:
    texts = {
        name: [data.text(name, one) for one in range(len(data[f"{name}_ends"]) - 1)]
        for name in ("birco_docs", "birco_queries")
    }
    docs = pooled_in_parts(model, texts["birco_docs"], 256)
    queries = pooled_in_parts(model, texts["birco_queries"], 50)
    return (docs[_places(data["birco_pools"])] * queries[:, None]).sum(-1).cpu().numpy()


def _places(numbers: Any) -> Any:
    return torch.from_numpy(np.maximum(numbers, 0)).long().to(DEVICE)
