"""ranx on runs and qrels of irtoolkit, or on plain objects: fusion, evaluation, comparison.

Ties, missing queries and p-values are handled as irtoolkit does. Nothing here needs pandas, and
ranx itself is imported when it is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, permutations
from typing import Any, Literal, get_args

import numpy as np
from ir_measures import Measure
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats, encode, rank_ids, translate
from irtoolkit.base.plurals import number_of
from irtoolkit.integrations.ranx_objects import (
    check_ordered,
    from_ranx,
    load_ranx,
    normalised_for_ranx,
    threads_kept,
    to_ranx,
)
from irtoolkit.runs import Qrels, Run
from irtoolkit.scoring.evaluation import parse_measures
from irtoolkit.scoring.significance import Correction, correct, paired_test

__all__ = [
    "NAMES",
    "RanxTest",
    "compare_with_ranx",
    "evaluate_with_ranx",
    "from_ranx",
    "fuse_with_ranx",
    "ranx_name",
    "to_ranx",
]

RanxTest = Literal["student", "fisher"]

# ranx's tables name systems by the letters of the alphabet.
_MOST_SYSTEMS = 26
# Names in ranx of the measures that ranx and trec_eval compute alike, by ir_measures' names. ranx's
# bpref is NaN where nothing is judged irrelevant, and its RBP is another measure.
NAMES = {
    "AP": "map",
    "nDCG": "ndcg",
    "P": "precision",
    "R": "recall",
    "RR": "mrr",
    "Rprec": "r-precision",
    "SetR": "recall",
    "Success": "hit_rate",
}


def fuse_with_ranx(
    runs: Iterable[Any],
    method: str = "wsum",
    norm: str | None = "min-max",
    params: Mapping[str, Any] | None = None,
    tag: str | None = None,
) -> Run:
    """Fuses runs by any of ranx's methods.

    `irtoolkit.ranking.fusion.fuse` has the usual methods and does not need ranx.

    Args:
        runs: two or more, each a ranx.Run or anything that `Run.of` accepts. A query that a run
            lacks has no documents in it.
        method, norm, params: see ranx.fuse.
        tag: tag of the fused run; by default the method's name.

    Raises:
        InputError: fewer than two runs; a method, normalisation or parameter that ranx refuses; or
            a method whose order is another in each process.
    """
    ranx = load_ranx()
    check_ordered(method)
    listed = [_run_of(ranx, run) for run in runs]
    if len(listed) < 2:
        raise InputError(f"{number_of(len(listed), 'runs')} to fuse", remedy="give at least two")
    query_ids, _ = encode(query for run in listed for query in run.query_ids)
    theirs, excluded = normalised_for_ranx(listed, query_ids.tolist(), norm)
    with threads_kept():
        try:
            fused = ranx.fuse(runs=theirs, norm=excluded, method=method, params=dict(params or {}))
        except (AssertionError, KeyError, NotImplementedError, TypeError, ValueError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise InputError(
                f"ranx cannot fuse by {method} after {norm}: {reason}", remedy="see ranx.fuse"
            ) from error
    return _in_order_of(from_ranx(fused, tag or method), query_ids)


def _run_of(ranx: Any, run: Any) -> Run:
    """Returns a run from any object; one of ranx keeps its order of ties."""
    return from_ranx(run) if isinstance(run, ranx.Run) else Run.of(run)


def _in_order_of(run: Run, query_ids: NDArray[np.object_]) -> Run:
    """Returns the run with its queries in the given order; ranx sorts them."""
    source = translate(query_ids, run.query_ids)
    counts = np.diff(run.offsets)[source]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    rows = np.arange(offsets[-1]) + np.repeat(run.offsets[source] - offsets[:-1], counts)
    return Run.ordered(query_ids, offsets, run.doc_ids, run.docs[rows], run.scores[rows], run.tag)


def ranx_name(measure: str | Measure) -> str:
    """ranx's name of a measure that it computes as ir_measures does: "ndcg@10" for nDCG@10.

    A name that ranx itself has is returned unchanged.

    Raises:
        InputError: ranx does not have the measure, or computes another one by that name.
    """
    if isinstance(measure, str):
        if measure.split("@")[0].split("-l")[0].split(".")[0] in _own_names():
            return measure
        (measure,) = parse_measures([measure]).values()
    shared = NAMES.get(measure.NAME)
    if measure.NAME == "nDCG" and measure["dcg"] == "exp-log2":
        shared = "ndcg_burges"
    if shared is None or not set(measure.params) <= {"cutoff", "rel", "dcg"}:
        raise InputError(
            f"ranx does not have {measure}",
            remedy=f"it shares {', '.join(NAMES)} with ir_measures",
        )
    cut = f"@{measure.params['cutoff']}" if "cutoff" in measure.params else ""
    least = measure.params.get("rel", 1)
    return f"{shared}{cut}-l{least}" if least != 1 else f"{shared}{cut}"


def _own_names() -> frozenset[str]:
    labels = load_ranx().data_structures.report.metric_labels
    return frozenset(name.split(".")[0] for name in labels)


def evaluate_with_ranx(
    qrels: Any, run: Any, measures: str | Sequence[str | Measure]
) -> dict[str, Floats]:
    """Returns the per-query values of a run as ranx computes them.

    Args:
        qrels: anything that `Qrels.of` accepts.
        run: a ranx.Run or anything that `Run.of` accepts.
        measures: names of ranx or ir_measures; a string names several, with spaces between them.

    Returns:
        ranx's name of each measure to (Q,) values of the judged queries, in the order of the
        qrels; 0 for a query that the run lacks.

    Raises:
        InputError: see `ranx_name`, `Qrels.of` and `Run.of`.
    """
    ranx, judged = load_ranx(), Qrels.of(qrels)
    return _values(ranx, judged, to_ranx(judged), _run_of(ranx, run), _names(measures))


def _names(measures: str | Sequence[str | Measure]) -> list[str]:
    """ranx's names of measures, each once."""
    listed = measures.split() if isinstance(measures, str) else measures
    return list(dict.fromkeys(map(ranx_name, listed)))


