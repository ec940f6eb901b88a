"""Systems as PyTerrier transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.integrations.pyterrier._pyterrier import Frame, Tunable, pt
from irtoolkit.integrations.pyterrier.frames import (
    RANKED,
    asked_in,
    asked_once,
    ranked_frame,
    ranked_rows,
    text_in,
)

if TYPE_CHECKING:
    from irtoolkit.ranking.session import SystemSession
    from irtoolkit.ranking.systems import System
    from irtoolkit.ranking.texts import TextQuery, TextRanking


class _Transformer(Tunable):
    """The common part of Retriever and Reranker: a system, its settings, and its prepared data."""

    # Whether it ranks the documents of another stage again.
    _again = False

    def __init__(
        self, dataset_id: str | None, system: str | System, settings: dict[str, Any], verbose: bool
    ) -> None:
        self.dataset_id, self.system = dataset_id, system
        self.settings, self.verbose = settings, verbose
        self._ranker = self._find()
        self._prepared: SystemSession | None = None

    def _find(self) -> System:
        """Returns the system that the settings say."""
        from irtoolkit.datasets.dataset import Dataset
        from irtoolkit.datasets.identity import DatasetId
        from irtoolkit.ranking.systems import system_of

        if self.dataset_id is not None:
            Dataset.load(self.dataset_id)  # a name that is none is refused now
        dataset = DatasetId.parse(self.dataset_id or "")
        return system_of(self.system, self.settings, dataset, again=self._again)

    @property
    def _ready(self) -> SystemSession:
        from irtoolkit.ranking.session import SystemSession

        if self._prepared is None:
            self._prepared = SystemSession(self._ranker, str(self.dataset_id))
        return self._prepared

    def set_parameter(self, name: str, value: Any) -> None:
        before = self._ranker, self.dataset_id
        super().set_parameter(name, value)
        if (self._ranker, self.dataset_id) != before:
            self._prepared = None

    def _decides(self) -> tuple[Any, ...]:
        return self.dataset_id, self._ranker

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_prepared": None}

    def __repr__(self) -> str:
        parts = [repr(self.dataset_id), repr(self.system)]
        parts += [f"{key}={value!r}" for key, value in self._shown().items()]
        return f"{type(self).__name__}({', '.join(parts)})"

    def _shown(self) -> dict[str, Any]:
        return self.settings


class Retriever(_Transformer):
    """A first stage: queries in, the best of each query's candidates out.

    In: qid, query. Out: the same columns, and docno, score and rank.

    A qid of the dataset ranks the candidates that the dataset has for it: CSFCube's pool, RELiC's
    passages of the book. If `query` is the dataset's text of that query (as from
    `pt.get_dataset("irtoolkit:...").get_topics()`), the system sees the query's record through its
    own view, as the settings or the paper say (query=facet_sentences); so the ranking is that of
    `irtoolkit retrieve`. Any other text, of another field or rewritten by an earlier stage, is
    searched as it is. A qid that is not the dataset's is searched in the whole corpus. If each
    query has candidates of its own, `search` ranks all of them, with a warning; together with qids
    of the dataset, an unknown one is refused.

    The collection is prepared once, when the first query comes, for all the dataset's queries; and
    again for other texts, once for all that come in one frame. So send such texts together.

    Args:
        dataset_id: one of ours, or any ir_datasets id.
        system: a retriever (bm25, dense, ...), a model, a row of a paper's table, or a System.
        depth: documents for each query; None for all.
        verbose: whether to show a progress bar on a terminal.
        settings: the system's, as `irtoolkit retrieve --set` takes them.

    Raises:
        InputError: no such dataset, system or setting; from transform, any error of ranking.
    """

    def __init__(
        self,
        /,
        dataset_id: str,
        system: str | System = "bm25",
        *,
        depth: int | None = 1000,
        verbose: bool = False,
        **settings: Any,
    ) -> None:
        self.depth = depth
        super().__init__(dataset_id, system, settings, verbose)

    def _find(self) -> System:
        if self.depth is not None and self.depth < 1:
            raise InputError(f"depth {self.depth} is not at least 1")
        return super()._find()

    def transform(self, inp: Frame) -> Frame:
        pt.validate.query_frame(inp, ["query"])
        rows = inp.drop(columns=RANKED, errors="ignore")
        queries = asked_once(inp)
        results = (
            self._ready.rank(queries, depth=self.depth, progress=self.verbose) if queries else []
        )
        sizes = np.array([len(result.doc_ids) for result in results], dtype=np.int64)
        return ranked_frame(rows, np.repeat(np.arange(len(sizes)), sizes), results)

    def fuse_rank_cutoff(self, k: int) -> pt.Transformer | None:
        """Ranks no deeper than a following `% k` asks, when PyTerrier compiles a pipeline."""
        if k < 1:
            return None
        if self.depth is not None and self.depth <= k:
            return self
        cut = Retriever(
            str(self.dataset_id), self.system, depth=k, verbose=self.verbose, **self.settings
        )
        cut._prepared = self._prepared
        return cut

    def _decides(self) -> tuple[Any, ...]:
        return (*super()._decides(), self.depth)

    def _shown(self) -> dict[str, Any]:
        return {**({} if self.depth == 1000 else {"depth": self.depth}), **self.settings}


class Reranker(_Transformer):
    """A second stage: ranks the documents that a query comes with again.

    In: qid, query, docno; and text, if no dataset is given. Out: the same rows and columns with new
    score and rank, best first.

    With a dataset the texts are the collection's, in the system's view, and queries are read as
    Retriever reads them; a query that is not the dataset's may have any of its documents. Rows are
    those of `irtoolkit rerank`. A document that is not a candidate of the dataset's query is
    refused.

    Without one, `query` and `text` are compared; term statistics are then those of all texts in the
    frame.

    Args:
        dataset_id: one of ours, or any ir_datasets id; or None.
        system: a cross-encoder, or any other as for Retriever. Its own first stage is left out.
        verbose: whether to show a progress bar on a terminal.
        settings: the system's, as `irtoolkit rerank --set` takes them.

    Raises:
        InputError: no such dataset, system or setting; from transform, any error of ranking.
    """

    _again = True

    def __init__(
        self,
        /,
        dataset_id: str | None,
        system: str | System,
        *,
        verbose: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(dataset_id, system, settings, verbose)
        if dataset_id is None and self._ranker.task.own == "drop":
            raise InputError("self=drop without a dataset, which tells a query's own document")

    def _find(self) -> System:
        from dataclasses import replace

        return replace(super()._find(), first=None)

    def transform(self, inp: Frame) -> Frame:
        from irtoolkit.ranking.texts import rank_texts

        bare = self.dataset_id is None
        pt.validate.result_frame(inp, ["query", "text"] if bare else ["query"])
        rows = inp.drop(columns=["score", "rank"], errors="ignore")
        doc_ids = inp["docno"].astype(str).to_numpy(object)
        queries: list[TextQuery] = []
        row_maps: list[dict[str, int]] = []
        for query, own_rows in asked_in(inp):
            # In the order they come with, which a system may keep among equals.
            best = ranked_rows(inp, doc_ids, own_rows)
            queries.append(query._replace(doc_ids=doc_ids[best].tolist()))
            row_maps.append(dict(zip(doc_ids[best].tolist(), best.tolist(), strict=True)))
            if len(row_maps[-1]) < len(best):
                twice = next(d for d in doc_ids[best] if np.count_nonzero(doc_ids[best] == d) > 1)
                raise InputError(f"document {twice} stands twice for query {query.query_id}")
        results: list[TextRanking] = []
        if bare and queries:
            texts = [text_in(value, "text") for value in inp["text"]]
            documents = [[texts[row] for row in rows_of.values()] for rows_of in row_maps]
            results = rank_texts(self._ranker, queries, documents, progress=self.verbose)
        elif queries:
            results = self._ready.rank(queries, progress=self.verbose)
        pairs = zip(row_maps, results, strict=True)
        places = [rows_of[doc_id] for rows_of, result in pairs for doc_id in result.doc_ids]
        return ranked_frame(rows, np.array(places, dtype=np.int64), results)
