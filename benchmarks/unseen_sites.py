"""What a fusion is worth for EgRet on a site that took no part in its choice.

    python benchmarks/weights.py
    IRTOOLKIT_DATA=DATA python benchmarks/unseen_sites.py RUNS

EgRet's questions in DATA come from three sites of Stack Exchange. For the questions of each site, the weights of a fusion of
query likelihood and three encoders are those that are best on the two other sites, by R@1. RUNS keeps the runs; the figures
are written to benchmarks/results/unseen_sites.json, with intervals of 95 % by bootstrap over queries. Ten minutes of CPU time.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from unseen_books import best_on_others

import irtoolkit as ir
from irtoolkit.base.files import atomic_text
from irtoolkit.fusing.configurations import weights_grid
from irtoolkit.runs import Run

RESULTS = Path(__file__).resolve().parent / "results" / "unseen_sites.json"
MEASURE = "R@1"
CUE: dict[str, Any] = {"query": "masked:For example,", "query_length": 128}
SINGLE: dict[str, tuple[str, dict[str, Any]]] = {
    "BM25": ("bm25", {}),
    "ql": ("ql", {"smoothing": "jm", "lam": 0.9}),
    "MiniLM": ("all-MiniLM-L6-v2", CUE),
    "gte-small": ("gte-small", CUE),
    "mpnet": ("all-mpnet-base-v2", CUE),
}
# Between the weights of a fusion.
STEP = 0.1
SAMPLES = 10_000


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    values: dict[str, dict[str, float]] = {}
    for split in ("train", "dev"):
        data = ir.load(f"egret/{split}")
        runs = {name: _run(data, split, name, folder) for name in SINGLE}
        runs["best"] = ir.fuse(*(runs[name] for name in ("BM25", "MiniLM", "gte-small", "mpnet")))
        parts = list(SINGLE)[1:]
        for weights in weights_grid(len(parts), STEP):
            name = ", ".join(
                f"{part} {weight:g}" for part, weight in zip(parts, weights, strict=True)
            )
            runs[name] = ir.fuse(*(runs[part] for part in parts), method="weighted",
                                 weights=list(weights), normalise="zscore")  # fmt: skip
        for run, query, _, value in ir.evaluate(data, runs, measures=MEASURE).per_query():
            values.setdefault(run, {})[query] = value
    with atomic_text(RESULTS) as out:
        out.write(json.dumps(held_out(values), indent=1) + "\n")


def _run(data: Any, split: str, name: str, folder: Path) -> Run:
    path = folder / f"{split}.{name}.run"
    system, settings = SINGLE[name]
    if not path.is_file():
        ir.retrieve(data, system, output=path, **settings)
    return Run.read(path)


def held_out(values: dict[str, dict[str, float]]) -> dict[str, Any]:
    """The figure of each site's questions by the weights that are best on the other sites, beside those of single systems."""
    queries = sorted(values["ql"])
    sites = np.array([query.partition("-")[0] for query in queries])
    rows = {name: np.array([found[query] for query in queries]) for name, found in values.items()}
    fusions = [name for name in rows if "," in name]
    table = np.stack([rows[name] for name in fusions])
    fused, chosen = best_on_others(table, sites)
    shown = {**{name: rows[name] for name in rows if name not in fusions}, "tuned": fused}
    return {
        "measure": MEASURE,
        "queries": {site: int((sites == site).sum()) for site in sorted(set(sites))},
        "tried": len(fusions),
        "chosen": {fusions[place]: count for place, count in chosen.items()},
        "rows": {
            name: {
                "figure": float(found.mean()),
                "interval": _interval(found),
                "less ql": _interval(found - shown["ql"]),
                "sites": {site: float(found[sites == site].mean()) for site in sorted(set(sites))},
            }
            for name, found in shown.items()
        },
    }  # fmt: skip


def _interval(values: Any) -> list[float]:
    drawn = np.random.default_rng(0).integers(len(values), size=(SAMPLES, len(values)))
    low, high = np.percentile(values[drawn].mean(axis=1), [2.5, 97.5])
    return [float(low), float(high)]


if __name__ == "__main__":
    main()
