"""Stored indexes as PyTerrier artifacts, and transformers that search them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath
from irtoolkit.integrations.pyterrier._pyterrier import Frame, Named, Tunable, pd, pt
from irtoolkit.integrations.pyterrier.frames import RANKED, asked_once, ranked_frame

if TYPE_CHECKING:
    from irtoolkit.ranking.texts import TextRanking
    from irtoolkit.retrievers.index import Index as Prepared

_MANIFEST = "manifest.json"
_TYPES = {
    "postings": "sparse_index",
    "impacts": "sparse_index",
    "vectors": "dense_index",
    "faiss": "dense_index",
    "plaid": "dense_index",
}
_FORMAT = "irtoolkit"


class Index(pt.Artifact):
    """An index of irtoolkit as a PyTerrier artifact.

        index = Index("indexes/docs")
        bm25 = index.retriever(num_results=100, k1=1.2)
        bm25.search("which text?")

    `pt.Artifact.load("indexes/docs")` returns it too, and PyTerrier's functions package and share
    it. A folder opens in milliseconds, and nothing is prepared again.

    Args:
        path: the folder of an index, or a result of `ir.index` or `ir.open_index`.

    Raises:
        InputError: there is no index, it is damaged, of another format, or only partly built.
    """

    def __init__(self, path: StrPath | Prepared) -> None:
        from irtoolkit.retrievers.index import Index as Known
        from irtoolkit.retrievers.stored_index import StoredIndex

        self.index: Prepared = path if isinstance(path, Known) else StoredIndex(Path(path))
        stored = self.index if isinstance(self.index, StoredIndex) else None
        super().__init__(self.NO_PATH if stored is None else stored.folder)
        # PyTerrier reads these when it packages the index.
        self.ARTIFACT_TYPE = "index" if stored is None else _TYPES[stored.manifest.kind]
        self.ARTIFACT_FORMAT = _FORMAT

    def retriever(
        self, *, num_results: int = 1000, include_text: bool = False, **settings: Any
    ) -> IndexRetriever:
        """Searches the index: queries in, the best documents of each out.

        Args:
            num_results: documents for each query, at most.
            include_text: whether the rows have the documents' texts, in the column `text`.
            settings: of the search, in place of those the index was built with, for example k1.

        Raises:
            InputError: `num_results` below 1; a setting that is unknown, or that concerns the
                documents.
        """
        return IndexRetriever(self, num_results=num_results, include_text=include_text, **settings)

    def text_loader(self) -> IndexTextLoader:
        """Puts the texts of documents into frames, in the column `text`."""
        return IndexTextLoader(self)

    def __len__(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        return f"Index({str(self.path)!r})" if isinstance(self.path, Path) else repr(self.index)

    def _decides(self) -> Any:
        """Returns the identity of an index, by which two are equal."""
        return str(self.path.resolve()) if isinstance(self.path, Path) else id(self.index)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Index) and self._decides() == other._decides()

    def __hash__(self) -> int:
        return hash(self._decides())


class IndexRetriever(Tunable):
    """A first stage on an index: queries in, the best documents of each out.

    In: qid, query. Out: the same columns, and docno, score and rank; and text, if requested. A
    stored index of terms lists no document that shares no term with the query, except with query
    likelihood, under which every document has a score.

    Args:
        index: an Index, a folder, or a result of `ir.index`.
        num_results, include_text, settings: see `Index.retriever`.

    Raises:
        InputError: see `Index` and `Index.retriever`; from transform, a query without text.
    """

    def __init__(
        self,
        /,
        index: Index | StrPath | Prepared,
        *,
        num_results: int = 1000,
        include_text: bool = False,
        **settings: Any,
    ) -> None:
        self.index = index if isinstance(index, Index) else Index(index)
        self.num_results, self.include_text, self.settings = num_results, include_text, settings
        self._ranker = self._find()

    def _find(self) -> Prepared:
        """Returns the index with the settings."""
        if self.num_results < 1:
            raise InputError(f"num_results={self.num_results} is not at least 1")
        return self.index.index.with_settings(**self.settings)

    def transform(self, inp: Frame) -> Frame:
        pt.validate.query_frame(inp, ["query"])
        rows = inp.drop(columns=RANKED, errors="ignore")
        queries = asked_once(inp)
        results = self._ranked({query.query_id: query.text for query in queries}) if queries else []
        sizes = np.array([len(result.doc_ids) for result in results], dtype=np.int64)
        frame = ranked_frame(rows, np.repeat(np.arange(len(sizes)), sizes), results)
        return _with_texts(frame, self._ranker) if self.include_text else frame

    def _ranked(self, queries: dict[str, str]) -> list[TextRanking]:
        """Returns the hits of each query, as a run has them."""
        from irtoolkit.base.ids import id_array
        from irtoolkit.ranking.texts import TextRanking

        run = self._ranker.search_many(queries, self.num_results)
        row_of = {str(query_id): row for row, query_id in enumerate(run.query_ids)}
        results = []
        for query_id in queries:
            start = end = 0
            if query_id in row_of:
                start, end = run.offsets[row_of[query_id]], run.offsets[row_of[query_id] + 1]
            ids = id_array(run.doc_ids[run.docs[start:end]].tolist())
            results.append(TextRanking(ids, run.scores[start:end]))
        return results

    def fuse_rank_cutoff(self, k: int) -> pt.Transformer | None:
        """Ranks no deeper than a following `% k` asks, when PyTerrier compiles a pipeline."""
        if k < 1:
            return None
        return self if self.num_results <= k else self._like(num_results=k)

    def _like(self, **changed: Any) -> IndexRetriever:
        options = {
            "num_results": self.num_results,
            "include_text": self.include_text,
            **self.settings,
        }
        return IndexRetriever(self.index, **{**options, **changed})

    def _decides(self) -> tuple[Any, ...]:
        settings = json.dumps(self._ranker.settings(), sort_keys=True, default=str)
        return self.index, self.num_results, self.include_text, settings

    def __repr__(self) -> str:
        options: dict[str, Any] = (
            {} if self.num_results == 1000 else {"num_results": self.num_results}
        )
        options |= {"include_text": True} if self.include_text else {}
        parts = [repr(self.index), *(f"{k}={v!r}" for k, v in {**options, **self.settings}.items())]
        return f"IndexRetriever({', '.join(parts)})"


class IndexTextLoader(Named, pt.Transformer):
    """A transformer that adds the texts stored in an index to a frame, as the column text.

    Args:
        index: an Index, a folder, or a result of `ir.index`.

    Raises:
        InputError: from transform: a document that is not in the index.
    """

    def __init__(self, index: Index | StrPath | Prepared) -> None:
        self.index = index if isinstance(index, Index) else Index(index)

    def transform(self, inp: Frame) -> Frame:
        pt.validate.columns(inp, includes=["docno"])
        return _with_texts(inp, self.index.index)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IndexTextLoader) and self.index == other.index

    def __hash__(self) -> int:
        return hash(self.index)

    def __repr__(self) -> str:
        return f"IndexTextLoader({self.index!r})"


def _with_texts(frame: Frame, index: Prepared) -> Frame:
    """Returns a frame with the texts of its documents."""
    doc_ids = frame["docno"].astype(str).tolist()
    texts = index.texts(list(dict.fromkeys(doc_ids)))
    column = pd.Series([texts[doc_id] for doc_id in doc_ids], index=frame.index, dtype="str")
    return frame.assign(text=column)


def artifact_metadata(path: str, names: Sequence[str]) -> dict[str, str] | None:
    """Returns the metadata that PyTerrier needs to load a folder: the type and format of an index.

    Args:
        path: the folder.
        names: the names of its files.
    """
    if _MANIFEST not in names:
        return None
    try:
        kind = json.loads(Path(path, _MANIFEST).read_text("utf-8"))["kind"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    if kind not in _TYPES:
        return None
    return {"type": _TYPES[kind], "format": _FORMAT, "package_hint": "irtoolkit"}
