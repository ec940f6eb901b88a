"""Recipes: what a model is trained on and how, one TOML file each."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_lines
from irtoolkit.retrievers.base import parse_settings

Pooling = Literal["own", "cls", "mean", "max", "mask"]
Schedule = Literal["linear", "constant", "cosine", "constant_with_warmup"]
FOLDER = Path(__file__).parent / "recipes"


@dataclass(frozen=True)
class Stage:
    """One pass of training: its data, its loss and its schedule.

    Attributes:
        source: where rows come from: the judged queries of a "dataset"; "examples" mined from text
            (`irtoolkit extract examples`); "triples" of query, positive and negative in a file; or
            passages of a dataset's books with their "surroundings".
        dataset: an ir_datasets id.
        file: of examples or triples.
        query, doc: views, see `irtoolkit.retrievers.task.view`.
        around, length: sentences on either side of a passage, and in it (surroundings).
        negatives: of each row: none but other rows' golds, "random" candidates, or those "mined"
            from the run.
        count: how many negatives a row has.
        run: a TREC run file to mine.
        depth: rows of each query that are mined.
        near: a document whose words have at least this Jaccard similarity with a gold's is never
            a negative of its query.
        teacher: a cross-encoder whose scores are learned.
        grouped: whether a batch has rows of one group (a book) only.
        loss: see `irtoolkit.training.losses`.
        scale: factor on similarities in the softmax, the inverse of its temperature.
        margin: of the triplet loss.
        frozen: what is not trained.
        batch: rows of a step, over all processes.
        chunk: rows whose activations are held at once; the batch's gradients are cached. None
            holds the batch.
        rate: the optimiser's highest learning rate.
        epochs: passes over the rows.
        schedule: of the learning rate.
        warmup: share of the steps in which the rate rises.
        decay: weight decay; without any, AdamW is Adam.
        clip: greatest norm of a gradient; 0 clips none.
        evaluate: the dataset that is ranked as training goes on; "" ranks the rows held out.
        measure: of it, which is to be best; without, the last model is kept.
        every: steps between evaluations; None evaluates after each epoch.
        patience: evaluations without a better one after which training stops; None never stops.
        held_out: share of the rows (of the groups, where grouped) kept from training; they are
            ranked where `evaluate` names no dataset.
    """

    source: Literal["dataset", "examples", "triples", "surroundings"] = "dataset"
    dataset: str = ""
    file: str = ""
    query: str = "default"
    doc: str = "default"
    around: int = 4
    length: int = 1
    negatives: Literal["none", "random", "mined"] = "none"
    count: int = 0
    run: str | None = None
    depth: int = 100
    near: float = 0.8
    teacher: str | None = None
    grouped: bool = False
    loss: str = "in-batch"
    scale: float = 1.0
    margin: float = 1.0
    frozen: Literal["none", "documents"] = "none"
    batch: int = 32
    chunk: int | None = None
    rate: float = 2e-5
    epochs: float = 1.0
    schedule: Schedule = "linear"
    warmup: float = 0.0
    decay: float = 0.0
    clip: float = 1.0
    evaluate: str = ""
    measure: str | None = None
    every: int | None = None
    patience: int | None = None
    held_out: float = 0.0

    @property
    def needs_all_documents(self) -> bool:
        """Whether every candidate has a part, and not only golds and mined negatives."""
        return self.negatives == "random" or self.loss == "all"


@dataclass(frozen=True)
class Recipe:
    """A model and how it is trained.

    Attributes:
        name: of its file.
        title: what it makes.
        paper: which, and where in it.
        note: what a user must know: what the paper does not print, say.
        stages: one after the other, each from the best model of the one before.
        kind: "dense", "late", "sparse" or "cross".
        start: what training starts from: a preset, a folder or a hub id; "lstm" is a network of
            that kind over the words of the texts to train on.
        query_start: the query encoder's own start; None takes `start`.
        encoders: 1, or 2 where queries have an encoder of their own.
        pooling, query_pooling: how token vectors become one; "own" is the start's own way.
        similarity: of two vectors.
        query_length, doc_length: tokens after which a text is cut; None is the start's own.
        join: what stands between the segments of a text; "sep" is the start's separator token, and
            None is what the start's preset says.
        labels: outputs of a cross-encoder.
        sememes: a lexicon whose sememes are added to the documents' tokens (QuoteR §5.3).
        alpha: their weight.
        words: a file of word vectors, as GloVe's are, for "lstm"; without, they are drawn.
        width: of the state of "lstm"; None is 300.
        precision: "fp32"; "bf16" or "fp16" mixed with it; "auto" is bf16 where a GPU has it.
        checkpointing: whether activations are computed again instead of kept.
        seed: of everything drawn.
        variables: what --set has chosen of the recipe's variables.
    """

    name: str = ""
    title: str = ""
    stages: tuple[Stage, ...] = ()
    paper: str = ""
    note: str = ""
    kind: Literal["dense", "late", "sparse", "cross"] = "dense"
    start: str = ""
    query_start: str | None = None
    encoders: Literal[1, 2] = 1
    pooling: Pooling = "own"
    query_pooling: Pooling | None = None
    similarity: Literal["cosine", "dot", "l2"] | None = None
    query_length: int | None = None
    doc_length: int | None = None
    join: str | None = None
    labels: Literal[1, 2] = 1
    sememes: str | None = None
    alpha: float = 1.0
    words: str | None = None
    width: int | None = None
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    checkpointing: bool = False
    seed: int = 42
    variables: tuple[tuple[str, str], ...] = ()

    def settings(self) -> dict[str, Any]:
        """Everything that decides the weights."""
        kept = asdict(self)
        for field in ("title", "paper", "note"):
            kept.pop(field)
        kept["variables"] = dict(self.variables)
        return kept


# What is not a setting: the rest of a recipe is.
_OWN = ("name", "stages", "variables")
_TEXTS = ("title", "paper", "note")
_MODEL = [field.name for field in fields(Recipe) if field.name not in (*_OWN, *_TEXTS)]
_STAGE = [field.name for field in fields(Stage)]


def recipes() -> list[str]:
    """The names of the recipes that come with irtoolkit."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def find_recipe(name: str, settings: Mapping[str, Any] | None = None) -> Recipe:
    """A recipe with settings of the user's.

    Args:
        name: one of `recipes()`, or the path of a file of one's own.
        settings: of the model, of the recipe's variables, or of every stage; `2.epochs` is the
            second stage's alone.

    Raises:
        InputError: no such recipe, setting or value, or a file that is none.
    """
    path = _path(name)
    data = _read(path)
    stages = data.pop("stage", None)
    if not isinstance(stages, list) or not stages:
        raise InputError("a recipe has at least one [[stage]]", file=path)
    variables = data.pop("variables", {})
    model, shared, single = _sorted(path, settings or {}, len(stages), list(variables))
    chosen = {key: str(model.pop(key, value["default"])) for key, value in variables.items()}
    filled: dict[str, str] = {}
    for key, value in chosen.items():
        values = variables[key]["values"]
        if value not in values:
            raise InputError(
                f"{key}={value} is no choice of the recipe {path.stem}",
                remedy=f"{key} is one of {', '.join(values)}",
            )
        filled |= values[value]
    made = []
    for number, stage in enumerate(stages, 1):
        _refuse_unknown(path, stage, _STAGE, f"stage {number}")
        flat = {**_fill(path, stage, filled), **shared, **single.get(number, {})}
        made.append(Stage(**parse_settings(Stage, flat, f"stage {number}")))
    _refuse_unknown(path, data, [*_MODEL, *_TEXTS], "the recipe")
    flat = {**_fill(path, data, filled), **model}
    known = parse_settings(Recipe, flat, f"recipe {path.stem}")
    return Recipe(
        **known, name=path.stem, stages=tuple(made), variables=tuple(sorted(chosen.items()))
    )


