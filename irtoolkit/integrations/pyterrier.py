"""PyTerrier: our systems as transformers, our collections as datasets, our measures by name.

    import pyterrier as pt
    from irtoolkit.pyterrier import Reranker, Retriever

    dataset = pt.get_dataset("irtoolkit:csfcube/sample")
    bm25 = Retriever("csfcube/sample", "bm25")
    cross = Reranker("csfcube/sample", "cross-encoder/ms-marco-MiniLM-L6-v2")
    pt.Experiment(
        [bm25, bm25 % 100 >> cross], *dataset.get_topicsqrels(), eval_metrics=["nDCGp(p=20)"]
    )

No Java is needed. Rows are those of `irtoolkit retrieve` and `irtoolkit rerank`, in their order; as
in their files no two scores of a query tie, so that whatever sorts the rows again finds this order.

pt.Experiment takes plain means over queries. A benchmark that averages in another way (CSFCube's
folds) is scored as its paper does by `irtoolkit eval`, or by
`irtoolkit.scoring.evaluation.evaluate(Run.of(frame), ...)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import ir_measures
import numpy as np

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.measures.base import ColumnarMeasure

try:
    import pandas as pd
    import pyterrier as pt
except ModuleNotFoundError as error:
    raise needs_extra(error.name or "pyterrier", "pyterrier") from None

if TYPE_CHECKING:
    from irtoolkit.base.ids import Ints
    from irtoolkit.ranking.session import Asked, Found, Session
    from irtoolkit.ranking.systems import System

Frame = pd.DataFrame
# What a ranking gives each row.
_RANKED = ["docno", "score", "rank"]


# -- transformers --------------------------------------------------------------------------------


class _Transformer(pt.Transformer):
    """What Retriever and Reranker share: a system, its settings, and what is prepared for it."""

    def __init__(
        self, dataset_id: str | None, system: str | System, settings: dict[str, Any], verbose: bool
    ) -> None:
        self.dataset_id, self.system = dataset_id, system
        self.settings, self.verbose = settings, verbose
        self._ranker = self._find()
        self._prepared: Session | None = None

    def _find(self) -> System:
        """The system that the settings say."""
        from irtoolkit.datasets.dataset import Dataset

        if self.dataset_id is not None:
            Dataset.load(self.dataset_id)  # a name that is none is refused now
        if isinstance(self.system, str):
            return self._named(self.system)
        if self.settings:
            raise InputError(
                f"settings {', '.join(self.settings)} for a system that is made already",
                remedy="give the system by its name",
            )
        return self.system

    def _named(self, name: str) -> System:
        raise NotImplementedError

    @property
    def _ready(self) -> Session:
        from irtoolkit.ranking.session import Session

        if self._prepared is None:
            self._prepared = Session(self._ranker, str(self.dataset_id))
        return self._prepared

    def get_parameter(self, name: str) -> Any:
        """An attribute, as `depth`; or a setting of the system."""
        known = self._ranker.settings()
        return known[name] if name in known.keys() - vars(self) else super().get_parameter(name)

    def set_parameter(self, name: str, value: Any) -> None:
        """Changes an attribute, or a setting of the system, as pt.GridScan does.

        Raises:
            InputError: no such setting or value; everything is then as before.
        """
        before = dict(vars(self))
        if name in before:
            setattr(self, name, value)
        else:
            self.settings = {**self.settings, name: value}
        try:
            self._ranker = self._find()
        except InputError:
            vars(self).update(before)
            raise
        if (self._ranker, self.dataset_id) != (before["_ranker"], before["dataset_id"]):
            self._prepared = None

    def _decides(self) -> tuple[Any, ...]:
        """Everything that decides what comes out."""
        return type(self), self.dataset_id, self._ranker

    def __eq__(self, other: object) -> bool:
        # Pipelines that begin alike share the work in pt.Experiment(plan="tree").
        return isinstance(other, _Transformer) and self._decides() == other._decides()

    def __hash__(self) -> int:
        return hash(self._decides())

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_prepared": None}

    def __repr__(self) -> str:
        given = [repr(self.dataset_id), repr(self.system)]
        given += [f"{key}={value!r}" for key, value in self._shown().items()]
        return f"{type(self).__name__}({', '.join(given)})"

    def _shown(self) -> dict[str, Any]:
        return self.settings


class Retriever(_Transformer):
    """A first stage: queries in, the best of each query's candidates out.

    In: qid, query. Out: the same columns, and docno, score and rank.

    A qid that is the dataset's ranks the candidates that the dataset has for it: CSFCube's pool,
    RELiC's passages of the book. Where `query` is the dataset's text of that query (what
    `pt.get_dataset("irtoolkit:...").get_topics()` gives), the system is shown the query's record
    through its own view, as the settings or the paper say (query=facet_sentences); so the ranking is
    that of `irtoolkit retrieve`. Any other text, of another field or rewritten by an earlier stage,
    is what is searched for. A qid that is not the dataset's is searched in the whole corpus, and
    refused where each query has candidates of its own.

    The collection is prepared once, when the first query comes, for all the dataset's queries; and
    again for other texts, once for all that come in one frame. So send such texts together.

    Args:
        dataset_id: one of ours, or any ir_datasets id.
        system: a retriever (bm25, dense, ...), a system of a paper, a model, or a System.
        depth: documents for each query; None for all.
        verbose: whether to show a progress bar on a terminal.
        settings: the system's, as `irtoolkit retrieve --set` takes them.

    Raises:
        InputError: no such dataset, system or setting; from transform, what ranking raises.
    """

    def __init__(
        self, /, dataset_id: str, system: str | System = "bm25", *, depth: int | None = 1000,
        verbose: bool = False, **settings: Any,
    ) -> None:  # fmt: skip
        self.depth = depth
        super().__init__(dataset_id, system, settings, verbose)

    def _find(self) -> System:
        if self.depth is not None and self.depth < 1:
            raise InputError(f"depth {self.depth} is not at least 1")
        return super()._find()

    def _named(self, name: str) -> System:
        from irtoolkit.ranking.systems import find_system

        return find_system(name, self.settings, str(self.dataset_id))

    def transform(self, inp: Frame) -> Frame:
        pt.validate.query_frame(inp, ["query"])
        rows = inp.drop(columns=_RANKED, errors="ignore")
        asked = [query for query, _ in _asked(inp)]
        if len(asked) != len(inp):
            twice = inp["qid"][inp["qid"].astype(str).duplicated()].iloc[0]
            raise InputError(f"query {twice} stands twice in the frame")
        found = self._ready.rank(asked, depth=self.depth, progress=self.verbose) if asked else []
        sizes = np.array([len(one.doc_ids) for one in found], dtype=np.int64)
        return _ranked(rows, np.repeat(np.arange(len(sizes)), sizes), found)

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
    """Another stage: ranks the documents that a query comes with again.

    In: qid, query, docno; and text, where no dataset is given. Out: the same rows and columns with
    new score and rank, best first.

    With a dataset the texts are the collection's, in the system's view, and queries are taken as
    Retriever takes them; a query that is not the dataset's may have any of its documents. Rows are those
    of `irtoolkit rerank`. A document that is no candidate of the dataset's query is refused.

    Without one, `query` and `text` are what is compared; term statistics are then those of all
    texts in the frame.

    Args:
        dataset_id: one of ours, or any ir_datasets id; or None.
        system: a cross-encoder, or any other as for Retriever. Its own first stage is left out.
        verbose: whether to show a progress bar on a terminal.
        settings: the system's, as `irtoolkit rerank --set` takes them.

    Raises:
        InputError: no such dataset, system or setting; from transform, what ranking raises.
    """

    def __init__(
        self, /, dataset_id: str | None, system: str | System, *, verbose: bool = False,
        **settings: Any,
    ) -> None:  # fmt: skip
        super().__init__(dataset_id, system, settings, verbose)
        if dataset_id is None and self._ranker.task.own == "drop":
            raise InputError("self=drop without a dataset, which tells a query's own document")

    def _find(self) -> System:
        from dataclasses import replace

        return replace(super()._find(), first=None)

    def _named(self, name: str) -> System:
        from irtoolkit.ranking.systems import find_reranker

        return find_reranker(name, self.settings, self.dataset_id or "")

    def transform(self, inp: Frame) -> Frame:
        from irtoolkit.ranking.session import rank_texts

        bare = self.dataset_id is None
        pt.validate.result_frame(inp, ["query", "text"] if bare else ["query"])
        rows = inp.drop(columns=["score", "rank"], errors="ignore")
        doc_ids = inp["docno"].astype(str).to_numpy(object)
        asked: list[Asked] = []
        at: list[dict[str, int]] = []
        for query, mine in _asked(inp):
            # In the order they come with, which a system may keep among equals.
            best = _best_first(inp, doc_ids, mine)
            asked.append(query._replace(doc_ids=doc_ids[best].tolist()))
            at.append(dict(zip(doc_ids[best].tolist(), best.tolist(), strict=True)))
            if len(at[-1]) < len(best):
                twice = next(d for d in doc_ids[best] if np.count_nonzero(doc_ids[best] == d) > 1)
                raise InputError(f"document {twice} stands twice for query {query.query_id}")
        found: list[Found] = []
        if bare and asked:
            texts = [_text(value, "text") for value in inp["text"]]
            shown = [[texts[row] for row in rows_of.values()] for rows_of in at]
            found = rank_texts(self._ranker, asked, shown, progress=self.verbose)
        elif asked:
            found = self._ready.rank(asked, progress=self.verbose)
        pairs = zip(at, found, strict=True)
        places = [rows_of[doc_id] for rows_of, one in pairs for doc_id in one.doc_ids]
        return _ranked(rows, np.array(places, dtype=np.int64), found)


def _asked(inp: Frame) -> Iterator[tuple[Asked, Ints]]:
    """Each query of a frame in order of appearance, with the numbers of its rows."""
    from irtoolkit.base.ids import encode, offsets_of
    from irtoolkit.ranking.session import Asked

    ids, codes = encode(inp["qid"].astype(str))
    texts = [_text(value, "query") for value in inp["query"]]
    order = np.argsort(codes, kind="stable")
    bounds = offsets_of(codes[order], len(ids))
    for query_id, start, end in zip(ids, bounds[:-1], bounds[1:], strict=True):
        rows = order[start:end]
        first = texts[rows[0]]
        other = next((texts[row] for row in rows if texts[row] != first), None)
        if other is not None:
            raise InputError(f"query {query_id} has two texts, {first!r} and {other!r}")
        yield Asked(query_id, first), rows


def _text(value: Any, column: str) -> str:
    """A text as it stands in a frame; a sequence is one in parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return " ".join(value)
    raise InputError(f"the column {column} holds {value!r}, which is no text")


