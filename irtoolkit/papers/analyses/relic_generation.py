"""Literary evidence by generation: how many quotations that models write are the right ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.long_context_relic import examples
from irtoolkit.datasets.long_context_relic_release import SUBSETS, Example
from irtoolkit.datasets.strictjson import read_jsonl
from irtoolkit.papers.analyses.base import Analysis, Column, FigureTable, Findings, Given

# A quotation is right if RapidFuzz' partial ratio with the answer is above this.
THRESHOLD = 90.0
# The subset that people answered, and the name under which the release has their responses.
PEOPLE = "human"
_EDIT = 'a line is {"query_id": "1", "text": "..."}'


@dataclass(frozen=True)
class RelicGeneration(Analysis):
    """Accuracy of the quotations that language models write for masked literary analysis.

    A quotation is right if its partial ratio with the answer is above 90, apart from case and
    punctuation, as in the release's evaluation script. An empty response is wrong. Published
    responses are those of the release's columns response_MODEL.

    Attributes:
        texts: a file from `llm-quotation --set texts=FILE`, or other JSON lines with query_id and
            text; its quotations are scored beside the published responses.
    """

    name: ClassVar[str] = "relic-generation"
    title: ClassVar[str] = (
        "Long-context RELiC (Thai and Iyyer 2025): accuracy of the quotations that models write"
    )
    datasets: ClassVar[tuple[str, ...]] = ("long-context-relic",)

    texts: str | None = None

    def find(self, inputs: Given) -> Findings:
        rows = examples(inputs.datasets[0])
        models = list(dict.fromkeys(name for row in rows for name in row.responses))
        responses = {name: {row.query_id: row.responses[name] for row in rows} for name in models}
        if self.texts is not None:
            path = Path(self.texts)
            if path.name in {PEOPLE, *responses}:
                raise InputError(
                    f"published responses are named {path.name}",
                    file=path,
                    remedy="rename the file",
                )
            responses = {path.name: _read(path, {row.query_id for row in rows}), **responses}
        if not responses:
            raise InputError(
                f"{inputs.datasets[0].id} has no published responses",
                remedy="give a model's with --set texts=FILE; llm-quotation writes such a file",
            )
        lines = {name: _figures(name, rows, texts) for name, texts in responses.items()}
        columns = (
            Column("accuracy, %", 1),
            Column("right", 0),
            Column("of", 0),
            *(Column(f"{subset}, %", 1) for subset in SUBSETS),
            Column("length ratio", 2),
        )
        title = "quotations that are the masked one"
        return Findings((FigureTable.of("accuracy", title, "model", columns, lines),))


def _figures(
    name: str, rows: Sequence[Example], texts: Mapping[str, str]
) -> tuple[float | None, ...]:
    """Returns the figures of one model; people answered the subset human alone."""
    if name == PEOPLE:
        rows = [row for row in rows if PEOPLE in row.subsets]
    right = {row.query_id: is_right(texts.get(row.query_id, ""), row.answer) for row in rows}
    shares = []
    for subset in SUBSETS:
        members = [row.query_id for row in rows if subset in row.subsets]
        share = 100 * sum(right[query] for query in members) / len(members) if members else None
        shares.append(share)
    ratios = [len(texts[row.query_id]) / len(row.answer) for row in rows if texts.get(row.query_id)]
    count, total = sum(right.values()), len(rows)
    mean_ratio = sum(ratios) / len(ratios) if ratios else None
    return (100 * count / total if total else None, count, total, *shares, mean_ratio)


def is_right(text: str, answer: str) -> bool:
    """Returns whether a written quotation is the right one."""
    from rapidfuzz import fuzz, utils

    ratio = fuzz.partial_ratio(answer, text, processor=utils.default_process)
    return bool(text) and ratio > THRESHOLD


def _read(path: Path, query_ids: set[str]) -> dict[str, str]:
    """Returns query id to text of the queries among some, from a file of texts."""
    texts: dict[str, str] = {}
    for line, row in read_jsonl(path, by_user=True):
        record = row if isinstance(row, dict) else {}
        query_id, text = record.get("query_id"), record.get("text")
        if not isinstance(query_id, str) or not isinstance(text, str):
            raise InputError("no query_id and text", file=path, line=line, remedy=_EDIT)
        if query_id in texts:
            raise InputError(f"query {query_id} appears twice", file=path, line=line)
        texts[query_id] = text.strip()
    if not texts.keys() & query_ids:
        raise InputError(
            "no text is of a query of the dataset", file=path, remedy="name the dataset it is of"
        )
    return {query_id: text for query_id, text in texts.items() if query_id in query_ids}