def verify(recipe: Recipe) -> None:
    """Sees to it that numbers are in their ranges.

    Raises:
        InputError: one is not, or a stage says when to stop and not by what.
    """
    if not 0 <= recipe.seed < 1 << 32:
        raise InputError(f"seed={recipe.seed} is not between 0 and 2^32 - 1")
    for number, stage in enumerate(recipe.stages, 1):
        at = f" of stage {number}" if len(recipe.stages) > 1 else ""
        for key, fits, wanted in (
            ("epochs", stage.epochs > 0, "above 0"),
            ("batch", stage.batch >= 1, "at least 1"),
            ("rate", stage.rate > 0, "above 0"),
            ("warmup", 0 <= stage.warmup < 1, "a share, from 0 to less than 1"),
            ("held_out", 0 <= stage.held_out < 1, "a share, from 0 to less than 1"),
            ("every", stage.every is None or stage.every >= 1, "at least 1"),
            ("patience", stage.patience is None or stage.patience >= 1, "at least 1"),
        ):
            if not fits:
                raise InputError(f"{key}={getattr(stage, key)}{at} is not {wanted}")
        for key in ("every", "patience"):
            if getattr(stage, key) is not None and stage.measure is None:
                raise InputError(
                    f"{key}{at} is of evaluations, and no measure is named", remedy="measure=RR"
                )


