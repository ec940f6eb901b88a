"""N-way tasks as derived datasets: find the gold document among a few candidates.

`DATASET/N-way` ranks N candidates for each query of a dataset: its gold document and N - 1 others,
which `irtoolkit nway` picks from the top of a run or at random. RELiC's proxy task (§4) is
`relic/{split}/proxy`, which is 3-way; PlotRetrieval's (§5.3) is `plotretrieval/{split}/20-way`. A
word after the number tells tasks with other candidates apart: `relic/val/proxy-errors`. A view of a
dataset, for example `relic/val/1-1/proxy`, has the candidates of the whole one, `relic/val/proxy`,
unless it has its own.
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
from irtoolkit.datasets.built import built_dataset, built_folder
from irtoolkit.datasets.handlers import PoolsHandler, QrelsHandler, QueriesHandler
from irtoolkit.datasets.registration import Registered
from irtoolkit.datasets.strictjson import read_jsonl

_ID = re.compile(r"^(.+)/(?:([2-9]|[1-9][0-9]{1,2})-way|proxy)(?:-[a-z][a-z0-9]*)?$")
PROXY_WAYS = 3
# The folder of picked candidates in a folder that was built.
PICKED = "choices"
# With one gold document, the share of queries that rank it first is the accuracy.
MEASURES = ("Success@1",)


class NWayCandidates(NamedTuple):
    """The candidates of a query, ordered by id, so that their order is independent of relevance."""

    query_id: str
    doc_ids: list[str]


def parse_nway_id(dataset_id: str) -> tuple[str, int]:
    """Returns the dataset that an N-way dataset is derived from, and its number of candidates.

    Raises:
        InputError: the id does not end in /N-way or /proxy, or one of these and a word.
    """
    match = _ID.match(dataset_id)
    if match is None:
        raise InputError(
            f"{dataset_id!r} is not the id of an N-way dataset",
            remedy="for example relic/val/proxy or plotretrieval/val/20-way",
        )
    return match[1], int(match[2] or PROXY_WAYS)


def nway_path(dataset_id: str) -> Path:
    """Returns the file with the picked candidates of a dataset; a built folder holds its own."""
    folder = built_folder(dataset_id)
    if folder is not None:
        return folder.path.joinpath(PICKED, *folder.parts).with_suffix(".jsonl")
    home: Path = ir_datasets.util.home_path()
    # The name of the folder is that of earlier versions, whose candidates remain valid.
    return home / "irtoolkit" / "choices" / f"{dataset_id}.jsonl"


def picked_as(dataset_id: str) -> str:
    """Returns the N-way dataset whose candidates a dataset has: itself, or the whole one's."""
    if nway_path(dataset_id).is_file():
        return dataset_id
    base_id = parse_nway_id(dataset_id)[0]
    benchmark = _base(base_id).irtoolkit()
    return dataset_id.replace(base_id, benchmark.view_of, 1) if benchmark.view_of else dataset_id


def write_nway(dataset_id: str, picked: list[NWayCandidates], origin: Mapping[str, Any]) -> Path:
    """Saves the candidates of a dataset.

    Args:
        dataset_id: the id of the N-way dataset.
        picked: the candidates of each query.
        origin: how they were picked; stored in the file's first line.

    Returns:
        The file.
    """
    path = nway_path(dataset_id)
    lines = "".join(json.dumps(query._asdict(), ensure_ascii=False) + "\n" for query in picked)
    origin = {
        "dataset": dataset_id,
        "data": _judged(parse_nway_id(dataset_id)[0]),
        "lines": _hashed(lines.encode()),
        **origin,
    }
    with atomic_text(path) as out:
        out.write(json.dumps(origin) + "\n" + lines)
    return path


