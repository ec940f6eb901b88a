"""The pool to judge: the documents of each query, in a different order for each annotator."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from irtoolkit.apps.annotate.grades import Grades
from irtoolkit.base.durable import write_durably
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath
from irtoolkit.base.ids import is_word
from irtoolkit.base.jsons import load_json
from irtoolkit.base.locks import locked
from irtoolkit.base.plurals import number_of
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.runs import Run
from irtoolkit.runs.trec import raise_error
from irtoolkit.scoring.check_dataset import check_documents, check_topics
from irtoolkit.scoring.check_file import RunFile

FILE = "pool.json"
# Pairs that are judged at most: nobody judges more, and each judgment rewrites its file.
MOST = 100_000
_FORMAT = 1


@dataclass(frozen=True)
class Source:
    """The source of a pool.

    Attributes:
        runs: files of runs, whose union is judged; none for the dataset's own candidates.
        depth: documents of each run and query.
        queries: number of queries to draw; None for all.
        seed: of the queries that are drawn, and of the order of documents.
    """

    runs: tuple[StrPath, ...] = ()
    depth: int = 20
    queries: int | None = None
    seed: int = 0

    def __str__(self) -> str:
        drawn = "" if self.queries is None else f" --queries {self.queries}"
        runs = "".join(f" {name}" for name in self.runs)
        return f"{runs}{f' --depth {self.depth}' if runs else ''}{drawn} --seed {self.seed}".strip()


@dataclass(frozen=True)
class Pool:
    """The pairs to judge.

    Attributes:
        dataset: its id.
        grades: the possible grades.
        seed: of the order of documents.
        documents: query id, in the dataset's order, to the ids of its documents, in order of ids.
        made_with: the arguments it was made with, in words.
    """

    dataset: str
    grades: Grades
    seed: int
    documents: Mapping[str, tuple[str, ...]]
    made_with: str = field(default="", compare=False)

    def __len__(self) -> int:
        """Number of pairs."""
        return sum(map(len, self.documents.values()))

    def order(self, query: str, annotator: str) -> list[str]:
        """Returns the documents of a query in an annotator's order, which no system made.

        Each annotator has another one, so that fatigue does not affect the same documents.
        """
        documents = list(self.documents[query])
        random.Random(f"{self.seed}/{annotator}/{query}").shuffle(documents)
        return documents

    def key(self, annotator: str) -> str:
        """Returns a key that a page must send, so that pages of another pool change nothing."""
        content = json.dumps([annotator, self._content()], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def keep(self, folder: Path) -> None:
        """Writes the pool to a folder, or compares it with an existing one.

        Raises:
            InputError: the folder holds judgments of another pool, or cannot be written.
        """
        path = folder / FILE
        with locked(folder / f".{FILE}.lock"):
            if path.exists():
                self._compare(path)
                return
            record = {"format": _FORMAT, "made_with": self.made_with, **self._content()}
            write_durably(path, json.dumps(record, ensure_ascii=False, indent=1).encode() + b"\n")

    def _content(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "grades": str(self.grades),
            "seed": self.seed,
            "documents": {query: list(doc_ids) for query, doc_ids in self.documents.items()},
        }

    def _compare(self, path: Path) -> None:
        try:
            stored = load_json(path.read_bytes())
            of_it = (stored["dataset"], stored["grades"], stored["documents"], stored["made_with"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"not a pool: {error}", file=path, remedy="name another folder with -o"
            ) from None
        content = self._content()
        difference = next((name for name in content if stored.get(name) != content[name]), None)
        if difference is None:
            return
        pairs = sum(map(len, of_it[2].values()))
        theirs = {
            "dataset": f"of {of_it[0]}, not of {self.dataset}",
            "grades": f"with grades {of_it[1]}, not {self.grades}",
        }.get(
            difference,
            f"of another pool: {number_of(len(of_it[2]), 'queries')} and {number_of(pairs, 'pairs', ',')}, and these"
            f" are {number_of(len(self.documents), 'queries')} and {len(self):,}",
        )
        raise InputError(
            f"the folder holds judgments {theirs}",
            file=path.parent,
            remedy=f"it was made with: {of_it[3]}; continue it so, or name another folder with -o",
        )


def pooled(
    dataset: Dataset, source: Source, grades: Grades, report: Callable[[str], object]
) -> Pool:
    """Returns the pairs of a dataset to judge.

    Args:
        dataset: with queries and documents.
        source: the source of the documents.
        grades: the possible grades.
        report: called with notes for the user: queries that are left out.

    Raises:
        InputError: no queries or documents; no pools and no run; a run with an unknown query or
            document; more queries requested than there are; an id that is not a word.
    """
    query_ids = dataset.query_ids()
    if not query_ids:
        raise InputError(f"{dataset.id} has no queries", remedy="--topics FILE gives some")
    if not dataset.has("docs"):
        raise InputError(f"{dataset.id} has no documents to show")
    if source.runs:
        documents_of = _united(dataset, query_ids, source, report)
    elif dataset.has("scoreddocs"):
        pools = dataset.pools()
        documents_of = {query: set(pools[query]) for query in query_ids if query in pools}
    else:
        raise InputError(
            f"{dataset.id} has no candidate pools",
            remedy="name runs: their first --depth documents are judged",
        )
    drawn = _drawn([query for query in query_ids if documents_of.get(query)], source, dataset.id)
    pairs = sum(len(documents_of[query]) for query in drawn)
    if pairs > MOST:
        raise InputError(
            f"there are {pairs:,} pairs to judge, more than {MOST:,}",
            remedy="--queries N draws queries; runs with --depth K make smaller pools",
        )
    documents = {query: tuple(sorted(set(documents_of[query]))) for query in drawn}
    for name in (*documents, *(doc for doc_set in documents.values() for doc in doc_set)):
        if not is_word(name):
            raise InputError(f"the id {name!r} cannot be written as one field of TREC text")
    return Pool(dataset.id, grades, source.seed, documents, f"{dataset.id} {source}")


def _united(
    dataset: Dataset, query_ids: Sequence[str], source: Source, report: Callable[[str], object]
) -> dict[str, set[str]]:
    """Returns query id to the first documents of any run."""
    documents: dict[str, set[str]] = {query: set() for query in query_ids}
    for name in source.runs:
        file = RunFile.read(name, raise_error)
        check_topics(file, dataset)
        check_documents(file, dataset)
        run = Run.from_trec(file.columns)
        for row, query in enumerate(run.query_ids):
            if query in documents:
                start, stop = run.offsets[row], run.offsets[row + 1]
                rows = run.docs[start : min(stop, start + source.depth)]
                documents[query].update(run.doc_ids[rows].tolist())
    empty = [query for query in query_ids if not documents[query]]
    if len(empty) == len(query_ids):
        raise InputError(f"the runs have no query of {dataset.id}")
    if empty:
        report(
            f"{number_of(len(empty), 'queries')} of {len(query_ids)} are in no run, and left out; the first is {empty[0]}"
        )
    return documents


def _drawn(queries: Sequence[str], source: Source, dataset: str) -> list[str]:
    if source.queries is None:
        return list(queries)
    if source.queries > len(queries):
        raise InputError(
            f"--queries {source.queries}, and {dataset} has {len(queries)} with documents to judge"
        )
    places = random.Random(source.seed).sample(range(len(queries)), source.queries)
    return [queries[i] for i in sorted(places)]
