"""The dataset of a command: an id or a file, perhaps with other topics, judgments or candidates."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import is_file
from irtoolkit.base.paths import shown
from irtoolkit.commands import argument, note

if TYPE_CHECKING:
    from irtoolkit.datasets.dataset import Dataset


def add_ranked(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of commands that rank: --candidates, --topics and --qrels."""
    _add_candidates(parser, "rank the dataset's candidates for each query, or all documents")
    argument(
        parser,
        "--topics FILE",
        "queries in place of the dataset's: id, tab, text; TREC topics; CSV; JSON lines; or Parquet",
    )
    _add_qrels(parser)


def add_judged(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of commands that score: DATASET, RUN, --qrels and --candidates."""
    add = partial(argument, parser)
    add("DATASET", "a dataset, or a file of judgments")
    add("[RUN...]", "runs, at least one", dest="runs")
    _add_qrels(parser)
    add(
        "--excluded GRADE",
        "leave documents of this grade out of the runs, as -100 in BRIGHT's judgments",
        type=int,
    )
    add(
        "--precision",
        "compare scores in single precision, as trec_eval 9 does, or in double, as trec_eval 10 does",
        choices=("single", "double"),
        default="single",
    )
    _add_candidates(parser, "score runs of the dataset's candidates, or of all documents")


def _add_qrels(parser: argparse.ArgumentParser) -> None:
    argument(
        parser,
        "--qrels FILE",
        "judgments in place of the dataset's: TREC qrels, BEIR's, CSV or Parquet",
    )


def _add_candidates(parser: argparse.ArgumentParser, description: str) -> None:
    option = argument(
        parser,
        "--candidates WHICH",
        f"{description}: pool, corpus, or a file with candidates of each query, a run or top_ranked;"
        " default: the candidates where it has them",
    )
    option.suggested = ("pool", "corpus")  # type: ignore[attr-defined]


def note_order(message: str) -> None:
    """Notes what is taken for what, where it is in another order than expected."""
    note(f"note: {message}")


def swap_dataset_and_system(args: argparse.Namespace) -> None:
    """Swaps DATASET and SYSTEM if they are in each other's place."""
    from irtoolkit.ranking.order import dataset_then_system

    args.dataset, args.system = dataset_then_system(args.dataset, args.system, note_order)


def ranked_dataset(args: argparse.Namespace) -> Dataset:
    """Returns the dataset that a command ranks; see `add_ranked`.

    Raises:
        InputError: no such dataset or file, no queries, or no candidates if they are required.
    """
    from irtoolkit.api import load
    from irtoolkit.datasets.book_files import is_book
    from irtoolkit.datasets.replaced import with_candidates, with_qrels, with_topics

    dataset = load(args.dataset)
    if args.topics is not None:
        pools = args.candidates == "pool"
        dataset = with_topics(dataset, args.topics, pools=pools)
    elif not dataset.has("queries"):
        hint = f'; irtoolkit search {args.dataset} "TEXT" asks one' if is_book(args.dataset) else ""
        raise InputError(f"{args.dataset} has no queries", remedy=f"--topics FILE gives some{hint}")
    if args.qrels is not None:
        dataset = with_qrels(dataset, args.qrels)
    return with_candidates(dataset, args.candidates)


def judged_dataset(args: argparse.Namespace) -> tuple[Dataset, list[str]]:
    """Returns the dataset with judgments and the excluded grade, and the runs; see `_judged`."""
    dataset, runs = _judged(args)
    dataset.excluded = args.excluded
    return dataset, runs


def _judged(args: argparse.Namespace) -> tuple[Dataset, list[str]]:
    """Returns the dataset whose judgments a command scores runs on, and the runs.

    With --qrels, DATASET can be left out: the first argument is then a run.

    Raises:
        InputError: no run, or no such dataset or file.
    """
    from irtoolkit.datasets.dataset import Dataset
    from irtoolkit.datasets.local.judgments import read_qrels
    from irtoolkit.datasets.recognise import dataset_first
    from irtoolkit.datasets.replaced import with_candidates, with_qrels

    if not args.runs and (args.qrels is None or not is_file(args.dataset)):
        raise InputError(
            f"RUN is missing: {args.dataset} is taken for the dataset",
            remedy="name a dataset or qrels, then the runs; see --help",
        )
    if args.qrels is not None and is_file(args.dataset):
        judged = Dataset.of_qrels(read_qrels(args.qrels), shown(args.qrels))
        return judged, [args.dataset, *args.runs]
    args.dataset, args.runs = dataset_first(args.dataset, args.runs, note_order)
    if args.qrels is None:
        return with_candidates(Dataset.of(args.dataset), args.candidates), args.runs
    judged = with_qrels(Dataset.load(args.dataset), args.qrels)
    return with_candidates(judged, args.candidates), args.runs
