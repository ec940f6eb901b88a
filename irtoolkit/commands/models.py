"""List the models that have a name here, or say everything that is known of some.

A model is named by its preset, or by a folder or hub id. Where a preset's weights are not here, the
list says what to do; nothing is downloaded, except with --fetch.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError, check_installed, needs_extra
from irtoolkit.base.near import did_you_mean
from irtoolkit.base.tables import TextTable, terminal_width
from irtoolkit.base.textwidth import wrap
from irtoolkit.commands import add_format, argument, print_json, print_table

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
# Where the weights of a model are, in the order of the list.
STATES = ("here", "hub", "convert", "none")
_COLUMNS = ("model", "kind", "weights", "id", "licence")
# Columns before a value.
_INDENT = 16


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("[MODEL...]", "models to describe; default: all are listed")
    add("--kind", "only models that make this of a text", choices=tuple(KINDS))
    add("--fetch NAME...", "get the weights of these models from the Hugging Face hub")
    add_format(parser)


def execute(args: argparse.Namespace) -> None:
    from dataclasses import asdict

    from irtoolkit.models.downloads import only_here
    from irtoolkit.models.presets import find_preset, missing_weights, presets

    if args.fetch:
        _fetch(args.fetch)
        if not args.model:
            return
    for name in args.model:
        if not _may_be_model(name):
            raise _unknown(name, "folder or hub id, OWNER/NAME")
    with only_here():
        facts = {
            name: {**asdict(find_preset(name)), "missing": missing_weights(find_preset(name))}
            for name in args.model or presets()
        }
    if args.kind is not None:
        facts = {name: entry for name, entry in facts.items() if entry["kind"] == args.kind}
    if args.format == "json":
        print_json(facts)
    elif args.format == "text" and args.model:
        _print_all(facts)
    elif args.format == "text":
        _print_kinds(_rows(facts))
    else:
        print_table(args.format, TextTable(_COLUMNS, _rows(facts)))


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


def _unknown(name: str, otherwise: str) -> InputError:
    from irtoolkit.models.presets import presets

    return InputError(
        f"no model {name!r}",
        remedy=f"{did_you_mean(name, presets())}irtoolkit models lists those with a name; others are"
        f" given by {otherwise}",
    )


def _fetch(names: Sequence[str]) -> None:
    """Downloads the weights of models from the hub, after checking all names.

    Raises:
        InputError: a name is unknown, is of a model that is not on the hub, or the hub cannot be reached.
    """
    from irtoolkit.models import places
    from irtoolkit.models.downloads import fetched_from_hub
    from irtoolkit.models.presets import find_preset

    for name in names:
        _check_fetchable(name)
    check_installed("huggingface_hub", "neural")
    for name in names:
        preset = find_preset(name)
        licence = preset.licence or "not known here"
        print(f"{name}: licence {licence}, see {preset.source or 'the hub'}", flush=True)
        for hub_id in dict.fromkeys(filter(None, (preset.id, preset.query, preset.base))):
            cached = places.in_hub_cache(hub_id)
            if cached is None and places.hub_is_off():
                raise InputError(f"cannot fetch {hub_id} from the hub: HF_HUB_OFFLINE is set")
            print(f"  {hub_id}: {cached or fetched_from_hub(hub_id, preset.licence)}")


def _check_fetchable(name: str) -> None:
    from irtoolkit.models.places import is_hub_id
    from irtoolkit.models.presets import find_preset, preset_name

    if "/" in name and not is_hub_id(name):
        raise InputError(
            f"{name!r} is no hub id",
            remedy="--fetch takes names of irtoolkit models, or OWNER/NAME",
        )
    if "/" not in name and preset_name(name) is None:
        raise _unknown(name, "hub id")
    preset = find_preset(name)
    if reason := preset.unpublished or preset.converted:
        raise InputError(f"{name} cannot be fetched: {reason}")


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


def _rows(facts: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str, str, str, str]]:
    """Returns the rows of the list, by kind, models whose weights are here first."""
    from irtoolkit.datasets.benchmark import NOT_STATED

    rows = [
        (
            name,
            entry["kind"],
            _state(entry),
            "" if entry["id"] == name else entry["id"],
            "" if entry["licence"] == NOT_STATED else entry["licence"],
        )
        for name, entry in facts.items()
    ]
    kinds = list(KINDS)
    return sorted(rows, key=lambda row: (kinds.index(row[1]), STATES.index(row[2])))


def _state(entry: Mapping[str, Any]) -> str:
    if entry["missing"] is None:
        return "here"
    if entry["converted"]:
        return "convert"
    return "none" if entry["unpublished"] else "hub"


def _print_kinds(rows: Sequence[tuple[str, str, str, str, str]]) -> None:
    """Prints a table for each kind of models."""
    for kind, title in KINDS.items():
        members = [(name, *others) for name, of_kind, *others in rows if of_kind == kind]
        if members:
            print(f"{TextTable(('model', *_COLUMNS[2:]), members, title)}\n")
    if find_spec("sentence_transformers") is None:
        print(needs_extra("sentence-transformers", "neural"))
    print("Weights are here, on the hub, to be converted, or not published (none).")
    print("irtoolkit models NAME says where a model comes from and how to get its weights.")
