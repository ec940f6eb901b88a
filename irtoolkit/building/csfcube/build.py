"""A benchmark like CSFCube of users' own documents: pools, sheets, adjudication, release files."""

from __future__ import annotations

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
    Asked,
    read_queries,
    sample_queries,
    write_queries,
)
from irtoolkit.building.csfcube.release import write_release
from irtoolkit.building.csfcube.sheets import (
    Given,
    assigned,
    pairs_of,
    read_sheets,
    refuse_names,
    write_sheets,
)
from irtoolkit.building.csfcube.tsv import GRADE, Pair, read_sheet
from irtoolkit.building.place import (
    alone,
    describe,
    refuse_other,
    remove_unfinished,
    write_sources,
)
from irtoolkit.building.quality import Quality
from irtoolkit.building.shelves import digest
from irtoolkit.datasets.csfcube import statistics
from irtoolkit.datasets.csfcube_records import FACETS, CSFCubeDoc
from irtoolkit.datasets.csfcube_release import POOLS, QUERIES, docs_key, read_csfcube
from irtoolkit.datasets.own import ABOUT

SHEETS = "sheets"
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
        place: the folder.
        asked: the queries.
        pools: the candidates of each query paper.
        notes: notes on the pools.
        graded: annotator to pairs graded and pairs in all.
        agreement: available once all pairs are graded.
        decided: pairs that the adjudicator has decided, and pairs to decide.
        quality: of a complete benchmark; None for one that waits for people.
    """

    place: Path
    asked: list[Asked]
    pools: dict[str, Pool]
    notes: list[str]
    graded: dict[str, tuple[int, int]] = field(default_factory=dict)
    agreement: Agreement | None = None
    decided: tuple[int, int] = (0, 0)
    quality: Quality | None = None

    @property
    def facets(self) -> list[str]:
        """The facets that queries have."""
        return [facet for facet in FACETS if any(e.query.facet == facet for e in self.asked)]

    @property
    def pairs(self) -> int:
        """Pairs of a query and a candidate."""
        return sum(len(self.pools[each.query.doc_id]) for each in self.asked)

    def waits_for(self) -> Iterator[str]:
        """Yields what people have to do before the build can continue.

        Nothing if it is complete.
        """
        for name, (done, total) in self.graded.items():
            if done < total:
                yield f"{self.place / SHEETS / name}.tsv: {done:,} of {total:,} pairs are graded"
        done, total = self.decided
        if self.agreement is not None and done < total:
            yield f"{self.place / adjudication.FILE}: {done:,} of {total:,} pairs are decided"


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
        refuse_names(recipe.annotators)
    place = Path(out)
    with alone(place, (SHEETS, RUNS, STATE, POOLS)):
        remove_unfinished(place / RUNS)  # sheets may be in use
        docs = read_documents(documents)
        asked = _asked(queries, docs, recipe)
        planned = _plan(place, docs, asked, recipe, replace)
        pools = make_pools(planned)
        write_queries(place / QUERIES, asked)
        made = Gathered(place, asked, pools.by_paper, pools.notes)
        pairs = pairs_of([each.query for each in asked], pools.by_paper)
        given = _given(made, docs, recipe, labels, planned.key, pairs)
        made.graded = progress_of(given)
        if not labels and any(done < total for done, total in made.graded.values()):
            return made
        ratings = ratings_of(given, pairs)
        made.agreement = agreement_of(ratings)
        write_agreement(place, made.agreement)
        grades = _grades(made, docs, ratings, adjudicated)
        if grades is None:
            return made
        whole = digest(planned.key, repr(ratings), repr(grades))
        refuse_other(place, whole, replace)
        sources = [*documents, *([queries] if queries else [])]
        _write(made, docs, ratings, grades, recipe, whole, sources)
        return made


def _grades(
    made: Gathered, docs: Mapping[str, CSFCubeDoc], ratings: Ratings, adjudicated: StrPath | None
) -> dict[Pair, int] | None:
    """Returns the grade of each pair, adjudicated if necessary; None while some are undecided."""
    decided = _decided(made, docs, ratings, adjudicated)
    made.decided = (sum(grade is not None for grade in decided.values()), len(decided))
    if made.decided[0] < made.decided[1]:
        return None
    return {
        pair: both[0] if decided.get(pair) is None else int(decided[pair] or 0)
        for pair, both in ratings.grades.items()
    }


def _asked(queries: StrPath | None, docs: Mapping[str, CSFCubeDoc], recipe: Recipe) -> list[Asked]:
    if (queries is None) == (recipe.sample is None):
        raise InputError(
            "queries are a file or a sample",
            remedy="--queries FILE names papers and facets, --sample N draws some",
        )
    if queries is not None:
        return read_queries(queries, docs)
    return sample_queries(docs, recipe.sample or 0, recipe.seed)


def _plan(
    place: Path, docs: dict[str, CSFCubeDoc], asked: Sequence[Asked], recipe: Recipe, replace: bool
) -> Plan:
    """Returns the plan of the pools; removes other pools from the folder if they are not graded.

    Raises:
        InputError: the folder has other pools, and they are graded or not to be replaced.
    """
    made = plan(place, docs, asked, recipe.pooling, recipe.seed)
    before = marked(place)
    names = before.names if before else []
    others = recipe.annotators and names and {*names} != {*recipe.annotators}
    if before is not None and before.key == made.key and not others:
        return made
    sheets = sorted((place / SHEETS).glob("*.tsv"))
    sheets += [path for path in [place / adjudication.FILE] if path.exists()]
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
            file=place,
            remedy="add --replace, or name another folder",
        )
    for path in [*sheets, place / STATE, place / ABOUT]:
        path.unlink(missing_ok=True)
    return made


def _given(
    made: Gathered,
    docs: Mapping[str, CSFCubeDoc],
    recipe: Recipe,
    labels: Sequence[StrPath],
    key: str,
    pairs: Mapping[str, Sequence[Pair]],
) -> Given:
    """Returns the annotators' grades; writes missing sheets."""
    before = marked(made.place)
    if labels:
        if before is None:
            Mark(key, made.notes).write(made.place)
        return read_labels(labels, pairs)
    queries = [each.query for each in made.asked]
    if before is None or not before.annotators:
        names = list(recipe.annotators or ANNOTATORS)
        before = Mark(key, made.notes, names, assigned(queries, names, recipe.seed))
    folder = made.place / SHEETS
    write_sheets(folder, before.annotators, queries, made.pools, docs, recipe.seed)
    write_guidelines(made.place)
    before.write(made.place)
    return read_sheets(folder, before.annotators, pairs)


