"""Names of measures in other tools than ir_measures, lists of names, and near misses.

trec_eval's are for example map, P.5,10 and official; ranx's ndcg@10, hit_rate@5 and r-precision.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import ir_measures

from irtoolkit.base.errors import InputError
from irtoolkit.base.near import nearest
from irtoolkit.measures.gain import G, binG
from irtoolkit.measures.gmap import GMAP, GMBpref
from irtoolkit.measures.ndcg_points import RnDCG, nDCGrel
from irtoolkit.measures.precision_levels import IPrecAvg, RprecMult
from irtoolkit.measures.rcap import RCap
from irtoolkit.measures.utility import NumNonrelJudgedRet, Utility
from irtoolkit.scoring.measure_parameters import check_written_parameters

# Parameters follow the name after a dot or an underscore: P.5,10 and P_5, utility.1,-1,0,0 and
# G.1=3.5,2=9.
_PARAMETERS = re.compile(r"(?P<name>.+?)[._](?P<values>[-0-9.=]+(?:,[-0-9.=]+)*)")
_NUMBER = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_NUMBERS = re.compile(rf"{_NUMBER}(?:,{_NUMBER})*")
_WEIGHTS = re.compile(rf"-?{_NUMBER}(?:,-?{_NUMBER})*")
_GAINS = re.compile(rf"[0-9]+=-?{_NUMBER}(?:,[0-9]+=-?{_NUMBER})*")
# trec_eval's measures that irtoolkit has and ir_measures has not: those without parameters.
_SINGLE: Mapping[str, ir_measures.Measure] = {
    "binG": binG,
    "gm_bpref": GMBpref,
    "gm_map": GMAP,
    "num_nonrel_judged_ret": NumNonrelJudgedRet,
}
# Those with one value for each parameter: the measure of a parameter, how trec_eval prints that, and
# the default parameters.
_EACH: Mapping[str, tuple[Callable[[str], ir_measures.Measure], str, str]] = {
    # Its denominator is at most R (m_rel_P.c), as that of capped recall.
    "relative_P": (lambda k: RCap @ int(k), "{:.0f}", "5,10,15,20,30,100,200,500,1000"),
    "Rprec_mult": (
        lambda x: RprecMult @ float(x),
        "{:.2f}",
        "0.2,0.4,0.6,0.8,1.0,1.2,1.4,1.6,1.8,2.0",
    ),
}
# Those with one value for all parameters: the measure, the name and the form of its parameter.
_WHOLE: Mapping[str, tuple[ir_measures.Measure, str, re.Pattern[str]]] = {
    "11pt_avg": (IPrecAvg, "recalls", _NUMBERS),
    "G": (G, "gains", _GAINS),
    "Rndcg": (RnDCG, "gains", _GAINS),
    "ndcg_rel": (nDCGrel, "gains", _GAINS),
    "utility": (Utility, "weights", _WEIGHTS),
}
# Parameters of trec_eval's measures as they are written after the dot.
_EXAMPLES: Mapping[str, str] = {
    **dict.fromkeys(("P", "recall", "map_cut", "ndcg_cut", "relative_P", "success"), "5,10"),
    **dict.fromkeys(("G", "Rndcg", "ndcg_rel"), "1=3,2=9"),
    "11pt_avg": "0.2,0.5",
    "Rprec_mult": "0.5,1.5",
    "iprec_at_recall": "0.1,0.5",
    "set_F": "0.5",
    "utility": "1,-1,0,0",
}
# The name of the run, which trec_eval lists among its measures.
_NO_MEASURES = ("runid",)
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


def trec_measures(name: str) -> dict[str, ir_measures.Measure] | None:
    """Returns the measures of a trec_eval name, each by the name under which trec_eval prints it.

    A name without parameters has all of trec_eval's own, as P has P_5 to P_1000; official, set and
    all_trec have several measures, without the ones that cannot be computed; see `not_computed`.

    Returns:
        None if trec_eval has no such name, or it cannot be computed.
    """
    if name in _groups():
        matched = {}
        for part in sorted(_groups()[name]):
            matched.update(trec_measures(part) or {})
        return matched or None
    parsed = _PARAMETERS.fullmatch(name)
    base = name if parsed is None or name in _single_names() else parsed["name"]
    if base not in _single_names():
        return None
    values = "" if parsed is None or base == name else parsed["values"]
    if base in {*_SINGLE, *_EACH, *_WHOLE}:
        return _trec_variants(base, values)
    if values and not _NUMBERS.fullmatch(values):
        return None
    try:
        measures = ir_measures.parse_trec_measure(name)
    except (ValueError, KeyError):
        return None
    return {_printed(base, measure, len(measures)): measure for measure in measures}


def _trec_variants(base: str, values: str) -> dict[str, ir_measures.Measure] | None:
    """Returns the measures of a trec_eval name that irtoolkit has, with any parameters."""
    if base in _SINGLE:
        return None if values else {base: _SINGLE[base]}
    if base in _EACH:
        make, printed, default = _EACH[base]
        try:
            parameters = {float(value): make(value) for value in (values or default).split(",")}
        except ValueError:
            return None
        if min(parameters) <= 0:
            return None
        return {f"{base}_{printed.format(value)}": variant for value, variant in parameters.items()}
    measure, parameter, form = _WHOLE[base]
    if not values:
        return {base: measure}
    if not form.fullmatch(values):
        return None
    if form is not _GAINS:
        return {f"{base}_{values}": measure(**{parameter: values})}
    pairs = (pair.split("=") for pair in values.split(","))
    gains = {int(grade): float(gain) for grade, gain in pairs}
    return {f"{base}_{values}": measure(**{parameter: gains})}


def not_computed(name: str) -> list[str]:
    """Returns the measures in a group of trec_eval, as official, that cannot be computed."""
    parts = sorted(_groups().get(name, set()) - {*_NO_MEASURES})
    return [part for part in parts if trec_measures(part) is None]


def unknown_measure(name: str) -> InputError:
    """Returns the error for a measure that no tool has, with the most similar names."""
    match = re.match(r"[A-Za-z_0-9]*?(?=[(@.]|_[0-9]|$)", name)
    base = match[0] if match else name
    if base in _single_names() and trec_measures(base) is None:
        return InputError(f"trec_eval's measure {name!r} is not computed here")
    registry = ir_measures.measures.registry
    theirs = [
        candidate
        for candidate in (*_single_names(), *_groups())
        if trec_measures(candidate) is not None
    ]
    # Some measures of ir_measures have several names.
    near = dict.fromkeys(
        registry[candidate].NAME if candidate in registry else candidate
        for candidate in nearest(base, [*theirs, *registry])
    )
    cut = re.fullmatch(r"[@._]([0-9]+)", name[len(base) :])
    suggestions = [
        f"{candidate}{_cut(candidate, cut[1])}" if cut else candidate for candidate in near
    ]
    return InputError(
        f"no measure {name!r}",
        remedy=f"did you mean {', '.join(suggestions)}?"
        if suggestions
        else "see ir-measur.es for names",
    )


def unread(name: str) -> InputError | None:
    """Returns the error for a trec_eval name with malformed parameters, as P.x for P.5."""
    base, dot, values = name.partition(".")
    if not dot or base not in _EXAMPLES:
        return None
    return InputError(
        f"measure {name!r} is not valid: {values!r} is not what trec_eval's {base} takes",
        remedy=f"as in {base}.{_EXAMPLES[base]}"
        + (", 1 or more" if _EXAMPLES[base] == "5,10" else ""),
    )


def _cut(name: str, cutoff: str) -> str:
    """Returns the suffix of a cutoff in a measure's notation; "" if the measure takes none."""
    if name in ir_measures.measures.registry:
        takes = "cutoff" in ir_measures.measures.registry[name].SUPPORTED_PARAMS
        return f"@{cutoff}" if takes else ""
    if name in _WHOLE:
        return ""
    return (
        f".{cutoff}"
        if any("_" in trec_name for trec_name in trec_measures(f"{name}.{cutoff}") or ())
        else ""
    )


