"""The files of a CSFCube release: parsing and checks."""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_lines
from irtoolkit.base.ids import is_word
from irtoolkit.base.plurals import number_of
from irtoolkit.datasets.cache import files_key
from irtoolkit.datasets.csfcube_records import (
    FACETS,
    GRADES,
    LABELS_OF,
    CSFCubeDoc,
    CSFCubeQrel,
    CSFCubeQuery,
)
from irtoolkit.datasets.strictjson import TRUNCATED, line_of, read_json_file, read_jsonl

ABSTRACTS = "abstracts-csfcube-preds.jsonl"
QUERIES = "queries-release.csv"
SPLITS = "evaluation_splits.json"
POOLS = "test-pid2pool-csfcube.json"
ANNOTATIONS = "test-pid2anns-csfcube-{}.json"

_LABELS = {f"{label}_label" for label in ("background", "objective", "method", "result", "other")}
_QUERY_COLUMNS = ("pid", "facet", "year", "title", "paper type")


class CSFCubeRelease(NamedTuple):
    """The parsed files of a release folder."""

    docs: dict[str, CSFCubeDoc]
    queries: list[CSFCubeQuery]
    qrels: dict[str, list[CSFCubeQrel]]
    folds: dict[str, tuple[tuple[str, ...], ...]]

    def of(self, facet: str | None) -> list[CSFCubeQuery]:
        return [query for query in self.queries if facet in (None, query.facet)]


@cache
def read_csfcube(folder: Path, is_built: bool = False) -> CSFCubeRelease:
    """Parses and checks a release folder.

    Args:
        folder: the folder.
        is_built: whether the benchmark was built, and may lack years, facets, and a second fold.

    Raises:
        InputError: a file is truncated, mis-encoded or contradicts another; with file and line.
    """
    docs = _read_docs(folder / ABSTRACTS)
    sources = _read_sources(folder / POOLS)
    qrels = {
        query_id: rows
        for facet in FACETS
        for query_id, rows in _read_grades(folder, facet, docs, sources).items()
    }
    queries = _read_queries(folder / QUERIES, docs, qrels, is_built)
    folds = _read_folds(folder / SPLITS, {query.query_id for query in queries}, is_built)
    return CSFCubeRelease(docs, queries, qrels, folds)


@cache
def docs_key(folder: Path) -> str:
    """Returns a key that changes with the documents of a release folder."""
    return files_key("csfcube", [folder / ABSTRACTS])


def _read_docs(path: Path) -> dict[str, CSFCubeDoc]:
    docs: dict[str, CSFCubeDoc] = {}
    for number, record in read_jsonl(path):
        problem = _doc_problem(record)
        if problem is None and record["paper_id"] in docs:
            problem = f"paper {record['paper_id']} appears twice"
        if problem is not None:
            raise InputError(problem, file=path, line=number, remedy=TRUNCATED)
        docs[record["paper_id"]] = CSFCubeDoc(
            record["paper_id"],
            record["title"],
            tuple(record["abstract"]),
            tuple(label.removesuffix("_label") for label in record["pred_labels"]),
            (record.get("metadata") or {}).get("year"),
        )
    if not docs:
        raise InputError("no papers", file=path, remedy=TRUNCATED)
    return docs


def _doc_problem(record: Any) -> str | None:
    if not isinstance(record, dict) or not isinstance(record.get("paper_id"), str):
        return "not a paper: no paper_id"
    if not is_word(record["paper_id"]):
        return f"the paper_id {record['paper_id']!r} is not one word"
    name = f"paper {record['paper_id']}"
    if not isinstance(record.get("title"), str):
        return f"{name} has no title"
    if not isinstance(record.get("metadata") or {}, dict):
        return f"{name} has metadata that is not an object"
    lists = [record.get(key) for key in ("abstract", "pred_labels")]
    if not all(isinstance(x, list) and all(isinstance(s, str) for s in x) for x in lists):
        return f"{name} needs abstract and pred_labels, both lists of strings"
    if len(lists[0]) != len(lists[1]):  # type: ignore[arg-type]
        return f"{name} has {number_of(len(lists[0]), 'sentences')} and {number_of(len(lists[1]), 'labels')}"  # type: ignore[arg-type]
    strange = [label for label in lists[1] if label not in _LABELS]  # type: ignore[union-attr]
    if strange:
        return f"{name} has the label {strange[0]!r}, not one of {', '.join(sorted(_LABELS))}"
    year = (record.get("metadata") or {}).get("year")
    if year is not None and type(year) is not int:
        return f"{name} has the year {year!r}, which is not a whole number"
    return None if lists[0] else f"{name} has no sentences"