def _best_first(inp: Frame, doc_ids: Any, rows: Ints) -> Ints:
    """The rows of a query by score, ties as trec_eval orders them; as they stand without scores."""
    if "score" not in inp.columns:
        return rows
    by_id = rows[np.argsort(doc_ids[rows], kind="stable")[::-1]]
    scores = inp["score"].to_numpy(dtype=np.float64, na_value=np.nan)[by_id]
    return by_id[np.argsort(-scores, kind="stable")]


def _ranked(rows: Frame, places: Ints, found: Sequence[Found]) -> Frame:
    """The rows at some places, with what was found there."""
    doc_ids = [doc_id for one in found for doc_id in one.doc_ids]
    scores = [one.scores for one in found]
    ranks = [np.arange(len(one.doc_ids)) + pt.model.FIRST_RANK for one in found]
    kept = rows.iloc[places].reset_index(drop=True)
    if "docno" not in rows.columns:
        kept["docno"] = pd.Series(doc_ids, index=kept.index, dtype="str")
    # In double precision, as PyTerrier adds and multiplies.
    kept["score"] = np.concatenate([*scores, np.empty(0)]).astype(np.float64)
    kept["rank"] = np.concatenate([*ranks, np.empty(0)]).astype(np.int64)
    return kept


# -- datasets ------------------------------------------------------------------------------------


