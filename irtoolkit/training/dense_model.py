"""Dense models before training, which map each text to one vector."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.models import limits, presets
from irtoolkit.models.presets import COMPARED_AS, Preset, Side
from irtoolkit.models.prompts import preset_prompt
from irtoolkit.training.base_checkpoint import SIDES, find_checkpoint, open_checkpoint
from irtoolkit.training.lstm import KNOWING, encoder_maker
from irtoolkit.training.recipes import Recipe


def dense_model(recipe: Recipe) -> Any:
    """Returns the SentenceTransformer of a recipe of kind dense that starts from a checkpoint."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Router

    starts = {side: find_checkpoint(recipe, side) for side in SIDES}
    of_docs = open_checkpoint(recipe, starts["document"][1])
    # Loaded again, so that the two encoders share no weights.
    of_queries = open_checkpoint(recipe, starts["query"][1]) if recipe.encoders == 2 else of_docs
    opened = {"query": of_queries, "document": of_docs}
    if recipe.encoders == 1 and "query" in getattr(of_docs[0], "sub_modules", {}):
        raise InputError(f"{recipe.start} has two encoders", remedy="encoders=2")
    pooling = {"document": recipe.pooling, "query": recipe.query_pooling or recipe.pooling}
    routes = {
        side: _pooled(_route(opened[side], side), pooling[side], *starts[side]) for side in SIDES
    }
    if recipe.sememes is not None:
        _add_sememes(routes["document"], recipe)
    preset = starts["document"][0]
    similarity = (
        COMPARED_AS.get(recipe.similarity or preset.similarity or "") or of_docs.similarity_fn_name
    )
    apart = recipe.encoders == 2 or pooling["query"] != pooling["document"]
    modules = (
        [Router.for_query_document(routes["query"], routes["document"])]
        if apart
        else routes["document"]
    )
    return SentenceTransformer(
        modules=modules,
        device="cpu",
        similarity_fn_name=similarity,
        prompts=_prompts(opened, starts),
        truncate_dim=of_docs.truncate_dim,
        default_prompt_name=None if apart else of_docs.default_prompt_name,
    )


def scratch_model(recipe: Recipe, texts: Iterable[str], docs: Sequence[str], seed: int) -> Any:
    """Returns the SentenceTransformer of a recipe that starts from no checkpoint.

    Args:
        recipe: a recipe of kind dense.
        texts: the texts with its vocabulary.
        docs: the texts of the documents, for a model with a vector for each of them.
        seed: seed of the vectors of words that no file gives.
    """
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Router

    if recipe.start in KNOWING:
        modules = [Router.for_query_document(*KNOWING[recipe.start](recipe, texts, docs, seed))]
        return SentenceTransformer(modules=modules, device="cpu", similarity_fn_name="dot")
    make = encoder_maker(recipe, texts, seed)
    modules = make(recipe.pooling, "document")
    if recipe.encoders == 2:
        of_queries = make(recipe.query_pooling or recipe.pooling, "query")
        modules = [Router.for_query_document(of_queries, modules)]
    return SentenceTransformer(
        modules=modules, device="cpu", similarity_fn_name=COMPARED_AS[recipe.similarity or "dot"]
    )


def _route(model: Any, side: Side) -> list[Any]:
    """Returns the modules that a text of a side passes through."""
    first, *rest = model
    routes = getattr(first, "sub_modules", {})
    return [*routes[side], *rest] if side in routes else [first, *rest]


def _pooled(modules: list[Any], pooling: str, preset: Preset, folder: str) -> list[Any]:
    """Returns modules with the given pooling in place of their own."""
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    plain = not presets.read_model_json(folder, "modules.json")
    if pooling == "own" and plain and preset.pooling is not None:
        pooling = preset.pooling
    if pooling == "own":
        return modules
    if pooling not in ("cls", "mean", "max", "mask"):
        raise InputError(
            f"{preset.name} has {pooling} pooling, which cannot be trained here",
            remedy="pooling=cls, mean, max or mask",
        )
    reader = modules[0]
    if not isinstance(reader, Transformer):
        # The modules between the tokens and their pooling would be lost.
        raise InputError(
            f"pooling={pooling} is for the tokens of a transformer, and {preset.id} is none",
            remedy="leave pooling out",
        )
    width = reader.get_embedding_dimension()
    if pooling != "mask":
        return [reader, Pooling(width, pooling_mode=pooling)]
    from irtoolkit.models.modules import MaskPooling

    mask = getattr(reader.tokenizer, "mask_token_id", None)
    if mask is None:
        raise InputError("pooling=mask needs a model with a mask token")
    return [reader, MaskPooling(width, mask)]


def _add_sememes(modules: list[Any], recipe: Recipe) -> None:
    """Adds the sememes of the recipe's lexicon to the token vectors of an encoder."""
    from sentence_transformers.base.modules import Transformer

    from irtoolkit.models.modules import SememeTransformer, read_lexicon

    if type(modules[0]) is not Transformer:
        raise InputError(
            "sememes are for the tokens of a transformer that has no sememes yet",
            remedy="leave sememes out, or start from a plain transformer",
        )
    lexicon = read_lexicon(str(recipe.sememes))
    modules[0] = SememeTransformer.of(modules[0], lexicon, recipe.alpha, recipe.lookup)


def _prompts(opened: dict[str, Any], starts: dict[Side, tuple[Preset, str]]) -> dict[str, str]:
    """Returns the prompts before the texts: the preset's, or else the model's own."""
    query, document = (preset_prompt(starts[side][0], side) for side in SIDES)
    if query is None and document is None and opened["query"] is opened["document"]:
        return dict(opened["document"].prompts)
    if query is None:
        query = limits.own_prompt(opened["query"], "query")
    if document is None:
        document = limits.own_prompt(opened["document"], "document")
    return {"query": query or "", "document": document or ""}
