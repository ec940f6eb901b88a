"""RELiC, §2.3: the purposes of critics' quotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.analyses._labelling import Labelling
from irtoolkit.papers.analyses._relic import quotations_of, windows_of
from irtoolkit.papers.analyses.base import Printed


@dataclass(frozen=True)
class RelicTypes(Labelling):
    """Types of quotations in a sample of windows, as people judge them."""

    name: ClassVar[str] = "relic-types"
    title: ClassVar[str] = "RELiC, §2.3 and Table 2: what critics quote for"
    datasets: ClassVar[tuple[str, ...]] = ("relic/val",)
    reported: ClassVar[Mapping[str, Printed]] = {
        "labels": {
            ("claim",): (153, None),
            ("paraphrase",): (25, None),
            ("other",): (13, None),
            ("damaged",): (10, None),
        }
    }
    remarks: ClassVar[tuple[str, ...]] = (
        "The paper annotates 200 held-out windows; its four counts add up to 201.",
    )
    labels: ClassVar[Mapping[str, str]] = {
        "claim": "the quotation is evidence for a more general claim",
        "paraphrase": "it supports a paraphrase of the plot",
        "other": "the text is no literary analysis",
        "damaged": "scanning or cleaning has damaged the text",
    }
    shown: ClassVar[tuple[str, ...]] = ("book", "before", "quotation", "after")

    def rows(self, dataset: Dataset) -> Sequence[Mapping[str, str]]:
        quoted = quotations_of(dataset)
        windows = [window for window in windows_of(dataset) if window.query_id in quoted]
        passages = dataset.docs_store()
        return [
            {
                "query": window.query_id,
                "book": window.book,
                "before": " ".join(window.left),
                "quotation": passages.get(quoted[window.query_id]).text,
                "after": " ".join(window.right),
            }
            for window in windows
        ]
