"""The ways to one ranking: candidates, a corpus in memory, a folder in 1 and 4 shards, processes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.cli import main
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.ranking.systems import find_system
from irtoolkit.runs import Run
from irtoolkit.runs.exact_ranks import read_ranks
from tests.golden.cases import Case
from tests.golden.models import model

DEPTH = 20
SHARDS = 4
# Settings of a task and not of a retriever, which an index does not have.
_OF_TASKS = {"ties", "self", "query", "statistics"}


@dataclass(frozen=True)
class Ways:
    """All ways to rank one dataset; each gives a run of depth 20 with exact ranks.

    Attributes:
        id: of the dataset.
        home: a folder for models and indexes.
    """

    id: str
    home: Path

    def of(self, case: Case) -> dict[str, Callable[[], Run]]:
        """The ways that a case has, by name."""
        settings = dict(case.settings)
        if case.model is not None:
            settings |= {"model": model(case.model, self.home), "device": "cpu"}
        if case.reranks:
            return {"rerank": lambda: self._rerank(case.system, settings)}
        ways = {"dataset": lambda: self._retrieve(self.id, case.system, settings)}
        if case.only is None and not _OF_TASKS & settings.keys():
            ways |= {
                "memory": lambda: self._retrieve(self._in_memory, case.system, settings),
                "one by one": lambda: self._one_by_one(case.system, settings),
            }
            if find_system(case.system, settings).retriever.index_format() is not None:
                ways |= {
                    "1 shard": lambda: self._from_folder(case.system, settings, 1),
                    "4 shards": lambda: self._from_folder(case.system, settings, SHARDS),
                }
        return ways

    def first(self, case: Case) -> Callable[[], Run]:
        """The way that every case has: of the dataset's own candidates, or of the run of bm25."""
        return next(iter(self.of(case).values()))

    def _retrieve(self, data: Any, system: str, settings: dict[str, Any]) -> Run:
        return ir.retrieve(data, system, depth=DEPTH, progress=False, **settings)

    def _rerank(self, system: str, settings: dict[str, Any]) -> Run:
        first = self._retrieve(self.id, "bm25", {})
        return ir.rerank(self.id, first, system, depth=DEPTH, progress=False, **settings)

    def _one_by_one(self, system: str, settings: dict[str, Any]) -> Run:
        """Each query searched alone; a search has no exact ranks."""
        index = ir.index(self._texts, system, progress=False, **settings)
        rows = [
            (query, hit.doc_id, hit.score)
            for query, text in self._queries.items()
            for hit in index.search(text, k=DEPTH)
        ]
        return Run.from_rows(rows, system)

    def _from_folder(self, system: str, settings: dict[str, Any], shards: int) -> Run:
        # Errors name the folder, which is the same wherever the models are.
        decides = json.dumps([self.id, system, settings, shards]).replace(str(self.home), "~")
        digest = hashlib.sha256(decides.encode())
        folder = self.home / "indexes" / digest.hexdigest()[:16]
        names = sorted(self._texts)
        parts = [{name: self._texts[name] for name in names[i::shards]} for i in range(shards)]
        index: Any = ir.index(parts[0], system, folder, progress=False, **settings)
        for part in parts[1:]:
            index = index.add(part)
        topics, qrels = self._files
        out = folder.with_suffix(".run")
        arguments = ["retrieve", folder, "--topics", topics, "--qrels", qrels, "--depth", DEPTH]
        status = main([str(argument) for argument in [*arguments, "-o", out]])
        if status:
            raise InputError(f"retrieve ended with status {status}")
        run = Run.read(out)
        return replace(run.named(system), exact_ranks=read_ranks(out, run))

    # -- the dataset, as texts in memory and as files -----------------------------------------

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {doc.doc_id: doc.default_text() for doc in Dataset.load(self.id).docs_iter()}

    @cached_property
    def _queries(self) -> dict[str, str]:
        return {one.query_id: one.default_text() for one in Dataset.load(self.id).queries_iter()}

    @cached_property
    def _judged(self) -> dict[str, dict[str, int]]:
        judged: dict[str, dict[str, int]] = {}
        for row in Dataset.load(self.id).qrels_iter():
            judged.setdefault(row.query_id, {})[row.doc_id] = row.relevance
        return judged

    @cached_property
    def _in_memory(self) -> Dataset:
        return ir.load(self._texts, queries=self._queries, qrels=self._judged)

    @cached_property
    def _files(self) -> tuple[Path, Path]:
        """The queries and the judgments, as files."""
        topics, qrels = self.home / "topics.jsonl", self.home / "qrels.txt"
        rows = (
            f"{query} 0 {doc} {grade}\n"
            for query, docs in self._judged.items()
            for doc, grade in docs.items()
        )
        topics.write_text(
            "".join(
                json.dumps({"query_id": query, "text": text}) + "\n"
                for query, text in self._queries.items()
            ),
            "utf-8",
        )
        qrels.write_text("".join(rows), "utf-8")
        return topics, qrels
