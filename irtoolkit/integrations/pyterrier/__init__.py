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

from irtoolkit.integrations.pyterrier.datasets import Dataset, Provider, TextLoader
from irtoolkit.integrations.pyterrier.indexes import (
    Index,
    IndexRetriever,
    IndexTextLoader,
    artifact_metadata,
)
from irtoolkit.integrations.pyterrier.measures import (
    aggregate_as_measures_say,
    announce_measures,
)
from irtoolkit.integrations.pyterrier.transformers import Reranker, Retriever

announce_measures()
aggregate_as_measures_say()

__all__ = [
    "Dataset",
    "Index",
    "IndexRetriever",
    "IndexTextLoader",
    "Provider",
    "Reranker",
    "Retriever",
    "TextLoader",
    "artifact_metadata",
]