def _values(
    ranx: Any, qrels: Qrels, judged: Any, run: Run, names: Sequence[str]
) -> dict[str, Floats]:
    listed = to_ranx(run, qrels.query_ids)
    # ranx goes through the queries of both in ascending order.
    order = rank_ids(qrels.query_ids)
    with threads_kept():
        by_measure = {
            name: ranx.evaluate(judged, listed, name, return_mean=False) for name in names
        }
    return {
        name: np.asarray(values, dtype=np.float64)[order] for name, values in by_measure.items()
    }


def compare_with_ranx(
    qrels: Any,
    runs: Iterable[Any] | Mapping[str, Any],
    measures: str | Sequence[str | Measure],
    *,
    test: RanxTest = "student",
    correction: Correction = "none",
    max_p: float = 0.01,
    **layout: Any,
) -> Any:
    """Returns ranx's report of a comparison, with p-values of `irtoolkit.scoring.significance`.

    ranx itself refuses runs whose queries are not exactly those of the qrels, merges systems with
    the same name, and gives other p-values of its randomisation test each time.

    Args:
        qrels: anything that `Qrels.of` accepts.
        runs: name to run, or runs named by their tags, numbered if two are the same.
            A run is a ranx.Run or anything that `Run.of` accepts.
        measures: names of ranx or ir_measures; a string names several, with spaces between them.
        test: "student" or "fisher", see `irtoolkit.scoring.significance.paired_test`.
        correction: correction for the number of pairs compared on a measure; ranx has none.
        max_p: the highest p-value that counts as significant.
        **layout: `rounding_digits` and `show_percentages` of ranx.compare.

    Returns:
        A ranx Report: print it, or call its `to_latex()` or `to_dict()`.

    Raises:
        InputError: fewer than 2 runs or more than 26; no such test; see also `ranx_name`,
            `Qrels.of` and `Run.of`.
    """
    ranx, judged = load_ranx(), Qrels.of(qrels)
    named = _named(ranx, runs)
    if test not in get_args(RanxTest):
        raise InputError(f"no test {test!r}", remedy=f"there are {', '.join(get_args(RanxTest))}")
    names, theirs = _names(measures), to_ranx(judged)
    scored = {name: _values(ranx, judged, theirs, run, names) for name, run in named.items()}
    return ranx.data_structures.Report(
        model_names=list(named),
        results={
            label: {name: float(np.mean(scored[label][name])) for name in names} for label in named
        },
        comparisons=ranx.data_structures.FrozensetDict(_tests(scored, test, correction, max_p)),
        metrics=names,
        max_p=max_p,
        win_tie_loss=_outcomes(scored),
        stat_test=test,
        **{"rounding_digits": 3, "show_percentages": False, **layout},
    )


# {system: {measure: (Q,) values}}
_Scored = Mapping[str, Mapping[str, Floats]]


def _tests(
    scored: _Scored, test: RanxTest, correction: Correction, max_p: float
) -> dict[frozenset[str], dict[str, Any]]:
    """Returns the p-value of each pair of systems on each measure."""
    pairs = list(combinations(scored, 2))
    tests: dict[frozenset[str], dict[str, Any]] = {frozenset(pair): {} for pair in pairs}
    for name in next(iter(scored.values())):
        raw = [
            paired_test(scored[first][name], scored[second][name], test) for first, second in pairs
        ]
        for pair, p in zip(pairs, correct(raw, correction), strict=True):
            tests[frozenset(pair)][name] = {"p_value": p, "significant": p <= max_p}
    return tests


def _outcomes(scored: _Scored) -> dict[tuple[str, str], dict[str, dict[str, int]]]:
    """Returns how many queries each system wins, ties and loses against each other, by measure."""
    counts: dict[tuple[str, str], dict[str, dict[str, int]]] = {}
    for first, second in permutations(scored, 2):
        for name in scored[first]:
            signs = np.sign(scored[first][name] - scored[second][name])
            counts.setdefault((first, second), {})[name] = {
                letter: int((signs == sign).sum())
                for letter, sign in (("W", 1), ("T", 0), ("L", -1))
            }
    return counts


def _named(ranx: Any, runs: Iterable[Any] | Mapping[str, Any]) -> dict[str, Run]:
    """Runs by name, or by their tags; those of one tag are numbered."""
    named: dict[str, Run] = {}
    if isinstance(runs, Mapping):
        named = {str(name): _run_of(ranx, run) for name, run in runs.items()}
    else:
        listed = [_run_of(ranx, run) for run in runs]
        many = {tag for tag, count in Counter(run.tag for run in listed).items() if count > 1}
        counter: Counter[str] = Counter()
        for run in listed:
            counter[run.tag] += 1
            named[f"{run.tag}-{counter[run.tag]}" if run.tag in many else run.tag] = run
        if len(named) != len(listed):
            raise InputError("two runs have one name", remedy="give them as {name: run}")
    if not 2 <= len(named) <= _MOST_SYSTEMS:
        raise InputError(
            f"{number_of(len(named), 'runs')} to compare",
            remedy=f"ranx's tables hold 2 to {_MOST_SYSTEMS}",
        )
    return named
