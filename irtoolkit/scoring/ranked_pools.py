"""Ranked pools: runs of CSFCube in the form of its official scorer, read and written."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, atomic_text
from irtoolkit.base.ids import encode
from irtoolkit.base.plurals import number_of
from irtoolkit.datasets.csfcube_records import FACETS
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.identity import DatasetId
from irtoolkit.datasets.strictjson import line_of, read_json_file
from irtoolkit.runs import Run
from irtoolkit.runs.order import separate
from irtoolkit.scoring.check import read_run

# The name that the release's scorer requires, and, below, that of the sample in the release.
RANKED_POOLS = "test-pid2pool-csfcube-{name}-{facet}-ranked.json"
_RANKED_POOLS = re.compile(
    rf"(?:test-pid2pool-csfcube-)?(?P<name>.+)-(?P<facet>{'|'.join(FACETS)})-ranked\.json"
)
# {query paper: [[candidate, distance], ...]}, best first.
RankedPools = dict[str, list[list[Any]]]


def ranked_pools(dataset_id: str, path: StrPath) -> dict[str, RankedPools]:
    """Returns a run in the format of CSFCube's scorer: for each facet, each query's ranked pool.

    The scorer uses only the order of a list. The second member of a pair is a distance, as in the
    release's own files: the negated score.

    Args:
        dataset_id: CSFCube or one of its facets, real or sample.
        path: a run of it that lists the whole pool of every query. The query's own paper may be
            missing, as it is in the published rankings.

    Raises:
        InputError: the run does not fit the dataset, or does not rank the whole pool.
    """
    dataset = _csfcube(dataset_id)
    run = read_run(path, dataset_id)
    pools = dataset.pools()
    result: dict[str, RankedPools] = {}
    for query in dataset.queries_iter():
        ranking = run.ranking(query.query_id)
        listed = {row.doc_id for row in ranking} | {query.doc_id}
        absent = [doc for doc in pools[query.query_id] if doc not in listed]
        if absent or not ranking:
            raise InputError(
                f"query {query.query_id} lacks {len(absent)} of its"
                f" {number_of(len(pools[query.query_id]), 'candidates')}",
                file=path,
                remedy=f"the scorer expects the whole pool: retrieve {dataset_id} without --depth",
            )
        # The shortest decimal that reads back to the same float32.
        result.setdefault(query.facet, {})[query.doc_id] = [
            [row.doc_id, 0.0 - float(str(np.float32(row.score)))] for row in ranking
        ]
    return result


def write_ranked_pools(
    dataset_id: str, path: StrPath, folder: StrPath, name: str | None = None
) -> list[Path]:
    """Writes `ranked_pools` to files with the names that the official scorer expects.

    Args:
        dataset_id, path: see `ranked_pools`.
        folder: the folder of the files.
        name: the name of the method, the scorer's --experiment; by default the run's tag.

    Returns:
        The files, one for each facet.
    """
    if name is None:
        name = Run.read(path).tag
    if "/" in name:
        raise InputError(f"{name!r} cannot be part of a file's name", remedy="give another --tag")
    written = []
    for facet, pools in ranked_pools(dataset_id, path).items():
        target = Path(folder) / RANKED_POOLS.format(name=name, facet=facet)
        with atomic_text(target) as out:
            json.dump(pools, out)
            out.write("\n")
        written.append(target)
    return written


def read_ranked_pools(dataset_id: str, paths: Sequence[StrPath], tag: str | None = None) -> Run:
    """Reads files of ranked pools, for example those published with CSFCube, as a run.

    The order of a list is the ranking. The scores are the numbers of the lists if these fall in
    every list, the negated numbers if they rise in every list, and otherwise the negated ranks.
    Ties are separated by float32 steps.

    Args:
        dataset_id: CSFCube or one of its facets, real or sample.
        paths: files of one method, one for each facet, which the name of the file or the dataset
            states.
        tag: tag of the run; by default the name of the method in the files' names.

    Raises:
        InputError: the file has another format, or a query or candidate is not in the dataset.
    """
    dataset = _csfcube(dataset_id)
    pools = {query: frozenset(pool) for query, pool in dataset.pools().items()}
    lists: dict[str, tuple[list[str], list[float]]] = {}
    names = []
    for path in map(Path, paths):
        match = _RANKED_POOLS.fullmatch(path.name)
        facet = match["facet"] if match else DatasetId.parse(dataset_id).parts[-1]
        if facet not in FACETS:
            raise InputError(
                "the file's name does not tell its facet",
                file=path,
                remedy=f"name it {RANKED_POOLS.format(name='NAME', facet='FACET')}, or the dataset"
                f" of one facet",
            )
        names += [match["name"]] if match else []
        for query_id, docs, numbers in _lists(path, facet, pools):
            if query_id in lists:
                raise _not_pools(path, f"query {query_id} is in another file too", query_id)
            lists[query_id] = (docs, numbers)
    if not lists:
        raise InputError("no ranked pools", file=paths[0] if paths else None, remedy="name a file")
    if tag is None:
        tag = names[0] if len(set(names)) == 1 else "csfcube"
    return _run_of(lists, tag)


def _run_of(lists: dict[str, tuple[list[str], list[float]]], tag: str) -> Run:
    numbers = [np.array(values, dtype=np.float64) for _, values in lists.values()]
    if all((np.diff(values) <= 0).all() for values in numbers):
        signed = numbers
    elif all((np.diff(values) >= 0).all() for values in numbers):
        signed = [-values for values in numbers]
    else:
        signed = [-np.arange(1.0, len(values) + 1) for values in numbers]
    scores = [separate(values) for values in signed]
    doc_ids, docs = encode(doc for listed, _ in lists.values() for doc in listed)
    query_ids, _ = encode(lists)
    offsets = np.cumsum([0, *map(len, scores)])
    return Run.ordered(
        query_ids, offsets, doc_ids, docs.astype(np.int32), np.concatenate(scores), tag
    )


def _lists(
    path: Path, facet: str, pools: dict[str, frozenset[str]]
) -> Iterator[tuple[str, list[str], list[float]]]:
    """Yields (query id, candidates, numbers) of a file of ranked pools."""
    try:
        content = read_json_file(path)
    except InputError as error:
        raise InputError(
            error.found, file=path, line=error.line, remedy="write it as JSON"
        ) from None
    if not isinstance(content, dict):
        raise _not_pools(path, "not an object of query papers")
    for paper, pairs in content.items():
        query_id = f"{paper}_{facet}"
        if query_id not in pools:
            raise _not_pools(path, f"topic {query_id} is not one of the dataset", paper)
        if not isinstance(pairs, list) or not all(map(_is_pair, pairs)) or not pairs:
            problem = f"the value of {paper} is not a list of pairs of a candidate and a number"
            raise _not_pools(path, problem, paper)
        docs = [doc for doc, _ in pairs]
        stranger = next((doc for doc in docs if doc not in pools[query_id]), None)
        if stranger is not None:
            raise _not_pools(path, f"{stranger} is outside the pool of {query_id}", stranger)
        twice, count = Counter(docs).most_common(1)[0]
        if count > 1:
            raise _not_pools(path, f"candidate {twice} is listed twice in {query_id}", twice)
        yield query_id, docs, [float(number) for _, number in pairs]


def _is_pair(pair: Any) -> bool:
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
        return False
    number = pair[1]
    if isinstance(number, bool) or not isinstance(number, int | float):
        return False
    return abs(number) <= float(np.finfo(np.float32).max)


def _not_pools(path: Path, problem: str, near: str = "") -> InputError:
    return InputError(
        problem,
        file=path,
        line=(line_of(path, f'"{near}"') if near else None) or 1,
        remedy="a file of ranked pools is {paper: [[candidate, distance], ...]}, best first",
    )


def _csfcube(dataset_id: str) -> Any:
    dataset = Dataset.load(dataset_id)
    ours = dataset.about
    if ours is None or ours.name != "csfcube":
        raise InputError(
            f"{dataset_id} is not CSFCube and has no ranked pools", remedy="use --form trec"
        )
    return dataset
