"""The systems that propose candidates: by name, with settings, or as runs from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text, local
from irtoolkit.base.paths import StrPath
from irtoolkit.base.progress import tqdm
from irtoolkit.building.csfcube.documents import corpus_of
from irtoolkit.building.csfcube.pools import CITED, interleaved
from irtoolkit.building.shelves import digest
from irtoolkit.datasets.csfcube_records import CSFCubeDoc, CSFCubeQuery
from irtoolkit.datasets.identity import DatasetId
from irtoolkit.ranking.produce import check_runnable, rank_dataset
from irtoolkit.ranking.systems import System, find_system
from irtoolkit.runs import Run
from irtoolkit.runs.columns import RunColumns
from irtoolkit.runs.trec import parse_run

# A file of all abstracts, on which word embeddings are trained, in place of this word.
_ABSTRACTS = "{abstracts}"
_MEAN: dict[str, Any] = {"train": _ABSTRACTS}
_WEIGHTED: dict[str, Any] = {"weighting": "tfidf", "train": _ABSTRACTS}
# The paper's own systems (§3), which compare titles or abstracts as wholes. Its seventh is SPECTER.
PAPER: dict[str, tuple[str, dict[str, Any]]] = {
    f"{name}_{system}": (retriever, {"query": view, "doc": view, **settings})
    for name, view in (("title", "title"), ("abs", "abstract"))
    for system, retriever, settings in (
        ("tfidf", "tfidf", {}),
        ("cbow200", "word2vec", _MEAN),
        ("tfidfcbow200", "word2vec", _WEIGHTED),
    )
}


@dataclass(frozen=True)
class Proposer:
    """A system that proposes candidates.

    Attributes:
        name: its name in pools.
        system: the ranking system.
        trained: whether it is trained on the abstracts first.
    """

    name: str
    system: System
    trained: bool = False


def proposers(values: Sequence[str], abstracts: Path) -> list[Proposer]:
    """Returns systems from command-line arguments: each a name, and perhaps settings.

    Args:
        values: for example "bm25" and "bm25 k1=1.2 query=title".
        abstracts: the file that embeddings are trained on.

    Raises:
        InputError: no such system or setting, or one twice.
    """
    by_name: dict[str, Proposer] = {}
    for words in values:
        name, *pairs = words.split() or [""]
        label = ",".join([name, *pairs])
        if label in by_name or label == CITED:
            raise InputError(f"two systems are called {label}", remedy="name each one once")
        settings = dict(_pair(pair, words) for pair in pairs)
        system = _system(name, settings, abstracts)
        trained = system.retriever.settings().get("train") == str(abstracts)
        by_name[label] = Proposer(label, system, trained)
    return list(by_name.values())


def _pair(pair: str, words: str) -> tuple[str, str]:
    key, equals, value = pair.partition("=")
    if not key or not equals:
        raise InputError(
            f"{pair!r} of the system {words!r} is not KEY=VALUE", remedy='such as "bm25 k1=1.2"'
        )
    return key, value


def _system(name: str, settings: Mapping[str, Any], abstracts: Path) -> System:
    if name not in PAPER:
        try:
            return find_system(name, settings, DatasetId(("csfcube",)))
        except InputError as error:
            if not error.found.startswith("no system"):
                raise
            remedy = f"{error.remedy}; or the paper's {', '.join(PAPER)}"
            raise InputError(error.found, remedy=remedy) from None
    retriever, usual = PAPER[name]
    overrides = {
        key: str(abstracts) if value == _ABSTRACTS else value
        for key, value in {**usual, **settings}.items()
    }
    return System.make(name, retriever, overrides)


def rank_all(
    systems: Sequence[Proposer],
    docs: dict[str, CSFCubeDoc],
    queries: Sequence[CSFCubeQuery],
    folder: Path,
    depth: int,
    key: str,
) -> dict[str, dict[str, list[str]]]:
    """Returns system to paper to the documents that it ranks; existing rankings are reused.

    A system that reads the facet ranks for each query of a paper; its rankings are interleaved.

    Raises:
        InputError: a system cannot run here.

    Args:
        systems: the systems.
        docs, queries: the documents and queries.
        folder: stores a run of each system.
        depth: documents of each query.
        key: a hash of documents and queries.
    """
    for proposer in systems:
        check_runnable(proposer.system)
    runs = {}
    for proposer in tqdm(systems, desc="systems", unit="system", leave=False):
        path = folder / f"{run_name(proposer, key, depth)}.run"
        if not path.is_file():
            # A pool takes as many documents of each system, also where fewer match.
            run = rank_dataset(corpus_of(docs, queries), proposer.system.filled(), depth=depth)
            run.named(proposer.name).write(path)
        runs[proposer.name] = _of_papers(Run.read(path), queries)
    return runs


def run_name(proposer: Proposer, key: str, depth: int) -> str:
    """Returns the name of a system's run, with a hash of what decides it and no folder names."""
    settings = dict(proposer.system.filled().settings())
    if proposer.trained:
        settings["train"] = _ABSTRACTS
    files = "" if proposer.trained else proposer.system.retriever.fingerprint() or ""
    short = digest(key, str(depth), repr(sorted(settings.items())), files)[:8]
    return f"{proposer.name.replace('/', '_')}.{short}"


def write_abstracts(path: Path, docs: Mapping[str, CSFCubeDoc]) -> None:
    """Writes all abstracts, one in a line."""
    with atomic_text(path) as out:
        out.writelines(" ".join(doc.abstract.split()) + "\n" for doc in docs.values())


def read_runs(
    paths: Sequence[StrPath], docs: Mapping[str, CSFCubeDoc], queries: Sequence[CSFCubeQuery]
) -> dict[str, dict[str, list[str]]]:
    """Returns runs from elsewhere: file name to paper to the documents that it ranks.

    A run has query ids, for example 7_method, or papers; rows of others are ignored.

    Raises:
        InputError: no run; two of one name; an unknown document; or a query without a row.
    """
    rankings: dict[str, dict[str, list[str]]] = {}
    for path in paths:
        name = Path(path).name.removesuffix(".gz").rpartition(".")[0] or Path(path).name
        if name in rankings or name == CITED:
            raise InputError(f"two systems are called {name}", file=path, remedy="rename the file")
        columns = parse_run(local(path))
        _check_candidates(columns, docs, path)
        rankings[name] = _of_papers(Run.from_trec(columns), queries, path)
    return rankings


def _check_candidates(columns: RunColumns, docs: Mapping[str, CSFCubeDoc], path: StrPath) -> None:
    strange = np.array([doc not in docs for doc in columns.doc_ids], dtype=bool)
    rows = np.flatnonzero(strange[columns.docs])
    if len(rows):
        doc = columns.doc_ids[columns.docs[rows[0]]]
        raise InputError(
            f"document {doc} is not among the documents",
            file=path,
            line=int(columns.lines[rows[0]]),
        )


def _of_papers(
    run: Run, queries: Sequence[CSFCubeQuery], path: StrPath | None = None
) -> dict[str, list[str]]:
    """Returns paper to the documents that a run has for it, best first."""
    ids = set(run.query_ids.tolist())
    lists: dict[str, list[list[str]]] = {}
    for query in queries:
        paper_id = next((name for name in (query.query_id, query.doc_id) if name in ids), None)
        if paper_id is None and path is not None:
            raise InputError(f"no row of query {query.query_id}, nor of {query.doc_id}", file=path)
        ranked = [] if paper_id is None else [row.doc_id for row in run.ranking(paper_id)]
        lists.setdefault(query.doc_id, []).append(ranked)
    return {paper: interleaved(several) for paper, several in lists.items()}
