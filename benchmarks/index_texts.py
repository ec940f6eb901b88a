"""The passages and queries of `index.py`, drawn word by word and written to files.

    python benchmarks/index_texts.py FOLDER PASSAGES QUERIES NEW

Words are drawn from the plain-text books under $IRTOOLKIT_DATA as often as they occur there, else
from the Zipf-Mandelbrot vocabulary of `bm25.py`. A passage has 20 to 70 words, 45 on average. Queries
are drawn from the same words but for Lucene's English stop words, which no system searches for; new
ones are short, and searched once each.
Passages are written in blocks, so memory does not grow with their number.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bm25 import VOCABULARY, zipf_mandelbrot
from numpy.typing import NDArray

from irtoolkit.base.analysis import stop_words

SHORTEST, LONGEST = 20, 70
# Anserini gives each of its threads whole files.
FILES = 16
BLOCK = 10_000
SHORT = 5
LENGTHS = (SHORT, 10, 150, 154)
NEW = "queries-new.txt"
_BOOKS = (("books", "*.txt"), ("raw/novels", "*.md"), ("raw/criticism", "*.txt"))
# Every tokenizer takes these for words, and none for two.
_WORD = re.compile("[a-z]{2,}")


def book_words() -> list[str]:
    """The words of the books at hand in their order; none where there are no books."""
    home = os.environ.get("IRTOOLKIT_DATA")
    found: list[str] = []
    for folder, pattern in _BOOKS if home else ():
        for path in sorted(Path(str(home), folder).glob(pattern)):
            found += _WORD.findall(path.read_text(encoding="utf-8", errors="replace").lower())
    return found


class Law:
    """How likely each word is.

    Attributes:
        source: where it is from.
        names: the words.
    """

    def __init__(self) -> None:
        words = book_words()
        if words:
            self.source = f"{len(words):,} words of the books under $IRTOOLKIT_DATA"
            numbers: dict[str, int] = {}
            self._words: NDArray[np.int32] | None = np.empty(len(words), np.int32)
            for place, word in enumerate(words):
                self._words[place] = numbers.setdefault(word, len(numbers))
            self.names = list(numbers)
        else:
            self.source = f"a Zipf-Mandelbrot law of {VOCABULARY:,} words"
            self.names, self._words = [f"w{number}" for number in range(VOCABULARY)], None

    def draw(self, generator: np.random.Generator, count: int) -> Any:
        """The numbers of some words."""
        if self._words is not None:
            return self._words[generator.integers(0, len(self._words), count)]
        chosen = np.searchsorted(zipf_mandelbrot(), generator.random(count))
        return np.minimum(chosen, VOCABULARY - 1)


def passages(law: Law, count: int) -> Iterator[str]:
    """Passages, the same for the same law."""
    generator = np.random.default_rng(1)
    for start in range(0, count, BLOCK):
        lengths = generator.integers(SHORTEST, LONGEST + 1, min(BLOCK, count - start))
        ends = np.cumsum(lengths).tolist()
        flat = [law.names[number] for number in law.draw(generator, ends[-1]).tolist()]
        for first, end in zip([0, *ends], ends, strict=False):
            yield " ".join(flat[first:end])


def queries(law: Law, count: int, length: int, seed: int) -> list[str]:
    """Queries of some length, without stop words."""
    generator, stopped = np.random.default_rng(seed), stop_words("lucene")
    found: list[str] = []
    while len(found) < count * length:
        drawn = [law.names[number] for number in law.draw(generator, count * length).tolist()]
        found += [word for word in drawn if word not in stopped]
    return [" ".join(found[i * length : (i + 1) * length]) for i in range(count)]


def write(folder: Path, size: int, asked: int, new: int) -> None:
    """Writes the passages as JSON lines, queries one a line, and what is known of them."""
    law = Law()
    place = folder / "passages"
    place.mkdir(parents=True)
    made, per_file = passages(law, size), -(-size // FILES)
    number = 0
    for file in range(FILES):
        with (place / f"{file:02}.jsonl").open("w", encoding="utf-8") as out:
            for _ in range(min(per_file, size - number)):
                # As json.dumps writes it: the words are plain letters.
                out.write(f'{{"id": "{number}", "contents": "{next(made)}"}}\n')
                number += 1
    sets = {f"queries-{length}.txt": (asked, length, length) for length in LENGTHS}
    sets[NEW] = (new, SHORT, 1 + max(LENGTHS))
    for name, (count, length, seed) in sets.items():
        (folder / name).write_text("\n".join(queries(law, count, length, seed)) + "\n")
    text = sum(path.stat().st_size for path in place.iterdir())
    known = {"words from": law.source, "words": len(law.names), "bytes": text}
    (folder / "texts.json").write_text(json.dumps(known))


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, sys.argv[2:5]))