class Provider(pt.datasets.DatasetProvider):
    """What `pt.get_dataset("irtoolkit:relic/val")` asks: any ir_datasets id, ours among them."""

    def get_dataset(self, name: str) -> Dataset:
        """The dataset of an id; KeyError, which PyTerrier wants, where there is none."""
        try:
            return Dataset(name)
        except InputError as error:
            raise KeyError(str(error)) from error

    def list_dataset_names(self) -> list[str]:
        from irtoolkit.datasets import dataset_ids

        return dataset_ids()


class Dataset(pt.datasets.Dataset):
    """An ir_datasets id as irtoolkit takes it: texts are views, whatever the records' fields.

    Unlike `irds:`, topics always have a query, the text that our systems take it for; documents
    always have a text; and candidates stand in their pool's order.

    Raises:
        InputError: no such dataset; from the methods, what the dataset lacks.
    """

    def __init__(self, dataset_id: str) -> None:
        from irtoolkit.datasets.dataset import Dataset

        self.dataset_id = dataset_id
        self._dataset = Dataset.load(dataset_id)

    def irds_ref(self) -> Any:
        """The ir_datasets Dataset."""
        return self._dataset

    def get_topics(self, variant: str | None = None) -> Frame:
        """qid and query; `variant` is a view, a field or several joined by "+"."""
        rows = [
            (record.query_id, " ".join(self._view(record, variant)))
            for record in self._part("queries").queries_iter()
        ]
        return _frame(rows, ["qid", "query"])

    def get_qrels(self, variant: str | None = None) -> Frame:
        """qid, docno and label."""
        if variant is not None:
            raise InputError(f"the qrels of {self.dataset_id} have no variant {variant!r}")
        rows = [
            (row.query_id, row.doc_id, row.relevance) for row in self._part("qrels").qrels_iter()
        ]
        return _frame(rows, ["qid", "docno", "label"])

    def get_topicsqrels(self, variant: str | None = None) -> tuple[Frame, Frame]:
        """Both; `variant` is of the topics."""
        return self.get_topics(variant), self.get_qrels()

    def get_results(self, variant: str | None = None) -> Frame:
        """Every query with its candidates: qid, query, docno, score 0, rank in the pool's order."""
        pools = self._part("scoreddocs")
        topics = self.get_topics(variant)
        found = pd.DataFrame(pools.scoreddocs_iter())
        found = found.rename(columns={"query_id": "qid", "doc_id": "docno"})
        best = found.groupby("qid", sort=False)["score"].rank(ascending=False, method="first")
        found["rank"] = best.astype(np.int64) - 1 + pt.model.FIRST_RANK
        merged: Frame = found.merge(topics, how="left", on="qid")
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
        made: Iterable[dict[str, Any]] = sized(map(self._document, chosen), total)
        return made

    def _document(self, record: Any) -> dict[str, Any]:
        texts = {name: text for name, text in record._asdict().items() if isinstance(text, str)}
        return {"docno": texts.pop("doc_id"), "text": self._doc_text(record, "text"), **texts}

    def text_loader(
        self, fields: str | Sequence[str] = "text", *, verbose: bool = False
    ) -> TextLoader:
        """What pt.text.get_text(dataset) puts into a pipeline; "*" is the text too."""
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
        """The dataset, where it has queries, docs, qrels or scoreddocs."""
        if not self._dataset.has(kind):
            lacks = {"scoreddocs": "candidates of each query: all rank its whole corpus"}
            raise InputError(f"dataset {self.dataset_id} has no {lacks.get(kind, kind)}")
        return self._dataset

    def _view(self, record: Any, name: str | None) -> Sequence[str]:
        from irtoolkit.retrievers.texts import DEFAULT_VIEW, view

        return view(record, name or DEFAULT_VIEW)

    def _doc_text(self, record: Any, name: str) -> str:
        """A view of a document; "text" is the default one of records without such a field."""
        own = name != "text" or "text" in record._fields
        return " ".join(self._view(record, name if own else None))

    def __repr__(self) -> str:
        return f"Dataset({self.dataset_id!r})"


