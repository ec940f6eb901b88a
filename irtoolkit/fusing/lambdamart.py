"""LambdaMART: a document's fused score from its scores and ranks in all runs, by boosted trees."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.ids import Floats, Ids, Ints, encode, id_array, offsets_of, translate
from irtoolkit.base.plurals import number_of
from irtoolkit.base.streams import unheard
from irtoolkit.ranking.fusion import pair_blocks
from irtoolkit.ranking.fusion_methods import WholeRunMethod
from irtoolkit.ranking.normalisation import Normalise, check_normalisation, normalised
from irtoolkit.runs import Qrels, Run

# LightGBM trains on no more documents of one query.
_MOST_DOCUMENTS = 10_000
# Documents of one query and run that it is trained on: those at the top decide what a reader sees.
_TRAINED_DEPTH = 1000
# LightGBM's gains end here.
_HIGHEST_GRADE = 30


@dataclass(frozen=True)
class LambdaMART(WholeRunMethod):
    """LambdaMART (Burges 2010) of LightGBM over the features of all runs.

    Features of a document in each run: its score, its score normalised within the query, its
    reciprocal rank, and whether the run lists it. A document that a run does not list has no score
    there, and 0 for the other features. Documents that the trees score equally are ordered by the
    sum of their normalised scores.

    Attributes:
        normalise: how scores are normalised within a query.
        leaves: leaves of each tree, at least 2.
        trees: number of trees.
        rate: learning rate.
        model: the trees as LightGBM writes them; empty before training.
        runs: number of runs that it was trained on.
    """

    name: ClassVar[str] = "lambdamart"

    normalise: Normalise = "minmax"
    leaves: int = 4
    trees: int = 100
    rate: float = 0.1
    model: str = ""
    runs: int = 0

    def __post_init__(self) -> None:
        check_normalisation(self.normalise)
        for key, least in (("leaves", 2), ("trees", 1)):
            value = getattr(self, key)
            if type(value) is not int or not least <= value <= 10_000:
                raise InputError(f"{key}={value} is not a whole number from {least} to 10000")
        number = isinstance(self.rate, int | float) and not isinstance(self.rate, bool)
        if not (number and 0 < self.rate <= 1):
            raise InputError(f"rate={self.rate} is not above 0 and at most 1")

    def settings(self) -> dict[str, Any]:
        values = asdict(self)
        return {key: values[key] for key in ("normalise", "leaves", "trees", "rate")}

    def check(self, count: int) -> None:
        load_lightgbm()
        if self.model and count != self.runs:
            raise InputError(
                f"{number_of(count, 'runs')} for a fusion that was trained on {self.runs}",
                remedy="give as many, in the same order",
            )

    def trained(self, runs: Sequence[Run], qrels: Qrels, seed: int = 0) -> LambdaMART:
        """Returns the method trained on all queries of some runs.

        Args:
            runs: two or more; the first 1,000 documents of a query in each are used, or fewer if
                there are more than ten runs.
            qrels: judgments of their queries; unjudged documents have grade 0, and so have grades below.
            seed: of LightGBM, which is otherwise deterministic.

        Raises:
            InputError: no query has documents of two grades; a grade above 30; or lightgbm is not
                installed.
        """
        lightgbm = load_lightgbm()
        pairs = features(runs, self.normalise).head(
            min(_TRAINED_DEPTH, _MOST_DOCUMENTS // len(runs))
        )
        grades, sizes = _grades(pairs, qrels), np.diff(pairs.offsets)
        data = lightgbm.Dataset(pairs.values, label=grades, group=sizes[sizes > 0])
        settings = {
            "objective": "lambdarank",
            "num_leaves": self.leaves,
            "learning_rate": self.rate,
            "seed": seed,
            "deterministic": True,
            "force_col_wise": True,
            "num_threads": 1,
            "verbosity": -1,
        }
        booster = lightgbm.train(settings, data, num_boost_round=self.trees)
        return replace(self, model=booster.model_to_string(), runs=len(runs))

    def scores(
        self, runs: Sequence[Run], query_ids: Sequence[str]
    ) -> Iterator[Mapping[str, float]]:
        if not self.model:
            raise InputError(
                "LambdaMART is not trained", remedy="irtoolkit tune DATASET --runs ..."
            )
        pairs = features(runs, self.normalise, query_ids)
        booster = trees(self.model)
        predicted = np.zeros(0)
        if len(pairs.values):
            predicted = booster.predict(pairs.values, num_threads=1)
        for start, end in pairwise(pairs.offsets.tolist()):
            values = _separated(predicted[start:end], pairs.sums[start:end])
            docs = pairs.doc_ids[pairs.docs[start:end]].tolist()
            yield dict(zip(docs, values.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class PairFeatures:
    """Features of all documents that runs list for some queries.

    Attributes:
        query_ids: (Q,) the queries.
        offsets: (Q+1,) rows of query i are `offsets[i]:offsets[i + 1]`.
        doc_ids: (D,) ids, ascending.
        docs: (P,) indices into `doc_ids`.
        values: (P, 4 R) score, normalised score, reciprocal rank and presence, for each run in turn.
        sums: (P,) sums of normalised scores.
    """

    query_ids: Ids
    offsets: Ints
    doc_ids: Ids
    docs: Ints
    values: Floats
    sums: Floats

    def head(self, depth: int) -> PairFeatures:
        """Returns the features of documents that are among the first `depth` of a run."""
        keep = self.values[:, 2::4].max(axis=1, initial=0) >= 1 / depth
        queries = np.repeat(np.arange(len(self.query_ids)), np.diff(self.offsets))[keep]
        return replace(
            self,
            offsets=offsets_of(queries, len(self.query_ids)),
            docs=self.docs[keep],
            values=self.values[keep],
            sums=self.sums[keep],
        )


def features(
    runs: Sequence[Run], normalise: Normalise, query_ids: Sequence[str] | None = None
) -> PairFeatures:
    """Returns the features of all documents of some runs.

    Of all their queries unless some are named.
    """
    if query_ids is None:
        queries, _ = encode(query_id for run in runs for query_id in run.query_ids)
    else:
        queries = id_array(query_ids)
    doc_ids = id_array(sorted(set().union(*(run.doc_ids.tolist() for run in runs))))
    kinds = (
        [run.scores.astype(np.float64) for run in runs],
        [normalised(run, normalise) for run in runs],
        [1 / run.ranks for run in runs],
    )
    offsets, docs, values, sums = [np.zeros(1, np.int64)], [], [], []
    blocks = zip(*(pair_blocks(runs, points, queries, doc_ids) for points in kinds), strict=True)
    for score, norm, rank in blocks:
        offsets.append(score.offsets[1:] + offsets[-1][-1])
        docs.append(score.docs)
        raw = np.where(score.listed, score.points, math.nan)
        columns = np.stack([raw, norm.points, rank.points, score.listed.astype(np.float64)], axis=2)
        values.append(columns.reshape(len(raw), -1))
        sums.append(np.sort(norm.points, axis=1).sum(axis=1))
    return PairFeatures(
        queries,
        np.concatenate(offsets),
        doc_ids,
        np.concatenate(docs),
        np.concatenate(values),
        np.concatenate(sums),
    )


def _grades(pairs: PairFeatures, qrels: Qrels) -> NDArray[np.int64]:
    """Returns (P,) the grade of each pair.

    Raises:
        InputError: a grade above 30 or a fraction, or nothing to learn from.
    """
    if qrels.fractional:
        raise InputError("LightGBM takes no grades that are fractions", remedy="tune other methods")
    if qrels.grades.max(initial=0) > _HIGHEST_GRADE:
        raise InputError(
            f"a grade of {qrels.grades.max()}, and LightGBM has gains up to {_HIGHEST_GRADE}",
            remedy="tune other methods",
        )
    doc_codes = translate(qrels.doc_ids, pairs.doc_ids)
    query_positions = translate(pairs.query_ids, qrels.query_ids)
    grades = np.zeros(len(pairs.docs), np.int64)
    differ = False
    for query, (start, end) in enumerate(pairwise(pairs.offsets.tolist())):
        if query_positions[query] < 0:
            continue
        rows = slice(
            qrels.offsets[query_positions[query]], qrels.offsets[query_positions[query] + 1]
        )
        grade_of = dict(
            zip(doc_codes[qrels.docs[rows]].tolist(), qrels.grades[rows].tolist(), strict=True)
        )
        query_grades = [max(0, grade_of.get(doc, 0)) for doc in pairs.docs[start:end].tolist()]
        grades[start:end] = query_grades
        differ = differ or len({*query_grades}) > 1
    if not differ:
        raise InputError(
            "no query has documents of two grades, so there is nothing to learn from",
            remedy="tune on more queries, or other methods",
        )
    return grades


def _separated(scores: Floats, sums: Floats) -> Floats:
    """Returns scores of one query, with equal ones separated by a second number, in order."""
    distinct = np.unique(scores)
    gap = np.diff(distinct).min() / 2 if len(distinct) > 1 else 1.0
    widest = np.ptp(sums) if len(sums) else 0.0
    if widest == 0:
        return scores
    moved: Floats = scores + (sums - sums.min()) / widest * gap
    return moved


def trees(model: str) -> Any:
    """Returns the trees that LightGBM has written.

    Raises:
        InputError: they are damaged, or lightgbm is not installed.
    """
    lightgbm = load_lightgbm()
    try:
        with unheard():  # what is wrong is printed as well
            return lightgbm.Booster(model_str=model)
    except lightgbm.basic.LightGBMError as error:
        raise InputError(f"LightGBM cannot read the trees: {error}", remedy="train again") from None


def load_lightgbm() -> Any:
    """Returns the module lightgbm.

    Raises:
        InputError: it is not installed.
    """
    try:
        import lightgbm
    except ImportError:
        raise needs_extra("lightgbm", "ltr") from None
    return lightgbm
