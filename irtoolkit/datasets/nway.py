"""Choosing the gold among a few candidates: the papers' proxy tasks as derived datasets.

`DATASET/N-way` ranks N candidates for each query of a dataset: its gold and N - 1 others that
`irtoolkit choices` has picked before, from the top of a run or at random. RELiC's proxy task (§4)
is `relic/{split}/proxy`, which is 3-way; PlotRetrieval's (§5.3) is `plotretrieval/{split}/20-way`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import ir_datasets

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text
from irtoolkit.datasets.benchmark import Statistic
from irtoolkit.datasets.handlers import PoolsHandler, QrelsHandler, QueriesHandler
from irtoolkit.datasets.strictjson import read_jsonl

_ID = re.compile(r"^(.+)/(?:([2-9]|[1-9][0-9]{1,2})-way|proxy)$")
PROXY_WAYS = 3
# One gold: being first is being right.
MEASURES = ("Success@1",)


class NWayCandidates(NamedTuple):
    """The candidates of one query, in an order that tells nothing."""

    query_id: str
    doc_ids: list[str]


def parse_nway_id(dataset_id: str) -> tuple[str, int]:
    """The dataset that a choice is derived from, and the number of candidates.

    Raises:
        InputError: the id does not end in /N-way or /proxy.
    """
    match = _ID.match(dataset_id)
    if match is None:
        raise InputError(
            f"{dataset_id!r} names no choice of candidates",
            remedy="for example relic/val/proxy or plotretrieval/val/20-way",
        )
    return match[1], int(match[2] or PROXY_WAYS)


def nway_path(dataset_id: str) -> Path:
    """Where the picked candidates of a dataset are kept."""
    home: Path = ir_datasets.util.home_path()
    return home / "irtoolkit" / "choices" / f"{dataset_id}.jsonl"


def write_nway(dataset_id: str, choices: list[NWayCandidates], made: Mapping[str, Any]) -> Path:
    """Keeps the candidates of a dataset; `made` says how they were picked."""
    path, base = nway_path(dataset_id), ir_datasets.load(parse_nway_id(dataset_id)[0])
    made = {"dataset": dataset_id, "data": _judged(base), **made}
    with atomic_text(path) as out:
        out.write(json.dumps(made) + "\n")
        for choice in choices:
            out.write(json.dumps(choice._asdict(), ensure_ascii=False) + "\n")
    return path


def read_nway(dataset_id: str) -> list[NWayCandidates]:
    """The kept candidates of a dataset.

    Raises:
        InputError: there are none yet; or the file is damaged.
    """
    path, made = nway_path(dataset_id), f"irtoolkit choices {dataset_id} RUN"
    if not path.is_file():
        raise InputError(
            f"the candidates of {dataset_id} have not been picked here", remedy=f"run: {made}"
        )
    ways = parse_nway_id(dataset_id)[1]
    lines = read_jsonl(path)
    _, head = next(lines, (1, None))
    base = ir_datasets.load(parse_nway_id(dataset_id)[0])
    if not isinstance(head, dict) or head.get("data") != _judged(base):
        raise InputError(
            "candidates of other data than there are now",
            file=path,
            line=1,
            remedy=f"run again: {made}",
        )
    choices = []
    for number, row in lines:
        if not _is_choice(row, ways):
            raise InputError("not a choice", file=path, line=number, remedy=f"run again: {made}")
        choices.append(NWayCandidates(**row))
    return choices


def _is_choice(row: Any, ways: int) -> bool:
    if not isinstance(row, dict) or row.keys() != set(NWayCandidates._fields):
        return False
    ids = row["doc_ids"]
    return isinstance(ids, list) and len(ids) == ways == len({str(doc_id) for doc_id in ids})


def _judged(base: Any) -> str:
    """A hash of a dataset's relevant documents: what was picked for others is worth nothing."""
    golds = sorted((row.query_id, row.doc_id) for row in base.qrels_iter() if row.relevance > 0)
    return hashlib.sha256(str(golds).encode()).hexdigest()


def register(add: Callable[[str, ir_datasets.Dataset], None]) -> None:
    """Lets ir_datasets know the form of the ids; there may be one for every other dataset."""
    ir_datasets.registry.register_pattern(_ID.pattern, _derived)


def _derived(dataset_id: str, groups: tuple[str, str | None]) -> ir_datasets.Dataset:
    base_id, ways = parse_nway_id(dataset_id)
    base = ir_datasets.load(base_id)
    if not hasattr(base, "irtoolkit") or not base.has_qrels():
        raise KeyError(dataset_id)
    about = base.irtoolkit()

    def queries() -> list[Any]:
        chosen = {choice.query_id for choice in read_nway(dataset_id)}
        return [query for query in base.queries_iter() if query.query_id in chosen]

    def judgments() -> Iterator[Any]:
        chosen = {choice.query_id: set(choice.doc_ids) for choice in read_nway(dataset_id)}
        rows = base.qrels_iter()
        return (row for row in rows if row.doc_id in chosen.get(row.query_id, ()))

    def statistics() -> list[Statistic]:
        return [Statistic("Queries", len(read_nway(dataset_id))), Statistic("Candidates", ways)]

    return ir_datasets.Dataset(
        base.docs_handler(),
        QueriesHandler(queries, base.queries_cls(), base.queries_namespace(), base.queries_lang()),
        QrelsHandler(judgments, base.qrels_cls(), base.qrels_defs()),
        PoolsHandler(lambda: read_nway(dataset_id)),
        replace(
            about,
            title=f"{about.title}, {ways} candidates",
            description=f"The gold among {ways} candidates.",
            measures=MEASURES,
            averaging="accuracy: the share of queries whose gold comes first",
            folds=tuple,
            statistics_of=statistics,
            breakdowns={},
            listed=False,
        ),
    )
