"""Exact ranks of named documents, in a file beside a run that does not list them all.

The first line has the hash of the run, so that ranks are never used with another run, and that of
the lines below it, so that lost or changed lines are detected. Each further line is query id,
document id, rank, separated by tabs. The rank is over the query's whole candidate set, whatever the
depth of the run. A fourth column has the best rank among documents of equal score, for a system
with `ties=best`.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, atomic_text, is_file, read_lines, sha256
from irtoolkit.base.paths import beside, is_url, named_beside, on_disk, split_query
from irtoolkit.runs import provenance
from irtoolkit.runs.columns import Ranks as Ranks
from irtoolkit.runs.columns import TiedRank, whole_number
from irtoolkit.runs.run import Run

# What the name of a file of ranks adds to that of its run.
RANKS_END = ".ranks.tsv"
_REMEDY = "delete the file, or make the run again"
# The rank of a document of which only the best rank among equal scores is known.
_UNKNOWN = 1 << 52
# Files of older versions do not name their lines, which are compared with the run.
_LINES = re.compile(r"these lines have SHA-256 ([0-9a-f]{64});")


def ranks_path(run_path: StrPath) -> Path:
    """Returns the path of a run's exact ranks on this machine: beside the run."""
    return named_beside(Path(run_path), RANKS_END)


def write_ranks(run_path: StrPath, ranks: Ranks, run_sha256: str) -> None:
    """Writes the ranks beside their run, given the SHA-256 of the run's file."""
    lines = [
        f"{query_id}\t{doc_id}\t{_columns(rank)}\n"
        for query_id, docs in ranks.items()
        for doc_id, rank in docs.items()
    ]
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    with atomic_text(beside(run_path, RANKS_END), like=run_path) as out:
        out.write(f"# these lines have SHA-256 {digest}; they are")
        out.write(f" ranks over all candidates of the run with SHA-256 {run_sha256}\n")
        out.writelines(lines)


def read_ranks(run_path: StrPath, run: Run) -> Ranks | None:
    """Returns the ranks beside a run, or None if there are none.

    Raises:
        InputError: what is beside the run is not a file; they are those of another run; a line is not
            query id, document id and a rank from 1; lines are lost or changed; or the ranks contradict
            the run or each other.
    """
    path = beside(run_path, RANKS_END)
    if not is_file(path):
        if not is_url(path) and os.path.lexists(on_disk(path)):
            raise InputError("the ranks beside the run are in no file", file=path, remedy=_REMEDY)
        return None
    ranks: Ranks = {}
    lines = read_lines(path)
    _, header = next(lines, (1, ""))
    if not header.startswith("#") and split_query(str(path))[1]:
        return None  # a server may return the same page for every URL with a query
    if not header.endswith(sha256(run_path)):
        raise InputError("the ranks of another run", file=path, line=1, remedy=_REMEDY)
    named, digest = _LINES.search(header), hashlib.sha256()
    shared = has_best_ranks(run_path)
    for number, line in lines:
        digest.update(f"{line}\n".encode())
        fields = line.split("\t")
        rank = _rank(fields[2:], shared)
        if rank is None:
            raise InputError(
                "not query id, document id and rank", file=path, line=number, remedy=_REMEDY
            )
        if ranks.setdefault(fields[0], {}).setdefault(fields[1], rank) != rank:
            raise InputError(
                f"two ranks of {fields[1]} for {fields[0]}", file=path, line=number, remedy=_REMEDY
            )
    if named:
        problem = None if named[1] == digest.hexdigest() else "lines were lost or changed"
    else:
        problem = None if shared else next(_contradictions(run, ranks), None)
    if problem:
        raise InputError(problem, file=path, remedy=_REMEDY)
    return ranks


def _columns(rank: int) -> str:
    """Returns the last columns of a line."""
    return f"{rank:d}\t{rank.best}" if isinstance(rank, TiedRank) else str(rank)


def _rank(columns: Sequence[str], shared: bool) -> int | None:
    """Returns the rank in the last columns of a line; None if they are not ranks.

    Args:
        columns: a rank, and perhaps the best rank among equal scores.
        shared: whether equal scores have one rank, as only in files of older versions.
    """
    numbers = [whole_number(column) for column in columns]
    match [number for number in numbers if number is not None and number > 0]:
        case [rank] if len(numbers) == 1:
            return TiedRank(_UNKNOWN, rank) if shared else rank
        case [rank, best] if len(numbers) == 2 and best <= rank:
            return TiedRank(rank, best)
    return None


def has_best_ranks(run_path: StrPath) -> bool:
    """Returns whether the ranks beside a run have the best rank among equal scores."""
    record = (provenance.read_metadata(run_path) or {}).get("irtoolkit")
    settings = record.get("settings") if isinstance(record, dict) else None
    return isinstance(settings, dict) and settings.get("ties") == "best"


def _contradictions(run: Run, ranks: Ranks) -> Iterator[str]:
    """Yields the contradictions between ranks and their run, or among ranks."""
    # Names are looked up for those below the depth only: a run may list millions.
    below: list[tuple[str, str, int]] = []
    rows = {query_id: slice(*run.offsets[i : i + 2]) for i, query_id in enumerate(run.query_ids)}
    for query_id, docs in ranks.items():
        if len(set(docs.values())) < len(docs):
            yield f"two documents of one rank for query {query_id}"
        listed = run.docs[rows.get(query_id, slice(0))]
        for doc_id, rank in docs.items():
            if rank > len(listed):
                below.append((query_id, doc_id, rank))
            elif run.doc_ids[listed[rank - 1]] != doc_id:
                yield f"{doc_id} for query {query_id} is not at rank {rank} of the run"
    doc_names = {doc_id for _, doc_id, _ in below}
    places = {name: number for number, name in enumerate(run.doc_ids) if name in doc_names}
    for query_id, doc_id, rank in below:
        number = places.get(doc_id)
        if number is not None and (run.docs[rows.get(query_id, slice(0))] == number).any():
            yield f"{doc_id} for query {query_id} is not at rank {rank}: the run lists it above"
