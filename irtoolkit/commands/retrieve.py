"""Rank the candidates of every query of a dataset and write a TREC run.

SYSTEM is a retriever (bm25, ql, tfidf, crm, lucene, doct5query, deepct, word2vec, dense,
sentence-max, late, sparse, cross-encoder, faiss, generated-query, random), a system of a paper by
the paper's name for it (fabs_bm25, BM25-4-4, CRM, ...), bm25-anserini, or a model by name, folder or hub id (see
`irtoolkit models`). Its settings are flags: --k1 0.9 --b 0.4. DATASET is one of ours, any
ir_datasets id, or a .jsonl, .tsv or .trec file of documents.

A query ranks the dataset's candidates for it (scoreddocs) where there are some, else the whole
corpus; --candidates chooses, and a line says which and how many. Pools are ranked whole, a corpus to
depth 1,000. The list of an official first stage, as msmarco-passage/trec-dl-2019 has it, is ranked
again. With --topics, the queries of a file rank the whole corpus. Under torchrun, processes share
what a model has to encode.
"""

from __future__ import annotations

import argparse

from irtoolkit.commands import (
    add_output,
    add_run_form,
    add_settings,
    note,
    parse_pairs,
    written,
)
from irtoolkit.commands._datasets import add_ranked, ranked_dataset

HELP = "rank a dataset with a system and write a TREC run"
EXAMPLES = (
    "irtoolkit retrieve csfcube/sample fabs_bm25 -o runs/bm25.run",
    "irtoolkit retrieve csfcube/sample bm25 -o runs/k1.run.gz --hits 10 --k1 1.2 --b 0.5",
    "irtoolkit retrieve csfcube/sample bm25 -o corpus.run --candidates corpus",
    "irtoolkit retrieve csfcube/sample tfidf -o runs/tfidf.run --set query=facet_sentences self=drop",
    "irtoolkit retrieve relic/sample/test bm25 -o relic-test.run --depth 100",
    "irtoolkit retrieve relic/sample/val bm25 -o relic-val.run --set form=okapi doc=sentences",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("system", metavar="SYSTEM")
    add_output(parser)
    add_run_form(parser)
    parser.add_argument(
        "--depth", "--hits", type=int, metavar="N",
        help="rows per query; default: all of a pool, 1,000 of a corpus",
    )  # fmt: skip
    add_ranked(parser)
    add_settings(parser)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.ranking.candidates import unmatched_line, usual_depth
    from irtoolkit.ranking.from_index import can_rank, rank_corpus
    from irtoolkit.ranking.output import Output
    from irtoolkit.ranking.produce import is_helper, produce
    from irtoolkit.ranking.systems import find_system

    system = find_system(args.system, parse_pairs(args.settings), args.dataset)
    dataset = ranked_dataset(args)
    output = Output(args.output, args.output_format, say=note)
    depth = usual_depth(dataset, args.depth)
    if depth is not None and can_rank(dataset, system, depth):
        run = rank_corpus(dataset, system, depth, output)
    else:
        run, _ = produce(dataset, system, output, depth=depth)
    if is_helper():
        return
    note(written(args.output, run, system.on(dataset.lang)))
    warning = unmatched_line(run, system.task.ties)
    if warning is not None:
        note(warning)
