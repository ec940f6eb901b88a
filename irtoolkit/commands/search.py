"""Search an index by text.

INDEX is the folder of an index, or a dataset, or a .jsonl, .tsv or .trec file of documents, whose index
is built first where it is not there yet. Without a text, queries are read from the terminal or from
standard input, one a line. Words of a passage that match the query are highlighted on a terminal.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from irtoolkit.base.errors import InputError
from irtoolkit.base.textwidth import printable, wrap
from irtoolkit.commands import add_settings, parse_pairs, print_json

if TYPE_CHECKING:
    from irtoolkit.ranking.hits import Hit, SearchResult
    from irtoolkit.ranking.kept import KeptIndex

HELP = "search an index by text"
EXAMPLES = (
    'irtoolkit search csfcube/sample "neural networks for parsing" -k 3',
    'irtoolkit search indexes/papers "a whale at sea" --set k1=1.2 b=0.75',
    'irtoolkit search csfcube/sample "parsing of questions" --system bm25 --format json',
)
_BOLD, _PLAIN = "\033[1m", "\033[0m"
# Characters without meaning that mark where a match begins and ends until lines are made.
_BEGIN, _END = "\ue000", "\ue001"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("index", metavar="INDEX")
    parser.add_argument("text", metavar="TEXT", nargs="?", help="default: read from the terminal")
    parser.add_argument("-k", "--hits", type=int, default=10, metavar="N", help="default: 10")
    parser.add_argument(
        "--system",
        metavar="SYSTEM",
        help="default: what a folder was built for; bm25 for a dataset",
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text",
        help="default: text; json of several queries is one line for each",
    )  # fmt: skip
    add_settings(parser)


def execute(args: argparse.Namespace) -> None:
    if args.hits < 1:
        raise InputError(f"--hits {args.hits} is not at least 1")
    index = _opened(args)
    if args.text is not None:
        _show(index, args.text, args)
        return
    asking = sys.stdin.isatty() and sys.stdout.isatty()
    if asking:
        print(f"{len(index):,} documents; an empty line or Ctrl-D ends", file=sys.stderr)
    while True:
        try:
            line = input("> ") if asking else sys.stdin.readline()
        except EOFError:
            break
        if not line or (asking and not line.strip()):
            break
        if line.strip():
            _show(index, line.strip(), args, named=not asking)


def _opened(args: argparse.Namespace) -> KeptIndex:
    from irtoolkit.ranking.build_index import open_kept

    return open_kept(args.index, args.system, parse_pairs(args.settings), build_missing=True)


def _show(index: KeptIndex, text: str, args: argparse.Namespace, named: bool = False) -> None:
    """Prints what a query finds; one of several is `named`."""
    found = index.search(text, args.hits)
    if args.format == "json":
        hits = [
            {"rank": hit.rank, "id": hit.doc_id, "score": hit.score, "text": hit.text}
            for hit in found
        ]
        print_json({"query": text, "hits": hits}, None if named else 2)
        return
    if named:
        print(printable(text))
    if not found:
        print(f"no document matches {text!r}")
    _print(found)
    if named:
        print(flush=True)


def _print(found: SearchResult) -> None:
    import shutil

    width = min(100, shutil.get_terminal_size((100, 24)).columns)
    bold = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for hit in found:
        print(f"{hit.rank:>3}  {hit.score:.4f}  {printable(hit.doc_id)}")
        for line in wrap(_passage(hit, 3 * (width - 5)), max(20, width - 5)):
            shown = line.replace(_BEGIN, _BOLD if bold else "")
            print(f"     {shown.replace(_END, _PLAIN if bold else '')}")


def _passage(hit: Hit, most: int) -> str:
    """The part of a text around its first match, with marks around matches."""
    text = "".join(c if c.isprintable() and c not in (_BEGIN, _END) else " " for c in hit.text)
    matches = list(hit.matches)
    first = max(0, matches[0][0] - most // 4) if matches and matches[0][0] > most // 2 else 0
    last = min(len(text), first + most)
    parts, at = ["…" if first else ""], first
    for begin, end in matches:
        if first <= begin and end <= last:
            parts += [text[at:begin], _BEGIN, text[begin:end], _END]
            at = end
    return "".join([*parts, text[at:last], "…" if last < len(text) else ""])