class TextLoader(pt.Transformer):
    """Puts texts of documents into a frame, as columns named by their views.

    Raises:
        InputError: from transform: no such view, or a document that is not in the dataset.
    """

    schematic = {"label": "TextLoader"}  # noqa: RUF012  PyTerrier's way to name it in a diagram

    def __init__(self, dataset: Dataset, fields: str | Sequence[str] = "text") -> None:
        self.dataset = dataset
        named = [fields] if isinstance(fields, str) else [*fields]
        self.fields = ["text"] if named == ["*"] else named

    def transform(self, inp: Frame) -> Frame:
        pt.validate.columns(inp, includes=["docno"])
        wanted = inp["docno"].astype(str).tolist()
        dataset = self.dataset._part("docs")
        texts = {
            doc.doc_id: [self.dataset._doc_text(doc, field) for field in self.fields]
            for doc in dataset.docs_store().get_many_iter(dict.fromkeys(wanted))
        }
        absent = next((doc_id for doc_id in wanted if doc_id not in texts), None)
        if absent is not None:
            raise InputError(f"document {absent} is not in {self.dataset.dataset_id}")
        columns = {
            field: pd.Series([texts[doc_id][at] for doc_id in wanted], index=inp.index, dtype="str")
            for at, field in enumerate(self.fields)
        }
        return inp.assign(**columns)

    def __repr__(self) -> str:
        return f"TextLoader({self.dataset!r}, {self.fields!r})"


