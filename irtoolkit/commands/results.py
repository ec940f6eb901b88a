"""Write pages of measured and reported figures from results of `irtoolkit reproduce`.

Each FILE holds what `irtoolkit reproduce EXPERIMENT --format json` printed. FOLDER gets a page for each
benchmark, a page index.md that lists them, and reproduction.css. A page has a table for each group of
queries: each system's measured figures, the paper's, the differences, and a fold with the commands that
give the row. Pages are Markdown with tables in HTML, for MkDocs (which takes the styles as extra_css),
GitHub and others. Nothing is run.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from irtoolkit.base.files import atomic_text
from irtoolkit.base.paths import shown
from irtoolkit.commands import argument, local_folder

HELP = "write pages of measured and reported figures"
EXAMPLES = ("irtoolkit results csfcube.json relic.json -o pages",)


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("FILE...", "JSON of reproduce", dest="files")
    add("-o, --output FOLDER", "folder of the pages", required=True, type=local_folder)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.papers.pages import STYLES, pages, read_result

    files = pages([read_result(Path(name)) for name in args.files])
    files[STYLES.name] = STYLES.read_text("utf-8")
    folder = Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        with atomic_text(folder / name) as out:
            out.write(text)
        print(shown(folder / name))
