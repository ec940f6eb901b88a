"""Extract exemplifying units from any text, as in EgRet's data.

The markers are "for example" and "e.g."; a unit is the parenthesised clause or the sentence with a
marker. Input is plain text with blank lines between paragraphs, or JSON lines with a field "text"
(or "answer"), plain or .gz. Output is JSON lines: id, text, left, right, marker. A context has at
most 256 tokens, which are words unless --tokenizer names a Hugging Face tokenizer. Files are read
one paragraph or line at a time.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import Any

from irtoolkit.base.files import atomic_text
from irtoolkit.base.plurals import number_of
from irtoolkit.commands import add_output, argument, json_lines_file, note

HELP = "extract exemplifying units from text"
EXAMPLES = (
    "irtoolkit extract examples book.txt",
    "irtoolkit extract examples book.txt answers.jsonl.gz -o examples.jsonl.gz",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("WHAT", "what to extract: examples", choices=("examples",))
    add("FILE...", "text or JSON lines", dest="files")
    add("--tokens N", "most tokens on each side", type=int, default=256)
    add("--tokenizer NAME", "what splits texts into tokens; default: words", default="whitespace")
    add_output(parser, "default: standard output", required=False, check=json_lines_file)


def execute(args: argparse.Namespace) -> None:
    import json

    from irtoolkit.datasets.examples import Clipper, extract_from_files

    clipper = Clipper(args.tokenizer, args.tokens)

    def write(out: Any) -> int:
        lines = (
            json.dumps(unit, ensure_ascii=False) + "\n"
            for unit in extract_from_files(args.files, clipper)
        )
        return sum(1 for line in lines if out.write(line))

    if args.output is None:
        count = write(sys.stdout)
    else:
        with atomic_text(args.output) as out:
            count = write(out)
    note(f"{number_of(count, 'examples')} from {number_of(len(args.files), 'files')}")
