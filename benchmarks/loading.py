"""How long releases of the published sizes take to load, and how much memory.

    python benchmarks/loading.py                        # published sizes: a few minutes, 2 GB of disk
    python benchmarks/loading.py --scale 0.01           # a smoke test
    python benchmarks/loading.py --datasets relic/train -o loading.json

Writes invented releases, the same in every run, into a temporary folder ($TMPDIR chooses where),
and loads each in fresh processes: the first finds an empty cache, the second what the first has
left there. "Loaded" means that ir_datasets.load, the numbers of queries and documents, the first
query, document and judgment, and the last query have been had; imports are not counted. A full pass
over all queries, documents and judgments comes after it, and is timed apart. Peaks are the largest
resident sets of the processes, what they map included.

Exit status 1 says that a target was missed: a peak below 1 GB always, and a second load ten times
as fast as the first.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from irtoolkit.base.cores import peak_memory

PEAK_MB, RATIO = 1000, 10
# RELiC's train.json and its 79 books, QuoteR's english.txt (Table 1 of each), KILT's ELI5,
# PlotRetrieval's pairs of train, and queries and chunks of test (Table 1).
WINDOWS, BOOKS, BOOK_SENTENCES = 71_395, 79, 5_000
CONTEXTS, QUOTES = 126_713, 6_108
QUESTIONS, DEV_QUESTIONS = 272_634, 1_507
PLOT_BOOKS, PLOT_CHUNKS = 84, 136_195
PLOT_QUERIES = {"train": 400_000, "test": 4_572}
# cache.py takes a file's hash as known only when the file has lain still for two seconds.
SETTLE_SECONDS = 2.5


# ---- invented text -------------------------------------------------------------------------------


class Text:
    """Sentences of common and rare words, composed from a stock, which is fast."""

    def __init__(self, seed: int, words: int) -> None:
        """`words` is the mean length of a sentence."""
        self.rng = rng = random.Random(seed)
        letters = "etaoinshrdlucmfwypvbgk"
        vocabulary = [
            "".join(rng.choices(letters, k=min(12, 1 + int(rng.expovariate(0.28)))))
            for _ in range(20_000)
        ]
        vocabulary[500:20_000:400] = ["café", "naïve", "it’s", "—", "“so”"] * 9 + ["😀"] * 4
        weights = list(accumulate(1 / (rank + 3) for rank in range(len(vocabulary))))
        self._stock = [
            " ".join(
                rng.choices(
                    vocabulary, cum_weights=weights, k=rng.randint(words // 2, words * 3 // 2)
                )
            )
            for _ in range(4_000)
        ]

    def sentence(self) -> str:
        return self.rng.choice(self._stock).capitalize() + "."

    def sentences(self, count: int) -> list[str]:
        return [text.capitalize() + "." for text in self.rng.choices(self._stock, k=count)]

    def words(self, count: int) -> str:
        """Exactly so many words."""
        found: list[str] = []
        while len(found) < count:
            found += self.rng.choice(self._stock).split()
        return " ".join(found[:count])

    def answer(self) -> str:
        """An answer in three to fifteen sentences; in one of four there is an example."""
        parts = self.sentences(self.rng.randint(3, 15))
        if self.rng.random() < 0.25:
            at, some = self.rng.randrange(len(parts)), self.words(8)
            parts[at] = self.rng.choice(
                [f"For example, {some}.", f"{parts[at][:-1]}, e.g. {some}.",
                 f"{parts[at][:-1]} (e.g. {some}) and on.", f"So (for example, {some})."]
            )  # fmt: skip
        return " ".join(parts)


# ---- releases ------------------------------------------------------------------------------------


def write_relic(folder: Path, scale: float) -> None:
    """train.json in one line, as json.dump writes it."""
    text, windows, books = Text(1, 20), at_scale(WINDOWS, scale), at_scale(BOOKS, scale)
    with open(folder / "train.json", "w", encoding="utf-8") as out:
        out.write("{")
        for number in range(books):
            size = text.rng.randint(BOOK_SENTENCES * 3 // 4, BOOK_SENTENCES * 5 // 4)
            quotes: dict[str, list[Any]] = {}
            for window in range(number * windows // books, (number + 1) * windows // books):
                length = text.rng.randint(1, 5)
                start = text.rng.randrange(size - length)
                quotes[str(window)] = [text.sentences(4), start, length, text.sentences(4)]
            book = {
                "quotes": quotes,
                "sentences": text.sentences(size),
                "candidates": {
                    f"{length}_sentence{'s' * (length > 1)}": list(range(size - length + 1))
                    for length in range(1, 6)
                },
            }
            out.write(", " * (number > 0) + f'"book_{number}": ' + json.dumps(book))
        out.write("}")


def write_quoter(folder: Path, scale: float) -> None:
    """english.txt: forty words, a quote, forty words."""
    text, quotes = Text(2, 20), at_scale(QUOTES, scale)
    stock = [f"{text.words(text.rng.randint(5, 24))} {n}" for n in range(quotes)]
    with open(folder / "english.txt", "w", encoding="utf-8") as out:
        for number in range(at_scale(CONTEXTS, scale)):
            # Every quote once, and then some more than others.
            n = number if number < quotes else int(quotes * text.rng.random() ** 3)
            out.write(f"{text.words(40)}\t{stock[n]}\t{text.words(40)}\n")


def write_egret(folder: Path, scale: float) -> None:
    """ELI5: questions with one to five answers."""
    text = Text(3, 15)
    for split, questions in (("train", QUESTIONS), ("dev", DEV_QUESTIONS)):
        with open(folder / f"eli5-{split}-kilt.jsonl", "w", encoding="utf-8") as out:
            for number in range(at_scale(questions, scale)):
                answers = [{"answer": text.answer()} for _ in range(text.rng.randint(1, 5))]
                provenance = {"provenance": [{"wikipedia_id": str(number), "bleu_score": 0.5}]}
                record = {
                    "id": f"{split}{number}",
                    "input": text.sentence(),
                    "output": [*answers, provenance],
                    "meta": {},
                }
                out.write(json.dumps(record) + "\n")


def write_plot(folder: Path, scale: float) -> None:
    """Books, and the queries of train and test."""
    text, books = Text(4, 19), at_scale(PLOT_BOOKS, scale)
    size = 3 * PLOT_CHUNKS // PLOT_BOOKS
    (folder / "books").mkdir()
    for number in range(books):
        book = {"book": f"book_{number}", "sentences": text.sentences(size)}
        (folder / "books" / f"book_{number}.json").write_text(json.dumps(book))
    for split, queries in PLOT_QUERIES.items():
        with open(folder / f"queries-{split}.jsonl", "w", encoding="utf-8") as out:
            for number in range(at_scale(queries, scale)):
                start = text.rng.randrange(size - 9)
                record = {
                    "query_id": f"{split}-{number}",
                    "book": f"book_{text.rng.randrange(books)}",
                    "query": text.words(29),
                    "spans": [[start, start + text.rng.randint(1, 9)]],
                }
                out.write(json.dumps(record) + "\n")


def at_scale(count: int, scale: float) -> int:
    return max(2, round(count * scale))


WRITERS: dict[str, Callable[[Path, float], None]] = {
    "relic": write_relic,
    "quoter": write_quoter,
    "egret": write_egret,
    "plotretrieval": write_plot,
}
DATASETS = ("relic/train", "quoter/en/train", "egret/train", "plotretrieval/test", "plotretrieval/train")  # fmt: skip


# ---- in processes of their own -------------------------------------------------------------------


def generate(benchmark: str, scale: str) -> dict[str, Any]:
    folder = Path(os.environ["IRTOOLKIT_DATA"]) / benchmark
    folder.mkdir(parents=True)
    WRITERS[benchmark](folder, float(scale))
    return {"bytes": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())}


def load(dataset_id: str, full: str) -> dict[str, Any]:
    """Loads a dataset, and goes through it when `full` is not empty."""
    import ir_datasets

    import irtoolkit  # noqa: F401

    begin = time.perf_counter()
    dataset = ir_datasets.load(dataset_id)
    found: dict[str, Any] = {
        "queries": dataset.queries_count(),
        "docs": dataset.docs_count(),
    }
    next(dataset.queries_iter())
    next(dataset.docs_iter())
    next(dataset.qrels_iter())
    # ir_datasets has no way to the last query but through all of them; the handler's rows have.
    rows = dataset.queries_handler()._load()
    rows[len(rows) - 1]
    found |= {"seconds": time.perf_counter() - begin, "peak_mb": peak_mb()}
    if full:
        begin = time.perf_counter()
        for rows in (dataset.queries_iter(), dataset.docs_iter(), dataset.qrels_iter()):
            deque(rows, maxlen=0)
        found |= {"full_seconds": time.perf_counter() - begin, "full_peak_mb": peak_mb()}
    return found


def peak_mb() -> float:
    return peak_memory() / 1e6


TASKS: dict[str, Callable[[str, str], dict[str, Any]]] = {"generate": generate, "load": load}


def in_child(folder: Path, task: str, *args: str) -> dict[str, Any]:
    """What a task finds in a fresh process. This one stays small: a child's peak counts from it."""
    environment = {
        **os.environ,
        "IRTOOLKIT_DATA": str(folder / "data"),
        "IRTOOLKIT_CACHE": str(folder / "cache"),
        "IR_DATASETS_HOME": str(folder / "home"),
    }
    done = subprocess.run(
        [sys.executable, __file__, "--child", task, *args],
        env=environment, stdout=subprocess.PIPE, check=True, text=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# ---- the table -----------------------------------------------------------------------------------


def measure(folder: Path, datasets: list[str], scale: float) -> Iterator[dict[str, Any]]:
    """One row for each dataset."""
    sizes: dict[str, int] = {}
    for dataset_id in datasets:
        benchmark = dataset_id.split("/")[0]
        if benchmark not in sizes:
            print(f"writing {benchmark} ...", file=sys.stderr)
            sizes[benchmark] = in_child(folder, "generate", benchmark, str(scale))["bytes"]
            time.sleep(SETTLE_SECONDS)
        print(f"loading {dataset_id} ...", file=sys.stderr)
        cold = in_child(folder, "load", dataset_id, "")
        warm = in_child(folder, "load", dataset_id, "full")
        yield {
            "dataset": dataset_id,
            "release_mb": sizes[benchmark] / 1e6,
            "queries": warm["queries"],
            "docs": warm["docs"],
            "cold_seconds": cold["seconds"],
            "warm_seconds": warm["seconds"],
            "ratio": cold["seconds"] / warm["seconds"],
            "cold_peak_mb": cold["peak_mb"],
            "warm_peak_mb": warm["peak_mb"],
            "full_seconds": warm["full_seconds"],
            "full_peak_mb": warm["full_peak_mb"],
        }


def missed(row: dict[str, Any]) -> list[str]:
    """The targets that a dataset misses."""
    peaks = [f"{kind}_peak_mb" for kind in ("cold", "warm", "full")]
    return [name for name in peaks if row[name] >= PEAK_MB] + ["ratio"] * (row["ratio"] < RATIO)


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| dataset | release, MB | queries | docs | first load, s | second load, s | ratio"
        " | first peak, MB | second peak, MB | full pass, s | its peak, MB | targets |",
        "|---|" + "---:|" * 10 + "---|",
    ]
    for row in rows:
        verdict = "PASS" if not missed(row) else f"FAIL: {', '.join(missed(row))}"
        lines.append(
            f"| `{row['dataset']}` | {row['release_mb']:.0f} | {row['queries']:,} | {row['docs']:,}"
            f" | {row['cold_seconds']:.2f} | {row['warm_seconds']:.3f} | {row['ratio']:.0f}"
            f" | {row['cold_peak_mb']:.0f} | {row['warm_peak_mb']:.0f}"
            f" | {row['full_seconds']:.1f} | {row['full_peak_mb']:.0f} | {verdict} |"
        )
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    if argv[:1] == ["--child"]:
        print(json.dumps(TASKS[argv[1]](*argv[2:])))
        return 0
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="share of the published sizes")
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=list(DATASETS))
    parser.add_argument("-o", "--output", type=Path, help="write the figures as JSON")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="irtoolkit-loading-") as folder:
        rows = list(measure(Path(folder), args.datasets, args.scale))
    print(table(rows))
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(json.dumps({"scale": args.scale, "rows": rows}, indent=1) + "\n")
    return 1 if any(missed(row) for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
