"""Names of datasets on the hub: hf:OWNER/NAME, with optional revision, subset and split."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from irtoolkit.base.errors import InputError

HUB, MTEB = "hf:", "mteb:"
# As a URL of fsspec, and as one whose second slash was lost in a path.
_URL = re.compile(r"hf:/{1,2}datasets/")
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
NO_LAYOUT = "no layout of a retrieval dataset"
LAYOUTS = (
    "it needs corpus and queries, as MTEB and BEIR have them, or documents and examples, as BRIGHT"
    " has them"
)
_FORM = "hf:OWNER/NAME, or hf:OWNER/NAME@REVISION/SUBSET/SPLIT with what it has several of"


@dataclass(frozen=True)
class HubName:
    """A dataset on the hub, or a folder in one of the hub's layouts.

    Attributes:
        place: OWNER/NAME, or the path of the folder.
        revision: a branch, tag or commit; None takes the newest.
        parts: names of a subset (a language, or a domain) and of a split, in any order.
        local: whether it is a folder.
    """

    place: str
    revision: str | None
    parts: tuple[str, ...]
    local: bool


def is_hub_name(dataset_id: str) -> bool:
    """Returns whether an id names a dataset on the hub or a task of MTEB."""
    return dataset_id.startswith((HUB, MTEB))


def parse_hub_name(dataset_id: str) -> HubName:
    """Returns the parts of an id that begins with hf:.

    Raises:
        InputError: it names neither a repository nor a folder.
    """
    text = _URL.sub(HUB, dataset_id, count=1).removeprefix(HUB)
    # A path that was taken for a URL has two slashes.
    path = re.sub("^/{2,}", "/", text)
    words = path.split("/")
    for end in range(len(words), 0, -1):
        folder = "/".join(words[:end])
        if folder and _has_parts(Path(folder)):
            return HubName(folder, None, _filled(words[end:]), True)
    owner, *rest = words
    name, _, revision = (rest[0] if rest else "").partition("@")
    if path.strip("./") and Path(path).is_dir():
        raise InputError(f"the folder {path} has {NO_LAYOUT}", remedy=LAYOUTS)
    if not _REPOSITORY.fullmatch(f"{owner}/{name}"):
        raise InputError(f"no dataset {dataset_id!r} on the hub", remedy=f"write {_FORM}")
    return HubName(f"{owner}/{name}", revision or None, _filled(rest[1:]), False)


def _has_parts(folder: Path) -> bool:
    """Returns whether a folder has a card, or documents beside queries."""
    if not folder.is_dir():
        return False
    names = [path.name.partition(".")[0] for path in folder.iterdir()]
    card = folder / "README.md"
    return ("corpus" in names and "queries" in names) or (
        card.is_file() and "config_name" in card.read_text("utf-8", errors="replace")
    )


def _filled(words: list[str]) -> tuple[str, ...]:
    return tuple(word for word in words if word)
