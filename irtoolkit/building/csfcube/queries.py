"""The queries of a benchmark: a list of papers with a facet each, or a sample of them."""

from __future__ import annotations

import csv
import io
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text
from irtoolkit.base.near import did_you_mean
from irtoolkit.base.paths import StrPath
from irtoolkit.base.sheets import read_sheet
from irtoolkit.building.csfcube.documents import facet_sentences, facets_of
from irtoolkit.datasets.benchmark import NOT_STATED
from irtoolkit.datasets.csfcube_records import FACETS, CSFCubeDoc, CSFCubeQuery

_IDS = ("doc_id", "paper_id", "id")
_FORM = "the columns are pid and facet, and perhaps year, paper type and depth"
# Of the paper's 34 query papers, 16 are queries in two facets (§3).
_TWO = 16 / 34


@dataclass(frozen=True)
class FacetQuery:
    """A query: a paper and one of its facets.

    Attributes:
        query: as the dataset has it.
        depth: documents that each system adds to its pool; None is the usual number.
    """

    query: CSFCubeQuery
    depth: int | None = None

    @property
    def query_id(self) -> str:
        """Paper and facet."""
        return self.query.query_id


def select_queries(
    path: StrPath | None, docs: Mapping[str, CSFCubeDoc], sample: int | None, seed: int
) -> list[FacetQuery]:
    """Returns the queries of a file, or a sample.

    Raises:
        InputError: both or neither; or see `read_queries` and `sample_queries`.
    """
    if path is not None and sample is None:
        return read_queries(path, docs)
    if path is None and sample is not None:
        return sample_queries(docs, sample, seed)
    raise InputError(
        "queries are a file or a sample",
        remedy="--queries FILE names papers and facets, --sample N draws some",
    )


def read_queries(path: StrPath, docs: Mapping[str, CSFCubeDoc]) -> list[FacetQuery]:
    """Returns the queries of a file with columns, named by the first line.

    Raises:
        InputError: no such column; a row that is incomplete; a paper that is no document, or has no
            sentence of the facet; a query twice; two depths of one paper.
    """
    queries: dict[str, FacetQuery] = {}
    depths: dict[str, int | None] = {}
    aliases = dict.fromkeys(_IDS, "pid")
    for number, cells in read_sheet(path, ("pid", "facet"), _FORM, aliases):
        row = {column: cell.strip() for column, cell in cells.items()}
        name, facet = row["pid"], row["facet"]
        problem, remedy = "", ""
        if name not in docs:
            problem, remedy = f"query paper {name} is no document", did_you_mean(name, docs).strip()
        elif facet not in FACETS:
            problem, remedy = f"no facet {facet!r}", f"facets are {', '.join(FACETS)}"
        elif not facet_sentences(docs[name], facet):
            problem = f"query paper {name} has no sentence of its {facet}"
            remedy = f"it has {', '.join(facets_of(docs[name])) or 'none of any facet'}"
        elif f"{name}_{facet}" in queries:
            problem = f"query {name}_{facet} is there twice"
        else:
            depth, problem = _number("depth", row.get("depth", ""))
            year, wrong = _number("year", row.get("year", ""))
            problem = problem or wrong
            if not problem and depths.setdefault(name, depth) != depth:
                problem = f"paper {name} has two depths, and one pool"
        if problem:
            raise InputError(problem, file=path, line=number, remedy=remedy or None)
        query = query_of(docs[name], facet, year, row.get("paper type", ""))
        queries[query.query_id] = FacetQuery(query, depth)
    if not queries:
        raise InputError("no queries", file=path, remedy=_FORM)
    return in_order(queries.values())


def query_of(
    doc: CSFCubeDoc, facet: str, year: int | None = None, paper_type: str = ""
) -> CSFCubeQuery:
    """Returns the query that a paper and a facet are."""
    return CSFCubeQuery(
        f"{doc.doc_id}_{facet}",
        doc.doc_id,
        facet,
        doc.title,
        doc.sentences,
        doc.labels,
        facet_sentences(doc, facet),
        doc.year if year is None else year,
        paper_type or NOT_STATED,
    )


def in_order(queries: Iterable[FacetQuery]) -> list[FacetQuery]:
    """Returns queries facet by facet, as the dataset has them."""
    return sorted(queries, key=lambda entry: FACETS.index(entry.query.facet))


def _number(name: str, text: str) -> tuple[int | None, str]:
    """Returns an optional number above 0, and what is wrong with it."""
    if not text:
        return None, ""
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text), ""
    return None, f"the {name} is {text!r}, not a whole number above 0"


def sample_queries(docs: Mapping[str, CSFCubeDoc], count: int, seed: int) -> list[FacetQuery]:
    """Returns a random sample in the proportions of the paper's (§3), for a person to look through.

    Papers have sentences of at least two facets. They are spread over the years; about half are
    queries in two facets; and the facets are about equally frequent.

    Raises:
        InputError: there are too few papers, or less than one query is requested.
    """
    if count < 1:
        raise InputError(f"{count} queries are requested", remedy="--sample 1 or more")
    draw = random.Random(f"queries {seed}")
    queries: list[FacetQuery] = []
    counts: Counter[str] = Counter()
    for number, doc in enumerate(_spread(docs, draw)):
        if len(queries) >= count:
            break
        twice = int((number + 1) * _TWO) > int(number * _TWO)
        needed = min(1 + twice, count - len(queries))
        facets = sorted(facets_of(doc), key=lambda facet: (counts[facet], FACETS.index(facet)))
        for facet in facets[:needed]:
            counts[facet] += 1
            queries.append(FacetQuery(query_of(doc, facet)))
    if len(queries) < count:
        raise InputError(
            f"{count} queries are requested, and {len(queries)} can be drawn",
            remedy="a paper of the sample has sentences of at least two facets",
        )
    return in_order(queries)


def _spread(docs: Mapping[str, CSFCubeDoc], draw: random.Random) -> Iterator[CSFCubeDoc]:
    """Documents of at least two facets at random, one of each year in turn."""
    by_year: dict[int, list[CSFCubeDoc]] = {}
    for doc in docs.values():
        if len(facets_of(doc)) > 1:
            by_year.setdefault(doc.year or 0, []).append(doc)
    years = [by_year[year] for year in sorted(by_year)]
    for papers in years:
        draw.shuffle(papers)
    draw.shuffle(years)
    for round_ in range(max(map(len, years), default=0)):
        yield from (papers[round_] for papers in years if round_ < len(papers))


def write_queries(path: Path, queries: Sequence[FacetQuery]) -> None:
    """Writes queries as the release has them."""
    with atomic_text(path) as out:
        rows = io.StringIO()
        writer = csv.writer(rows, lineterminator="\n")
        writer.writerow(("pid", "facet", "year", "title", "paper type"))
        for entry in queries:
            query = entry.query
            writer.writerow(
                (query.doc_id, query.facet, query.year or "", query.title, query.paper_type)
            )
        out.write(rows.getvalue())
