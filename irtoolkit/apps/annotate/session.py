"""A pool, its texts and one annotator's judgments, as the page asks for them."""

from __future__ import annotations

import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from irtoolkit.apps.annotate.pool import Pool
from irtoolkit.apps.annotate.sheet import Sheet, UnknownPairError
from irtoolkit.apps.annotate.showing import parts
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset


class Session:
    """The work of one annotator.

    Args:
        dataset: the queries and documents.
        pool: the pairs.
        folder: the folder of the judgments.
        annotator: their name.

    Raises:
        InputError: see `Sheet`.
    """

    def __init__(self, dataset: Dataset, pool: Pool, folder: Path, annotator: str) -> None:
        self.pool, self.sheet = pool, Sheet(folder, annotator, pool)
        self.key = pool.key(annotator)
        self._dataset, self._queries = dataset, list(pool.documents)
        self._records = {
            record.query_id: record
            for record in dataset.queries
            if record.query_id in pool.documents
        }
        self._orders = {query: pool.order(query, annotator) for query in self._queries}
        self._store = dataset.docs_store()
        # Stores of ir_datasets are made for one thread.
        self._lock = threading.Lock()

    def task(self) -> dict[str, Any]:
        """Returns what there is to judge, and the progress."""
        benchmark = self._dataset.about
        queries = [
            {"documents": len(self._orders[query]), "judged": self.sheet.judged(query)}
            for query in self._queries
        ]
        grades = self.pool.grades
        return {
            "key": self.key,
            "title": self._dataset.id if benchmark is None else benchmark.title,
            "about": "" if benchmark is None else benchmark.description,
            "annotator": self.sheet.annotator,
            "lang": self._dataset.lang,
            "queries": queries,
            "grades": [
                {"grade": grade, "label": grades.labels.get(grade, "")} for grade in grades.values()
            ],
            "file": str(self.sheet.path),
            "pairs": len(self.pool),
            "judged": len(self.sheet),
        }

    def query(self, number: int) -> dict[str, Any]:
        """Returns a query, and its documents in the annotator's order, without their texts.

        Raises:
            UnknownPairError: there is no such query.
        """
        name = self._query(number)
        return {
            "query": name,
            "parts": [asdict(part) for part in parts(self._records[name])],
            "documents": [
                {
                    "document": doc_id,
                    "grade": self.sheet.grade(name, doc_id),
                    "note": self.sheet.note(name, doc_id),
                }
                for doc_id in self._orders[name]
            ],
        }

    def document(self, number: int, position: int) -> dict[str, Any]:
        """Returns a document of a query.

        Raises:
            UnknownPairError: there is no such document.
            InputError: the dataset names a document that it lacks.
        """
        order = self._orders[self._query(number)]
        if not 0 <= position < len(order):
            raise UnknownPairError("this query has no such document")
        with self._lock:
            try:
                record = self._store.get(order[position])
            except KeyError:
                raise InputError(f"{self.pool.dataset} has no document {order[position]}") from None
        return {"document": order[position], "parts": [asdict(part) for part in parts(record)]}

    def _query(self, number: int) -> str:
        if not 0 <= number < len(self._queries):
            raise UnknownPairError("there is no such query")
        return self._queries[number]
