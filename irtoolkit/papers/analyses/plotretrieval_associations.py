"""PlotRetrieval, §3.1 and Figure 2: kinds of association between readers' texts and the plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.plotretrieval_release import PlotQuery
from irtoolkit.papers.analyses._labelling import Labelling
from irtoolkit.papers.analyses.base import records


@dataclass(frozen=True)
class PlotAssociations(Labelling):
    """Kinds of association between a sample of queries and their passages, as people judge them.

    The paper draws the shares and prints none.
    """

    name: ClassVar[str] = "plotretrieval-associations"
    title: ClassVar[str] = "PlotRetrieval, Figure 2: in what way a reader's text is about the plot"
    datasets: ClassVar[tuple[str, ...]] = ("plotretrieval/test",)
    labels: ClassVar[Mapping[str, str]] = {
        "summarization": "the text summarizes the plot abstractly",
        "expression": "it expresses feelings, analysis or comments",
        "description": "it depicts characters of the plot",
        "vision": "it describes what can be seen",
        "reminiscence": "the plot reminds of another event",
    }
    shown: ClassVar[tuple[str, ...]] = ("book", "text", "passage")

    def rows(self, dataset: Dataset) -> Sequence[Mapping[str, str]]:
        def is_plot(query: object) -> bool:
            return isinstance(query, PlotQuery)

        passages = dataset.docs_store()
        return [
            {
                "query": query.query_id,
                "book": query.book,
                "text": query.text,
                "passage": " … ".join(passages.get(span).text for span in query.spans),
            }
            for query in records(dataset, is_plot, "readers' texts on plots")
        ]
