"""Checks of a collection's files, each by itself and against the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from ir_datasets.formats import GenericDoc, GenericQuery

from irtoolkit.base.errors import InputError
from irtoolkit.base.plurals import number_of
from irtoolkit.base.records import Qrel
from irtoolkit.datasets.local.collection import TitledDoc, TopicQuery, file_hash, read_part
from irtoolkit.datasets.local.contents import Role
from irtoolkit.datasets.local.folder import RoleFiles
from irtoolkit.datasets.local.registry import CollectionRecord, PartRecord
from irtoolkit.datasets.pools import read_pools


def examine(
    folder: Path, files: Mapping[Role, RoleFiles], lang: str | None, *, lenient: bool
) -> tuple[CollectionRecord, tuple[str, ...]]:
    """Reads and checks all files; returns the collection's record and notes for the user.

    Args:
        folder: the folder of the collection.
        files: the files of each role.
        lang: the language code of documents and topics.
        lenient: whether to accept judgments of documents that are not in the collection.

    Raises:
        InputError: a file is invalid, or does not fit the others.
    """
    import pyarrow.compute as pc  # slow to import, and only needed here

    of_topics: dict[Role, str] = {"qrels": "judgments", "pools": "candidates"}
    for role, noun in of_topics.items():
        if role in files and "topics" not in files:
            raise InputError(
                f"{noun} without topics",
                file=files[role].files[0],
                remedy="name the topics with --topics FILE, or leave the"
                f" {noun} out with --{role} none",
            )
    paths = {role: part.files[0] for role, part in files.items()}
    facts: dict[Role, tuple[int, Any]] = {}
    docs = read_part("docs", files["docs"].form, files["docs"].files)
    title, text = docs["title"], docs["text"]
    titled = pc.any(pc.not_equal(title, "")).as_py()
    empty = pc.sum(pc.and_(pc.equal(title, ""), pc.equal(text, ""))).as_py()
    facts["docs"] = len(docs), TitledDoc if titled else GenericDoc
    notes = [f"{number_of(empty, 'documents')} without text"] if empty else []
    if "topics" in files:
        topics = read_part("topics", files["topics"].form, [paths["topics"]])
        longer = any(pc.any(pc.not_equal(topics[c], "")).as_py() for c in topics.column_names[2:])
        facts["topics"] = len(topics), TopicQuery if longer else GenericQuery
    if "qrels" in files:
        qrels = read_part("qrels", files["qrels"].form, [paths["qrels"]])
        notes += _cross_check(paths["qrels"], qrels, topics, docs, lenient=lenient)
        facts["qrels"] = len(qrels), Qrel
    if "pools" in files:
        pools = read_pools(paths["pools"])
        _check_pools(paths["pools"], pools, topics, docs)
        facts["pools"] = len(pools), _Pool
    parts = {role: _part_record(folder, files[role], *fact) for role, fact in facts.items()}
    return CollectionRecord(folder, lang, **parts), tuple(notes)


class _Pool(NamedTuple):
    """The fields of candidates, as the record names them."""

    query_id: str
    doc_ids: list[str]


def _check_pools(
    path: Path, pools: Mapping[str, Sequence[str]], topics: pa.Table, docs: pa.Table
) -> None:
    """Checks that candidates are of all topics, and documents of the collection."""
    queries = topics["query_id"].to_pylist()
    absent = [query for query in queries if query not in pools]
    unknown = set(pools) - set(queries)
    strange = {doc for pool in pools.values() for doc in pool}
    for chunk in docs["doc_id"].chunks:
        strange.difference_update(chunk.to_pylist())
    problem = None
    if unknown:
        problem = f"topic {min(unknown)} has candidates and is not in the file of topics"
    elif absent:
        problem = f"topic {absent[0]} has no candidates"
    elif strange:
        problem = f"candidate {min(strange)} is not in the collection"
    if problem is not None:
        remedy = "name the matching file with --pools FILE, or leave the candidates out with --pools none"
        raise InputError(problem, file=path, remedy=remedy)


def _part_record(folder: Path, role_files: RoleFiles, count: int, record: Any) -> PartRecord:
    files = {
        str(path.relative_to(folder) if path.is_relative_to(folder) else path): file_hash(path)
        for path in role_files.files
    }
    return PartRecord(role_files.form, files, count, record._fields)


def _cross_check(
    path: Path, qrels: pa.Table, topics: pa.Table, docs: pa.Table, *, lenient: bool
) -> list[str]:
    """Checks judgments against topics and documents; returns notes for the user."""
    topic_ids, judged = set(topics["query_id"].to_pylist()), set(qrels["query_id"].to_pylist())
    if not judged <= topic_ids:
        query, line = _first(qrels, "query_id", judged - topic_ids)
        raise InputError(
            f"topic {query} is not in the file of topics",
            file=path,
            line=line,
            remedy="remove its judgments, or name the matching file of topics with --topics",
        )
    unknown = set(qrels["doc_id"].to_pylist())
    for chunk in docs["doc_id"].chunks:
        unknown.difference_update(chunk.to_pylist())
    if unknown and not lenient:
        doc, line = _first(qrels, "doc_id", unknown)
        raise InputError(
            f"document {doc} is not in the collection"
            + (f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""),
            file=path,
            line=line,
            remedy="add the missing documents, or accept such judgments with --lenient",
        )
    notes = []
    if unknown:
        notes.append(f"{number_of(len(unknown), 'judged documents')} not in the collection")
    if len(topic_ids) > len(judged):
        notes.append(
            f"{len(topic_ids - judged)} of {number_of(len(topic_ids), 'topics')} without judgments"
        )
    return notes


def _first(qrels: pa.Table, column: str, ids: set[str]) -> tuple[str, int]:
    """Returns the id and the line of the first judgment whose id is in a set."""
    rows = zip(qrels[column].to_pylist(), qrels["line"].to_pylist(), strict=True)
    return next((name, line) for name, line in rows if name in ids)
