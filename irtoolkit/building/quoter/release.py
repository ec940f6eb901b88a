"""The files of a benchmark in the form of QuoteR's release."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from irtoolkit.base.files import atomic_text
from irtoolkit.building.quoter.quotes import Quote
from irtoolkit.building.quoter.selection import Pair
from irtoolkit.building.splits import SPLITS

_FIELDS = ("begin", "end", "first", "last", "leaks", "printed")


def write_release(
    path: Path,
    provenance: Path,
    quotes: Sequence[Quote],
    pairs: Sequence[Pair],
    splits: Mapping[str, Sequence[int]],
    lang: str,
) -> tuple[int, int]:
    """Writes the pairs, split after split, and the source of each beside them.

    Args:
        path: the file: left context, quote, right context, separated by tabs.
        provenance: a JSON line for each.
        quotes: all quotes of the list.
        pairs: those of the benchmark.
        splits: the numbers of the pairs of each split.
        lang: the language as a code, with which ids begin.

    Returns:
        the first lines of val and test, from 0.
    """
    lines = [(split, number) for split in SPLITS for number in splits[split]]
    with atomic_text(path) as out, atomic_text(provenance) as provenance_file:
        for line, (split, number) in enumerate(lines, 1):
            pair = pairs[number]
            quote = quotes[pair.quote]
            out.write(f"{pair.left}\t{quote.text}\t{pair.right}\n")
            record = {
                "query_id": f"{lang}-{line}",
                "split": split,
                "quote": quote.text,
                "author": quote.author,
                "source": quote.source,
                "text": pair.text,
                **{name: pair.record[name] for name in _FIELDS},
            }
            provenance_file.write(json.dumps(record, ensure_ascii=False) + "\n")
    first = len(splits["train"])
    return first, first + len(splits["val"])