def variables(name: str) -> dict[str, tuple[str, list[str]]]:
    """The variables of a recipe: the default of each, and what it may be."""
    found = _read(_path(name)).get("variables", {})
    return {key: (str(value["default"]), list(value["values"])) for key, value in found.items()}


def _path(name: str) -> Path:
    if name in recipes():
        return FOLDER / f"{name}.toml"
    if name.endswith(".toml"):
        return Path(name)
    raise InputError(
        f"no recipe {name!r}", remedy=f"there are {', '.join(recipes())}, or give a .toml file"
    )


def _read(path: Path) -> dict[str, Any]:
    text = "\n".join(line for _, line in read_lines(path))
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML: {error}", file=path) from None
    found = data.get("variables", {})
    stages = data.get("stage", [])
    tables = isinstance(stages, list) and all(isinstance(stage, dict) for stage in stages)
    if not isinstance(found, dict) or not tables:
        raise InputError("[variables.NAME] and [[stage]] are tables", file=path)
    for key, value in found.items():
        fits = isinstance(value, dict) and value.keys() == {"default", "values"}
        if not fits or not isinstance(value["values"], dict):
            raise InputError(f"the variable {key} needs default and values", file=path)
    return data


def _sorted(
    path: Path, settings: Mapping[str, Any], count: int, variables: list[str]
) -> tuple[dict[str, Any], dict[str, Any], dict[int, dict[str, Any]]]:
    """Settings of the model and of variables, of every stage, and of single stages."""
    model: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    single: dict[int, dict[str, Any]] = {}
    for key, value in settings.items():
        number, dot, name = key.partition(".")
        if dot and name in _STAGE and number.isdecimal() and 1 <= int(number) <= count:
            single.setdefault(int(number), {})[name] = value
        elif key in _MODEL or key in variables:
            model[key] = value
        elif key in _STAGE:
            shared[key] = value
        else:
            stages = f"; a stage's own is 1.epochs ({count} stages)" if count > 1 else ""
            raise InputError(
                f"the recipe {path.stem} has no setting {key!r}",
                remedy=f"it has {', '.join([*variables, *_MODEL, *_STAGE])}{stages}",
            )
    return model, shared, single


def _fill(path: Path, values: dict[str, Any], filled: Mapping[str, str]) -> dict[str, Any]:
    """Values whose {placeholders} are filled in."""

    def fill(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return value.format_map(filled)
        except (KeyError, ValueError, IndexError) as error:
            raise InputError(f"no variable gives {error} in {value!r}", file=path) from None

    return {key: fill(value) for key, value in values.items()}


def _refuse_unknown(path: Path, values: Mapping[str, Any], known: list[str], where: str) -> None:
    unknown = [key for key in values if key not in known]
    if unknown:
        raise InputError(
            f"{where} has a key {unknown[0]!r}, which none has",
            file=path, remedy=f"there are {', '.join(known)}",
        )  # fmt: skip
