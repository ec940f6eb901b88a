"""Small datasets as Parquet in the layouts of the hub, each with its card."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

DOCS = {
    "_id": ["d1", "d2", "d3", "d4"],
    "title": ["Coats", "", "Hats", ""],
    "text": ["a red coat", "a blue hat and a coat", "a straw hat", "two green gloves"],
}
QUERIES = {"_id": ["q1", "q2", "q3"], "text": ["red coat", "a hat", "gloves"]}
QRELS = {
    "query-id": ["q1", "q1", "q2", "q2"],
    "corpus-id": ["d1", "d2", "d2", "d3"],
    "score": [2, 1, 0, 1],
}
POOLS = {"query-id": ["q2", "q1"], "corpus-ids": [["d3", "d2", "d4"], ["d2", "d4", "d1"]]}
BEIR = {
    "corpus": {"test": DOCS}, "queries": {"test": QUERIES},
    "default": {"test": QRELS, "train": {**QRELS, "score": [0, 1, 1, 0]}},
}  # fmt: skip
MTEB = {
    "corpus": {"test": DOCS}, "queries": {"test": QUERIES}, "default": {"test": QRELS},
    "top_ranked": {"test": POOLS},
    "instruction": {"test": {"query-id": ["q1", "q2", "q3"],
                             "instruction": ["only red ones", "of straw", "any"]}},
}  # fmt: skip
BRIGHT = {
    "documents": {
        "birds": {"id": ["d1", "d2", "d3"],
                  "content": ["a robin sings", "why a robin sings at dawn", "an owl"]},
        "maps": {"id": ["m1"], "content": ["a map"]},
    },
    "long_documents": {"birds": {"id": ["p1"], "content": ["a page about robins that sing"]}},
    "examples": {
        "birds": {
            "id": ["1", "2"], "query": ["why does a robin sing", "owl"],
            "reasoning": ["", ""],
            "excluded_ids": [["d2"], ["N/A"]],
            "gold_ids": [["d1"], ["d3", "d3"]], "gold_ids_long": [["p1"], ["p1"]],
        },
        "maps": {"id": ["1"], "query": ["map"], "reasoning": [""], "excluded_ids": [["N/A"]],
                 "gold_ids": [["m1"]], "gold_ids_long": [["N/A"]]},
    },
}  # fmt: skip
LANGUAGES = {
    "de-corpus": {"test": {"_id": ["1", "2"], "text": ["ein roter Mantel", "ein Hut"]}},
    "de-queries": {"test": {"_id": ["1"], "text": ["Mantel"]}},
    "de-qrels": {"test": {"query-id": ["1"], "corpus-id": ["1"], "score": [1]}},
    "fr-corpus": {"test": {"_id": ["1", "2"], "text": ["un manteau rouge", "un chapeau"]}},
    "fr-queries": {"test": {"_id": ["1"], "text": ["chapeau"]}},
    "fr-qrels": {"test": {"query-id": ["1"], "corpus-id": ["2"], "score": [1]}},
}
Configs = Mapping[str, Mapping[str, Mapping[str, Any]]]


def written(folder: Path, configs: Configs, card: bool = True) -> Path:
    """A folder with a Parquet file for each split of each configuration."""
    lines = ["---", "license: cc0-1.0", "configs:"]
    for config, splits in configs.items():
        lines += [f"- config_name: {config}", "  data_files:"]
        for split, columns in splits.items():
            path = folder / config / f"{split}-00000-of-00001.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table(dict(columns)), path)
            lines += [f"  - split: {split}", f"    path: {config}/{split}-*"]
    if card:
        (folder / "README.md").write_text("\n".join([*lines, "---", ""]))
    return folder
