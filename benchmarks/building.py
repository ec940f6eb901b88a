"""irtoolkit build relic on real texts: its windows beside the given ones, and how time and memory grow.

    python benchmarks/building.py                    # everything; about a quarter of an hour of CPU
    python benchmarks/building.py --skip growth --sample 40
    python benchmarks/building.py -o benchmarks/results/building.json

Books and criticism are those of $IRTOOLKIT_DATA/raw, the given windows those of relic/train and
relic/val that are from these works: most of their sentences of more than five words are in them.
Each build runs in a process of its own. Seconds are those of its processor, because other work on a
machine lengthens all others.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import resource
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.building.reading import Source
from irtoolkit.building.relic.scans import Scan
from irtoolkit.building.relic.words import Words

NOVELS, WORKS = (2, 4, 8, 16), (2, 5, 10)


def build(books: Sequence[Path], works: Sequence[Path], place: Path) -> dict[str, float]:
    """Builds a benchmark in another process; what it cost."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_built, (list(books), list(works), place))


def _built(books: list[Path], works: list[Path], place: Path) -> dict[str, float]:
    from irtoolkit.building.relic.build import build_relic

    before = resource.getrusage(resource.RUSAGE_SELF)
    made = build_relic(books, works, place)
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    size = sum(path.stat().st_size for path in (*books, *works))
    return {
        "novels": len(books), "works": len(works), "MB": round(size / 1e6, 1),
        "windows": len(made.windows), "CPU seconds": round(cpu, 1),
        "peak memory, MB": _peak(),
    }  # fmt: skip


def _peak() -> int | None:
    """The most memory of this process, in MB; None where /proc is not.

    What `getrusage` has begins with the memory of the process that started this one.
    """
    try:
        status = Path("/proc/self/status").read_text("utf-8")
    except OSError:
        return None
    lines = dict(line.split(":", 1) for line in status.splitlines())
    return round(int(lines["VmHWM"].split()[0]) * 1024 / 1e6)


@dataclass(frozen=True)
class Given:
    """A given window: its book, sentences of the built book, quotation and context."""

    query_id: str
    book: str
    start: int
    stop: int
    gold: str
    left: str
    right: str


class Books:
    """The built books: their sentences, and the words of each."""

    def __init__(self, place: Path) -> None:
        self.sentences: dict[str, list[str]] = {}
        for split in json.loads((place / "benchmark.json").read_text("utf-8"))["splits"]:
            release = json.loads((place / f"{split}.json").read_text("utf-8"))
            self.sentences |= {name: record["sentences"] for name, record in release.items()}
        self._words = {name: Words.of("\n".join(text)) for name, text in self.sentences.items()}

    def span(self, book: str, gold: str) -> tuple[int, int] | None:
        """The sentences that have the words of a quotation."""
        words, line = self._words[book], Words.of(gold).line
        at = f" {words.line} ".find(f" {line} ")
        if at < 0:
            return None
        first = int(np.searchsorted(words.offsets, at))
        ends = np.cumsum([len(sentence) + 1 for sentence in self.sentences[book]])
        places = words.begins[[first, first + len(line.split()) - 1]]
        begin, end = np.searchsorted(ends, places, side="right").tolist()
        return begin, end + 1


def given_windows(data: Path, books: Books, works: Sequence[Path]) -> tuple[list[Given], int]:
    """The given windows that are from some works, and the number of those that are not."""
    scans = (Scan(Source.of(lambda path=path: open(path, "rb"))).paragraphs() for path in works)  # noqa: SIM115
    criticism = " | ".join(Words.of(" ".join(p.text for p in scan)).line for scan in scans)
    found, away = [], 0
    for split in ("train", "val"):
        release = json.loads((data / "relic" / f"{split}.json").read_text("utf-8"))
        for book, record in release.items():
            if book not in books.sentences:
                continue
            for query_id, (left, start, length, right) in record["quotes"].items():
                lines = [Words.of(s).line for s in (*left, *right)]
                long = [line for line in lines if len(line.split()) > 5]
                gold = " ".join(record["sentences"][start : start + length])
                span = books.span(book, gold)
                if span is None or 2 * sum(line in criticism for line in long) < max(1, len(long)):
                    away += 1
                    continue
                found.append(Given(query_id, book, *span, gold, " ".join(left), " ".join(right)))
    return found, away


def records(place: Path) -> Iterator[dict[str, Any]]:
    """All quotations that were found, also those that were left out."""
    for path in sorted((place / "quotations").glob("*.jsonl")):
        for line in path.read_text("utf-8").split("\n")[:-1]:
            window = json.loads(line)
            yield {**window, "article": path.stem, "stop": window["start"] + window["length"]}


