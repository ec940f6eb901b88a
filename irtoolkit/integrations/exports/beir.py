"""BEIR's format: corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv, and the candidate pools.

BEIR's own loader ranks the whole corpus and ignores the pools. Fields that are not part of a text,
for example the two sides of a context, are under `metadata`.
"""

from __future__ import annotations

import csv
from pathlib import Path

from irtoolkit.base.files import atomic_text
from irtoolkit.integrations.exports.card import write_card
from irtoolkit.integrations.exports.columns import DOC, GRADE, QUERY, write_pools
from irtoolkit.integrations.exports.fields import Fields
from irtoolkit.integrations.exports.licences import Licence
from irtoolkit.integrations.exports.source import Source, json_line

HELP = "corpus.jsonl, queries.jsonl, qrels/test.tsv and top_ranked/test.parquet"
CORPUS, QUERIES = "corpus.jsonl", "queries.jsonl"
USAGE = """```python
from beir.datasets.data_loader import GenericDataLoader

corpus, queries, qrels = GenericDataLoader(data_folder=".").load(split="{split}")
```

BEIR ranks the whole corpus. {pools}"""
POOLS = """The candidates of each query are in `top_ranked/{split}.parquet`."""


def write(source: Source, folder: Path, licence: Licence) -> None:
    """Writes the folder."""
    write_jsonl(source, folder, source.doc_fields(), source.query_fields())
    write_judgments(source, folder)
    pools = ""
    if source.has("scoreddocs"):
        write_pools(source, folder / f"top_ranked/{source.split}.parquet")
        pools = POOLS.format(split=source.split)
    usage = USAGE.format(split=source.split, pools=pools)
    write_card(folder, source, licence, "beir", (), usage)


def write_jsonl(source: Source, folder: Path, docs: Fields, queries: Fields) -> None:
    """Writes corpus.jsonl and queries.jsonl, with some other fields of the records."""
    with atomic_text(folder / CORPUS) as out:
        for doc in source.docs(docs):
            extra = {"metadata": doc.other} if doc.other else {}
            out.write(json_line({"_id": doc.id, "title": doc.title, "text": doc.text, **extra}))
    with atomic_text(folder / QUERIES) as out:
        for query in source.queries(queries):
            extra = {"metadata": query.other} if query.other else {}
            out.write(json_line({"_id": query.id, "text": query.text, **extra}))


def write_judgments(source: Source, folder: Path) -> bool:
    """Writes qrels/SPLIT.tsv, with a header, quoted as BEIR reads it; whether there are judgments."""
    if not source.has("qrels"):
        return False
    with atomic_text(folder / f"qrels/{source.split}.tsv") as out:
        rows = csv.writer(out, delimiter="\t", lineterminator="\n")
        rows.writerow((QUERY, DOC, GRADE))
        rows.writerows(source.qrels())
    return True