def _printed(base: str, measure: ir_measures.Measure, count: int) -> str:
    """Returns a measure's name as trec_eval prints it: P_5, iprec_at_recall_0.10."""
    if base == "iprec_at_recall":
        return f"{base}_{measure['recall']:.2f}"
    if base == "set_F":
        return base if count == 1 and measure["beta"] == 1 else f"{base}_{measure['beta']:.2f}"
    cutoff = measure.params.get("cutoff")
    return base if cutoff is None else f"{base}_{cutoff}"


def _single_names() -> set[str]:
    import pytrec_eval

    names = set(pytrec_eval.supported_measures)
    return names - {*_groups(), *_NO_MEASURES}


def _groups() -> dict[str, set[str]]:
    import pytrec_eval

    return {name: set(parts) for name, parts in pytrec_eval.supported_nicknames.items()}


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
    if parts["name"] in registry:  # the error is in its parameters
        return None
    lowered = parts["name"].lower().replace("-", "_")
    by_lower_name = {registered.lower(): registered for registered in registry}
    ours = _RANX.get(lowered) or by_lower_name.get(lowered)
    if ours is None or ("(" in ours and parts["parameters"]):
        return None
    written = f"{ours}{parts['parameters'] or ''}{parts['cutoff'] or ''}"
    check_written_parameters(written)
    return ir_measures.parse_measure(written)
