"""Index the documents of a dataset, for searches in any later process.

DATASET is one of ours, any ir_datasets id, a .jsonl, .csv, .tsv, .trec or .parquet file of documents, a
folder of such files, as Pyserini and BEIR have them, or a book: a .txt file or a folder of them, whose documents are passages of 3 sentences, or of --sentences N. SYSTEM is a
retriever that keeps its documents, such as bm25 (the default), or a model. The index is a folder: by
default in irtoolkit's cache, where `search` and `retrieve` find it again by dataset and system. To
continue an index that was interrupted, rerun the same command.

With --info, --verify, --merge or --delete, DATASET is the folder of an index, or a dataset whose index
is in the cache.

With lucene as SYSTEM, FOLDER becomes a Lucene index with document vectors, which Pyserini and Anserini
read too; it is not added to or merged here.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.plurals import number_of
from irtoolkit.base.tables import DEFAULT_WIDTH, terminal_width
from irtoolkit.base.textwidth import printable, wrap
from irtoolkit.commands import add_settings, argument, output_folder, parse_pairs
from irtoolkit.commands._datasets import swap_dataset_and_system
from irtoolkit.commands._engines import add_engine

if TYPE_CHECKING:
    from irtoolkit.datasets.dataset import Dataset
    from irtoolkit.ranking.systems import System
    from irtoolkit.retrievers.stored_index import StoredIndex

HELP = "index documents once, for searches in any later process"
EXAMPLES = (
    "irtoolkit index csfcube/sample bm25",
    "irtoolkit index csfcube/sample bm25 -o indexes/papers",
    "irtoolkit index relic/sample/test bm25 -o indexes/papers --add",
    "irtoolkit index csfcube/sample lucene -o indexes/lucene",
    "irtoolkit index indexes/papers --info",
    "irtoolkit index indexes/papers --merge",
    "irtoolkit index indexes/papers --verify",
)


# Of no use to a reader: the number of the analysis, and what is said already.
_UNTOLD = ("analysis", "retriever", "kind", "side")
# Characters of a setting that are shown: a model is named by a hash.
_SHOWN = 16


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("DATASET", "a dataset, a file or folder of documents, or a book")
    add("[SYSTEM]", "what the index is for; default: bm25")
    add(
        "-o, --output FOLDER",
        "folder of the index; default: in irtoolkit's cache",
        type=output_folder,
    )
    add(
        "--memory MIB",
        "memory for the postings of a shard while it is built",
        least=1,
        default=1024,
    )
    add("--sentences N", "sentences of a passage of a book; default: 3", least=1)
    one_of = partial(argument, parser.add_mutually_exclusive_group())
    one_of("--replace", "build it again in place of the one that is there")
    one_of("--add", "add the documents to the index that is there")
    one_of("--delete ID...", "delete documents")
    one_of("--merge", "make one shard, without deleted documents")
    one_of("--info", "say what the index holds")
    one_of("--verify", "read every byte of it")
    add_settings(parser)
    add_engine(parser)


def execute(args: argparse.Namespace) -> None:
    if args.system is not None:
        swap_dataset_and_system(args)
    settings = parse_pairs(args.settings)
    if args.delete or args.merge or args.info or args.verify:
        _use(args, settings)
    else:
        _write(args, settings)


def _use(args: argparse.Namespace, settings: dict[str, Any]) -> None:
    """Verifies, changes or describes an index that is there."""
    from irtoolkit.ranking.build_index import open_kept

    if args.output is not None:
        raise InputError(
            "--output does not go with --info, --verify, --merge or --delete",
            remedy=f"name the index first: irtoolkit index {args.output} --info",
        )
    index = open_kept(args.dataset, args.system, settings)
    if args.verify:
        print(f"{index.verify():,} files are as they were written")
        return
    if args.delete:
        index = index.delete(args.delete)
    elif args.merge:
        index = index.merge()
    _tell(index)


def _write(args: argparse.Namespace, settings: dict[str, Any]) -> None:
    """Builds an index of a dataset, or adds its documents to one."""
    from irtoolkit.base.home import is_temporary_cache
    from irtoolkit.indexes.remote import is_index
    from irtoolkit.ranking.build_index import build, folder_index
    from irtoolkit.ranking.systems import check_search_settings, find_system
    from irtoolkit.retrievers.index_sources import dataset_with

    if is_index(args.dataset):
        raise InputError(
            f"{args.dataset} is an index already",
            remedy="name a dataset; or use --info, --merge, --verify or --delete",
        )
    if args.output is None and is_temporary_cache():
        raise InputError(
            "cannot write: the cache folder cannot be made, and the index would be lost",
            remedy="name a folder with --output, or set IRTOOLKIT_CACHE to one",
        )
    data, memory = dataset_with(args.dataset, args.sentences), args.memory << 20
    if args.add:
        if args.output is None:
            raise InputError("--add needs the index", remedy="name it with --output FOLDER")
        existing = folder_index(args.output, args.system, settings, data.parts)
        _tell(existing.add(data, memory=memory))
        return
    check_search_settings(settings)
    system = find_system(args.system or "bm25", settings, data.parts)
    if system.retriever.name == "lucene":
        _build_lucene(data, system, args)
        return
    index = build(data, system, args.output, memory=memory, replace=args.replace)
    _tell(index)
    if index.was_there:
        print("  was there already; --replace builds it again")


def _build_lucene(data: Dataset, system: System, args: argparse.Namespace) -> None:
    """Writes a Lucene index, which Lucene's own programs read too."""
    from irtoolkit.ranking.build_index import build_lucene

    if args.replace:
        raise InputError("--replace is for indexes of ours", remedy="name another folder")
    path, count = build_lucene(data, system, args.output)
    print(printable(str(path)))
    print(f"  {number_of(count, 'documents', ',')}, for lucene: --index {printable(str(path))}")


def _tell(index: StoredIndex) -> None:
    """Prints the contents of an index on a few lines."""
    manifest, size = index.manifest, index.bytes()
    gone = sum(entry.documents for entry in manifest.shards) - len(index)
    documents = number_of(len(index), "documents", ",")
    shards = number_of(len(manifest.shards), "shards", ",")
    deleted = f" and {gone:,} deleted" if gone else ""
    size_text = f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{size / 1e3:,.1f} kB"
    print(printable(index.name))
    print(f"  {documents}{deleted} in {shards}, {size_text}")
    for source in manifest.sources:
        print(f"  from {printable(source.name)}: {source.documents:,}")
    removed = sum(source.documents for source in manifest.sources) - len(index)
    if removed:
        print(f"  deleted of these: {removed:,}")
    options = {
        key: str(value)[:_SHOWN]
        for key, value in manifest.settings.items()
        if key not in _UNTOLD and value not in (None, [])
    }
    if "model" in options:
        options["model"] = manifest.parameters.get("model", options["model"])
    searched = {key: value for key, value in manifest.given.items() if key not in manifest.settings}
    settings = [f"{key}={value}" for key, value in {**options, **searched}.items()]
    width = min(DEFAULT_WIDTH, terminal_width())
    for line in wrap(f"for {index.searched_by}: {printable(' '.join(settings))}", width - 4):
        print(f"  {line}")
