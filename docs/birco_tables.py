"""The page results/birco.md: systems on BIRCO's pools, from benchmarks/results/birco.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docstrings import table

RESULTS = Path(__file__).resolve().parent.parent / "benchmarks" / "results" / "birco.json"
NEARBY = RESULTS.with_name("birco_nearby.json")
MEASURES = ("nDCG@10", "R@5", "RR@10")
TITLES = {
    "relic": "RELiC: the quotation that was masked out",
    "wtb": "WhatsThatBook: the book that a reader remembers",
    "doris-mae": "DORIS-MAE: papers that meet the needs of a project (dev)",
}
INTRO = """# BIRCO: results

Systems that install from a package index, on [BIRCO's](../benchmarks/birco.md) published data, beside the published rankings of
the paper's systems. No figure is of a choice on its own queries: systems have their usual settings, and fusions are reciprocal
rank fusions with their usual constant. *tuned fusion* is chosen on other queries of its table, in five folds, by [`irtoolkit tune`](../how-to/rerank-fuse.md)
among reciprocal rank fusions and weighted sums of standardised scores of all single systems. On WhatsThatBook it is below gte-small alone: what is best on 80 queries
of seven systems does not carry over to 20 others. Fusions of fewer systems were tuned on the same queries in the same way, after these
had been seen ({wtb}). The first is above gte-small, by a difference that was not tested; the published MonoT5 is not reached.
On RELiC, fusions with `bm25-nearby` do not reach it alone ({relic}).
*gte-small, tokens* is [late](../reference/retrievers.md#late) with `model=gte-small`: the vectors of the encoder's tokens, compared without training,
in place of one vector for each text. It ran on WhatsThatBook alone.

Intervals are of 95 % for nDCG@10, by bootstrap over queries. p is of a paired t-test over queries of nDCG@10, against BM25, the published
E5 or the published MonoT5, Holm-corrected over its column. The test queries of DORIS-MAE could not be had: its table is of the development
split, of which there are no published rankings.

MiniLM and mpnet ran on a GPU in bf16, the others in ONNX on a CPU; bge-small and the cross-encoder are files in int8, which give
slightly other scores on other CPUs. To repeat everything, fetch the
weights and run the script, which makes the runs that RUNS lacks:

```sh
python benchmarks/weights.py  # needs: a network, and a clone of the repository
IRTOOLKIT_DATA=DATA python benchmarks/birco.py RUNS --ranks evaluation/ranks  # needs: BIRCO's repository
```
"""
PASSAGES_NEARBY = """## Passages nearby

RELiC's candidates are overlapping windows of one book, and their ids are their places in it. [bm25-nearby](../reference/retrievers.md#bm25-nearby)
adds to a window's BM25 the evidence of candidates nearby that do not overlap it.

{reported}

```sh
irtoolkit retrieve birco/relic bm25-nearby -o nearby.run --set {settings}  # needs: the release
```

p of this table is Holm-corrected over its own columns. The settings, {best}, were chosen on RELiC's own training and validation
queries ({queries} queries about {books} books), whose pools were made like BIRCO's: the 50 windows of a book that are most similar by an encoder. In the
first form of these pools the gold quotation is added where it is missing; in the second it is one of a cluster of five windows, so
that nothing can be gained from how few neighbours it has. Chosen on the other books by the mean of both, the figure on a
book's queries is {held_out}, where BM25 has {bm25}. Chosen were, with the number of books: {choices}. The usual settings
are the best of those that need no fields of the query, to the nearest thousandth.

BIRCO's queries did not choose, but they were seen while the method was made: some ninety forms of the evidence were ranked on both
(overlapping windows or poor matches nearby count, too; the best neighbour alone, or means). So its p is that of a second look.
`benchmarks/birco_nearby.py` repeats the choice and the report.

<details markdown><summary>Everything that was tried, nDCG@10</summary>

{tried}

</details>

"""
PUBLISHED = """## Every published ranking

nDCG@10 of each ranking of the release (evaluation/ranks), scored here. Names are those of its files: `_O` has the task's
objective in its prompt. R@5 and RR@10 are in the experiment table `birco`.
"""
REFUSED = """## Refused

These rankings of the release are no runs of their task:
"""


def page() -> str:
    """The page."""
    kept = json.loads(RESULTS.read_text("utf-8"))
    tasks = {name: _task(name, found) for name, found in kept["tasks"].items()}
    tried = {name: _tried(found["tried"]) for name, found in kept["tasks"].items()}
    parts = [INTRO.format(**tried), tasks.pop("relic"), _nearby(), *tasks.values()]
    if "published" in kept:
        parts += [PUBLISHED, _published(kept["published"]), REFUSED, _refused(kept["refused"])]
    return "\n".join(parts)


def _tried(figures: Mapping[str, float]) -> str:
    return "; ".join(f"{name}: {figure:.3f}" for name, figure in figures.items())


def _nearby() -> str:
    found = json.loads(NEARBY.read_text("utf-8"))
    chosen, reported = found["chosen"], found["reported"]
    tried = [
        [name, *(f"{row[form]:.3f}" for form in ("appended", "clustered", "mean")),
         f"{reported['tried'][name]:.3f}"]
        for name, row in chosen["rows"].items()
    ]  # fmt: skip
    return PASSAGES_NEARBY.format(
        reported=_rows(reported["rows"]),
        best=chosen["best"],
        settings=chosen["best"].replace(", ", "@").replace(" ", "=").replace("@", " "),
        queries=chosen["queries"],
        books=chosen["books"],
        held_out=_over_books(chosen["held out"]),
        bm25=_over_books(chosen["BM25"]),
        choices="; ".join(f"{name} ({count})" for name, count in chosen["choices"].items()),
        tried=table(["setting", "RELiC, gold added", "RELiC, clustered", "mean", "BIRCO"], tried),
    )


def _over_books(found: Mapping[str, Any]) -> str:
    low, high = found["interval"]
    return f"{found['mean']:.3f} ({low:.3f} to {high:.3f}, over books)"


def _task(name: str, found: Mapping[str, Any]) -> str:
    said = f"`{found['dataset']}`, {found['queries']} queries."
    return f"## {TITLES[name]}\n\n{said}\n\n{_rows(found['rows'])}\n"


def _rows(rows: Mapping[str, Any]) -> str:
    baselines = [b for b in ("BM25", "E5", "MonoT5") if any(b in row.get("p", {}) for row in rows.values())]  # fmt: skip
    headers = ["system", "nDCG@10", "interval", "R@5", "RR@10", *(f"p, {b}" for b in baselines)]
    lines = []
    for system, row in sorted(rows.items(), key=lambda item: -item[1]["figures"]["nDCG@10"]):
        main, *others = (f"{row['figures'][measure]:.4f}" for measure in MEASURES)
        low, high = row["interval"]
        tests = [_p(row.get("p", {}).get(baseline)) for baseline in baselines]
        label = f"{system} (published)" if system in ("E5", "MonoT5") else system
        lines.append([label, main, f"{low:.3f}-{high:.3f}", *others, *tests])
    return table(headers, lines)


def _p(value: float | None) -> str:
    if value is None:
        return ""
    return "< .001" if value < 0.001 else f"{value:.3f}"


def _published(systems: Mapping[str, Any]) -> str:
    tasks = list(dict.fromkeys(task for found in systems.values() for task in found))
    rows = [
        [name, *(f"{found[task]['nDCG@10']:.4f}" if task in found else "–" for task in tasks)]
        for name, found in systems.items()
    ]
    return table(["system", *tasks], rows) + "\n"


def _refused(files: Mapping[str, str]) -> str:
    return table(["ranking", "why"], [[f"`{name}`", why] for name, why in files.items()])
