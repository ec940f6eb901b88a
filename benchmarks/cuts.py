"""What the centred cut of masked queries changes: MiniLM with the end cut off, and with both sides.

    python benchmarks/cuts.py                                # needs the releases and the model
    python benchmarks/cuts.py -o benchmarks/results/cuts.json

"plain" is the row of the benchmark's table, whose queries have no mask and are cut at their end. In
"end" and "sides" [MASK] is where something was taken out, and queries are cut at their end, or on both
sides of the mask. "too long" is the share of queries that are cut at all: their tokens are more than the
model reads. CSFCube and PlotRetrieval have nothing to mask, so only the first row is theirs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from irtoolkit.base.ids import Segments
from irtoolkit.base.tables import TextTable
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.ranking.produce import rank_dataset
from irtoolkit.ranking.systems import system_of
from irtoolkit.retrievers.dense import Dense, encode_texts
from irtoolkit.retrievers.task import Task
from irtoolkit.scoring.score import score

MODEL, LENGTH = "all-MiniLM-L6-v2", 256
# Dataset, settings of its table's row, and the view of its queries that has a mask.
ROWS: Sequence[tuple[str, Mapping[str, str], str | None]] = (
    ("csfcube", {"query": "title+abstract", "doc": "title+abstract"}, None),
    ("plotretrieval/val", {"doc": "sentences"}, None),
    ("quoter/en/test/left", {}, "masked-left"),
    ("quoter/en/test", {}, "masked"),
    ("egret/dev/left", {}, "masked-left"),
    ("egret/dev", {}, "masked"),
    ("relic/val/1-1", {}, "masked"),
    ("relic/val", {}, "masked"),
)


class Counted(Dense):
    """Dense retrieval that counts the tokens of its queries."""

    too_long = 0.0

    def asked(self, task: Task) -> list[Segments]:
        queries = super().asked(task)
        lengths = encode_texts(self.encoder("query"), queries, "queries").lengths
        Counted.too_long = float((lengths > LENGTH).mean())
        return queries


def measure(name: str, own: Mapping[str, str], masked: str | None) -> list[dict[str, Any]]:
    """A row for each measure: its value for each way to ask."""
    data = Dataset.of(name)
    ways: dict[str, dict[str, Any]] = {"plain": {**own, "query_length": LENGTH}}
    for cut in ("end", "sides") if masked else ():
        ways[cut] = {**ways["plain"], "query": f"{masked}:[MASK]", "query_cut": cut}
    runs, shares = {}, {}
    for way, settings in ways.items():
        system = system_of(MODEL, settings, data.parts)
        watched = Counted(**vars(system.retriever))
        runs[way] = rank_dataset(data, replace(system, retriever=watched), progress=False)
        shares[way] = Counted.too_long
    found = score(data, runs, data.protocol.measures)
    values = {way: found.evaluations[way].figures() for way in runs}
    return [
        {
            "dataset": name, "too long": shares[list(ways)[-1]], "measure": key,
            **{way: values[way][key] if way in values else None for way in ("plain", "end", "sides")},
        }
        for key in values["plain"]
    ]  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=[name for name, _, _ in ROWS])
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args(argv)
    rows = [row for known in ROWS if known[0] in args.datasets for row in measure(*known)]
    cells = [["" if cell is None else cell for cell in row.values()] for row in rows]
    print(TextTable(list(rows[0]), cells, title=MODEL, places=4).render("text"))
    if args.output:
        args.output.write_text(json.dumps({"model": MODEL, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
