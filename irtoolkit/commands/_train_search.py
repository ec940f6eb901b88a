"""`irtoolkit train RECIPE --grid ...`: its arguments and its output."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.launch import launch
from irtoolkit.base.tables import TableCell, TextTable
from irtoolkit.commands import argument, file_of, local_file, note, parse_pairs, print_json

_log_file = file_of("JSON", ".json", place=local_file)


def add_search(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that choose settings on held-out training queries."""
    add = partial(
        argument, parser.add_argument_group("choosing settings on held-out training queries")
    )
    add(
        "--grid KEY=VALUES...",
        "settings with their values, as rate=2e-5,5e-5 epochs=1,2 temperature=.05,.1",
    )
    add("--by MEASURE", "measure of the choice; default: the recipe's, else RR")
    add("--seeds N,N", "train the best with each of these; default: the recipe's")
    add("--log FILE", "keep the figures here, as JSON; default: FOLDER.tried.json", type=_log_file)


def search_settings(
    args: argparse.Namespace,
    settings: dict[str, Any],
    training: Callable[[argparse.Namespace], Any],
) -> None:
    """Trains the recipe with every setting of --grid, and the best one on all data; prints figures.

    Args:
        args: the command's arguments.
        settings: of the recipe, in every training.
        training: returns the function that trains with the command's options.
    """
    from irtoolkit.papers.training_grid import TrainingSearch
    from irtoolkit.papers.training_search import search_training
    from irtoolkit.papers.tune import parse_grid

    if launch().several:
        raise InputError("--grid in processes that train together", remedy="--engine processes")
    if args.out_of_fold is not None:
        raise InputError("--grid with --out-of-fold", remedy="search first, then give its --set")
    grid = parse_grid(parse_pairs([pair for word in args.grid for pair in word.split()]))
    search = TrainingSearch(args.recipe, grid, settings, args.by, _numbers(args.seeds))
    if args.show:
        _show_search(search)
        return
    if args.output is None:
        raise InputError("--grid without a folder for the model", remedy="-o FOLDER")
    result = search_training(search, args.output, args.log, training(args), args.restart)
    rows: list[list[TableCell]] = []
    for trial in result.tried:
        figure = "failed" if trial.figure is None else trial.figure
        values = [trial.settings.get(key, "") for key in grid]
        rows.append([*values, figure, round(trial.seconds)])
    title = f"{args.recipe}: on {result.best.held_out} held-out training queries"
    note(TextTable([*grid, result.measure, "seconds"], rows, title).render("text"))
    note("best: " + " ".join(f"{key}={value}" for key, value in result.best.settings.items()))
    for folder in result.models:
        print(folder)


def _show_search(search: Any) -> None:
    from irtoolkit.training.model_checks import check_recipe

    points = search.configurations()
    tried = [search.tried(point) for point in points]
    for recipe in (*tried, *(search.final(points[0], seed) for seed in search.chosen_seeds())):
        check_recipe(recipe)
    print_json([recipe.settings() for recipe in tried])


def _numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise InputError(
            f"--seeds {text} is not a list of whole numbers", remedy="--seeds 0,1,2"
        ) from None
