"""RELiC, Table A10: how long queries and documents are, beside the collections of BEIR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.tables import TableCell
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.analyses.base import Analysis, Column, FigureTable, Findings, Given, Printed

_BEIR: Mapping[str, tuple[int, int, float, float, float]] = {
    "beir/msmarco/dev": (6980, 8841823, 1.1, 5.96, 55.98),
    "beir/trec-covid": (50, 171332, 493.5, 10.60, 160.77),
    "beir/nfcorpus/test": (323, 3633, 38.2, 3.30, 232.26),
    "beir/nq": (3452, 2681468, 1.2, 9.16, 78.88),
    "beir/hotpotqa/test": (7405, 5233329, 2.0, 17.61, 46.30),
    "beir/fiqa/test": (648, 57638, 2.6, 10.77, 132.32),
    "beir/arguana": (1406, 8674, 1.0, 192.98, 166.80),
    "beir/webis-touche2020": (49, 382545, 19.0, 6.55, 292.37),
    "beir/quora/test": (10000, 522931, 1.6, 9.53, 11.44),
    "beir/dbpedia-entity/test": (400, 4635922, 38.2, 5.39, 49.68),
    "beir/scidocs": (1000, 25657, 4.9, 9.38, 176.19),
    "beir/fever/test": (6666, 5416568, 1.2, 8.13, 84.76),
    "beir/climate-fever": (1535, 5416593, 3.0, 20.13, 84.76),
    "beir/scifact/test": (300, 5183, 1.1, 12.37, 213.63),
}


@dataclass(frozen=True)
class RelicWords(Analysis):
    """Queries, documents, relevant documents of a query, and words of both, of any datasets.

    A document is one of a query's candidates; words are parts between white space.
    """

    name: ClassVar[str] = "relic-words"
    title: ClassVar[str] = "RELiC, Table A10: words of queries and documents, beside BEIR"
    datasets: ClassVar[tuple[str, ...]] = ("relic/val",)
    several: ClassVar[bool] = True
    reported: ClassVar[Mapping[str, Printed]] = {
        "words": {
            **{(name,): figures for name, figures in _BEIR.items()},
            ("relic/val",): (9036, 5041, 1.0, 154.1, 45.5),
        }
    }

    def find(self, inputs: Given) -> Findings:
        rows = {dataset.id: _figures(dataset) for dataset in inputs.datasets}
        columns = (
            Column("queries", 0),
            Column("documents", 0),
            Column("relevant", 1),
            Column("query words"),
            Column("document words"),
        )
        title = "Words of queries and documents"
        note = "Documents are the candidates of a query, on average."
        table = FigureTable.of("words", title, "dataset", columns, rows)
        return Findings((table,), notes=(note,))


def _figures(dataset: Dataset) -> tuple[TableCell, ...]:
    """Returns queries, candidates and relevant documents of one, and words of both, on average."""
    from irtoolkit.base.progress import tqdm

    queries = dataset.queries
    if not queries or not dataset.has("docs"):
        raise InputError(f"dataset {dataset.id} has no queries or no documents")
    words = [len(query.default_text().split()) for query in queries]
    relevant = dataset.relevant()
    total = count = 0
    for doc in tqdm(dataset.docs_iter(), dataset.id, disable=None, leave=False):
        total, count = total + len(doc.default_text().split()), count + 1
    sizes = [len(pool) for ids, pool in dataset.candidates() for _ in ids]
    golds = float(np.mean([len(docs) for docs in relevant.values()])) if relevant else None
    return (len(queries), round(float(np.mean(sizes))), golds, float(np.mean(words)), total / count)
