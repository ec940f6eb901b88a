"""Word overlap of a dataset's queries with their relevant documents (PlotRetrieval, Table 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Segments
from irtoolkit.base.progress import tqdm
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.word_overlap import WordSets, word_overlap
from irtoolkit.retrievers.texts import DEFAULT_VIEW, DatasetTexts

# Judgments whose documents are read at once.
_BLOCK = 1 << 12


@dataclass(frozen=True)
class QueryOverlap:
    """The word overlap of a dataset's queries with their relevant documents.

    Attributes:
        queries: number of queries with a relevant document.
        pairs: number of pairs of a query and a relevant document.
        by_pair: mean share of a query's words that a relevant document has, over pairs.
        by_query: mean over queries of the means over their pairs.
    """

    queries: int
    pairs: int
    by_pair: float
    by_query: float


def query_overlap(
    dataset: Dataset,
    words: WordSets,
    *,
    rel: int = 1,
    query: str = DEFAULT_VIEW,
    doc: str = DEFAULT_VIEW,
) -> QueryOverlap:
    """Measures the word overlap of a dataset's queries with their relevant documents.

    Args:
        dataset: a dataset with queries, documents and judgments.
        words: the distinct words of a text; see `irtoolkit.datasets.word_overlap.word_sets`.
        rel: the lowest grade that counts as relevant.
        query, doc: views of queries and documents; see `irtoolkit.retrievers.texts.view`.

    Raises:
        InputError: no judgments, no relevant documents, or a text that is not there.
    """
    qrels = dataset.qrels
    owners = np.repeat(np.arange(len(qrels.query_ids)), np.diff(qrels.offsets))
    relevant = np.flatnonzero(qrels.grades >= rel)
    if not len(relevant):
        raise InputError(f"dataset {dataset.id} has no document of grade {rel} or higher")
    texts = DatasetTexts(dataset)
    query_texts = dict(zip(dataset.query_ids(), texts.queries(query), strict=True))
    docs = texts.docs(qrels.doc_ids, doc, whole=False)
    shares: list[float] = []
    blocks = range(0, len(relevant), _BLOCK)
    for start in tqdm(blocks, dataset.id, disable=None, leave=False):
        rows = relevant[start : start + _BLOCK]
        places = np.unique(qrels.docs[rows])
        doc_words = {
            document: words(" ".join(text))
            for document, text in zip(places, docs[places], strict=True)
        }
        query_words = {
            owner: words(" ".join(_query_text(query_texts, str(qrels.query_ids[owner]), dataset)))
            for owner in np.unique(owners[rows])
        }
        pairs = zip(owners[rows], qrels.docs[rows], strict=True)
        shares += [word_overlap(query_words[owner], doc_words[doc]) for owner, doc in pairs]
    counts = np.bincount(owners[relevant], minlength=len(qrels.query_ids))
    sums = np.bincount(owners[relevant], shares, minlength=len(qrels.query_ids))
    judged = counts > 0
    return QueryOverlap(
        int(judged.sum()),
        len(relevant),
        float(np.mean(shares)),
        float((sums[judged] / counts[judged]).mean()),
    )


def _query_text(texts: Mapping[str, Segments], query_id: str, dataset: Dataset) -> Segments:
    if query_id not in texts:
        raise InputError(f"judged query {query_id} has no text in {dataset.id}")
    return texts[query_id]
