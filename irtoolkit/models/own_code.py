"""Code that comes with a model: it is run only if the user trusts its authors."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.models.presets import TWO_ENCODERS, read_model_json

# Files in which transformers looks for classes of a model's own.
_FILES = (
    "config.json",
    "tokenizer_config.json",
    "processor_config.json",
    "preprocessor_config.json",
)
# Packages whose modules sentence-transformers takes from a folder by name.
_KNOWN = ("sentence_transformers.", "irtoolkit.", "pylate.")
# Where transformers puts the code of models that it runs.
_RUN = "transformers_modules"
_log = logging.getLogger(__name__)


def check_own_code(location: str, trusted: bool = False, setting: bool = True) -> None:
    """Raises InputError if a model ships Python code, unless it is trusted; then logs what runs.

    transformers would load such a model as a class of its own that has the same weights, and
    compute something else.

    Args:
        location: the model's folder.
        trusted: whether its code may run.
        setting: whether there is a setting to trust it, for the message.

    Raises:
        InputError: it has code, and is not trusted.
    """
    names = sorted(set(_own_classes(Path(location))))
    if not names:
        return
    listed = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    if not trusted:
        stock = "a model whose architecture transformers or sentence-transformers has"
        raise InputError(
            f"the model {location} comes with code of its own, which irtoolkit does not run: {listed}",
            remedy=f"trust_remote_code=true if you trust its authors, or {stock}"
            if setting
            else f"use {stock}",
        )
    _log.warning("%s: running the code that comes with the model: %s", location, listed)


def check_code_ran(location: str, model: Any, trusted: bool) -> None:
    """Raises InputError if a model ships Python code and none of it was used.

    Raises:
        InputError: it was loaded as a class of transformers, as its code has none for this purpose.
    """
    if not trusted or not list(_own_classes(Path(location))):
        return
    parts = [*model.modules(), *(getattr(m, "tokenizer", None) for m in model.modules())]
    if not any(_is_own(type(part)) for part in parts):
        raise InputError(
            f"the code of the model {location} has no class for this use, and was not run",
            remedy="another retriever, or a model whose architecture transformers has",
        )


def _own_classes(folder: Path) -> Iterator[str]:
    """Yields the model's own classes that its files name, each with its file."""
    for subfolder in _folders(folder):
        for name in _FILES:
            classes = read_model_json(str(subfolder), name).get("auto_map")
            for class_name in _named(classes):
                yield f"{class_name} ({_shown(subfolder / name, folder)})"
    for name, kind in _modules(folder):
        if not kind.startswith(_KNOWN):
            yield f"{kind} ({name})"


def _folders(folder: Path) -> Iterator[Path]:
    """Yields the folders that a model's parts are loaded from."""
    yield folder
    if folder.name in TWO_ENCODERS:  # their tokenizer may be beside them
        yield folder.parent
    for module in read_model_json(str(folder), "modules.json").get("", []):
        path = module.get("path") if isinstance(module, dict) else None
        inner = folder / str(path or "")
        if path and inner.is_dir():
            yield inner
            yield from (below for below in sorted(inner.rglob("*")) if below.is_dir())


def _modules(folder: Path) -> Iterator[tuple[str, str]]:
    """Yields the file and the class of each module of sentence-transformers, those of routes too."""
    for module in read_model_json(str(folder), "modules.json").get("", []):
        if isinstance(module, dict):
            yield "modules.json", str(module.get("type"))
    for subfolder in _folders(folder):
        types = read_model_json(str(subfolder), "router_config.json").get("types")
        for kind in types.values() if isinstance(types, dict) else ():
            yield _shown(subfolder / "router_config.json", folder), str(kind)


def _shown(file: Path, folder: Path) -> str:
    """Returns a file's path within a folder; its whole path if it is elsewhere."""
    return file.relative_to(folder).as_posix() if file.is_relative_to(folder) else str(file)


def _named(classes: Any) -> Iterator[str]:
    """Yields the names in an auto_map, whose values are names or lists of them."""
    values = classes.values() if isinstance(classes, dict) else ()
    for value in values:
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str) and item:
                yield item


def _is_own(kind: type) -> bool:
    """Returns whether a class, or a base of it, comes from a model's code."""
    return any(base.__module__.partition(".")[0] == _RUN for base in kind.__mro__)
