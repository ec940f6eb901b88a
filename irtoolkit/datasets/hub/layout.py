"""The layouts of retrieval datasets on the hub: the contents of their configurations.

MTEB's, which is BEIR's with more parts: `corpus`, `queries`, `default` or `qrels`, and perhaps
`top_ranked` (candidates of each query), `instruction` and `excluded_ids`. With several subsets (for
example languages), each has its own parts, `de-corpus` and so on. BRIGHT's: `documents` and
`examples`, whose splits are domains, with relevant and excluded documents in the examples.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean
from irtoolkit.datasets.hub.names import LAYOUTS, NO_LAYOUT
from irtoolkit.datasets.hub.repository import Repository

# The parts of a dataset, and what their configurations may be called.
_PARTS = {
    "corpus": ("corpus",),
    "queries": ("queries", "query"),
    "qrels": ("qrels", "default", "qrel"),
    "pools": ("top_ranked",),
    "instructions": ("instruction", "instructions"),
    "excluded": ("excluded_ids", "excluded"),
}
_BRIGHT = ("documents", "examples")
LONG = "long"
_USUAL = ("test", "standard", "dev", "validation", "val", "train")


@dataclass(frozen=True)
class Selection:
    """The tables of one subset and split.

    Attributes:
        bright: whether the layout is BRIGHT's, whose examples hold queries and judgments.
        parts: part to (configuration, split); see `_PARTS`.
        long: whether documents are whole pages, in BRIGHT.
    """

    bright: bool
    parts: Mapping[str, tuple[str, str]]
    long: bool = False


def select(repository: Repository, parts: Sequence[str]) -> Selection:
    """Returns the tables of a dataset that an id's parts name: a subset and a split.

    Raises:
        InputError: the layout is unknown; no such subset or split; or a subset has to be named and
            is not.
    """
    configs = repository.configs
    if set(_BRIGHT) <= set(configs):
        return _bright(repository, parts)
    subsets = _subsets(configs)
    if not subsets:
        raise InputError(
            f"{repository.name.place} has {NO_LAYOUT}: its configurations are {_listed(configs)}",
            remedy=LAYOUTS,
        )
    words = list(parts)
    subset = next((word for word in words if word in subsets), None)
    if subset is not None:
        words.remove(subset)
    elif "" in subsets:
        subset = ""
    elif len(subsets) == 1:
        subset = subsets[0]
    else:
        raise _choose(repository, "subset", subsets, words)
    chosen = {part: _config(configs, names, subset) for part, names in _PARTS.items()}
    named = {part: config for part, config in chosen.items() if config is not None}
    leading = named.get("qrels") or named.get("pools") or named["queries"]
    split = _split(repository, leading, words)
    return Selection(
        False,
        {part: (config, _split_of(repository, config, split)) for part, config in named.items()},
    )


def _bright(repository: Repository, parts: Sequence[str]) -> Selection:
    words = list(parts)
    long = LONG in words and "long_documents" in repository.configs
    if long:
        words.remove(LONG)
    documents = "long_documents" if long else "documents"
    domain = _split(
        repository, "examples", [word for word in words if word != "standard"], "domain"
    )
    if domain not in repository.splits(documents):
        raise _choose(repository, "domain", repository.splits(documents), [domain])
    chosen = {"corpus": (documents, domain), "queries": ("examples", domain)}
    return Selection(True, chosen, long)


def _subsets(configs: Collection[str]) -> list[str]:
    """Returns the subsets that have queries and documents; "" is a dataset without subsets."""
    subsets = []
    for name in _PARTS["queries"]:
        for config in configs:
            if config == name:
                subsets.append("")
            elif config.endswith(f"-{name}"):
                subsets.append(config.removesuffix(f"-{name}"))
            elif config.startswith(f"{name}-"):
                subsets.append(config.removeprefix(f"{name}-"))
    return [
        subset for subset in dict.fromkeys(subsets) if _config(configs, _PARTS["corpus"], subset)
    ]


def _config(configs: Collection[str], names: Sequence[str], subset: str) -> str | None:
    """Returns the configuration of a part: that of the subset, or the one shared by all subsets."""
    forms = [form for name in names for form in (f"{subset}-{name}", f"{name}-{subset}")]
    if subset and names is _PARTS["qrels"]:
        forms.append(subset)
    candidates = [*(forms if subset else ()), *names]
    return next((name for name in candidates if name in configs), None)


def _split(repository: Repository, config: str, words: Sequence[str], noun: str = "split") -> str:
    """Returns the split that a word names, else the only one, else the first of the usual names."""
    splits = repository.splits(config)
    if len(words) > 1 or any(word not in splits for word in words):
        raise _choose(repository, noun, splits, words)
    if words:
        return words[0]
    usual = next((name for name in _USUAL if name in splits), None)
    if usual is None and len(splits) > 1:
        raise _choose(repository, noun, splits, words)
    return usual or splits[0]


def _split_of(repository: Repository, config: str, split: str) -> str:
    """Returns the split of another part: the one of that name, else its only one."""
    splits = repository.splits(config)
    if split in splits:
        return split
    if len(splits) == 1:
        return splits[0]
    raise InputError(
        f"{repository.name.place}: {config} has no split {split}",
        remedy=f"it has {_listed(splits)}",
    )


def _choose(
    repository: Repository, noun: str, names: Sequence[str], available: Sequence[str]
) -> InputError:
    address = f"hf:{repository.name.place}"
    if not available:
        return InputError(
            f"{address} has several {noun}s: {_listed(names)}",
            remedy=f"name one: {address}/{names[0]}",
        )
    word = next((word for word in available if word not in names), available[-1])
    return InputError(
        f"{address} has no {noun} {word!r}",
        remedy=f"{did_you_mean(word, names)}it has {_listed(names)}",
    )


def _listed(names: Sequence[str], most: int = 20) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "") or "none"
