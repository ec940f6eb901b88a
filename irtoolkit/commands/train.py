"""Train a model by a recipe: one of a paper, or your own.

RECIPE is a name from `irtoolkit train --list`, or a .toml file. During training
the model is evaluated on real candidate pools with the benchmark's measure, and
the best model is kept. The model is saved in the folder of -o, or where
`irtoolkit reproduce` looks for it; sentence-transformers and every retriever
with the setting model=FOLDER can load it. To resume an interrupted training,
rerun the same command: it ends with the same weights.

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
from typing import Any

from irtoolkit.base.launch import launch
from irtoolkit.commands import local_folder, note, parse_pairs, print_json
from irtoolkit.commands._engines import add_engine

# Processes that are started together share its work.
SHARED = True
HELP = "train a model by a recipe"
EXAMPLES = (
    "irtoolkit train --list",
    "irtoolkit train dense-relic --set context=4/4 --show",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", nargs="?", metavar="RECIPE")
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", type=local_folder,
        help="folder of the model; default: where `irtoolkit reproduce` looks for it",
    )  # fmt: skip
    parser.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE", dest="settings",
        help="settings of the recipe; 2.epochs=3 sets the second stage only",
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="list the recipes and their variables")
    parser.add_argument("--show", action="store_true", help="print all settings, and do not train")
    parser.add_argument(
        "--device", metavar="D", help="torch device; default: a GPU if there is one"
    )
    parser.add_argument(
        "--save-every", type=int, default=500, metavar="N", help="steps between checkpoints; default: 500"
    )  # fmt: skip
    parser.add_argument("--loaders", type=int, default=0, metavar="N", help="processes that prepare batches; default: 0")  # fmt: skip
    parser.add_argument("--tensorboard", metavar="FOLDER", help="write TensorBoard's event files to FOLDER")  # fmt: skip
    parser.add_argument(
        "--restart", action="store_true", help="delete existing checkpoints and the model, and train anew"
    )  # fmt: skip
    add_engine(parser)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.base.errors import InputError
    from irtoolkit.training.model_paths import trained_folder
    from irtoolkit.training.recipe_files import find_recipe

    if (args.list or args.show) and launch().helps:
        return
    if args.list:
        _list()
        return
    if args.recipe is None:
        raise InputError("no recipe is given", remedy="irtoolkit train --list lists them")
    settings = parse_pairs(args.settings)
    recipe = find_recipe(args.recipe, settings)
    if args.show:
        from irtoolkit.training.model_checks import check_recipe

        check_recipe(recipe)
        print_json(
            {"title": recipe.title, "paper": recipe.paper, "note": recipe.note, **recipe.settings()}
        )
        return
    from irtoolkit.engines.engine import current
    from irtoolkit.training.ranks import in_this_process, ranks_of, train_with
    from irtoolkit.training.trainer import train

    out = args.output or trained_folder(args.recipe, settings)
    how: dict[str, Any] = {
        "device": args.device, "save_every": args.save_every, "restart": args.restart,
        "workers": args.loaders, "tensorboard": args.tensorboard,
    }  # fmt: skip
    engine = current()
    if launch().several or in_this_process(engine, args.workers):
        trained = train(recipe, out, **how)
    else:
        trained = train_with(engine, ranks_of(engine, args.workers), recipe, out, **how)
    if launch().helps:
        return
    if trained.reused:
        note("the model of this training exists already")
    for number, stage in enumerate(trained.record["stages"], 1):
        if stage["best"] is not None:
            figures = ", ".join(f"{k} {v:.4f}" for k, v in stage["best"]["figures"].items())
            note(f"stage {number}, step {stage['best']['step']}: {figures}")
    print(trained.folder)


def _list() -> None:
    from irtoolkit.base.tables import TextTable
    from irtoolkit.training.recipe_files import find_recipe, recipe_names, recipe_variables

    rows = []
    for name in recipe_names():
        chosen = [
            f"{key}={'|'.join(values)}" for key, (_, values) in recipe_variables(name).items()
        ]
        rows.append([name, find_recipe(name).title, " ".join(chosen)])
    print(TextTable(["recipe", "what it trains", "variables"], rows).render("text"))
