"""Lucene indexes that others made: a folder, or a name from Pyserini's list of prebuilt indexes."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ids, id_array, translate
from irtoolkit.base.near import did_you_mean
from irtoolkit.retrievers.lucene.indexing import BLANK, LuceneIndex, lucene_directory
from irtoolkit.retrievers.lucene.java import java_class, of_class, thrown_by_java
from irtoolkit.retrievers.task import Task

# The field names of every Anserini index.
ID, CONTENTS = "id", "contents"
# Documents whose ids Java gives at once.
_BLOCK = 50_000


def index_folder(name: str) -> Path:
    """The folder of a Lucene index.

    Args:
        name: a folder, or a name from Pyserini's list, which is downloaded where it is not in
            Pyserini's cache folder.

    Raises:
        InputError: there is no such folder or name, the folder has no Lucene index, or it cannot
            be downloaded.
    """
    path = Path(name)
    if path.is_dir():
        _commit(path)
        return path
    if re.search(r"[/\\]", name):
        raise InputError(f"there is no folder {name}", remedy="name the folder of a Lucene index")
    return _downloaded(name) or _download(name)


def fingerprint_of(folder: Path) -> str:
    """Returns a hash of the file that lists an index's segments, which changes with every commit."""
    return f"lucene index {hashlib.sha256(_commit(folder).read_bytes()).hexdigest()[:16]}"


def open_given(folder: Path, task: Task, *, vectors: bool) -> LuceneIndex:
    """An index of others, for the documents of a task.

    Args:
        folder: the index.
        task: whose candidates are searched for.
        vectors: whether document vectors are needed.

    Raises:
        InputError: Lucene cannot read it, it is not Anserini's, it lacks document vectors, or it
            lacks a candidate that has text.
    """
    reader, doc_ids = _open(folder, fingerprint_of(folder))
    if vectors and not _has_vectors(reader):
        raise InputError(
            f"the index {folder} has no document vectors, which rm3 and rocchio read",
            remedy="index with -storeDocvectors, or take a prebuilt index that has them",
        )
    absent = translate(task.doc_ids, doc_ids) < 0
    if absent.any():
        for doc_id, segments, missing in zip(task.doc_ids, task.docs, absent, strict=True):
            if missing and " ".join(segments).strip(BLANK):
                raise InputError(
                    f"document {doc_id} of {task.dataset_id} is not in the index {folder}",
                    remedy="name an index of this collection",
                )
    return LuceneIndex(reader, doc_ids, frozenset(task.doc_ids[absent].tolist()))


def _commit(folder: Path) -> Path:
    """The file that lists the segments of an index."""
    commits = [path for path in folder.glob("segments_*") if path.is_file()]
    if not commits:
        raise InputError(
            f"the folder {folder} holds no Lucene index", remedy="name the folder with segments_N"
        )
    return max(commits, key=lambda path: int(path.name.rpartition("_")[2], 36))


@cache
def _open(folder: Path, _: str) -> tuple[Any, Ids]:
    """A reader of an index, and the id of each document by Lucene's number; it stays open."""
    try:
        reader = java_class("org.apache.lucene.index.DirectoryReader").open(
            lucene_directory(folder)
        )
        if not _field(reader, ID) or not _field(reader, CONTENTS):
            raise InputError(
                f"the index {folder} lacks the fields {ID} and {CONTENTS} of Anserini's indexes",
                remedy="name an index that Anserini or Pyserini has made",
            )
        return of_class("org.apache.lucene.index.IndexReader", reader), _ids(reader)
    except thrown_by_java() as error:
        reason = getattr(error, "innermessage", None) or error
        raise InputError(
            f"Lucene cannot read the index: {reason}",
            file=folder,
            remedy="it may be damaged, or of another version of Lucene",
        ) from None


def _field(reader: Any, name: str) -> Any:
    infos = java_class("org.apache.lucene.index.FieldInfos").getMergedFieldInfos(reader)
    return infos.fieldInfo(name)


def _has_vectors(reader: Any) -> bool:
    info = _field(reader, CONTENTS)
    # Lucene 10 has renamed it.
    ask = getattr(info, "hasTermVectors", None) or info.hasVectors
    return bool(ask())


