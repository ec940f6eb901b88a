"""Compare the judgments of annotators, and merge them into one qrels file.

Agreement is on the pairs of a query and a document that both have judged: equal grades in percent,
Cohen's kappa, plain and with quadratic weights, Krippendorff's alpha of nominal and of ordinal grades,
and Spearman's rho. Of three annotators or more, the last row has alpha of all. A figure that is not
defined, since one grade was given throughout, is -. Then come the pairs that differ.

With -o, the judgments are merged: by the majority of those who judged a pair, or by their mean grade,
rounded, and .5 upwards. Grades in the file of --adjudicator hold in any case. Pairs that not everybody
has judged, or that have no majority, are refused unless a flag says what becomes of them. --differ
writes the pairs that differ as a run, which irtoolkit annotate takes as the pool of an adjudicator.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from irtoolkit.base.plurals import number_of
from irtoolkit.base.tables import TextTable
from irtoolkit.commands import add_format, add_output, argument, file_of, note, print_json, run_file

if TYPE_CHECKING:
    from irtoolkit.scoring.annotators import Annotators

HELP = "compare and merge the judgments of annotators"
EXAMPLES = (
    "irtoolkit agree judged/ann.qrels judged/ben.qrels",
    "irtoolkit agree judged/ann.qrels judged/ben.qrels judged/cho.qrels -o merged.qrels",
    "irtoolkit agree judged/ann.qrels judged/ben.qrels --differ differ.run",
    "irtoolkit agree judged/ann.qrels judged/ben.qrels --adjudicator again/dee.qrels -o merged.qrels",
)
# Pairs that are printed.
SHOWN = 10
_qrels_file = file_of("TREC qrels", ".qrels", ".tsv")
_HEADERS = ("annotators", "pairs", "%", "κ", "κ quadratic", "α nominal", "α ordinal", "ρ")


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("QRELS...", "two files of judgments or more")
    add_output(parser, "merged judgments, as TREC qrels", required=False, check=_qrels_file)
    add(
        "--rule",
        "how the judgments of a pair are merged",
        choices=("majority", "mean"),
        default="majority",
    )
    add("--adjudicator FILE", "qrels whose grades hold whatever the others say")
    add(
        "--missing",
        "merge pairs that not all have judged: not at all, without them, or from those who have",
        choices=("refuse", "drop", "keep"),
        default="refuse",
    )
    add("--differ FILE", "write the pairs that differ as a run", type=run_file)
    add("--all", f"print all pairs that differ, not the first {SHOWN}")
    add_format(parser)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.scoring.annotators import Annotators, read_grades

    annotators = Annotators.read(args.qrels)
    decided = None if args.adjudicator is None else read_grades(args.adjudicator)
    _print(args, annotators)
    if missing := len(annotators.missing()):
        note(
            f"note: {number_of(missing, 'pairs', ',')} of {len(annotators.pairs()):,} not judged by all"
        )
    if args.differ is not None:
        _to_judge_again(args.differ, annotators)
    if args.output is not None:
        merged = annotators.merge(args.rule, args.missing, decided)
        merged.write(args.output)
        note(f"{args.output}: {number_of(len(merged), 'pairs', ',')}")


def _to_judge_again(path: str, annotators: Annotators) -> None:
    if not annotators.differing():
        note(f"no pairs differ; {path} is not written")
        return
    run = annotators.to_judge_again()
    run.write(path)
    depth = max(run.offsets[1:] - run.offsets[:-1])
    note(
        f"{path}: {number_of(len(run), 'pairs', ',')}; irtoolkit annotate DATASET {path} --depth {depth} -o FOLDER judges them again"
    )


def _print(args: argparse.Namespace, annotators: Annotators) -> None:
    from dataclasses import asdict, astuple

    rows, differing = annotators.agreement(), annotators.differing()
    if args.format == "json":
        pairs = [
            {
                "query": query,
                "document": doc,
                "grades": dict(
                    zip(annotators.names, annotators.grades_of((query, doc)), strict=True)
                ),
            }
            for query, doc in differing
        ]
        print_json({"agreement": [asdict(row) for row in rows], "differing": pairs})
        return
    cells = [[None if cell != cell else cell for cell in astuple(row)] for row in rows]
    print(TextTable(_HEADERS, cells, places=3).render(args.format))
    if args.format != "text" or not differing:
        return
    printed = differing if args.all else differing[:SHOWN]
    table = [
        [*pair, *("-" if grade is None else str(grade) for grade in annotators.grades_of(pair))]
        for pair in printed
    ]
    print(f"\nPairs that differ: {len(differing):,} of {len(annotators.shared()):,}")
    print(TextTable(["query", "document", *annotators.names], table).render("text"))
    if len(printed) < len(differing):
        note(f"note: --all prints the other {len(differing) - len(printed):,}")
