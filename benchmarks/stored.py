"""What fp16 and int8 vectors lose: measures of dense rankings on real data.

    python benchmarks/stored.py                                # needs the releases and the model
    python benchmarks/stored.py -o benchmarks/results/stored.json

Documents are encoded once. Their vectors are compared as they are, and rounded as `stored=fp16` and
`stored=int8` round them on disk; queries stay in full. The measures are the dataset's own and AP.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from irtoolkit.base.tables import TextTable
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.models.encoder import Stored, pack
from irtoolkit.ranking.produce import rank_dataset
from irtoolkit.ranking.systems import system_of
from irtoolkit.retrievers.base import Ask, Block
from irtoolkit.retrievers.dense import Dense, encode_texts
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.vectors import prepared
from irtoolkit.scoring.score import score

MODEL = "all-MiniLM-L6-v2"
DATASETS = ("egret/dev", "quoter/en/test")


def rounded(vectors: Any, stored: Stored) -> Any:
    """(n, d) vectors as they come back from disk."""
    made = []
    for vector in vectors:
        parts = pack((vector,), stored)
        made.append(parts[0].astype(np.float32) * (parts[1] if len(parts) > 1 else 1))
    return np.array(made, np.float32)


@dataclass(frozen=True)
class Rounded(Dense):
    """Dense retrieval with vectors that are rounded when they have been read."""

    rounding: Stored = "fp32"

    def prepare(self, task: Task) -> Ask:
        asking, shown = self.encoder("query"), self.encoder("document")
        docs = rounded(encode_texts(shown, task.docs, "documents").vectors(), self.rounding)
        similarity = self.similarity or shown.similarity

        def ask(other: Task) -> Any:
            queries = encode_texts(asking, self.asked(other), "queries").vectors()

            def candidates(doc: Any) -> Block:
                compare = prepared(docs[doc], similarity, self.device)
                return lambda query: compare(queries[query])

            return candidates

        return ask


def measure(name: str) -> list[dict[str, Any]]:
    """A row for each measure: its value in fp32, and what it is more or less in fp16 and int8."""
    data = Dataset.of(name)
    system = system_of(MODEL, {}, data.parts)
    own = {item.name: getattr(system.retriever, item.name) for item in fields(system.retriever)}
    runs = {}
    for stored in ("fp32", "fp16", "int8"):
        retriever = Rounded(**own, rounding=cast(Stored, stored))
        runs[stored] = rank_dataset(data, replace(system, retriever=retriever), progress=False)
    found = score(data, runs, list(dict.fromkeys([*data.protocol.measures, "AP"])))
    values = {stored: found.evaluations[stored].figures() for stored in runs}
    return [
        {
            "dataset": name, "measure": key, "fp32": value,
            "fp16 - fp32": values["fp16"][key] - value, "int8 - fp32": values["int8"][key] - value,
        }
        for key, value in values["fp32"].items()
    ]  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="What fp16 and int8 vectors lose.")
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args(argv)
    rows = [row for name in args.datasets for row in measure(name)]
    cells = [list(row.values()) for row in rows]
    print(TextTable(list(rows[0]), cells, title=MODEL, places=4).render("text"))
    if args.output:
        args.output.write_text(json.dumps({"model": MODEL, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