def _read_sources(path: Path) -> dict[str, dict[str, tuple[str, ...]]]:
    pools = _object(path)
    for query, pool in pools.items():
        lists = _parallel(path, query, pool, ("cands", "cand_source"))
        if not all(
            isinstance(doc, str) and isinstance(names, list)
            for doc, names in zip(*lists, strict=True)
        ):
            raise _damaged(
                path, f"the pool of {query} is not ids beside lists of methods", f'"{query}"'
            )
        twice = next((doc for doc, count in Counter(lists[0]).items() if count > 1), None)
        if twice is not None:
            problem = f"candidate {twice} appears twice in the pool of {query}"
            raise _damaged(path, problem, f'"{query}"')
        pools[query] = {doc: tuple(names) for doc, names in zip(*lists, strict=True)}
    return pools


def _read_grades(
    folder: Path,
    facet: str,
    docs: dict[str, CSFCubeDoc],
    sources: dict[str, dict[str, tuple[str, ...]]],
) -> dict[str, list[CSFCubeQrel]]:
    path = folder / ANNOTATIONS.format(facet)
    result: dict[str, list[CSFCubeQrel]] = {}
    for paper, pool in _object(path).items():
        annotators = sorted(key for key in pool if key.startswith("relevance_ann"))
        lists = _parallel(path, paper, pool, ("cands", "relevance_adju", *annotators))
        problem = None
        if len(annotators) != 2:
            problem = f"has the ratings of {number_of(len(annotators), 'annotators')}, not of two"
        elif not lists[0]:
            problem = "has no candidates"
        rows: dict[str, CSFCubeQrel] = {}
        for doc, grade, *ratings in zip(*lists, strict=True):
            fault = None
            if not isinstance(doc, str) or doc not in docs:
                fault = f"has no text in {ABSTRACTS}"
            elif doc in rows:
                fault = "appears twice"
            elif not _is_grade(grade, 0):
                fault = f"has the grade {grade!r}, not one of 0 to 3"
            elif not all(_is_grade(rating, -1) for rating in ratings):
                fault = f"has the ratings {ratings}, not each one of -1 to 3"
            elif doc not in sources.get(paper, {}):
                fault = f"is not in the pool of {POOLS}"
            if fault is not None:
                raise _damaged(path, f"candidate {doc} of {paper} ({facet}) {fault}", f'"{doc}"')
            rows[doc] = CSFCubeQrel(
                f"{paper}_{facet}", doc, grade, tuple(ratings), sources[paper][doc]
            )
        left_out = [doc for doc in sources.get(paper, {}) if doc in docs and doc not in rows]
        if problem is None and left_out:
            problem = f"has no grade for {left_out[0]}, which is in its pool"
        if problem is not None:
            raise _damaged(path, f"query {paper} ({facet}) {problem}", f'"{paper}"')
        result[f"{paper}_{facet}"] = list(rows.values())
    return result


def _is_grade(value: Any, least: int) -> bool:
    return type(value) is int and least <= value <= max(GRADES)