def _frame(rows: Sequence[tuple[Any, ...]], columns: list[str]) -> Frame:
    return pd.DataFrame(rows, columns=columns)


# -- measures ------------------------------------------------------------------------------------


def _announce_measures() -> None:
    """Makes our measures known where PyTerrier keeps its list, and parsed where it parses.

    pt.Experiment takes text for trec_eval's names alone ("map"), so not for any of ir_measures' own
    ("nDCG@10"). What is no trec_eval name is now looked for among those.
    """
    for name, measure in ir_measures.measures.registry.items():
        if isinstance(measure, ColumnarMeasure):
            setattr(pt.measures, name, measure)
    original: Callable[[str], list[Any]] = ir_measures.parse_trec_measure

    def parse(name: str) -> list[Any]:
        try:
            return original(name)
        except ValueError:
            measure = _parsed(name)
            if measure is None:
                raise
            return [measure]

    ir_measures.parse_trec_measure = parse


def _aggregate_as_measures_say() -> None:
    """Lets our measures be aggregated as they say in the averages of pt.Experiment.

    It takes the mean of every measure, where ir_measures asks the measure: a median of ranks would be
    printed as their mean.
    """
    from pyterrier._evaluation import _rendering

    if not hasattr(_rendering, "_mean_of_measures"):
        return
    original: Callable[..., dict[str, float]] = _rendering._mean_of_measures

    def means(result: dict[str, dict[str, float]], *args: Any, **kwargs: Any) -> dict[str, float]:
        found: dict[str, float] = original(result, *args, **kwargs)
        for name in found:
            measure = _parsed(name)
            if isinstance(measure, ColumnarMeasure):
                aggregator: Any = measure.aggregator()
                for values in result.values():
                    aggregator.add(values[name])
                found[name] = float(aggregator.result())
        return found

    _rendering._mean_of_measures = means


def _parsed(name: str) -> Any | None:
    """The measure of a name as ir_measures writes it, or None."""
    try:
        measure = ir_measures.parse_measure(name)
        measure.validate_params()
    except Exception:  # ir_measures has no error of its own
        return None
    return measure


_announce_measures()
_aggregate_as_measures_say()
