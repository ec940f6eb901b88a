"""trec_eval's measures written down plainly, one query at a time, to compare everything else with.

Every rule is that of trec_eval 9: an unlisted relevant document counts as never found, a document
without a judgment has no gain, and one with a negative grade is in the pool but not judged. A query
without relevant documents scores 0, wherever a division by their number would be needed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import accumulate

import numpy as np

CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
RECALLS = tuple(step / 10 for step in range(11))
MULTIPLES = tuple(step / 5 for step in range(1, 11))

# The smallest value whose logarithm a geometric mean takes.
LEAST = 0.00001


def in_order(scores: Mapping[str, float]) -> list[str]:
    """Documents by score in single precision, then by id, both descending."""
    return sorted(scores, key=lambda doc: (np.float32(scores[doc]), doc.encode()), reverse=True)


def values(
    ranking: list[str], grades: Mapping[str, int], rel: int = 1, rounded: bool = False
) -> dict[str, float]:
    """Every number that `trec_eval -m all_trec` knows of one query.

    Args:
        ranking: the documents in order.
        grades: the judgments of the query.
        rel: the lowest relevant grade, -l.
        rounded: whether recall levels are rounded to documents as by version 10.
    """
    found = [grades.get(doc) for doc in ranking]
    hits = [grade is not None and grade >= rel for grade in found]
    total, listed, retrieved = sum(g >= rel for g in grades.values()), len(found), sum(hits)
    level = {x: _levels(hits, total, x, rounded) for x in RECALLS}
    ap, bpref = _ap(hits, total, listed), _bpref(found, grades, rel, total)
    return {
        "num_q": 1,
        "num_ret": listed,
        "num_rel": total,
        "num_rel_ret": retrieved,
        "num_nonrel_judged_ret": sum(g is not None and 0 <= g < rel for g in found),
        "map": ap,
        "gm_map": as_trec_eval("gm_map", ap),
        "bpref": bpref,
        "gm_bpref": as_trec_eval("gm_bpref", bpref),
        "infAP": _inferred(found, rel, total),
        "Rprec": share(sum(hits[:total]), total),
        "recip_rank": next((1 / rank for rank, hit in enumerate(hits, 1) if hit), 0.0),
        "set_P": share(retrieved, listed),
        "set_recall": share(retrieved, total),
        "set_relative_P": share(retrieved, min(listed, total)),
        "set_map": share(retrieved, listed) * share(retrieved, total),
        "set_F": share(2 * retrieved, listed + total),
        "utility": retrieved - (listed - retrieved),
        "binG": share(sum(1 / math.log2(2 + above) for above in _above(hits)), total),
        "11pt_avg": sum(level.values()) / len(level),
        **_of_gains([max(grade or 0, 0) for grade in found], _ideal(grades), total),
        **{f"iprec_at_recall_{x:.2f}": value for x, value in level.items()},
        **{f"Rprec_mult_{x:.2f}": _precision(hits, int(x * total + 0.9)) for x in MULTIPLES},
        **{f"P_{k}": sum(hits[:k]) / k for k in CUTS},
        **{f"recall_{k}": share(sum(hits[:k]), total) for k in CUTS},
        **{f"relative_P_{k}": share(sum(hits[:k]), min(k, total)) for k in CUTS},
        **{f"map_cut_{k}": _ap(hits, total, k) for k in CUTS},
        **{f"success_{k}": float(any(hits[:k])) for k in (1, 5, 10)},
    }


def as_trec_eval(name: str, value: float) -> float:
    """The value of a query as trec_eval has it: of a geometric mean its logarithm."""
    return math.log(max(value, LEAST)) if name.startswith("gm_") else value


def share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _precision(hits: list[bool], cut: int) -> float:
    return share(sum(hits[:cut]), cut)


def _ap(hits: list[bool], total: int, cut: int) -> float:
    return share(sum(_precision(hits, n + 1) for n, hit in enumerate(hits[:cut]) if hit), total)


def _above(hits: list[bool]) -> list[int]:
    """Of each relevant document, how many that are not relevant are ranked above it."""
    return [hits[:rank].count(False) for rank, hit in enumerate(hits) if hit]


def _levels(hits: list[bool], total: int, recall: float, rounded: bool) -> float:
    """The best precision from the document on that reaches a recall."""
    wanted = math.floor(recall * total + 0.5) if rounded else int(recall * total + 0.9)
    precisions = [_precision(hits, n + 1) for n, hit in enumerate(hits) if hit]
    return max(precisions[max(wanted, 1) - 1 :], default=0.0)


def _bpref(found: list[int | None], grades: Mapping[str, int], rel: int, total: int) -> float:
    """Preferences that hold, among the first R documents that are judged not relevant."""
    judged = [grade >= rel for grade in found if grade is not None and grade >= 0]
    most = min(sum(0 <= grade < rel for grade in grades.values()), total)
    return share(sum(1 - share(min(above, total), most) for above in _above(judged)), total)


def _inferred(found: list[int | None], rel: int, total: int) -> float:
    """Expected precision where a part of the pool is judged (Yilmaz and Aslam 2006)."""
    tiny, value = 0.00001, 0.0
    for above, grade in enumerate(found):
        if grade is None or grade < rel:
            continue
        if above == 0:
            value += 1
            continue
        pooled = [one for one in found[:above] if one is not None]
        relevant = sum(one >= rel for one in pooled)
        judged = sum(one >= 0 for one in pooled)
        guessed = (relevant + tiny) / (judged + 2 * tiny)
        value += (1 + above * (len(pooled) / above) * guessed) / (above + 1)
    return share(value, total)


# -- gains ----------------------------------------------------------------------------------------


def _ideal(grades: Mapping[str, int]) -> list[int]:
    return sorted((grade for grade in grades.values() if grade > 0), reverse=True)


def _sums(gains: list[int]) -> list[float]:
    """DCG of the first 0, 1, 2, ... documents."""
    return [0.0, *accumulate(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))]


def _of_gains(gains: list[int], ideal: list[int], total: int) -> dict[str, float]:
    """The measures of graded relevance: their gains are grades, whatever grade is relevant."""
    reached, best = _sums(gains), _sums(ideal)

    def at(sums: list[float], rank: int) -> float:
        return sums[min(rank, len(sums) - 1)]

    ratios = [share(at(reached, rank), at(best, rank)) for rank in range(max(len(gains), 1) + 1)]
    at_relevant = [ratios[rank] for rank, gain in enumerate(gains, 1) if gain]
    missed = share((len(ideal) - len(at_relevant)) * reached[-1], best[-1])
    # Where the ideal gain falls, and once more at the end of a list that is longer.
    falls = [n for n in range(1, len(ideal) + 1) if ideal[n - 1 : n] != ideal[n : n + 1]]
    changes = [share(at(reached, rank), best[rank]) for rank in falls]
    if len(gains) > len(ideal) + 1:
        changes.append(share(reached[-1], best[-1]))
    return {
        "ndcg": share(reached[-1], best[-1]),
        **{f"ndcg_cut_{k}": share(at(reached, k), at(best, k)) for k in CUTS},
        "ndcg_rel": share(sum(at_relevant) + missed, len(ideal)),
        "Rndcg": share(sum(changes), len(changes)) if total else 0.0,
        "G": _normalized_gain(gains, ideal),
    }


def _normalized_gain(gains: list[int], ideal: list[int]) -> float:
    """Each gain over the logarithm of what the ranking so far owes to the best one."""
    value, owed = 0.0, 2.0
    for place, gain in enumerate(gains):
        owed += max(ideal[place] if place < len(ideal) else 0, 1) - gain
        value += gain / math.log2(owed) if gain else 0
    return share(value, sum(ideal))
