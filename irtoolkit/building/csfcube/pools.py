"""Pools of candidates that several systems propose for a paper (§3).

The papers that the query paper cites are in the pool first. Then each system, in an order that is
drawn for each paper, adds its best documents that are not in it yet, to the same number. So a pool
has as many documents as are cited, and that number for each system. In the release every pool is
made so, of 33 or 12 documents of each of seven systems. All facets of a paper share its pool.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import local
from irtoolkit.base.jsons import write_json
from irtoolkit.base.paths import StrPath
from irtoolkit.datasets.strictjson import read_json_file

CITED = "cited"
# System to the documents that it ranks, best first.
Rankings = Mapping[str, Sequence[str]]
# Candidate to the systems that propose it, in the order of the pool.
Pool = dict[str, tuple[str, ...]]


@dataclass
class Pools:
    """The pools of all query papers.

    Attributes:
        by_paper: the pool of each paper.
        notes: notes on them for the user.
    """

    by_paper: dict[str, Pool] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def draw_pool(
    paper: str,
    rankings: Rankings,
    cited: Sequence[str],
    *,
    depth: int,
    listed: int,
    seed: int,
) -> Pool:
    """Returns the pool of a paper.

    Args:
        paper: its id; it is not a candidate.
        rankings: of each system.
        cited: the documents that it cites.
        depth: documents that each system adds, or fewer if it ranks no more.
        listed: a system proposes those of its documents at this depth or above, and those it added.
        seed: of the order of the systems.
    """
    systems = list(rankings)
    random.Random(f"pool {seed} {paper}").shuffle(systems)
    origin = {doc: CITED for doc in cited if doc != paper}
    for system in systems:
        new = [doc for doc in rankings[system] if doc != paper and doc not in origin]
        origin |= dict.fromkeys(new[:depth], system)
    best = {system: set(rankings[system][:listed]) for system in systems}
    return {
        doc: (
            *([CITED] if first == CITED else []),
            *(system for system in systems if system == first or doc in best[system]),
        )
        for doc, first in origin.items()
    }


def interleaved(lists: Iterable[Sequence[str]]) -> list[str]:
    """Merges several lists into one, their first items first, without repetitions."""
    several = list(lists)
    longest = max(map(len, several), default=0)
    merged = (ranking[i] for i in range(longest) for ranking in several if i < len(ranking))
    return list(dict.fromkeys(merged))


def write_pools(path: Path, pools: Mapping[str, Pool]) -> None:
    """Writes pools as the release has them."""
    form = {
        paper: {"cands": list(pool), "cand_source": [list(names) for names in pool.values()]}
        for paper, pool in pools.items()
    }
    write_json(path, form)


def read_pools(path: StrPath, papers: Sequence[str], docs: Mapping[str, Any]) -> Pools:
    """Returns pools from elsewhere, in the format of the release.

    Candidates without a document are left out, with a note: nobody can judge them.

    Args:
        path: JSON, {paper: {"cands": [...], "cand_source": [[...], ...]}}.
        papers: those that need a pool.
        docs: the documents.

    Raises:
        InputError: another format; a paper without a pool; a candidate twice, or without a source.
    """
    content = read_json_file(local(path))
    if not isinstance(content, dict):
        raise InputError("not an object of pools", file=path)
    pools = Pools()
    strange: dict[str, None] = {}
    for paper in papers:
        pool = _pool(content.get(paper))
        if isinstance(pool, str):
            raise InputError(f"paper {paper} {pool}", file=path)
        strange |= dict.fromkeys(doc for doc in pool if doc not in docs)
        pools.by_paper[paper] = {doc: names for doc, names in pool.items() if doc in docs}
        if not pools.by_paper[paper]:
            raise InputError(f"no candidate of paper {paper} is a document", file=path)
        if paper in pool:
            pools.notes.append(f"paper {paper} is a candidate of its own query, as in {path}")
    if strange:
        pools.notes.append(
            f"{len(strange)} candidates of {path} are no documents and are left out:"
            f" {', '.join(list(strange)[:5])}"
        )
    return pools


def _pool(value: Any) -> Pool | str:
    """Returns a pool, or what is wrong with it."""
    if not isinstance(value, dict):
        return "has no pool"
    docs, sources = value.get("cands"), value.get("cand_source")
    if not isinstance(docs, list) or not isinstance(sources, list) or len(docs) != len(sources):
        return "needs cands and cand_source, two lists of one length"
    if not all(isinstance(doc, str) for doc in docs):
        return "has a candidate that is no string"
    if not all(isinstance(n, list) and n and all(isinstance(s, str) for s in n) for n in sources):
        return "has a candidate without a list of systems"
    if len(set(docs)) < len(docs):
        return f"has the candidate {next(d for d in docs if docs.count(d) > 1)} twice"
    return {doc: tuple(names) for doc, names in zip(docs, sources, strict=True)}
