"""Train a model by a recipe: one of a paper, or your own.

RECIPE is a name from `irtoolkit train --list`, or a .toml file. During training
the model is evaluated on real candidate pools with the benchmark's measure, and
the best model is kept. The model is saved in the folder of -o, or where
`irtoolkit reproduce` looks for it; sentence-transformers and every retriever
with the setting model=FOLDER can load it. To resume an interrupted training,
rerun the same command: it ends with the same weights.

DATASET takes the place of the recipe's; queries of further ones are trained on
too. --set without=FILE leaves out queries and books by their ids.

With --grid the settings are chosen: each combination is trained on a part of
the training queries and measured on the others (--held-out 0.2) by --by, which
is no other split. The best is trained on everything with each of --seeds. --log
has every combination with its figure; to resume, rerun the same command.

With --out-of-fold the training queries are ranked: those of each fold by a model
that is trained on the other folds. From this run weights of a fusion can be tuned
honestly (irtoolkit tune DATASET --runs ...), and not from that of a model which
has seen the queries.

Several processes share each batch, and the loss is that of the whole batch: on
the GPUs of this machine with --engine processes --workers 4, on a Ray cluster
with --engine ray --workers 4, or started with
`torchrun --nproc-per-node 4 -m irtoolkit train ...` or
`srun irtoolkit train ...`. If one of an engine's processes is killed, the
others are ended, and the same command resumes. With --set fsdp=true they share
the weights too.

--set lora=16 trains low-rank adapters (LoRA) and merges them; quantize=4bit
holds the base in 4 bits (QLoRA).
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.launch import launch
from irtoolkit.base.tables import TextTable
from irtoolkit.commands import (
    argument,
    local_folder,
    note,
    parse_pairs,
    print_json,
    run_file,
    size_of,
)
from irtoolkit.commands._engines import add_engine
from irtoolkit.commands._train_search import add_search, search_settings

# Processes that are started together share its work.
SHARED = True
HELP = "train a model by a recipe"
EXAMPLES = (
    "irtoolkit train --list",
    "irtoolkit train dense-relic --set context=4/4 --show",
    "irtoolkit train quoter-lstm quoter/sample/en/train --evaluate quoter/sample/en/val --width 16 --epochs 1 --out-of-fold oof.run --folds 2 -o folds",
    "irtoolkit train quoter-lstm quoter/sample/en/train --grid rate=1e-3,1e-2 --by RR --width 16 --epochs 1 -o lstm",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("[RECIPE]", "a name from --list, or a .toml file")
    add("[DATASET...]", "datasets to train on; default: the recipe's", dest="datasets")
    add(
        "-o, --output FOLDER",
        "folder of the model; default: where `irtoolkit reproduce` looks for it",
        type=local_folder,
    )
    add(
        "--set KEY=VALUE...",
        "settings of the recipe; 2.epochs=3 sets the second stage only",
        dest="settings",
    )
    add("--list", "list the recipes and their variables")
    add("--show", "print all settings, and do not train")
    add("--device D", "torch device; default: a GPU if there is one")
    add("--save-every N", "steps between checkpoints", least=1, default=500)
    add("--loaders N", "processes that prepare batches", least=0, default=0)
    add("--tensorboard FOLDER", "write TensorBoard's event files to FOLDER")
    add("--restart", "delete existing checkpoints and the model, and train anew")
    add_search(parser)
    _add_folds(parser)
    add_engine(parser)


def _add_folds(parser: argparse.ArgumentParser) -> None:
    add = partial(
        argument, parser.add_argument_group("ranking the training queries without having seen them")
    )
    add(
        "--out-of-fold FILE",
        "write the run here; the models go to fold-1, fold-2 ... in the folder of -o",
        type=run_file,
    )
    add("--folds K", "number of folds; default: the dataset's own, or 5", least=2)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.training.model_paths import trained_folder
    from irtoolkit.training.recipe_files import find_recipe

    if (args.list or args.show) and launch().helps:
        return
    if args.list:
        _list()
        return
    if args.recipe is None:
        raise InputError("no recipe is given", remedy="irtoolkit train --list lists them")
    _check_flags(args)
    settings = _settings(args)
    recipe = find_recipe(args.recipe, settings)
    if args.grid:
        search_settings(args, settings, _training)
        return
    _check_combinations(args)
    if args.out_of_fold is not None and not args.show:
        _rank_folds(args, recipe)
        return
    if args.show:
        _show(recipe)
        return
    out = args.output or trained_folder(args.recipe, settings)
    trained = _training(args)(recipe, out)
    if launch().helps:
        return
    if trained.reused:
        note("the model of this training exists already")
    for number, stage in enumerate(trained.record["stages"], 1):
        if stage["best"] is not None:
            figures = ", ".join(f"{k} {v:.4f}" for k, v in stage["best"]["figures"].items())
            note(f"stage {number}, step {stage['best']['step']}: {figures}")
    print(trained.folder)


def _check_flags(args: argparse.Namespace) -> None:
    """Raises InputError for flags with which no training can begin, even if none is to begin."""

    if args.device is not None:
        from irtoolkit.models.loading import torch_device

        torch_device(args.device)


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """Returns the given settings, with the datasets among them."""

    settings = parse_pairs(args.settings)
    datasets = {"dataset": args.datasets[:1], "extra": args.datasets[1:]}
    for key, names in datasets.items():
        if names and key in settings:
            raise InputError(f"{key}={settings[key]} and the datasets {' '.join(args.datasets)}")
        if names:
            settings[key] = ",".join(names)
    return settings


def _training(args: argparse.Namespace) -> Any:
    """Returns a function that trains a recipe's model into a folder, with the command's options."""
    from irtoolkit.engines.engine import current
    from irtoolkit.training.ranks import in_this_process, ranks_of, train_with
    from irtoolkit.training.trainer import train

    options: dict[str, Any] = {
        "device": args.device,
        "save_every": args.save_every,
        "restart": args.restart,
        "workers": args.loaders,
        "tensorboard": args.tensorboard,
    }
    engine = current()
    if launch().several or in_this_process(engine, args.workers):
        return partial(train, **options)
    return partial(train_with, engine, ranks_of(engine, args.workers), **options)


def _check_combinations(args: argparse.Namespace) -> None:
    for flag in ("by", "seeds", "log"):
        if getattr(args, flag) is not None:
            raise InputError(
                f"--{flag} without --grid", remedy="--grid rate=2e-5,5e-5, for example"
            )
    if args.folds is not None and args.out_of_fold is None:
        raise InputError("--folds without a run", remedy="--out-of-fold FILE")


def _rank_folds(args: argparse.Namespace, recipe: Any) -> None:
    from irtoolkit.papers.training_folds import train_folds

    if launch().several:
        raise InputError(
            "--out-of-fold in processes that train together", remedy="--engine processes"
        )
    if args.output is None:
        raise InputError("--out-of-fold without a folder for the models", remedy="-o FOLDER")
    result = train_folds(
        recipe, args.output, args.out_of_fold, folds=args.folds, train=_training(args)
    )
    note(f"{args.out_of_fold}: {size_of(result.run)}; ranked out of {len(result.folds)} folds")
    for folder in result.models:
        print(folder)


def _show(recipe: Any) -> None:
    from irtoolkit.training.model_checks import check_recipe

    check_recipe(recipe)
    print_json(
        {"title": recipe.title, "paper": recipe.paper, "note": recipe.note, **recipe.settings()}
    )


def _list() -> None:
    from irtoolkit.training.recipe_files import find_recipe, recipe_names, recipe_variables

    rows = []
    for name in recipe_names():
        chosen = [
            f"{key}={'|'.join(values)}" for key, (_, values) in recipe_variables(name).items()
        ]
        rows.append([name, find_recipe(name).title, " ".join(chosen)])
    print(TextTable(["recipe", "what it trains", "variables"], rows).render("text"))
