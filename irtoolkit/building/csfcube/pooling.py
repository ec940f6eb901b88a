"""The first step of a build: pools of candidates, stored so that the second step has the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import local, read_lines, sha256
from irtoolkit.base.jsons import write_json
from irtoolkit.base.missing import no_such_file
from irtoolkit.base.paths import StrPath, on_disk
from irtoolkit.base.plurals import number_of
from irtoolkit.building.csfcube.pools import Pool, Pools, draw_pool, read_pools, write_pools
from irtoolkit.building.csfcube.queries import FacetQuery
from irtoolkit.building.csfcube.systems import (
    PAPER,
    Proposer,
    proposers,
    rank_all,
    read_runs,
    run_name,
    write_abstracts,
)
from irtoolkit.building.shelves import digest
from irtoolkit.datasets.csfcube_records import CSFCubeDoc
from irtoolkit.datasets.csfcube_release import POOLS
from irtoolkit.datasets.strictjson import read_json_file

# The folder of the rankings of the systems, and what says whose pools are in the folder.
RUNS, STATE = "runs", "pooled.json"
_ABSTRACTS = "abstracts.txt"
# Documents of each system in a pool of about 100, as the paper prints it (§3).
DEPTH = 13
# A system is named as a source of a candidate that is among so many of its best.
LISTED = 100


@dataclass(frozen=True)
class Pooling:
    """The settings of pooling.

    Attributes:
        systems: names of systems, each perhaps with settings.
        runs: files of rankings from elsewhere.
        pools: a file of pools from elsewhere, in place of systems and runs.
        citations: a file of a citing and a cited paper in each line.
        depth: documents that each system adds to a pool.
        listed: see `LISTED`.
    """

    systems: tuple[str, ...] = ()
    runs: tuple[StrPath, ...] = ()
    pools: StrPath | None = None
    citations: StrPath | None = None
    depth: int = DEPTH
    listed: int = LISTED

    def chosen(self) -> tuple[str, ...]:
        """Returns the systems: by default the paper's, except SPECTER."""
        return self.systems or (() if self.runs or self.pools is not None else tuple(PAPER))


@dataclass(frozen=True)
class Plan:
    """The inputs of pools.

    Attributes:
        folder: the folder.
        docs: all documents.
        queries: the queries.
        pooling: the settings.
        seed: of the order of systems.
        systems: those that are to be run.
        texts: a hash of documents and queries.
        key: a hash of all that decides the pools.
    """

    folder: Path
    docs: dict[str, CSFCubeDoc]
    queries: Sequence[FacetQuery]
    pooling: Pooling
    seed: int
    systems: Sequence[Proposer]
    texts: str
    key: str


def plan(
    folder: Path,
    docs: dict[str, CSFCubeDoc],
    selected: Sequence[FacetQuery],
    pooling: Pooling,
    seed: int,
) -> Plan:
    """Returns the plan of the pools; runs nothing.

    Raises:
        InputError: pools and systems together; or see `proposers`.
    """
    if pooling.pools is not None and (pooling.systems or pooling.runs or pooling.citations):
        raise InputError(
            "pools are given, and what pools are made of", remedy="leave one of the two out"
        )
    texts = digest(
        *(repr(doc) for doc in docs.values()), *(repr(entry.query) for entry in selected)
    )
    systems = proposers(pooling.chosen(), folder / RUNS / _ABSTRACTS)
    files = [*pooling.runs, *(f for f in (pooling.pools, pooling.citations) if f is not None)]
    for path in files:
        if not on_disk(path).is_file():
            raise no_such_file(path)
    key = digest(
        texts,
        repr([entry.depth for entry in selected]),
        str((pooling.depth, pooling.listed, seed)),
        *(run_name(entry, texts, 0) for entry in systems),
        *(f"{Path(path).name} {sha256(path)}" for path in files),
    )
    return Plan(folder, docs, selected, pooling, seed, systems, texts, key)


def make_pools(planned: Plan) -> Pools:
    """Returns the pools of all query papers, from the folder if they are of this plan.

    Raises:
        InputError: see `read_runs` and `read_pools`; or a paper without a candidate.
    """
    mark = marked(planned.folder)
    if mark is not None and mark.key == planned.key:
        return Pools(_read(planned.folder / POOLS), mark.notes)
    pooling = planned.pooling
    cited, notes = _cited(pooling.citations, planned.docs)
    if pooling.pools is not None:
        papers = list(dict.fromkeys(entry.query.doc_id for entry in planned.queries))
        pools = read_pools(pooling.pools, papers, planned.docs)
    else:
        pools = Pools(_drawn(planned, _rankings(planned, cited), cited))
    pools.notes = [*notes, *pools.notes]
    write_pools(planned.folder / POOLS, pools.by_paper)
    return pools


