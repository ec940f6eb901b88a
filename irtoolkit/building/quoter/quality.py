"""The quality report of a benchmark in QuoteR's form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from irtoolkit.building.pipeline import encoding_notes
from irtoolkit.building.quality import (
    Quality,
    Sample,
    histogram,
    mean,
    near_duplicates,
    sampled,
)
from irtoolkit.building.quoter.letters import tokens
from irtoolkit.building.quoter.quotes import QuoteList
from irtoolkit.building.quoter.recipe import UNKNOWN, Settings
from irtoolkit.building.quoter.selection import Pair
from irtoolkit.building.splits import SPLITS, TRAIN
from irtoolkit.datasets.quoter import REPORTED

_NAMES = {"train": "training", "val": "validation", "test": "testing"}
# Quotes that are shown as the most frequent ones, and characters of each.
_SHOWN, _WIDTH = 10, 48


@dataclass
class Gathered:
    """The contexts of a benchmark with their texts.

    Attributes:
        listed: the quotes that were searched.
        settings: how the benchmark was built.
        texts: facts about each text, by its name.
        pairs: those that make the benchmark.
        splits: the numbers of the pairs of each split.
        found: occurrences of each quote in texts that are not collections, by its number.
        left_out: occurrences that make none, by the reason.
        collections: paths of texts that are collections of quotations.
        continued: texts that an earlier build had done.
    """

    listed: QuoteList
    settings: Settings
    texts: dict[str, dict[str, Any]] = field(default_factory=dict)
    pairs: list[Pair] = field(default_factory=list)
    splits: Mapping[str, Sequence[int]] = field(default_factory=dict)
    found: Counter[int] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    collections: list[str] = field(default_factory=list)
    continued: int = 0

    def of_split(self, split: str) -> list[Pair]:
        """Returns the pairs of a split."""
        return [self.pairs[number] for number in self.splits[split]]

    def notes(self) -> Iterator[str]:
        """Yields notes for the user: guesses, other encodings than UTF-8, and omitted texts."""
        settings = self.settings
        lang = (
            f"language {settings.lang}"
            if settings.lang != UNKNOWN
            else "no known language: see --lang"
        )
        yield f"{lang}; {settings.context} {settings.unit} on each side"
        read = [*self.listed.encodings.items()]
        read += [(text["path"], text["encoding"]) for text in self.texts.values()]
        yield from encoding_notes(read)
        for path in self.collections:
            yield f"{path}: left out, a collection of quotations"


def quality(gathered: Gathered) -> Quality:
    """Returns the figures of a benchmark."""
    pairs, unit = gathered.pairs, gathered.settings.unit
    quotes = gathered.listed.quotes
    frequency = Counter(pair.quote for pair in pairs)
    numbers = [number for split in SPLITS for number in gathered.splits[split]]
    ids = {number: f"{gathered.settings.lang}-{line}" for line, number in enumerate(numbers, 1)}
    split_of = {ids[n]: split for split in SPLITS for n in gathered.splits[split]}
    words = {ids[n]: [t[0] for t in tokens(pair.context, unit)] for n, pair in enumerate(pairs)}
    sizes = {number: sum(quotes[number].sizes) for number in frequency}
    return Quality(
        counts=_counts(gathered, mean([len(w) for w in words.values()])),
        paper=_paper(gathered.settings.lang),
        tables={
            "left out": dict(gathered.left_out.most_common()),
            "quotes of the list that are not looked for": dict(
                gathered.listed.left_out.most_common()
            ),
            "contexts of a quote": histogram(list(frequency.values()), 10),
            f"{unit} of a quote": histogram(list(sizes.values()), 5),
            f"{unit} of a context": histogram([len(w) for w in words.values()], 10),
            "most frequent quotes": {
                quotes[number].text[:_WIDTH]: count
                for number, count in frequency.most_common(_SHOWN)
            },
            "texts": dict(Counter(pair.text for pair in pairs).most_common(_SHOWN)),
        },
        findings={
            "runs of a quote cut out of its contexts": sum(p.record["leaks"] for p in pairs),
            "contexts with a part of the quote's sentences": sum(
                _is_part(gathered, p) for p in pairs
            ),
            "near duplicates across splits": near_duplicates(words, split_of),
        },
        sample=[_shown(gathered, ids[number], number) for number in sampled(numbers)],
    )


def _counts(gathered: Gathered, words: float) -> dict[str, float]:
    counts: dict[str, float] = {}
    for split in SPLITS:
        split_pairs = gathered.of_split(split)
        counts[f"contexts for {_NAMES[split]}"] = len(split_pairs)
        counts[f"quotes for {_NAMES[split]}"] = len({pair.quote for pair in split_pairs})
    quotes = {pair.quote for pair in gathered.pairs}
    counts |= {
        "contexts": len(gathered.pairs),
        "quotes": len(quotes),
        "quotes that train lacks": len(quotes - {p.quote for p in gathered.of_split(TRAIN)}),
        "contexts of a quote, mean": mean([len(gathered.pairs) / max(1, len(quotes))]),
        f"{gathered.settings.unit} of a context, mean": words,
        "quotes looked for": len(gathered.listed.quotes),
        "quotes found": len(gathered.found),
        "occurrences found": gathered.found.total(),
        "texts": len(gathered.texts),
        "letters of the texts": sum(text["letters"] for text in gathered.texts.values()),
    }
    return counts


def _paper(lang: str) -> dict[str, float]:
    """Returns table 1 for a language of the paper, and the quotes that were looked for (§4)."""
    if lang not in REPORTED:
        return {}
    figures: dict[str, float] = {}
    for split in SPLITS:
        contexts, quotes = REPORTED[lang][split]
        figures |= {
            f"contexts for {_NAMES[split]}": contexts,
            f"quotes for {_NAMES[split]}": quotes,
        }
    contexts, quotes = REPORTED[lang]["all"]
    listed = {"en": 60_000, "zh": 32_000, "lzh": 17_000}[lang]
    return figures | {
        "contexts": contexts,
        "quotes": quotes,
        "quotes that train lacks": 100,
        "contexts of a quote, mean": round(contexts / quotes, 1),
        "quotes looked for": listed,
    }


def _is_part(gathered: Gathered, pair: Pair) -> bool:
    sentences = len(gathered.listed.quotes[pair.quote].parts)
    return bool(pair.record["last"] - pair.record["first"] < sentences)


def _shown(gathered: Gathered, query_id: str, number: int) -> Sample:
    pair = gathered.pairs[number]
    details = {"text": pair.text, "quote": gathered.listed.quotes[pair.quote].text}
    return Sample(query_id, details, pair.left, str(pair.record["printed"]), pair.right)
