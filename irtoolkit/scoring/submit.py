"""Runs in the forms that leaderboards, official scorers and TREC take."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
import yaml

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, atomic_text, read_lines, sha256
from irtoolkit.base.ids import encode
from irtoolkit.base.spans import Span
from irtoolkit.datasets.csfcube_records import FACETS
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.identity import DatasetId
from irtoolkit.datasets.strictjson import line_of, read_json
from irtoolkit.retrievers.ordering import separate, untied
from irtoolkit.runs import Run, provenance
from irtoolkit.runs.trec import HEADER_END, HEADER_START
from irtoolkit.scoring.check import check_run, read_run

Metadata = Literal["none", "beside", "header"]

RELIC_DEPTH = 100
# The parts of ir_metadata, after the PRIMAD model; readers of it ask for each of them.
COMPONENTS = ("actor", "platform", "research goal", "implementation", "method", "data")

# -- RELiC -----------------------------------------------------------------------------------------


def relic(dataset_id: str, path: StrPath) -> dict[str, list[int]]:
    """RELiC's leaderboard form: quote id to the first sentences of its best candidates.

    Args:
        dataset_id: the test split, real or sample.
        path: a run of it.

    Raises:
        InputError: the run does not fit the dataset, or lists too few candidates for a quote.
    """
    dataset = Dataset.load(dataset_id)
    run = read_run(path, dataset_id)
    answers: dict[str, list[int]] = {}
    for queries, pool in dataset.candidates():
        wanted = min(RELIC_DEPTH, len(pool))
        for query_id in queries:
            best = run.ranking(query_id)[:wanted]
            if len(best) < wanted:
                raise InputError(
                    f"quote {query_id} has {len(best)} candidates instead of {wanted}",
                    file=path,
                    remedy=f"retrieve {dataset_id} with --depth {RELIC_DEPTH}",
                )
            answers[query_id] = [Span.parse(row.doc_id).start for row in best]
    return answers


# -- CSFCube ---------------------------------------------------------------------------------------

# As the release's scorer asks for it, and as the release names its sample of ranked pools.
RANKED_POOLS = "test-pid2pool-csfcube-{name}-{facet}-ranked.json"
_RANKED_POOLS = re.compile(
    rf"(?:test-pid2pool-csfcube-)?(?P<name>.+)-(?P<facet>{'|'.join(FACETS)})-ranked\.json"
)
# {query paper: [[candidate, distance], ...]}, best first.
RankedPools = dict[str, list[list[Any]]]


def ranked_pools(dataset_id: str, path: StrPath) -> dict[str, RankedPools]:
    """A run as CSFCube's official scorer takes it: for each facet, the ranked pool of each query.

    The scorer takes the order of the list and nothing else. The second member of a pair is a
    distance, as in the release's own: the smaller the nearer, here the score with its sign turned.

    Args:
        dataset_id: CSFCube or one of its facets, real or sample.
        path: a run of it that lists the pool of every query; the query's own paper, which the
            published rankings leave out, may be missing.

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
        lacking = [doc for doc in pools[query.query_id] if doc not in listed]
        if lacking or not ranking:
            raise InputError(
                f"query {query.query_id} lacks {len(lacking)} of its"
                f" {len(pools[query.query_id])} candidates",
                file=path,
                remedy="the scorer takes the listed documents for the whole pool: retrieve"
                f" {dataset_id} without --depth",
            )
        # The shortest decimal of a float32, which reads back to the same.
        result.setdefault(query.facet, {})[query.doc_id] = [
            [row.doc_id, 0.0 - float(str(np.float32(row.score)))] for row in ranking
        ]
    return result


def write_ranked_pools(
    dataset_id: str, path: StrPath, folder: StrPath, name: str | None = None
) -> list[Path]:
    """Writes `ranked_pools` under the names that the official scorer looks for; gives the files.

    Args:
        dataset_id, path: see `ranked_pools`.
        folder: where the files go.
        name: of the method, as the scorer's --experiment; by default the run's tag.
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
    """The run that files of ranked pools are, such as those published with CSFCube.

    The order of a list is the ranking. Its numbers become the scores: as they are where they fall in
    every list, with their sign turned where they rise in every list, and the rank with its sign
    turned where they do neither. What ties is separated by float32 steps.

    Args:
        dataset_id: CSFCube or one of its facets, real or sample.
        paths: files of one method, each of a facet; their names say of which, or the dataset does.
        tag: of the run; by default the method that the files' names give.

    Raises:
        InputError: not such a file, or a query or candidate that is not the dataset's.
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
                "the file's name does not say which facet it is of",
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
    scores = [separate(values, np.arange(len(values))) for values in signed]
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
        content = read_json(path)
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
            found = f"the value of {paper} is not a list of pairs of a candidate and a number"
            raise _not_pools(path, found, paper)
        docs = [doc for doc, _ in pairs]
        stranger = next((doc for doc in docs if doc not in pools[query_id]), None)
        if stranger is not None:
            raise _not_pools(path, f"{stranger} is outside the pool of {query_id}", stranger)
        twice, count = Counter(docs).most_common(1)[0]
        if count > 1:
            raise _not_pools(path, f"candidate {twice} stands twice in {query_id}", twice)
        yield query_id, docs, [float(number) for _, number in pairs]


