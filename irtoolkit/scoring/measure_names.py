"""Names of measures: trec_eval's, such as map, P.5,10 and official; and near misses."""

from __future__ import annotations

import re

import ir_measures

from irtoolkit.base.errors import InputError
from irtoolkit.base.near import nearest
from irtoolkit.measures.gmap import GMAP
from irtoolkit.measures.rcap import RCap

# Parameters follow the name after a dot or an underscore: P.5,10 and P_5.
_PARAMETERS = re.compile(r"(?P<name>.+?)[._](?P<values>[0-9.]+(?:,[0-9.]+)*)")
# The cutoffs of a measure of trec_eval's that is not given any.
_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
# The name of the run, which trec_eval lists among its measures.
_NO_MEASURES = ("runid",)


def trec_measures(name: str) -> dict[str, ir_measures.Measure] | None:
    """The measures of one of trec_eval's names, each by the name under which trec_eval prints it.

    A name without parameters has all of trec_eval's own, as P has P_5 to P_1000; official, set and
    all_trec have several measures, without those that nothing computes; see `not_computed`.

    Returns:
        None where trec_eval has no such name, or nothing computes it.
    """
    if name in _groups():
        found = {}
        for part in sorted(_groups()[name]):
            found.update(trec_measures(part) or {})
        return found or None
    parsed = _PARAMETERS.fullmatch(name)
    base = name if parsed is None or name in _single_names() else parsed["name"]
    if base not in _single_names():
        return None
    if name == "gm_map":
        return {name: GMAP}
    if base == "relative_P":
        return _relative_precisions("" if parsed is None else parsed["values"])
    try:
        measures = ir_measures.parse_trec_measure(name)
    except (ValueError, KeyError):
        return None
    return {_printed(base, measure, len(measures)): measure for measure in measures}


def _relative_precisions(values: str) -> dict[str, ir_measures.Measure] | None:
    """Relative precision, whose denominator is at most R (m_rel_P.c): capped recall."""
    given = values.split(",") if values else map(str, _CUTOFFS)
    cutoffs = [int(value) for value in given if value.isdecimal() and int(value) > 0]
    if len(cutoffs) != (values.count(",") + 1 if values else len(_CUTOFFS)):
        return None
    return {f"relative_P_{cutoff}": RCap @ cutoff for cutoff in cutoffs}


def not_computed(name: str) -> list[str]:
    """The measures of one of trec_eval's groups, such as official, that nothing computes."""
    parts = sorted(_groups().get(name, set()) - {*_NO_MEASURES})
    return [part for part in parts if trec_measures(part) is None]


def unknown_measure(name: str) -> InputError:
    """The error for a measure that neither ir_measures nor trec_eval has, with the nearest ones."""
    found = re.match(r"[A-Za-z_0-9]*?(?=[(@.]|_[0-9]|$)", name)
    base = found[0] if found else name
    if base in _single_names() and trec_measures(base) is None:
        return InputError(f"trec_eval's measure {name!r} is not computed here")
    registry = ir_measures.measures.registry
    theirs = [one for one in (*_single_names(), *_groups()) if trec_measures(one) is not None]
    # Some measures of ir_measures have several names.
    near = dict.fromkeys(
        registry[one].NAME if one in registry else one
        for one in nearest(base, [*theirs, *registry])
    )
    cut = re.fullmatch(r"[@._]([0-9]+)", name[len(base) :])
    shown = [f"{one}{_cut(one, cut[1])}" if cut else one for one in near]
    return InputError(
        f"no measure {name!r}",
        remedy=f"did you mean {', '.join(shown)}?" if shown else "see ir-measur.es for names",
    )


def _cut(name: str, cutoff: str) -> str:
    """A cutoff as it is written after a name; nothing after a measure that takes none."""
    if name in ir_measures.measures.registry:
        takes = "cutoff" in ir_measures.measures.registry[name].SUPPORTED_PARAMS
        return f"@{cutoff}" if takes else ""
    return (
        f".{cutoff}" if any("_" in one for one in trec_measures(f"{name}.{cutoff}") or ()) else ""
    )


def _printed(base: str, measure: ir_measures.Measure, count: int) -> str:
    """How trec_eval prints a measure: P_5, iprec_at_recall_0.10."""
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
