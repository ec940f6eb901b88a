"""Users' own documents: abstracts in sentences, each with the label of its facet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import local
from irtoolkit.base.ids import is_word
from irtoolkit.base.jsons import write_json_lines
from irtoolkit.base.paths import StrPath
from irtoolkit.datasets.csfcube_records import FACETS, LABELS_OF, CSFCubeDoc, CSFCubeQuery
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.formats import IrDataset
from irtoolkit.datasets.handlers import DocsHandler, QueriesHandler
from irtoolkit.datasets.strictjson import read_jsonl

LABELS = ("background", "objective", "method", "result", "other")
# The names that a record may give to its fields; the release's are among them.
_IDS = ("paper_id", "doc_id", "id", "_id")
_SENTENCES = ("abstract", "sentences")
_LABELS = ("pred_labels", "labels", "facets")
_FORM = (
    'a line is {"id": "7", "title": "...", "abstract": ["A sentence.", ...],'
    ' "labels": ["background", ...]}'
)


def read_documents(paths: Sequence[StrPath]) -> dict[str, CSFCubeDoc]:
    """Returns the documents of JSON lines files by id, in their order.

    A record has an id, a title, its abstract as a list of sentences, a label for each sentence, and
    perhaps a year. The fields may be called as in CSFCube's release.

    Raises:
        InputError: a line that is not such a record, with its number; an id twice; no documents.
    """
    documents: dict[str, CSFCubeDoc] = {}
    for source in paths:
        path = local(source)
        for number, record in read_jsonl(path, by_user=True):
            doc, problem = _document(record)
            if doc is not None and doc.doc_id in documents:
                problem = f"document {doc.doc_id} is there twice"
            if problem or doc is None:
                raise InputError(problem, file=source, line=number, remedy=_FORM)
            documents[doc.doc_id] = doc
    if not documents:
        raise InputError("no documents", file=paths[0] if paths else None, remedy=_FORM)
    return documents


def _document(record: Any) -> tuple[CSFCubeDoc | None, str]:
    """Returns the document of a record, and what is wrong with it."""
    if not isinstance(record, dict):
        return None, "not a document"
    name = _field(record, _IDS)
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    if not isinstance(name, str) or not is_word(name):
        return None, f"a document needs an id without white space, not {name!r}"
    title, sentences = record.get("title"), _field(record, _SENTENCES)
    labels, year = _field(record, _LABELS), _year(record)
    if not isinstance(title, str):
        return None, f"document {name} has no title"
    if isinstance(sentences, str):
        return None, (
            f"the abstract of {name} is one text, not a list of sentences; no labelling of sentences"
            " comes with irtoolkit: the paper's is allenai/sequential_sentence_classification"
        )
    if not _strings(sentences) or not sentences:
        return None, f"document {name} has no list of sentences"
    if not _strings(labels):
        return None, (
            f"document {name} has no list of labels; no labelling of sentences comes with irtoolkit:"
            " the paper's is allenai/sequential_sentence_classification"
        )
    plain = [label.removesuffix("_label") for label in labels]
    strange = next((label for label in plain if label not in LABELS), None)
    if len(plain) != len(sentences):
        return None, f"document {name} has {len(sentences)} sentences and {len(plain)} labels"
    if strange is not None:
        return None, f"document {name} has the label {strange!r}, not one of {', '.join(LABELS)}"
    if year is not None and (isinstance(year, bool) or not isinstance(year, int)):
        return None, f"document {name} has the year {year!r}, which is not a whole number"
    return CSFCubeDoc(name, title, tuple(sentences), tuple(plain), year), ""


def _field(record: dict[str, Any], names: Iterable[str]) -> Any:
    return next((record[name] for name in names if name in record), None)


def _year(record: dict[str, Any]) -> Any:
    metadata = record.get("metadata")
    return record.get("year", metadata.get("year") if isinstance(metadata, dict) else None)


def _strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def facet_sentences(doc: CSFCubeDoc, facet: str) -> tuple[str, ...]:
    """Returns the sentences of a facet; background has those labelled objective, too (§3)."""
    pairs = zip(doc.sentences, doc.labels, strict=True)
    return tuple(sentence for sentence, label in pairs if label in LABELS_OF[facet])


def facets_of(doc: CSFCubeDoc) -> list[str]:
    """Returns the facets that a document has sentences of."""
    return [facet for facet in FACETS if facet_sentences(doc, facet)]


def write_documents(path: Path, docs: Iterable[CSFCubeDoc]) -> None:
    """Writes documents as the release has them."""
    write_json_lines(
        path,
        (
            {
                "paper_id": doc.doc_id,
                "metadata": {"year": doc.year},
                "title": doc.title,
                "abstract": list(doc.sentences),
                "pred_labels": [f"{label}_label" for label in doc.labels],
            }
            for doc in docs
        ),
    )


def corpus_of(docs: dict[str, CSFCubeDoc], queries: Sequence[CSFCubeQuery]) -> Dataset:
    """Returns a dataset whose queries rank all documents."""
    source = IrDataset(
        DocsHandler(lambda: docs, CSFCubeDoc, "csfcube", "en"),
        QueriesHandler(lambda: list(queries), CSFCubeQuery, "csfcube", "en"),
    )
    return Dataset("csfcube", source, in_memory=True)
