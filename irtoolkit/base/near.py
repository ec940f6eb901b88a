"""Near misses: the known names that the user may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

# Names that a message offers at most.
_MOST = 3
# A part of a name this long is taken for a guess at the whole, as minilm is.
_PART = 4
# What other tools call things, with what they may be called here.
_SYNONYMS = {
    **dict.fromkeys(("k", "top_k", "topk", "num_results"), ("hits", "depth", "k")),
    "hits": ("depth", "k"),
    **dict.fromkeys(("metric", "metrics"), ("measures", "measure")),
    **dict.fromkeys(("model", "retriever"), ("system",)),
    "queries": ("topics",),
    "topics": ("queries",),
    "max_p": ("alpha",),
    "stat_test": ("test",),
    "norm": ("normalise",),
    **dict.fromkeys(("okapi", "bm25okapi", "bm25l", "bm25plus", "bm25+", "bm25s"), ("bm25",)),
    **dict.fromkeys(("dirichletlm", "lmdir", "qld", "qljm", "lm"), ("ql",)),
    **dict.fromkeys(("t", "ttest", "t-test", "paired t-test"), ("student",)),
    **dict.fromkeys(("permutation", "randomization", "randomisation"), ("fisher",)),
}


def nearest(name: str, choices: Iterable[str], most: int = _MOST) -> list[str]:
    """Returns the names most similar to a name, best first, ignoring case.

    Names that differ in case only come first, then names of similar spelling, then names that
    contain it. Among names that differ in case only, the last one counts. A name of another tool has
    one answer, what it is called here. The dashes before a flag do not count.
    """
    spelled = {_bare(choice): choice for choice in choices}
    wanted_name = _bare(name)
    for synonym in _SYNONYMS.get(wanted_name, ()):
        if synonym in spelled and wanted_name not in spelled:
            return [spelled[synonym]]
    # Of two letters one may be wrong, as in k3 for k1.
    close = get_close_matches(
        wanted_name, spelled, most, cutoff=0.5 if len(wanted_name) < 3 else 0.6
    )
    inside = (
        [choice for choice in spelled if wanted_name in choice] if len(wanted_name) >= _PART else []
    )
    ordered = dict.fromkeys(
        [*([wanted_name] if wanted_name in spelled else []), *close, *sorted(inside, key=len)]
    )
    return [spelled[choice] for choice in ordered][:most]


def _bare(name: str) -> str:
    """Returns a name without what does not count: case, and how a flag is written."""
    return name.lower().lstrip("-").replace("-", "_") if name.startswith("-") else name.lower()


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Returns a question with the nearest of some names and a space, or "" if none is near."""
    near = nearest(name, choices)
    return f"did you mean {', '.join(near)}? " if near else ""
