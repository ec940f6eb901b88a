"""Runs and qrels in ranx, and what ranx makes of them back again, without pandas.

What ranx does by itself, and these functions do not: it orders tied documents as an unstable sort
leaves them; it refuses runs whose queries are not exactly those of the qrels or of each other; it
compares systems of one name as if they were one; its randomisation test gives another p-value each
time; it leaves numba with another number of threads than it found; and it compiles anew for every
length of the longest document id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from ir_measures import Measure
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.ids import encode, id_array, offsets_of, rank_ids, translate
from irtoolkit.measures.judged import within
from irtoolkit.retrievers.ordering import separate
from irtoolkit.runs import DEFAULT_TAG, Qrels, Run
from irtoolkit.scoring.evaluation import parse_measures
from irtoolkit.scoring.significance import Correction, correct, paired_test

Doubles = NDArray[np.float64]
Test = Literal["student", "fisher"]

# What its tables have letters for.
_MOST_SYSTEMS = 26
# ranx's names of the measures that it and trec_eval compute alike, by ir_measures' names. Its bpref
# is not a number where nothing is judged irrelevant, and its RBP is another measure.
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


# -- there -----------------------------------------------------------------------------------------


def to_ranx(of: Run | Qrels, queries: Iterable[str] | None = None) -> Any:
    """A Run or Qrels as ranx has them.

    Scores of a run that tie are lowered by double-precision steps, fewer than tell two float32
    apart: so ranx ranks them in the run's order, and `from_ranx` gives back the scores that were.

    Args:
        of: what is turned into a ranx.Run, named by its tag, or a ranx.Qrels.
        queries: the queries of the result, say a Qrels' `query_ids` for a run: those that are
            missing are added without documents, and others are left out. None keeps all.

    Raises:
        InputError: ranx is not installed, or qrels are asked for a query that they do not judge.
    """
    ranx = _ranx()
    wanted = list(of.query_ids) if queries is None else list(dict.fromkeys(queries))
    at = dict(zip(of.query_ids, range(len(of.query_ids)), strict=True))
    numbers = _untied(of) if isinstance(of, Run) else of.grades
    full = {name for name, i in at.items() if of.offsets[i] < of.offsets[i + 1]}
    filled = [name for name in wanted if name in full]
    lacking = [name for name in wanted if name not in full]
    made = ranx.Run(name=of.tag) if isinstance(of, Run) else ranx.Qrels()
    if lacking and isinstance(of, Qrels):
        raise InputError(f"query {lacking[0]} has no judgments", remedy="leave it out")
    if filled:
        rows = [slice(of.offsets[at[name]], of.offsets[at[name] + 1]) for name in filled]
        docs = [of.doc_ids[of.docs[row]].tolist() for row in rows]
        with threads_kept():
            made.add_multi(filled, docs, [numbers[row].tolist() for row in rows])
    if lacking:
        from numba import types
        from numba.typed import Dict

        for name in lacking:
            made.run[name] = Dict.empty(types.unicode_type, types.float64)
        made.sort()
    return made


def _untied(run: Run) -> Doubles:
    """(N,) scores in double precision, of which each that ties is a step below the one before."""
    scores = run.scores.astype(np.float64)
    tied = (run.scores[1:] == run.scores[:-1]) & (run.queries[1:] == run.queries[:-1])
    group = np.cumsum(np.concatenate([[True], ~tied]))[: len(scores)]
    steps = within(offsets_of(group - 1, int(group[-1]) if len(group) else 0)) - 1
    # Near 0 a step is too small to be sure of; anything below half the least float32 still reads 0.
    scores[(scores == 0) & (steps > 0)] = -1e-300
    bits = scores.view(np.int64)
    # As whole numbers doubles rise with their bits where positive, and fall where negative.
    lowered = np.where(bits < 0, bits + steps, bits - steps)
    return lowered.view(np.float64)


# -- and back --------------------------------------------------------------------------------------


def from_ranx(of: Any, tag: str | None = None) -> Any:
    """A ranx.Run as a Run, or a ranx.Qrels as Qrels.

    A run keeps ranx's order, documents of equal score that in which ranx has them: scores that
    single precision or trec_eval's order of ties would turn around are lowered by float32 steps.

    Args:
        of: a ranx.Run or ranx.Qrels.
        tag: of the run; by default its name.

    Raises:
        InputError: it is neither, a tag that is not one word, or scores that are not finite.
    """
    ranx = _ranx()
    if isinstance(of, ranx.Qrels):
        return Qrels.from_rows(
            (query, doc, int(grade))
            for query, judged in of.qrels.items()
            for doc, grade in judged.items()
        )
    if not isinstance(of, ranx.Run):
        raise InputError(f"{type(of).__name__} is neither a ranx.Run nor ranx.Qrels")
    query_ids = [str(query) for query in of.run]
    listed = [[(str(doc), score) for doc, score in docs.items()] for docs in of.run.values()]
    doc_ids, codes = encode(doc for rows in listed for doc, _ in rows)
    places = rank_ids(doc_ids)
    offsets = np.cumsum([0, *map(len, listed)])
    scores = np.array([score for rows in listed for _, score in rows], dtype=np.float64)
    with np.errstate(over="ignore"):
        bad = np.flatnonzero(~np.isfinite(scores.astype(np.float32)))
    if len(bad):
        query = np.searchsorted(offsets, bad[0], side="right") - 1
        raise InputError(
            f"score {scores[bad[0]]} of document {doc_ids[codes[bad[0]]]} for query"
            f" {query_ids[query]} is not a finite single-precision number"
        )
    docs, singles = [np.empty(0, np.int64)], [np.empty(0, np.float32)]
    for start, stop in pairwise(offsets.tolist()):
        order = start + np.argsort(-scores[start:stop], kind="stable")
        docs.append(codes[order])
        singles.append(separate(scores[order], places[codes[order]]))
    name = tag if tag is not None else (of.name or DEFAULT_TAG)
    return Run.ordered(
        id_array(query_ids), offsets, doc_ids, np.concatenate(docs).astype(np.int32),
        np.concatenate(singles), name,
    )  # fmt: skip


# -- what ranx does --------------------------------------------------------------------------------


def fuse(
    runs: Sequence[Run],
    method: str = "wsum",
    norm: str | None = "min-max",
    params: Mapping[str, Any] | None = None,
    tag: str | None = None,
) -> Run:
    """Fuses runs by any of ranx's methods; `irtoolkit.ranking.fusion` has the usual ones without ranx.

    Args:
        runs: two or more; a query that one of them lacks has no documents in it.
        method, norm, params: see ranx.fuse.
        tag: of the fused run; by default the method's name.

    Raises:
        InputError: fewer than two runs, or what ranx does not take.
    """
    ranx = _ranx()
    if len(runs) < 2:
        raise InputError(f"{len(runs)} runs to fuse", remedy="give at least two")
    query_ids, _ = encode(query for run in runs for query in run.query_ids)
    theirs = [to_ranx(run, query_ids) for run in runs]
    with threads_kept():
        try:
            fused = ranx.fuse(runs=theirs, norm=norm, method=method, params=dict(params or {}))
        except (AssertionError, KeyError, NotImplementedError, TypeError, ValueError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise InputError(
                f"ranx cannot fuse by {method} after {norm}: {reason}", remedy="see ranx.fuse"
            ) from error
    return _in_order_of(from_ranx(fused, tag or method), query_ids)


def _in_order_of(run: Run, query_ids: NDArray[np.object_]) -> Run:
    """The run with its queries in an order; ranx sorts them."""
    source = translate(query_ids, run.query_ids)
    counts = np.diff(run.offsets)[source]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    rows = np.arange(offsets[-1]) + np.repeat(run.offsets[source] - offsets[:-1], counts)
    return Run.ordered(query_ids, offsets, run.doc_ids, run.docs[rows], run.scores[rows], run.tag)


def ranx_name(measure: str | Measure) -> str:
    """ranx's name of a measure that it shares with ir_measures: "ndcg@10" for nDCG@10.

    A name that is ranx's own already stays as it is.

    Raises:
        InputError: ranx does not have the measure, or computes something else by its name.
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
    labels = _ranx().data_structures.report.metric_labels
    return frozenset(name.split(".")[0] for name in labels)


