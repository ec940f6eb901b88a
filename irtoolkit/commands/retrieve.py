"""Rank the candidates of every query of a dataset and write a TREC run.

SYSTEM is a retriever (bm25, ql, tfidf, crm, lucene, doct5query, deepct, word2vec, dense, sentence-max,
late, sparse, cross-encoder, faiss, generated-query, random), a system of a paper by the paper's name for
it (fabs_bm25, BM25-4-4, CRM, ...), or a model by name, folder or hub id (see `irtoolkit models`). DATASET
is one of ours or any ir_datasets id: its scoreddocs are the candidates where it has them, else its whole
corpus. Under torchrun, processes share what a model has to encode.
"""

from __future__ import annotations

import argparse

from irtoolkit.commands import add_settings, note, parse_pairs, written

HELP = "rank a dataset with a system and write a TREC run"
EXAMPLES = (
    "irtoolkit retrieve csfcube/sample fabs_bm25 -o runs/bm25.run",
    "irtoolkit retrieve csfcube/sample bm25 -o runs/k1.run.gz --depth 10 --set k1=1.2 b=0.5",
    "irtoolkit retrieve csfcube/sample tfidf -o runs/tfidf.run --set query=facet_sentences self=drop",
    "irtoolkit retrieve relic/sample/test bm25 -o relic-test.run --depth 100",
    "irtoolkit retrieve relic/sample/val bm25 -o relic-val.run --set form=okapi doc=sentences",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("system", metavar="SYSTEM")
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="TREC text, .gz or .parquet, by its name",
    )
    parser.add_argument("--depth", type=int, metavar="N", help="rows per query; default: all")
    add_settings(parser)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.ranking.produce import is_helper, produce
    from irtoolkit.ranking.systems import find_system

    system = find_system(args.system, parse_pairs(args.settings), args.dataset)
    run, _ = produce(args.dataset, system, args.output, depth=args.depth)
    if is_helper():
        return
    note(written(args.output, run, system))
