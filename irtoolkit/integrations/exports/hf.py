"""Parquet files with all fields of the records, and a card, for Hugging Face datasets.

The configurations have MTEB's names. Its tasks do not load this format: they accept text columns
only; see `irtoolkit.integrations.exports.mteb`.
"""

from __future__ import annotations

from pathlib import Path

from irtoolkit.integrations.exports.card import Part, write_card
from irtoolkit.integrations.exports.columns import write_entries, write_pools, write_qrels
from irtoolkit.integrations.exports.fields import Fields
from irtoolkit.integrations.exports.licences import Licence
from irtoolkit.integrations.exports.source import Source

HELP = "Parquet with all fields, as Hugging Face datasets loads it"
USAGE = """```python
from datasets import load_dataset

corpus = load_dataset(".", "corpus", split="{split}")
queries = load_dataset(".", "queries", split="{split}")
```

Configurations: {parts}."""


def write(source: Source, folder: Path, licence: Licence) -> None:
    """Writes the folder."""
    parts = write_parts(source, folder, source.doc_fields(), source.query_fields())
    listed = ", ".join(f"`{part.name}`" for part in parts)
    write_card(folder, source, licence, "hf", parts, USAGE.format(split=source.split, parts=listed))


def write_parts(source: Source, folder: Path, docs: Fields, queries: Fields) -> list[Part]:
    """Writes the Parquet files, with some other fields of documents and queries.

    Returns:
        The configurations. The judgments are called default, which the hub shows first.
    """

    def part(name: str, subfolder: str = "") -> Part:
        return Part(name, f"{subfolder or name}/{source.split}.parquet")

    corpus, queries_part = part("corpus"), part("queries")
    write_entries(source.docs(docs), docs, folder / corpus.path, titled=True)
    write_entries(source.queries(queries), queries, folder / queries_part.path, titled=False)
    parts = [corpus, queries_part]
    if source.has("qrels"):
        parts.insert(0, part("default", "qrels"))
        write_qrels(source, folder / parts[0].path)
    if source.has("scoreddocs"):
        parts.append(part("top_ranked"))
        write_pools(source, folder / parts[-1].path)
    return parts
