"""Collections as PyTerrier datasets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.integrations.pyterrier._pyterrier import Frame, Named, pd, pt


class Provider(pt.datasets.DatasetProvider):
    """The provider of `pt.get_dataset("irtoolkit:relic/val")`, for all ids of ir_datasets."""

    def get_dataset(self, name: str) -> Dataset:
        """Returns the dataset of an id.

        Raises KeyError, as PyTerrier requires, if there is none.
        """
        try:
            return Dataset(name)
        except InputError as error:
            raise KeyError(str(error)) from error

    def list_dataset_names(self) -> list[str]:
        from irtoolkit.datasets import dataset_ids

        return dataset_ids()


class Dataset(pt.datasets.Dataset):
    """An ir_datasets id as irtoolkit reads it: texts are views, whatever the records' fields.

    Unlike `irds:`, topics always have a query, the text that our systems use; documents always have
    a text; and candidates are in their pool's order.

    Raises:
        InputError: no such dataset; from the methods, if the dataset lacks the part.
    """

    def __init__(self, dataset_id: str) -> None:
        from irtoolkit.datasets.dataset import Dataset

        self.dataset_id = dataset_id
        self._dataset = Dataset.load(dataset_id)

    def irds_ref(self) -> Any:
        """Returns the ir_datasets Dataset."""
        return self._dataset

    def get_topics(self, variant: str | None = None) -> Frame:
        """Returns qid and query; `variant` is a view, a field or several joined by "+"."""
        rows = [
            (record.query_id, " ".join(self._view(record, variant)))
            for record in self._part("queries").queries_iter()
        ]
        return _frame(rows, ["qid", "query"])

    def get_qrels(self, variant: str | None = None) -> Frame:
        """Returns qid, docno and label."""
        if variant is not None:
            raise InputError(f"the qrels of {self.dataset_id} have no variant {variant!r}")
        rows = [
            (row.query_id, row.doc_id, row.relevance) for row in self._part("qrels").qrels_iter()
        ]
        return _frame(rows, ["qid", "docno", "label"])

    def get_topicsqrels(self, variant: str | None = None) -> tuple[Frame, Frame]:
        """Returns topics and qrels; `variant` is of the topics."""
        return self.get_topics(variant), self.get_qrels()

    def get_results(self, variant: str | None = None) -> Frame:
        """Returns every query with its candidates: qid, query, docno, score 0, rank in the pool."""
        pools = self._part("scoreddocs")
        topics = self.get_topics(variant)
        frame = pd.DataFrame(pools.scoreddocs_iter())
        frame = frame.rename(columns={"query_id": "qid", "doc_id": "docno"})
        best = frame.groupby("qid", sort=False)["score"].rank(ascending=False, method="first")
        frame["rank"] = best.astype(np.int64) - 1 + pt.model.FIRST_RANK
        merged: Frame = frame.merge(topics, how="left", on="qid")
        return merged[["qid", "query", "docno", "score", "rank"]]

    def get_corpus_iter(
        self, verbose: bool = True, start: int = 0, count: int | None = None
    ) -> Iterable[dict[str, Any]]:
        """Documents as dicts: docno, text, and other fields that are texts."""
        docs = self._part("docs").docs_iter()
        end = None if count is None else start + count
        total = len(range(*slice(start, end).indices(self._dataset.docs_count())))
        chosen = docs[start:end] if start or count is not None else docs
        if verbose:
            chosen = pt.tqdm(chosen, desc=f"{self.dataset_id} documents", total=total)
        sized: Any = pt.utils.GeneratorLen
        documents: Iterable[dict[str, Any]] = sized(map(self._document, chosen), total)
        return documents

    def _document(self, record: Any) -> dict[str, Any]:
        texts = {name: text for name, text in record._asdict().items() if isinstance(text, str)}
        return {"docno": texts.pop("doc_id"), "text": self._doc_text(record, "text"), **texts}

    def text_loader(
        self, fields: str | Sequence[str] = "text", *, verbose: bool = False
    ) -> TextLoader:
        """Returns a text loader for pt.text.get_text(dataset); "*" is the text too."""
        return TextLoader(self, fields)

    def get_corpus_lang(self) -> str | None:
        lang: str | None = self._dataset.docs_lang() if self._dataset.has_docs() else None
        return lang

    def get_topics_lang(self) -> str | None:
        lang: str | None = self._dataset.queries_lang() if self._dataset.has_queries() else None
        return lang

    def info_url(self) -> str | None:

        ours = self._dataset.about
        return (ours and ours.url) or None

    def _describe_component(self, component: str) -> bool | None:
        parts = {"topics": "queries", "qrels": "qrels", "corpus": "docs", "results": "scoreddocs"}
        return (component in parts and self._dataset.has(parts[component])) or None

    def _part(self, kind: str) -> Any:
        """Returns the dataset; raises InputError if it lacks queries, docs, qrels or scoreddocs."""
        if not self._dataset.has(kind):
            lacks = {"scoreddocs": "candidates of each query: all rank its whole corpus"}
            raise InputError(f"dataset {self.dataset_id} has no {lacks.get(kind, kind)}")
        return self._dataset

    def _view(self, record: Any, name: str | None) -> Sequence[str]:
        from irtoolkit.retrievers.texts import DEFAULT_VIEW, view

        return view(record, name or DEFAULT_VIEW)

    def _doc_text(self, record: Any, name: str) -> str:
        """Returns a view of a document.

        "text" is the default one of records without such a field.
        """
        readable = name != "text" or "text" in record._fields
        return " ".join(self._view(record, name if readable else None))

    def __repr__(self) -> str:
        return f"Dataset({self.dataset_id!r})"


class TextLoader(Named, pt.Transformer):
    """A transformer that adds texts of documents to a frame, as columns named by their views.

    Args:
        dataset: a dataset, or its id.
        fields: views of its documents.

    Raises:
        InputError: no such dataset; from transform: no such view, or a document that is not in the dataset.
    """

    schematic = {"label": "TextLoader"}  # noqa: RUF012  PyTerrier's way to name it in a diagram

    def __init__(self, dataset: Dataset | str, fields: str | Sequence[str] = "text") -> None:
        self.dataset = Dataset(dataset) if isinstance(dataset, str) else dataset
        if not isinstance(self.dataset, Dataset):
            raise InputError(
                f"{type(dataset).__name__} is no dataset of irtoolkit for PyTerrier",
                remedy="give an id, such as csfcube/sample",
            )
        named = [fields] if isinstance(fields, str) else [*fields]
        self.fields = ["text"] if named == ["*"] else named

    def transform(self, inp: Frame) -> Frame:
        pt.validate.columns(inp, includes=["docno"])
        doc_ids = inp["docno"].astype(str).tolist()
        dataset = self.dataset._part("docs")
        texts = {
            doc.doc_id: [self.dataset._doc_text(doc, field) for field in self.fields]
            for doc in dataset.docs_store().get_many_iter(dict.fromkeys(doc_ids))
        }
        absent = next((doc_id for doc_id in doc_ids if doc_id not in texts), None)
        if absent is not None:
            raise InputError(f"document {absent} is not in {self.dataset.dataset_id}")
        columns = {
            field: pd.Series([texts[doc_id][i] for doc_id in doc_ids], index=inp.index, dtype="str")
            for i, field in enumerate(self.fields)
        }
        return inp.assign(**columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextLoader) and self._decides() == other._decides()

    def __hash__(self) -> int:
        return hash(self._decides())

    def _decides(self) -> tuple[Any, ...]:
        """Returns everything that decides the output."""
        return self.dataset.dataset_id, tuple(self.fields)

    def __repr__(self) -> str:
        return f"TextLoader({self.dataset!r}, {self.fields!r})"


def _frame(rows: Sequence[tuple[Any, ...]], columns: list[str]) -> Frame:
    return pd.DataFrame(rows, columns=columns)
