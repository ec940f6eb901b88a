"""Train a model by a recipe: a paper's own, or one of yours.

RECIPE is one of `irtoolkit train --list`, or a .toml file. While the model is trained it is
measured on real candidate sets with the benchmark's own measure; the best is kept. The model goes
to -o, or to where `irtoolkit reproduce` looks for it; sentence-transformers and every retriever
that takes model=FOLDER can load it. An interrupted training goes on where it was, with the same
weights in the end. Several GPUs or machines: `torchrun --nproc-per-node 4 -m irtoolkit train ...`;
they share each batch, and the loss is that of the whole of it.
"""

from __future__ import annotations

import argparse

from irtoolkit.commands import note, parse_pairs, print_json

HELP = "train a model by a recipe"
EXAMPLES = (
    "irtoolkit train --list",
    "irtoolkit train dense-relic --set context=4/4 --show",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", nargs="?", metavar="RECIPE")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="default: where reproduce looks")
    parser.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE", dest="settings",
        help="settings of the recipe; 2.epochs=3 is the second stage's alone",
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="the recipes, with their variables")
    parser.add_argument("--show", action="store_true", help="all settings, without training")
    parser.add_argument("--device", metavar="D", help="default: a GPU when there is one")
    parser.add_argument(
        "--save-every", type=int, default=500, metavar="N", help="steps between checkpoints; default: 500"
    )  # fmt: skip
    parser.add_argument("--workers", type=int, default=0, metavar="N", help="processes that prepare batches; default: 0")  # fmt: skip
    parser.add_argument("--tensorboard", metavar="FOLDER", help="write event files there")
    parser.add_argument("--restart", action="store_true", help="throw away checkpoints and model")


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.base.errors import InputError
    from irtoolkit.training.model_paths import trained_folder
    from irtoolkit.training.recipes import find_recipe

    if args.list:
        _list()
        return
    if args.recipe is None:
        raise InputError("no recipe is named", remedy="irtoolkit train --list shows them")
    settings = parse_pairs(args.settings)
    recipe = find_recipe(args.recipe, settings)
    if args.show:
        print_json(
            {"title": recipe.title, "paper": recipe.paper, "note": recipe.note, **recipe.settings()}
        )
        return
    from irtoolkit.training.processes import rank
    from irtoolkit.training.trainer import How, train

    out = args.output or trained_folder(args.recipe, settings)
    how = How(args.device, args.save_every, args.restart, args.workers, args.tensorboard)
    trained = train(recipe, out, how)
    if rank() != 0:
        return
    if trained.reused:
        note("a model of this training is there already")
    for number, stage in enumerate(trained.record["stages"], 1):
        if stage["best"] is not None:
            figures = ", ".join(f"{k} {v:.4f}" for k, v in stage["best"]["figures"].items())
            note(f"stage {number}, step {stage['best']['step']}: {figures}")
    print(trained.folder)


def _list() -> None:
    from irtoolkit.base.tables import TextTable
    from irtoolkit.training.recipes import find_recipe, recipes, variables

    rows = []
    for name in recipes():
        chosen = [f"{key}={'|'.join(values)}" for key, (_, values) in variables(name).items()]
        rows.append([name, find_recipe(name).title, " ".join(chosen)])
    print(TextTable(["recipe", "what it trains", "variables"], rows).render("text"))