def _rankings(planned: Plan, cited: Mapping[str, Sequence[str]]) -> dict[str, dict[str, list[str]]]:
    """Returns system to paper to the documents that it ranks, deep enough for every pool."""
    pooling, queries = planned.pooling, [entry.query for entry in planned.queries]
    runs_read = read_runs(pooling.runs, planned.docs, queries)
    twice = next((entry.name for entry in planned.systems if entry.name in runs_read), None)
    if twice is not None:
        raise InputError(f"two systems are called {twice}", remedy="rename the run")
    most = max(entry.depth or pooling.depth for entry in planned.queries)
    deepest = max((len(cited.get(query.doc_id, ())) for query in queries), default=0)
    deepest += (len(planned.systems) + len(runs_read)) * most + 1
    folder = planned.folder / RUNS
    if planned.systems:
        write_abstracts(folder / _ABSTRACTS, planned.docs)
    depth = min(len(planned.docs), max(deepest, pooling.listed))
    ranked = rank_all(planned.systems, planned.docs, queries, folder, depth, planned.texts)
    (folder / _ABSTRACTS).unlink(missing_ok=True)
    return {**ranked, **runs_read}


@dataclass(frozen=True)
class Mark:
    """The mark of a completed first step of a build.

    Attributes:
        key: of the plan.
        notes: notes on the pools.
        names: all annotators; none if no sheets were written.
        annotators: the two of each query.
    """

    key: str
    notes: list[str]
    names: list[str] = field(default_factory=list)
    annotators: dict[str, tuple[str, str]] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Writes it into the folder."""
        write_json(folder / STATE, asdict(self), indent=1)


def marked(folder: Path) -> Mark | None:
    """Returns the mark of a folder; None if the first step is not done.

    Raises:
        InputError: it is damaged.
    """
    path = folder / STATE
    if not path.is_file() or not (folder / POOLS).is_file():
        return None
    state = read_json_file(path)
    try:
        of_query = {
            str(q): (str(first), str(second)) for q, (first, second) in state["annotators"].items()
        }
        notes, names = ([str(text) for text in state[part]] for part in ("notes", "names"))
        return Mark(str(state["key"]), notes, names, of_query)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError("not what a build has written", file=path, remedy="restore it") from None


def _read(path: Path) -> dict[str, Pool]:
    return {
        paper: {doc: tuple(names) for doc, names in zip(p["cands"], p["cand_source"], strict=True)}
        for paper, p in read_json_file(path).items()
    }


def _drawn(
    planned: Plan,
    rankings: Mapping[str, Mapping[str, Sequence[str]]],
    cited: Mapping[str, Sequence[str]],
) -> dict[str, Pool]:
    pools: dict[str, Pool] = {}
    for entry in planned.queries:
        paper = entry.query.doc_id
        if paper in pools:
            continue
        pools[paper] = draw_pool(
            paper,
            {name: ranked[paper] for name, ranked in rankings.items()},
            cited.get(paper, ()),
            depth=entry.depth or planned.pooling.depth,
            listed=planned.pooling.listed,
            seed=planned.seed,
        )
        if not pools[paper]:
            raise InputError(f"no system proposes a candidate for paper {paper}")
    return pools


def _cited(
    path: StrPath | None, docs: Mapping[str, CSFCubeDoc]
) -> tuple[dict[str, list[str]], list[str]]:
    """Returns paper to the documents that it cites, and a note on cited papers without a document.

    Raises:
        InputError: a line of other than two ids, or none that cites a document.
    """
    if path is None:
        return {}, []
    cited: dict[str, dict[str, None]] = {}
    outside = 0
    for number, line in read_lines(local(path)):
        words = line.split()
        if len(words) not in (0, 2):
            raise InputError(
                f"{len(words)} words",
                file=path,
                line=number,
                remedy="a line is the id of a paper and the id of one that it cites",
            )
        if words and words[1] in docs:
            cited.setdefault(words[0], {})[words[1]] = None
        outside += bool(words) and words[1] not in docs
    if not cited:
        raise InputError("no citation of a document", file=path, remedy="are the ids the same?")
    note = f"{number_of(outside, 'citations', ',')} of papers that are no documents, in {path}"
    return {paper: list(papers) for paper, papers in cited.items()}, [note] if outside else []
