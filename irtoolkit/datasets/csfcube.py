"""CSFCube: faceted query-by-example over scientific abstracts (Mysore et al. 2021).

The datasets are `csfcube` (all 50 queries), `csfcube/background`, `csfcube/method`,
`csfcube/result`, and the same under `csfcube/sample`, a small invented sample that ships with the
package.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

import ir_datasets

from irtoolkit.datasets.benchmark import Benchmark, Folds, Statistic
from irtoolkit.datasets.built import BuiltFolder
from irtoolkit.datasets.csfcube_records import (
    FACETS,
    GRADES,
    CSFCubeDoc,
    CSFCubeQrel,
    CSFCubeQuery,
)
from irtoolkit.datasets.csfcube_release import (
    ABSTRACTS,
    ANNOTATIONS,
    POOLS,
    QUERIES,
    SPLITS,
    CSFCubeRelease,
    docs_key,
    read_csfcube,
)
from irtoolkit.datasets.downloads import download_blobs
from irtoolkit.datasets.handlers import (
    DocsHandler,
    PoolsHandler,
    QrelsHandler,
    QueriesHandler,
)
from irtoolkit.datasets.source import ReleaseSource

NAME = "csfcube"
MEASURES = ("RPlast(rel=2)", "P(rel=2)@20", "RListed(rel=2)@20", "nDCGp(p=100)", "nDCGp(p=20)")

REPOSITORY = "iesl/CSFCube"
COMMIT = "b02a6e48206e9991c3434493b41932914302d096"
BLOBS = {
    ABSTRACTS: None,
    QUERIES: "613b68f69f43a4e5ac1f9ba93db7b65c48322ce7",
    SPLITS: "aaa7bd5121dc84ef8c2509682fdd372b89987c54",
    POOLS: "00c3062da6971debba2cdfb63e4e927e0e4bdd64",
    ANNOTATIONS.format("background"): "5d4efdff9eaa1740865dc354db8f6f8a2eba052f",
    ANNOTATIONS.format("method"): "41a9dabcb5c41bcfba06e0a6f2c4db2c4f5a3f1b",
    ANNOTATIONS.format("result"): "ad2fe7d8085781a24fe7beb5df2f0fd99a70c61c",
}

BENCHMARK = Benchmark(
    name=NAME,
    title="CSFCube",
    citation="Mysore et al. 2021, NeurIPS Datasets and Benchmarks",
    url=f"https://github.com/{REPOSITORY}",
    licence="CC BY-NC 4.0",
    description="Find abstracts that are similar to a paper in one facet: background, method or result.",
    measures=MEASURES,
    main="nDCGp(p=20)",
    averaging="mean of the means of the two test folds",
    bibtex="""@inproceedings{mysore2021csfcube,
  title={{CSFCube} -- A Test Collection of Computer Science Research Articles for Faceted Query by
         Example},
  author={Mysore, Sheshera and O'Gorman, Tim and McCallum, Andrew and Zamani, Hamed},
  booktitle={NeurIPS Datasets and Benchmarks Track (Round 2)},
  year={2021}
}""",
)


def statistics(release: CSFCubeRelease) -> list[Statistic]:
    """Returns the paper's Table 1, computed and as printed."""
    pairs = [len(release.qrels[query.query_id]) for query in release.queries]
    grades = [[q.relevance for q in release.qrels[query.query_id]] for query in release.queries]
    # The paper's row "+1" means "+1 or higher": only then do its figures agree with its data.
    ones = [sum(g >= 1 for g in row) for row in grades]
    high = [sum(g >= 2 for g in row) for row in grades]
    rows = [
        ("Query abstract-facet pairs", len(pairs), 50),
        ("Unique query abstracts", len({query.doc_id for query in release.queries}), 34),
        ("Mean candidate pool size", sum(pairs) / len(pairs), 124.9),
        ("Query-candidate pairs", sum(pairs), 6244),
        ("Candidates rated +1 or higher per query, min", min(ones), 12),
        ("Candidates rated +1 or higher per query, max", max(ones), 87),
        ("Candidates rated +1 or higher per query, avg", sum(ones) / len(ones), 36.9),
        ("Candidates rated +2/+3 per query, min", min(high), 1),
        ("Candidates rated +2/+3 per query, max", max(high), 35),
        ("Candidates rated +2/+3 per query, avg", sum(high) / len(high), 9.8),
    ]
    return [Statistic(name, value, paper) for name, value, paper in rows]


def register(add: Callable[[str, ir_datasets.Dataset], None]) -> None:
    """Registers every CSFCube dataset; opens no file."""
    for prefix, sample in BENCHMARK.variants():
        source = BENCHMARK.source(
            tuple(BLOBS),
            sample=sample,
            howto=f"get https://github.com/{REPOSITORY} and put its files into",
            download=partial(download_blobs, REPOSITORY, COMMIT, BLOBS),
        )
        for dataset_id, dataset in _datasets(prefix, source, FACETS):
            add(dataset_id, dataset)


def built(folder: BuiltFolder) -> Iterator[tuple[str, ir_datasets.Dataset]]:
    """Yields the ids and datasets of a folder from `irtoolkit build csfcube`."""
    return _datasets(folder.name, folder.source(*BLOBS), folder.splits)


def _datasets(
    prefix: str, source: ReleaseSource, facets: Iterable[str]
) -> Iterator[tuple[str, ir_datasets.Dataset]]:
    """Yields the ids and datasets of a release: all queries, and those of each facet."""

    def load() -> CSFCubeRelease:
        return read_csfcube(source.folder(), source.built)

    docs = DocsHandler(
        lambda: load().docs, CSFCubeDoc, NAME, "en", lambda: docs_key(source.folder())
    )
    yield prefix, _dataset(load, docs, source, None)
    for facet in facets:
        yield f"{prefix}/{facet}", _dataset(load, docs, source, facet)


def _dataset(
    load: Callable[[], CSFCubeRelease], docs: DocsHandler, source: ReleaseSource, facet: str | None
) -> ir_datasets.Dataset:
    def judgments() -> Iterator[CSFCubeQrel]:
        release = load()
        return (row for query in release.of(facet) for row in release.qrels[query.query_id])

    def pools() -> Iterator[tuple[str, list[str]]]:
        release = load()
        return (
            (query.query_id, [row.doc_id for row in release.qrels[query.query_id]])
            for query in release.of(facet)
        )

    def folds() -> Folds:
        return load().folds[facet or "all"]

    def table() -> list[Statistic]:
        release = load()
        facts = statistics(release._replace(queries=release.of(facet)))
        # The paper's figures are for all facets together.
        return facts if facet is None else [row.unreported() for row in facts]

    def by_facet() -> dict[str, list[str]]:
        release = load()
        parts = {name: [query.query_id for query in release.of(name)] for name in FACETS}
        return {name: queries for name, queries in parts.items() if queries}

    return ir_datasets.Dataset(
        docs,
        QueriesHandler(lambda: load().of(facet), CSFCubeQuery, NAME, "en"),
        QrelsHandler(judgments, CSFCubeQrel, GRADES),
        PoolsHandler(pools),
        replace(
            BENCHMARK,
            folds=folds,
            statistics_of=table,
            breakdowns={"facet": by_facet} if facet is None else {},
        ).at(source),
    )
