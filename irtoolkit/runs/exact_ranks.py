"""Exact ranks of named documents, in a file beside the run that does not list them all.

The first line names the run's content, so that ranks never speak for another run; each further
line is query id, document id, rank, separated by tabs. The rank is over the query's whole
candidate set, whatever the depth of the run.
"""

from __future__ import annotations

from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, atomic_text, is_file, read_lines, sha256
from irtoolkit.base.paths import beside

# What the name of a file of ranks adds to that of its run.
RANKS_END = ".ranks.tsv"

Ranks = dict[str, dict[str, int]]


def ranks_path(run_path: StrPath) -> Path:
    """Where the exact ranks of a run are on this machine: beside it."""
    return Path(f"{run_path}{RANKS_END}")


def write_ranks(run_path: StrPath, ranks: Ranks) -> None:
    """Writes the ranks beside their run, which must be there."""
    with atomic_text(beside(run_path, RANKS_END)) as out:
        out.write(f"# ranks over all candidates of the run with SHA-256 {sha256(run_path)}\n")
        for query_id, docs in ranks.items():
            for doc_id, rank in docs.items():
                out.write(f"{query_id}\t{doc_id}\t{rank}\n")


def read_ranks(run_path: StrPath) -> Ranks | None:
    """The ranks beside a run, or None where there are none.

    Raises:
        InputError: they are those of another run, or a line is not query id, document id and a
            rank from 1.
    """
    path = beside(run_path, RANKS_END)
    if not is_file(path):
        return None
    ranks: Ranks = {}
    remedy = "delete the file, or make the run again"
    for number, line in read_lines(path):
        if number == 1:
            if not line.endswith(sha256(run_path)):
                raise InputError("the ranks of another run", file=path, line=1, remedy=remedy)
            continue
        fields = line.split("\t")
        if len(fields) != 3 or not fields[2].isdecimal() or int(fields[2]) < 1:
            raise InputError(
                "not query id, document id and rank", file=path, line=number, remedy=remedy
            )
        ranks.setdefault(fields[0], {})[fields[1]] = int(fields[2])
    return ranks
