"""Rank the best documents of a run again, with a slower and better system.

SYSTEM is a cross-encoder by preset, folder or hub id; or any retriever (late, dense, sparse, ...) or
row of a paper's table, as `irtoolkit retrieve` takes it; or a language model (llm-pointwise, llm-pairwise,
llm-listwise) behind an endpoint or here, with --set llm=NAME endpoint=URL. Documents beyond the depth are left out, unless
they are kept, in their order, below those that are ranked again.
"""

from __future__ import annotations

import argparse
from functools import partial

from irtoolkit.base.launch import launch, nothing_to_do
from irtoolkit.commands import (
    add_output,
    add_run_form,
    add_settings,
    argument,
    note,
    parse_pairs,
    written,
)
from irtoolkit.commands._datasets import add_ranked, note_order, ranked_dataset
from irtoolkit.commands._engines import add_engine

# Processes that are started together share its work.
SHARED = True
HELP = "rank the best documents of a run again"
EXAMPLES = (
    "irtoolkit rerank csfcube bm25.run cross-encoder/ms-marco-MiniLM-L6-v2 -o ce.run",
    "irtoolkit rerank relic/val bm25.run late -o late.run --depth 1000 --set model=ColBERTv2",
    "irtoolkit rerank csfcube bm25.run llm-listwise -o llm.run --depth 20 --rest keep"
    " --set llm=gpt-4o-mini endpoint=https://api.openai.com/v1",
    "irtoolkit rerank csfcube/sample runs/bm25.run ql -o ql.run --depth 10 --rest keep",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("DATASET", "a dataset, a file or folder of documents, or an index")
    add("RUN", "TREC text or Parquet")
    add("SYSTEM", "what ranks again")
    add_output(parser)
    add_run_form(parser)
    add("--depth, --hits N", "documents ranked again", least=1, default=100)
    add(
        "--rest",
        "what becomes of documents below the depth",
        choices=("drop", "keep"),
        default="drop",
    )
    add_ranked(parser)
    add_settings(parser)
    add_engine(parser)


def execute(args: argparse.Namespace) -> None:
    from dataclasses import replace

    from irtoolkit.ranking.order import in_reranking_order
    from irtoolkit.ranking.produce import Among, RunOutput, has_nothing_to_do, produce
    from irtoolkit.ranking.systems import find_reranker, for_dataset

    args.dataset, args.run, args.system = in_reranking_order(
        args.dataset, args.run, args.system, note_order
    )
    system = find_reranker(args.system, parse_pairs(args.settings), args.dataset)
    system = replace(system, depth=args.depth)
    if has_nothing_to_do(system):
        note(nothing_to_do(launch()))
        return
    keep = args.rest == "keep"
    candidates = Among.read(args.run, keep_rest=keep)
    output = RunOutput(args.output, args.output_format, say=note)
    dataset = ranked_dataset(args)
    run, _ = produce(dataset, system, output, candidates=candidates)
    if launch().helps:
        return
    note(written(args.output, run, for_dataset(system, dataset)))