def _hashed(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read_nway(dataset_id: str) -> list[NWayCandidates]:
    """Reads the saved candidates of a dataset, or, of a view, those of the whole dataset.

    Raises:
        InputError: there are none yet, they were picked for other judgments, or the file is
            damaged.
    """
    base_id, ways = parse_nway_id(dataset_id)
    whole_id = picked_as(dataset_id)
    path, command = nway_path(whole_id), f"irtoolkit nway {whole_id} RUN"
    if not path.is_file():
        raise InputError(
            f"the candidates of {whole_id} have not been picked on this machine",
            remedy=f"run: {command}",
        )
    lines = _rows(path, command)
    _, head = next(lines, (1, None))
    if not isinstance(head, dict) or head.get("data") != _judged(base_id):
        raise InputError(
            f"these candidates were picked for other judgments than {base_id} has now",
            file=path,
            line=1,
            remedy=f"run again: {command}",
        )
    picked = []
    for number, row in lines:
        if not _is_query(row, ways):
            raise InputError(
                f"not a query with {ways} candidates",
                file=path,
                line=number,
                remedy=f"run again: {command}",
            )
        picked.append(NWayCandidates(**row))
    # Files of older versions do not name their lines.
    if head.get("lines", same := _hashed(path.read_bytes().partition(b"\n")[2])) != same:
        raise InputError("lines were lost or changed", file=path, remedy=f"run again: {command}")
    return picked


def _rows(path: Path, command: str) -> Iterator[tuple[int, Any]]:
    try:
        yield from read_jsonl(path)
    except InputError as error:  # a file that irtoolkit made, and can make again
        raise InputError(
            error.found, file=path, line=error.line, remedy=f"run again: {command}"
        ) from None


def _is_query(row: Any, ways: int) -> bool:
    if not isinstance(row, dict) or row.keys() != set(NWayCandidates._fields):
        return False
    ids = row["doc_ids"]
    return isinstance(ids, list) and len(ids) == ways == len({str(doc_id) for doc_id in ids})


def _judged(base_id: str) -> str:
    """Returns a hash of a dataset's relevant documents, which candidates were picked for."""
    rows = _base(base_id).qrels_iter()
    relevant = sorted((row.query_id, row.doc_id) for row in rows if row.relevance > 0)
    return _hashed(str(relevant).encode())


def _base(base_id: str) -> Any:
    """Returns the dataset behind an N-way dataset; raises KeyError if there is none."""
    try:
        return ir_datasets.load(base_id)
    except KeyError:
        dataset = built_dataset(base_id)
        if dataset is None:
            raise
        return dataset


def built_nway(dataset_id: str) -> Any:
    """Returns the N-way dataset of an id with a folder that was built; None of any other id.

    Raises:
        InputError: the folder has no such dataset, or its quotations are hidden.
    """
    match = _ID.match(dataset_id)
    if match is None or built_folder(dataset_id) is None:
        return None
    base = built_dataset(match[1])
    if not base.has_qrels():
        raise InputError(
            f"{match[1]} has no judgments, and {dataset_id} needs them",
            remedy="name a split that has, or build it without --hide-test",
        )
    return _of(base, dataset_id)


def register(add: Callable[[str, ir_datasets.Dataset], None]) -> None:
    """Registers the pattern of N-way ids with ir_datasets: any dataset with a record may have one."""
    ir_datasets.registry.register_pattern(_ID.pattern, _derived)


def _derived(dataset_id: str, groups: tuple[str, str | None]) -> ir_datasets.Dataset:
    # Not Dataset.load: ir_datasets expects a KeyError of a pattern that does not fit. Nor datasets of
    # folders, which it would keep when they are built again.
    base = ir_datasets.load(parse_nway_id(dataset_id)[0])
    if not hasattr(base, "irtoolkit") or not base.has_qrels():
        raise KeyError(dataset_id)
    return Registered(dataset_id, _of(base, dataset_id))


def _of(base: Any, dataset_id: str) -> ir_datasets.Dataset:
    benchmark, ways = base.irtoolkit(), parse_nway_id(dataset_id)[1]

    def queries() -> list[Any]:
        chosen = {query.query_id for query in read_nway(dataset_id)}
        return [query for query in base.queries_iter() if query.query_id in chosen]

    def judgments() -> Iterator[Any]:
        chosen = {query.query_id: set(query.doc_ids) for query in read_nway(dataset_id)}
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
            benchmark,
            title=f"{benchmark.title}, {ways} candidates",
            description=f"Find the gold document among {ways} candidates.",
            measures=MEASURES,
            averaging="accuracy: the share of queries that rank the gold document first",
            folds=tuple,
            statistics_of=statistics,
            editions={},
            view_of="",
            listed=False,
        ),
    )