def _ids(reader: Any) -> Ids:
    """The id of each document; deleted ones have none.

    Each call to Java takes some 10 µs, so that ids come in blocks, as what a search sorts by.
    """
    searcher = java_class("org.apache.lucene.search.IndexSearcher")(
        of_class("org.apache.lucene.index.IndexReader", reader)
    )
    mapper = java_class("com.fasterxml.jackson.databind.ObjectMapper")()
    field = java_class("org.apache.lucene.search.SortField")
    by_id = field(ID, java_class("org.apache.lucene.search.SortField$Type").STRING_VAL)
    order = java_class("org.apache.lucene.search.Sort")(field.FIELD_DOC, by_id)
    match_all = java_class("org.apache.lucene.search.MatchAllDocsQuery")()
    ids: list[str] = [""] * reader.maxDoc()
    last = None
    while True:
        if last is None:
            top = searcher.search(match_all, _BLOCK, order)
        else:
            top = searcher.searchAfter(last, match_all, _BLOCK, order)
        hits = json.loads(mapper.writeValueAsString(top))["scoreDocs"]
        for hit in hits:
            value = hit["fields"][1]
            start = value["offset"]
            raw = base64.b64decode(value["bytes"])[start : start + value["length"]]
            ids[hit["doc"]] = raw.decode()
        if len(hits) < _BLOCK:
            return id_array(ids)
        last = top.scoreDocs[-1]


def _home() -> Path:
    """Where Pyserini keeps indexes that it has downloaded."""
    named = os.environ.get("PYSERINI_CACHE")
    return Path(named if named else Path("~/.cache/pyserini").expanduser(), "indexes")


def _downloaded(name: str) -> Path | None:
    """A prebuilt index in Pyserini's cache folder: NAME, or lucene-inverted.NAME.DATE.HASH.MD5."""
    pattern = re.compile(rf"(?:.*\.)?{re.escape(name)}(?:\.\d{{8}}\..*)?")
    home = _home()
    folders = sorted(home.iterdir()) if home.is_dir() else []
    matching = [path for path in folders if pattern.fullmatch(path.name) and path.is_dir()]
    complete = [path for path in matching if any(path.glob("segments_*"))]
    return complete[-1] if complete else None


def _download(name: str) -> Path:
    """Downloads a prebuilt index by Pyserini.

    Raises:
        InputError: the name is not on Pyserini's list, or there is no network.
    """
    java_class("java.lang.String")  # Java as irtoolkit starts it
    url = (
        f"download and unpack it elsewhere, and name the folder (--index FOLDER) or put it into"
        f" {_home()}"
    )
    try:
        with contextlib.redirect_stdout(sys.stderr):
            from pyserini import util

            catalogue = {**util.TF_INDEX_INFO, **util.IMPACT_INDEX_INFO}
            if name in catalogue:
                return Path(util.download_prebuilt_index(name, verbose=False))
    except Exception as thrown:  # of urllib, tarfile, Java, and whatever import of Pyserini raises
        reason = (str(thrown).strip() or type(thrown).__name__).splitlines()[0]
        raise InputError(
            f"{name} is no folder, and Pyserini cannot download a prebuilt index here: {reason}",
            remedy=url,
        ) from None
    guess = did_you_mean(name, list(catalogue))
    raise InputError(
        f"{name} is neither a folder nor one of Pyserini's {len(catalogue)} prebuilt indexes",
        remedy=f"{guess}name the folder of a Lucene index",
    )


def term_weights(query_id: str, text: str) -> dict[str, float]:
    """The weights of a query's terms: a JSON object, or terms that are repeated as often as they
    weigh, as in Pyserini's encoded topics.

    Raises:
        InputError: broken JSON, or a weight that is not a number of at least 0.
    """
    if not text.lstrip().startswith("{"):
        terms, counts = np.unique(np.array(text.split(), dtype=object), return_counts=True)
        return dict(zip(terms.tolist(), counts.astype(float).tolist(), strict=True))
    try:
        weights = {str(term): float(weight) for term, weight in json.loads(text).items()}
    except (ValueError, TypeError) as error:
        raise InputError(
            f"query {query_id} is not a JSON object of terms and weights: {error}",
            remedy='for example {"coat": 83, "##s": 12}',
        ) from None
    for term, weight in weights.items():
        if not 0 <= weight < np.inf:
            raise InputError(
                f"query {query_id} gives {term!r} the weight {weight}",
                remedy="weights are numbers of at least 0",
            )
    return weights