def _decided(
    made: Gathered, docs: Mapping[str, CSFCubeDoc], ratings: Ratings, given: StrPath | None
) -> dict[Pair, int | None]:
    """Returns the adjudicator's grades of the pairs on which annotators differ."""
    if given is not None:
        return adjudication.read_adjudicated(given, ratings)
    queries = [each.query for each in made.asked]
    return adjudication.adjudicated(made.place / adjudication.FILE, ratings, queries, docs)


def _write(
    made: Gathered,
    docs: Mapping[str, CSFCubeDoc],
    ratings: Ratings,
    grades: Mapping[Pair, int],
    recipe: Recipe,
    key: str,
    texts: Sequence[StrPath],
) -> None:
    """Writes the release, report and sources, and last the file that makes it a benchmark."""
    place = made.place
    write_release(place, docs, made.asked, made.pools, ratings, grades, recipe.seed)
    made.agreement = agreement_of(ratings, grades)
    write_agreement(place, made.agreement)
    for kept in (read_csfcube, docs_key):  # of what was in the folder before
        kept.cache_clear()
    queries = [each.query for each in made.asked]
    found = statistics(read_csfcube(place.absolute(), is_own=True))
    made.quality = quality(found, queries, docs, made.pools, ratings, grades)
    made.quality.write(place)
    pooling = recipe.pooling
    proposed = dict.fromkeys(n for pool in made.pools.values() for of in pool.values() for n in of)
    sources = {
        "Documents and queries": [str(path) for path in texts],
        "Candidates": [*proposed, *(str(f) for f in (pooling.citations, pooling.pools) if f)],
        "Annotators": ratings.annotators,
    }
    write_sources(place, _INTRO, sources)
    settings = {**asdict(recipe), "annotators": ratings.annotators}
    settings["pooling"] = {
        name: [str(each) for each in value] if isinstance(value, tuple) else value
        for name, value in asdict(pooling).items()
    }
    for name in ("pools", "citations"):
        file = settings["pooling"][name]
        settings["pooling"][name] = None if file is None else str(file)
    describe(place, "csfcube", made.facets, key, settings)