def _read_queries(
    path: Path, docs: dict[str, CSFCubeDoc], qrels: dict[str, list[CSFCubeQrel]], is_built: bool
) -> list[CSFCubeQuery]:
    queries: dict[str, CSFCubeQuery] = {}
    for line, row in list(_query_rows(path)):
        query_id = f"{row['pid']}_{row['facet']}"
        problem = _query_problem(row, docs, is_built)
        if problem is None and query_id not in qrels:
            problem = f"query {query_id} has no judgments"
        # The id of another paper may end in a facet.
        if problem is None and row["facet"] not in FACETS:
            problem = f"the facet {row['facet']!r} is none of {', '.join(FACETS)}"
        if problem is None and query_id in queries:
            problem = f"query {query_id} appears twice"
        if problem is not None:
            raise InputError(problem, file=path, line=line, remedy=TRUNCATED)
        doc = docs[row["pid"]]
        labels = LABELS_OF[row["facet"]]
        chosen = tuple(
            s for s, label in zip(doc.sentences, doc.labels, strict=True) if label in labels
        )
        if not chosen:
            raise _damaged(
                path.with_name(ABSTRACTS),
                f"query paper {row['pid']} has no sentence labelled {row['facet']}",
                f'"{row["pid"]}"',
            )
        queries[query_id] = CSFCubeQuery(
            query_id,
            doc.doc_id,
            row["facet"],
            doc.title,
            doc.sentences,
            doc.labels,
            chosen,
            int(row["year"]) if row["year"] else None,
            row["paper type"],
        )
    unlisted = qrels.keys() - queries.keys()
    if unlisted:
        raise InputError(f"judged query {min(unlisted)} is not listed", file=path, remedy=TRUNCATED)
    return sorted(queries.values(), key=lambda query: FACETS.index(query.facet))


def _query_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yields (line, row) of the CSV file of queries."""
    reader = csv.DictReader(line for _, line in read_lines(path))
    try:
        if reader.fieldnames is None or any(c not in reader.fieldnames for c in _QUERY_COLUMNS):
            problem = f"the columns are {reader.fieldnames}, not {list(_QUERY_COLUMNS)}"
            raise InputError(problem, file=path, line=1, remedy=TRUNCATED)
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        line = reader.line_num or 1
        raise InputError(f"not CSV: {error}", file=path, line=line, remedy=TRUNCATED) from None


def _query_problem(row: dict[str, str], docs: dict[str, CSFCubeDoc], is_built: bool) -> str | None:
    complete = all(row[column] is not None for column in _QUERY_COLUMNS) and row["paper type"]
    if not complete or not (
        re.fullmatch("[0-9]{4}", row["year"]) or (is_built and not row["year"])
    ):
        return "the row is incomplete, or its year is not a number"
    if row["pid"] not in docs:
        return f"query paper {row['pid']} has no text in {ABSTRACTS}"
    return None


def _read_folds(
    path: Path, queries: set[str], is_built: bool
) -> dict[str, tuple[tuple[str, ...], ...]]:
    folds: dict[str, tuple[tuple[str, ...], ...]] = {}
    splits = _object(path)
    for facet in (*FACETS, "all"):
        tests = [splits.get(facet, {}).get(f"fold{i}_test") or [] for i in (1, 2)]
        expected = {q for q in queries if facet == "all" or q.endswith(f"_{facet}")}
        lists = all(isinstance(fold, list) for fold in tests)
        listed = [q for fold in tests for q in fold] if lists else []
        if (
            not lists
            or sorted(map(str, listed)) != sorted(expected)
            or not (is_built or all(tests))
        ):
            raise _damaged(
                path,
                f"fold1_test and fold2_test of {facet} do not split its {number_of(len(expected), 'queries')} in two",
                f'"{facet}"',
            )
        folds[facet] = tuple(tuple(fold) for fold in tests if fold)
    return folds


def _damaged(path: Path, problem: str, near: str) -> InputError:
    """Returns the error for a fault in a file, on the line that contains the text `near`."""
    return InputError(problem, file=path, line=line_of(path, near), remedy=TRUNCATED)


def _object(path: Path) -> dict[str, Any]:
    value = read_json_file(path)
    if not isinstance(value, dict) or not all(isinstance(v, dict) for v in value.values()):
        raise InputError("not an object of objects", file=path, line=1, remedy=TRUNCATED)
    return value


def _parallel(
    path: Path, paper: str, pool: dict[str, Any], keys: tuple[str, ...]
) -> list[list[Any]]:
    lists = [pool.get(key) for key in keys]
    lengths = [len(x) if isinstance(x, list) else None for x in lists]
    if None in lengths or len(set(lengths)) != 1:
        sizes = ", ".join(f"{key} {length}" for key, length in zip(keys, lengths, strict=True))
        raise _damaged(path, f"the lists of {paper} differ in length: {sizes}", f'"{paper}"')
    return lists  # type: ignore[return-value]
