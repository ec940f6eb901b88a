"""Pyserini's format: a JSON collection, topics, qrels, and the regression as Anserini writes it.

Lucene ranks the whole corpus; Pyserini has no candidate pools.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from irtoolkit.base.files import atomic_text
from irtoolkit.integrations.exports.card import write_card
from irtoolkit.integrations.exports.licences import Licence
from irtoolkit.integrations.exports.source import Source, json_line
from irtoolkit.integrations.exports.trec import one_line, word, write_trec_qrels

HELP = "collection/docs.jsonl, topics.tsv, qrels.txt and a regression's YAML"
COLLECTION, TOPICS, QRELS = "collection/docs.jsonl", "topics.tsv", "qrels.txt"
_OPTIONS = "-storePositions -storeDocvectors -storeRaw"
USAGE = """```
python -m pyserini.index.lucene --collection JsonCollection --input collection \\
  --index index --generator DefaultLuceneDocumentGenerator --threads 1 {options}
python -m pyserini.search.lucene --index index --topics topics.tsv --output run.txt --bm25
{score}```

`{name}.yaml` is the same for Anserini's regressions, without results: Anserini fills in what it
measures.{pools}"""
SCORE = "python -m pyserini.eval.trec_eval -c -m ndcg_cut.10 -m recall.100 qrels.txt run.txt\n"
POOLS = """ Pyserini ranks the whole corpus, also where queries have candidates of their own: scores
are then not those of the benchmark."""


def write(source: Source, folder: Path, licence: Licence) -> None:
    """Writes the folder."""
    filled = 0
    with atomic_text(folder / COLLECTION) as out:
        for doc in source.docs():
            filled += bool(doc.whole.strip())
            out.write(json_line({"id": word(doc.id), "contents": doc.whole}))
    with atomic_text(folder / TOPICS) as out:
        for query in source.queries():
            out.write(f"{word(query.id)}\t{one_line(query.text)}\n")
    judged = write_trec_qrels(source, folder / QRELS)
    with atomic_text(folder / f"{source.name}.yaml") as out:
        yaml.safe_dump(_regression(source, filled, judged), out, sort_keys=False)
    usage = USAGE.format(
        options=_OPTIONS,
        score=SCORE if judged else "",
        name=source.name,
        pools=POOLS if source.has("scoreddocs") else "",
    )
    write_card(folder, source, licence, "pyserini", (), usage)


def _regression(source: Source, filled: int, judged: bool) -> dict[str, Any]:
    topics = {"name": source.title, "id": TOPICS, **({"qrels": QRELS} if judged else {})}
    return {
        "corpus": source.name,
        "corpus_path": "collection/",
        "index_path": f"indexes/lucene-inverted.{source.name}/",
        "collection_class": "JsonCollection",
        "generator_class": "DefaultLuceneDocumentGenerator",
        "index_threads": 1,
        "index_options": _OPTIONS,
        "index_stats": {
            "documents": source.counts["documents"],
            "documents (non-empty)": filled,
        },
        "metrics": [
            _metric("nDCG@10", "ndcg_cut.10"),
            _metric("R@100", "recall.100"),
            _metric("R@1000", "recall.1000"),
        ],
        "topic_reader": "TsvString",
        "topics": [topics],
        "models": [{"name": "bm25", "display": "BM25", "params": "-bm25 -hits 1000"}],
    }


def _metric(name: str, measure: str) -> dict[str, Any]:
    return {
        "metric": name,
        "command": "bin/trec_eval",
        "params": f"-c -m {measure}",
        "separator": "\t",
        "parse_index": 2,
        "metric_precision": 4,
        "can_combine": False,
    }
