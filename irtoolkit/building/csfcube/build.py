"""A benchmark like CSFCube of users' own documents: pools, sheets, adjudication, release files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import StrPath
from irtoolkit.building.csfcube import adjudication
from irtoolkit.building.csfcube.agreement import Agreement, agreement_of, write_agreement
from irtoolkit.building.csfcube.documents import read_documents
from irtoolkit.building.csfcube.guidelines import write_guidelines
from irtoolkit.building.csfcube.labels import Ratings, progress_of, ratings_of, read_labels
from irtoolkit.building.csfcube.pooling import (
    RUNS,
    STATE,
    Mark,
    Plan,
    Pooling,
    make_pools,
    marked,
    plan,
)
from irtoolkit.building.csfcube.pools import Pool
from irtoolkit.building.csfcube.quality import quality
from irtoolkit.building.csfcube.queries import (
    FacetQuery,
    select_queries,
    write_queries,
)
from irtoolkit.building.csfcube.release import write_release
from irtoolkit.building.csfcube.sheets import (
    Labels,
    assigned,
    check_annotators,
    pairs_of,
    read_sheets,
    write_sheets,
)
from irtoolkit.building.csfcube.tsv import GRADE, Pair, read_sheet
from irtoolkit.building.pipeline import Build, Release
from irtoolkit.building.quality import Quality
from irtoolkit.building.shelves import digest
from irtoolkit.datasets.built import ABOUT
from irtoolkit.datasets.csfcube import statistics
from irtoolkit.datasets.csfcube_records import FACETS, CSFCubeDoc, CSFCubeQuery
from irtoolkit.datasets.csfcube_release import POOLS, QUERIES, docs_key, read_csfcube

SHEETS = "sheets"
# What an unfinished build leaves in its folder.
_UNFINISHED = (SHEETS, RUNS, STATE, POOLS)
ANNOTATORS = ("annotator1", "annotator2")
_INTRO = (
    "What this benchmark was built from. The licences of the documents are theirs: the benchmark holds",
    "titles and abstracts of all query papers and candidates.",
)


@dataclass(frozen=True)
class Recipe:
    """The settings of a build.

    Attributes:
        pooling: how candidates are found.
        annotators: their names; each query is given to two of them. By default annotator1 and
            annotator2, or those with sheets in the folder.
        sample: number of queries to draw if none are listed.
        seed: of the sample, the order of systems and sheets, and the folds.
    """

    pooling: Pooling = field(default_factory=Pooling)
    annotators: tuple[str, ...] = ()
    sample: int | None = None
    seed: int = 0


@dataclass
class Gathered:
    """The state of a build.

    Attributes:
        folder: the folder.
        docs: all documents.
        queries: the queries.
        pools: the candidates of each query paper.
        notes: notes on the pools.
        graded: annotator to pairs graded and pairs in all.
        agreement: available once all pairs are graded.
        decided: pairs that the adjudicator has decided, and pairs to decide.
        quality: of a complete benchmark; None for one that waits for people.
    """

    folder: Path
    docs: dict[str, CSFCubeDoc]
    queries: list[FacetQuery]
    pools: dict[str, Pool]
    notes: list[str]
    graded: dict[str, tuple[int, int]] = field(default_factory=dict)
    agreement: Agreement | None = None
    decided: tuple[int, int] = (0, 0)
    quality: Quality | None = None

    @property
    def records(self) -> list[CSFCubeQuery]:
        """The queries as the dataset has them."""
        return [entry.query for entry in self.queries]

    @property
    def facets(self) -> list[str]:
        """The facets that queries have."""
        return [facet for facet in FACETS if any(e.query.facet == facet for e in self.queries)]

    @property
    def pairs(self) -> int:
        """Pairs of a query and a candidate."""
        return sum(len(self.pools[entry.query.doc_id]) for entry in self.queries)

    def waits_for(self) -> Iterator[str]:
        """Yields what people have to do before the build can continue; nothing if it is complete."""
        for name, (done, total) in self.graded.items():
            if done < total:
                yield f"{self.folder / SHEETS / name}.tsv: {done:,} of {total:,} pairs are graded"
        done, total = self.decided
        if self.agreement is not None and done < total:
            yield f"{self.folder / adjudication.FILE}: {done:,} of {total:,} pairs are decided"


def build_csfcube(
    documents: Sequence[StrPath],
    out: StrPath,
    queries: StrPath | None = None,
    recipe: Recipe | None = None,
    *,
    labels: Sequence[StrPath] = (),
    adjudicated: StrPath | None = None,
    replace: bool = False,
) -> Gathered:
    """Builds a benchmark in CSFCube's form, as far as the grades so far allow.

    The same call continues: it makes pools and sheets, reads the sheets that are filled in, writes
    the sheet of the adjudicator, reads that, and writes the benchmark.

    Args:
        documents: JSON lines files; see `read_documents`.
        out: the folder to write.
        queries: a file of papers and facets; see `read_queries`. Without it a sample is drawn.
        recipe: the settings of the build.
        labels: sheets or TREC qrels in place of those in the folder, called after their annotators.
        adjudicated: the adjudicator's sheet or TREC qrels, in place of that in the folder.
        replace: whether pools or a benchmark of other texts or settings are replaced. People's
            grades in the folder never are.

    Raises:
        InputError: a file cannot be used, or the folder holds something else.
    """
    recipe = recipe or Recipe()
    if recipe.annotators:
        check_annotators(recipe.annotators)
    # Sheets may be in use: what is half written is removed from the runs alone.
    with Build.locked(out, _UNFINISHED, replace, within=RUNS) as build:
        docs = read_documents(documents)
        selected = select_queries(queries, docs, recipe.sample, recipe.seed)
        planned = _plan(build.folder, docs, selected, recipe, replace)
        gathered = _pooled(build.folder, docs, selected, planned)
        pairs = pairs_of(gathered.records, gathered.pools)
        ratings_read = _labels(gathered, recipe, labels, planned.key, pairs)
        gathered.graded = progress_of(ratings_read)
        if labels or all(done >= total for done, total in gathered.graded.values()):
            ratings = ratings_of(ratings_read, pairs)
            grades = _grades(gathered, ratings, adjudicated)
            if grades is not None:
                whole = digest(planned.key, repr(ratings), repr(grades))
                build.claim(whole)
                texts = [*documents, *([queries] if queries else [])]
                build.finish(whole, _write(gathered, ratings, grades, recipe, texts))
        return gathered


def _grades(
    gathered: Gathered, ratings: Ratings, adjudicated: StrPath | None
) -> dict[Pair, int] | None:
    """Returns the grade of each pair, adjudicated if necessary; None while some are undecided.

    The agreement of the annotators is written before.
    """
    gathered.agreement = agreement_of(ratings)
    write_agreement(gathered.folder, gathered.agreement)
    if adjudicated is not None:
        decided = adjudication.read_adjudicated(adjudicated, ratings)
    else:
        sheet = gathered.folder / adjudication.FILE
        decided = adjudication.adjudicated(sheet, ratings, gathered.records, gathered.docs)
    gathered.decided = (sum(grade is not None for grade in decided.values()), len(decided))
    if gathered.decided[0] < gathered.decided[1]:
        return None
    return {
        pair: both[0] if decided.get(pair) is None else int(decided[pair] or 0)
        for pair, both in ratings.grades.items()
    }


def _pooled(
    folder: Path, docs: dict[str, CSFCubeDoc], selected: list[FacetQuery], planned: Plan
) -> Gathered:
    """Returns the queries with their pools, and writes the queries into the folder."""
    pools = make_pools(planned)
    write_queries(folder / QUERIES, selected)
    return Gathered(folder, docs, selected, pools.by_paper, pools.notes)


def _plan(
    folder: Path,
    docs: dict[str, CSFCubeDoc],
    selected: Sequence[FacetQuery],
    recipe: Recipe,
    replace: bool,
) -> Plan:
    """Returns the plan of the pools; removes other pools from the folder if they are not graded.

    Raises:
        InputError: the folder has other pools, and they are graded or not to be replaced.
    """
    planned = plan(folder, docs, selected, recipe.pooling, recipe.seed)
    before = marked(folder)
    names = before.names if before else []
    others = recipe.annotators and names and {*names} != {*recipe.annotators}
    if before is not None and before.key == planned.key and not others:
        return planned
    sheets = sorted((folder / SHEETS).glob("*.tsv"))
    sheets += [path for path in [folder / adjudication.FILE] if path.exists()]
    for path in sheets:
        if any(row[GRADE].strip() for _, row in read_sheet(path)):
            raise InputError(
                "grades of other pools" if not others else "grades of other annotators",
                file=path,
                remedy="name another folder, or give the texts and settings of this one",
            )
    if before is not None and not replace:
        raise InputError(
            f"sheets of {', '.join(names)}" if others else "pools of other texts or settings",
            file=folder,
            remedy="add --replace, or name another folder",
        )
    for path in [*sheets, folder / STATE, folder / ABOUT]:
        path.unlink(missing_ok=True)
    return planned


def _labels(
    gathered: Gathered,
    recipe: Recipe,
    labels: Sequence[StrPath],
    key: str,
    pairs: Mapping[str, Sequence[Pair]],
) -> Labels:
    """Returns the annotators' grades; writes missing sheets."""
    before = marked(gathered.folder)
    if labels:
        if before is None:
            Mark(key, gathered.notes).write(gathered.folder)
        return read_labels(labels, pairs)
    queries = gathered.records
    if before is None or not before.annotators:
        names = list(recipe.annotators or ANNOTATORS)
        before = Mark(key, gathered.notes, names, assigned(queries, names, recipe.seed))
    folder = gathered.folder / SHEETS
    write_sheets(folder, before.annotators, queries, gathered.pools, gathered.docs, recipe.seed)
    write_guidelines(gathered.folder)
    before.write(gathered.folder)
    return read_sheets(folder, before.annotators, pairs)


