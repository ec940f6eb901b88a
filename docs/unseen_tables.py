"""The section of results/quality.md on books that took no part in a choice, from benchmarks/results/unseen_books.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docstrings import table

RESULTS = Path(__file__).resolve().parent.parent / "benchmarks" / "results" / "unseen_books.json"
ENCODERS = RESULTS.with_name("unseen_encoders.json")
TITLES = {"relic": "RELiC", "plotretrieval": "PlotRetrieval"}
INTRO = """## Books that took no part in the choice

The tables below choose on training queries and report on other books, but one split of few books says little: books
differ more than systems do. So the queries of both splits were taken together, and for each book `bm25-surroundings`
was ranked with the settings that are best on all *other* books. That is the figure to expect of a book of your own, with
the interval that a bootstrap over books gives. The best of all settings was chosen by the queries that it is reported on,
and so was, in part, the setting of the tables below: their lead is the optimism of such a choice. On the books of the
hidden test splits, which were scored elsewhere and once, these settings had 9.1 on RELiC (BM25 1.3; two novels by Jane
Austen, 77 queries), below the interval, and 22.7 on PlotRetrieval. `irtoolkit tune` holds out whole books in the same way,
and `benchmarks/unseen_books.py` repeats it.
"""
ENCODED = """### Encoders that read a passage in its surroundings

Late chunking, the setting `context` of [dense-surroundings](../reference/retrievers.md#dense-surroundings): a window of the
book goes through the encoder once, and a passage has the mean of its tokens' vectors.
Measured once on one H100, on RELiC's 415 queries with four sentences of context on either side, by `R@10`: each query was
ranked by a model that was trained on other books (three folds of whole books, MiniLM, 100 steps of batches that share
their negatives; the first of three seeds). *With windows* interpolates the passage with windows around it as
`dense-surroundings` does, with a weight of 0.75. *Fused* adds standardised scores to those of
`bm25-surroundings` (26.7 in this comparison) among its first 300; the form of the query and both weights are those that are best on the
other books.
"""
READING = """
The same fusion on the four books of the validation split, where surroundings have 22.6: trained on judged queries 28.5, 28.5
and 27.7 with three seeds; on these and sentences nearby 25.5, 27.0 and 26.3; not trained 25.5 (256 tokens) and 27.0 (by
itself). On `plotretrieval/val`, whose three books are among these, N-RODCG@10 is 7.0 with each sentence read by itself, 13.1 with 256
tokens (BM25 11.2), and 14.0, 14.2 and 12.9 with training on judged queries; fused with surroundings (21.0) by a weight of 0.3
that was not tuned, 21.0, 22.4, and 23.0, 22.8 and 23.0. So reading in surroundings pays where an encoder ranks alone or is trained, and not by itself in a fusion; making
up pairs of a passage and sentences nearby did not pay, nor did halfway between the trained and the untrained weights (23.4
and 24.1). On [BIRCO's RELiC](birco.md), whose pools were no part of this, the trained encoder has an nDCG@10 of 0.123,
the untrained one of 0.109, and BM25 of 0.158: it does not carry over to pools that an encoder has made hard. The surroundings' own settings
were chosen on the 278 of the training split. Hard negatives and distillation from surroundings were prepared and not run.
"""


def section() -> str:
    """The section."""
    kept = json.loads(RESULTS.read_text("utf-8"))
    lines = [INTRO, _figures(kept)]
    for name, found in kept.items():
        lines += ["", _choices(name, found)]
    lines += ["", *(_books(name, found) for name, found in kept.items())]
    encoders = json.loads(ENCODERS.read_text("utf-8"))
    return "\n".join([*lines, ENCODED, table(encoders["heads"], encoders["rows"]) + READING])


def _figures(kept: dict[str, Any]) -> str:
    rows = [
        [
            f"{TITLES[name]}, `{found['measure']}`", row, f"{100 * one['mean']:.1f}",
            "{:.1f} to {:.1f}".format(*(100 * end for end in one["interval"])),
        ]
        for name, found in kept.items()
        for row, one in found["rows"].items()
    ]  # fmt: skip
    return table(["data", "settings", "figure", "95 %, over books"], rows)


def _choices(name: str, found: dict[str, Any]) -> str:
    choices = ", ".join(f"{settings} ({count})" for settings, count in found["choices"].items())
    return (
        f"- **{TITLES[name]}**: {found['queries']} queries about {found['books']} books, {found['tried']} settings."
        f" Chosen, with the number of books: {choices}. Best of all: {found['best']}."
    )


def _books(name: str, found: dict[str, Any]) -> str:
    rows = [
        [book.replace("_", " "), str(count), *(f"{100 * one:.1f}" for one in figures)]
        for book, (count, *figures) in found["by_book"].items()
    ]
    shown = table(["book", "queries", *found["rows"]], rows)
    summary = f"<summary>{TITLES[name]}, every book, by <code>{found['measure']}</code></summary>"
    return f"<details markdown>{summary}\n\n{shown}\n\n</details>\n"