def _is_pair(pair: Any) -> bool:
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
        return False
    number = pair[1]
    if isinstance(number, bool) or not isinstance(number, int | float):
        return False
    return abs(number) <= float(np.finfo(np.float32).max)


def _not_pools(path: Path, found: str, near: str = "") -> InputError:
    return InputError(
        found,
        file=path,
        line=(line_of(path, f'"{near}"') if near else None) or 1,
        remedy="a file of ranked pools is {paper: [[candidate, distance], ...]}, best first",
    )


def _csfcube(dataset_id: str) -> Any:
    dataset = Dataset.load(dataset_id)
    ours = dataset.about
    if ours is None or ours.name != "csfcube":
        raise InputError(
            f"{dataset_id} has no ranked pools as CSFCube has", remedy="use --form trec"
        )
    return dataset


# -- TREC ------------------------------------------------------------------------------------------


def write_trec(
    dataset_id: str,
    path: StrPath,
    output: StrPath,
    *,
    tag: str | None = None,
    metadata: Metadata = "none",
    about: StrPath | None = None,
) -> Run:
    """Writes a run as TREC takes it, once it passes the strictest check.

    Args:
        dataset_id: what the run is for.
        path: the run.
        output: where it goes.
        tag: of the run, in place of its own.
        metadata: whether an ir_metadata record of how it was made is written, in a file beside it
            or in comment lines at its top. Not every tool passes over these: trec_eval does not.
        about: a YAML file with parts of such a record, say actor and research goal, which are
            added to the one that stands beside the run, or replace its own.

    Raises:
        InputError: the first problem of the run; or no record of how it was made, nor `about`.
    """
    problems = check_run(path, dataset_id, strictness="trec", tag=tag)
    if problems:
        first, more = problems[0], len(problems) - 1
        hint = f"; {more} more: irtoolkit check --strictness trec" if more else ""
        raise InputError(
            first.found, file=first.file, line=first.line, remedy=f"{first.remedy}{hint}"
        )
    run = Run.read(path)
    run = untied(run if tag is None else replace(run, tag=tag))
    record = None if metadata == "none" else _record(path, run.tag, about)
    with TemporaryDirectory() as folder:
        plain = Path(folder) / "run"
        run.write(plain)
        with atomic_text(output) as out, open(plain, encoding="utf-8", newline="") as rows:
            if record is not None and metadata == "header":
                out.write(header(record))
            shutil.copyfileobj(rows, out)
    if record is not None and metadata == "beside":
        if isinstance(record.get("irtoolkit"), dict):
            record["irtoolkit"] = {**record["irtoolkit"], "sha256": sha256(output)}
        provenance.write(output, record)
    return run


def _record(path: StrPath, tag: str, about: StrPath | None) -> dict[str, Any]:
    """The ir_metadata record of a run, with what somebody adds to it."""
    own = read_header(path) or provenance.read(path)
    if own is None and about is None:
        raise InputError(
            "no record of how the run was made stands beside it",
            file=path,
            remedy="give one with --about FILE, or use --metadata none",
        )
    record = {**(own or {}), **(_about(about) if about is not None else {}), "tag": tag}
    return {**record, **{name: record.get(name) or {} for name in COMPONENTS}}


def _about(path: StrPath) -> dict[str, Any]:
    text = "\n".join(line for _, line in read_lines(path))
    remedy = f"it holds parts of ir_metadata: {', '.join(COMPONENTS)}"
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        raise InputError("not YAML", file=path, line=line, remedy=remedy) from None
    if not isinstance(content, dict):
        raise InputError("not a mapping", file=path, line=1, remedy=remedy)
    return content


def header(record: dict[str, Any]) -> str:
    """An ir_metadata record as the comment lines at the top of a run."""
    text = yaml.safe_dump(record, sort_keys=False, allow_unicode=True, width=4096)
    lines = [HEADER_START, *(f"# {line}" for line in text.splitlines()), HEADER_END]
    return "".join(f"{line}\n" for line in lines)


def read_header(path: StrPath) -> dict[str, Any] | None:
    """The ir_metadata record at the top of a run, or None where there is none.

    Raises:
        InputError: it is not YAML, or not a mapping.
    """
    if str(path).endswith(".parquet"):
        return None
    found: list[str] = []
    for number, line in read_lines(path):
        if number == 1 and line.rstrip() != HEADER_START:
            return None
        if line.rstrip() == HEADER_END or not line.startswith("#"):
            break
        found.append(line)
    try:
        content = yaml.safe_load("\n".join(line[1:] for line in found[1:]))
    except yaml.YAMLError:
        content = None
    if not isinstance(content, dict):
        raise InputError(
            "the ir_metadata header is not a YAML mapping",
            file=path,
            line=1,
            remedy="mend it, or take it out",
        )
    return content