def evaluate(qrels: Qrels, run: Run, measures: Sequence[str | Measure]) -> dict[str, Doubles]:
    """What ranx makes of a run, by ranx's name of each measure.

    Returns:
        (Q,) values of the qrels' queries, in their order; 0 for those that the run lacks.

    Raises:
        InputError: see `ranx_name`.
    """
    return _evaluate(_ranx(), qrels, to_ranx(qrels), run, [ranx_name(name) for name in measures])


def _evaluate(
    ranx: Any, qrels: Qrels, judged: Any, run: Run, names: Sequence[str]
) -> dict[str, Doubles]:
    listed = to_ranx(run, qrels.query_ids)
    # ranx goes through the queries of both in ascending order.
    place = rank_ids(qrels.query_ids)
    with threads_kept():
        found = {
            name: ranx.evaluate(judged, listed, name, return_mean=False)
            for name in dict.fromkeys(names)
        }
    return {name: np.asarray(values, dtype=np.float64)[place] for name, values in found.items()}


def compare(
    qrels: Qrels,
    runs: Sequence[Run] | Mapping[str, Run],
    measures: Sequence[str | Measure],
    *,
    test: Test = "student",
    correction: Correction = "none",
    max_p: float = 0.01,
    rounding_digits: int = 3,
    show_percentages: bool = False,
) -> Any:
    """ranx's report of a comparison, its p-values those of `irtoolkit.scoring.significance`.

    Args:
        qrels: the judgments.
        runs: by name, or named by their tags, which are numbered where two are alike.
        measures: by ranx's names or ir_measures'.
        test: "student" or "fisher", see `irtoolkit.scoring.significance.paired_test`.
        correction: for the number of pairs that are compared on a measure; ranx itself has none.
        max_p, rounding_digits, show_percentages: see ranx.compare.

    Returns:
        A ranx Report: print it, or ask it for `to_latex()` or `to_dict()`.

    Raises:
        InputError: fewer than 2 runs or more than 26, or see `ranx_name`.
    """
    ranx = _ranx()
    named = dict(runs) if isinstance(runs, Mapping) else _named(runs)
    if not 2 <= len(named) <= _MOST_SYSTEMS:
        raise InputError(
            f"{len(named)} runs to compare", remedy=f"ranx's tables hold 2 to {_MOST_SYSTEMS}"
        )
    if test not in get_args(Test):
        raise InputError(f"no test {test!r}", remedy=f"there are {', '.join(get_args(Test))}")
    names = [ranx_name(measure) for measure in measures]
    judged = to_ranx(qrels)
    scored = {name: _evaluate(ranx, qrels, judged, run, names) for name, run in named.items()}
    pairs = [(one, two) for i, one in enumerate(named) for two in list(named)[i + 1 :]]
    comparisons: dict[frozenset[str], dict[str, Any]] = {frozenset(pair): {} for pair in pairs}
    outcomes: dict[tuple[str, str], dict[str, dict[str, int]]] = {}
    for name in names:
        raw = [paired_test(scored[one][name], scored[two][name], test) for one, two in pairs]
        for pair, p in zip(pairs, correct(raw, correction), strict=True):
            comparisons[frozenset(pair)][name] = {"p_value": p, "significant": p <= max_p}
        for one, two in [*pairs, *((two, one) for one, two in pairs)]:
            signs = np.sign(scored[one][name] - scored[two][name])
            outcomes.setdefault((one, two), {})[name] = {
                letter: int((signs == sign).sum()) for letter, sign in (("W", 1), ("T", 0), ("L", -1))
            }  # fmt: skip
    return ranx.data_structures.Report(
        model_names=list(named),
        results={one: {name: float(np.mean(scored[one][name])) for name in names} for one in named},
        comparisons=ranx.data_structures.FrozensetDict(comparisons),
        metrics=names,
        max_p=max_p,
        win_tie_loss=outcomes,
        rounding_digits=rounding_digits,
        show_percentages=show_percentages,
        stat_test=test,
    )


def _named(runs: Sequence[Run]) -> dict[str, Run]:
    """Runs by their tags; those of one tag are numbered."""
    many = {tag for tag, count in Counter(run.tag for run in runs).items() if count > 1}
    named: dict[str, Run] = {}
    seen: Counter[str] = Counter()
    for run in runs:
        seen[run.tag] += 1
        named[f"{run.tag}-{seen[run.tag]}" if run.tag in many else run.tag] = run
    if len(named) != len(runs):
        raise InputError("two runs have one name", remedy="give them as {name: run}")
    return named


@contextmanager
def threads_kept() -> Iterator[None]:
    """Sees to it that numba has as many threads afterwards as before."""
    import numba

    before = numba.get_num_threads()
    try:
        yield
    finally:
        numba.set_num_threads(before)


def _ranx() -> Any:
    try:
        return import_module("ranx")
    except ImportError:
        raise needs_extra("ranx", "report") from None