def compared(given: Sequence[Given], found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Each given window with the quotation that is at its place and has most of its context's words."""
    by_book = defaultdict(list)
    for number, one in enumerate(found):
        context = set(Words.of(" ".join((*one["left"], *one["right"]))).line.split())
        by_book[one["book"]].append((number, one, context))
    pairs, missing, used = [], [], set()
    for window in given:
        wanted = set(Words.of(f"{window.left} {window.right}").line.split())
        near = [
            (min(window.stop, one["stop"]) - max(window.start, one["start"]), number, one)
            for number, one, context in by_book[window.book]
            if one["start"] < window.stop
            and window.start < one["stop"]
            and 2 * len(wanted & context) > min(len(wanted), len(context))
        ]
        if not near:
            missing.append(window)
            continue
        _, number, best = max(near, key=lambda one: (one[0], -one[1]))
        used.add(number)
        pairs.append((window, best))
    extra = [one for number, one in enumerate(found) if number not in used]
    return {"pairs": pairs, "missing": missing, "extra": extra}


def span_difference(window: Given, one: Mapping[str, Any]) -> str:
    """How the sentences of a quotation differ from the given ones."""
    if (window.start, window.stop) == (one["start"], one["stop"]):
        return "the same sentences"
    begin, end = window.start - one["start"], one["stop"] - window.stop
    if begin >= 0 and end >= 0:
        side = "before" if not end else "after" if not begin else "before and after"
        return f"ours has sentences more {side}"
    return "ours has fewer sentences" if begin <= 0 and end <= 0 else "ours is shifted"


def missing_kind(window: Given, found: Sequence[Mapping[str, Any]]) -> str:
    """Why a given window may not be found."""
    near = [
        one for one in found
        if one["book"] == window.book and one["start"] < window.stop and window.start < one["stop"]
    ]  # fmt: skip
    if near:
        return "found with another context"
    return "fewer than 6 words" if len(Words.of(window.gold).line.split()) < 6 else "other"


def extra_kind(one: Mapping[str, Any], given: Sequence[Given]) -> str:
    """Why a quotation may not be given."""
    if one["places"] > 1:
        return "at several places of the books: left out of the benchmark"
    if one["length"] > 5:
        return "more than 5 sentences: left out of the benchmark"
    same = [
        w
        for w in given
        if w.book == one["book"] and w.start < one["stop"] and one["start"] < w.stop
    ]
    if same:
        return "the passage is given with another context"
    return "fewer than 10 words" if one["words"] < 10 else f"10 words or more, {one['kind']}"


def comparison(data: Path, place: Path, works: Sequence[Path], sample: int) -> dict[str, Any]:
    """The windows of a build beside the given ones."""
    books, found = Books(place), list(records(place))
    given, away = given_windows(data, books, works)
    sides = compared(given, found)
    spans = Counter(span_difference(window, one) for window, one in sides["pairs"])
    extra = Counter(extra_kind(one, given) for one in sides["extra"])
    missing = Counter(missing_kind(window, found) for window in sides["missing"])
    if sample:
        _print(sides, books, given, found, sample)
    return {
        "given": len(given), "given of other works": away, "found": len(sides["pairs"]),
        "recall": round(len(sides["pairs"]) / len(given), 3), "spans": dict(spans.most_common()),
        "not found": dict(missing.most_common()), "found here": len(found),
        "only here": dict(extra.most_common()),
    }  # fmt: skip


def _print(
    sides: dict[str, Any], books: Books, given: Sequence[Given], found: Sequence[Any], count: int
) -> None:
    """Prints windows to read: given ones that are not found or differ, and found ones that are not given."""
    draw = random.Random(0)
    for window in sides["missing"]:
        print(f"NOT FOUND {window.query_id} ({missing_kind(window, found)}) {window.book}")
        print(f"   {window.left[-160:]} >>> {window.gold[:240]} <<< {window.right[:160]}")
    other = [pair for pair in sides["pairs"] if span_difference(*pair) != "the same sentences"]
    for window, one in draw.sample(other, min(count, len(other))):
        print(
            f"SPAN {window.query_id} ({span_difference(window, one)}) {window.start}-{window.stop}"
        )
        print(f"   given: {window.gold[:300]}")
        print(f"   here {one['start']}-{one['stop']}: {one['quoted'][:300]}")
    for one in draw.sample(sides["extra"], min(count, len(sides["extra"]))):
        print(
            f"ONLY HERE ({extra_kind(one, given)}) {one['book']} {one['words']} words, {one['ratio']}"
        )
        print(
            f"   {' '.join(one['left'])[-120:]} >>> {one['quoted'][:200]} <<< {' '.join(one['right'])[:80]}"
        )
        print(f"   book: {books.sentences[one['book']][one['start']][:200]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, help="a .json file for the figures")
    parser.add_argument("--sample", type=int, default=0, help="windows to print, of each kind")
    parser.add_argument("--skip", nargs="+", default=[], choices=["comparison", "growth"])
    args = parser.parse_args()
    data = Path(os.environ["IRTOOLKIT_DATA"])
    books = sorted((data / "raw" / "novels").iterdir())
    works = sorted((data / "raw" / "criticism").iterdir())
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        if "comparison" not in args.skip:
            place = Path(folder) / "all"
            build(books, works, place)
            results["comparison"] = comparison(data, place, works, args.sample)
            print(json.dumps(results["comparison"], indent=1))
        if "growth" not in args.skip:
            results["growth"] = []
            for few in NOVELS:
                for some in WORKS:
                    row = build(books[:few], works[:some], Path(folder) / f"{few}-{some}")
                    results["growth"].append(row)
                    print(json.dumps(row), flush=True)
    if args.output:
        args.output.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
