"""Rank the candidates of every query of a dataset and write a TREC run.

DATASET is one of irtoolkit's, any ir_datasets id, a .jsonl, .csv, .tsv, .trec or .parquet file of documents, a
folder of documents, topics and judgments (FOLDER/dev has those of qrels/dev.tsv), or the folder of an
index, also written --index FOLDER, which is searched by what it was built for.

SYSTEM is a retriever, a model by name, folder or hub id (see `irtoolkit models`), a row of a paper's
table (plotretrieval:DPR; fabs_bm25, where no model has the name), or bm25-anserini. The settings of a
retriever are flags: --k1 0.9 --b 0.4. The retrievers, by what they do:

    nothing to choose      best
    match terms            bm25, ql, tfidf, crm, lucene, deepct, doct5query
    expand queries         rm3, rm3-ql, rocchio, dense-prf
    read around a passage  bm25-surroundings, ql-surroundings, bm25-nearby,
                           dense-surroundings
    compare vectors        dense, sentence-max, sentence-match, late, sparse,
                           word2vec, faiss, plaid
    read both texts        cross-encoder, llm-pointwise, llm-pairwise,
                           llm-listwise
    let a model guess      generated-query, llm-quotation
    use known answers      known-contexts
    search a server        elasticsearch, opensearch, qdrant
    do nothing             random

A query ranks the dataset's candidates for it (scoreddocs) if there are some, else the whole corpus;
--candidates chooses, and a line says which and how many. Pools are ranked whole, a corpus to depth
1,000; of a corpus, a system that matches terms lists the documents that share one with the query, and
--fill true lists others after them. The list of an official first stage, as
msmarco-passage/trec-dl-2019 has it, is ranked again. With --topics, the queries of a file rank the
whole corpus. Of several systems, the runs go into the folder of -o. Processes that torchrun, srun or mpirun starts share what a model has to encode, and the
first writes the run.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.launch import launch, nothing_to_do
from irtoolkit.base.paths import on_disk, shown
from irtoolkit.commands import (
    OutputFile,
    add_output,
    add_run_form,
    add_settings,
    argument,
    note,
    output_folder,
    output_place,
    parse_pairs,
    run_file,
    written,
)
from irtoolkit.commands._datasets import add_ranked, note_order, ranked_dataset
from irtoolkit.commands._engines import add_engine

if TYPE_CHECKING:
    from irtoolkit.ranking.systems import System
    from irtoolkit.runs import Run

# Processes that are started together share its work.
SHARED = True
HELP = "rank a dataset with a system and write a TREC run"
EXAMPLES = (
    "irtoolkit retrieve csfcube/sample fabs_bm25 -o runs/bm25.run",
    "irtoolkit retrieve csfcube/sample bm25 -o runs/k1.run.gz --hits 10 --k1 1.2 --b 0.5",
    "irtoolkit retrieve csfcube/sample bm25 -o corpus.run --candidates corpus",
    "irtoolkit retrieve csfcube/sample bm25 tfidf ql -o systems",
    "irtoolkit retrieve csfcube/sample tfidf -o runs/tfidf.run --set query=facet_sentences self=drop",
    "irtoolkit retrieve relic/sample/test bm25 -o relic-test.run --depth 100",
    "irtoolkit retrieve relic/sample/val bm25 -o relic-val.run --set form=okapi doc=sentences",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("[DATASET]", "a dataset, a file or folder of documents, or an index")
    add("[SYSTEM...]", "what ranks; default: what an index was built for", dest="systems")
    add_output(
        parser,
        "TREC text, .gz or .parquet, by its name; of several systems, a folder",
        check=output_place,
    )
    add_run_form(parser)
    add("--depth, --hits N", "rows per query; default: all of a pool, 1,000 of a corpus", least=1)
    add_ranked(parser)
    add_settings(parser)
    add_engine(parser)


def execute(args: argparse.Namespace) -> None:
    settings = parse_pairs(args.settings)
    dataset, systems = _in_order(args.dataset, args.systems)
    # As Pyserini writes it. Settings of that name belong to a SYSTEM.
    is_index = "index" in settings and not systems
    if is_index:
        systems = [] if dataset is None else [dataset]
        dataset = settings.pop("index")
    is_index = is_index or (dataset is not None and _names_index(dataset))
    if dataset is None or not (systems or is_index):
        missing = "DATASET is missing"
        if dataset is not None:
            missing = f"SYSTEM is missing, as {shown(dataset)} is not the folder of an index"
        raise InputError(missing, remedy="irtoolkit retrieve DATASET bm25 -o FILE")
    args.dataset = dataset
    outputs = _outputs(args, systems)
    if is_index:
        _rank_index(args, settings, outputs)
    else:
        _rank_dataset(args, settings, outputs)


def _in_order(dataset: str | None, systems: list[str]) -> tuple[str | None, list[str]]:
    """Returns the dataset and the systems, the last of which may be the dataset."""
    from irtoolkit.ranking.order import dataset_then_system

    if dataset is None or not systems:
        return dataset, systems
    dataset, last = dataset_then_system(dataset, systems[-1], note_order)
    return dataset, [*systems[:-1], last]


def _outputs(args: argparse.Namespace, systems: list[str]) -> dict[str | None, OutputFile]:
    """Returns the file of each system's run, which is in the folder of -o if there are several."""
    if len(systems) < 2:
        return {systems[0] if systems else None: run_file(args.output)}
    folder = on_disk(args.output)
    if folder.suffix and not folder.is_dir():
        raise InputError(
            f"{len(systems)} systems, and one file", remedy="name a folder for their runs: -o runs"
        )
    output_folder(args.output)
    names = {system: f"{re.sub(r'[^a-zA-Z0-9._+-]+', '-', system)}.run" for system in systems}
    if len({name.lower() for name in names.values()}) < len(systems):  # one file on some disks
        raise InputError(
            "a system is named twice, or in capitals too",
            remedy="name each once; one command each for names that differ in capitals",
        )
    return {system: OutputFile(os.path.join(args.output, name)) for system, name in names.items()}


