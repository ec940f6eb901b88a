"""Writes a dataset for TIRA: the input of systems, the judgments, and a card by which it is submitted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from irtoolkit.base.files import atomic_text
from irtoolkit.integrations.exports.card import Part, write_card
from irtoolkit.integrations.exports.licences import Licence
from irtoolkit.integrations.exports.source import Entry, Source, json_line
from irtoolkit.integrations.exports.trec import word, write_trec_qrels

HELP = "corpus.jsonl.gz, queries.jsonl, queries.xml, metadata.json and qrels.txt"
# Characters that no XML may hold, escaped or not.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
INPUTS, TRUTHS = "inputs", "truths"
USAGE = """From the folder above, with `pip install tira`:

```
tira-cli dataset-submission --path FOLDER --task TASK --split {split} --skip-baseline --dry-run
```

`inputs/` is what systems see; `truths/` has the judgments, without which TIRA takes no dataset. It wants at
least 3 judged queries. The `baseline` in the head of this file is yours to fill in."""


def write(source: Source, folder: Path, licence: Licence) -> None:
    """Writes the folder."""
    docs, queries = source.doc_fields(), source.query_fields()
    inputs, truths = folder / INPUTS, folder / TRUTHS
    with atomic_text(inputs / "corpus.jsonl.gz") as out:
        for doc in source.docs(docs):
            out.write(json_line(_doc(doc)))
    query_list = list(source.queries(queries))
    judged = write_trec_qrels(source, truths / "qrels.txt")
    for target in (inputs, truths) if judged else (inputs,):
        _write_queries(source.id, query_list, target)
    with atomic_text(inputs / "metadata.json") as out:
        out.write(json.dumps({"ir_datasets_id": source.id}) + "\n")
    parts = [Part(INPUTS, f"{INPUTS}/*")]
    if judged:
        parts.append(Part(TRUTHS, f"{TRUTHS}/*"))
    usage = USAGE.format(split=source.split)
    write_card(folder, source, licence, "tira", parts, usage, _configuration())


def _configuration() -> dict[str, Any]:
    """Returns the part of the card that `tira-cli dataset-submission` reads."""
    run = {"name": "run.txt"}
    return {
        "tira_configs": {
            "default_upload_name": "run.txt",
            "resolve_inputs_to": INPUTS,
            "resolve_truths_to": TRUTHS,
            "input_format": {"name": "ir-dataset-corpus"},
            "truth_format": {"name": "qrels.txt"},
            "baseline": {"link": None, "command": None, "format": run},
            "evaluator": {"measures": ["nDCG@10", "P@10", "RR"]},
        }
    }


def _doc(doc: Entry) -> dict[str, Any]:
    return {
        "docno": word(doc.id),
        "text": doc.whole,
        "original_document": {"doc_id": doc.id, "title": doc.title, **doc.other},
    }


def _write_queries(dataset_id: str, queries: list[Entry], folder: Path) -> None:
    with atomic_text(folder / "queries.jsonl") as out:
        out.writelines(map(json_line, map(_query, queries)))
    with atomic_text(folder / "queries.xml") as out:
        out.write(f"<topics ir-datasets-id={quoteattr(dataset_id)}>\n")
        out.writelines(line for query in queries for line in _topic(query))
        out.write("</topics>\n")


def _query(query: Entry) -> dict[str, Any]:
    original = {"query_id": query.id, **query.other}
    return {"qid": word(query.id), "query": query.text, "original_query": original}


def _topic(query: Entry) -> Iterator[str]:
    yield f" <topic number={quoteattr(word(query.id))}>\n"
    yield f"  <query>{_xml(query.text)}</query>\n"
    yield "  <original_query>\n"
    for name, value in {"query_id": query.id, **query.other}.items():
        yield f"   <{name}>{_xml(str(value))}</{name}>\n"
    yield "  </original_query>\n </topic>\n"


def _xml(text: str) -> str:
    return escape(_NOT_XML.sub(" ", text))
