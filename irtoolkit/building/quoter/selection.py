"""The selection of occurrences for the benchmark, with reasons for the others (§4.1)."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irtoolkit.building.quoter.contexts import Hyphens, runs
from irtoolkit.building.quoter.letters import letters, tokens
from irtoolkit.building.quoter.quotes import Quote
from irtoolkit.building.quoter.recipe import Settings
from irtoolkit.building.splits import TEST, TRAIN, VAL
from irtoolkit.building.text_search import TextSearch

# A text of which so much is quotes is a collection of quotations, and so is one with such a title.
_COLLECTION = 0.2
_TITLE = re.compile(r"\b(?:quotations|quotes|proverbs|aphorisms|maxims)\b", re.I)
# Contexts of one quote that share so much of the smaller one's runs of words are near duplicates.
_NEAR = 0.5
# Quotes that train lacks are at most this share of all.
_UNSEEN = 0.1


@dataclass(frozen=True)
class Pair:
    """A context and its quote.

    Attributes:
        quote: the number of the quote.
        text: the name of the text it is in.
        left, right: the context.
        record: the occurrence as the file of the text has it.
    """

    quote: int
    text: str
    left: str
    right: str
    record: Mapping[str, Any]

    @property
    def context(self) -> str:
        """Both sides, joined by a space."""
        return f"{self.left} {self.right}".strip()


@dataclass(frozen=True)
class Found:
    """The results of a text.

    Attributes:
        text: the text, the letters of it and of its quotes, and omitted occurrences.
        occurrences: in order.
    """

    text: dict[str, Any]
    occurrences: list[dict[str, Any]]

    @classmethod
    def of(cls, search: TextSearch, name: str) -> Found:
        """Reads the file of a text."""
        return cls(search.record(name), [occurrence for _, occurrence in search.finds(name)])


def is_collection(matches: Found) -> bool:
    """Returns whether a text is a collection of quotations, by its title or share of quotes."""
    share = matches.text["quoted"] / max(1, matches.text["letters"])
    names = f"{matches.text['title']} {Path(matches.text['path']).stem}".replace("_", " ")
    return share > _COLLECTION or _TITLE.search(names) is not None


def pairs(texts: Mapping[str, Found], left_out: Counter[str]) -> Iterator[Pair]:
    """Yields the pairs of all texts in order, except those of collections and of repeated texts.

    Args:
        texts: the results of the search, by the name of the text.
        left_out: counts omitted occurrences, by the reason.
    """
    ids: set[str] = set()
    used_texts: list[tuple[str, Found]] = []
    for name, matches in texts.items():
        reason = "in a text that is there already" if matches.text["sha256"] in ids else ""
        ids.add(matches.text["sha256"])
        if not reason and is_collection(matches):
            reason = "in a collection of quotations"
        if reason:
            left_out[reason] += len(matches.occurrences)
        else:
            left_out.update(matches.text["left out"])
            used_texts.append((name, matches))
    rows = (row for _, matches in used_texts for row in matches.occurrences)
    hyphens = Hyphens(row[side] for row in rows for side in ("left", "right"))
    for name, matches in used_texts:
        for row in matches.occurrences:
            left, right = hyphens.mended(row["left"]), hyphens.mended(row["right"])
            record = {**row, "printed": hyphens.mended(row["printed"])}
            yield Pair(row["quote"], name, left, right, record)


def selected(
    candidates: Iterator[Pair], quotes: Sequence[Quote], settings: Settings, left_out: Counter[str]
) -> list[Pair]:
    """Returns the pairs of the benchmark, in the order of the texts.

    Short contexts, pairs that are there already and near duplicates are left out, then quotes with too
    few contexts; of those with too many, some are drawn at random.
    """
    by_quote: dict[int, list[tuple[int, Pair]]] = defaultdict(list)
    for number, pair in enumerate(candidates):
        by_quote[pair.quote].append((number, pair))
    chosen: list[tuple[int, Pair]] = []
    for quote, members in by_quote.items():
        distinct = list(_distinct(members, settings, left_out))
        if len(distinct) < settings.least:
            left_out[f"of a quote with fewer than {settings.least} contexts"] += len(distinct)
            continue
        if len(distinct) > settings.most:
            left_out[f"more than {settings.most} contexts of a quote"] += (
                len(distinct) - settings.most
            )
            # The quote itself seeds the choice, so that other quotes of the list do not change it.
            draw = random.Random(f"{settings.seed} {quotes[quote].letters}")
            distinct = draw.sample(distinct, settings.most)
        chosen += distinct
    return [pair for _, pair in sorted(chosen, key=lambda item: item[0])]


def _distinct(
    members: Sequence[tuple[int, Pair]], settings: Settings, left_out: Counter[str]
) -> Iterator[tuple[int, Pair]]:
    """Yields the contexts of one quote that are long enough and differ."""
    seen_contexts: set[str] = set()
    sizes: list[int] = []
    holders: dict[str, list[int]] = {}
    for number, pair in members:
        content = letters(f"{pair.left} | {pair.right}")
        if len(tokens(pair.context, settings.unit)) < settings.short:
            left_out[f"a context of fewer than {settings.short} {settings.unit}"] += 1
        elif content in seen_contexts:
            left_out["a pair that is there already"] += 1
        else:
            seen_contexts.add(content)
            context_runs = runs(pair.context, settings.unit)
            shared = Counter(holder for run in context_runs for holder in holders.get(run, ()))
            if any(
                n > _NEAR * min(len(context_runs), sizes[holder]) for holder, n in shared.items()
            ):
                left_out["a near duplicate of another context of the quote"] += 1
                continue
            for run in context_runs:
                holders.setdefault(run, []).append(len(sizes))
            sizes.append(len(context_runs))
            yield number, pair


def divided(golds: Sequence[int], unseen: int, seed: int) -> dict[str, list[int]]:
    """Returns the pairs of each split, by their numbers.

    Val and test have about a tenth of the pairs each, and every quote; train lacks some quotes
    (§4.1), and those with fewer than three contexts.

    Args:
        golds: (P,) the quote of each pair.
        unseen: quotes that train lacks, at most; no more than a tenth of all, unless contexts are few.
        seed: of all random choices.
    """
    draw = random.Random(seed)
    groups: dict[int, list[int]] = defaultdict(list)
    for number, gold in enumerate(golds):
        groups[gold].append(number)
    few = [gold for gold, members in groups.items() if len(members) < 3]
    rest = [gold for gold in groups if len(groups[gold]) >= 3]
    needed = min(unseen, int(_UNSEEN * len(groups))) - len(few)
    hidden = {*few, *draw.sample(rest, min(max(0, needed), len(rest)))}
    parts: dict[str, list[int]] = {TRAIN: [], VAL: [], TEST: []}
    pool: list[int] = []
    for gold, members in groups.items():
        draw.shuffle(members)
        if gold in hidden:
            half = (len(members) + draw.randrange(2)) // 2
            parts[VAL] += members[:half]
            parts[TEST] += members[half:]
        else:
            for split, number in zip((VAL, TEST, TRAIN), members, strict=False):
                parts[split].append(number)
            pool += members[3:]
    draw.shuffle(pool)
    count = len(golds)
    for split, target in (
        (VAL, count * 9 // 10 - count * 8 // 10),
        (TEST, count - count * 9 // 10),
    ):
        more = max(0, target - len(parts[split]))
        parts[split] += pool[:more]
        pool = pool[more:]
    parts[TRAIN] += pool
    return {split: sorted(numbers) for split, numbers in parts.items()}