def _rank_dataset(
    args: argparse.Namespace, settings: dict[str, Any], outputs: Mapping[str | None, str]
) -> None:
    from irtoolkit.ranking.candidates import usual_depth
    from irtoolkit.ranking.from_index import retrieve
    from irtoolkit.ranking.produce import RunOutput, check_runnable, has_nothing_to_do
    from irtoolkit.ranking.systems import find_system, for_dataset

    found = {
        output: find_system(str(name), settings, args.dataset) for name, output in outputs.items()
    }
    dataset = ranked_dataset(args)
    systems = {path: for_dataset(system, dataset) for path, system in found.items()}
    for system in systems.values():  # before the first one ranks for hours
        check_runnable(system)
    # Which candidates are ranked is the same for all systems.
    say: Callable[[str], None] | None = note
    for path, system in systems.items():
        if has_nothing_to_do(system):
            note(nothing_to_do(launch()))
            continue
        output = RunOutput(path, args.output_format, say=say)
        run = retrieve(dataset, system, usual_depth(dataset, args.depth), output)
        say = None
        if not launch().helps:
            _tell(path, run, system, settings)


def _names_index(argument: str) -> bool:
    """Returns whether an argument is an index and no file of documents."""
    from irtoolkit.datasets.text_file import is_text_file
    from irtoolkit.indexes.remote import is_index

    return not is_text_file(argument) and is_index(argument)


def _rank_index(
    args: argparse.Namespace, settings: dict[str, Any], outputs: Mapping[str | None, str]
) -> None:
    from irtoolkit.datasets.replaced import queries_of_files
    from irtoolkit.ranking.from_index import rank_index
    from irtoolkit.ranking.produce import RunOutput

    if args.topics is None:
        raise InputError(
            f"the index {args.dataset} has no queries", remedy="--topics FILE gives some"
        )
    if args.candidates == "pool":
        raise InputError(f"the index {args.dataset} has no pools", remedy="leave --candidates out")
    if launch().helps:
        note(nothing_to_do(launch()))
        return
    queries = queries_of_files(shown(args.dataset), args.topics, args.qrels)
    say: Callable[[str], None] | None = note
    for name, path in outputs.items():
        output = RunOutput(path, args.output_format, say=say)
        run, system = rank_index(
            args.dataset, name, settings, queries, depth=args.depth, output=output
        )
        say = None
        _tell(path, run, system, settings)


def _tell(output: str, run: Run, system: System, settings: dict[str, Any]) -> None:
    from irtoolkit.ranking.candidates import unmatched_line

    note(written(output, run, system, settings))
    warning = unmatched_line(run, system.task.ties)
    if warning is not None:
        note(warning)