def _write(
    gathered: Gathered,
    ratings: Ratings,
    grades: Mapping[Pair, int],
    recipe: Recipe,
    texts: Sequence[StrPath],
) -> Release:
    """Writes the files of the release; returns its description."""
    folder, docs, pools = gathered.folder, gathered.docs, gathered.pools
    write_release(folder, docs, gathered.queries, pools, ratings, grades, recipe.seed)
    gathered.agreement = agreement_of(ratings, grades)
    write_agreement(folder, gathered.agreement)
    for cached in (read_csfcube, docs_key):  # of what was in the folder before
        cached.cache_clear()
    facts = statistics(read_csfcube(folder.absolute(), is_built=True))
    gathered.quality = quality(facts, gathered.records, docs, pools, ratings, grades)
    pooling = recipe.pooling
    proposed = dict.fromkeys(n for pool in pools.values() for names in pool.values() for n in names)
    sources = {
        "Documents and queries": [str(path) for path in texts],
        "Candidates": [*proposed, *(str(f) for f in (pooling.citations, pooling.pools) if f)],
        "Annotators": ratings.annotators,
    }
    plain = json.loads(json.dumps(asdict(pooling), default=str))
    settings = {**asdict(recipe), "annotators": ratings.annotators, "pooling": plain}
    return Release("csfcube", gathered.facets, settings, gathered.quality, _INTRO, sources)
