"""Build a benchmark in CSFCube's form: papers and facets as queries, pools that two people grade.

Documents are JSON lines: id, title, abstract as a list of sentences, labels with one of background,
objective, method, result and other for each sentence. Queries are papers and facets, in a file with the
columns pid and facet, or a sample. All facets of a paper share a pool: what it cites, and of each system
in turn the best documents that are not there yet.

The first call writes sheets/NAME.tsv for each annotator, and guidelines.md. Give the same command again
when the sheets are filled in: it writes agreement.txt and adjudication.tsv, the pairs on which annotators
differ. When that is filled in, the same command writes the benchmark.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from irtoolkit.base.plurals import number_of
from irtoolkit.commands import argument, note
from irtoolkit.commands._builds._common import add_output
from irtoolkit.commands._engines import add_engine

if TYPE_CHECKING:
    from irtoolkit.building.csfcube.build import Gathered

HELP = "CSFCube: papers and facets, pools of several systems, two annotators"
EXAMPLES = (
    "irtoolkit build csfcube --documents docs.jsonl --queries queries.csv -o mine",
    'irtoolkit build csfcube --documents docs.jsonl --sample 50 -o mine --systems bm25 "tfidf query=title"',
    "irtoolkit build csfcube --documents docs.jsonl --queries queries.csv -o mine --labels ann.qrels bob.qrels",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("--documents FILE...", "JSON lines", required=True)
    add("--queries FILE", "columns pid and facet; see above")
    add("--sample N", "draw N queries, over all years and facets; look through them", least=1)
    add_output(parser)
    _add_pools(parser)
    _add_people(parser)
    add("--seed N", "of everything drawn", least=0, default=0)
    add("--replace", "replace what is there of other texts or settings; grades are never replaced")
    add_engine(parser)


def _add_pools(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser.add_argument_group("pools"))
    add(
        "--systems SYSTEM...",
        'as of retrieve; settings in quotes: "bm25 k1=1.2 query=title"; default: the paper\'s'
        " title_tfidf, title_cbow200, title_tfidfcbow200, abs_tfidf, abs_cbow200 and"
        " abs_tfidfcbow200; specter is the paper's seventh",
    )
    add("--runs FILE...", "rankings that were made elsewhere")
    add("--citations FILE", "a paper and one that it cites in each line")
    add(
        "--depth N",
        "documents that each system adds; default: 13, as in the paper; a column depth of the"
        " queries gives another, such as its 33 for large pools",
        least=1,
        default=13,
    )
    add(
        "--listed N",
        "a system is a source of candidates among so many of its best",
        least=1,
        default=100,
    )
    add("--pools FILE", "pools that were made elsewhere, as the release has them")


def _add_people(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser.add_argument_group("people"))
    add(
        "--annotators NAME...",
        "at least two; each query is given to two; default: annotator1 annotator2",
    )
    add("--labels FILE...", "sheets or TREC qrels called after annotators, in place of sheets/")
    add("--adjudicated FILE", "a sheet or TREC qrels, in place of adjudication.tsv")


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.building.csfcube.build import Recipe, build_csfcube
    from irtoolkit.building.csfcube.pooling import Pooling

    pooling = Pooling(
        tuple(args.systems), tuple(args.runs), args.pools, args.citations, args.depth, args.listed
    )
    recipe = Recipe(pooling, tuple(args.annotators), args.sample, args.seed)
    gathered = build_csfcube(
        args.documents,
        args.output,
        args.queries,
        recipe,
        labels=args.labels,
        adjudicated=args.adjudicated,
        replace=args.replace,
    )
    for line in gathered.notes:
        note(f"note: {line}")
    _tell(gathered)


def _sizes(gathered: Gathered) -> str:
    """Returns the sizes of the pools in words."""
    sizes = sorted(map(len, gathered.pools.values()))
    if sizes[0] == sizes[-1]:
        return f"each pool has {sizes[0]:,} candidates"
    middle = sizes[len(sizes) // 2]
    return f"pools have {sizes[0]:,} to {sizes[-1]:,} candidates, half of them at least {middle:,}"


def _tell(gathered: Gathered) -> None:
    from irtoolkit.building.csfcube.agreement import table_of

    if gathered.quality is not None:
        print("\n".join(gathered.quality.as_text(sample=False)))
        print()
    if gathered.agreement is not None:
        print(table_of(gathered.agreement).to_text().rstrip())
    ids = [str(gathered.folder), *(f"{gathered.folder}/{facet}" for facet in gathered.facets)]
    counts = (
        f"{number_of(len(gathered.queries), 'queries')}, {number_of(gathered.pairs, 'pairs', ',')}"
    )
    if gathered.quality is not None:
        note(f"{counts}: {', '.join(ids)}")
        return
    note(f"{counts} of a query and a candidate to be graded; {_sizes(gathered)}")
    for line in gathered.waits_for():
        note(line)
    note("give the same command again when they are filled in")
