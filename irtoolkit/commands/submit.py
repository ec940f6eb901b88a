"""Write a run in the form that a benchmark's leaderboard takes.

relic: JSON with each quote id of the test split and the first sentences of its 100 best
candidates, best first. The run is checked first: every quote must be there, with 100 candidates
or, where the book has fewer of that length, with all of them.
"""

from __future__ import annotations

import argparse

from irtoolkit.commands import note

HELP = "write a run in a leaderboard's own form"
EXAMPLES = ("irtoolkit submit relic/sample relic-test.run -o relic-test.json",)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", choices=("relic", "relic/sample"), metavar="BENCHMARK")
    parser.add_argument("run", metavar="RUN")
    parser.add_argument("-o", "--output", required=True, metavar="FILE")


def execute(args: argparse.Namespace) -> None:
    import json

    from irtoolkit.files import atomic_text
    from irtoolkit.submissions import relic

    answers = relic(f"{args.benchmark}/test", args.run)
    with atomic_text(args.output) as out:
        json.dump(answers, out)
        out.write("\n")
    note(f"{args.output}: {len(answers)} quotes")
