"""ranx's names of measures, and names whose capitals are others: ndcg@10, hit_rate@5, r-precision."""

from __future__ import annotations

import re

import ir_measures

from irtoolkit.scoring.measure_parameters import refuse_written

# ranx's names in lower case to those of ir_measures, for what both compute alike.
_RANX = {
    "hit_rate": "Success",
    "map": "AP",
    "mrr": "RR",
    "ndcg_burges": "nDCG(dcg='exp-log2')",
    "precision": "P",
    "r_precision": "Rprec",
    "recall": "R",
}
_NAME = re.compile(r"(?P<name>[A-Za-z][\w-]*)(?P<parameters>\([^)]*\))?(?P<cutoff>@[0-9]+)?")
_RBP = re.compile(r"rbp\.(?P<digits>[0-9]+)(?P<cutoff>@[0-9]+)?", re.IGNORECASE)
# A comma between two measures: before a name, and not within parentheses.
_BETWEEN = re.compile(r",(?=[0-9]*[A-Za-z])(?![^(]*\))")
_BEFORE_BLANKS = re.compile(r",\s+(?=\S)(?![^(]*\))")


def measures_between_commas(word: str) -> list[str]:
    """Returns the names in a list, for example map,ndcg@10; a name, for example P.5,10 is one."""
    return _BETWEEN.split(word)


def without_commas(text: str) -> str:
    """Returns a list of measures without commas that blanks follow."""
    return _BEFORE_BLANKS.sub(" ", text)


def measure_of_other_name(name: str) -> ir_measures.Measure | None:
    """Returns the measure of a name of ranx's, or of a name in other capitals; None if there is none.

    Raises:
        InputError: a parameter is given twice.
        ValueError, AssertionError, KeyError: parameters that the measure does not take.
    """
    persistence = _RBP.fullmatch(name)
    if persistence is not None:
        return ir_measures.parse_measure(
            f"RBP(p=0.{persistence['digits']}){persistence['cutoff'] or ''}"
        )
    parts = _NAME.fullmatch(name)
    if parts is None:
        return None
    registry = ir_measures.measures.registry
    if parts["name"] in registry:  # what is wrong is elsewhere in it
        return None
    lowered = parts["name"].lower().replace("-", "_")
    by_lower_name = {registered.lower(): registered for registered in registry}
    ours = _RANX.get(lowered) or by_lower_name.get(lowered)
    if ours is None or ("(" in ours and parts["parameters"]):
        return None
    written = f"{ours}{parts['parameters'] or ''}{parts['cutoff'] or ''}"
    refuse_written(written)
    return ir_measures.parse_measure(written)
