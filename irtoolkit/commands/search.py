"""Search an index by text.

INDEX is the folder of an index, or a dataset; an index that is not there yet is built first. Without a
text, queries are read from the terminal, one a line. Words of a passage that match the query are
highlighted on a terminal.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from irtoolkit.base.errors import InputError
from irtoolkit.commands import add_settings, parse_pairs, print_json

if TYPE_CHECKING:
    from irtoolkit.ranking.hits import Hit, SearchResult
    from irtoolkit.ranking.kept import KeptIndex

HELP = "search an index by text"
EXAMPLES = (
    'irtoolkit search csfcube/sample "neural networks for parsing" -k 3',
    'irtoolkit search indexes/papers "a whale at sea" --set k1=1.2 b=0.75',
    "irtoolkit search indexes/papers --system bm25 < queries.txt",
)
_BOLD, _PLAIN = "\033[1m", "\033[0m"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("index", metavar="INDEX")
    parser.add_argument("text", metavar="TEXT", nargs="?", help="default: read from the terminal")
    parser.add_argument("-k", "--hits", type=int, default=10, metavar="N", help="default: 10")
    parser.add_argument(
        "--system", default="bm25", metavar="SYSTEM", help="of a dataset's index; default: bm25"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
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
            _show(index, line.strip(), args)


def _opened(args: argparse.Namespace) -> KeptIndex:
    from irtoolkit.ranking.kept import KeptIndex, is_index

    settings = parse_pairs(args.settings)
    if is_index(args.index):
        return KeptIndex(args.index, settings)
    from irtoolkit.ranking.build_index import open_kept

    return open_kept(args.index, args.system, settings, build_missing=True)


def _show(index: KeptIndex, text: str, args: argparse.Namespace) -> None:
    found = index.search(text, args.hits)
    if args.format == "json":
        hits = [
            {"rank": hit.rank, "id": hit.doc_id, "score": hit.score, "text": hit.text}
            for hit in found
        ]
        print_json({"query": text, "hits": hits})
        return
    if not found:
        print(f"no document matches {text!r}")
    _print(found)


def _print(found: SearchResult) -> None:
    import shutil
    import textwrap

    width = min(100, shutil.get_terminal_size((100, 24)).columns)
    bold = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    for hit in found:
        print(f"{hit.rank:>3}  {hit.score:.4f}  {hit.doc_id}")
        marked = _passage(hit, 3 * (width - 5))
        for line in textwrap.wrap(marked, width - 5, break_on_hyphens=False):
            shown = line.replace("\ue000", _BOLD if bold else "").replace(
                "\ue001", _PLAIN if bold else ""
            )
            print(f"     {shown}")


def _passage(hit: Hit, most: int) -> str:
    """The part of a text around its first match, with marks around matches."""
    text, matches = hit.text, list(hit.matches)
    first = max(0, matches[0][0] - most // 4) if matches and matches[0][0] > most // 2 else 0
    last = min(len(text), first + most)
    parts, at = ["…" if first else ""], first
    for begin, end in matches:
        if first <= begin and end <= last:
            parts += [text[at:begin], "\ue000", text[begin:end], "\ue001"]
            at = end
    parts += [text[at:last], "…" if last < len(text) else ""]
    printable = "".join(parts)
    return "".join(c if c.isprintable() or c in "\ue000\ue001" else " " for c in printable)
