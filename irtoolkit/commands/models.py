"""List the models that have a name here, or say everything that is known of some.

A model is named by its preset, or by a folder or hub id. Where a preset's weights are not here, the
list says what to do; nothing is downloaded.
"""

from __future__ import annotations

import argparse

from irtoolkit.commands import add_format, print_json

HELP = "list known models, their weights and licences"
EXAMPLES = (
    "irtoolkit models",
    "irtoolkit models ColBERTv2 Contriever",
    "irtoolkit models --kind cross --format json",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", nargs="*", metavar="MODEL", help="default: a list of all")
    parser.add_argument(
        "--kind", choices=("dense", "late", "sparse", "cross", "writer", "weigher"),
        help="only models that make this of a text",
    )  # fmt: skip
    add_format(parser)


def execute(args: argparse.Namespace) -> None:
    from dataclasses import asdict

    from irtoolkit.base.errors import InputError
    from irtoolkit.base.near import did_you_mean
    from irtoolkit.base.tables import TextTable
    from irtoolkit.models.presets import find_preset, missing_weights, preset_name, presets

    for name in args.model:
        if preset_name(name) is None and "/" not in name and missing_weights(find_preset(name)):
            raise InputError(
                f"no model {name!r}",
                remedy=f"{did_you_mean(name, presets())}irtoolkit models lists those with a name;"
                " others are given by folder or hub id",
            )
    names = [
        name
        for name in args.model or presets()
        if args.kind is None or find_preset(name).kind == args.kind
    ]
    facts = {
        name: {**asdict(find_preset(name)), "missing": missing_weights(find_preset(name))}
        for name in names
    }
    if args.format == "json":
        print_json(facts)
    elif args.model and args.format == "text":
        for name, known in facts.items():
            print(name)
            for key, value in known.items():
                if value not in (None, "", " "):
                    print(f"  {key.replace('_', ' '):13} {value}")
            if known["missing"] is None:
                print("  weights       here")
    else:
        headers = ("model", "kind", "weights", "id", "licence")
        rows = [
            (name, known["kind"], "missing" if known["missing"] else "here", known["id"],
             known["licence"])
            for name, known in facts.items()
        ]  # fmt: skip
        notes = () if args.format != "text" else ("irtoolkit models NAME says where from and how.",)
        print(TextTable(headers, rows, notes=notes).render(args.format), end="\n")
